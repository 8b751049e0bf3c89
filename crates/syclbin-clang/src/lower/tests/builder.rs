// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds small modules that read specialization constants.

use syclbin::__private::spirv::edit::{Instruction, Module};
use syclbin::__private::spirv::words::{
    DECORATION_LINKAGE_ATTRIBUTES, LINKAGE_IMPORT, MAGIC, bytes, op,
};

use super::is_lowered;
use crate::lower::index::STORAGE_FUNCTION;
use crate::lower::{Lowered, lower};

// The ids in the modules below.
pub(super) const VOID: u32 = 1;
pub(super) const BOOL: u32 = 2;
pub(super) const BYTE: u32 = 3;
pub(super) const INT: u32 = 4;
pub(super) const LONG: u32 = 5;
pub(super) const TO_BYTE: u32 = 6;
pub(super) const PAIR: u32 = 7;
pub(super) const TO_PAIR: u32 = 8;
pub(super) const READ: u32 = 9;
pub(super) const KERNEL: u32 = 10;
/// The first id for values and for what tests add.
pub(super) const FIRST: u32 = 100;
pub(super) const GENERIC: u32 = 8;
pub(super) const CROSS_WORKGROUP: u32 = 5;

/// The instructions of a module that reads constants, and of its kernel.
pub(super) struct Builder {
    pub(super) globals: Vec<Instruction>,
    pub(super) body: Vec<Instruction>,
    pub(super) next: u32,
    pub(super) value: u32,
}

impl Builder {
    /// Creates a module whose constants have this type.
    pub(super) fn of(value: u32) -> Self {
        Self {
            globals: Vec::new(),
            body: Vec::new(),
            next: FIRST,
            value,
        }
    }

    pub(super) fn id(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    pub(super) fn global(&mut self, opcode: u16, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        let operands = [ty, id].into_iter().chain(operands.iter().copied());
        self.globals.push(Instruction::new(opcode, operands));
        id
    }

    pub(super) fn inside(&mut self, opcode: u16, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        let operands = [ty, id].into_iter().chain(operands.iter().copied());
        self.body.push(Instruction::new(opcode, operands));
        id
    }

    /// Adds a variable that holds `text`.
    pub(super) fn text(&mut self, text: &str) -> u32 {
        let bytes: Vec<u32> = text.bytes().chain([0]).map(u32::from).collect();
        let count = u32::try_from(bytes.len()).unwrap();
        let count = self.global(op::CONSTANT, INT, &[count]);
        let bytes: Vec<u32> = bytes
            .into_iter()
            .map(|byte| self.global(op::CONSTANT, BYTE, &[byte]))
            .collect();
        let array = self.id();
        self.globals
            .push(Instruction::new(op::TYPE_ARRAY, [array, BYTE, count]));
        let text = self.global(op::CONSTANT_COMPOSITE, array, &bytes);
        self.variable(text)
    }

    /// Adds a module-scope variable with this value. Lowering does not need its pointer type.
    pub(super) fn variable(&mut self, value: u32) -> u32 {
        self.global(op::VARIABLE, TO_BYTE, &[CROSS_WORKGROUP, value])
    }

    /// Adds a read of a constant. The variable `id` holds its symbol, and `value` its default value.
    pub(super) fn read(&mut self, id: u32, value: u32) -> u32 {
        match self.value {
            PAIR => {
                let to = self.inside(op::VARIABLE, TO_PAIR, &[STORAGE_FUNCTION]);
                self.inside(op::FUNCTION_CALL, VOID, &[READ, to, id, value, value]);
                to
            }
            ty => self.inside(op::FUNCTION_CALL, ty, &[READ, id, value, value]),
        }
    }

    pub(super) fn build(&self) -> Vec<u8> {
        let words = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            bytes.resize(text.len() / 4 * 4 + 4, 0);
            let (words, _) = bytes.as_chunks();
            words.iter().copied().map(u32::from_le_bytes).collect()
        };
        let text = |before: &[u32], text: &str, after: &[u32]| {
            let words: Vec<u32> = words(text);
            [before, &words, after].concat()
        };
        let import = [READ, DECORATION_LINKAGE_ATTRIBUTES];
        let symbol = "_Z37__sycl_getScalar2020SpecConstantValueIiET_PKcPKvS4_";
        let mut instructions = vec![
            Instruction::new(op::ENTRY_POINT, text(&[6, KERNEL], "blur", &[])),
            Instruction::new(op::DECORATE, text(&import, symbol, &[LINKAGE_IMPORT])),
            Instruction::new(op::TYPE_VOID, [VOID]),
            Instruction::new(op::TYPE_BOOL, [BOOL]),
            Instruction::new(op::TYPE_INT, [BYTE, 8, 0]),
            Instruction::new(op::TYPE_INT, [INT, 32, 0]),
            Instruction::new(op::TYPE_INT, [LONG, 64, 0]),
            Instruction::new(op::TYPE_POINTER, [TO_BYTE, GENERIC, BYTE]),
            Instruction::new(op::TYPE_STRUCT, [PAIR, BYTE, LONG, INT]),
            Instruction::new(op::TYPE_POINTER, [TO_PAIR, GENERIC, PAIR]),
        ];
        instructions.extend(self.globals.iter().cloned());
        let (function, parameter) = (20, 21);
        instructions.extend([
            Instruction::new(op::TYPE_FUNCTION, [function, VOID, TO_PAIR]),
            Instruction::new(op::FUNCTION, [VOID, READ, 0, function]),
            Instruction::new(op::FUNCTION_PARAMETER, [TO_PAIR, parameter]),
            Instruction::new(op::FUNCTION_END, []),
            Instruction::new(op::FUNCTION, [VOID, KERNEL, 0, function]),
            Instruction::new(op::LABEL, [22]),
        ]);
        instructions.extend(self.body.iter().cloned());
        instructions.extend([
            Instruction::new(op::RETURN, []),
            Instruction::new(op::FUNCTION_END, []),
        ]);
        let header = [MAGIC, 0x1_0400, 0, self.next + 1, 0];
        bytes(Module::new(header, instructions).words().unwrap())
    }

