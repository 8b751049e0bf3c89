// SPDX-License-Identifier: MIT OR Apache-2.0
//! The NVIDIA GPUs that both the compiler library and `ptxas` support.

/// A GPU, identified by its compute capability. GPUs are ordered by capability, and a plain GPU precedes its variants
/// with extra features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NvidiaGpu(usize);

/// Arguments for the library, by GPU: its name, a PTX version, and the GPU whose built-in functions sources may call.
///
/// The PTX version is the oldest that supports the GPU, because a driver rejects PTX versions newer than those it
/// knows. If a version is too old, the library's error message states the required one.
///
/// The third column differs from the name if clang would mistake the name for the target GPU, although clang is told to
/// compile for an older GPU. Whether clang makes this mistake depends on the order of a hash table.
const GPUS: [(&str, &str, &str); 23] = [
    ("sm_75", "63", "sm_70"),
    ("sm_80", "70", "sm_80"),
    ("sm_86", "71", "sm_86"),
    ("sm_87", "74", "sm_87"),
    ("sm_88", "90", "sm_88"),
    ("sm_89", "78", "sm_89"),
    ("sm_90", "78", "sm_90"),
    ("sm_90a", "80", "sm_90a"),
    ("sm_100", "86", "sm_100"),
    ("sm_100a", "86", "sm_100a"),
    ("sm_100f", "88", "sm_100"),
    ("sm_103", "88", "sm_100"),
    ("sm_103a", "88", "sm_103f"),
    ("sm_103f", "88", "sm_103f"),
    ("sm_110", "90", "sm_110"),
    ("sm_110a", "90", "sm_110a"),
    ("sm_110f", "90", "sm_110f"),
    ("sm_120", "87", "sm_120"),
    ("sm_120a", "87", "sm_120a"),
    ("sm_120f", "88", "sm_120f"),
    ("sm_121", "88", "sm_121"),
    ("sm_121a", "88", "sm_121f"),
    ("sm_121f", "88", "sm_121f"),
];

impl NvidiaGpu {
    /// The oldest GPU, whose PTX runs on all others.
    pub(crate) const OLDEST: Self = Self(0);

    /// Returns the GPU called `name`, such as `sm_90a`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        GPUS.iter().position(|(known, ..)| *known == name).map(Self)
    }

    pub(crate) fn name(self) -> &'static str {
        GPUS[self.0].0
    }

    /// Returns the feature that selects the PTX version, as clang and the library spell it.
    pub(crate) fn ptx_feature(self) -> String {
        format!("+ptx{}", GPUS[self.0].1)
    }

    /// Returns the feature that makes clang accept the GPU's built-in functions.
    pub(crate) fn function_feature(self) -> String {
        format!("+{}", GPUS[self.0].2)
    }

    /// Returns the GPU without its exclusive features, so that later GPUs also run the code.
    pub(crate) fn plain(self) -> Self {
        Self::named(self.name().trim_end_matches(['a', 'f'])).unwrap_or(self)
    }

    /// Returns the value of `__SYCL_CUDA_ARCH__`: 800 for `sm_80`.
    pub(crate) fn macro_value(self) -> String {
        let digits = self.name().chars().filter(char::is_ascii_digit);
        format!("{}0", digits.collect::<String>())
    }

    /// Lists all GPU names, for messages.
    pub(crate) fn all() -> String {
        GPUS.map(|(name, ..)| name).join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_ordered_by_capability() {
        let gpu = |name| NvidiaGpu::named(name).unwrap();
        assert_eq!(gpu("sm_75"), NvidiaGpu::OLDEST);
        assert!(gpu("sm_80") < gpu("sm_90") && gpu("sm_90") < gpu("sm_90a"));
        assert!(gpu("sm_90a") < gpu("sm_100"));
        for name in ["sm_70", "sm_900", "sm_", "80", ""] {
            assert_eq!(NvidiaGpu::named(name), None, "{name}");
        }
    }

    #[test]
    fn gpu_has_macro_ptx_and_plain_variant() {
        let gpu = NvidiaGpu::named("sm_100a").unwrap();
        assert_eq!(
            (gpu.macro_value().as_str(), gpu.name()),
            ("1000", "sm_100a")
        );
        assert_eq!(gpu.ptx_feature(), "+ptx86");
        assert_eq!(gpu.plain().name(), "sm_100");
        assert!((0..GPUS.len()).all(|index| NvidiaGpu(index).plain() <= NvidiaGpu(index)));
    }
}
