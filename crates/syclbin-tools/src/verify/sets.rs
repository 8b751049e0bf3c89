// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks that property sets are readable, and pairs the contents of the file with their positions.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::mem::take;

use super::Findings;
use syclbin::metadata::{FileMetadata, IrMetadata, Malformed, ModuleMetadata, NativeMetadata};
use syclbin::read::{self, File, Metadata, Owner};
use syclbin::{AbstractModule, Image, Syclbin};

pub(super) struct Contents<'a> {
    /// The file, without its modules.
    pub(super) file: Syclbin<'a>,
    /// The offset of the file's property sets.
    pub(super) offset: u64,
    pub(super) modules: Vec<Module<'a>>,
}

pub(super) struct Module<'a> {
    pub(super) owner: Owner,
    /// The module, without its images.
    pub(super) module: AbstractModule<'a>,
    /// The offset of its property sets.
    pub(super) offset: u64,
    /// Each image as stored, and with its metadata.
    pub(super) images: Vec<(read::Image<'a>, Image<'a>)>,
}

/// Reads the contents of a file whose layout has been validated. Returns `None` if that fails, after findings have
/// reported all errors.
pub(super) fn read<'a>(file: &File<'a>, findings: &mut Findings) -> Option<Contents<'a>> {
    let global = file.global().ok()?;
    check_sets(Owner::File, global, findings);
    for module in file.modules().flatten() {
        check_sets(
            Owner::Module(module.index()),
            module.metadata().ok()?,
            findings,
        );
        for image in module.images().flatten() {
            check_sets(image.owner(), image.metadata(), findings);
        }
    }
    if findings.has_error() {
        return None;
    }
    let model = file.to_model().map_err(|error| findings.error(error));
    let mut model = model.ok()?;
    let modules = file.modules().flatten().zip(take(&mut model.modules));
    let modules = modules.map(|(stored, mut module)| Module {
        owner: Owner::Module(stored.index()),
        offset: stored.metadata().map_or(0, |metadata| metadata.offset()),
        images: (stored.images().flatten())
            .zip(take(&mut module.images))
            .collect(),
        module,
    });
    let contents = Contents {
        modules: modules.collect(),
        file: model,
        offset: global.offset(),
    };
    check_values(&contents, findings);
    Some(contents)
}

/// Reports properties with malformed values.
fn check_values(contents: &Contents<'_>, findings: &mut Findings) {
    let mut check = |faults: Vec<Malformed>, owner: Owner, offset| {
        for malformed in faults {
            findings.at(offset, owner).error(malformed.to_string());
        }
    };
    let fault = FileMetadata::read(&contents.file.global).err();
    check(fault.into_iter().collect(), Owner::File, contents.offset);
    for module in &contents.modules {
        let (_, faults) = ModuleMetadata::read_valid(&module.module.metadata);
        check(faults, module.owner, module.offset);
        for (stored, image) in &module.images {
            let fault = if image.native {
                NativeMetadata::read(&image.metadata).err()
            } else {
                IrMetadata::read(&image.metadata).err()
            };
            let offset = stored.metadata().offset();
            check(fault.into_iter().collect(), stored.owner(), offset);
        }
    }
}

fn check_sets(owner: Owner, metadata: Metadata<'_>, findings: &mut Findings) {
    let sets = match metadata.parse() {
        Ok(sets) => sets,
        Err(error) => return findings.error(error),
    };
    let lines = metadata.text().split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !matches!(line, [] | [b'\r'])).count();
    let kept: usize = sets.iter().map(|set| 1 + set.len()).sum();
    if !sets.is_empty() && kept < lines {
        let reason = "a set or a key occurs twice; the last value is used";
        findings
            .at(metadata.offset(), format!("{owner}: metadata"))
            .warning(reason);
    }
}