    pub(super) fn lower(&self) -> Result<Lowered, String> {
        let lowered = lower(&self.build()).map_err(|refusal| refusal.to_string())?;
        let lowered = lowered.expect("it reads a constant");
        assert!(is_lowered(&lowered.code));
        Ok(lowered)
    }

    pub(super) fn refused(&self) -> String {
        self.lower().unwrap_err()
    }
}

/// Returns a module that reads a single constant, `ns::radius`, with this type and default value.
pub(super) fn one(ty: u32, default: impl FnOnce(&mut Builder) -> u32) -> Builder {
    let mut builder = Builder::of(ty);
    let id = builder.text("____ZN2nsL6radiusE");
    let value = default(&mut builder);
    let value = builder.variable(value);
    builder.read(id, value);
    builder
}

/// Returns a module like unoptimized code, which passes the symbol through a local variable.
pub(super) fn through_a_local(volatile: bool, stores: usize) -> Builder {
    let mut builder = Builder::of(INT);
    let id = builder.text("_Z1a");
    let default = builder.global(op::CONSTANT, INT, &[5]);
    let value = builder.variable(default);
    let local = builder.inside(op::VARIABLE, TO_BYTE, &[STORAGE_FUNCTION]);
    let generic = builder.inside(op::PTR_CAST_TO_GENERIC, TO_BYTE, &[local]);
    for _ in 0..stores {
        builder
            .body
            .push(Instruction::new(op::STORE, [generic, id, 2, 8]));
    }
    let memory: &[u32] = if volatile { &[1] } else { &[2, 8] };
    let loaded = builder.inside(op::LOAD, TO_BYTE, &[&[generic], memory].concat());
    let cast = builder.inside(op::BITCAST, TO_BYTE, &[loaded]);
    builder.read(cast, value);
    builder
}
