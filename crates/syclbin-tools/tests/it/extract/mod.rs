// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device images come out of the containers that LLVM's tools made (`tests/files/extract`), and out
//! of ones made here where no tool makes them.

use std::borrow::Cow;
use std::fmt::Write as _;

mod containers;
mod damaged;
mod packages;
mod programs;

use object::write::{Object, StandardSegment};
use object::{Architecture, BinaryFormat, Endianness, SectionKind};
use syclbin::__private::spirv::Module;
use syclbin::offload;
use syclbin::property::{PropertySets, key, set};
use syclbin::{
    AbstractModule, Container, Content, Image, ImageKind, IrType, State, Syclbin, Value, read,
    write,
};
use syclbin_tools::extract::{DeviceImage, Note, OffloadKind, images, package};

/// The containers, not their sources.
fn containers() -> Vec<(String, Vec<u8>)> {
    let is_source = |name: &str| {
        [".c", ".cpp", ".ll", ".sh"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    let mut files = test_files::all("extract", "");
    files.retain(|(name, _)| !is_source(name));
    assert!(files.len() >= 20, "the files are missing");
    files
}

/// The SPIR-V of one of the reference runtime's files.
fn spirv(name: &str) -> Vec<u8> {
    let bytes = test_files::read(&format!("{name}.object.syclbin"));
    let file = read::parse(&bytes).unwrap();
    file.modules[0].images[0].bytes.to_vec()
}

fn line(image: &DeviceImage<'_>) -> String {
    let mut line = format!(
        "{} | {} | {} | {} | {} | {}",
        image.origin,
        image.offload_kind,
        image.triple,
        image.arch,
        image.content,
        image.bytes.len()
    );
    for (key, value) in &image.strings {
        let value = String::from_utf8_lossy(value).replace('\n', ",");
        write!(line, " | {key}={value}").unwrap();
    }
    line
}

fn lines(bytes: &[u8]) -> Vec<String> {
    let found = images(bytes).unwrap_or_else(|error| panic!("{error}"));
    found.iter().map(line).collect()
}

const EXPORT: &str = "SYCL | spir64-unknown-unknown |  | SPIR-V | 264";
const IMPORT: &str =
    "SYCL | spir64-unknown-unknown |  | SPIR-V | 1140 | compile-opts=-cl-fast-relaxed-math";
const UPSTREAM: &str =
    "SYCL | spirv64-unknown-unknown |  | SPIR-V | 1240 | symbols=scale,_ZTSZ3usePiE6Filled";
const LINKED: &str = "SYCL | spirv64 |  | SPIR-V | 336 | symbols=first,second";

/// An entry of an OffloadBinary made here.
struct Entry<'a> {
    image_kind: u16,
    strings: Vec<(&'a str, &'a [u8])>,
    image: &'a [u8],
}

impl<'a> Entry<'a> {
    fn new(image: &'a [u8]) -> Self {
        Self {
            image_kind: 6,
            strings: Vec::new(),
            image,
        }
    }
}

/// An OffloadBinary of version 2 or 3: LLVM's tools write these from version 23 on.
fn offload(version: u32, inflated: u64, entries: &[Entry<'_>]) -> Vec<u8> {
    let header = if version == 3 { 40 } else { 32 };
    let strings: usize = entries.iter().map(|entry| entry.strings.len()).sum();
    let mut string_at = header + entries.len() * 40;
    let mut at = string_at + strings * 24;
    let (mut table, mut records, mut data) = (Vec::new(), Vec::new(), Vec::<u8>::new());
    for entry in entries {
        let first = string_at;
        for (key, value) in &entry.strings {
            records.extend([at, at + key.len() + 1, value.len()].map(|n| n as u64));
            data.extend(key.as_bytes().iter().chain(b"\0").chain(*value));
            at += key.len() + 1 + value.len();
            string_at += 24;
        }
        table.extend(entry.image_kind.to_le_bytes());
        table.extend(8u16.to_le_bytes());
        table.extend(0u32.to_le_bytes());
        for number in [first, entry.strings.len(), at, entry.image.len()] {
            table.extend((number as u64).to_le_bytes());
        }
        data.extend(entry.image);
        at += entry.image.len();
    }
    let mut out = vec![0x10, 0xff, 0x10, 0xad];
    out.extend(version.to_le_bytes());
    for number in [at, header, entries.len()] {
        out.extend((number as u64).to_le_bytes());
    }
    if version == 3 {
        out.extend(inflated.to_le_bytes());
    }
    out.extend(table);
    out.extend(records.iter().flat_map(|number| number.to_le_bytes()));
    out.extend(data);
    out
}

fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let header = format!("{name:<16}{:<32}{:<10}`\n", 0, bytes.len());
        out.extend(header.as_bytes().iter().chain(*bytes));
        if out.len() % 2 == 1 {
            out.push(b'\n');
        }
    }
    out
}

fn object(
    format: BinaryFormat,
    architecture: Architecture,
    endian: Endianness,
    sections: &[(&str, &[u8])],
) -> Vec<u8> {
    let mut object = Object::new(format, architecture, endian);
    for (name, bytes) in sections {
        let segment = object.segment_name(StandardSegment::Data).to_vec();
        let id = object.add_section(segment, name.as_bytes().to_vec(), SectionKind::ReadOnlyData);
        object.set_section_data(id, *bytes, 8);
    }
    object.write().unwrap()
}
