// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses the instructions of a SPIR-V module.

use super::types::{Record, TypeId};
use super::{Extended, Module, STORAGE_CROSS_WORKGROUP};
use crate::error::Error;
use crate::prelude::*;
use crate::spirv::reads::read_only_parameters;
use crate::spirv::words::{
    DECORATION_ALIGNMENT, DECORATION_CONSTANT, DECORATION_CPACKED, DECORATION_LINKAGE_ATTRIBUTES,
    DECORATION_SPEC_ID, INTRINSIC, LINKAGE_EXPORT, LINKAGE_IMPORT, LINKAGE_LINK_ONCE, error,
    instructions, op, string, words,
};

/// The scope of a work-group.
const SCOPE_WORKGROUP: u64 = 2;
/// The execution model of kernels.
pub(crate) const EXECUTION_MODEL_KERNEL: u32 = 6;
const EXECUTION_MODE_LOCAL_SIZE: u32 = 17;
/// The decoration of built-in variables.
pub const DECORATION_BUILT_IN: u32 = 11;
/// The decoration that `[[clang::annotate]]` produces.
const DECORATION_USER_SEMANTIC: u32 = 5635;
pub(super) const DECORATION_FUNC_PARAM_ATTR: u32 = 38;
/// The decoration `HostAccessINTEL`, in `SPV_INTEL_global_variable_decorations` and in its successor.
pub const DECORATIONS_HOST_ACCESS: [u32; 2] = [6147, 6188];

