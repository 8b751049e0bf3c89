// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks that property sets are readable, and pairs the contents of the file with their positions.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::mem::take;

use super::{Findings, Place};
use syclbin::metadata::{Malformed, ModuleMetadata};
use syclbin::property::{key, set};
use syclbin::read::{self, File, Metadata, Owner};
use syclbin::{AbstractModule, Image, IrType, State, Syclbin};

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
    /// Each image as stored in the file, and as parsed.
    pub(super) images: Vec<(read::Image<'a>, Image<'a>)>,
}

impl Module<'_> {
    pub(super) fn place<'f>(&self, findings: &'f mut Findings) -> Place<'f, Owner> {
        findings.at(self.offset, self.owner)
    }
}

/// Reads the contents of a file whose layout has been validated. On failure, adds the errors to `findings` and returns
/// `None`.
pub(super) fn read<'a>(file: &File<'a>, findings: &mut Findings) -> Option<Contents<'a>> {
    let global = file.global().ok()?;
    check_sets(Owner::File, global, findings);
    for module in file.modules().flatten() {
        let owner = Owner::Module(module.index);
        check_sets(owner, module.metadata().ok()?, findings);
        for image in module.images().flatten() {
            check_sets(image.metadata.owner, image.metadata, findings);
        }
    }
    if findings.has_error() {
        return None;
    }
    let mut model = findings.ok(file.to_model())?;
    let modules = file.modules().flatten().zip(take(&mut model.modules));
    let modules = modules.map(|(stored, mut module)| Module {
        owner: Owner::Module(stored.index),
        offset: stored.metadata().map_or(0, |metadata| metadata.offset),
        images: (stored.images().flatten())
            .zip(take(&mut module.images))
            .collect(),
        module,
    });
    let contents = Contents {
        modules: modules.collect(),
        file: model,
        offset: global.offset,
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
    let state = contents.file.global.read::<State>(set::GLOBAL, key::STATE);
    check(Vec::from_iter(state.err()), Owner::File, contents.offset);
    for module in &contents.modules {
        let (_, faults) = ModuleMetadata::read_valid(&module.module.metadata);
        check(faults, module.owner, module.offset);
        for (stored, image) in &module.images {
            let text = |set, key| image.metadata.read::<String>(set, key).err();
            let faults = if image.native {
                [key::ARCH, key::TARGET].map(|key| text(set::NATIVE_IMAGE, key))
            } else {
                let ty = image.metadata.read::<IrType>(set::IR_MODULE, key::TYPE);
                [ty.err(), text(set::IR_MODULE, key::TARGET)]
            };
            let Metadata { owner, offset, .. } = stored.metadata;
            check(faults.into_iter().flatten().collect(), owner, offset);
        }
    }
}

fn check_sets(owner: Owner, metadata: Metadata<'_>, findings: &mut Findings) {
    let Some(sets) = findings.ok(metadata.parse()) else {
        return;
    };
    let lines = metadata.text.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !matches!(line, [] | [b'\r'])).count();
    let kept: usize = sets.iter().map(|(_, set)| 1 + set.len()).sum();
    if !sets.is_empty() && kept < lines {
        let mut place = findings.at(metadata.offset, format!("{owner}: metadata"));
        place.warning("a set or a key occurs twice; the last value is used");
    }
}
