// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks the positions of records in the wrapper and its tables. Records must stay within their table and must not
//! overlap.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use super::{Findings, Severity};
use syclbin::__private::offload::Binary;
use syclbin::__private::raw::offload_binary::{self as raw, HEADER_SIZE, StringEntry};
use syclbin::__private::raw::v2::{VERSION, key, role};
use syclbin::Container;
use syclbin::offload::{ImageKind, OffloadKind};
use syclbin::read::{File, Metadata, Owner};

/// The byte range that a record claims.
pub(super) struct Span {
    start: u64,
    size: u64,
    what: String,
}

impl Span {
    pub(super) fn new(start: u64, size: u64, what: String) -> Self {
        Self { start, size, what }
    }
}

/// Reports each span that overlaps an earlier span.
pub(super) fn overlaps(mut spans: Vec<Span>, findings: &mut Findings) {
    spans.retain(|span| span.size > 0);
    spans.sort_by_key(|span| (span.start, span.size));
    // The span with the highest end so far. A later span that starts before this end overlaps it.
    let mut farthest: Option<(u64, usize)> = None;
    for (index, span) in spans.iter().enumerate() {
        if let Some((end, other)) = farthest
            && span.start < end
        {
            let reason = format!("it shares bytes with {}", spans[other].what);
            findings.add(Severity::Error, span.start, &span.what, reason);
        }
        let end = span.start.saturating_add(span.size);
        if farthest.is_none_or(|(other, _)| end > other) {
            farthest = Some((end, index));
        }
    }
}

/// Checks the records of the file within its container.
pub(super) fn check(file: &File<'_>, findings: &mut Findings) {
    let (mut spans, mut images) = (Vec::new(), Vec::new());
    let mut claim = |what: String, metadata: Metadata<'_>| {
        let size = metadata.text().len() as u64;
        spans.push(Span::new(metadata.offset(), size, what));
    };
    match file.global() {
        Ok(metadata) => claim("global metadata".into(), metadata),
        Err(error) => findings.error(error),
    }
    let mut headers = Vec::new();
    let mut claimed = (0, 0);
    for index in 0..file.module_count() {
        let module = match file.module(index) {
            Ok(module) => module,
            Err(error) => {
                findings.error(error);
                continue;
            }
        };
        match module.metadata() {
            Ok(metadata) => claim(format!("{}: metadata", Owner::Module(index)), metadata),
            Err(error) => findings.error(error),
        }
        let (ir, native) = module.image_counts();
        claimed = (claimed.0 + ir, claimed.1 + native);
        if let Some(header) = module.header() {
            headers.push(Claim::new("IR modules", &header.ir, index, header.at));
            headers.push(Claim::new(
                "native images",
                &header.native,
                index,
                header.at,
            ));
        }
    }
    // Iterates over the image table instead of the modules' claims, which may overlap.
    for image in file.all_images() {
        match image {
            Ok(image) => {
                let owner = image.owner();
                claim(format!("{owner}: metadata"), image.metadata());
                let size = image.bytes().len() as u64;
                images.push(Span::new(image.offset(), size, owner.to_string()));
            }
            Err(error) => findings.error(error),
        }
    }
    spans.append(&mut images);
    // In version 2, these are the images of the wrapper's entries, which the wrapper's check covers.
    if !matches!(file.container(), Container::Version2 | Container::Images) {
        overlaps(spans, findings);
    }
    claims(headers, findings);
    let (ir, native) = file.image_counts();
    for (claimed, count, what) in [
        (claimed.0, ir, "IR modules"),
        (claimed.1, native, "native images"),
    ] {
        if claimed < count {
            let orphans = count - claimed;
            let reason = format!("{orphans} of {count} {what} belong to no abstract module");
            findings.add(Severity::Warning, file.offset(), Owner::File, reason);
        }
    }
}

/// The images in one table that a module claims.
struct Claim {
    table: &'static str,
    start: usize,
    count: usize,
    module: usize,
    offset: u64,
}

impl Claim {
    fn new(table: &'static str, range: &Range<usize>, module: usize, offset: u64) -> Self {
        Self {
            table,
            start: range.start,
            count: range.len(),
            module,
            offset,
        }
    }
}

/// Reports modules that claim images of another module.
fn claims(mut claims: Vec<Claim>, findings: &mut Findings) {
    claims.retain(|claim| claim.count > 0);
    claims.sort_by_key(|claim| (claim.table, claim.start));
    let mut farthest: Option<(&str, usize, usize)> = None;
    for claim in claims {
        let same = farthest.filter(|(table, ..)| *table == claim.table);
        if let Some((_, end, other)) = same
            && claim.start < end
        {
            let table = claim.table;
            let reason = format!("it claims {table} that abstract module {other} also claims");
            findings.add(
                Severity::Error,
                claim.offset,
                Owner::Module(claim.module),
                reason,
            );
        }
        let end = claim.start + claim.count;
        if same.is_none_or(|(_, other, _)| end > other) {
            farthest = Some((claim.table, end, claim.module));
        }
    }
}

