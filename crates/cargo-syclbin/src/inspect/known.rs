// SPDX-License-Identifier: MIT OR Apache-2.0
//! Extracts the facts that both the text report and the JSON report contain.

use std::collections::BTreeSet;

use syclbin::cubin::{self, Compression, EntryKind};
use syclbin::metadata::{DeviceGlobal, ModuleMetadata, SpecConstantLayout, without_run_prefix};
use syclbin::{Content, ptx};

use crate::ui::is_plain;

pub(super) struct Constant<'a> {
    pub(super) name: String,
    pub(super) layout: SpecConstantLayout,
    pub(super) default: Option<&'a [u8]>,
}

/// Returns the specialization constants of a module, in the order of their defaults.
pub(super) fn constants(metadata: &ModuleMetadata) -> impl Iterator<Item = Constant<'_>> {
    // Reading the metadata has already validated the layout.
    let layouts = metadata.specialization.layout().unwrap_or_default();
    let defaults = metadata.specialization.defaults.as_deref();
    layouts.into_iter().map(move |(name, layout)| Constant {
        default: defaults.and_then(|values| values.get(layout.start..)?.get(..layout.size)),
        name,
        layout,
    })
}

/// A variable in device memory that persists between launches.
pub(super) struct Global<'a> {
    pub(super) name: &'a str,
    /// The symbol in the device code.
    pub(super) symbol: Option<&'a String>,
    pub(super) memory: DeviceGlobal,
}

pub(super) fn globals(metadata: &ModuleMetadata) -> impl Iterator<Item = Global<'_>> {
    // The reference runtime may write a name twice, once with a prefix that differs per run.
    let mut seen = BTreeSet::new();
    let globals = metadata.device_globals.iter();
    let globals = globals.map(|(name, memory)| (without_run_prefix(name), memory));
    globals
        .filter(move |(name, _)| seen.insert(*name))
        .map(|(name, memory)| Global {
            name,
            symbol: metadata.program.global_names.get(name),
            memory: *memory,
        })
}

/// The maximum number of entries of a CUDA fat binary in a report.
const MAX_ENTRIES: usize = 64;

/// Describes each part of an image for NVIDIA GPUs. Returns an empty list for other or damaged code.
pub(super) fn cuda_parts(bytes: &[u8]) -> Vec<String> {
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

/// Returns `bytes` as text, if all of it is printable.
pub(super) fn printable(bytes: &[u8]) -> Option<&str> {
    let text = str::from_utf8(bytes).ok()?;
    (!text.is_empty() && text.chars().all(is_plain)).then_some(text)
}
