// SPDX-License-Identifier: MIT OR Apache-2.0
//! Trims a module to selected kernels, so that a driver does not compile the other kernels.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::grammar::{self, Ids, Unknown};
use crate::error::{Error, ErrorKind};
use crate::portable::lift::scan::is_host_metadata;
use crate::portable::without_debug_info;
use crate::spirv::words::{self, HEADER_WORDS, Instruction, error, op, put, string};

/// The decoration of functions that other modules may call through a pointer.
const DECORATION_REFERENCED_INDIRECTLY: u32 = 5602;

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
            return Err(Error::new(
                "SPIR-V module",
                0,
                ErrorKind::Record(problem.into()),
            ));
        }
    }
    let is_kept = |name: &str| entry_points.contains(&name);
    Ok(words::bytes(reachable(words, is_kept, &[])?))
}

fn entry_point(instruction: &Instruction<'_>) -> Option<String> {
    let name = instruction.operands.get(2..)?;
    (instruction.opcode == op::ENTRY_POINT).then(|| string(name).0)
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
    let module = Module::new(&words)?;
    let mut entries = BTreeMap::new();
    for (place, instruction) in module.declarations.iter().enumerate() {
        if entry_point(instruction).is_some_and(|name| is_kept(&name)) {
            entries.insert(place, instruction.operands[1]);
        }
    }
    let kernels: BTreeSet<u32> = entries.values().copied().collect();
    let live = module.reachable(&kernels, roots)?;
    // Some drivers reject the capabilities of Intel's extensions for variables, so they are kept only if needed.
    let describes_variables = module.declarations.iter().any(|instruction| {
        let target = instruction.operands.first();
        instruction.opcode == op::DECORATE
            && is_host_metadata(instruction)
            && target.is_some_and(|target| live.contains(target))
    });
    let mut out = words.get(..HEADER_WORDS).unwrap_or_default().to_vec();
    for (place, instruction) in module.declarations.iter().enumerate() {
        let operands = instruction.operands;
        let target = operands.first().copied().unwrap_or_default();
        let is_kept = match instruction.opcode {
            op::ENTRY_POINT if entries.contains_key(&place) => {
                let (_, interface) = string(operands.get(2..).unwrap_or_default());
                let name = &operands[..operands.len() - interface.len()];
                let interface = interface.iter().filter(|id| live.contains(id));
                let interface: Vec<u32> = interface.copied().collect();
                put(&mut out, op::ENTRY_POINT, &[name, &interface]);
                false
            }
            op::ENTRY_POINT | op::LINE | op::NO_LINE => false,
            op::CAPABILITY | op::EXTENSION => describes_variables || !is_host_metadata(instruction),
            op::EXECUTION_MODE | op::EXECUTION_MODE_ID => kernels.contains(&target),
            op::GROUP_DECORATE | op::GROUP_MEMBER_DECORATE => {
                let size = 1 + usize::from(instruction.opcode == op::GROUP_MEMBER_DECORATE);
                let targets = operands.get(1..).unwrap_or_default().chunks(size);
                let targets: Vec<u32> = targets
                    .filter(|target| live.contains(&target[0]))
                    .flatten()
                    .copied()
                    .collect();
                if !targets.is_empty() {
                    put(&mut out, instruction.opcode, &[&[target], &targets]);
                }
                false
            }
            opcode if is_about_target(opcode) => live.contains(&target),
            _ => match module.ids(instruction)?.result {
                Some(result) => live.contains(&operands[result]),
                None => true,
            },
        };
        if is_kept {
            put(&mut out, instruction.opcode, &[operands]);
        }
    }
    for (id, range) in &module.functions {
        if live.contains(id) {
            out.extend_from_slice(&words[range.clone()]);
        }
    }
    Ok(out)
}

/// The definition of an id: the index of a declaration, or the words of a function.
enum Definition {
    Declaration(usize),
    Function(Range<usize>),
}

struct Module<'w> {
    words: &'w [u32],
    /// The instructions before the first function.
    declarations: Vec<Instruction<'w>>,
    functions: Vec<(u32, Range<usize>)>,
    definitions: BTreeMap<u32, Definition>,
}

