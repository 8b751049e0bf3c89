// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks that property sets are readable, and groups the parts of the file with their metadata.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::Findings;
use syclbin::Container;
use syclbin::metadata::{Malformed, ModuleMetadata};
use syclbin::property::{PropertySets, key, set};
use syclbin::read::{self, File, Metadata, Owner};
use syclbin::{AbstractModule, Image, IrType, State, Syclbin};

pub(super) struct Sets<'a> {
    /// The file without its modules.
    pub(super) file: Located<Syclbin<'a>>,
    pub(super) modules: Vec<Module<'a>>,
}

/// A record and the offset of its property sets. Unreadable property sets are replaced by empty ones, after a finding
/// has reported the error.
pub(super) struct Located<T> {
    pub(super) offset: u64,
    pub(super) says: T,
}

pub(super) struct Module<'a> {
    pub(super) owner: Owner,
    /// The module without its images.
    pub(super) module: Located<AbstractModule<'a>>,
    pub(super) images: Vec<(read::Image<'a>, Located<Image<'a>>)>,
}

/// Reads all property sets of a file whose layout has been validated.
pub(super) fn read<'a>(file: &File<'a>, findings: &mut Findings) -> Sets<'a> {
    if file.container() == Container::Images {
        let model = file.to_model().unwrap_or_else(|error| {
            findings.error(error);
            Syclbin::default()
        });
        return of_images(file, model);
    }
    let mut read = |owner: Owner, metadata: Metadata<'a>| {
        (metadata.offset, read_sets(owner, metadata, findings))
    };
    // The layout check has already reported errors from these calls.
    let global = file.global().map(|metadata| read(Owner::File, metadata));
    let (offset, global) = global.unwrap_or_default();
    let whole = Located {
        offset,
        says: Syclbin {
            global,
            ..Syclbin::default()
        },
    };
    let modules = file.modules().flatten().filter_map(|module| {
        let owner = Owner::Module(module.index);
        let (offset, metadata) = read(owner, module.metadata().ok()?);
        let images = module.images().flatten().map(|image| {
            let (offset, metadata) = read(image.metadata.owner, image.metadata);
            let says = Image {
                native: image.native,
                metadata,
                bytes: Cow::Borrowed(image.bytes),
                strings: Vec::new(),
            };
            (image, Located { offset, says })
        });
        let images = images.collect();
        let says = AbstractModule {
            metadata,
            ..AbstractModule::default()
        };
        Some(Module {
            owner,
            module: Located { offset, says },
            images,
        })
    });
    let sets = Sets {
        modules: modules.collect(),
        file: whole,
    };
    check_values(&sets, findings);
    sets
}

/// Pairs bare device images with the metadata derived from their code.
fn of_images<'a>(file: &File<'a>, model: Syclbin<'a>) -> Sets<'a> {
    let pairs = file.modules().flatten().zip(model.modules);
    let modules = pairs.map(|(module, says)| Module {
        owner: Owner::Module(module.index),
        images: (module.images().flatten())
            .zip(says.images)
            .map(|(image, says)| {
                let offset = image.offset;
                (image, Located { offset, says })
            })
            .collect(),
        module: Located {
            offset: 0,
            says: AbstractModule {
                images: Vec::new(),
                ..says
            },
        },
    });
    Sets {
        modules: modules.collect(),
        file: Located {
            offset: 0,
            says: Syclbin {
                modules: Vec::new(),
                ..model
            },
        },
    }
}

/// Reports properties with malformed values.
fn check_values(sets: &Sets<'_>, findings: &mut Findings) {
    let mut check = |faults: Vec<Malformed>, owner: Owner, offset| {
        for malformed in faults {
            findings.at(offset, owner).error(malformed.to_string());
        }
    };
    let file = &sets.file;
    let fault = file
        .says
        .global
        .read::<State>(set::GLOBAL, key::STATE)
        .err();
    check(fault.into_iter().collect(), Owner::File, file.offset);
    for Module {
        owner,
        module,
        images,
    } in &sets.modules
    {
        let (_, faults) = ModuleMetadata::read_valid(&module.says.metadata);
        check(faults, *owner, module.offset);
        for (image, Located { offset, says }) in images {
            let text = |set, key| says.metadata.read::<String>(set, key).err();
            let faults = if image.native {
                [key::ARCH, key::TARGET].map(|key| text(set::NATIVE_IMAGE, key))
            } else {
                let ty = says.metadata.read::<IrType>(set::IR_MODULE, key::TYPE);
                [ty.err(), text(set::IR_MODULE, key::TARGET)]
            };
            let faults = faults.into_iter().flatten();
            check(faults.collect(), image.metadata.owner, *offset);
        }
    }
}

fn read_sets<'a>(
    owner: Owner,
    metadata: Metadata<'a>,
    findings: &mut Findings,
) -> PropertySets<'a> {
    let offset = metadata.offset;
    let sets = metadata.parse().unwrap_or_else(|error| {
        findings.error(error);
        PropertySets::default()
    });
    let lines = metadata.text.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !matches!(line, [] | [b'\r'])).count();
    let kept: usize = sets.iter().map(|set| 1 + set.len()).sum();
    if !sets.is_empty() && kept < lines {
        let reason = "a set or a key occurs twice; the last value is used";
        findings
            .at(offset, format!("{owner}: metadata"))
            .warning(reason);
    }
    sets
}
