// SPDX-License-Identifier: MIT OR Apache-2.0
//! Trims a module to selected kernels, so that a driver does not compile the other kernels.

use super::grammar::{self, Ids, Unknown};
use crate::error::Error;
use crate::portable::lift::scan::is_host_metadata;
use crate::portable::without_debug_info;
use crate::prelude::*;
use crate::spirv::words::{
    self, CAPABILITY_INT8, CAPABILITY_INT64, DECORATION_ALIGNMENT, DECORATION_CONSTANT,
    DECORATION_LINKAGE_ATTRIBUTES, HEADER_WORDS, Instruction, LINKAGE_LINK_ONCE, error, op, put,
    string,
};

/// The decoration of functions that other modules may call through a pointer.
const DECORATION_REFERENCED_INDIRECTLY: u32 = 5602;

const CAPABILITY_GENERIC_POINTER: u32 = 38;
const STORAGE_GENERIC: u32 = 8;

/// Returns the module with only these entry points and everything reachable from them. Ids do not change. Debug
/// information is removed.
///
/// Unreachable exports are removed too. To link with a module that imports such exports, use the untrimmed module.
///
/// # Errors
///
/// Returns an error if `spirv` is not SPIR-V, lacks one of the entry points, or contains an instruction that the
/// grammar does not cover.
pub fn trim(spirv: &[u8], entry_points: &[&str]) -> Result<Vec<u8>, Error> {
    let words = words::words(spirv)?;
    for name in entry_points {
        let mut instructions = words::instructions(&words).map_while(Result::ok);
        if !instructions.any(|i| entry_point(&i).is_some_and(|found| found == *name)) {
            let problem = format!("it does not contain the entry point {name}");
            return Err(Error::inconsistent("SPIR-V module", 0, problem));
        }
    }
    let is_kept = |name: &str| entry_points.contains(&name);
    Ok(words::bytes(reachable(words, is_kept, &[])?))
}

/// Returns the module as if it had been compiled without debug information. Also removes the types, constants,
/// variables and capabilities that only debug information needed, unless the module contains an instruction that the
/// grammar does not cover.
///
/// # Errors
///
/// Returns an error if `spirv` is not SPIR-V.
pub fn strip_debug_info(spirv: &[u8]) -> Result<Vec<u8>, Error> {
    let words = words::words(spirv)?;
    let instructions = words::instructions(&words).collect::<Result<Vec<_>, Error>>()?;
    let variables = instructions.iter().filter(|i| i.opcode == op::VARIABLE);
    let variables = variables.filter_map(|i| i.operands.get(1).copied());
    let variables: BTreeSet<u32> = variables.collect();
    let is_visible =
        |instruction: &Instruction<'_>| match (instruction.opcode, instruction.operands) {
            // Unused constants have these decorations too, so they are not a reason to keep a constant.
            (op::DECORATE, [_, DECORATION_CONSTANT | DECORATION_ALIGNMENT, ..]) => false,
            (op::DECORATE, [target, DECORATION_LINKAGE_ATTRIBUTES, .., LINKAGE_LINK_ONCE]) => {
                !variables.contains(target)
            }
            (op::DECORATE | op::DECORATE_STRING | op::EXT_INST_IMPORT, _) => true,
            _ => false,
        };
    let visible = instructions.iter().filter(|i| is_visible(i));
    let visible = visible.filter_map(|i| i.operands.first().copied());
    let needed = reachable(words.clone(), |_| true, &visible.collect::<Vec<_>>());
    let needed = needed.or_else(|_| without_debug_info(words))?;
    Ok(words::bytes(needed))
}

fn entry_point(instruction: &Instruction<'_>) -> Option<String> {
    let name = instruction.operands.get(2..)?;
    (instruction.opcode == op::ENTRY_POINT).then(|| string(name).0)
}

