// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links SPIR-V modules into one module, ahead of time. The result behaves as if a driver had linked the modules.
//!
//! The result contains the kernels of the program, and everything that they use from the program and the libraries.
//! Equal types and constants are merged. Symbols that no module defines remain imports.

mod emit;
mod functions;
mod input;
mod modules;
#[cfg(test)]
mod tests;

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use emit::Linker;
use input::{Definition, Input};
pub use modules::{Obstacle, Unlinked, link_modules, linked_metadata};
use syclbin::__private::spirv::portable::Version;
use syclbin::__private::spirv::words::{LINKAGE_IMPORT, op, put, string};
use syclbin::__private::spirv::{DECORATIONS_HOST_ACCESS, EXECUTION_MODEL_KERNEL, words};
use syclbin::Error;

const SOURCE: u16 = 3;
const CAPABILITY_LINKAGE: u32 = 5;
const STORAGE_INPUT: u32 = 1;
const STORAGE_OUTPUT: u32 = 3;

/// A module to link.
#[derive(Clone, Copy, Debug)]
pub struct Object<'o> {
    /// Its name in error messages.
    pub name: &'o str,
    /// Its SPIR-V.
    pub spirv: &'o [u8],
}

fn too_large(module: &str) -> LinkError {
    LinkError::TooLarge {
        module: module.into(),
    }
}

/// Links `program` with `libraries`, and returns one module with the program's kernels. If the program has no
/// kernels, the module contains its exports instead.
///
/// # Errors
///
/// Returns an error if a module is damaged or the modules are incompatible; see [`LinkError`].
pub fn link(program: Object<'_>, libraries: &[Object<'_>]) -> Result<Vec<u8>, LinkError> {
    let objects: Vec<Object<'_>> = core::iter::once(program)
        .chain(libraries.iter().copied())
        .collect();
    let mut words = Vec::new();
    for object in &objects {
        let read = words::words(object.spirv).map_err(|error| LinkError::Malformed {
            module: object.name.into(),
            error,
        })?;
        words.push(read);
    }
    let mut inputs = Vec::new();
    for (object, words) in objects.iter().zip(&words) {
        inputs.push(Input::new(object, words)?);
    }
    let mut linker = Linker::new(&inputs)?;
    let kernels = kernels(&inputs)?;
    for kernel in &kernels {
        linker.function(0, kernel.function)?;
    }
    let program = &inputs[0];
    for (id, definition) in &program.definitions {
        let is_exported = (program.links.get(id)).is_some_and(|link| link.kind != LINKAGE_IMPORT);
        let is_root = is_named_by_host(program, *id) || (kernels.is_empty() && is_exported);
        match definition {
            Definition::Function(_) if is_root => linker.function(0, *id)?,
            Definition::Global(_) if is_root => linker.global(0, *id)?,
            _ => {}
        }
    }
    linker.drain()?;
    let modes = execution_modes(&mut linker, &kernels)?;
    linker.drain()?;
    let mut entry_points = Vec::new();
    let version = inputs.iter().map(|input| input.version).max();
    let version = version.unwrap_or(program.version);
    for kernel in &kernels {
        entry_point(&linker, kernel, version, &mut entry_points)?;
    }
    let mut out = words[0].get(..1).unwrap_or_default().to_vec();
    out.extend([version.header(), program.generator, linker.bound(), 0]);
    preamble(&inputs, linker.has_links(), &mut out)?;
    linker.write(&entry_points, &modes, &source(program), &mut out);
    Ok(words::bytes(out))
}

/// Returns whether the host accesses a variable by name.
fn is_named_by_host(input: &Input<'_>, id: u32) -> bool {
    let annotations = input.decorations.get(&id).into_iter().flatten();
    annotations
        .filter_map(|annotation| input.instructions.get(annotation.at))
        .filter_map(|instruction| instruction.operands.get(1))
        .any(|decoration| DECORATIONS_HOST_ACCESS.contains(decoration))
}

/// A kernel of the program.
struct Kernel<'w> {
    function: u32,
    /// The operands of `OpEntryPoint` from the name on.
    name: &'w [u32],
    interface: &'w [u32],
}

fn kernels<'w>(inputs: &[Input<'w>]) -> Result<Vec<Kernel<'w>>, LinkError> {
    let mut kernels = Vec::new();
    let input = &inputs[0];
    for (place, instruction) in input.instructions.iter().enumerate() {
        if instruction.opcode != op::ENTRY_POINT {
            continue;
        }
        let [EXECUTION_MODEL_KERNEL, function, rest @ ..] = instruction.operands else {
            return Err(input.malformed(place, "an entry point is not a kernel"));
        };
        let (_, interface) = string(rest);
        let name = &rest[..rest.len() - interface.len()];
        if !matches!(
            input.definitions.get(function),
            Some(Definition::Function(_))
        ) {
            return Err(input.malformed(place, "an entry point has no function"));
        }
        kernels.push(Kernel {
            function: *function,
            name,
            interface,
        });
    }
    Ok(kernels)
}

