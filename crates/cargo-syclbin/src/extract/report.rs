// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report on extracted images, as text and as JSON.
//!
//! The fields are named as in `schema/extract.schema.json`. A field that does not apply is `null` in JSON, never
//! absent.

use std::collections::BTreeMap;

use anstyle::Style;
use serde::Serialize;
use syclbin::Content;
use syclbin_tools::extract::{DeviceImage, Note, OffloadKind};

use crate::input::sha256;
use crate::inspect::{listed, qualified};
use crate::ui::{ATTENTION, Escaped, Page, Shown, Size, counted};

const TITLE: Style = Style::new().bold();

/// The report on the images of a file.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// See [`SCHEMA_VERSION`](crate::ui::SCHEMA_VERSION).
    pub schema_version: u32,
    /// The path of the file as given.
    pub path: String,
    /// The images, in file order.
    pub images: Vec<ExtractedImage>,
    /// The SYCLBIN file with the packaged images, if one was written.
    pub syclbin: Option<Package>,
}

/// An image that was found.
#[derive(Clone, Debug, Serialize)]
pub struct ExtractedImage {
    /// The path to the image within the file, such as `section .llvm.offloading: entry 0`; empty if the image is the
    /// whole file.
    pub origin: String,
    /// The offset of the image in the file, in bytes.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The SHA-256 of its bytes.
    pub sha256: String,
    /// The format detected from the bytes, regardless of the file's metadata.
    pub content: String,
    /// The programming model that the image was compiled for.
    pub offload_kind: String,
    /// The target triple; empty if the file does not record it.
    pub target: String,
    /// The architecture; empty if the file does not record it.
    pub arch: String,
    /// The symbols of its kernels, if known.
    pub kernels: Option<Vec<String>>,
    /// The path of the file that contains the extracted image; `None` if none was written.
    pub written: Option<String>,
    /// Why the image is skipped; `None` if it can be written.
    pub skipped: Option<&'static str>,
}

/// A SYCLBIN file with packaged images.
#[derive(Clone, Debug, Serialize)]
pub struct Package {
    /// The path of the SYCLBIN file.
    pub path: String,
    /// The number of its abstract modules.
    pub module_count: usize,
    /// The state: `input`, `object` or `executable`; `None` if unknown.
    pub state: Option<String>,
    /// Notes on the images.
    pub notes: Vec<Note>,
}

impl ExtractedImage {
    pub(super) fn of(image: &DeviceImage<'_>) -> Self {
        Self {
            origin: image.origin.clone(),
            offset: image.offset,
            size: image.bytes.len() as u64,
            sha256: sha256(&image.bytes),
            content: image.content.to_string(),
            offload_kind: image.offload_kind.to_string(),
            target: image.triple.to_string(),
            arch: image.arch.to_string(),
            kernels: image.kernel_names(),
            written: None,
            skipped: match (&image.offload_kind, image.content) {
                (OffloadKind::Host, _) => Some("host code"),
                (_, Content::Empty) => Some("the file is empty"),
                _ => None,
            },
        }
    }
}

pub(super) fn render(report: &Report) -> String {
    let mut page = Page::default();
    for (index, image) in report.images.iter().enumerate() {
        let title = image.written.clone();
        let title = title.unwrap_or_else(|| format!("image {index}"));
        page.line(format_args!("{TITLE}{}{TITLE:#}", Shown(&title)));
        page.line(format_args!("    {}", line(image)));
        if !image.origin.is_empty() {
            page.line(format_args!("    from {}", Shown(&image.origin)));
        }
        if let Some(kernels) = image.kernels.as_deref().filter(|names| !names.is_empty()) {
            page.line(format_args!("    kernels {}", listed(kernels, qualified)));
        }
        if let Some(reason) = image.skipped {
            page.line(format_args!(
                "    {ATTENTION}not written: {reason}{ATTENTION:#}"
            ));
        }
    }
    if let Some(package) = &report.syclbin {
        page.line(format_args!("{TITLE}{}{TITLE:#}", Shown(&package.path)));
        let state = package.state.as_deref().unwrap_or("no");
        let modules = counted(package.module_count, "abstract module");
        page.line(format_args!("    SYCLBIN, {state} state, {modules}"));
        // Similar images get the same notes, so group the images by note.
        let mut said: BTreeMap<(bool, &str), Vec<String>> = BTreeMap::new();
        for note in &package.notes {
            let images = said.entry((note.packaged, &note.text)).or_default();
            images.push(note.image.to_string());
        }
        for ((packaged, note), images) in said {
            let (style, left_out) = if packaged {
                (Style::new(), "")
            } else {
                (ATTENTION, "left out: ")
            };
            let plural = if images.len() == 1 { "" } else { "s" };
            let (images, note) = (images.join(", "), Escaped(note));
            page.line(format_args!(
                "    image{plural} {images}: {style}{left_out}{note}{style:#}"
            ));
        }
    }
    page.text
}

fn line(image: &ExtractedImage) -> String {
    let named = |word: &str, name: &str| match name {
        "" => String::new(),
        name => format!(" {word} {}", Shown(name)),
    };
    let (target, arch) = (
        named("for", &image.target),
        named("with architecture", &image.arch),
    );
    let (content, kind) = (&image.content, Shown(&image.offload_kind));
    let (size, offset) = (Size(image.size), image.offset);
    format!("{content}{target}{arch}, {kind}, {size} at {offset:#x}")
}
