// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packages device images as SYCLBIN, with notes on what each image lacks.

use alloc::borrow::{Cow, ToOwned};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::{DeviceImage, InSyclbin, OffloadKind, modules};
use syclbin::__private::listed;
use syclbin::__private::spirv::{Import, Module, is_target};
use syclbin::Content;
use syclbin::cubin;
use syclbin::property::{Value, key, key_problem, set};
use syclbin::ptx;
use syclbin::{AbstractModule, Image, IrType, State, Syclbin};

/// A note on a packaged image, or the reason why an image was not packaged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Note {
    /// The zero-based index of the image in the input.
    pub image: usize,
    /// The image's [origin](DeviceImage::origin).
    #[cfg_attr(feature = "serde", serde(skip))]
    pub origin: String,
    /// Whether the image is in the SYCLBIN file.
    pub packaged: bool,
    /// The note, with a remedy if there is one.
    pub text: Cow<'static, str>,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.origin.is_empty() {
            write!(f, "{}: ", self.origin)?;
        }
        if !self.packaged {
            f.write_str("left out: ")?;
        }
        f.write_str(&self.text)
    }
}

const NO_PROPERTIES: &str = "property sets (device requirements, removed arguments, \
    specialization constants) are missing; a kernel with removed arguments cannot be launched \
    correctly, so compile with -fsyclbin if the source is available";

/// Packages `images` as one SYCLBIN file, with one abstract module for each image. Images from the same module of a
/// SYCLBIN file stay together and keep all metadata.
///
/// The state is object if an image imports symbols or contains no kernels, and executable otherwise. If an image comes
/// from a SYCLBIN file with an earlier state, the result has that state. The architecture and target of an image are spelled as in its container:
/// DPC++'s older driver writes `spir64` for `spir64-unknown-unknown`.
#[must_use]
pub fn package<'a>(images: impl IntoIterator<Item = DeviceImage<'a>>) -> (Syclbin<'a>, Vec<Note>) {
    let mut packer = Packer {
        modules: Vec::new(),
        state: State::Executable,
        last: None,
        notes: Vec::new(),
        imports: Vec::new(),
        image: 0,
        origin: String::new(),
    };
    for (index, image) in images.into_iter().enumerate() {
        packer.image = index;
        packer.origin.clone_from(&image.origin);
        packer.add(image);
    }
    packer.note_imports();
    let mut file = Syclbin::new(packer.state);
    file.modules = packer.modules;
    (file, packer.notes)
}

