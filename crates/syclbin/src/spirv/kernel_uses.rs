// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds kernels that use features which some devices lack or some drivers miscompile.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::module::ATTRIBUTE_BY_VAL;
use super::module::parse::DECORATION_FUNC_PARAM_ATTR;
use super::module::types::TypeTable;
use crate::spirv::words::{
    self, DECORATION_CPACKED, DECORATION_LINKAGE_ATTRIBUTES, LINKAGE_EXPORT, instructions, op,
};

/// The scope of a work-group.
const WORKGROUP: u64 = 2;

/// Features that a kernel uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelUses {
    /// Whether the kernel, or a function that it calls, uses a collective operation of a work-group, such as a
    /// sum.
    pub work_group_functions: bool,
    /// Whether the kernel takes a by-value struct that is, or contains, a packed struct with a misaligned member.
    pub unaligned_argument: bool,
    /// Whether the kernel takes an image or a sampler.
    pub images: bool,
}

/// A function, identified by the index of its module and its id in that module.
type Function = (usize, u32);

#[derive(Default)]
struct Functions {
    kernels: Vec<(Function, String)>,
    callers: BTreeMap<Function, Vec<Function>>,
    /// Declarations of functions that other modules define, with their names.
    imports: Vec<(Function, String)>,
    exports: BTreeMap<String, Function>,
    of_work_groups: BTreeSet<Function>,
    with_unaligned_argument: BTreeSet<Function>,
    with_images: BTreeSet<Function>,
}

impl KernelUses {
    /// Returns the features that each kernel of a program uses, by kernel name. Reading a module stops at the first
    /// malformed instruction.
    #[must_use]
    pub fn of(modules: &[Vec<u32>]) -> BTreeMap<String, Self> {
        let mut functions = Functions::default();
        for (number, words) in modules.iter().enumerate() {
            functions.read(number, words);
        }
        let of_work_groups = functions.reaching_work_groups();
        let kernels = functions.kernels.into_iter().map(|(function, name)| {
            let uses = Self {
                work_group_functions: of_work_groups.contains(&function),
                unaligned_argument: functions.with_unaligned_argument.contains(&function),
                images: functions.with_images.contains(&function),
            };
            (name, uses)
        });
        kernels.collect()
    }
}

impl Functions {
    fn read(&mut self, number: usize, words: &[u32]) {
        let mut constants = BTreeMap::new();
        let mut types = TypeTable::default();
        let mut packed = BTreeSet::new();
        let mut images = BTreeSet::new();
        // Parameters that are values passed by pointer.
        let mut by_value = BTreeSet::new();
        let mut function = (number, 0);
        for instruction in instructions(words).map_while(Result::ok) {
            match (instruction.opcode, instruction.operands) {
                (op::ENTRY_POINT, [_, id, name @ ..]) => {
                    self.kernels.push(((number, *id), words::string(name).0));
                }
                (op::DECORATE, [id, DECORATION_CPACKED]) => _ = packed.insert(*id),
                (op::DECORATE, [id, DECORATION_FUNC_PARAM_ATTR, ATTRIBUTE_BY_VAL]) => {
                    by_value.insert(*id);
                }
                (op::DECORATE, [id, DECORATION_LINKAGE_ATTRIBUTES, name @ .., linkage]) => {
                    let name = words::string(name).0;
                    if *linkage == LINKAGE_EXPORT {
                        self.exports.insert(name, (number, *id));
                    } else {
                        self.imports.push(((number, *id), name));
                    }
                }
                (op::CONSTANT, [_, id, value, ..]) => {
                    constants.insert(*id, u64::from(*value));
                }
                (op::TYPE_IMAGE | op::TYPE_SAMPLER, [id, ..]) => _ = images.insert(*id),
                (opcode @ op::TYPE_BOOL..=op::TYPE_POINTER, operands) => {
                    types.declare(opcode, operands, &constants, &packed);
                }
                (op::FUNCTION, [_, id, ..]) => function = (number, *id),
                (op::FUNCTION_PARAMETER, [ty, id])
                    if types.is_unaligned(*ty) && by_value.contains(id) =>
                {
                    self.with_unaligned_argument.insert(function);
                }
                (op::FUNCTION_PARAMETER, [ty, _]) if images.contains(ty) => {
                    self.with_images.insert(function);
                }
                (op::FUNCTION_CALL, [_, _, callee, ..]) => {
                    let callers = self.callers.entry((number, *callee)).or_default();
                    callers.push(function);
                }
                // OpGroupAll to OpGroupSMax, and SPV_KHR_uniform_group_instructions.
                (261..=271 | 6401..=6408, [_, _, scope, ..])
                    if constants.get(scope) == Some(&WORKGROUP) =>
                {
                    self.of_work_groups.insert(function);
                }
                _ => {}
            }
        }
    }

    /// Returns the functions that use a collective operation of a work-group, directly or through calls.
    fn reaching_work_groups(&self) -> BTreeSet<Function> {
        let mut imports = BTreeMap::<Function, Vec<Function>>::new();
        for (import, name) in &self.imports {
            if let Some(export) = self.exports.get(name) {
                imports.entry(*export).or_default().push(*import);
            }
        }
        let mut found = BTreeSet::new();
        let mut next: Vec<Function> = self.of_work_groups.iter().copied().collect();
        while let Some(function) = next.pop() {
            if found.insert(function) {
                let reached = [self.callers.get(&function), imports.get(&function)];
                next.extend(reached.into_iter().flatten().flatten());
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// The words of a module with these instructions, each with its opcode first.
    fn module(instructions: &[&[u32]]) -> Vec<u32> {
        let mut words: Vec<u32> = [0x0723_0203, 0x0001_0000, 0, 20, 0].to_vec();
        for instruction in instructions {
            let count = u32::try_from(instruction.len()).unwrap();
            words.push(count << 16 | instruction[0]);
            words.extend(&instruction[1..]);
        }
        words
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

    fn users(modules: &[Vec<u32>]) -> Vec<String> {
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
        let first = module(&[vec![import], kernels()].concat());
        let export = |name| {
            module(&[
                &[71, 5, 41, name, 0],
                &[43, 1, 7, 2],
                &[54, 1, 5, 0, 2],
                &[264, 1, 2, 7, 0, 3],
            ])
        };
        assert_eq!(users(&[first.clone(), export(A)]), ["a"]);
        assert_eq!(users(&[first, export(B)]), [""; 0]);
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
