// SPDX-License-Identifier: MIT OR Apache-2.0
//! Driver deviations from the specification, and workarounds for them.
//!
//! # Intel's CPU driver
//!
//! The driver (2026.2) compiles for the processor that it runs on, and accepts native code for less capable processors.
//! But the first such code that a process loads lowers the driver's target for the rest of the process. From then on,
//! the driver compiles for the less capable processor and rejects code for more capable ones (`CL_INVALID_BINARY`),
//! even code that it compiled earlier.
//!
//! So neither the program cache nor a saved file may mix code for different targets.
//!
//! Values that live across a work-group barrier are saved once per work-item, or once per group if they are uniform.
//! The driver (2025.3 and 2026.2) treats every floating-point negation as uniform, and thus every value computed only
//! from negations. After the barrier, all work-items read the value of the last work-item. Only unoptimized code and
//! groups of exactly one vector work correctly.
//!
//! # Intel's GPU driver (26.27)
//!
//! As with PoCL 6.0, a command never ends if an event in its wait list has already failed.
//!
//! A blocking copy or `clFinish` holds the lock of an in-order queue until the last command of the queue ends, even if
//! another thread has enqueued that command in the meantime without flushing it. If the other thread then needs the
//! lock (to enqueue another command, or to wait for or release an event), the threads deadlock. So each command is
//! flushed at once. Only a driver that batches commands until a flush is affected: a driver for a GPU with its own
//! memory, without direct submission.
//!
//! # PoCL (6.0 and 7.1)
//!
//! Up to version 6, PoCL skips the callback when a command fails, and a task that awaits the command would sleep
//! forever. So a separate thread also waits for each awaited command.
//!
//! A command that waits for an event that has already failed never ends (6.0), or runs anyway (7.1). So such
//! commands are rejected before they reach the driver, unless the event fails at that very moment.
//!
//! # rusticl
//!
//! After a command fails, all later commands on the queue fail with the same code, and so does `clFinish`, although
//! nothing is running any more (Mesa 25.0 and 26.2). Other queues of the context keep working.
//!
//! Mesa 25.0 aborts the process if its compiler cannot translate a kernel; Mesa 26.2 reports an error. So code that is
//! known to trigger the abort is rejected before it reaches an older driver.
//!
//! Kernels read the members of a struct passed by value at multiples of their size, so the members of a packed
//! struct have wrong values (Mesa 25.0). The same struct in a buffer is read correctly.
//!
//! The linker accepts only modules of the same SPIR-V version (Mesa 25.0).

use syclbin::__private::spirv::Uses;

use super::*;

pub(crate) fn is_intel_cpu(facts: &Facts) -> bool {
    facts.kind == DeviceKind::Cpu && facts.platform == "Intel(R) OpenCL"
}

/// Advice for code that targets a more capable processor than the first code in the process.
pub(crate) const BEST_FIRST: &str = "this process has already loaded a file compiled for a different processor, so \
    Intel's CPU driver rejects files for a more capable one: load the file for the most capable processor first";

/// The driver's number for a target, from `e_flags` in the ELF header. Only equality of these numbers matters.
type CpuTarget = [u8; 4];

/// Returns the target of native code, or `None` if the code is not for Intel's CPU device.
pub(crate) fn cpu_target(code: &[u8]) -> Option<CpuTarget> {
    // ELF, 64-bit, little-endian; Intel's own file type; x86-64.
    let is_it = code.starts_with(b"\x7fELF\x02\x01") && code.get(16..20)? == [4, 0xff, 62, 0];
    code.get(48..)?.first_chunk().copied().filter(|_| is_it)
}

/// The target of the native code that this process has loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) target: Option<CpuTarget>,
    /// Whether some of the code came from a file, and thus possibly from another machine.
    pub(crate) in_file: bool,
}

impl Seen {
    /// Returns the target if native code from a file may have determined it.
    pub(crate) fn of_file(self) -> Option<CpuTarget> {
        self.target.filter(|_| self.in_file)
    }

    /// Returns whether `code` has the same target as the code loaded so far. Also returns `true` if either target is
    /// unknown.
    pub(crate) fn fits(self, code: &[u8]) -> bool {
        match (self.target, cpu_target(code)) {
            (Some(seen), Some(target)) => seen == target,
            _ => true,
        }
    }