/// Returns whether a capability or extension is needed. A capability for a type is needed only if such a type is
/// declared. `declared` contains the opcode of each declaration, and the operand after the result: the storage class of a
/// pointer, or the width of an integer.
fn needs(instruction: &Instruction<'_>, declared: &BTreeSet<(u16, u32)>) -> bool {
    let pointers = [op::TYPE_POINTER, op::TYPE_UNTYPED_POINTER];
    match (instruction.opcode, instruction.operands) {
        (op::CAPABILITY, [CAPABILITY_GENERIC_POINTER]) => pointers
            .iter()
            .any(|opcode| declared.contains(&(*opcode, STORAGE_GENERIC))),
        (op::CAPABILITY, [CAPABILITY_INT8]) => declared.contains(&(op::TYPE_INT, 8)),
        (op::CAPABILITY, [CAPABILITY_INT64]) => declared.contains(&(op::TYPE_INT, 64)),
        (op::EXTENSION, name) => string(name).0 != "SPV_KHR_non_semantic_info",
        _ => true,
    }
}

/// Returns the module reduced to the entry points that `is_kept` accepts, the ids in `roots`, and everything reachable
/// from both. Debug information is removed.
///
/// # Errors
///
/// Fails for the same reasons as [`trim`].
pub fn reachable(
    words: Vec<u32>,
    is_kept: impl Fn(&str) -> bool,
    roots: &[u32],
) -> Result<Vec<u32>, Error> {
    let words = without_debug_info(words)?;
    let instructions = words::instructions(&words).collect::<Result<Vec<_>, Error>>()?;
    let module = Module::new(&instructions)?;
    let is_kept = |i: &&Instruction<'_>| entry_point(i).is_some_and(|name| is_kept(&name));
    let kept = module.declarations().filter(is_kept);
    let entries: BTreeMap<usize, u32> = kept.map(|i| (i.at, i.operands[1])).collect();
    let kernels: BTreeSet<u32> = entries.values().copied().collect();
    let live = module.reachable(&kernels, roots)?;
    // Some drivers reject the capabilities of Intel's extensions for variables, so they are kept only if needed.
    let describes_variables = module.declarations().any(|instruction| {
        let target = instruction.operands.first();
        instruction.opcode == op::DECORATE
            && is_host_metadata(instruction)
            && target.is_some_and(|target| live.contains(target))
    });
    let declared = module.declarations().filter_map(|i| match i.operands {
        [result, operand, ..] if live.contains(result) => Some((i.opcode, *operand)),
        _ => None,
    });
    let declared: BTreeSet<(u16, u32)> = declared.collect();
    let mut out = words.get(..HEADER_WORDS).unwrap_or_default().to_vec();
    for part in &module.parts {
        let Some(instruction) = part.first() else {
            continue;
        };
        let operands = instruction.operands;
        let target = operands.first().copied().unwrap_or_default();
        let is_kept = match instruction.opcode {
            op::ENTRY_POINT if entries.contains_key(&instruction.at) => {
                let operands = words::entry_point(operands, |id| live.contains(id));
                put(&mut out, op::ENTRY_POINT, &[&operands]);
                false
            }
            op::ENTRY_POINT | op::LINE | op::NO_LINE => false,
            op::CAPABILITY | op::EXTENSION => {
                (describes_variables || !is_host_metadata(instruction))
                    && needs(instruction, &declared)
            }
            op::EXECUTION_MODE | op::EXECUTION_MODE_ID => kernels.contains(&target),
            op::GROUP_DECORATE | op::GROUP_MEMBER_DECORATE => {
                let size = 1 + usize::from(instruction.opcode == op::GROUP_MEMBER_DECORATE);
                let targets = operands.get(1..).unwrap_or_default().chunks(size);
                let targets = targets.filter(|target| live.contains(&target[0]));
                let targets: Vec<u32> = targets.flatten().copied().collect();
                if !targets.is_empty() {
                    put(&mut out, instruction.opcode, &[&[target], &targets]);
                }
                false
            }
            opcode if is_about_target(opcode) => live.contains(&target),
            _ => match ids(instruction)?.result {
                Some(result) => live.contains(&operands[result]),
                None => true,
            },
        };
        for instruction in part.iter().filter(|_| is_kept) {
            put(&mut out, instruction.opcode, &[instruction.operands]);
        }
    }
    Ok(out)
}

#[derive(Default)]
struct Module<'w> {
    /// Declarations and whole functions, in module order.
    parts: Vec<&'w [Instruction<'w>]>,
    /// The part that defines each id, except ids that are defined inside functions.
    definitions: BTreeMap<u32, &'w [Instruction<'w>]>,
}

