// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds a module's imports, and features that some drivers cannot compile.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::module::{Module, STORAGE_CROSS_WORKGROUP};
use crate::error::Error;
use crate::spirv::words::{instructions, op};

/// The scope that covers all devices in the system.
const CROSS_DEVICE: u32 = 0;

/// Features that a module uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// The numbers of the declared capabilities.
    pub capabilities: BTreeSet<u32>,
    /// Whether a variable in global memory has an initial value. DPC++ compiles tables of constants to such variables.
    pub initialized_variable: bool,
    /// Whether an atomic operation or a fence orders memory across all devices in the system.
    pub all_devices_scope: bool,
}

impl Uses {
    /// Returns the features that the module in `words` uses. Reading stops at the first malformed instruction.
    #[must_use]
    pub fn of(words: &[u32]) -> Self {
        let mut uses = Self::default();
        let mut constants = BTreeMap::new();
        for instruction in instructions(words).map_while(Result::ok) {
            match (instruction.opcode, instruction.operands) {
                (op::CAPABILITY, [capability, ..]) => _ = uses.capabilities.insert(*capability),
                (op::CONSTANT, [_, id, value, ..]) => _ = constants.insert(*id, *value),
                (op::CONSTANT_NULL, [_, id]) => _ = constants.insert(*id, 0),
                (op::VARIABLE, [_, _, storage, _, ..]) => {
                    uses.initialized_variable |= *storage == STORAGE_CROSS_WORKGROUP;
                }
                (opcode, operands) => {
                    let scope = scope_at(opcode).and_then(|at| operands.get(at));
                    let scope = scope.and_then(|scope| constants.get(scope));
                    uses.all_devices_scope |= scope == Some(&CROSS_DEVICE);
                }
            }
        }
        uses
    }
}

/// Returns the index of the operand that is the memory scope of an instruction.
fn scope_at(opcode: u16) -> Option<usize> {
    match opcode {
        // OpMemoryBarrier.
        225 => Some(0),
        // OpControlBarrier, OpAtomicStore, OpAtomicFlagClear.
        224 | 228 | 319 => Some(1),
        // OpAtomicLoad; OpAtomicExchange to OpAtomicXor; OpAtomicFlagTestAndSet; floating-point atomics.
        227 | 229..=242 | 318 | 5614 | 5615 | 6035 => Some(3),
        _ => None,
    }
}

/// Returns the unresolved imports of the module `bytes`. A driver may terminate the process if it loads a module
/// with unresolved imports, so check before loading.
///
/// # Errors
///
/// Returns an error if `bytes` are not SPIR-V.
pub fn unresolved_imports(bytes: &[u8]) -> Result<Vec<String>, Error> {
    let module = Module::parse(bytes)?;
    Ok(module.imports().map(String::from).collect())
}

/// The kind of an unresolved import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Import {
    /// The value of a specialization constant that the compiler did not lower.
    SpecializationConstant,
    /// A function of DPC++'s device library, such as the one that reports a failed `assert`.
    DeviceLibrary,
    /// A function or variable from another source file.
    Symbol,
}

impl Import {
    /// Returns the kind of the import `symbol`.
    #[must_use]
    pub fn of(symbol: &str) -> Self {
        const CONSTANT_READS: [&str; 2] = [
            "__sycl_getScalar2020SpecConstantValue",
            "__sycl_getComposite2020SpecConstantValue",
        ];
        if CONSTANT_READS.iter().any(|read| symbol.contains(read)) {
            Self::SpecializationConstant
        } else if symbol.contains("__devicelib_") {
            Self::DeviceLibrary
        } else {
            Self::Symbol
        }
    }
}

/// The function in DPC++'s device library that a failed `assert` calls. Drivers with the OpenCL extension
/// `cl_intel_devicelib_assert` provide this function, which prints a message and terminates the process.
pub const ASSERT_FAIL: &str = "__devicelib_assert_fail";

/// Returns whether `target` is a 64-bit SPIR-V triple, or empty, because some writers omit it. This check is
/// necessary because compilers declare every image without an architecture as SPIR-V.
#[must_use]
pub fn is_target(target: &str) -> bool {
    let architecture = target.split('-').next().unwrap_or_default();
    architecture.is_empty() || architecture == "spir64" || architecture.starts_with("spirv64")
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn uses(instructions: &[&[u32]]) -> Uses {
        let mut words: Vec<u32> = [0x0723_0203, 0x0001_0000, 0, 20, 0].to_vec();
        for instruction in instructions {
            let count = u32::try_from(instruction.len()).unwrap();
            words.push(count << 16 | instruction[0]);
            words.extend(&instruction[1..]);
        }
        Uses::of(&words)
    }

    #[test]
    fn capabilities_and_variables_are_found() {
        let found = uses(&[&[17, 4], &[17, 5817], &[59, 1, 2, 5, 3]]);
        assert_eq!(found.capabilities, BTreeSet::from([4, 5817]));
        assert!(found.initialized_variable && !found.all_devices_scope);
        assert!(!uses(&[&[59, 1, 2, 5]]).initialized_variable);
        assert!(!uses(&[&[59, 1, 2, 0, 3]]).initialized_variable);
    }

    #[test]
    fn only_scope_of_all_devices_is_found() {
        for (scope, found) in [(0, true), (1, false), (2, false)] {
            let constant: &[u32] = &[43, 1, 7, scope];
            for instruction in [
                &[225, 7, 8][..],
                &[224, 9, 7, 8],
                &[234, 1, 2, 3, 7, 8, 4],
                &[6035, 1, 2, 3, 7, 8, 4],
            ] {
                assert_eq!(uses(&[constant, instruction]).all_devices_scope, found);
            }
        }
        assert!(uses(&[&[46, 1, 7], &[228, 3, 7, 8, 4]]).all_devices_scope);
        assert!(!uses(&[&[228, 3, 7, 8, 4]]).all_devices_scope);
    }

    #[test]
    fn truncated_modules_use_what_comes_before() {
        assert_eq!(Uses::of(&[]), Uses::default());
        let words = [
            0x0723_0203,
            0x0001_0000,
            0,
            20,
            0,
            2 << 16 | 17,
            4,
            9 << 16 | 59,
        ];
        assert_eq!(Uses::of(&words).capabilities, BTreeSet::from([4]));
    }
}
