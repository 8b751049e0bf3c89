// SPDX-License-Identifier: MIT OR Apache-2.0
//! Intel's CPU device, and CPU targets: the processors that its native code is for, and those that a process accepts.
//!
//! The driver (2026.2) makes code for the processor it runs on, and takes code for lesser processors. But the
//! first such code that a process loads lowers the driver's target for as long as the process lives. From then
//! on the driver compiles for that processor too, and refuses code for better processors (`CL_INVALID_BINARY`),
//! even code that it made itself before.
//!
//! So code for different targets does not mix: not in the cache of programs, and not in a saved file.

use crate::device::facts::{DeviceKind, Facts};

/// Returns whether this is Intel's CPU device.
pub(crate) fn is_intel_cpu(facts: &Facts) -> bool {
    facts.kind == DeviceKind::Cpu && facts.platform == "Intel(R) OpenCL"
}

/// The advice where the driver refuses code for a better processor than it saw first.
pub(crate) const BEST_FIRST: &str = "this process has loaded a file for another processor, \
    and Intel's CPU driver takes none for a better one after that: load the file for the best one first";

/// A target as the driver numbers them, in `e_flags` of the ELF header. Of the numbers only equality
/// counts here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuTarget(u32);

impl CpuTarget {
    /// Returns the target of native code; `None` if the code is not of Intel's CPU device.
    pub(crate) fn of(code: &[u8]) -> Option<Self> {
        // 64 bits, lowest byte first; a type of Intel's own; x86-64.
        let is_it = code.starts_with(b"\x7fELF\x02\x01") && code.get(16..20)? == [4, 0xff, 62, 0];
        let flags = code.get(48..)?.first_chunk()?;
        is_it.then_some(Self(u32::from_le_bytes(*flags)))
    }

    pub(crate) fn bytes(self) -> [u8; 4] {
        self.0.to_le_bytes()
    }
}

/// The targets of the native code that a process has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    target: Option<CpuTarget>,
    /// Whether some of it came out of a file, and so possibly from another machine.
    in_file: bool,
}

impl Seen {
    pub(crate) const NOTHING: Self = Self {
        target: None,
        in_file: false,
    };

    /// Returns the target, if native code of a file may have determined it.
    pub(crate) fn of_file(self) -> Option<CpuTarget> {
        self.target.filter(|_| self.in_file)
    }

    /// Whether code can be taken that is not needed, and nothing changes by it.
    pub(crate) fn fits(self, code: &[u8]) -> bool {
        match (self.target, CpuTarget::of(code)) {
            (Some(seen), Some(target)) => seen == target,
            _ => true,
        }
    }

    /// Records that code of a file was loaded.
    pub(crate) fn file(&mut self, code: &[u8]) {
        if let Some(target) = CpuTarget::of(code) {
            self.target = Some(target);
            self.in_file = true;
        }
    }

    /// Records that fitting code was made, or was made earlier for a process like this.
    pub(crate) fn own(&mut self, code: &[u8]) {
        self.target = self.target.or(CpuTarget::of(code));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(target: u8) -> Vec<u8> {
        let mut code = b"\x7fELF\x02\x01\x01".to_vec();
        code.resize(64, 0);
        code[16..20].copy_from_slice(&[4, 0xff, 62, 0]);
        code[48] = target;
        code
    }

    #[test]
    fn partial_intel_cpu_header_has_no_target() {
        assert_eq!(CpuTarget::of(&code(6)), Some(CpuTarget(6)));
        for len in 0..52 {
            assert_eq!(CpuTarget::of(&code(6)[..len]), None);
        }
        for (at, byte) in [(4, 1), (16, 2), (18, 205)] {
            let mut other = code(6);
            other[at] = byte;
            assert_eq!(CpuTarget::of(&other), None);
        }
    }

    #[test]
    fn code_for_other_target_does_not_fit() {
        let mut seen = Seen::NOTHING;
        assert!(seen.fits(&code(5)) && seen.fits(&code(6)));
        seen.own(&code(6));
        assert_eq!(seen.of_file(), None);
        assert!(seen.fits(&code(6)) && !seen.fits(&code(5)));
        seen.file(&code(5));
        assert_eq!(seen.of_file(), Some(CpuTarget(5)));
        assert!(seen.fits(&code(5)) && !seen.fits(&code(6)));
        // Of another driver.
        seen.file(b"zebin");
        assert!(seen.fits(b"zebin"));
        assert_eq!(seen.of_file(), Some(CpuTarget(5)));
    }
}
