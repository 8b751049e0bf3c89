// SPDX-License-Identifier: MIT OR Apache-2.0
//! The OffloadBinary around a file, and what the runtimes make of the container.

use alloc::format;
use alloc::vec::Vec;

use super::layout::{Span, overlaps};
use super::{Findings, Severity};
use syclbin::__private::offload::Binary;
use syclbin::__private::raw::offload_binary::{self as raw, HEADER_SIZE, StringEntry};
use syclbin::__private::raw::v2::{VERSION, key, role};
use syclbin::Container;
use syclbin::offload::{ImageKind, OffloadKind};

pub(super) fn check(bytes: &[u8], container: Container, findings: &mut Findings) {
    const HEADER: &str = raw::Header::RECORD;
    match container {
        Container::Bare => {
            let reason = "it has no OffloadBinary around it; the reference runtime needs one";
            findings.add(Severity::Note, 0, "file", reason);
            return;
        }
        Container::OffloadBinary2 => {
            let reason = "runtimes before 2026.2 load version 1 of the OffloadBinary only";
            findings.add(Severity::Note, 4, HEADER, reason);
        }
        Container::Version2 => {
            let reason = "SYCLBIN version 2 is a draft; no released runtime loads it";
            findings.add(Severity::Note, 0, HEADER, reason);
        }
        Container::Images => {
            let reason = "device images of LLVM's own SYCL compiler, without SYCLBIN: the reference runtime does not \
                          load them; `cargo syclbin convert` makes SYCLBIN of them";
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
        let reason = format!(
            "{} bytes follow, which no reader looks at",
            bytes.len() - size
        );
        findings.add(Severity::Warning, size as u64, HEADER, reason);
    }
    if binary.version == 3 {
        let reason = "version 3: the reference runtime loads 1 and 2";
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
                "offload kind {} is not {}, the one of SYCL",
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

/// Checks strings. Version 2 repeats the metadata of an image in strings, for tools that only know these.
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
                let reason = format!("version {VERSION} knows no string {}", super::shown(name));
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
