// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks the positions of records in the wrapper and in the tables of the SYCLBIN file. Records must stay within their
//! table and must not overlap.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::Findings;
use syclbin::__private::counted;
use syclbin::__private::offload::Binary;
use syclbin::__private::raw::offload_binary::{self as raw, HEADER_SIZE, StringEntry};
use syclbin::__private::raw::v2::{VERSION, key, role};
use syclbin::Container;
use syclbin::offload::{ImageKind, OffloadKind};
use syclbin::read::{File, Metadata, Owner};

/// A claimed range: its start, its size and its claimant.
type Claim<T> = (u64, u64, T);

/// Returns each claim that overlaps an earlier one: its start, and both claimants.
fn overlaps<T: Clone>(mut claims: Vec<Claim<T>>) -> Vec<(u64, T, T)> {
    claims.retain(|(_, size, _)| *size > 0);
    claims.sort_by_key(|(start, size, _)| (*start, *size));
    let mut found = Vec::new();
    // The claim with the highest end so far. A later claim that starts before this end overlaps it.
    let mut farthest: Option<(u64, T)> = None;
    for (start, size, what) in claims {
        if let Some((end, other)) = &farthest
            && start < *end
        {
            found.push((start, what.clone(), other.clone()));
        }
        let end = start.saturating_add(size);
        if farthest.as_ref().is_none_or(|(other, _)| end > *other) {
            farthest = Some((end, what));
        }
    }
    found
}

fn check_overlaps(records: Vec<Claim<String>>, findings: &mut Findings) {
    for (start, record, other) in overlaps(records) {
        let reason = format!("it overlaps {other}");
        findings.at(start, record).error(reason);
    }
}

pub(super) fn check(file: &File<'_>, findings: &mut Findings) {
    let mut spans = Vec::new();
    let mut claim = |what, start: u64, bytes: &[u8]| spans.push((start, bytes.len() as u64, what));
    if let Some(metadata) = findings.ok(file.global()) {
        claim("global metadata".into(), metadata.offset, metadata.text);
    }
    let mut tables = [
        ("IR modules", 0, Vec::new()),
        ("native images", 0, Vec::new()),
    ];
    for index in 0..file.module_count() {
        let Some(module) = findings.ok(file.module(index)) else {
            continue;
        };
        if let Some(Metadata { offset, text, .. }) = findings.ok(module.metadata()) {
            claim(format!("{}: metadata", Owner::Module(index)), offset, text);
        }
        let counts: [usize; 2] = module.image_counts().into();
        for ((_, claimed, _), count) in tables.iter_mut().zip(counts) {
            *claimed += count;
        }
        if let Some(header) = module.header() {
            for ((_, _, claims), range) in tables.iter_mut().zip([&header.ir, &header.native]) {
                let (start, size) = (range.start as u64, range.len() as u64);
                claims.push((start, size, (index, header.at)));
            }
        }
    }
    // Iterate over the image table instead of the modules' claims, which may overlap.
    for image in file.all_images() {
        if let Some(image) = findings.ok(image) {
            let (owner, metadata) = (image.metadata.owner, image.metadata);
            claim(format!("{owner}: metadata"), metadata.offset, metadata.text);
            claim(owner.to_string(), image.offset, image.bytes);
        }
    }
    // In these two containers, the images are entries of the wrapper. `check_wrapper` checks the entries of version 2.
    // Bare device images are not checked for overlaps.
    if !matches!(file.container(), Container::Version2 | Container::Images) {
        check_overlaps(spans, findings);
    }
    let counts: [usize; 2] = file.image_counts().into();
    for ((what, claimed, claims), count) in tables.into_iter().zip(counts) {
        for (_, (module, at), (other, _)) in overlaps(claims) {
            let reason = format!("it claims {what} that abstract module {other} also claims");
            findings.at(at, Owner::Module(module)).error(reason);
        }
        if claimed < count {
            let orphans = count - claimed;
            let reason = format!("{orphans} of {count} {what} belong to no abstract module");
            findings.at(file.offset(), Owner::File).warning(reason);
        }
    }
}

pub(super) fn check_wrapper(bytes: &[u8], container: Container, findings: &mut Findings) {
    const HEADER: &str = raw::Header::RECORD;
    match container {
        Container::Bare => {
            let reason =
                "it is not wrapped in an OffloadBinary, which the reference runtime requires";
            return findings.at(0, "file").note(reason);
        }
        Container::OffloadBinary2 => {
            let reason = "runtimes before 2026.2 load only OffloadBinary version 1";
            findings.at(4, HEADER).note(reason);
        }
        Container::Version2 => {
            let reason = "SYCLBIN version 2 is a draft; no released runtime loads it";
            findings.at(0, HEADER).note(reason);
        }
        Container::Images => {
            let reason = "bare device images from LLVM's own SYCL compiler (clang-sycl-linker): the reference runtime \
                          does not load them; `cargo syclbin convert` converts them to SYCLBIN";
            return findings.at(0, "file").note(reason);
        }
        _ => {}
    }
    let Some(binary) = findings.ok(Binary::parse(bytes)) else {
        return;
    };
    let size = binary.bytes.len();
    if size % 8 != 0 {
        let reason = format!("its size {size:#x} is not a multiple of 8");
        findings.at(8, HEADER).error(reason);
    }
    if bytes.len() > size {
        let trailing = counted(bytes.len() - size, "trailing byte");
        let reason = format!("{trailing}, which readers ignore");
        findings.at(size as u64, HEADER).warning(reason);
    }
    if binary.version == 3 {
        let reason = "version 3: the reference runtime loads only versions 1 and 2";
        findings.at(4, HEADER).warning(reason);
    }
    check_entries(&binary, container, findings);
}

