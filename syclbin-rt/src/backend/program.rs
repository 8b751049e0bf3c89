// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs: code that a driver built for a device.

use std::any::Any;
use std::borrow::Cow;
use std::ffi::CString;
use std::sync::{Arc, Weak};

use syclbin::architecture::Architecture;
use syclbin::metadata::MiscProperties;

use crate::backend::guard;
use crate::backend::{Declared, Facts, Kernel, Result};
use crate::log;

/// The code of a module, and its build settings.
pub(crate) struct Source<'s> {
    pub(crate) code: Cow<'s, [u8]>,
    /// The non-default values of specialization constants, each with the name of its PTX variable. SPIR-V code already
    /// contains these values as its defaults.
    pub(crate) constants: Vec<(String, Vec<u8>)>,
    pub(crate) options: BuildOptions,
}

/// Options for `clBuildProgram`, or for `clCompileProgram` and `clLinkProgram`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BuildOptions {
    /// Options for `clBuildProgram` and `clCompileProgram`.
    pub(crate) compile: String,
    /// Options for `clLinkProgram`. They affect native code, because some drivers generate it at link time.
    pub(crate) link: String,
    /// Whether launches may run twice, the second time with reversed work-groups.
    pub(crate) reversible: bool,
}

impl BuildOptions {
    /// Returns the build options for a module with the properties `misc`.
    ///
    /// Only Intel's GPU driver accepts the options for register allocation and explicit SIMD (which uses a separate
    /// compiler). On other devices, such as Intel's CPU device, these options would make the build fail.
    pub(crate) fn of(misc: &MiscProperties, facts: &Facts) -> Self {
        let mut compile = accepted(misc.compile_options.as_ref(), facts);
        let mut link = accepted(misc.link_options.as_ref(), facts);
        // OpenCL has an option only for optimization level 0.
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
                // 128 registers are the default.
                _ => {}
            }
            // Without this option, code for some Intel GPUs addresses only the first 4 GB of a buffer and reads wrong
            // values beyond that.
            if facts.max_buffer_bytes < facts.memory_bytes {
                compile.push("-cl-intel-greater-than-4GB-buffer-required");
            }
        }
        compile.extend(&link);
        Self {
            compile: compile.join(" "),
            link: link.join(" "),
            reversible: guard::requested() == Ok(Some(guard::Mode::Races)),
        }
    }
}

/// Returns the options recorded in the file, except those that the driver does not accept. Drivers other than Intel's
/// GPU driver accept only the standard `-cl-` options.
fn accepted<'o>(options: Option<&'o String>, facts: &Facts) -> Vec<&'o str> {
    let name = facts.architecture.and_then(Architecture::name);
    let is_pvc = name.is_some_and(|name| name.starts_with("intel_gpu_pvc"));
    let options = options.into_iter().flat_map(|text| text.split_whitespace());
    let options = options.filter_map(|option| match option.strip_prefix("-ftarget-") {
        // The reference runtime interprets `-ftarget-` options itself. DPC++ writes the register allocation mode for
        // PVC into most images, so ignore it on other devices.
        Some(target) => target
            .strip_prefix("register-alloc-mode=pvc:")
            .filter(|_| is_pvc),
        None if facts.is_intel_gpu() => Some(option),
        None => Some(option).filter(|o| o.starts_with("-cl-") && !o.starts_with("-cl-intel-")),
    });
    options.collect()
}

/// A built program. Clones refer to the same program.
pub(crate) type Program = Arc<dyn DriverProgram>;

pub(crate) type WeakProgram = Weak<dyn DriverProgram>;

pub(crate) trait DriverProgram: Any + Send + Sync {
    /// Finds the kernel `symbol`.
    fn kernel(self: Arc<Self>, symbol: CString, declared: Declared) -> Result<Kernel>;

    /// Returns the driver's native code.
    fn binary(&self) -> Result<Vec<u8>>;
}

/// Logs the driver's compiler output if it contains warnings. Most drivers print something even without warnings.
pub(crate) fn log_warnings(facts: &Facts, text: impl FnOnce() -> String) {
    if !log::warnings_enabled() {
        return;
    }
    let text = text();
    if text.to_ascii_lowercase().contains("warning") {
        log::warn(format_args!(
            "the driver for {} reported a warning:\n{text}",
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
        let BuildOptions { compile, link, .. } = BuildOptions::of(misc, &facts);
        (compile, link)
    }

    #[cfg(feature = "log")]
    #[test]
    fn warnings_of_drivers_are_logged() {
        use std::sync::Mutex;

        static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());
        struct Logger;
        impl ::log::Log for Logger {
            fn enabled(&self, _: &::log::Metadata<'_>) -> bool {
                true
            }
            fn log(&self, record: &::log::Record<'_>) {
                LOGGED.lock().unwrap().push(record.args().to_string());
            }
            fn flush(&self) {}
        }
        let facts = Facts {
            name: "a device of this test".to_owned(),
            ..Facts::default()
        };
        let logged = || {
            // Other tests log at the same time.
            let all = LOGGED.lock().unwrap();
            let own = all.iter().filter(|line| line.contains(&facts.name));
            own.cloned().collect::<Vec<_>>()
        };
        // Without a logger, the text is not even requested from the driver.
        log_warnings(&facts, || unreachable!("nothing is logged"));
        ::log::set_logger(&Logger).expect("the first logger");
        ::log::set_max_level(::log::LevelFilter::Warn);
        log_warnings(&facts, || "Build succeeded.".to_owned());
        assert!(logged().is_empty());
        log_warnings(&facts, || "1: Warning: unused variable".to_owned());
        let expected =
            "the driver for a device of this test reported a warning:\n1: Warning: unused variable";
        assert_eq!(logged(), [expected]);
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
    fn recorded_options_reach_drivers_that_accept_them() {
        const LARGE: &str = "-ze-opt-large-register-file";
        let misc = MiscProperties {
            compile_options: Some(format!(
                "-cl-mad-enable -cl-intel-no-spill -ze-opt-level=2  -ftarget-register-alloc-mode=pvc:{LARGE}"
            )),
            link_options: Some("-cl-no-signed-zeros".to_owned()),
            ..MiscProperties::default()
        };
        let standard = "-cl-mad-enable -cl-no-signed-zeros".to_owned();
        let link = "-cl-no-signed-zeros".to_owned();
        for (kind, vendor) in [
            (DeviceKind::Cpu, "Intel(R) Corporation"),
            (DeviceKind::Gpu, "AMD"),
        ] {
            assert_eq!(of(&misc, kind, vendor), (standard.clone(), link.clone()));
        }
        let facts = |architecture: &str| Facts {
            kind: DeviceKind::Gpu,
            vendor: "Intel(R) Corporation".to_owned(),
            architecture: Architecture::from_name(architecture),
            ..Facts::default()
        };
        let intel = "-cl-mad-enable -cl-intel-no-spill -ze-opt-level=2";
        let compile = |architecture| BuildOptions::of(&misc, &facts(architecture)).compile;
        assert_eq!(compile("bmg"), format!("{intel} {link}"));
        assert_eq!(compile("pvc"), format!("{intel} {LARGE} {link}"));
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
