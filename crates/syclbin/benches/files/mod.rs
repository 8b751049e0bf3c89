// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files that are measured: the fixtures, and large ones made here in each container.

use std::path::PathBuf;

use syclbin::Container::{OffloadBinary1, Version2};
use syclbin::offload::{self, Entry};
use syclbin::{AbstractModule, Image, IrType, State, Syclbin, write};

/// What a file means, before it is bytes.
pub(crate) enum Content {
    /// A file of the reference runtime, as it is.
    Fixture(PathBuf),
    /// So many modules of one kernel and one SPIR-V image of so many bytes.
    Images { count: usize, size: usize },
    /// One module of so many kernels and one small image.
    Names { count: usize },
}

/// How a [`Content`] becomes bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    /// As the reference runtime wrote it: SYCLBIN version 1 in an OffloadBinary version 2.
    AsWritten,
    /// SYCLBIN version 1 in an OffloadBinary version 1, our default.
    Version1,
    /// SYCLBIN version 2: an OffloadBinary version 2 with an entry for each record.
    Version2,
    /// The entries of [`Self::Version2`], each in an OffloadBinary version 1, one after another.
    /// No SYCLBIN, but the form in which an LLVM that knows version 1 alone has records to walk.
    OneAfterAnother,
}

/// What a walk over all entries saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) entries: u64,
    /// Bytes of all images.
    pub(crate) images: u64,
    /// Bytes of all keys and values.
    pub(crate) strings: u64,
}

impl Container {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::AsWritten => "as written",
            Self::Version1 => "SYCLBIN 1",
            Self::Version2 => "SYCLBIN 2",
            Self::OneAfterAnother => "concatenated",
        }
    }

    fn write(self, file: &Syclbin<'_>) -> Vec<u8> {
        match self {
            Self::AsWritten | Self::Version1 => written(file, OffloadBinary1),
            Self::Version2 => written(file, Version2),
            Self::OneAfterAnother => {
                let bytes = written(file, Version2);
                one_after_another(&walk(&bytes).expect("what was just written is whole"))
            }
        }
    }
}

fn written(file: &Syclbin<'_>, container: syclbin::Container) -> Vec<u8> {
    write::to_vec(file, container).expect("what is made here can be written")
}

/// All entries with all strings, as LLVM's reader makes them too.
pub(crate) fn walk(bytes: &[u8]) -> Result<Vec<Entry<'_>>, String> {
    offload::read(bytes).map_err(|error| error.to_string())
}

/// What these entries hold.
pub(crate) fn sums(entries: &[Entry<'_>]) -> Sums {
    let mut sums = Sums::default();
    for entry in entries {
        sums.entries += 1;
        sums.images += entry.image.len() as u64;
        for (key, value) in &entry.strings {
            sums.strings += (key.len() + value.len()) as u64;
        }
    }
    sums
}

/// Each entry in an OffloadBinary version 1, with its strings.
fn one_after_another(entries: &[Entry<'_>]) -> Vec<u8> {
    let size_of_all = entries.iter().map(|entry| entry.image.len() + 512).sum();
    let mut out: Vec<u8> = Vec::with_capacity(size_of_all);
    for entry in entries {
        let records = 32 + 40;
        let table_start = records + entry.strings.len() * 16;
        let mut table = vec![0];
        let mut places = Vec::new();
        for (key, value) in &entry.strings {
            for text in [key.as_bytes(), value] {
                places.push(table_start + table.len());
                table.extend_from_slice(text);
                table.push(0);
            }
        }
        let image = (table_start + table.len()).next_multiple_of(8);
        let size = (image + entry.image.len()).next_multiple_of(8);
        let start = out.len();
        let numbers = |out: &mut Vec<u8>, numbers: &[usize]| {
            out.extend(numbers.iter().flat_map(|n| (*n as u64).to_le_bytes()));
        };
        out.extend_from_slice(&[0x10, 0xff, 0x10, 0xad, 1, 0, 0, 0]);
        numbers(&mut out, &[size, 32, 40]);
        out.extend_from_slice(&[7, 0, 8, 0, 0, 0, 0, 0]);
        let strings = [records, entry.strings.len()];
        numbers(&mut out, &[strings, [image, entry.image.len()]].concat());
        numbers(&mut out, &places);
        out.extend_from_slice(&table);
        out.resize(start + image, 0);
        out.extend_from_slice(&entry.image);
        out.resize(start + size, 0);
    }
    out
}

impl Content {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Fixture(path) => {
                let name = path.file_stem().unwrap_or_default();
                name.to_string_lossy().into_owned()
            }
            Self::Images { count, size } if *size >= 1_000_000 => {
                format!("{count} images of {} MB", size / 1_000_000)
            }
            Self::Images { count, size } => format!("{count} images of {} kB", size / 1000),
            Self::Names { count } => format!("{count} kernel names"),
        }
    }

    /// The bytes of this in `container`.
    pub(crate) fn bytes(&self, container: Container) -> Vec<u8> {
        let modules = match self {
            Self::Fixture(path) => {
                let bytes = std::fs::read(path)
                    .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                if container == Container::AsWritten {
                    return bytes;
                }
                let file = syclbin::read::parse(&bytes).expect("a fixture is read");
                return container.write(&file);
            }
            Self::Images { count, size } => (0..*count)
                .map(|index| module(index..index + 1, *size))
                .collect(),
            Self::Names { count } => vec![module(0..*count, 1000)],
        };
        let mut file = Syclbin::new(State::Object);
        file.modules = modules;
        container.write(&file)
    }
}

/// A module of these kernels, with one image of `size` bytes.
fn module(kernels: core::ops::Range<usize>, size: usize) -> AbstractModule<'static> {
    let mut module = AbstractModule::default();
    let code = spirv(kernels.start as u64, size);
    for kernel in kernels {
        module.add_kernel_name(format!("_ZTSN5bench6kernelILi{kernel}EEE"));
    }
    let image = Image::ir(IrType::SpirV, "spir64-unknown-unknown", code);
    module.images.push(image);
    module
}

/// Bytes that begin as SPIR-V does and go on without a pattern (xorshift), the same for each seed.
fn spirv(seed: u64, size: usize) -> Vec<u8> {
    let mut code = Vec::with_capacity(size + 8);
    code.extend_from_slice(&0x0723_0203u32.to_le_bytes());
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    while code.len() < size {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        code.extend_from_slice(&state.to_le_bytes());
    }
    code.truncate(size);
    code
}

/// The fixtures, by name.
pub(crate) fn fixtures() -> Vec<Content> {
    let folder = test_files::directory();
    // The published package is without them.
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|name| name == "syclbin"))
        .collect();
    paths.sort();
    paths.into_iter().map(Content::Fixture).collect()
}
