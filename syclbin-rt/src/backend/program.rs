// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs: code that a driver has built for a device.

use std::any::Any;
use std::borrow::Cow;
use std::ffi::CString;
use std::sync::{Arc, Weak};

use syclbin::metadata::MiscProperties;

use crate::backend::{Facts, Kernel, Result, Slot};
use crate::log;

/// Code of a module, and its settings for the build.
pub(crate) struct Source<'s> {
    pub(crate) code: Cow<'s, [u8]>,
    /// For PTX and code made from it: values of specialization constants that are not their defaults, by the
    /// names of the variables that hold them. SPIR-V has the values as its defaults.
    pub(crate) constants: Vec<(String, Vec<u8>)>,
    pub(crate) options: BuildOptions,
}

/// Options of `clBuildProgram` and its two halves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BuildOptions {
    /// For `clBuildProgram` and `clCompileProgram`.
    pub(crate) compile: String,
    /// For `clLinkProgram`: the options that affect native code, which some drivers make at that time.
    pub(crate) link: String,
}

impl BuildOptions {
    /// Returns the options for code with these properties.
    ///
    /// The options for register allocation and for explicit SIMD (a separate compiler) are only for Intel's GPUs. Other
    /// devices do not accept them: a build for the CPU device fails.
    pub(crate) fn of(misc: &MiscProperties, facts: &Facts) -> Self {
        let mut compile = Vec::new();
        let mut link = Vec::new();
        // OpenCL has an option only for level 0.
        if misc.opt_level == Some(0) {
            compile.push("-cl-opt-disable");
        }
        if facts.is_intel_gpu() {
            let simd = misc.esimd == Some(true);
            if simd {
                link.push("-vc-codegen");
            }
            match (misc.grf_size, misc.register_alloc_mode) {
                (Some(256), _) | (None, Some(2)) if simd => link.push("-doubleGRF"),
                (Some(256), _) | (None, Some(2)) => link.push("-ze-opt-large-register-file"),
                (Some(0), _) | (None, Some(0)) => link.push("-ze-intel-enable-auto-large-GRF-mode"),
                // 128 is the default without an option.
                _ => {}
            }
            compile.extend(&link);
            // Without it, code for some of these GPUs can address only 4 GB of a buffer, and reads wrong values beyond
            // that.
            if facts.max_buffer_bytes < facts.memory_bytes {
                compile.push("-cl-intel-greater-than-4GB-buffer-required");
            }
        }
        Self {
            compile: compile.join(" "),
            link: link.join(" "),
        }
    }
}

/// A built program. A clone is the same program.
pub(crate) type Program = Arc<dyn DriverProgram>;

/// A program as long as another owner holds it.
pub(crate) type WeakProgram = Weak<dyn DriverProgram>;

/// A program of a driver.
pub(crate) trait DriverProgram: Any + Send + Sync {
    /// Finds the kernel called `symbol`. The positions of its parameters are given where they are known.
    fn kernel(self: Arc<Self>, symbol: CString, slots: Option<Vec<Slot>>) -> Result<Kernel>;

    /// Returns the native code that the driver has made.
    fn binary(&self) -> Result<Vec<u8>>;

    /// Returns the symbols of its kernels.
    fn kernel_names(&self) -> Result<Vec<String>>;
}

/// Logs the warnings of a driver's compiler. Most drivers say something in any case.
pub(crate) fn log_warnings(facts: &Facts, text: impl FnOnce() -> String) {
    if !log::hears_warnings() {
        return;
    }
    let text = text();
    if text.to_ascii_lowercase().contains("warning") {
        log::warn(format_args!(
            "the driver of {} reported a warning:\n{text}",
            facts.name
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::facts::DeviceKind;

    fn of(misc: &MiscProperties, kind: DeviceKind, vendor: &str) -> (String, String) {
        let facts = Facts {
            kind,
            vendor: vendor.to_owned(),
            ..Facts::default()
        };
        let BuildOptions { compile, link } = BuildOptions::of(misc, &facts);
        (compile, link)
    }

    #[test]
    fn unoptimized_code_stays_unoptimized_on_every_device() {
        for (level, options) in [(Some(0), "-cl-opt-disable"), (Some(2), ""), (None, "")] {
            let misc = MiscProperties {
                opt_level: level,
                ..MiscProperties::default()
            };
            for kind in [DeviceKind::Cpu, DeviceKind::Gpu] {
                let expected = (options.to_owned(), String::new());
                assert_eq!(of(&misc, kind, "Intel(R) Corporation"), expected);
            }
        }
    }

    #[test]
    fn register_and_simd_options_are_for_intel_gpus() {
        let properties = |esimd, grf_size, register_alloc_mode| MiscProperties {
            esimd,
            grf_size,
            register_alloc_mode,
            ..MiscProperties::default()
        };
        for (misc, options) in [
            (properties(Some(true), None, None), "-vc-codegen"),
            (
                properties(Some(true), Some(256), None),
                "-vc-codegen -doubleGRF",
            ),
            (
                properties(None, Some(256), None),
                "-ze-opt-large-register-file",
            ),
            (
                properties(None, None, Some(2)),
                "-ze-opt-large-register-file",
            ),
            (
                properties(None, Some(0), None),
                "-ze-intel-enable-auto-large-GRF-mode",
            ),
            (properties(None, Some(128), None), ""),
            (properties(Some(false), None, None), ""),
        ] {
            let both = (options.to_owned(), options.to_owned());
            assert_eq!(of(&misc, DeviceKind::Gpu, "Intel(R) Corporation"), both);
            let none = (String::new(), String::new());
            assert_eq!(of(&misc, DeviceKind::Gpu, "Another"), none);
            assert_eq!(of(&misc, DeviceKind::Cpu, "Intel(R) Corporation"), none);
        }
    }

    #[test]
    fn limited_intel_gpu_gets_code_for_large_buffers() {
        let facts = |vendor: &str, max_buffer_bytes| Facts {
            kind: DeviceKind::Gpu,
            vendor: vendor.to_owned(),
            memory_bytes: 16 << 30,
            max_buffer_bytes,
            ..Facts::default()
        };
        let of = |facts: &Facts| BuildOptions::of(&MiscProperties::default(), facts);
        let limited = of(&facts("Intel(R) Corporation", 4 << 30));
        assert_eq!(
            limited.compile,
            "-cl-intel-greater-than-4GB-buffer-required"
        );
        assert_eq!(limited.link, "");
        assert_eq!(of(&facts("Intel(R) Corporation", 16 << 30)).compile, "");
        assert_eq!(of(&facts("another", 4 << 30)).compile, "");
    }
}