impl<'w> Module<'w> {
    fn new(words: &'w [u32]) -> Result<Self, Error> {
        let mut module = Self {
            words,
            declarations: Vec::new(),
            functions: Vec::new(),
            definitions: BTreeMap::new(),
        };
        let mut function = None;
        for instruction in words::instructions(words) {
            let instruction = instruction?;
            let end = instruction.at + 1 + instruction.operands.len();
            let (id, definition) = match (instruction.opcode, instruction.operands, function) {
                (op::FUNCTION, [_, id, ..], None) => {
                    function = Some((*id, instruction.at));
                    continue;
                }
                (op::FUNCTION_END, _, Some((id, start))) => {
                    module.functions.push((id, start..end));
                    function = None;
                    (id, Definition::Function(start..end))
                }
                (op::FUNCTION | op::FUNCTION_END, ..) => {
                    return Err(error(
                        instruction.at,
                        "a function is nested in another, or has no end",
                    ));
                }
                (_, _, Some(_)) => continue,
                (_, operands, None) => {
                    let place = module.declarations.len();
                    module.declarations.push(instruction);
                    let Some(result) = module.ids(&instruction)?.result else {
                        continue;
                    };
                    (operands[result], Definition::Declaration(place))
                }
            };
            if module.definitions.insert(id, definition).is_some() {
                return Err(error(
                    instruction.at,
                    "two instructions have the same result id",
                ));
            }
        }
        match function {
            Some((_, start)) => Err(error(start, "a function has no end")),
            None => Ok(module),
        }
    }

    fn ids(&self, instruction: &Instruction<'_>) -> Result<Ids, Error> {
        let ids = grammar::ids(instruction.opcode, instruction.operands);
        ids.map_err(|unknown| {
            let problem = match unknown {
                Unknown::Opcode => "an instruction is unknown",
                Unknown::Operands => "an instruction has the wrong operands",
            };
            error(instruction.at, problem)
        })
    }

    /// Returns the ids that the kernels, the roots, and all instructions that cannot be removed need.
    fn reachable(&self, kernels: &BTreeSet<u32>, roots: &[u32]) -> Result<BTreeSet<u32>, Error> {
        let mut next: Vec<u32> = kernels.iter().chain(roots).copied().collect();
        // For each id, the ids that its annotations need.
        let mut annotations: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for instruction in &self.declarations {
            let operands = instruction.operands;
            let id = |at: usize| operands[at];
            match (instruction.opcode, operands) {
                (op::DECORATE, [function, DECORATION_REFERENCED_INDIRECTLY]) => {
                    next.push(*function);
                }
                (op::EXECUTION_MODE_ID, [target, ..]) if !kernels.contains(target) => {}
                (op::DECORATE_ID, [target, ..]) => {
                    let uses = self.ids(instruction)?.uses.into_iter().map(id);
                    annotations.entry(*target).or_default().extend(uses);
                }
                (op::GROUP_DECORATE | op::GROUP_MEMBER_DECORATE, [group, ..]) => {
                    for target in self.ids(instruction)?.uses.into_iter().map(id) {
                        annotations.entry(target).or_default().push(*group);
                    }
                }
                (op::ENTRY_POINT | op::EXECUTION_MODE | op::LINE, _) => {}
                (opcode, _) if is_about_target(opcode) => {}
                _ => {
                    let ids = self.ids(instruction)?;
                    if ids.result.is_none() {
                        next.extend(ids.uses.into_iter().map(id));
                    }
                }
            }
        }
        let mut live = BTreeSet::new();
        while let Some(id) = next.pop() {
            if !live.insert(id) {
                continue;
            }
            next.extend(annotations.get(&id).into_iter().flatten());
            match self.definitions.get(&id) {
                Some(Definition::Declaration(place)) => {
                    self.needs(&self.declarations[*place], &mut next)?;
                }
                Some(Definition::Function(range)) => {
                    let body = words::instructions_from(self.words, range.start);
                    for instruction in body.map_while(Result::ok) {
                        if instruction.at >= range.end {
                            break;
                        }
                        self.needs(&instruction, &mut next)?;
                    }
                }
                // The id is defined inside a function.
                None => {}
            }
        }
        Ok(live)
    }

    fn needs(&self, instruction: &Instruction<'_>, next: &mut Vec<u32>) -> Result<(), Error> {
        let ids = self.ids(instruction)?;
        let places = ids.ty.into_iter().chain(ids.result).chain(ids.uses);
        next.extend(places.map(|at| instruction.operands[at]));
        Ok(())
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
