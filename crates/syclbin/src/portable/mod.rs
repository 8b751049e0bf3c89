// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rewrites SPIR-V modules for drivers that support less than the compiler assumed.
//!
//! The rewritten module computes the same results. If the driver does not accept the version in the header, the
//! rewritten module declares the lowest accepted version that supports its code.

pub mod lift;
mod negation;
#[cfg(test)]
mod tests;
mod version;

use crate::error::Error;
use crate::prelude::*;
use crate::spirv::edit;
use crate::spirv::module::Module;
use crate::spirv::words::{
    self, DECORATION_SPEC_ID, HEADER_WORDS, Instruction, instructions, literal, op, put, string,
};
use crate::text::counted;
use version::V1_4;
pub use version::{UnsupportedModule, Version};

/// The SPIR-V versions and features that a driver supports.
#[derive(Clone, Copy, Debug, Default)]
pub struct DriverSupport<'r> {
    /// The accepted SPIR-V versions. An empty list means any version.
    pub versions: &'r [Version],
    /// The names of the OpenCL extensions that the driver supports, separated by spaces.
    pub extensions: &'r str,
    /// Whether the driver can only link modules that declare the same version.
    pub one_version: bool,
    /// Whether the driver accepts debug information.
    pub debug_info: bool,
    /// Whether the driver accepts work-group limits (`SPV_INTEL_kernel_attributes`). For other drivers, the limits are
    /// removed, because they only enable optimizations.
    pub work_group_limits: bool,
    /// Whether the driver loses the results of floating-point negations across work-group barriers.
    pub loses_negations: bool,
}

/// Checks whether a module can be rewritten for the driver that `reader` describes.
///
/// # Errors
///
/// Returns an error if `spirv` is not SPIR-V, or if its code needs a later version than the driver accepts.
pub fn check(spirv: &[u8], reader: &DriverSupport<'_>) -> Result<(), UnsupportedModule> {
    let words = words::words(spirv)?;
    if version::accepts(&words, reader) {
        return Ok(());
    }
    version::lowest(&collect(&words)?, reader).map(drop)
}

/// Returns whether a module contains debug information. Returns `false` if `spirv` is not SPIR-V.
pub fn has_debug_info(spirv: &[u8]) -> bool {
    words::words(spirv).is_ok_and(|words| imports_debug_info(&words))
}

/// Rewrites a module for the driver that `reader` describes. Returns `None` if the driver accepts the module unchanged.
///
/// # Errors
///
/// Fails for the same reasons as [`check`], or if a module that must be rewritten is malformed.
pub fn rewrite(
    spirv: &[u8],
    reader: &DriverSupport<'_>,
) -> Result<Option<Vec<u8>>, UnsupportedModule> {
    let words = words::words(spirv)?;
    let accepts_version = version::accepts(&words, reader);
    let loses = reader.loses_negations && negation::contains_negation(&words);
    let limited = !reader.work_group_limits && begins_with(&words, is_limit);
    if accepts_version && (reader.debug_info || !imports_debug_info(&words)) && !loses && !limited {
        return Ok(None);
    }
    // Rejects damaged code before it reaches the driver.
    Module::parse(spirv)?;
    let mut instructions = collect(&words)?;
    if !reader.debug_info {
        remove_debug_info(&mut instructions);
    }
    if limited {
        instructions.retain(|instruction| !is_limit(instruction));
    }
    let version = if accepts_version {
        Version::of_header(&words)
    } else {
        version::lowest(&instructions, reader)?
    };
    let lowering = version::Lowering::new(&instructions, version);
    let mut out = words[..HEADER_WORDS].to_vec();
    out[1] = version.header();
    let mut needs_extension = lowering.needs_extension;
    for instruction in instructions {
        // Extensions follow the capabilities.
        if instruction.opcode != op::CAPABILITY && core::mem::take(&mut needs_extension) {
            let name = literal(version::NO_WRAP_EXTENSION);
            put(&mut out, op::EXTENSION, &[&name]);
        }
        lowering.write(&instruction, &mut out);
    }
    if loses {
        out = negation::replace(&out)?;
    }
    if Version::of_header(&words) < V1_4 && version >= V1_4 {
        let mut module = edit::Module::parse(&out)?;
        let completed = module.complete_interfaces();
        completed.ok_or_else(|| words::error(0, "there are too many kernels and variables"))?;
        out = module.words()?;
    }
    Ok(Some(words::bytes(out)))
}

