// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collects everything in a module that determines how its variables are lifted.

use super::super::{UnsupportedModule, Version, collect};
use super::{Layout, unsupported};
use crate::prelude::*;
use crate::spirv::grammar;
use crate::spirv::module::parse::DECORATIONS_HOST_ACCESS;
use crate::spirv::module::{Module, STORAGE_CROSS_WORKGROUP};
use crate::spirv::words::{
    DECORATION_LINKAGE_ATTRIBUTES, Instruction, LINKAGE_EXPORT, LINKAGE_IMPORT, LINKAGE_LINK_ONCE,
    op, string,
};

/// Capabilities for indirect calls (device enqueue and function pointers), whose callees are unknown.
const INDIRECT_CALLS: [u32; 2] = [19, 5603];

pub(super) struct Variable {
    /// The type of the variable, a pointer type.
    pub(super) ty: u32,
    pub(super) bytes: Option<u64>,
    pub(super) initializer: Option<u32>,
    /// The name that other modules link to.
    pub(super) link: Option<String>,
    /// The name in the host-access decoration.
    pub(super) host: Option<String>,
    pub(super) imported: bool,
    /// The offset in the arena, in bytes.
    pub(super) offset: Option<u64>,
}

#[derive(Default)]
pub(super) struct Scan<'w> {
    pub(super) version: Version,
    pub(super) header: &'w [u32],
    /// The instructions before the first function.
    pub(super) declarations: Vec<Instruction<'w>>,
    pub(super) functions: Vec<Instruction<'w>>,
    pub(super) variables: BTreeMap<u32, Variable>,
    /// The constants computed from a variable's address, in module order.
    pub(super) dependents: Vec<Instruction<'w>>,
    pub(super) dependent_ids: BTreeSet<u32>,
    /// The constants whose bytes are all zero.
    pub(super) zeros: BTreeSet<u32>,
    /// The result and parameter types of each function type.
    pub(super) function_types: BTreeMap<u32, &'w [u32]>,
    pub(super) entry_points: BTreeSet<u32>,
    /// The linkage name and linkage type of each function and variable, by id.
    pub(super) links: BTreeMap<u32, (String, u32)>,
    /// The names in host-access decorations, by variable.
    hosts: BTreeMap<u32, String>,
}

impl<'w> Scan<'w> {
    pub(super) fn new(bytes: &[u8], words: &'w [u32]) -> Result<Self, UnsupportedModule> {
        let parsed = Module::parse(bytes)?;
        let mut declarations = collect(words)?;
        let first = declarations.iter().position(|i| i.opcode == op::FUNCTION);
        let functions = declarations.split_off(first.unwrap_or(declarations.len()));
        let mut scan = Self {
            version: Version::of_header(words),
            header: words,
            declarations,
            functions,
            ..Self::default()
        };
        for instruction in scan.declarations.clone() {
            scan.declaration(&parsed, &instruction)?;
        }
        Ok(scan)
    }

    fn declaration(
        &mut self,
        parsed: &Module,
        instruction: &Instruction<'w>,
    ) -> Result<(), UnsupportedModule> {
        match (instruction.opcode, instruction.operands) {
            (op::CAPABILITY, [capability]) if INDIRECT_CALLS.contains(capability) => {
                let reason = "it contains indirect calls, such as calls through function pointers";
                return unsupported(reason);
            }
            (op::TYPE_FUNCTION, [id, signature @ ..]) => {
                self.function_types.insert(*id, signature);
            }
            (op::ENTRY_POINT, [_, function, ..]) => _ = self.entry_points.insert(*function),
            (op::DECORATE, [target, DECORATION_LINKAGE_ATTRIBUTES, rest @ ..]) => {
                let (name, rest) = string(rest);
                if let Some(kind) = rest.first() {
                    self.links.insert(*target, (name, *kind));
                }
            }
            (op::DECORATE, [target, decoration, _, name @ ..])
                if DECORATIONS_HOST_ACCESS.contains(decoration) =>
            {
                self.hosts.entry(*target).or_insert_with(|| string(name).0);
            }
            (op::VARIABLE, [_, _, _, initializer, ..]) if self.is_lifted(*initializer) => {
                return unsupported("an initial value is the address of a variable");
            }
            (op::VARIABLE, [ty, id, STORAGE_CROSS_WORKGROUP, initializer @ ..]) => {
                let initializer = initializer.first().filter(|id| !self.zeros.contains(id));
                let link = self.links.get(id);
                let variable = Variable {
                    ty: *ty,
                    bytes: parsed.pointee_bytes(*ty),
                    initializer: initializer.copied(),
                    link: link.map(|(name, _)| name.clone()),
                    host: self.hosts.get(id).cloned(),
                    imported: link.is_some_and(|(_, kind)| *kind == LINKAGE_IMPORT),
                    offset: None,
                };
                self.variables.insert(*id, variable);
            }
            _ => self.constant(instruction),
        }
        Ok(())
    }

