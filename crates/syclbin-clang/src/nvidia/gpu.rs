//! NVIDIA's GPUs, as far as the compiler library and `ptxas` both know them.

use std::fmt;

/// A kind of GPU by its compute capability. In the order of capabilities, a plain one before those with
/// what only it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NvidiaGpu(usize);

/// What the library is told of a GPU.
struct Row {
    name: &'static str,
    /// The oldest version of PTX that has it: a driver takes no version that is newer than itself. The
    /// library names it when it is told an older one.
    ptx: &'static str,
    /// The GPU whose built-in functions sources may call. It is another one where clang, told this name
    /// beside an older GPU, takes it for the true one: that goes by the order of a hash table.
    functions: &'static str,
}

const fn row(name: &'static str, ptx: &'static str) -> Row {
    Row {
        name,
        ptx,
        functions: name,
    }
}

const fn with(name: &'static str, ptx: &'static str, functions: &'static str) -> Row {
    Row {
        name,
        ptx,
        functions,
    }
}

const GPUS: [Row; 23] = [
    with("sm_75", "63", "sm_70"),
    row("sm_80", "70"),
    row("sm_86", "71"),
    row("sm_87", "74"),
    row("sm_88", "90"),
    row("sm_89", "78"),
    row("sm_90", "78"),
    row("sm_90a", "80"),
    row("sm_100", "86"),
    row("sm_100a", "86"),
    with("sm_100f", "88", "sm_100"),
    with("sm_103", "88", "sm_100"),
    with("sm_103a", "88", "sm_103f"),
    row("sm_103f", "88"),
    row("sm_110", "90"),
    row("sm_110a", "90"),
    row("sm_110f", "90"),
    row("sm_120", "87"),
    row("sm_120a", "87"),
    row("sm_120f", "88"),
    row("sm_121", "88"),
    with("sm_121a", "88", "sm_121f"),
    row("sm_121f", "88"),
];

impl NvidiaGpu {
    /// The oldest there is, which all others run code for.
    pub(crate) const OLDEST: Self = Self(0);

    /// The one called `name`, such as `sm_90a`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        GPUS.iter().position(|row| row.name == name).map(Self)
    }

    pub(crate) fn name(self) -> &'static str {
        GPUS[self.0].name
    }

    /// The version of PTX, as clang and the library name features.
    pub(crate) fn ptx_feature(self) -> String {
        format!("+ptx{}", GPUS[self.0].ptx)
    }

    /// What clang is told of its built-in functions.
    pub(crate) fn function_feature(self) -> String {
        format!("+{}", GPUS[self.0].functions)
    }

    /// The same without what only it has, so that later ones run its code, too.
    pub(crate) fn plain(self) -> Self {
        Self::named(self.name().trim_end_matches(['a', 'f'])).unwrap_or(self)
    }

    /// What `__SYCL_CUDA_ARCH__` is: 800 for `sm_80`.
    pub(crate) fn macro_value(self) -> String {
        let digits = self.name().chars().filter(char::is_ascii_digit);
        format!("{}0", digits.collect::<String>())
    }

    /// The names of all, for messages.
    pub(crate) fn all() -> String {
        GPUS.each_ref().map(|row| row.name).join(", ")
    }
}

impl fmt::Display for NvidiaGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_known_by_name_and_ordered_by_capability() {
        let gpu = |name| NvidiaGpu::named(name).unwrap();
        assert_eq!(gpu("sm_75"), NvidiaGpu::OLDEST);
        assert!(gpu("sm_80") < gpu("sm_90") && gpu("sm_90") < gpu("sm_90a"));
        assert!(gpu("sm_90a") < gpu("sm_100"));
        for name in ["sm_70", "sm_900", "sm_", "80", ""] {
            assert_eq!(NvidiaGpu::named(name), None, "{name}");
        }
    }

    #[test]
    fn a_gpu_tells_its_macro_its_ptx_and_its_plain_kind() {
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
