// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin extract`: extracts device images from the files that compilers and linkers write.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};
use serde::Serialize;
use syclbin::__private::{counted, lines, listed, ranges};
use syclbin::write::to_vec;
use syclbin::{Container, Content, cubin};
use syclbin_build::file::{create, replace};
use syclbin_toolchain::file;
use syclbin_tools::extract::{DeviceImage, Note, OffloadKind, images_with, package};

use crate::error::{Error, Result};
use crate::input::{Input, sha256};
use crate::inspect::{qualified, state_name};
use crate::ui::{self, ATTENTION, Escaped, Format, Page, Shown, Size, TITLE};

/// Options of `cargo syclbin extract`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// A SYCLBIN file, OffloadBinary, object, executable, library, archive, offload bundle or
    /// device image; `-` is standard input
    pub file: PathBuf,
    /// The directory to write the images into [default: the current one, unless --syclbin is given]
    #[arg(short, long, value_name = "DIR", value_parser = on_disk())]
    pub output: Option<PathBuf>,
    /// Package the images as a SYCLBIN file, and report what each image lacks
    #[arg(long, value_name = "OUT", value_parser = on_disk())]
    pub syclbin: Option<PathBuf>,
    /// List the images and write nothing
    #[arg(long, conflicts_with_all = ["output", "syclbin", "force"])]
    pub list: bool,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// The report on the images of a file.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
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
    /// The size of the image in bytes.
    pub size: u64,
    /// The SHA-256 of the image.
    pub sha256: String,
    /// The format detected from the bytes, regardless of the file's metadata.
    pub content: String,
    /// The programming model that the image was compiled for.
    pub offload_kind: String,
    /// The target triple; empty if the file does not record it.
    pub target: String,
    /// The architecture; empty if the file does not record it.
    pub arch: String,
    /// The symbols of the kernels in the image, if known.
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
    /// The number of abstract modules in the file.
    pub module_count: usize,
    /// The state: `input`, `object` or `executable`; `None` if unknown.
    pub state: Option<String>,
    /// Notes on the images.
    pub notes: Vec<Note>,
}

impl ExtractedImage {
    fn of(image: &DeviceImage<'_>) -> Self {
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
                (_, Content::Empty) => Some("the image is empty"),
                _ => None,
            },
        }
    }
}

/// Creates a parser for the path of an output file or directory. It rejects `-`, because standard output receives the
/// report.
fn on_disk() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        let on_disk = Some(path).filter(|path| path != Path::new("-"));
        on_disk.ok_or("standard output is used for the report; specify a path on disk")
    })
}

/// Writes the device images of a file, and returns whether any of them has code.
///
/// # Errors
///
/// Fails if the file cannot be read, cannot contain device images or is damaged. It also fails if no image can be
/// packaged as SYCLBIN, an output file exists and `force` is not set, or an output file cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let input = Input::container(&options.file)?;
    let folder = options.file.parent().unwrap_or(Path::new(""));
    let mut open =
        |member: &str| file::read(&folder.join(member)).map_err(|cause| cause.to_string());
    let images = images_with(&input.bytes, &mut open).map_err(Error::format(&options.file))?;
    let mut report = Report {
        path: input.name(),
        images: images.iter().map(ExtractedImage::of).collect(),
        syclbin: None,
    };
    let mut outputs = Vec::new();
    let current = (options.syclbin.is_none() && !options.list).then_some(Path::new("."));
    let folder = options.output.as_deref().or(current);
    if let Some(folder) = folder {
        let stem = stem(&options.file);
        for (index, (image, found)) in images.iter().zip(&mut report.images).enumerate() {
            if found.skipped.is_none() {
                let path = folder.join(name(&stem, index, image));
                found.written = Some(path.to_string_lossy().into_owned());
                outputs.push((path, image.bytes.to_vec()));
            }
        }
    }
    let found_any = !images.is_empty();
    if let (Some(path), true) = (&options.syclbin, found_any) {
        let (made, bytes) = packaged(path, &options.file, images)?;
        report.syclbin = Some(made);
        outputs.push((path.clone(), bytes));
    }
    write(folder, &outputs, options.force)?;
    ui::show(options.format, &report, render)?;
    let found_any = report.images.iter().any(|image| image.skipped.is_none());
    if !found_any {
        let file = options.file.display();
        ui::complain(format_args!("error: {file} contains no device code"));
    }
    Ok(found_any)
}

fn packaged(path: &Path, file: &Path, images: Vec<DeviceImage<'_>>) -> Result<(Package, Vec<u8>)> {
    let (made, notes) = package(images);
    if made.modules.is_empty() {
        return Err(Error::LeftOut(file.into(), grouped(&notes)));
    }
    let bytes = to_vec(&made, Container::default()).map_err(Error::format(file))?;
    let made = Package {
        path: path.to_string_lossy().into_owned(),
        module_count: made.modules.len(),
        state: made.state().and_then(state_name),
        notes,
    };
    Ok((made, bytes))
}

/// Writes each file atomically. Without `force`, writes nothing if any of the files exists.
fn write(folder: Option<&Path>, outputs: &[(PathBuf, Vec<u8>)], force: bool) -> Result<()> {
    // A dangling symbolic link counts as an existing file.
    let exists = |path: &&PathBuf| path.symlink_metadata().is_ok();
    let existing = outputs.iter().map(|(path, _)| path).find(exists);
    if let Some(path) = existing.filter(|_| !force) {
        return Err(Error::Exists(path.clone()));
    }
    if let Some(folder) = folder.filter(|_| !outputs.is_empty()) {
        std::fs::create_dir_all(folder).map_err(|cause| match cause.kind() {
            // "File exists" would be misleading: the path exists, but is not a directory.
            ErrorKind::AlreadyExists => Error::Save(folder.into(), ErrorKind::NotADirectory.into()),
            _ => Error::Save(folder.into(), cause),
        })?;
    }
    // Another process may have created a file since the check above, so `create` checks again.
    let put = if force { replace } else { create };
    for (path, bytes) in outputs {
        put(path, bytes).map_err(|cause| Error::Save(path.clone(), cause))?;
    }
    Ok(())
}

