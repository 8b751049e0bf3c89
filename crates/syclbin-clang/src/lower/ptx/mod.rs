// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lowers specialization constants in PTX. PTX has no such constants, so each becomes a variable in device memory.
//!
//! The PTX calls the same undefined functions as the SPIR-V. The arguments are two variables: one holds a constant's
//! symbol, the other its default value. This module generates the functions, which return the content of the variable
//! with the default value. That variable is renamed (see [`constant_variable`]) and gets external linkage, so that a
//! launch can overwrite it. Unless it is overwritten, the default value applies.
//!
//! Only the form that LLVM writes is supported, with one instruction per line. Other code is rejected.
//!
//! | module | purpose |
//! |---|---|
//! | [`text`] | splits PTX into variables, functions and names |
//! | [`values`] | traces the variables that are passed to a call |
//! | [`reader`] | the functions that read constants |

mod reader;
#[cfg(test)]
mod tests;
mod text;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use syclbin::metadata::{SpecConstantDescriptor, SpecializationConstants};
use syclbin::ptx::constant_variable;
use syclbin_tools::__private::qualified;

use super::{Lowered, Refusal};
use reader::Reader;
use text::{Body, Text, Variable};
use values::Read;

/// The symbol of a constant, and the variable that holds its default value.
type Constant<'t> = (String, &'t Variable<'t>);

/// Lowers the constants in the PTX `text`. Returns `None` if there are none. Constants are listed in the order of their
/// reads, each with a single part.
///
/// # Errors
///
/// Fails if a constant cannot be lowered.
pub(crate) fn lower_ptx(text: &str) -> Result<Option<Lowered>, Refusal> {
    let text = Text::parse(text);
    let declarations = text.declarations.iter();
    let readers = declarations.filter_map(|declared| Some((declared.name, Reader::of(declared)?)));
    let mut readers: BTreeMap<&str, Reader<'_>> = readers.collect();
    if readers.is_empty() {
        return Ok(None);
    }
    let mut constants: Vec<Constant<'_>> = Vec::new();
    let calls = text.lines.iter().filter(|line| is_call(line, &readers));
    let mut unread = calls.count();
    for body in &text.bodies {
        for read in values::reads(&text, body, &readers) {
            unread = unread.saturating_sub(1);
            let refused = |constant: Option<&str>, reason: &str| {
                Refusal::new(constant, kernel(body).into_iter().collect(), reason)
            };
            let read = read.map_err(|reason| refused(None, reason))?;
            let key = key(&text, &read).ok_or_else(|| {
                refused(None, "the kernel chooses the constant only when it runs")
            })?;
            let refused = |reason: &str| refused(Some(&key), reason);
            let default = read
                .default
                .ok_or_else(|| refused("its default value is known only when the kernel runs"))?;
            let variable = text.variables.get(default);
            let variable = variable.filter(|variable| variable.bytes.is_some());
            let variable = variable.ok_or_else(|| {
                refused("its default value contains an address or is defined elsewhere")
            })?;
            if let Some(reader) = readers.get_mut(read.function) {
                reader.read(variable).map_err(refused)?;
            }
            match constants.iter().find(|(known, _)| *known == key) {
                None => constants.push((key, variable)),
                Some((_, known)) if known.name == variable.name => {}
                Some(_) => return Err(refused("it is read with different default values")),
            }
        }
    }
    if unread > 0 {
        // A read that was not traced would return the default value even if the constant is set.
        let reason = "the code reads it in an unsupported place";
        return Err(Refusal::new(None, Vec::new(), reason));
    }
    Ok(Some(Lowered {
        code: write(&text, &readers, &constants).into_bytes(),
        constants: record(&constants),
    }))
}