/// Rewrites the modules of a program for the driver that `reader` describes. If the driver can only link modules of one
/// version, all results declare the same SPIR-V version.
///
/// # Errors
///
/// Fails for the same reasons as [`check`].
pub fn rewrite_all<'c>(
    modules: Vec<Cow<'c, [u8]>>,
    reader: &DriverSupport<'_>,
) -> Result<Vec<Cow<'c, [u8]>>, UnsupportedModule> {
    let rewrite_each = |modules: Vec<Cow<'c, [u8]>>, reader: &DriverSupport<'_>| {
        let rewritten = modules.into_iter().map(|module| {
            let rewritten = rewrite(&module, reader)?;
            Ok(rewritten.map_or(module, Cow::Owned))
        });
        rewritten.collect::<Result<Vec<_>, UnsupportedModule>>()
    };
    let waits = |module: &Cow<'_, [u8]>| words::words(module).is_ok_and(|w| negation::waits(&w));
    let reader = &DriverSupport {
        // The negation and the barrier may be in different modules.
        loses_negations: reader.loses_negations && modules.iter().any(waits),
        ..*reader
    };
    let modules = rewrite_each(modules, reader)?;
    if !reader.one_version || modules.len() < 2 {
        return Ok(modules);
    }
    let mut needed = Version::default();
    for module in &modules {
        let words = words::words(module)?;
        needed = needed.max(version::lowest(&collect(&words)?, reader)?);
    }
    let reader = DriverSupport {
        versions: &[needed],
        ..*reader
    };
    rewrite_each(modules, &reader)
}

fn collect(words: &[u32]) -> Result<Vec<Instruction<'_>>, Error> {
    words::instructions(words).collect()
}

/// Returns the module without debug information.
///
/// # Errors
///
/// Returns an error if an instruction is malformed.
pub fn without_debug_info(words: Vec<u32>) -> Result<Vec<u32>, Error> {
    if !imports_debug_info(&words) {
        return Ok(words);
    }
    let mut instructions = collect(&words)?;
    remove_debug_info(&mut instructions);
    let mut out = words.get(..HEADER_WORDS).unwrap_or_default().to_vec();
    for instruction in instructions {
        put(&mut out, instruction.opcode, &[instruction.operands]);
    }
    Ok(out)
}

/// Returns whether a module contains debug information.
fn imports_debug_info(words: &[u32]) -> bool {
    begins_with(words, |instruction| debug_info(instruction).is_some())
}

/// Returns whether `is_wanted` accepts an instruction before the memory model. Capabilities, extensions and imports
/// precede the memory model.
fn begins_with(words: &[u32], is_wanted: impl Fn(&Instruction<'_>) -> bool) -> bool {
    let mut instructions = instructions(words).map_while(Result::ok);
    let found = instructions.find(|i| i.opcode == op::MEMORY_MODEL || is_wanted(i));
    found.is_some_and(|found| is_wanted(&found))
}

/// Returns whether an instruction belongs to `SPV_INTEL_kernel_attributes`.
fn is_limit(instruction: &Instruction<'_>) -> bool {
    match (instruction.opcode, instruction.operands) {
        (op::CAPABILITY, [capability]) => matches!(capability, 5892 | 5897 | 6161),
        (op::EXTENSION, name) => string(name).0 == "SPV_INTEL_kernel_attributes",
        (op::EXECUTION_MODE, [_, mode, ..]) => matches!(mode, 5893..=5896 | 5903 | 6154 | 6160),
        _ => false,
    }
}

fn remove_debug_info(instructions: &mut Vec<Instruction<'_>>) {
    let sets: BTreeSet<u32> = instructions.iter().filter_map(debug_info).collect();
    let result = |instruction: &Instruction<'_>| match (instruction.opcode, instruction.operands) {
        (op::EXT_INST_IMPORT, [id, ..]) if sets.contains(id) => Some(*id),
        (op::EXT_INST | op::EXT_INST_WITH_FORWARD_REFS, [_, id, set, ..]) if sets.contains(set) => {
            Some(*id)
        }
        _ => None,
    };
    let removed: BTreeSet<u32> = instructions.iter().filter_map(result).collect();
    instructions.retain(|instruction| {
        let is_about_removed = matches!(instruction.opcode, op::NAME | op::DECORATE)
            && (instruction.operands.first()).is_some_and(|id| removed.contains(id));
        result(instruction).is_none() && !is_about_removed
    });
    // Remove undefined values that only debug information used. In `OpUndef`, the result follows the type.
    let undefined = |instruction: &Instruction<'_>| match instruction.operands {
        [_, id] if instruction.opcode == op::UNDEF => Some(*id),
        _ => None,
    };
    let mut unused: BTreeSet<u32> = instructions.iter().filter_map(undefined).collect();
    for instruction in instructions.iter().filter(|i| undefined(i).is_none()) {
        for word in instruction.operands {
            unused.remove(word);
        }
    }
    instructions.retain(|i| undefined(i).is_none_or(|id| !unused.contains(&id)));
}