    /// Records that code from a file was loaded.
    pub(crate) fn file(&mut self, code: &[u8]) {
        if let Some(target) = cpu_target(code) {
            self.target = Some(target);
            self.in_file = true;
        }
    }

    /// Records that `code`, which must fit, was compiled by this process or an earlier process with the same variant.
    pub(crate) fn own(&mut self, code: &[u8]) {
        self.target = self.target.or(cpu_target(code));
    }
}

fn is_pocl(facts: &Facts) -> bool {
    facts.platform == "Portable Computing Language"
}

pub(crate) fn is_rusticl(facts: &Facts) -> bool {
    facts.platform == "rusticl"
}

pub(crate) fn is_intel_gpu_driver(facts: &Facts) -> bool {
    facts.platform == "Intel(R) OpenCL Graphics"
}

/// Returns whether the driver is older than major version `first`. A version without a number counts as new.
fn is_before(facts: &Facts, first: u32) -> bool {
    let major = facts.driver_version.split('.').next().unwrap_or_default();
    major.parse::<u32>().is_ok_and(|major| major < first)
}

/// Returns whether the driver skips the callback when a command fails.
pub(crate) fn skips_failure_callbacks(facts: &Facts) -> bool {
    is_pocl(facts) && is_before(facts, 7)
}

/// Capabilities that SYCL compilers emit but Mesa 25.0 does not support.
const UNKNOWN_CAPABILITIES: [(u32, &str); 15] = [
    (59, "named barriers"),
    (5570, "image block reads (SubgroupImageBlockIOINTEL)"),
    (5582, "rounding modes (RoundToInfinityINTEL)"),
    (5583, "floating-point modes (FloatingPointModeINTEL)"),
    (5603, "function pointers (FunctionPointersINTEL)"),
    (5606, "inline assembly (AsmINTEL)"),
    (5617, "vector kernels (VectorComputeINTEL)"),
    (5817, "variable-length arrays (VariableLengthArrayINTEL)"),
    (
        5844,
        "arbitrary-width integers (ArbitraryPrecisionIntegersINTEL)",
    ),
    (6025, "bit instructions (BitInstructions)"),
    (6089, "long constants (LongCompositesINTEL)"),
    (6115, "bfloat16 conversions (BFloat16ConversionINTEL)"),
    (6141, "split barriers (SplitBarrierINTEL)"),
    (6400, "uniform group arithmetic (GroupUniformArithmeticKHR)"),
    (BINDLESS_IMAGES, "bindless images (BindlessImagesINTEL)"),
];

/// Adds facts that no query reveals.
pub(crate) fn add_driver_facts(facts: &mut Facts) {
    // PoCL 6.0 and rusticl reject some modules with debug information. Only Intel's drivers are known to use it, so no
    // other driver receives it.
    facts.debug_info = facts.has_intel_driver();
    facts.links_one_version = is_rusticl(facts);
    facts.misreads_packed = is_rusticl(facts);
    facts.loses_negations = is_intel_cpu(facts);
    facts.ignores_failed_dependencies = is_pocl(facts) || is_intel_gpu_driver(facts);
    // Intel's CPU driver rejects modules with work-group limits, and Mesa 25.0 aborts the process. Only Intel's GPU
    // driver is known to use the limits, so no other driver receives them.
    facts.work_group_limits = facts.is_intel_gpu();
    // Of the CPU drivers, only Intel's is known to work with guarded buffers: PoCL 6.0 crashes.
    facts.guards_buffers = is_intel_cpu(facts) && cfg!(target_os = "linux");
}