/// Exports the variables that `names` lists, so that the driver finds them. LLVM exports no variable that C++ declares
/// `static`, or in an unnamed namespace.
pub(crate) fn export_variables<'n>(
    code: &[u8],
    names: impl Iterator<Item = &'n String>,
) -> Vec<u8> {
    let names: BTreeSet<&str> = names.map(String::as_str).collect();
    let is_hidden = |line: &str| {
        let declared = line.split('=').next().unwrap_or_default();
        let mut words = declared.split(|c| !text::is_name(c));
        line.starts_with(".global ") && words.any(|word| names.contains(word))
    };
    let text = String::from_utf8_lossy(code);
    let exported = text.lines().flat_map(|line| {
        let linkage = if is_hidden(line) { ".visible " } else { "" };
        [linkage, line, "\n"]
    });
    exported.collect::<String>().into_bytes()
}

/// Returns whether a line calls a function that reads constants.
fn is_call(line: &str, readers: &BTreeMap<&str, Reader<'_>>) -> bool {
    let mut words = line.split(|c| !text::is_name(c));
    line.trim_start().starts_with("call") && words.any(|word| readers.contains_key(word))
}

/// Returns whether the constants recorded for the SPIR-V of a source also describe its PTX: they must include every
/// constant of the PTX, with the same default value.
pub(crate) fn serves(of_spirv: &SpecializationConstants, of_ptx: &SpecializationConstants) -> bool {
    let value = |of: &SpecializationConstants, key| {
        let value = of.default_value(key).ok().flatten();
        value.map(<[u8]>::to_vec)
    };
    let mut keys = of_ptx.constants.names();
    keys.all(|key| {
        let spirv = value(of_spirv, key);
        spirv.is_some() && spirv == value(of_ptx, key)
    })
}

/// Returns the constant's symbol on the host, if it is known at compile time.
fn key(text: &Text<'_>, read: &Read<'_>) -> Option<String> {
    let bytes = text.variables.get(read.symbol?)?.bytes.as_deref()?;
    let symbol = bytes.split(|byte| *byte == 0).next()?;
    let symbol = super::without_unit(std::str::from_utf8(symbol).ok()?);
    (!symbol.is_empty()).then(|| symbol.to_owned())
}

/// Returns the qualified C++ name of the kernel with this body, or `None` if the body does not belong to a kernel.
fn kernel(body: &Body<'_>) -> Option<String> {
    let plain = body.name.strip_suffix("_with_offset").unwrap_or(body.name);
    body.is_kernel.then(|| qualified(plain))
}

fn record(constants: &[Constant<'_>]) -> SpecializationConstants {
    let mut recorded = SpecializationConstants::default();
    let mut defaults = Vec::new();
    for (id, (key, variable)) in (0..).zip(constants) {
        let bytes = variable.bytes.as_deref().unwrap_or_default();
        let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let offset = 0;
        let part = SpecConstantDescriptor { id, offset, size };
        recorded.constants.insert(key.clone(), vec![part]);
        defaults.extend_from_slice(bytes);
    }
    recorded.defaults = Some(defaults).filter(|bytes| !bytes.is_empty());
    recorded
}

/// Rewrites the PTX: replaces the declaration of each reader function with a definition, and makes the variables of
/// the constants externally visible.
fn write(
    text: &Text<'_>,
    readers: &BTreeMap<&str, Reader<'_>>,
    constants: &[Constant<'_>],
) -> String {
    let names = constants.iter();
    let names = names.map(|(key, variable)| (variable.name, constant_variable(key)));
    let names: BTreeMap<&str, String> = names.collect();
    let variables: BTreeSet<usize> = constants.iter().map(|(_, of)| of.line).collect();
    let declared = text.declarations.iter().filter_map(|declaration| {
        let reader = readers.get(declaration.name)?;
        Some((declaration.lines.start, (declaration, reader)))
    });
    let declared: BTreeMap<usize, _> = declared.collect();
    let mut written = String::new();
    let mut at = 0;
    while let Some(line) = text.lines.get(at) {
        if let Some((declaration, reader)) = declared.get(&at) {
            written += &reader.definition();
            at = declaration.lines.end;
            continue;
        }
        if variables.contains(&at) && line.starts_with(".global") {
            written += ".visible ";
        }
        text::rename(line, &names, &mut written);
        written.push('\n');
        at += 1;
    }
    written
}
