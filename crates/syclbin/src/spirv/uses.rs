// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds features that some devices lack or some drivers miscompile, and classifies imports.

use super::module::types::Record;
use super::module::{Module, STORAGE_CROSS_WORKGROUP};
use crate::prelude::*;
use crate::spirv::reads::reachable;
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

/// Features that a kernel uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelUses {
    /// Whether the kernel, or a function that it calls, uses a collective work-group operation, such as a sum.
    pub work_group_functions: bool,
    /// Whether the kernel takes a by-value struct that is, or contains, a packed struct with a misaligned member.
    pub unaligned_argument: bool,
    /// Whether the kernel takes an image or a sampler.
    pub images: bool,
}

/// A function, identified by the index of its module and its id in that module.
type Function = (usize, u32);

impl KernelUses {
    /// Returns the features that each kernel of a program uses, by kernel name.
    pub fn of(modules: &[Module]) -> BTreeMap<String, Self> {
        let of_work_groups = functions_of_work_groups(modules);
        let mut kernels = BTreeMap::new();
        for (number, module) in modules.iter().enumerate() {
            for (id, name) in &module.entry_points {
                let mut uses = Self {
                    work_group_functions: of_work_groups.contains(&(number, *id)),
                    ..Self::default()
                };
                for (id, ty) in module.functions.get(id).into_iter().flatten() {
                    uses.unaligned_argument |=
                        module.types.is_unaligned(*ty) && module.is_by_value(*id);
                    let ty = module.types.get(*ty);
                    uses.images |= matches!(ty, Some(Record::Image(_) | Record::Sampler));
                }
                kernels.insert(name.clone(), uses);
            }
        }
        kernels
    }
}

/// Returns the functions that use a collective work-group operation, directly or through calls.
fn functions_of_work_groups(modules: &[Module]) -> BTreeSet<Function> {
    let mut exports: BTreeMap<&str, Function> = BTreeMap::new();
    for (number, module) in modules.iter().enumerate() {
        for (id, name) in &module.exports {
            exports.insert(name, (number, *id));
        }
    }
    // For each function, its callers, and its declarations in other modules.
    let mut users: BTreeMap<Function, Vec<Function>> = BTreeMap::new();
    let mut next = Vec::new();
    for (number, module) in modules.iter().enumerate() {
        for (caller, callee) in &module.calls {
            let callers = users.entry((number, *callee)).or_default();
            callers.push((number, *caller));
        }
        for (id, name) in &module.imports {
            if let Some(export) = exports.get(&**name) {
                users.entry(*export).or_default().push((number, *id));
            }
        }
        next.extend(module.of_work_groups.iter().map(|id| (number, *id)));
    }
    reachable(next, &users)
}

/// The kind of an unresolved import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Import {
    /// A function that reads a specialization constant. The import remains if the compiler did not lower the
    /// calls.
    SpecializationConstant,
    /// A function of DPC++'s device library, such as the one that reports a failed `assert`.
    DeviceLibrary,
    /// A function or variable from another source file.
    Symbol,
}

