// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packages device images as SYCLBIN, with notes on what each image lacks.

use alloc::borrow::{Cow, ToOwned};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::{DeviceImage, InSyclbin, NAME_LIMIT, OffloadKind, modules, shown};
use syclbin::__private::listed;
use syclbin::__private::spirv::{Import, Module, is_target};
use syclbin::property::{Value, key, key_problem, set};
use syclbin::{AbstractModule, Content, Image, IrType, State, Syclbin, cubin, ptx};

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

const NVIDIA: &str = "nvptx64-nvidia-cuda";
const NO_PROPERTIES: &str = "property sets (device requirements, removed arguments, \
    specialization constants) are missing; a kernel with removed arguments cannot be launched \
    correctly, so compile with -fsyclbin if the source is available";

/// Packages `images` as one SYCLBIN file, with one abstract module for each image. Images from the same module of a
/// SYCLBIN file stay together and keep all metadata.
///
/// The state is object if an image imports symbols or contains no kernels, and executable otherwise. If an image comes
/// from a SYCLBIN file with an earlier state, the result has that state. The architecture and target of an image are
/// spelled as in its container: DPC++'s older driver writes `spir64` for `spir64-unknown-unknown`.
#[must_use]
pub fn package<'a>(images: impl IntoIterator<Item = DeviceImage<'a>>) -> (Syclbin<'a>, Vec<Note>) {
    let mut packer = Packer {
        modules: Vec::new(),
        state: State::Executable,
        last: None,
        notes: Vec::new(),
        imports: Vec::new(),
        place: (0, String::new()),
    };
    for (index, image) in images.into_iter().enumerate() {
        packer.place = (index, image.origin.clone());
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
    imports: Vec<((usize, String), &'static str, Vec<String>)>,
    /// The index and origin of the current image.
    place: (usize, String),
}

impl<'a> Packer<'a> {
    fn note(&mut self, text: impl Into<Cow<'static, str>>) {
        self.add_note(true, text.into());
    }

    fn add_note(&mut self, packaged: bool, text: Cow<'static, str>) {
        let (image, origin) = self.place.clone();
        self.notes.push(Note {
            image,
            origin,
            packaged,
            text,
        });
    }

    fn add(&mut self, mut image: DeviceImage<'a>) {
        if let Some(place) = image.syclbin.take() {
            return self.add_from_syclbin(place);
        }
        self.last = None;
        let mut module = AbstractModule {
            metadata: image.properties.clone().unwrap_or_default(),
            ..AbstractModule::default()
        };
        match self.code(&image, &mut module) {
            Ok(code) => module.images.push(code),
            Err(reason) => return self.add_note(false, reason),
        }
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
        let imported = module.metadata.keys(set::IMPORTED_SYMBOLS);
        let imported = imported.map(ToOwned::to_owned).collect();
        self.imports.push((self.place.clone(), "symbols", imported));
        self.modules.push(module);
    }

    fn add_from_syclbin(&mut self, place: InSyclbin<'a>) {
        let (Some(module), Some(image)) = (place.module(), place.image()) else {
            let reason = "its SYCLBIN file does not contain this image";
            return self.add_note(false, reason.into());
        };
        let image = image.clone();
        let is_last =
            |last: &(Arc<_>, usize)| Arc::ptr_eq(&last.0, &place.file) && last.1 == place.module;
        if !self.last.as_ref().is_some_and(is_last) {
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
        for (place, what, symbols) in core::mem::take(&mut self.imports) {
            let missing = listed(symbols.iter().filter(|symbol| !exported.contains(*symbol)));
            if !missing.is_empty() {
                self.place = place;
                self.note(format!(
                    "it imports {what} that no image exports ({missing}): when you load it, link a file that \
                     exports them (`Module::builder(&queue).link(..)`), or compile its sources with -fsyclbin"
                ));
            }
        }
    }

    fn lower(&mut self, state: State) {
        if state.number() < self.state.number() {
            self.state = state;
        }
    }

    /// Returns the code of an image, and adds its symbols to `module`. If the image is left out, returns the reason as
    /// an error.
    fn code(
        &mut self,
        image: &DeviceImage<'a>,
        module: &mut AbstractModule<'a>,
    ) -> Result<Image<'a>, Cow<'static, str>> {
        if image.offload_kind == OffloadKind::Host {
            return Err("host code, but SYCLBIN contains only device code".into());
        }
        match image.content {
            Content::SpirV => self.spirv(image, module),
            Content::Ptx => Ok(self.ptx(image, module)),
            Content::LlvmBitcode => {
                let remedy = if is_target(&image.triple) {
                    "compile it with `syclbin-clang FILE -o OUT.syclbin`"
                } else {
                    "compile the source again with -fsyclbin"
                };
                Err(format!("LLVM bitcode, which drivers cannot load; {remedy}").into())
            }
            Content::Empty => Err("the image is empty".into()),
            // Extraction descends into containers, but a caller may still pass one.
            Content::Syclbin | Content::OffloadBinary | Content::Zstd => {
                Err("it is a container; extract its images first".into())
            }
            _ => self.native(image, module),
        }
    }

    fn spirv(
        &mut self,
        image: &DeviceImage<'a>,
        module: &mut AbstractModule<'a>,
    ) -> Result<Image<'a>, Cow<'static, str>> {
        let code = Module::parse(&image.bytes).map_err(|error| error.to_string())?;
        let kernels = code.kernels().map(ToOwned::to_owned).collect();
        self.kernels(module, image.content, Some(kernels));
        let (mut constants, mut library) = (0, Vec::new());
        for symbol in code.imports() {
            self.lower(State::Object);
            match Import::of(symbol) {
                Import::SpecializationConstant => constants += 1,
                Import::DeviceLibrary => library.push(symbol.to_owned()),
                Import::Symbol => self.symbol(module, set::IMPORTED_SYMBOLS, symbol),
            }
        }
        for symbol in code.exports() {
            self.symbol(module, set::EXPORTED_SYMBOLS, symbol);
        }
        if constants > 0 {
            self.note("its specialization constants are not lowered, so no driver can load it; compile with \
                 -fsyclbin"
            );
        }
        let what = "functions of DPC++'s device library";
        self.imports.push((self.place.clone(), what, library));
        let triple = match &*image.triple {
            "" => modules::triple(&image.bytes),
            triple => triple,
        };
        Ok(Image::ir(IrType::SpirV, triple, image.bytes.clone()))
    }

    fn ptx(&mut self, image: &DeviceImage<'a>, module: &mut AbstractModule<'a>) -> Image<'a> {
        let text = ptx::Module::read(&image.bytes).0;
        let kernels = text.kernels.iter().map(|kernel| kernel.name.clone());
        self.kernels(module, image.content, Some(kernels.collect()));
        for symbol in &text.imports {
            self.lower(State::Object);
            self.symbol(module, set::IMPORTED_SYMBOLS, symbol);
        }
        for symbol in &text.exports {
            self.symbol(module, set::EXPORTED_SYMBOLS, symbol);
        }
        self.note("the reference runtime treats every IR module as SPIR-V and cannot load PTX");
        let triple = match &*image.triple {
            "" => NVIDIA,
            triple => triple,
        };
        Image::ir(IrType::Ptx, triple, image.bytes.clone())
    }

    fn native(
        &mut self,
        image: &DeviceImage<'a>,
        module: &mut AbstractModule<'a>,
    ) -> Result<Image<'a>, Cow<'static, str>> {
        let (mut target, mut arch) = (image.triple.clone(), image.arch.clone());
        if let Ok(cuda) = cubin::target(&image.bytes) {
            if target.is_empty() {
                target = NVIDIA.into();
            }
            if arch.is_empty() {
                arch = cuda.to_string().into();
            }
        }
        if arch.is_empty() {
            let sets = &module.metadata;
            let of = sets.get(set::DEVICE_REQUIREMENTS, key::COMPILE_TARGET);
            let of = of.and_then(Value::as_str).unwrap_or_default();
            arch = of.to_owned().into();
        }
        for (text, what) in [(&target, "target"), (&arch, "architecture")] {
            if text.is_empty() {
                let reason = format!(
                    "{}: its {what}, which SYCLBIN records for native code, is unknown; compile with -fsyclbin and \
                     specify the architecture (--offload-arch)",
                    image.content
                );
                return Err(reason.into());
            }
        }
        self.kernels(module, image.content, image.kernel_names());
        if image.content == Content::Unknown {
            self.note(
                "its format is not recognized; packaged as native code because its file declares it as such",
            );
        }
        Ok(Image::native(&arch, &target, image.bytes.clone()))
    }

    /// Adds the names of kernels, or a note if they are unknown or if there are none.
    fn kernels(&mut self, to: &mut AbstractModule<'a>, of: Content, names: Option<Vec<String>>) {
        match names {
            None => self.note(format!(
                "its kernel names are unknown: neither {of} nor a `symbols` string records them"
            )),
            Some(names) if names.is_empty() => {
                self.lower(State::Object);
                self.note("it has no kernels, so it is only useful for linking");
            }
            Some(names) => {
                for name in names {
                    self.symbol(to, set::KERNEL_NAMES, &name);
                }
            }
        }
    }

    /// Adds a symbol to a set, or a note if the set cannot store its name.
    fn symbol(&mut self, module: &mut AbstractModule<'a>, set: &'static str, name: &str) {
        if key_problem(name).is_some() {
            let end = if name.len() > NAME_LIMIT { "..." } else { "" };
            let name = shown(name.as_bytes());
            let text = format!("`{name}{end}` cannot be stored as a name in `{set}`");
            self.note(text);
        } else {
            module.metadata.insert(set, name.to_owned(), 1u32);
        }
    }
}