struct Packer<'a> {
    modules: Vec<AbstractModule<'a>>,
    state: State,
    /// The SYCLBIN module from which the last of `modules` was created.
    last: Option<(Arc<Syclbin<'a>>, usize)>,
    notes: Vec<Note>,
    /// The imports of each image: the image's index and origin, the kind of import, and the symbols.
    imports: Vec<(usize, String, &'static str, Vec<String>)>,
    image: usize,
    origin: String,
}

impl<'a> Packer<'a> {
    fn note(&mut self, text: impl Into<Cow<'static, str>>) {
        self.add_note(true, text.into());
    }

    fn left_out(&mut self, text: impl Into<Cow<'static, str>>) {
        self.add_note(false, text.into());
    }

    fn add_note(&mut self, packaged: bool, text: Cow<'static, str>) {
        self.notes.push(Note {
            image: self.image,
            origin: self.origin.clone(),
            packaged,
            text,
        });
    }

    fn add(&mut self, image: DeviceImage<'a>) {
        if let Some(place) = &image.syclbin {
            let place = place.clone();
            return self.add_from_syclbin(place);
        }
        self.last = None;
        if image.offload_kind == OffloadKind::Host {
            return self.left_out("host code, but SYCLBIN contains only device code");
        }
        let module = match image.content {
            Content::SpirV => self.spirv(&image),
            Content::Ptx => self.ptx(&image),
            Content::LlvmBitcode => {
                let remedy = if is_target(&image.triple) {
                    "compile it with `syclbin-clang FILE -o OUT.syclbin`"
                } else {
                    "compile the source again with -fsyclbin"
                };
                return self.left_out(format!("LLVM bitcode, which drivers cannot load; {remedy}"));
            }
            Content::Empty => return self.left_out("the file is empty"),
            // Extraction descends into containers, but a caller may still pass one.
            Content::Syclbin | Content::OffloadBinary | Content::Zstd => {
                return self.left_out("it is a container; extract its images first");
            }
            _ => self.native(&image),
        };
        let Some((mut module, code)) = module else {
            return;
        };
        if !matches!(image.offload_kind, OffloadKind::Sycl | OffloadKind::None) {
            self.note(format!(
                "compiled for {}: its kernels expect arguments as that programming model passes them",
                image.offload_kind
            ));
        }
        for (option, key) in [("compile-opts", key::COMPILE), ("link-opts", key::LINK)] {
            if let Some(text) = image.string(option).filter(|text| !text.is_empty()) {
                let text = Value::from(&*String::from_utf8_lossy(text));
                module.metadata.insert(set::BUILD_OPTIONS, key, text);
            }
        }
        if image.properties.is_none() {
            self.note(NO_PROPERTIES);
        }
        module.images.push(code);
        let imported = module.metadata.keys(set::IMPORTED_SYMBOLS);
        self.import("symbols", imported.map(ToOwned::to_owned).collect());
        self.modules.push(module);
    }

    fn add_from_syclbin(&mut self, place: InSyclbin<'a>) {
        let (Some(module), Some(image)) = (place.module(), place.image()) else {
            return self.left_out("its SYCLBIN file does not contain this image");
        };
        let image = image.clone();
        let same = self
            .last
            .as_ref()
            .is_some_and(|(file, last)| Arc::ptr_eq(file, &place.file) && *last == place.module);
        if !same {
            self.modules.push(AbstractModule {
                metadata: module.metadata.clone(),
                images: Vec::new(),
                strings: module.strings.clone(),
            });
        }
        if let Some(state) = place.file.state() {
            self.lower(state);
        }
        if let Some(module) = self.modules.last_mut() {
            module.images.push(image);
        }
        self.last = Some((place.file, place.module));
    }

    /// Adds a note to each image with imports that no image exports. `syclbin-rt` resolves the other imports when it
    /// loads the file.
    fn note_imports(&mut self) {
        let exported: BTreeSet<String> = (self.modules.iter())
            .flat_map(|module| module.metadata.keys(set::EXPORTED_SYMBOLS))
            .map(ToOwned::to_owned)
            .collect();
        for (image, origin, what, symbols) in core::mem::take(&mut self.imports) {
            let missing = listed(symbols.iter().filter(|symbol| !exported.contains(*symbol)));
            if !missing.is_empty() {
                (self.image, self.origin) = (image, origin);
                self.note(format!(
                    "it imports {what} that no image exports ({missing}): when you load it, link a file that \
                     exports them (`Module::builder(&queue).link(..)`), or compile its sources with -fsyclbin"
                ));
            }
        }
    }

    fn import(&mut self, what: &'static str, symbols: Vec<String>) {
        let origin = self.origin.clone();
        self.imports.push((self.image, origin, what, symbols));
    }

    fn lower(&mut self, state: State) {
        if state.number() < self.state.number() {
            self.state = state;
        }
    }

    fn spirv(&mut self, image: &DeviceImage<'a>) -> Option<Packed<'a>> {
        let code = match Module::parse(&image.bytes) {
            Ok(code) => code,
            Err(error) => {
                self.left_out(error.to_string());
                return None;
            }
        };
        let mut module = described(image);
        let kernels: Vec<String> = code.kernels().map(ToOwned::to_owned).collect();
        self.kernels(&mut module, image, Some(kernels));
        let (mut constants, mut library) = (0, Vec::new());
        for symbol in code.imports() {
            self.lower(State::Object);
            match Import::of(symbol) {
                Import::SpecializationConstant => constants += 1,
                Import::DeviceLibrary => library.push(symbol.to_owned()),
                Import::Symbol => self.symbol(&mut module, set::IMPORTED_SYMBOLS, symbol),
            }
        }
        for symbol in code.exports() {
            self.symbol(&mut module, set::EXPORTED_SYMBOLS, symbol);
        }
        if constants > 0 {
            self.note("its specialization constants are not lowered, so no driver can load it; compile with \
                 -fsyclbin"
            );
        }
        self.import("functions of DPC++'s device library", library);
        let triple = if image.triple.is_empty() {
            modules::triple(&image.bytes)
        } else {
            &image.triple
        };
        let code = Image::ir(IrType::SpirV, triple, image.bytes.clone());
        Some((module, code))
    }

    fn ptx(&mut self, image: &DeviceImage<'a>) -> Option<Packed<'a>> {
        let mut module = described(image);
        self.kernels(&mut module, image, image.kernel_names());
        let text = ptx::Module::read(&image.bytes).0;
        for symbol in &text.imports {
            self.lower(State::Object);
            self.symbol(&mut module, set::IMPORTED_SYMBOLS, symbol);
        }
        for symbol in &text.exports {
            self.symbol(&mut module, set::EXPORTED_SYMBOLS, symbol);
        }
        self.note("the reference runtime treats every IR module as SPIR-V and cannot load PTX");
        let triple = if image.triple.is_empty() {
            "nvptx64-nvidia-cuda"
        } else {
            &image.triple
        };
        let code = Image::ir(IrType::Ptx, triple, image.bytes.clone());
        Some((module, code))
    }

    fn native(&mut self, image: &DeviceImage<'a>) -> Option<Packed<'a>> {
        let (mut target, mut arch) = (image.triple.clone(), image.arch.clone());
        if let Content::Elf {
            machine: cubin::MACHINE,
        } = image.content
            && let Ok(of) = cubin::target(&image.bytes)
        {
            let known = [
                (&mut target, "nvptx64-nvidia-cuda".to_owned()),
                (&mut arch, of.to_string()),
            ];
            for (text, own) in known {
                if text.is_empty() {
                    *text = own.into();
                }
            }
        }
        if arch.is_empty() {
            let of = (image.properties.as_ref()).and_then(|sets| {
                sets.get(set::DEVICE_REQUIREMENTS, key::COMPILE_TARGET)?
                    .as_str()
            });
            arch = of.unwrap_or_default().to_owned().into();
        }
        for (text, what) in [(&target, "target"), (&arch, "architecture")] {
            if text.is_empty() {
                let text = format!(
                    "{}: its {what}, which SYCLBIN records for native code, is unknown; compile with -fsyclbin and \
                     specify the architecture (--offload-arch)",
                    image.content
                );
                self.left_out(text);
                return None;
            }
        }
        let mut module = described(image);
        self.kernels(&mut module, image, image.kernel_names());
        if image.content == Content::Unknown {
            self.note(
                "its format is not recognized; packaged as native code because its file declares it as such",
            );
        }
        let native = Image::native(&arch, &target, image.bytes.clone());
        Some((module, native))
    }

    /// Adds the names of kernels, or a note if they are unknown or if there are none.
    fn kernels(
        &mut self,
        module: &mut AbstractModule<'a>,
        image: &DeviceImage<'a>,
        names: Option<Vec<String>>,
    ) {
        match names {
            None => self.note(format!(
                "its kernel names are unknown: neither {} nor a `symbols` string records them",
                image.content
            )),
            Some(names) if names.is_empty() => {
                self.lower(State::Object);
                self.note("it has no kernels, so it is only useful for linking");
            }
            Some(names) => {
                for name in names {
                    self.symbol(module, set::KERNEL_NAMES, &name);
                }
            }
        }
    }

    /// Adds a symbol to a set, or a note if the set cannot store its name.
    fn symbol(&mut self, module: &mut AbstractModule<'a>, set: &'static str, name: &str) {
        match key_problem(name) {
            Some(_) => self.note(format!(
                "`{}` cannot be stored as a name in `{set}`",
                cut(name)
            )),
            None => module.metadata.insert(set, name.to_owned(), 1u32),
        }
    }
}

fn described<'a>(image: &DeviceImage<'a>) -> AbstractModule<'a> {
    AbstractModule {
        metadata: image.properties.clone().unwrap_or_default(),
        ..AbstractModule::default()
    }
}

type Packed<'a> = (AbstractModule<'a>, Image<'a>);

fn cut(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}...", &text[..end]).into(),
        None => text.into(),
    }
}