/// If an instruction imports an instruction set that does not affect results, such as debug information, returns the
/// id of the set.
pub(crate) fn debug_info(instruction: &Instruction<'_>) -> Option<u32> {
    let (op::EXT_INST_IMPORT, [id, name @ ..]) = (instruction.opcode, instruction.operands) else {
        return None;
    };
    let name: String = string(name).0;
    let describes = name.starts_with("NonSemantic.")
        || ["OpenCL.DebugInfo.100", "DebugInfo", "SPIRV.debug"].contains(&name.as_str());
    describes.then_some(*id)
}

/// Sets the default values of specialization constants. The keys of `values` are `SpecId`s.
///
/// # Errors
///
/// Returns an error if `spirv` is not SPIR-V, or if the size of a value differs from the size of its constant.
pub fn specialize(spirv: &[u8], values: &BTreeMap<u32, &[u8]>) -> Result<Vec<u8>, Error> {
    let mut words = words::words(spirv)?;
    let mut targets = BTreeMap::new();
    let mut bits = BTreeMap::new();
    let mut changes = Vec::new();
    for instruction in words::instructions(&words) {
        let instruction = instruction?;
        match (instruction.opcode, instruction.operands) {
            (op::DECORATE, [target, DECORATION_SPEC_ID, id]) => _ = targets.insert(*target, *id),
            (op::TYPE_INT | op::TYPE_FLOAT, [ty, width, ..]) => _ = bits.insert(*ty, *width),
            (
                op::SPEC_CONSTANT_TRUE | op::SPEC_CONSTANT_FALSE | op::SPEC_CONSTANT,
                [ty, result, literal @ ..],
            ) => {
                let id = targets.get(result);
                let Some((id, value)) = id.and_then(|id| values.get_key_value(id)) else {
                    continue;
                };
                // A bool has no declared width. Its value occupies one byte.
                let size = bits.get(ty).map_or(1, |bits| bits / 8);
                if u32::try_from(value.len()) != Ok(size) {
                    let problem = format!(
                        "specialization constant {id} is {} long in the code, but the length of its value is {}",
                        counted(size, "byte"),
                        value.len()
                    );
                    let offset = instruction.at as u64 * 4;
                    return Err(Error::inconsistent("SPIR-V", offset, problem));
                }
                changes.extend(change(&instruction, literal, value));
            }
            _ => {}
        }
    }
    for (at, word) in changes {
        words[at] = word;
    }
    Ok(words::bytes(words))
}

/// Returns the index and new value of each word that has to change so that `literal` becomes `value`.
fn change(instruction: &Instruction<'_>, literal: &[u32], value: &[u8]) -> Vec<(usize, u32)> {
    let at = instruction.at;
    if instruction.opcode == op::SPEC_CONSTANT {
        // Values narrower than 32 bits occupy a full word.
        let places = (at + 3..).take(literal.len());
        return places.zip(words::padded(value)).collect();
    }
    const WORDS: u32 = 3 << 16;
    let is_set = value.iter().any(|byte| *byte != 0);
    let opcode = if is_set {
        op::SPEC_CONSTANT_TRUE
    } else {
        op::SPEC_CONSTANT_FALSE
    };
    [(at, WORDS | u32::from(opcode))].into()
}
