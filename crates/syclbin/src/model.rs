// SPDX-License-Identifier: MIT OR Apache-2.0
//! The in-memory model of a SYCLBIN file, independent of its container.

use core::fmt;

use crate::aspect::Aspect;
use crate::content::Content;
use crate::metadata::numbers;
use crate::metadata::{ArgumentMask, Malformed, without_run_prefix};
use crate::offload::{Entry, Strings, owned_strings};
use crate::prelude::*;
use crate::property::{PropertySets, Value, key, set};
use crate::spirv::is_target;

numbers! {
    /// The compilation state of the code in a file (property `state`).
    pub enum State {
        /// Not yet compiled.
        Input = 0,
        /// Compiled, but not yet linked.
        Object = 1,
        /// Ready to be loaded.
        Executable = 2,
    }
}

impl State {
    const NAMES: [(Self, &'static str); 3] = [
        (Self::Input, "input"),
        (Self::Object, "object"),
        (Self::Executable, "executable"),
    ];

    /// Returns the state for an argument of `-fsyclbin=`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let known = Self::NAMES.iter().find(|(_, own)| *own == name);
        known.map(|(state, _)| *state)
    }
}

impl fmt::Display for State {
    /// Writes the argument of `-fsyclbin=`, or the number of an unknown state.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::NAMES.iter().find(|(state, _)| state == self) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "{}", self.number()),
        }
    }
}

numbers! {
    /// The language of an IR image (property `type`).
    pub enum IrType {
        /// SPIR-V.
        SpirV = 0,
        /// NVIDIA PTX.
        Ptx = 1,
        /// AMD GCN.
        AmdGcn = 2,
    }
}

impl fmt::Display for IrType {
    /// Writes the name of the language, or its number if it is unknown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SpirV => f.write_str("SPIR-V"),
            Self::Ptx => f.write_str("PTX"),
            Self::AmdGcn => f.write_str("AMD GCN"),
            Self::Other(number) => write!(f, "unknown language {number}"),
        }
    }
}

/// A SYCLBIN file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Syclbin<'a> {
    /// The properties of the file, including its state.
    pub global: PropertySets<'a>,
    /// The abstract modules.
    pub modules: Vec<AbstractModule<'a>>,
    /// Strings in the wrapper that have no meaning in SYCLBIN.
    pub strings: Strings<'a>,
    /// Entries in the wrapper that do not belong to SYCLBIN. Writing the file fails if the container cannot hold
    /// them.
    pub foreign: Vec<Entry<'a>>,
}

impl<'a> Syclbin<'a> {
    /// Creates an empty file with this state.
    #[must_use]
    pub fn new(state: State) -> Self {
        let mut global = PropertySets::default();
        global.insert(set::GLOBAL, key::STATE, state.number());
        Self {
            global,
            ..Self::default()
        }
    }

    /// Returns the state, if the file records it.
    #[must_use]
    pub fn state(&self) -> Option<State> {
        self.global.read(set::GLOBAL, key::STATE).ok()?
    }

    /// Converts the file into one that owns all its data.
    #[must_use]
    pub fn into_owned(self) -> Syclbin<'static> {
        let modules = self.modules.into_iter();
        Syclbin {
            global: self.global.into_owned(),
            modules: modules.map(AbstractModule::into_owned).collect(),
            strings: owned_strings(self.strings),
            foreign: self.foreign.into_iter().map(Entry::into_owned).collect(),
        }
    }

    /// Returns the symbols of all kernels, module by module.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.modules.iter().flat_map(AbstractModule::kernel_names)
    }
}

/// Kernels that were compiled together, as one image or as several images of the same code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AbstractModule<'a> {
    /// The metadata that a runtime needs to launch the kernels.
    pub metadata: PropertySets<'a>,
    /// The images. In a module that was read from a file, IR images precede native images.
    pub images: Vec<Image<'a>>,
    /// Strings in the module's entry that have no meaning in SYCLBIN. Only version 2 stores them.
    pub strings: Strings<'a>,
}

