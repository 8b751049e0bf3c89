// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads bare device images from the OffloadBinaries that LLVM's own SYCL compiler writes without SYCLBIN.
//!
//! LLVM 22's `clang-sycl-linker` writes one OffloadBinary for each image, concatenated. Since 2026, it writes a
//! single OffloadBinary with an entry for each image. The strings `triple`, `arch` and `symbols` describe each image.
//! The files contain neither property sets nor a state, so this module derives both from the strings and the code.

use super::image::{Image, Metadata, Owner};
use super::v2::{Entries, Module, borrowed};
use crate::content::Content;
use crate::error::{Error, ErrorKind};
use crate::model::{self, AbstractModule, IrType, State, Syclbin};
use crate::offload::{self, Entry, ImageKind, OffloadKind, SYMBOLS_KEY, Strings, listed_symbols};
use crate::prelude::*;
use crate::property::{key_problem, set};
use crate::ptx;
use crate::raw::v2::key;
use crate::spirv::{self, Import};

/// The offload kind of SYCL in LLVM before 2025. Since then, this number means HIP, so an entry of this kind counts as
/// SYCL only if its target is SPIR-V.
const SYCL_2024: OffloadKind = OffloadKind(4);

/// Finds SYCL device images in all OffloadBinaries in `bytes`, and returns a module for each image. Returns `None` if
/// there are no such images, or if an entry contains SYCLBIN. Returns an error if all such images are LLVM bitcode.
pub(super) fn find(bytes: &[u8]) -> Result<Option<Entries<'_>>, Error> {
    let mut found = Entries {
        global: Metadata::none(Owner::File),
        strings: Vec::new(),
        modules: Vec::new(),
        foreign: Vec::new(),
    };
    let (mut index, mut syclbin, mut bitcode) = (0, false, None);
    offload::each_binary(bytes, |binary, start| {
        for (number, entry) in binary.entries().enumerate() {
            let entry = entry?;
            syclbin |= entry.image_kind == ImageKind::SYCLBIN;
            let content = Content::of(&entry.image);
            if is_sycl(&entry) && content == Content::LlvmBitcode {
                bitcode = bitcode.or(Some((index, start + binary.entry_at(number))));
            }
            if is_sycl(&entry) && is_code(content) {
                let metadata = Metadata::none(Owner::Entry(index));
                let image = Image {
                    native: !matches!(content, Content::SpirV | Content::Ptx),
                    metadata,
                    bytes: borrowed(&entry),
                    offset: start + binary.raw_entry(number)?.image_offset,
                    strings: entry.strings,
                };
                found.modules.push(Module {
                    metadata,
                    strings: Vec::new(),
                    images: [image].into(),
                });
            } else {
                found.foreign.push(entry);
            }
            index += 1;
        }
        Ok(())
    })?;
    match bitcode {
        _ if syclbin => Ok(None),
        Some((index, at)) if found.modules.is_empty() => {
            let remedy = "the image is LLVM bitcode, which no driver accepts; link it with clang-sycl-linker, or \
                compile with -fsyclbin";
            let record = Owner::Entry(index).to_string();
            Err(Error::new(record, at, ErrorKind::Unsupported(remedy)))
        }
        _ => Ok((!found.modules.is_empty()).then_some(found)),
    }
}

/// Returns the model of an equivalent SYCLBIN file.
pub(super) fn to_model<'a>(
    modules: &[Module<'a>],
    foreign: &[Entry<'a>],
) -> Result<Syclbin<'a>, Error> {
    let mut file = Syclbin::new(State::Executable);
    file.foreign = foreign.to_vec();
    for image in modules.iter().flat_map(|module| &module.images) {
        let module = module(image).map_err(|error| {
            let record = image.metadata.owner.to_string();
            error.within(record, image.offset)
        })?;
        if module.metadata.set(set::IMPORTED_SYMBOLS).is_some() {
            file.global = Syclbin::new(State::Object).global;
        }
        file.modules.push(module);
    }
    Ok(file)
}