impl Import {
    /// Returns the kind of the import `symbol`.
    pub fn of(symbol: &str) -> Self {
        if symbol.contains("__sycl_getScalar2020SpecConstantValue")
            || symbol.contains("__sycl_getComposite2020SpecConstantValue")
        {
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

/// Returns whether `target` is a 64-bit SPIR-V triple. An empty target is accepted, because some writers omit it. This
/// check is necessary because compilers declare every image without an architecture as SPIR-V.
pub fn is_target(target: &str) -> bool {
    let architecture = target.split('-').next().unwrap_or_default();
    architecture.is_empty() || architecture == "spir64" || architecture.starts_with("spirv64")
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::spirv::words::bytes;

    /// The words of a module with these instructions, each with its opcode first.
    fn words(instructions: &[&[u32]]) -> Vec<u32> {
        let mut words: Vec<u32> = [0x0723_0203, 0x0001_0000, 0, 20, 0].to_vec();
        for instruction in instructions {
            let count = u32::try_from(instruction.len()).unwrap();
            words.push(count << 16 | instruction[0]);
            words.extend(&instruction[1..]);
        }
        words
    }

    fn uses(instructions: &[&[u32]]) -> Uses {
        Uses::of(&words(instructions))
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

    fn module(instructions: &[&[u32]]) -> Module {
        Module::parse(&bytes(words(instructions))).unwrap()
    }

    const A: u32 = 'a' as u32;
    const B: u32 = 'b' as u32;

    /// Kernels `a`, which calls function 12, and `b`, which calls nothing.
    fn kernels() -> Vec<&'static [u32]> {
        vec![
            &[15, 6, 10, A],
            &[15, 6, 11, B],
            &[54, 1, 10, 0, 2],
            &[57, 1, 20, 12],
            &[56],
            &[54, 1, 11, 0, 2],
            &[56],
            &[54, 1, 12, 0, 2],
        ]
    }

    fn users(modules: &[Module]) -> Vec<String> {
        let uses = KernelUses::of(modules).into_iter();
        let users = uses.filter(|(_, uses)| uses.work_group_functions);
        users.map(|(name, _)| name).collect()
    }

    #[test]
    fn functions_of_work_groups_are_found_in_callees() {
        for (scope, expected) in [(2, vec!["a"]), (3, vec![])] {
            let constant: &[u32] = &[43, 1, 7, scope];
            for instruction in [&[261, 1, 2, 7, 3][..], &[264, 1, 2, 7, 0, 3]] {
                let instructions = [vec![constant], kernels(), vec![instruction]].concat();
                assert_eq!(users(&[module(&instructions)]), expected);
            }
        }
    }

    #[test]
    fn functions_of_work_groups_are_found_across_modules() {
        let import: &[u32] = &[71, 12, 41, A, 1];
        let first = || module(&[vec![import], kernels()].concat());
        let export = |name| {
            module(&[
                &[71, 5, 41, name, 0],
                &[43, 1, 7, 2],
                &[54, 1, 5, 0, 2],
                &[264, 1, 2, 7, 0, 3],
            ])
        };
        assert_eq!(users(&[first(), export(A)]), ["a"]);
        assert_eq!(users(&[first(), export(B)]), [""; 0]);
    }

    #[test]
    fn unaligned_arguments_are_found_inside_of_others() {
        // An 8-bit integer (1), a 32-bit integer (6), a packed struct of both (2), and types that contain it.
        let numbers: &[&[u32]] = &[&[21, 1, 8, 0], &[21, 6, 32, 0], &[43, 6, 8, 3]];
        let packed: &[u32] = &[71, 2, 10];
        let by_value: &[u32] = &[71, 9, 38, 2];
        let direct: &[&[u32]] = &[&[30, 2, 1, 6], &[32, 4, 7, 2]];
        let nested: &[&[u32]] = &[
            &[30, 2, 1, 6],
            &[28, 3, 2, 8],
            &[30, 5, 1, 3],
            &[32, 4, 7, 5],
        ];
        let aligned: &[&[u32]] = &[&[30, 2, 6, 1], &[32, 4, 7, 2]];
        let kernel: &[&[u32]] = &[&[54, 1, 10, 0, 2], &[55, 4, 9]];
        for (types, expected) in [(direct, true), (nested, true), (aligned, false)] {
            let with = |decorations: &[&[u32]]| {
                let entry: &[&[u32]] = &[&[15, 6, 10, A]];
                let code = module(&[entry, decorations, numbers, types, kernel].concat());
                KernelUses::of(&[code])["a"].unaligned_argument
            };
            assert_eq!(with(&[packed, by_value]), expected);
            assert!(!with(&[packed]) && !with(&[by_value]));
        }
    }

    #[test]
    fn images_and_samplers_are_found() {
        // A number, an image and a sampler.
        let types: &[&[u32]] = &[&[21, 1, 32, 0], &[25, 2, 1, 1, 0, 0, 0, 0, 0, 0], &[26, 3]];
        for (parameter, expected) in [(1, false), (2, true), (3, true)] {
            let kernel: &[&[u32]] = &[&[15, 6, 10, A], &[54, 1, 10, 0, 2], &[55, parameter, 9]];
            let code = module(&[&kernel[..1], types, &kernel[1..]].concat());
            assert_eq!(KernelUses::of(&[code])["a"].images, expected);
        }
    }

    #[test]
    fn calls_in_circles_end() {
        let call: &[u32] = &[57, 1, 20, 10];
        let instructions = [kernels(), vec![call]].concat();
        assert_eq!(users(&[module(&instructions)]), [""; 0]);
    }
}