impl<'a> AbstractModule<'a> {
    /// Converts the module into one that owns all its data.
    #[must_use]
    pub fn into_owned(self) -> AbstractModule<'static> {
        AbstractModule {
            metadata: self.metadata.into_owned(),
            images: self.images.into_iter().map(Image::into_owned).collect(),
            strings: owned_strings(self.strings),
        }
    }

    /// Returns the symbols of the kernels (set `SYCL/kernel names`).
    ///
    /// After runtime compilation, the reference runtime lists each kernel a second time, with the prefix `rtc_N$`.
    /// The prefix is meaningless outside that run, so prefixed names are left out.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        let names = self.metadata.keys(set::KERNEL_NAMES);
        names.filter(|name| without_run_prefix(name) == *name)
    }

    /// Adds a kernel to [`Self::kernel_names`].
    pub fn add_kernel_name(&mut self, symbol: impl Into<Cow<'a, str>>) {
        self.metadata.insert(set::KERNEL_NAMES, symbol, 1u32);
    }

    /// Returns the aspects that a device must support (set `SYCL/device requirements`, key `aspects`).
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a list of aspects.
    pub fn aspects(&self) -> Result<Vec<Aspect>, Malformed> {
        let aspects = self.metadata.read(set::DEVICE_REQUIREMENTS, key::ASPECTS)?;
        Ok(aspects.unwrap_or_default())
    }

    /// Returns which arguments of `kernel` the compiler removed (set `SYCL/kernel param opt`). Do not pass an
    /// argument whose element is `true`. Pass every argument past the end of the list.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a mask.
    pub fn eliminated_arguments(&self, kernel: &str) -> Result<Vec<bool>, Malformed> {
        let mask: Option<ArgumentMask> = self.metadata.read(set::KERNEL_PARAM_OPT, kernel)?;
        Ok(mask.unwrap_or_default().removed)
    }
}

/// One form of a module's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image<'a> {
    /// Whether the file stores the image as a native image rather than an IR image.
    pub native: bool,
    /// The metadata of the image.
    pub metadata: PropertySets<'a>,
    /// The code.
    pub bytes: Cow<'a, [u8]>,
    /// Strings in the image's entry that have no meaning in SYCLBIN. Only version 2 and
    /// [`Container::Images`](crate::Container::Images) store them.
    pub strings: Strings<'a>,
}

/// The kind of an image, according to its metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind<'m> {
    /// Code for a driver to compile.
    Ir {
        /// The language, or SPIR-V if the file does not record it.
        ty: IrType,
        /// The target triple, or empty if the file does not record it.
        target: &'m str,
    },
    /// Native code for an architecture.
    Native {
        /// The architecture, as free text.
        arch: &'m str,
        /// The target triple. Empty in files from before July 2025.
        target: &'m str,
    },
}

impl<'a> Image<'a> {
    /// Creates an IR image for `target`, a triple such as `spir64-unknown-unknown`.
    #[must_use]
    pub fn ir(ty: IrType, target: &str, bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        let mut metadata = PropertySets::default();
        metadata.insert(set::IR_MODULE, key::TYPE, ty.number());
        metadata.insert(set::IR_MODULE, key::TARGET, target);
        Self::new(false, metadata, bytes.into())
    }

    /// Creates a native image for the architecture `arch`, such as `sm_90` or `intel_gpu_pvc`, and `target`,
    /// a triple such as `nvptx64-nvidia-cuda`.
    #[must_use]
    pub fn native(arch: &str, target: &str, bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        let mut metadata = PropertySets::default();
        metadata.insert(set::NATIVE_IMAGE, key::ARCH, arch);
        metadata.insert(set::NATIVE_IMAGE, key::TARGET, target);
        Self::new(true, metadata, bytes.into())
    }

    const fn new(native: bool, metadata: PropertySets<'a>, bytes: Cow<'a, [u8]>) -> Self {
        Self {
            native,
            metadata,
            bytes,
            strings: Vec::new(),
        }
    }

