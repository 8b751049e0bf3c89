// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin pack`: packs device images into an OffloadBinary, a SYCLBIN file or a host object.

use std::path::{Path, PathBuf};

use clap::Args;
use syclbin::offload::{self, Compression, Entry, ImageKind, OffloadKind};
use syclbin::write::to_vec;
use syclbin::{Container, Content};
use syclbin_tools::extract::{bundle, embed, images, package};

use crate::convert::save;
use crate::error::{Error, Result};
use crate::extract::grouped;
use crate::input::Input;
use crate::ui::{complain, one_of};

/// Options of `cargo syclbin pack`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// A device image and its metadata, in the syntax of LLVM's llvm-offload-binary; may be repeated
    ///
    /// The keys `file` and `triple` are required. `kind` is sycl, openmp, cuda, hip or none [default: sycl]. `arch`
    /// is the architecture. Other keys are stored as they are. The values of a repeated key are joined with commas.
    #[arg(
        long = "image",
        value_name = "file=FILE,triple=TRIPLE,KEY=VALUE",
        required = true
    )]
    pub images: Vec<Image>,
    /// The file to write; `-` is standard output. If the name ends in `.syclbin`, a SYCLBIN file is written
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Write a copy of this ELF object with the images in a section `.llvm.offloading`
    #[arg(long, value_name = "OBJECT")]
    pub into: Option<PathBuf>,
    /// Write an offload bundle, which LLVM's clang-offload-bundler reads
    #[arg(long, conflicts_with = "into")]
    pub bundle: bool,
    /// Compress the OffloadBinary (readable by LLVM versions after 23) or the bundle [default method: zstd]
    #[arg(long, value_name = "METHOD", num_args = 0..=1, require_equals = true,
        default_missing_value = Compression::Zstd.name(), value_parser = one_of(Compression::ALL.map(Compression::name), Compression::from_name))]
    pub compress: Option<Compression>,
}

/// The value of one `--image` option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The file with the code.
    file: PathBuf,
    kind: OffloadKind,
    /// The other keys and values, in the given order.
    strings: Vec<(String, String)>,
}

impl std::str::FromStr for Image {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let mut strings: Vec<(String, String)> = Vec::new();
        for part in text.split(',') {
            let pair = part.split_once('=').filter(|(key, _)| !key.is_empty());
            let unpaired = || format!("expected KEY=VALUE, found `{part}`");
            let (key, value) = pair.ok_or_else(unpaired)?;
            match strings.iter_mut().find(|(known, _)| known == key) {
                Some((_, values)) => values.extend([",", value]),
                None => strings.push((key.to_owned(), value.to_owned())),
            }
        }
        let mut take = |key: &str| {
            let index = strings.iter().position(|(known, _)| known == key)?;
            Some(strings.remove(index).1)
        };
        let file = take("file").filter(|file| !file.is_empty());
        let file = file.ok_or("`file=FILE` is missing; it names the file with the code")?;
        let kind = take("kind").unwrap_or_else(|| "sycl".to_owned());
        let unknown = || format!("unknown kind `{kind}`; use sycl, openmp, cuda, hip or none");
        let kind = OffloadKind::from_name(&kind).ok_or_else(unknown)?;
        if !strings.iter().any(|(key, _)| key == "triple") {
            let problem = "`triple=TRIPLE` is missing; for example, triple=spir64-unknown-unknown";
            return Err(problem.to_owned());
        }
        Ok(Self {
            file: file.into(),
            kind,
            strings,
        })
    }
}

impl Image {
    fn entry<'a>(&'a self, bytes: &'a [u8]) -> Entry<'a> {
        let strings = self.strings.iter();
        Entry {
            image_kind: ImageKind::of(Content::of(bytes)),
            offload_kind: self.kind,
            flags: 0,
            strings: strings
                .map(|(key, value)| (key.as_str().into(), value.as_bytes().into()))
                .collect(),
            image: bytes.into(),
        }
    }
}

/// Packs images. The output is written atomically.
///
/// # Errors
///
/// Fails if a file cannot be read, an image does not fit the output format, or the output cannot be written.
pub fn run(options: &Options) -> Result<()> {
    let extension = options.output.extension();
    let is_syclbin = extension.is_some_and(|end| end == "syclbin");
    let unfit = [
        (options.into.is_some(), "--into"),
        (options.bundle, "--bundle"),
        (options.compress.is_some(), "--compress"),
    ];
    if let Some((_, option)) = unfit.into_iter().find(|(given, _)| is_syclbin && *given) {
        return Err(Error::PackSyclbin(option));
    }
    let read = options.images.iter().map(|image| Input::any(&image.file));
    let inputs = read.collect::<Result<Vec<_>>>()?;
    let pairs = options.images.iter().zip(&inputs);
    let entries = pairs.map(|(image, input)| image.entry(&input.bytes));
    let entries: Vec<_> = entries.collect();
    let output = &options.output;
    let packed = match options.compress {
        method if options.bundle => bundle(&entries, method).map_err(Error::format(output))?,
        Some(method) => {
            offload::write_compressed(&entries, method).map_err(Error::format(output))?
        }
        None => offload::write_each(&entries).map_err(Error::format(output))?,
    };
    let result = if is_syclbin {
        syclbin(output, &packed)?
    } else if let Some(host) = &options.into {
        let object = Input::any(host)?;
        embed(&object.bytes, &packed).map_err(Error::format(host))?
    } else {
        packed
    };
    save(&options.output, &result)
}

/// Packages the images of an OffloadBinary as SYCLBIN, and prints the notes.
fn syclbin(output: &Path, packed: &[u8]) -> Result<Vec<u8>> {
    let found = images(packed).map_err(Error::format(output))?;
    let (file, notes) = package(found);
    // The user named every image, so leaving out any of them is an error.
    if notes.iter().any(|note| !note.packaged) {
        return Err(Error::LeftOut(output.into(), grouped(&notes)));
    }
    if !notes.is_empty() {
        complain(format_args!("notes:\n  {}", grouped(&notes)));
    }
    to_vec(&file, Container::default()).map_err(Error::format(output))
}
