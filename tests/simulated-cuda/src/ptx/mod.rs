// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX: from a text to functions whose registers and labels are numbers. Symbols stay names until
//! a module is loaded.

mod function;
mod lex;
mod operand;
mod parse;
mod unit;
mod variable;

pub(crate) use parse::parse;
pub(crate) use unit::{
    Function, Instruction, Item, Linkage, Operand, Parameter, Place, Relocation, Space, Special,
    Unit, Variable,
};

/// What is wrong with a text, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub(crate) struct Syntax {
    /// Counted from 1.
    pub(crate) line: u32,
    pub(crate) what: String,
}

impl Syntax {
    pub(crate) fn new(line: u32, what: impl Into<String>) -> Self {
        Self {
            line,
            what: what.into(),
        }
    }
}
