// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds the report from a file.

use std::collections::{BTreeMap, BTreeSet};

use syclbin::cubin::{self, Compression, EntryKind};
use syclbin::offload::Strings;
use syclbin::property::set;
use syclbin::signature::{self, KernelName, KernelSignature, Layouts};
use syclbin::{
    AbstractModule, Content, ImageKind, IrType, PropertySet, PropertySets, State, Syclbin, Value,
    ptx, read,
};
use syclbin_toolchain::store::hex;

use super::known::{Views, is_known};
use super::{
    FileFacts, ForeignEntry, Image, Kernel, Module, Parameter, Property, PropertyValue, Report,
    Set, StringEntry,
};
use crate::error::Result;
use crate::input::{Input, sha256};
use crate::ui::{SCHEMA_VERSION, is_plain};

impl Report {
    /// Creates the report on a file.
    ///
    /// # Errors
    ///
    /// Fails if the file is not a SYCLBIN file, or is inconsistent.
    pub fn of(input: &Input) -> Result<Self> {
        let (file, model) = input.syclbin()?;
        let damaged = |cause| input.not_syclbin(cause);
        let state = model.state();
        let views = model
            .modules
            .iter()
            .map(|module| Views::of(&module.metadata));
        let views: Vec<_> = views.collect();
        let mut modules = Vec::new();
        for ((module, views), read) in model.modules.iter().zip(&views).zip(file.modules()) {
            // The model and its view have the same images in the same order.
            let read = read.map_err(damaged)?;
            let mut images = Vec::new();
            for (image, read) in module.images.iter().zip(read.images()) {
                images.push(Image::of(image, &read.map_err(damaged)?));
            }
            modules.push(Module::of(module, views, images));
        }
        Ok(Self {
            schema_version: SCHEMA_VERSION,
            file: FileFacts {
                path: input.name(),
                size: input.bytes.len() as u64,
                container: file.container().name(),
                state: state.and_then(state_name),
                state_number: state.map(State::number),
                strings: strings(&model.strings),
                foreign_entries: model
                    .foreign
                    .iter()
                    .map(|entry| ForeignEntry {
                        image_kind: entry.image_kind.0,
                        offload_kind: entry.offload_kind.0,
                        strings: strings(&entry.strings),
                        size: entry.image.len() as u64,
                    })
                    .collect(),
                property_sets: sets(&model.global),
            },
            kernels: with_stubs(kernels(&model, &views), &input.bytes),
            modules,
        })
    }
}

/// Lists the kernels of a file. If the SPIR-V is unreadable, each kernel gets that as its reason.
fn kernels(model: &Syclbin<'_>, views: &[Views]) -> Vec<Kernel> {
    let signatures = match signature::kernels(model) {
        Ok(signatures) => {
            let of = |kernel| Kernel::of(kernel, &signatures.layouts);
            signatures.kernels.iter().map(of).collect()
        }
        Err(error) => {
            let mut seen = BTreeSet::new();
            let symbols = model.kernel_names().filter(|symbol| seen.insert(*symbol));
            let unread = |symbol| Kernel::unread(symbol, &error);
            symbols.map(unread).collect::<Vec<_>>()
        }
    };
    let mut places = BTreeMap::<&str, Vec<usize>>::new();
    for (index, module) in model.modules.iter().enumerate() {
        for symbol in module.kernel_names() {
            places.entry(symbol).or_default().push(index);
        }
    }
    let mut kernels: Vec<Kernel> = signatures;
    for kernel in &mut kernels {
        kernel.modules = places.remove(kernel.symbol.as_str()).unwrap_or_default();
        // Modules that share a kernel hold the same kernel for several targets.
        if let Some(module) = kernel.modules.first() {
            views[*module].complete(kernel);
        }
    }
    kernels
}

/// Adds the functions that `include_syclbin!` generates.
fn with_stubs(mut kernels: Vec<Kernel>, bytes: &[u8]) -> Vec<Kernel> {
    // A file that cannot be read has that as the reason of each kernel.
    for own in syclbin_expand::stubs(bytes).unwrap_or_default() {
        let mut kernels = kernels.iter_mut();
        if let Some(kernel) = kernels.find(|kernel| kernel.symbol == own.symbol) {
            match own.function {
                Ok(path) => kernel.stub = Some(path),
                Err(reason) => kernel.no_stub = Some(reason),
            }
        }
    }
    kernels
}

impl Kernel {
    fn of(signature: &KernelSignature, layouts: &Layouts) -> Self {
        let (parameters, reason) = match &signature.parameters {
            Ok(parameters) => {
                let of = |parameter| Parameter::of(parameter, layouts);
                (Some(parameters.iter().map(of).collect()), None)
            }
            Err(reason) => (None, Some(reason.to_string())),
        };
        Self {
            name: signature.name.as_ref().map(KernelName::qualified),
            declaration: signature.declaration.as_ref().map(ToString::to_string),
            location: signature.location.clone(),
            parameters,
            reason,
            symbol: signature.symbol.clone(),
            ..Self::default()
        }
    }

