// SPDX-License-Identifier: MIT OR Apache-2.0
//! Renames the kernels of a module in its property sets, SPIR-V and PTX.
//!
//! Two source files may define kernels with the same symbol, such as lambdas in two functions called `main`. Each
//! such symbol gets the name of its source file as a suffix, so that it is unique in the SYCLBIN file.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use syclbin::__private::spirv::words::{
    self, DECORATION_LINKAGE_ATTRIBUTES, HEADER_WORDS, instructions, literal, op, put, string,
};
use syclbin::AbstractModule;
use syclbin::property::{PropertySets, Value};

/// Renames each kernel that is a key of `names` to the corresponding value. Returns `None`, and leaves the module
/// unchanged, if it contains native code or damaged SPIR-V, or if a name in SPIR-V becomes too long.
#[must_use]
pub fn rename_kernels(
    module: &mut AbstractModule<'_>,
    names: &BTreeMap<String, String>,
) -> Option<()> {
    let kernels: BTreeSet<&str> = module.kernel_names().collect();
    let renamed = module.images.iter().map(|image| match image.spirv() {
        Some(code) => in_spirv(code, names),
        None if !image.native && image.is_ptx() => Some(in_ptx(&image.bytes, names, &kernels)),
        None => None,
    });
    let renamed = renamed.collect::<Option<Vec<_>>>()?;
    for (image, bytes) in module.images.iter_mut().zip(renamed) {
        image.bytes = Cow::Owned(bytes);
    }
    module.metadata = in_sets(&module.metadata, names);
    Some(())
}

fn in_sets(sets: &PropertySets<'_>, names: &BTreeMap<String, String>) -> PropertySets<'static> {
    let mut renamed = PropertySets::default();
    for (set, properties) in sets.iter() {
        renamed.insert_set(set.to_string());
        for (key, value) in properties.iter() {
            // A kernel's size properties have keys such as `SYMBOL@reqd_work_group_size`.
            let symbol = key.rsplit_once('@').map_or(key, |(symbol, _)| symbol);
            let name = names.get(symbol).map_or(symbol, String::as_str);
            let key = [name, &key[symbol.len()..]].concat();
            // In the set of registered kernels, the value is a kernel's symbol.
            let value = match value.as_str().and_then(|text| names.get(text)) {
                Some(name) => Value::from(name.as_str()),
                None => value.clone(),
            };
            renamed.insert(set.to_string(), key, value);
        }
    }
    renamed
}

fn in_spirv(bytes: &[u8], names: &BTreeMap<String, String>) -> Option<Vec<u8>> {
    let words = words::words(bytes).ok()?;
    let mut out = words.get(..HEADER_WORDS).unwrap_or_default().to_vec();
    for instruction in instructions(&words) {
        let instruction = instruction.ok()?;
        let (at, opcode, operands) = (instruction.at, instruction.opcode, instruction.operands);
        let before = match (opcode, operands) {
            (op::NAME, _) => 1,
            (op::ENTRY_POINT, _) => 2,
            (op::DECORATE, [_, DECORATION_LINKAGE_ATTRIBUTES, ..]) => 2,
            _ => usize::MAX,
        };
        let text = operands.get(before..).map(string);
        match text.and_then(|(text, after)| Some((names.get(&text)?, after))) {
            Some((name, after)) => {
                let parts = [&operands[..before], &literal(name), after];
                // An instruction is at most 65,535 words long.
                if parts.iter().map(|part| part.len()).sum::<usize>() >= usize::from(u16::MAX) {
                    return None;
                }
                put(&mut out, opcode, &parts);
            }
            None => out.extend(words.get(at..=at + operands.len()).unwrap_or_default()),
        }
    }
    Some(words::bytes(out))
}

fn in_ptx(bytes: &[u8], names: &BTreeMap<String, String>, kernels: &BTreeSet<&str>) -> Vec<u8> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        let kind = is_word(first);
        let end = rest.iter().position(|byte| is_word(byte) != kind);
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        let renamed = kind.then(|| in_word(word, names, kernels)).flatten();
        let (name, suffix) = renamed.unwrap_or((word, &[]));
        out.extend(name);
        out.extend(suffix);
        rest = after;
    }
    out
}

/// Returns the new name of the kernel in a PTX word, and the rest of the word.
fn in_word<'a>(
    word: &'a [u8],
    names: &'a BTreeMap<String, String>,
    kernels: &BTreeSet<&str>,
) -> Option<(&'a [u8], &'a [u8])> {
    let text = str::from_utf8(word).ok()?;
    if kernels.contains(text) {
        return names.get(text).map(|name| (name.as_bytes(), &[][..]));
    }
    // The longest name first, because a kernel's name may begin with another's.
    names.iter().rev().find_map(|(symbol, name)| {
        let rest = word.strip_prefix(symbol.as_bytes())?;
        // DPC++ appends these suffixes.
        let end = rest.strip_prefix(b"_with_offset").unwrap_or(rest);
        let number = end.strip_prefix(b"_param_");
        let is_its = matches!(end, b"" | b"_shared_mem")
            || number
                .is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit));
        is_its.then_some((name.as_bytes(), rest))
    })
}