    /// Records a constant that is zero or computed from a variable's address.
    fn constant(&mut self, instruction: &Instruction<'w>) {
        let (opcode, operands) = (instruction.opcode, instruction.operands);
        let Some((_, [id, parts @ ..])) = operands.split_first() else {
            return;
        };
        let all_zero = |ids: &[u32]| ids.iter().all(|id| self.zeros.contains(id));
        let (is_zero, parts) = match (opcode, parts) {
            (op::CONSTANT_NULL | op::UNDEF, _) => (true, &[][..]),
            (op::CONSTANT, value) => (value.iter().all(|word| *word == 0), &[][..]),
            (op::CONSTANT_COMPOSITE | op::SPEC_CONSTANT_COMPOSITE, _) => (all_zero(parts), parts),
            (op::SPEC_CONSTANT_OP, [cast, parts @ ..]) => {
                let is_cast = matches!(
                    u16::try_from(*cast),
                    Ok(op::PTR_CAST_TO_GENERIC | op::GENERIC_CAST_TO_PTR | op::BITCAST)
                );
                (is_cast && all_zero(parts), parts)
            }
            _ => return,
        };
        if is_zero {
            self.zeros.insert(*id);
        }
        if parts.iter().any(|part| self.is_lifted(*part)) {
            self.dependent_ids.insert(*id);
            self.dependents.push(*instruction);
        }
    }

    /// Returns whether `id` is a variable, or a constant computed from the address of a variable.
    pub(super) fn is_lifted(&self, id: u32) -> bool {
        self.variables.contains_key(&id) || self.dependent_ids.contains(&id)
    }

    /// Returns the names that the module defines for other modules.
    pub(super) fn exported(&self) -> impl Iterator<Item = String> {
        let is_export = |kind: &u32| matches!(*kind, LINKAGE_EXPORT | LINKAGE_LINK_ONCE);
        let links = self.links.values().filter(move |(_, kind)| is_export(kind));
        links.map(|(name, _)| name.clone())
    }
}

pub(super) fn functions<'i, 'w>(
    instructions: &'i [Instruction<'w>],
) -> impl Iterator<Item = &'i [Instruction<'w>]> {
    instructions.split_inclusive(|instruction| instruction.opcode == op::FUNCTION_END)
}

/// The capabilities of Intel's global-variable extensions: `GlobalVariableDecorationsINTEL`,
/// `GlobalVariableHostAccessINTEL` and `GlobalVariableFPGADecorationsINTEL`. Kernels do not depend on them, so they can
/// be removed.
const CAPABILITIES: [u32; 3] = [6146, 6187, 6189];
/// The decorations from these extensions, except `HostAccessINTEL`: `InitModeINTEL` and `ImplementInRegisterMapINTEL`,
/// in both numberings.
const DECORATIONS: [u32; 4] = [6148, 6149, 6190, 6191];
const EXTENSIONS: [&str; 3] = [
    "SPV_INTEL_global_variable_decorations",
    "SPV_INTEL_global_variable_host_access",
    "SPV_INTEL_global_variable_fpga_decorations",
];

/// Returns whether an instruction only describes variables to the host.
pub(crate) fn is_host_metadata(instruction: &Instruction<'_>) -> bool {
    let operand = |index: usize| instruction.operands.get(index);
    match instruction.opcode {
        op::CAPABILITY => operand(0).is_some_and(|number| CAPABILITIES.contains(number)),
        op::EXTENSION => EXTENSIONS.contains(&&*string(instruction.operands).0),
        op::DECORATE => operand(1).is_some_and(|number| {
            DECORATIONS_HOST_ACCESS.contains(number) || DECORATIONS.contains(number)
        }),
        _ => false,
    }
}

/// The loads in a function that read the pointer to a variable's own buffer from the variable. Lifting replaces such a
/// load with the hidden argument, so most kernels need not store the pointers in the arena. If every work-item stored
/// the pointers, processors would contend for the memory.
#[derive(Default)]
pub(super) struct DirectLoads {
    /// Maps each id that such a pointer is loaded from to the index of the buffer.
    pub(super) buffers: BTreeMap<u32, usize>,
    /// Whether the function, or a function that it calls, may read the pointers in other ways.
    pub(super) needs_slots: bool,
}

impl DirectLoads {
    pub(super) fn of(function: &[Instruction<'_>], scan: &Scan<'_>, layout: &Layout) -> Self {
        let mut direct = Self::default();
        for (id, variable) in &scan.variables {
            let host = variable.host.as_ref();
            // `buffers` is sorted.
            let buffer = host.and_then(|host| layout.buffers.binary_search(host).ok());
            direct.buffers.extend(buffer.map(|buffer| (*id, buffer)));
        }
        for instruction in function {
            let operands = instruction.operands;
            let ids = grammar::ids(instruction.opcode, operands).unwrap_or_default();
            let mut used = ids.uses.iter().map(|at| &operands[*at]);
            match (instruction.opcode, operands) {
                (op::BITCAST, [_, result, of]) => {
                    if let Some(buffer) = direct.buffers.get(of).copied() {
                        direct.buffers.insert(*result, buffer);
                    }
                    direct.needs_slots |= scan.dependent_ids.contains(of);
                }
                (op::LOAD, [_, _, of, ..]) if direct.buffers.contains_key(of) => {}
                (op::FUNCTION_CALL, _) => direct.needs_slots = true,
                _ => {
                    direct.needs_slots |= used.any(|id| {
                        direct.buffers.contains_key(id) || scan.dependent_ids.contains(id)
                    });
                }
            }
        }
        direct
    }
}