    /// Converts the image into one that owns all its data.
    #[must_use]
    pub fn into_owned(self) -> Image<'static> {
        Image {
            native: self.native,
            metadata: self.metadata.into_owned(),
            bytes: Cow::Owned(self.bytes.into_owned()),
            strings: owned_strings(self.strings),
        }
    }

    /// Returns the code, if both its type and its target are SPIR-V. The type alone is not sufficient: compilers
    /// label all code without an architecture as SPIR-V, even x86-64 code.
    #[must_use]
    pub fn spirv(&self) -> Option<&[u8]> {
        match self.kind() {
            ImageKind::Ir {
                ty: IrType::SpirV,
                target,
            } if is_target(target) => Some(&self.bytes),
            _ => None,
        }
    }

    /// Returns whether the image is declared as PTX or contains PTX. Compilers also store PTX as native code.
    #[must_use]
    pub fn is_ptx(&self) -> bool {
        let is_declared = matches!(self.kind(), ImageKind::Ir { ty, .. } if ty == IrType::Ptx);
        is_declared || Content::of(&self.bytes) == Content::Ptx
    }

    /// Returns the kind of the image, according to its metadata.
    #[must_use]
    pub fn kind(&self) -> ImageKind<'_> {
        let text = |set, key| {
            let value = self.metadata.get(set, key);
            value.and_then(Value::as_str).unwrap_or("")
        };
        if self.native {
            ImageKind::Native {
                arch: text(set::NATIVE_IMAGE, key::ARCH),
                target: text(set::NATIVE_IMAGE, key::TARGET),
            }
        } else {
            let ty = self.metadata.read(set::IR_MODULE, key::TYPE).ok().flatten();
            ImageKind::Ir {
                ty: ty.unwrap_or(IrType::SpirV),
                target: text(set::IR_MODULE, key::TARGET),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    #[test]
    fn run_prefixes_are_not_kernel_names() {
        let mut module = AbstractModule::default();
        for name in ["rtc_0$__sycl_kernel_a", "__sycl_kernel_a", "rtc_x$b"] {
            module.add_kernel_name(name);
        }
        let names: Vec<_> = module.kernel_names().collect();
        assert_eq!(names, ["__sycl_kernel_a", "rtc_x$b"]);
    }

    #[test]
    fn mask_is_read_from_the_lowest_bit() {
        let mut module = AbstractModule::default();
        let mask = Value::Bytes {
            bits: 5,
            data: vec![0x0e],
        };
        module.metadata.insert(set::KERNEL_PARAM_OPT, "k", mask);
        assert_eq!(
            module.eliminated_arguments("k").unwrap(),
            [false, true, true, true, false]
        );
        assert_eq!(module.eliminated_arguments("other"), Ok(vec![]));
        module.metadata.insert(set::KERNEL_PARAM_OPT, "k", 1u32);
        assert!(module.eliminated_arguments("k").is_err());
    }

    #[test]
    fn x86_code_is_not_spirv() {
        let image = |target| Image::ir(IrType::SpirV, target, vec![1]);
        let plain = image("spir64-unknown-unknown");
        assert_eq!(plain.spirv(), Some(&[1][..]));
        assert_eq!(image("spir64_x86_64-unknown-unknown").spirv(), None);
        let mut native = plain;
        native.native = true;
        assert_eq!(native.spirv(), None);
    }

    #[test]
    fn ptx_is_declared_or_found_in_code() {
        let text = b".version 8.0";
        for (image, expected) in [
            (Image::ir(IrType::Ptx, "nvptx64", vec![1]), true),
            (Image::ir(IrType::SpirV, "spir64", vec![1]), false),
            (Image::native("sm_90", "nvptx64", vec![1]), false),
            (Image::native("sm_90", "nvptx64", text.to_vec()), true),
        ] {
            assert_eq!(image.is_ptx(), expected, "{image:?}");
        }
    }

    #[test]
    fn image_without_kind_is_spirv_without_target() {
        let mut silent = Image::ir(IrType::Ptx, "nvptx64-nvidia-cuda", vec![1]);
        silent.metadata = PropertySets::default();
        let (ty, target) = (IrType::SpirV, "");
        assert_eq!(silent.kind(), ImageKind::Ir { ty, target });
    }

    #[test]
    fn unknown_numbers_survive() {
        assert_eq!(State::from_number(9).number(), 9);
        assert_eq!(IrType::from_number(7), IrType::Other(7));
        assert_eq!(State::from_name("object"), Some(State::Object));
        for state in [State::Input, State::Object, State::Executable] {
            assert_eq!(State::from_name(&state.to_string()), Some(state));
        }
        assert_eq!(State::Other(9).to_string(), "9");
    }
}