    fn unread(symbol: &str, error: &syclbin::Error) -> Self {
        Self {
            name: syclbin::__private::mangled::parse(symbol)
                .as_ref()
                .map(KernelName::qualified),
            reason: Some(error.to_string()),
            symbol: symbol.to_owned(),
            ..Self::default()
        }
    }
}

impl Module {
    fn of(module: &AbstractModule<'_>, views: &Views, images: Vec<Image>) -> Self {
        let symbols = |set| {
            let set = module.metadata.set(set).into_iter();
            set.flat_map(PropertySet::keys).map(str::to_owned).collect()
        };
        Self {
            kernels: module.kernel_names().map(str::to_owned).collect(),
            images,
            requirements: views.requirements(),
            build: views.build(),
            specialization_constants: views.specialization_constants(),
            device_globals: views.device_globals(),
            imports: symbols(set::IMPORTED_SYMBOLS),
            exports: symbols(set::EXPORTED_SYMBOLS),
            problems: views.problems.clone(),
            strings: strings(&module.strings),
            property_sets: sets(&module.metadata),
        }
    }
}

impl Image {
    fn of(image: &syclbin::Image<'_>, read: &read::Image<'_>) -> Self {
        let (kind, ir_type, arch, target) = match image.kind() {
            ImageKind::Ir { ty, target } => ("ir", Some(ty), None, target),
            ImageKind::Native { arch, target } => ("native", None, Some(arch.to_owned()), target),
        };
        Self {
            kind,
            ir_type: ir_type.map(|ty| match ty {
                IrType::SpirV => "spirv",
                IrType::Ptx => "ptx",
                IrType::AmdGcn => "amdgcn",
                IrType::Other(_) => "unknown",
            }),
            ir_type_number: ir_type.map(IrType::number),
            arch,
            target: target.to_owned(),
            size: image.bytes.len() as u64,
            offset: read.offset(),
            sha256: sha256(&image.bytes),
            content: Content::of(&image.bytes).to_string(),
            cuda: cuda_parts(&image.bytes),
            native_kernels: syclbin_tools::native::kernels(&image.bytes),
            strings: strings(&image.strings),
            property_sets: sets(&image.metadata),
        }
    }
}

/// Returns the name of a state, as in `-fsyclbin=`.
#[must_use]
pub fn state_name(state: State) -> Option<&'static str> {
    match state {
        State::Input => Some("input"),
        State::Object => Some("object"),
        State::Executable => Some("executable"),
        State::Other(_) => None,
    }
}

fn strings(strings: &Strings<'_>) -> Vec<StringEntry> {
    strings
        .iter()
        .map(|(key, value)| StringEntry {
            key: key.to_string(),
            text: str::from_utf8(value).ok().map(str::to_owned),
            hex: hex(value),
        })
        .collect()
}

fn sets(sets: &PropertySets<'_>) -> Vec<Set> {
    sets.iter()
        .map(|set| Set {
            name: set.name().to_owned(),
            known: is_known(set.name()),
            properties: set
                .iter()
                .map(|(key, value)| Property {
                    key: key.to_owned(),
                    value: PropertyValue::of(value),
                })
                .collect(),
        })
        .collect()
}

/// Returns `bytes` as text, if all of it is printable.
fn printable(bytes: &[u8]) -> Option<String> {
    let text = str::from_utf8(bytes).ok()?;
    (!text.is_empty() && text.chars().all(is_plain)).then(|| text.to_owned())
}

impl PropertyValue {
    fn of(value: &Value) -> Self {
        match value {
            Value::U32(value) => Self::U32 { value: *value },
            Value::Bytes { bits, data } => Self::Bytes {
                bits: *bits,
                hex: hex(data),
                text: printable(data),
            },
            Value::Other { ty, text } => Self::Other {
                type_number: *ty,
                text: text.clone(),
            },
        }
    }
}

/// The most entries of one image that a report shows.
const MAX_ENTRIES: usize = 64;

/// Describes each part of code for NVIDIA GPUs. Returns nothing for other code, or for damaged code.
fn cuda_parts(bytes: &[u8]) -> Vec<String> {
    match Content::of(bytes) {
        Content::Ptx => {
            let module = ptx::Module::parse(bytes);
            let module =
                module.map(|module| format!("PTX {} for {}", module.version, module.target));
            module.into_iter().collect()
        }
        Content::Elf { machine: 190 } => {
            let target = cubin::target(bytes).map(|target| format!("native code for {target}"));
            target.into_iter().collect()
        }
        Content::CudaFatbin => {
            let entries = cubin::entries(bytes).into_iter().flatten().flatten();
            entries
                .take(MAX_ENTRIES)
                .map(|entry| cuda_part(&entry))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn cuda_part(entry: &cubin::Entry<'_>) -> String {
    let target = entry.target;
    let what = match entry.kind {
        EntryKind::Ptx => format!("PTX for {target}"),
        EntryKind::Elf => format!("native code for {target}"),
        EntryKind::Several => "several parts".to_owned(),
        _ => format!("unknown code for {target}"),
    };
    match entry.compression {
        None => what,
        Some(Compression::Zstd) => format!("{what} (zstd)"),
        Some(Compression::Lz4) => format!("{what} (LZ4)"),
    }
}
