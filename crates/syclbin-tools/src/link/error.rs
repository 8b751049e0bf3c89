// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reasons why modules cannot be linked.

use alloc::string::String;

use syclbin::Error;

/// The reason why modules cannot be linked. Modules have the names that the caller gave them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// A module is not valid SPIR-V.
    #[error("{module} is damaged: {error}; compile it again")]
    Malformed {
        /// The module.
        module: String,
        /// What is wrong with it.
        error: Error,
    },
    /// A module has an instruction that the linker cannot renumber.
    #[error(
        "{module} has instruction {opcode}, which the linker does not know; link it at load time"
    )]
    Instruction {
        /// The module.
        module: String,
        /// The number of the instruction.
        opcode: u16,
    },
    /// Modules have different addressing or memory models.
    #[error("{} and {} have different memory models; compile them for one target", .modules[0], .modules[1])]
    MemoryModel {
        /// Both modules.
        modules: [String; 2],
    },
    /// Two modules define a symbol, and neither definition is `inline`.
    #[error("{symbol} is defined by {} and by {}; leave one of them out", .modules[0], .modules[1])]
    Duplicate {
        /// The symbol.
        symbol: String,
        /// Both modules.
        modules: [String; 2],
    },
    /// A symbol is declared with another type than it is defined with.
    #[error(
        "{symbol} has one type where {importer} uses it and another where {exporter} defines it; declare it \
         alike in both"
    )]
    Types {
        /// The symbol.
        symbol: String,
        /// The module with the declaration.
        importer: String,
        /// The module with the definition.
        exporter: String,
    },
    /// A type contains itself.
    #[error("{module} has a type that contains itself; link it at load time")]
    Recursive {
        /// The module.
        module: String,
    },
    /// A library reads specialization constants, whose numbers only its own module knows.
    #[error(
        "{module} has specialization constants, which cannot be linked ahead of time; link it at load time"
    )]
    SpecializationConstants {
        /// The module.
        module: String,
    },
    /// The result would be far larger than the modules.
    #[error(
        "{module} shares decorations or variables too often; the linked module would be too large"
    )]
    TooLarge {
        /// The module.
        module: String,
    },
}