impl Module {
    /// Parses a module.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not SPIR-V (little-endian, as every known compiler writes it), or if an
    /// instruction is malformed. The error contains the offset of the instruction.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let words = words(bytes)?;
        let mut module = Self::default();
        let mut function = None;
        for instruction in instructions(&words) {
            let instruction = instruction?;
            let (opcode, operands) = (instruction.opcode, instruction.operands);
            let fail = |problem| error(instruction.at, problem);
            // Parameters with the same id would share a name and attributes, so a small file could expand to a
            // huge result.
            if let (op::FUNCTION_PARAMETER, [_, id, ..]) = (opcode, operands)
                && !module.parameter_ids.insert(*id)
            {
                return Err(fail("two parameters have the same id"));
            }
            let read = module.instruction(opcode, operands, &mut function);
            read.ok_or_else(|| fail("an instruction has too few operands"))?;
        }
        for &(id, ty) in module.functions.values().flatten() {
            if let Some(Record::Pointer { pointee, .. }) = module.types.get(ty)
                && let Some(align) = module.alignments.get(&id)
                && module.is_by_value(id)
            {
                module.types.align(*pointee, *align);
            }
        }
        Ok(module)
    }

    /// Parses a module, and determines which pointer parameters its functions only read through.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Module::parse`].
    pub(crate) fn parse_with_reads(bytes: &[u8]) -> Result<Self, Error> {
        let mut module = Self::parse(bytes)?;
        module.read_only = read_only_parameters(&words(bytes)?);
        Ok(module)
    }

    fn instruction(&mut self, opcode: u16, w: &[u32], function: &mut Option<u32>) -> Option<()> {
        match opcode {
            op::NAME => _ = self.names.insert(*w.first()?, string(w.get(1..)?).0),
            op::STRING => _ = self.strings.insert(*w.first()?, string(w.get(1..)?).0),
            op::EXT_INST_IMPORT => {
                let name = string(w.get(1..)?).0;
                self.instruction_sets.entry(name).or_insert(*w.first()?);
            }
            op::EXT_INST => self.extended.push(Extended {
                result: *w.get(1)?,
                set: *w.get(2)?,
                instruction: *w.get(3)?,
                operands: w.get(4..)?.to_vec(),
            }),
            op::ENTRY_POINT if *w.first()? == EXECUTION_MODEL_KERNEL => {
                // Only the first name of a function is used. With thousands of names for one function, a small
                // file could expand to a huge result.
                let id = *w.get(1)?;
                if self.entry_functions.insert(id) {
                    let name = string(w.get(2..)?).0;
                    self.entry_names.entry(name.clone()).or_insert(id);
                    self.entry_points.push((id, name));
                }
            }
            op::EXECUTION_MODE if w.get(1) == Some(&EXECUTION_MODE_LOCAL_SIZE) => {
                let size = [*w.get(2)?, *w.get(3)?, *w.get(4)?];
                self.local_sizes.entry(*w.first()?).or_insert(size);
            }
            op::TYPE_BOOL..=op::TYPE_POINTER => {
                let (constants, packed) = (&self.constants, &self.packed);
                self.types.declare(opcode, w, constants, packed)?;
            }
            op::CONSTANT => {
                let high = w.get(3).copied().unwrap_or(0);
                let value = u64::from(high) << 32 | u64::from(*w.get(2)?);
                self.constants.insert(*w.get(1)?, value);
            }
            op::SPEC_CONSTANT_TRUE | op::SPEC_CONSTANT_FALSE | op::SPEC_CONSTANT => {
                if let Some(id) = self.spec_ids.get(w.get(1)?) {
                    let ty = TypeId(*w.first()?);
                    self.spec_constants.entry(*id).or_insert(ty);
                }
            }
            op::VARIABLE => {
                let [ty, id, storage, initializer @ ..] = w else {
                    return None;
                };
                let is_new = self.variables.insert(*id, *ty).is_none();
                let is_initialized = *storage == STORAGE_CROSS_WORKGROUP && !initializer.is_empty();
                if is_new && is_initialized && !self.constant_or_host_visible.contains(id) {
                    self.mutable_globals.extend(self.names.get(id).cloned());
                }
            }
            op::FUNCTION => {
                *function = Some(*w.get(1)?);
                self.functions.insert(*w.get(1)?, Vec::new());
            }
            op::FUNCTION_CALL => {
                let called = *w.get(2)?;
                self.called.insert(called);
                self.calls.extend(function.map(|caller| (caller, called)));
            }
            op::FUNCTION_PARAMETER => {
                let parameter = (*w.get(1)?, *w.first()?);
                if let Some(parameters) = function.and_then(|id| self.functions.get_mut(&id)) {
                    parameters.push(parameter);
                }
            }
            // OpGroupAll to OpGroupSMax, and SPV_KHR_uniform_group_instructions.
            261..=271 | 6401..=6408 => {
                let is_of_work_group = self.constants.get(w.get(2)?) == Some(&SCOPE_WORKGROUP);
                let function = function.filter(|_| is_of_work_group);
                self.of_work_groups.extend(function);
            }
            op::DECORATE => self.decorate(*w.first()?, *w.get(1)?, w.get(2..)?)?,
            _ => {}
        }
        Some(())
    }

    fn decorate(&mut self, target: u32, decoration: u32, operands: &[u32]) -> Option<()> {
        match decoration {
            DECORATION_SPEC_ID => _ = self.spec_ids.insert(target, *operands.first()?),
            _ if DECORATIONS_HOST_ACCESS.contains(&decoration) => {
                let name = string(operands.get(1..).unwrap_or_default()).0;
                self.host_names.entry(name).or_insert(target);
                self.constant_or_host_visible.insert(target);
            }
            DECORATION_CONSTANT => _ = self.constant_or_host_visible.insert(target),
            DECORATION_BUILT_IN => _ = self.built_ins.insert(target),
            DECORATION_USER_SEMANTIC => {
                let annotations = self.annotations.entry(target).or_default();
                annotations.push(string(operands).0);
            }
            DECORATION_CPACKED => _ = self.packed.insert(target),
            DECORATION_ALIGNMENT => _ = self.alignments.insert(target, *operands.first()?),
            DECORATION_FUNC_PARAM_ATTR => {
                let attributes = self.attributes.entry(target).or_default();
                attributes.push(*operands.first()?);
            }
            DECORATION_LINKAGE_ATTRIBUTES => {
                let (name, rest) = string(operands);
                match *rest.first()? {
                    LINKAGE_IMPORT => self.imports.push((target, name)),
                    LINKAGE_EXPORT if name.starts_with(INTRINSIC) => {}
                    LINKAGE_EXPORT => self.exports.push((target, name)),
                    LINKAGE_LINK_ONCE => self.weak_exports.push(name),
                    _ => {}
                }
            }
            _ => {}
        }
        Some(())
    }
}
