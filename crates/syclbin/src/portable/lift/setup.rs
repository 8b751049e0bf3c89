// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generates the kernel that sets the initial values of a module's variables.

use super::super::UnsupportedModule;
use super::super::version::V1_4;
use super::module::{Frame, Lifting};
use super::scan::Variable;
use crate::prelude::*;
use crate::spirv::module::parse::EXECUTION_MODEL_KERNEL;
use crate::spirv::words::{literal, op};

const STORAGE_UNIFORM_CONSTANT: u32 = 0;

impl Lifting<'_, '_> {
    /// Adds the kernel that sets initial values. Returns the kernel's id, followed by the ids of the constant variables
    /// that the kernel reads.
    pub(super) fn setup_kernel(&mut self) -> Result<Vec<u32>, UnsupportedModule> {
        let scan = self.scan;
        let void = self.declarations.declare(op::TYPE_VOID, &[])?;
        let ty = self.function_type(&[void])?;
        let frame = self.frame()?;
        let [kernel, label] = [self.declarations.new_id()?, self.declarations.new_id()?];
        self.emit(op::FUNCTION, &[void, kernel, 0, ty]);
        self.put_arguments(&frame);
        self.emit(op::LABEL, &[label]);
        let mut listed = [kernel].to_vec();
        for variable in scan.variables.values() {
            if let Some(initializer) = variable.initializer {
                listed.push(self.set_initial(variable, initializer, &frame)?);
            }
        }
        self.emit(op::RETURN, &[]);
        self.emit(op::FUNCTION_END, &[]);
        Ok(listed)
    }

    /// Emits code that copies an initial value to a slot. Returns the id of the constant variable that holds the value.
    fn set_initial(
        &mut self,
        variable: &Variable,
        initializer: u32,
        frame: &Frame,
    ) -> Result<u32, UnsupportedModule> {
        let mut declared = self.scan.declarations.iter();
        let pointee = declared.find_map(|i| match (i.opcode, i.operands) {
            (op::TYPE_POINTER, [id, _, pointee]) if *id == variable.ty => Some(*pointee),
            _ => None,
        });
        let pointee = pointee.unwrap_or_default();
        let ty = [STORAGE_UNIFORM_CONSTANT, pointee];
        let ty = self.declarations.declare(op::TYPE_POINTER, &ty)?;
        let value = self.declarations.new_id()?;
        let operands = [ty, value, STORAGE_UNIFORM_CONSTANT, initializer];
        self.declarations.add(op::VARIABLE, &operands);
        let place = self.address(variable.ty, variable.offset.unwrap_or_default(), frame)?;
        let bytes = self.number(variable.bytes.unwrap_or_default())?;
        self.emit(op::COPY_MEMORY_SIZED, &[place, value, bytes]);
        Ok(value)
    }

    /// Returns the operands of the entry point `setup`. `listed` is the result of [`Self::setup_kernel`].
    pub(super) fn entry_point(&self, setup: &str, listed: &[u32]) -> Vec<u32> {
        let (kernel, constants) = listed.split_first().unwrap_or((&0, &[]));
        // Since SPIR-V 1.4, the interface also lists constant variables.
        let is_listed = self.scan.version >= V1_4;
        let constants = if is_listed { constants } else { &[] };
        let name = literal(setup);
        [&[EXECUTION_MODEL_KERNEL, *kernel], &*name, constants].concat()
    }
}
