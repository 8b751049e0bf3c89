//! Property sets: whether they can be read, and the parts of the file by what they say.

use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;

use super::{Findings, Severity};
use crate::model::{AbstractModule, Image, Syclbin};
use crate::property::PropertySets;
use crate::read::{self, File, Metadata, Owner};

/// All that a file says.
pub(super) struct Sets<'a> {
    /// The file without its modules.
    pub(super) file: Part<Syclbin<'a>>,
    pub(super) modules: Vec<Module<'a>>,
}

/// A record and where its property sets lie. They are empty if they cannot be read, which then was
/// found already.
pub(super) struct Part<T> {
    pub(super) offset: u64,
    pub(super) says: T,
}

pub(super) struct Module<'a> {
    pub(super) owner: Owner,
    /// The module without its images.
    pub(super) module: Part<AbstractModule<'a>>,
    pub(super) images: Vec<(read::Image<'a>, Part<Image<'a>>)>,
}

/// Reads all property sets of a file whose records lie where they should.
pub(super) fn read<'a>(file: &File<'a>, findings: &mut Findings) -> Sets<'a> {
    let mut read = |owner: Owner, metadata: Metadata<'a>| read_sets(owner, metadata, findings);
    // What fails here has been found by the check of the layout.
    let whole = match file.global() {
        Ok(metadata) => Part {
            offset: metadata.offset(),
            says: Syclbin {
                global: read(Owner::File, metadata),
                ..Syclbin::default()
            },
        },
        Err(_) => Part {
            offset: 0,
            says: Syclbin::default(),
        },
    };
    let modules = file.modules().flatten().filter_map(|module| {
        let owner = Owner::Module(module.index());
        let metadata = module.metadata().ok()?;
        let described = Part {
            offset: metadata.offset(),
            says: AbstractModule {
                metadata: read(owner, metadata),
                ..AbstractModule::default()
            },
        };
        let images = module.images().flatten().map(|image| {
            let metadata = image.metadata();
            let described = Part {
                offset: metadata.offset(),
                says: Image {
                    native: image.is_native(),
                    metadata: read(image.owner(), metadata),
                    bytes: Cow::Borrowed(image.bytes()),
                    strings: Vec::new(),
                },
            };
            (image, described)
        });
        Some(Module {
            owner,
            images: images.collect(),
            module: described,
        })
    });
    let modules = modules.collect();
    Sets {
        file: whole,
        modules,
    }
}

fn read_sets<'a>(
    owner: Owner,
    metadata: Metadata<'a>,
    findings: &mut Findings,
) -> PropertySets<'a> {
    let offset = metadata.offset();
    let sets = metadata.parse().unwrap_or_else(|error| {
        findings.error(error);
        PropertySets::default()
    });
    let lines = metadata.text().split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !matches!(line, [] | [b'\r'])).count();
    let kept: usize = sets.iter().map(|set| 1 + set.len()).sum();
    if !sets.is_empty() && kept < lines {
        let reason = "a set or a key comes twice; the last value counts";
        findings.add(
            Severity::Warning,
            offset,
            format!("{owner}: metadata"),
            reason,
        );
    }
    sets
}