fn check_entries(binary: &Binary<'_>, container: Container, findings: &mut Findings) {
    let entries_size = binary.entry_at(binary.count) - binary.entry_offset;
    let tables = [
        (0, HEADER_SIZE as u64, "OffloadBinary header"),
        (binary.entry_offset, entries_size, "OffloadBinary entries"),
    ];
    let mut spans = Vec::from(tables.map(|(start, size, what)| (start, size, what.to_string())));
    for index in 0..binary.count {
        let at = binary.entry_at(index);
        let record = format!("{} {index}", raw::Entry::RECORD);
        let Some(entry) = findings.ok(binary.raw_entry(index)) else {
            return;
        };
        let strings = StringEntry::size(binary.version) as u64;
        let strings = strings.saturating_mul(entry.string_count);
        let what = format!("{record}: string entries");
        spans.push((entry.string_offset, strings, what));
        let what = format!("{record}: image");
        spans.push((entry.image_offset, entry.image_size, what));
        let version_1 = container != Container::Version2 && index == 0;
        if version_1 && entry.image_offset % 8 != 0 {
            let start = entry.image_offset;
            let reason = format!("its image starts at {start:#x}, not at a multiple of 8");
            findings.at(at + 24, &record).error(reason);
        }
        let foreign = ImageKind(entry.image_kind) != ImageKind::SYCLBIN;
        if foreign && version_1 {
            let reason = "image kind 6 is from DPC++ before mid-2025; 2026 runtimes require 7";
            findings.at(at, &record).warning(reason);
        } else if foreign || (index > 0 && container != Container::Version2) {
            let reason = "it is not part of the SYCLBIN file, so readers ignore it";
            findings.at(at, &record).warning(reason);
        } else if OffloadKind(entry.offload_kind) != OffloadKind::SYCL {
            let (kind, sycl) = (entry.offload_kind, OffloadKind::SYCL.0);
            let reason = format!("offload kind {kind} is not {sycl}, the SYCL kind");
            findings.at(at + 2, &record).note(reason);
        }
    }
    check_overlaps(spans, findings);
    if container == Container::Version2 {
        check_strings(binary, findings);
    }
}

/// Reports strings and roles that version 2 does not define.
fn check_strings(binary: &Binary<'_>, findings: &mut Findings) {
    for (index, entry) in binary.entries().enumerate() {
        let Ok(entry) = entry else { continue };
        let record = format!("{} {index}", raw::Entry::RECORD);
        let Some(found) = entry.string(key::ROLE) else {
            continue;
        };
        let at = binary.entry_at(index);
        for (name, _) in &entry.strings {
            if !key::ALL.contains(&name.as_ref()) {
                let name = super::shown(name);
                let reason = format!("version {VERSION} does not define string {name}");
                findings.at(at, &record).note(reason);
            }
        }
        if !role::ALL.contains(&found) {
            let reason = format!("unknown role {}", super::shown(found));
            findings.at(at, &record).warning(reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlaps_name_the_first_claim_that_ends_last() {
        for (claims, expected) in [
            (&[(0, 4, 'a'), (4, 4, 'b')][..], &[][..]),
            (&[(2, 0, 'a'), (0, 4, 'b'), (2, 0, 'c')], &[]),
            (&[(3, 4, 'b'), (0, 4, 'a')], &[(3, 'b', 'a')]),
            (&[(0, 4, 'b'), (0, 2, 'a')], &[(0, 'b', 'a')]),
            (
                &[(0, 10, 'a'), (1, 2, 'b'), (5, 1, 'c')],
                &[(1, 'b', 'a'), (5, 'c', 'a')],
            ),
            (
                &[(0, 10, 'a'), (5, 5, 'b'), (7, 2, 'c')],
                &[(5, 'b', 'a'), (7, 'c', 'a')],
            ),
            (
                &[(0, 10, 'a'), (5, 6, 'b'), (7, 2, 'c')],
                &[(5, 'b', 'a'), (7, 'c', 'b')],
            ),
            (&[(1, u64::MAX, 'a'), (u64::MAX, 1, 'b')], &[]),
        ] {
            assert_eq!(overlaps(claims.to_vec()), expected);
        }
    }
}