/// Writes an entry point. Its interface lists the variables that the SPIR-V version requires.
fn entry_point(
    linker: &Linker<'_, '_>,
    kernel: &Kernel<'_>,
    version: Version,
    out: &mut Vec<u32>,
) -> Result<(), LinkError> {
    const FIRST_WITH_ALL_VARIABLES: Version = Version::new(1, 4);
    let is_listed = |storage: u32| {
        version >= FIRST_WITH_ALL_VARIABLES || [STORAGE_INPUT, STORAGE_OUTPUT].contains(&storage)
    };
    let input = linker.input(0);
    let mut interface = Vec::new();
    let mut seen = BTreeSet::new();
    let own = kernel
        .interface
        .iter()
        .filter_map(|id| linker.new_id(0, *id));
    let all = linker.variables().iter();
    let all = all
        .filter(|(storage, _)| is_listed(*storage))
        .map(|(_, id)| *id);
    for id in own.chain(all) {
        if seen.insert(id) {
            interface.push(id);
        }
    }
    let function = linker.new_id(0, kernel.function).unwrap_or_default();
    let count = 3 + kernel.name.len() + interface.len();
    if count > usize::from(u16::MAX) || out.len() + count > linker.most_words() {
        return Err(too_large(&input.name));
    }
    let parts = [&[EXECUTION_MODEL_KERNEL, function], kernel.name, &interface];
    put(out, op::ENTRY_POINT, &parts);
    Ok(())
}

/// Returns the execution modes of the kernels.
fn execution_modes(
    linker: &mut Linker<'_, '_>,
    kernels: &[Kernel<'_>],
) -> Result<Vec<u32>, LinkError> {
    let functions: BTreeSet<u32> = kernels.iter().map(|kernel| kernel.function).collect();
    let mut out = Vec::new();
    let input = linker.input(0);
    for (place, instruction) in input.instructions.iter().enumerate() {
        if instruction.opcode == op::FUNCTION {
            break;
        }
        if matches!(
            instruction.opcode,
            op::EXECUTION_MODE | op::EXECUTION_MODE_ID
        ) && (instruction.operands.first()).is_some_and(|id| functions.contains(id))
        {
            linker.needs(0, place)?;
            out.extend(linker.mapped(0, place)?);
        }
    }
    Ok(out)
}

fn preamble(inputs: &[Input<'_>], has_links: bool, out: &mut Vec<u32>) -> Result<(), LinkError> {
    let all = |wanted: u16| {
        let instructions = inputs.iter().flat_map(|input| &input.instructions);
        instructions.filter(move |instruction| instruction.opcode == wanted)
    };
    for wanted in [op::CAPABILITY, op::EXTENSION] {
        let mut seen = BTreeSet::new();
        for instruction in all(wanted) {
            let is_linkage = wanted == op::CAPABILITY
                && instruction.operands == [CAPABILITY_LINKAGE]
                && !has_links;
            if !is_linkage && seen.insert(instruction.operands) {
                put(out, wanted, &[instruction.operands]);
            }
        }
    }
    Ok(())
}

/// Returns the memory model that all modules share.
fn memory_model<'w>(inputs: &[Input<'w>]) -> Result<&'w [u32], LinkError> {
    let mut first: Option<&[u32]> = None;
    for input in inputs {
        let mut models = input
            .instructions
            .iter()
            .filter(|i| i.opcode == op::MEMORY_MODEL);
        let Some(model) = models.next() else {
            return Err(input.malformed(0, "it has no memory model"));
        };
        if *first.get_or_insert(model.operands) != model.operands {
            return Err(LinkError::MemoryModel {
                modules: [inputs[0].name.clone(), input.name.clone()],
            });
        }
    }
    Ok(first.unwrap_or_default())
}

/// Returns the language and version of the program's source, which some drivers read.
fn source(program: &Input<'_>) -> Vec<u32> {
    let mut out = Vec::new();
    let mut sources = program.instructions.iter().filter(|i| i.opcode == SOURCE);
    if let Some([language, version, ..]) = sources.next().map(|found| found.operands) {
        put(&mut out, SOURCE, &[&[*language, *version]]);
    }
    out
}

/// The reason why modules cannot be linked. Modules are identified by the names that the caller passed.
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
        "{module} contains instruction {opcode}, which the linker does not support; link it at load time"
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
    #[error("{symbol} is defined by both {} and {}; remove one of them", .modules[0], .modules[1])]
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
    /// A type contains itself.
    #[error("{module} has a type that contains itself; link it at load time")]
    Recursive {
        /// The module.
        module: String,
    },
    /// A library uses specialization constants, whose ids are only meaningful in its own module.
    #[error(
        "{module} has specialization constants, which cannot be linked ahead of time; link it at load time"
    )]
    SpecializationConstants {
        /// The module.
        module: String,
    },
    /// The result would be much larger than the modules.
    #[error(
        "{module} shares decorations or variables too often; the linked module would be too large"
    )]
    TooLarge {
        /// The module.
        module: String,
    },
}