impl<'w> Module<'w> {
    fn new(instructions: &'w [Instruction<'w>]) -> Result<Self, Error> {
        let mut module = Self::default();
        let mut rest = instructions;
        while let Some(first) = rest.first() {
            let count = match first.opcode {
                op::FUNCTION => {
                    let is_border =
                        |i: &Instruction<'_>| matches!(i.opcode, op::FUNCTION | op::FUNCTION_END);
                    let end = rest[1..].iter().position(is_border).map(|end| end + 1);
                    end.filter(|end| rest[*end].opcode == op::FUNCTION_END)
                }
                op::FUNCTION_END => None,
                _ => Some(0),
            };
            let problem = "a function is nested in another function, or lacks its start or end";
            let last = count.ok_or_else(|| error(first.at, problem))?;
            let (part, others) = rest.split_at(last + 1);
            rest = others;
            module.parts.push(part);
            let definitions = &mut module.definitions;
            if let Some(result) = ids(first)?.result
                && definitions.insert(first.operands[result], part).is_some()
            {
                return Err(error(first.at, "two instructions have the same result id"));
            }
        }
        Ok(module)
    }

    fn declarations(&self) -> impl Iterator<Item = &'w Instruction<'w>> {
        let first = self.parts.iter().filter_map(|part| part.first());
        first.filter(|instruction| instruction.opcode != op::FUNCTION)
    }

    /// Returns the ids needed by the kernels, by the roots, or by an instruction that cannot be removed.
    fn reachable(&self, kernels: &BTreeSet<u32>, roots: &[u32]) -> Result<BTreeSet<u32>, Error> {
        let mut next: Vec<u32> = kernels.iter().chain(roots).copied().collect();
        // For each id, the ids that its annotations need.
        let mut annotations: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for instruction in self.declarations() {
            let operands = instruction.operands;
            let id = |at: usize| operands[at];
            match (instruction.opcode, operands) {
                (op::DECORATE, [function, DECORATION_REFERENCED_INDIRECTLY]) => {
                    next.push(*function);
                }
                (op::EXECUTION_MODE_ID, [target, ..]) if !kernels.contains(target) => {}
                (op::DECORATE_ID, [target, ..]) => {
                    let uses = ids(instruction)?.uses.into_iter().map(id);
                    annotations.entry(*target).or_default().extend(uses);
                }
                (op::GROUP_DECORATE | op::GROUP_MEMBER_DECORATE, [group, ..]) => {
                    for target in ids(instruction)?.uses.into_iter().map(id) {
                        annotations.entry(target).or_default().push(*group);
                    }
                }
                (op::ENTRY_POINT | op::EXECUTION_MODE | op::LINE, _) => {}
                (opcode, _) if is_about_target(opcode) => {}
                _ => {
                    let ids = ids(instruction)?;
                    if ids.result.is_none() {
                        next.extend(ids.uses.into_iter().map(id));
                    }
                }
            }
        }
        let mut live = BTreeSet::new();
        while let Some(id) = next.pop() {
            if live.insert(id) {
                next.extend(annotations.get(&id).into_iter().flatten());
                for instruction in self.definitions.get(&id).copied().unwrap_or_default() {
                    let ids = ids(instruction)?;
                    next.extend(ids.all().map(|at| instruction.operands[at]));
                }
            }
        }
        Ok(live)
    }
}

fn ids(instruction: &Instruction<'_>) -> Result<Ids, Error> {
    let fail = |problem| Err(error(instruction.at, problem));
    match grammar::ids(instruction.opcode, instruction.operands) {
        Ok(ids) => Ok(ids),
        Err(Unknown::Opcode) => fail("an instruction is unknown"),
        Err(Unknown::Operands) => fail("an instruction has the wrong operands"),
    }
}

/// Returns whether an instruction without a result describes the id in its first operand.
fn is_about_target(opcode: u16) -> bool {
    matches!(
        opcode,
        op::NAME
            | op::MEMBER_NAME
            | op::TYPE_FORWARD_POINTER
            | op::DECORATE
            | op::MEMBER_DECORATE
            | op::DECORATE_ID
            | op::DECORATE_STRING
            | op::MEMBER_DECORATE_STRING
    )
}