pub(super) fn check_wrapper(bytes: &[u8], container: Container, findings: &mut Findings) {
    const HEADER: &str = raw::Header::RECORD;
    match container {
        Container::Bare => {
            let reason =
                "it is not wrapped in an OffloadBinary, which the reference runtime requires";
            findings.add(Severity::Note, 0, "file", reason);
            return;
        }
        Container::OffloadBinary2 => {
            let reason = "runtimes before 2026.2 load only version 1 of the OffloadBinary";
            findings.add(Severity::Note, 4, HEADER, reason);
        }
        Container::Version2 => {
            let reason = "SYCLBIN version 2 is a draft; no released runtime loads it";
            findings.add(Severity::Note, 0, HEADER, reason);
        }
        Container::Images => {
            let reason = "device images of LLVM's own SYCL compiler, without SYCLBIN: the reference runtime does not \
                          load them; `cargo syclbin convert` converts them to SYCLBIN";
            findings.add(Severity::Note, 0, "file", reason);
            return;
        }
        _ => {}
    }
    let binary = match Binary::parse(bytes) {
        Ok(binary) => binary,
        Err(error) => return findings.error(error),
    };
    let size = binary.bytes.len();
    if size % 8 != 0 {
        let reason = format!("its size {size:#x} is not a multiple of 8");
        findings.add(Severity::Error, 8, HEADER, reason);
    }
    if bytes.len() > size {
        let reason = format!("{} bytes follow, which readers ignore", bytes.len() - size);
        findings.add(Severity::Warning, size as u64, HEADER, reason);
    }
    if binary.version == 3 {
        let reason = "version 3: the reference runtime loads only 1 and 2";
        findings.add(Severity::Warning, 4, HEADER, reason);
    }
    check_entries(&binary, container, findings);
}

fn check_entries(binary: &Binary<'_>, container: Container, findings: &mut Findings) {
    let entries_end = binary.entry_at(binary.count);
    let mut spans = Vec::from([
        Span::new(0, HEADER_SIZE as u64, "OffloadBinary header".into()),
        Span::new(
            binary.entry_offset,
            entries_end - binary.entry_offset,
            "OffloadBinary entries".into(),
        ),
    ]);
    for index in 0..binary.count {
        let at = binary.entry_at(index);
        let record = format!("{} {index}", raw::Entry::RECORD);
        let entry = match binary.raw_entry(index) {
            Ok(entry) => entry,
            Err(error) => return findings.error(error),
        };
        let strings = StringEntry::size(binary.version) as u64;
        let strings = strings.saturating_mul(entry.string_count);
        spans.push(Span::new(
            entry.string_offset,
            strings,
            format!("{record}: string entries"),
        ));
        spans.push(Span::new(
            entry.image_offset,
            entry.image_size,
            format!("{record}: image"),
        ));
        let version_1 = container != Container::Version2 && index == 0;
        if version_1 && entry.image_offset % 8 != 0 {
            let reason = format!(
                "its image starts at {:#x}, not at a multiple of 8",
                entry.image_offset
            );
            findings.add(Severity::Error, at + 24, &record, reason);
        }
        let foreign = ImageKind(entry.image_kind) != ImageKind::SYCLBIN;
        if foreign && version_1 {
            let reason = "image kind 6 is from DPC++ before mid-2025; runtimes of 2026 need 7";
            findings.add(Severity::Warning, at, &record, reason);
        } else if foreign || (index > 0 && container != Container::Version2) {
            let reason = "it is not part of the SYCLBIN file, so readers ignore it";
            findings.add(Severity::Warning, at, &record, reason);
        } else if OffloadKind(entry.offload_kind) != OffloadKind::SYCL {
            let reason = format!(
                "offload kind {} is not {}, the SYCL kind",
                entry.offload_kind,
                OffloadKind::SYCL.0
            );
            findings.add(Severity::Note, at + 2, &record, reason);
        }
    }
    overlaps(spans, findings);
    if container == Container::Version2 {
        check_strings(binary, findings);
    }
}

/// Checks strings. Version 2 repeats an image's metadata as strings, for tools that do not read property sets.
fn check_strings(binary: &Binary<'_>, findings: &mut Findings) {
    for (index, entry) in binary.entries().enumerate() {
        let Ok(entry) = entry else { continue };
        let record = format!("{} {index}", raw::Entry::RECORD);
        let Some(found) = entry.string(key::ROLE) else {
            continue;
        };
        let at = binary.entry_at(index);
        let known = [
            key::FORMAT_VERSION,
            key::ROLE,
            key::AM_INDEX,
            key::IR_TYPE,
            key::TRIPLE,
            key::ARCH,
        ];
        for (name, _) in &entry.strings {
            if !known.contains(&name.as_ref()) {
                let reason = format!(
                    "version {VERSION} does not define string {}",
                    super::shown(name)
                );
                findings.add(Severity::Note, at, &record, reason);
            }
        }
        let roles = [
            role::GLOBAL_METADATA,
            role::AM_METADATA,
            role::IR,
            role::NATIVE,
        ];
        if !roles.contains(&found) {
            let reason = format!("unknown role {}", super::shown(found));
            findings.add(Severity::Warning, at, &record, reason);
        }
    }
}
