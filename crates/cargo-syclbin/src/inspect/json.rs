// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON report, described by `schema/inspect.schema.json`. A field that does not apply is `null`, but property
//! values and parameter types omit such fields.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use syclbin::metadata::Dimensions;
use syclbin::offload::Strings;
use syclbin::property::{self, set};
use syclbin::{AbstractModule, Content, Image, ImageKind, IrType, PropertySets, State};
use syclbin_toolchain::store::hex;

use super::{Contents, Module, constants, cuda_parts, globals};
use crate::input::sha256;
use crate::ui::is_plain;

impl Serialize for Contents<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let modules = self.file.modules.iter().zip(&self.modules);
        let state = self.file.state();
        let report = json!({
            "file": {
                "path": self.input.name(),
                "size": self.input.bytes.len(),
                "container": self.container.name(),
                "state": state.and_then(state_name),
                "state_number": state.map(State::number),
                "strings": strings(&self.file.strings),
                "foreign_entries": list(self.file.foreign.iter().map(|entry| json!({
                    "image_kind": entry.image_kind.0,
                    "offload_kind": entry.offload_kind.0,
                    "strings": strings(&entry.strings),
                    "size": entry.image.len(),
                }))),
                "property_sets": sets(&self.file.global),
            },
            "kernels": self.kernels,
            "modules": list(modules.map(|(module, known)| of_module(module, known))),
        });
        report.serialize(serializer)
    }
}

/// Returns the name of a state, unless its number is unknown.
pub fn state_name(state: State) -> Option<String> {
    (!matches!(state, State::Other(_))).then(|| state.to_string())
}

fn of_module(module: &AbstractModule<'_>, known: &Module) -> Value {
    let (metadata, needs) = (&known.metadata, &known.metadata.requirements);
    let images = module.images.iter().zip(&known.offsets);
    json!({
        "kernels": list(module.kernel_names()),
        "images": list(images.map(|(image, offset)| of_image(image, *offset))),
        "requirements": {
            "aspects": list(needs.aspects.iter().map(
                |aspect| json!({ "number": aspect.number(), "name": aspect.name() }),
            )),
            "required_work_group_size": needs.work_group_sycl(),
            "required_sub_group_size": needs.sub_group,
            "fixed_targets": needs.fixed_targets,
            "compile_target": needs.compile_target,
            "matrices": needs.matrices.0,
            "matrix_products": needs.matrix_products.0,
            "dimensions": needs.dimensions.map(Dimensions::get),
            "virtual_functions": metadata.virtual_functions.uses.0,
            "defined_virtual_functions": metadata.virtual_functions.defines.0,
            "host_pipes": list(metadata.host_pipes.names()),
            "sanitizer": metadata.misc.sanitizer.as_ref().map(ToString::to_string),
        },
        "build": {
            "optimization_level": metadata.misc.opt_level,
            "esimd": metadata.misc.esimd.unwrap_or(false),
            "register_count": metadata.misc.grf_size,
            "specialized_with_defaults": metadata.misc.specialized_with_defaults.unwrap_or(false),
        },
        "specialization_constants": list(constants(metadata).map(|constant| json!({
            "name": constant.name,
            "size": constant.layout.size,
            "scalars": list(constant.layout.leaves.iter().map(|leaf| json!({
                "id": leaf.id,
                "offset": leaf.start - constant.layout.start,
                "size": leaf.size,
            }))),
            "default": constant.default.map(hex),
        }))),
        "device_globals": list(globals(metadata).map(|(name, symbol, memory)| json!({
            "name": name,
            "symbol": symbol,
            "size": memory.size,
            "image_scope": memory.image_scope,
        }))),
        "imports": list(module.metadata.keys(set::IMPORTED_SYMBOLS)),
        "exports": list(module.metadata.keys(set::EXPORTED_SYMBOLS)),
        "problems": list(known.problems.iter().map(ToString::to_string)),
        "strings": strings(&module.strings),
        "property_sets": sets(&module.metadata),
    })
}

fn of_image(image: &Image<'_>, offset: u64) -> Value {
    let (kind, ir_type, arch, target) = match image.kind() {
        ImageKind::Ir { ty, target } => ("ir", Some(ty), None, target),
        ImageKind::Native { arch, target } => ("native", None, Some(arch), target),
    };
    json!({
        "kind": kind,
        "ir_type": ir_type.map(|ty| match ty {
            IrType::SpirV => "spirv",
            IrType::Ptx => "ptx",
            IrType::AmdGcn => "amdgcn",
            IrType::Other(_) => "unknown",
        }),
        "ir_type_number": ir_type.map(IrType::number),
        "arch": arch,
        "target": target,
        "size": image.bytes.len(),
        "offset": offset,
        "sha256": sha256(&image.bytes),
        "content": Content::of(&image.bytes).to_string(),
        "cuda": cuda_parts(&image.bytes),
        "native_kernels": syclbin_tools::native::kernels(&image.bytes),
        "strings": strings(&image.strings),
        "property_sets": sets(&image.metadata),
    })
}

fn strings(strings: &Strings<'_>) -> Value {
    list(strings.iter().map(
        |(key, value)| json!({ "key": key, "text": str::from_utf8(value).ok(), "hex": hex(value) }),
    ))
}

fn sets(sets: &PropertySets<'_>) -> Value {
    list(sets.iter().map(|(name, set)| {
        let properties = set.iter().map(|(key, value)| property(key, value));
        json!({
            "name": name,
            "known": set::ALL.contains(&name),
            "properties": list(properties),
        })
    }))
}

fn property(key: &str, value: &property::Value) -> Value {
    match value {
        property::Value::U32(value) => json!({ "key": key, "type": "u32", "value": value }),
        property::Value::Bytes { bits, data } => json!({
            "key": key,
            "type": "bytes",
            "bits": bits,
            "hex": hex(data),
            "text": printable(data),
        }),
        property::Value::Other { ty, text } => {
            json!({ "key": key, "type": "other", "type_number": ty, "text": text })
        }
    }
}

/// Returns `bytes` as text, unless it is empty or contains unprintable characters.
fn printable(bytes: &[u8]) -> Option<&str> {
    let text = str::from_utf8(bytes).ok()?;
    (!text.is_empty() && text.chars().all(is_plain)).then_some(text)
}

fn list<T: Into<Value>>(items: impl IntoIterator<Item = T>) -> Value {
    items.into_iter().collect()
}