/// Returns the feature of the module in `words` that would make the driver abort the process, if any.
pub(crate) fn aborts_on(facts: &Facts, words: &[u32]) -> Option<&'static str> {
    if !is_rusticl(facts) || !is_before(facts, 26) {
        return None;
    }
    let uses = Uses::of(words);
    if uses.initialized_variable {
        return Some("initialized variables in global memory, such as constant tables");
    }
    if uses.all_devices_scope {
        return Some("atomic operations or fences with memory_scope::system");
    }
    let is_used = |(capability, _): &&(u32, &str)| uses.capabilities.contains(capability);
    let unknown = UNKNOWN_CAPABILITIES.iter().find(is_used);
    unknown.map(|(_, feature)| *feature)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns the header of native code for Intel's CPU device.
    pub(crate) fn code(target: u8) -> Vec<u8> {
        let mut code = b"\x7fELF\x02\x01\x01".to_vec();
        code.resize(64, 0);
        code[16..20].copy_from_slice(&[4, 0xff, 62, 0]);
        code[48] = target;
        code
    }

    #[test]
    fn partial_intel_cpu_header_has_no_target() {
        assert_eq!(cpu_target(&code(6)), Some([6, 0, 0, 0]));
        for len in 0..52 {
            assert_eq!(cpu_target(&code(6)[..len]), None);
        }
        for (at, byte) in [(4, 1), (16, 2), (18, 205)] {
            let mut other = code(6);
            other[at] = byte;
            assert_eq!(cpu_target(&other), None);
        }
    }

    #[test]
    fn code_for_other_target_does_not_fit() {
        let mut seen = Seen::default();
        assert!(seen.fits(&code(5)) && seen.fits(&code(6)));
        seen.own(&code(6));
        assert_eq!(seen.of_file(), None);
        assert!(seen.fits(&code(6)) && !seen.fits(&code(5)));
        seen.file(&code(5));
        assert_eq!(seen.of_file(), Some([5, 0, 0, 0]));
        assert!(seen.fits(&code(5)) && !seen.fits(&code(6)));
        // Native code for another driver.
        seen.file(b"zebin");
        assert!(seen.fits(b"zebin"));
        assert_eq!(seen.of_file(), Some([5, 0, 0, 0]));
    }
}

#[cfg(test)]
mod failing_tests {
    use super::*;

    #[test]
    fn drivers_forget_failures() {
        let failing = |platform: &str, driver_version: &str| {
            let mut facts = Facts {
                platform: platform.to_owned(),
                driver_version: driver_version.to_owned(),
                ..Facts::default()
            };
            add_driver_facts(&mut facts);
            (
                skips_failure_callbacks(&facts),
                facts.ignores_failed_dependencies,
            )
        };
        let pocl = "Portable Computing Language";
        assert_eq!(failing(pocl, "6.0+debian"), (true, true));
        assert_eq!(failing(pocl, "7.1+debian"), (false, true));
        assert_eq!(failing(pocl, "HEAD"), (false, true));
        assert_eq!(failing("Intel(R) OpenCL", "2026.2"), (false, false));
        let gpu = "Intel(R) OpenCL Graphics";
        assert_eq!(failing(gpu, "26.27.039122"), (false, true));
    }
}

#[cfg(test)]
mod rusticl_tests {
    use super::*;

    #[test]
    fn only_old_rusticl_aborts_on_missing_features() {
        let on = |platform: &str, driver_version: &str, instruction: &[u32]| {
            let facts = Facts {
                platform: platform.to_owned(),
                driver_version: driver_version.to_owned(),
                ..Facts::default()
            };
            let header = [0x0723_0203, 0x0001_0000, 0, 20, 0];
            aborts_on(&facts, &[&header, instruction].concat())
        };
        let table = [5 << 16 | 59, 1, 2, 5, 3];
        let old = "25.0.7-2+deb13u1";
        assert!(on("rusticl", old, &table).is_some_and(|feature| feature.contains("tables")));
        let long = on("rusticl", old, &[2 << 16 | 17, 5817]);
        assert!(long.is_some_and(|feature| feature.contains("VariableLengthArrayINTEL")));
        assert_eq!(on("rusticl", old, &[2 << 16 | 17, 6]), None);
        assert_eq!(on("rusticl", "26.2.6-1", &table), None);
        assert_eq!(on("Portable Computing Language", "6.0", &table), None);
    }
}

#[cfg(test)]
mod driver_tests {
    use super::*;

    #[test]
    fn drivers_are_told_apart_by_platform() {
        let of = |kind, platform: &str| {
            let facts = Facts {
                kind,
                platform: platform.to_owned(),
                ..Facts::default()
            };
            [is_intel_cpu(&facts), is_intel_gpu_driver(&facts)]
        };
        let (cpu, gpu) = (DeviceKind::Cpu, DeviceKind::Gpu);
        assert_eq!(of(cpu, "Intel(R) OpenCL"), [true, false]);
        assert_eq!(of(gpu, "Intel(R) OpenCL Graphics"), [false, true]);
        assert_eq!(of(cpu, "Portable Computing Language"), [false, false]);
        assert_eq!(of(DeviceKind::Accelerator, "Intel(R) OpenCL"), [false; 2]);
    }
}