/// Derives a module from an image and the strings of its entry.
fn module<'a>(image: &Image<'a>) -> Result<AbstractModule<'a>, Error> {
    let mut strings = image.strings.clone();
    let triple = take(&mut strings, key::TRIPLE);
    let arch = take(&mut strings, key::ARCH);
    if !image.native && !matches!(&*arch, b"" | b"generic") {
        strings.push((key::ARCH.into(), arch.clone()));
    }
    let [triple, arch] = [&triple, &arch].map(|text| str::from_utf8(text).unwrap_or_default());
    let listed = strings.iter().position(|(name, _)| name == SYMBOLS_KEY);
    let symbols = listed.map(|at| strings.remove(at).1);
    // Drop empty strings: the linker writes its option strings even if there are no options.
    strings.retain(|(_, value)| !value.is_empty());
    let mut module = AbstractModule::default();
    let code = match Content::of(image.bytes) {
        Content::SpirV => {
            let code = spirv::module::Module::parse(image.bytes)?;
            let is_symbol = |name: &&str| Import::of(name) == Import::Symbol;
            let imports = code.imports().filter(is_symbol);
            put(&mut module, set::KERNEL_NAMES, code.kernels())?;
            put(&mut module, set::IMPORTED_SYMBOLS, imports)?;
            put(&mut module, set::EXPORTED_SYMBOLS, code.exports())?;
            let target = match triple {
                "" => "spirv64-unknown-unknown",
                triple => triple,
            };
            model::Image::ir(IrType::SpirV, target, image.bytes)
        }
        Content::Ptx => {
            let text = ptx::Module::read(image.bytes).0;
            let kernels = text.kernels.iter().map(|kernel| &kernel.name);
            put(&mut module, set::KERNEL_NAMES, kernels)?;
            put(&mut module, set::IMPORTED_SYMBOLS, &text.imports)?;
            put(&mut module, set::EXPORTED_SYMBOLS, &text.exports)?;
            model::Image::ir(IrType::Ptx, triple, image.bytes)
        }
        _ => {
            let names = symbols.as_deref().and_then(listed_symbols);
            put(&mut module, set::KERNEL_NAMES, names.iter().flatten())?;
            model::Image::native(arch, triple, image.bytes)
        }
    };
    module.images.push(model::Image { strings, ..code });
    Ok(module)
}

fn is_sycl(entry: &Entry<'_>) -> bool {
    let kind = entry.offload_kind;
    let triple = entry.string(key::TRIPLE).unwrap_or_default();
    kind == OffloadKind::SYCL || (kind == SYCL_2024 && triple.starts_with("spir"))
}

/// Returns whether an image is code that a driver may accept.
fn is_code(content: Content) -> bool {
    matches!(
        content,
        Content::SpirV
            | Content::Ptx
            | Content::Elf { .. }
            | Content::CudaFatbin
            | Content::ClangBundle
            | Content::CompressedBundle
            | Content::Archive
    )
}

/// Adds names to a property set.
///
/// # Errors
///
/// Returns an error if the text form of property sets cannot represent a name. No compiler writes such a name.
fn put(
    module: &mut AbstractModule<'_>,
    set: &'static str,
    names: impl IntoIterator<Item: AsRef<str>>,
) -> Result<(), Error> {
    for name in names {
        let name = name.as_ref();
        if let Some(problem) = key_problem(name) {
            let problem =
                format!("the symbol {name:?} cannot be a key of a property set: {problem}");
            return Err(Error::inconsistent(set, 0, problem));
        }
        module.metadata.insert(set, name.to_owned(), 1u32);
    }
    Ok(())
}

/// Removes the string called `key` and returns its value. Ignores a string whose value is not UTF-8. Returns an empty
/// value if no string is removed.
fn take<'a>(strings: &mut Strings<'a>, key: &str) -> Cow<'a, [u8]> {
    let mut known = strings.iter();
    let at = known.position(|(name, value)| name == key && str::from_utf8(value).is_ok());
    at.map_or_else(Cow::default, |at| strings.remove(at).1)
}
