// SPDX-License-Identifier: MIT OR Apache-2.0
//! File names for extracted images, built from untrusted text.

use std::fmt::Write as _;
use std::path::Path;

use syclbin::Content;
use syclbin_tools::extract::DeviceImage;

/// The byte limit for a part of a name. Three parts and an extension stay below the 255 bytes that file systems
/// allow.
const LONGEST: usize = 60;

/// Returns the start of the names of all images of the file `input`.
pub(super) fn stem(input: &Path) -> String {
    let stem = input.file_stem().unwrap_or_default().to_string_lossy();
    match clean(&stem) {
        stem if stem.is_empty() || input == Path::new("-") => "image".to_owned(),
        stem => stem,
    }
}

/// Returns the name for image `index`: `saxpy.0.spir64-unknown-unknown.spv`. The index makes it unique.
pub(super) fn name(stem: &str, index: usize, image: &DeviceImage<'_>) -> String {
    let mut name = format!("{stem}.{index}");
    for part in [&image.triple, &image.arch] {
        let part = clean(part);
        if !part.is_empty() {
            let _ = write!(name, ".{part}");
        }
    }
    name.push_str(extension(image.content));
    name
}

/// Replaces all characters of `text` that have a meaning to a file system or a shell.
fn clean(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '.');
    let text: String = text
        .chars()
        .take(LONGEST)
        .map(|c| if plain(c) { c } else { '_' })
        .collect();
    // Avoids `..`, hidden files, and names that look like an option.
    text.replace("..", "__")
        .trim_start_matches(['.', '-'])
        .trim_end_matches('.')
        .to_owned()
}

fn extension(content: Content) -> &'static str {
    /// The ELF machine number of CUDA.
    const EM_CUDA: u16 = 190;
    match content {
        Content::SpirV => ".spv",
        Content::Ptx => ".ptx",
        Content::LlvmBitcode => ".bc",
        Content::Elf { machine: EM_CUDA } => ".cubin",
        Content::Elf { .. } => ".o",
        Content::CudaFatbin => ".fatbin",
        Content::Syclbin => ".syclbin",
        _ => ".bin",
    }
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
    fn nameless_input_gives_default_image_name() {
        for input in ["-", "..", "/", "."] {
            assert_eq!(stem(Path::new(input)), "image", "{input}");
        }
        assert_eq!(stem(Path::new("/a/libx.so")), "libx");
        assert_eq!(stem(Path::new("a.object.syclbin")), "a.object");
    }
}