/// The maximum length of a part of a file name, in bytes. Three parts and an extension stay below the usual limit of
/// 255 bytes.
const LONGEST: usize = 60;

/// Returns the file name prefix for the images extracted from `input`.
fn stem(input: &Path) -> String {
    let stem = input.file_stem().unwrap_or_default().to_string_lossy();
    match clean(&stem) {
        stem if stem.is_empty() || input == Path::new("-") => "image".to_owned(),
        stem => stem,
    }
}

/// Returns a file name such as `saxpy.0.spir64-unknown-unknown.spv`. The index makes the name unique.
fn name(stem: &str, index: usize, image: &DeviceImage<'_>) -> String {
    let mut parts = vec![stem.to_owned(), index.to_string()];
    parts.extend([&image.triple, &image.arch].map(|part| clean(part)));
    parts.retain(|part| !part.is_empty());
    parts.join(".") + extension(image.content)
}

/// Replaces characters that are special to a file system or a shell, and truncates long text.
fn clean(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '.');
    let text = text.chars().take(LONGEST);
    let text: String = text.map(|c| if plain(c) { c } else { '_' }).collect();
    // Prevent `..`, hidden files, and names that look like options.
    let text = text.replace("..", "__");
    let text = text.trim_start_matches(['.', '-']).trim_end_matches('.');
    text.to_owned()
}

fn extension(content: Content) -> &'static str {
    match content {
        Content::SpirV => ".spv",
        Content::Ptx => ".ptx",
        Content::LlvmBitcode => ".bc",
        Content::Elf { machine } if machine == cubin::MACHINE => ".cubin",
        Content::Elf { .. } => ".o",
        Content::CudaFatbin => ".fatbin",
        Content::Syclbin => ".syclbin",
        _ => ".bin",
    }
}

fn render(report: &Report) -> String {
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
            let kernels = listed(kernels.iter().map(|kernel| qualified(kernel)));
            page.line(format_args!("    kernels {kernels}"));
        }
        if let Some(reason) = image.skipped {
            let reason = format_args!("{ATTENTION}not written: {reason}{ATTENTION:#}");
            page.line(format_args!("    {reason}"));
        }
    }
    if let Some(package) = &report.syclbin {
        page.line(format_args!("{TITLE}{}{TITLE:#}", Shown(&package.path)));
        let state = package.state.as_deref().unwrap_or("no");
        let modules = counted(package.module_count, "abstract module");
        page.line(format_args!("    SYCLBIN, {state} state, {modules}"));
        page.list(&grouped(&package.notes));
    }
    page.text
}

/// Formats one line for each distinct note, because similar images get the same notes. Images that were left out come
/// first.
pub(crate) fn grouped(notes: &[Note]) -> String {
    let mut images: BTreeMap<(bool, &str), Vec<usize>> = BTreeMap::new();
    for note in notes {
        let same = images.entry((note.packaged, &note.text)).or_default();
        same.push(note.image);
    }
    lines(images.into_iter().map(|((packaged, note), images)| {
        let left_out = if packaged { "" } else { "left out: " };
        let plural = if images.len() == 1 { "" } else { "s" };
        let (images, note) = (ranges(images), Escaped(note));
        format!("image{plural} {images}: {left_out}{note}")
    }))
}

fn line(image: &ExtractedImage) -> String {
    let named = |word: &str, name: &str| match name {
        "" => String::new(),
        name => format!(" {word} {}", Shown(name)),
    };
    let target = named("for", &image.target);
    let arch = named("with architecture", &image.arch);
    let (content, kind) = (&image.content, Shown(&image.offload_kind));
    let (size, offset) = (Size(image.size), image.offset);
    format!("{content}{target}{arch}, {kind}, {size} at {offset:#x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_becomes_a_plain_file_name() {
        for (text, expected) in [
            ("sm_90", "sm_90"),
            ("../../etc/passwd", "______etc_passwd"),
            ("..", "__"),
            (".", ""),
            ("...", "__"),
            ("-rf", "rf"),
            (".hidden", "hidden"),
            ("a/b\\c\0d\ne", "a_b_c_d_e"),
            ("C:\\x", "C__x"),
            ("\u{202e}x$(y)", "_x__y_"),
            ("", ""),
        ] {
            assert_eq!(clean(text), expected, "{text:?}");
        }
        assert_eq!(clean(&"x".repeat(9_000)).len(), LONGEST);
    }

    #[test]
    fn extensions_tell_the_formats_apart() {
        let of = |bytes: &[u8]| extension(Content::of(bytes));
        assert_eq!(of(&syclbin::__private::SYCLBIN_MAGIC), ".syclbin");
        assert_eq!(of(&0xba55_ed50_u32.to_le_bytes()), ".fatbin");
        assert_eq!(of(b"\x03\x02\x23\x07"), ".spv");
        assert_eq!(of(b"anything"), ".bin");
    }

    #[test]
    fn nameless_input_gives_default_image_name() {
        for input in ["-", "..", "/", "."] {
            assert_eq!(stem(Path::new(input)), "image", "{input}");
        }
        assert_eq!(stem(Path::new("/a/libx.so")), "libx");
        assert_eq!(stem(Path::new("a.object.syclbin")), "a.object");
    }
}
