// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where records lie: none may reach beyond its table, and no two may share bytes.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use super::{Findings, Severity};
use syclbin::Container;
use syclbin::read::{File, Metadata, Owner};

/// Bytes that a record claims.
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

/// Reports each span that shares bytes with an earlier span.
pub(super) fn overlaps(mut spans: Vec<Span>, findings: &mut Findings) {
    spans.retain(|span| span.size > 0);
    spans.sort_by_key(|span| (span.start, span.size));
    // The span that reaches farthest so far: a span that starts before its end shares bytes with it.
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
    // The images come from their own table, not from the modules' claims, which may overlap.
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

/// Images of one table that a module claims.
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
            let reason = format!("it claims {table} that abstract module {other} claims as well");
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
