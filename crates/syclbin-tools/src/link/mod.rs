// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links SPIR-V modules into one module, ahead of time. The result behaves as if a driver had linked the modules.
//!
//! The result contains the kernels of the program, and everything that they use from the program and the libraries.
//! Equal types and constants are merged. Symbols that no module defines remain imports.

mod join;
mod merge;
mod modules;
#[cfg(test)]
mod tests;

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use join::Joined;
use merge::Merger;
pub use modules::{link_modules, linked_metadata, store_ptx_as_native};
use syclbin::__private::spirv::words::{
    self, DECORATION_LINKAGE_ATTRIBUTES, DECORATION_SPEC_ID, LINKAGE_IMPORT, MAGIC, op,
};
use syclbin::__private::spirv::{self, edit};
use syclbin::Error;

const CAPABILITY_LINKAGE: u32 = 5;
const STORAGE_INPUT: u32 = 1;

/// A module to link.
#[derive(Clone, Copy, Debug)]
pub struct Object<'o> {
    /// Its name, for error messages.
    pub name: &'o str,
    /// Its SPIR-V.
    pub spirv: &'o [u8],
}

/// Links `program` with `libraries`, and returns one module with the program's kernels. If the program has no
/// kernels, the module contains its exports instead.
///
/// # Errors
///
/// Returns an error if a module is damaged or the modules are incompatible; see [`LinkError`].
pub fn link(program: Object<'_>, libraries: &[Object<'_>]) -> Result<Vec<u8>, LinkError> {
    let damaged = |error| LinkError::Malformed(program.name.into(), error);
    let joined = Joined::new(&[&[program], libraries].concat())?;
    let merged = Merger::new(&joined)?;
    let mut roots = joined.named_by_host.clone();
    if !(merged.declarations.iter()).any(|i| i.opcode == op::ENTRY_POINT) {
        let exports = joined.links.iter();
        let exports = exports.filter(|(id, _)| joined.is_of_program(**id));
        let exports = exports.filter(|(_, link)| link.kind != LINKAGE_IMPORT);
        roots.extend(exports.map(|(id, _)| merged.map(*id)));
    }
    let version = joined.version.header();
    let header = [MAGIC, version, joined.generator, merged.bound, 0];
    let mut module = edit::Module::new(header, merged.declarations);
    module.instructions.sort_by_key(|i| edit::section(i.opcode));
    let mut functions = merged.functions;
    // Functions without a body must precede all others.
    functions.sort_by_key(|function| function.iter().any(|i| i.opcode == op::LABEL));
    module.instructions.extend(functions.into_iter().flatten());
    let words = module.words().map_err(damaged)?;
    let words = spirv::reachable(words, |_| true, &roots).map_err(damaged)?;
    let mut module = edit::Module::parse(&words).map_err(damaged)?;
    for instruction in &module.instructions {
        let result = instruction.result();
        if let Some(error) = result.and_then(|id| merged.errors.get(&id)) {
            return Err(error.clone());
        }
        if let (op::DECORATE, [target, DECORATION_SPEC_ID, ..]) =
            (instruction.opcode, &instruction.operands[..])
            && !joined.is_of_program(*target)
        {
            return Err(LinkError::SpecializationConstants(joined.name_of(*target)));
        }
    }
    let completed = module.complete_interfaces();
    completed.ok_or_else(|| LinkError::TooLarge(program.name.into()))?;
    let has_links = (module.instructions.iter())
        .any(|i| i.opcode == op::DECORATE && i.operand(1) == Some(DECORATION_LINKAGE_ATTRIBUTES));
    let mut declared = BTreeSet::new();
    module.instructions.retain(|i| match i.opcode {
        op::CAPABILITY if i.operands == [CAPABILITY_LINKAGE] && !has_links => false,
        op::CAPABILITY | op::EXTENSION => declared.insert((i.opcode, i.operands.clone())),
        _ => true,
    });
    Ok(words::bytes(module.words().map_err(damaged)?))
}

/// The reason why modules cannot be linked. Modules are identified by the names that the caller passed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// A module is not valid SPIR-V.
    #[error("{0} is damaged: {1}; recompile its source")]
    Malformed(String, Error),
    /// A module contains an instruction whose ids the linker cannot identify. The fields are the module and the opcode.
    #[error("{0} contains instruction {1}, which the linker does not support")]
    Instruction(String, u16),
    /// Two modules have different addressing or memory models.
    #[error("{} and {} have different memory models; compile them for the same target", .0[0], .0[1])]
    MemoryModel([String; 2]),
    /// Two modules define the same symbol, and neither definition is `inline`.
    #[error("{symbol} is defined by both {} and {}; remove one of the definitions", .modules[0], .modules[1])]
    Duplicate {
        /// The symbol.
        symbol: String,
        /// Both modules.
        modules: [String; 2],
    },
    /// A symbol's declaration and definition have different types.
    #[error(
        "{symbol} has different types in {importer}, which uses it, and in {exporter}, which defines it; declare it \
         identically in both"
    )]
    Types {
        /// The symbol.
        symbol: String,
        /// The module with the declaration.
        importer: String,
        /// The module with the definition.
        exporter: String,
    },
    /// Declarations, such as variables with initial values, refer to each other in a cycle.
    #[error("{0} contains a declaration that depends on itself")]
    Recursive(String),
    /// A library contains specialization constants, whose ids are meaningful only in its own module.
    #[error("{0} has specialization constants, which cannot be linked ahead of time")]
    SpecializationConstants(String),
    /// The modules have too many ids for one module, or the interfaces of the kernels would become too large.
    #[error("{0} has too many ids, or too many kernels and variables, to be linked ahead of time")]
    TooLarge(String),
}
