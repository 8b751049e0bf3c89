// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code for NVIDIA GPUs: the kind of each part of an image, and the GPUs it is for.

use syclbin::cubin::{self, Compression, EntryKind};
use syclbin::{Content, ptx};

/// The most entries of one image that a report shows.
const MAX_ENTRIES: usize = 64;

/// Describes each part. Returns nothing for other code, or for damaged code.
pub(super) fn parts(bytes: &[u8]) -> Vec<String> {
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
                .map(|entry| part(&entry))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn part(entry: &cubin::Entry<'_>) -> String {
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
