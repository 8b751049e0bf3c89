// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin inspect`: the content of a SYCLBIN file.

mod gather;
mod kernel;
mod known;
mod text;

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use syclbin_tools::native;

pub use gather::state_name;
pub use kernel::qualified;
pub use known::{
    Build, DeviceGlobal, RequiredAspect, Requirements, SpecializationConstant, SpecializationScalar,
};

use crate::error::Result;
use crate::input::Input;
use crate::ui::{self, Format};

/// What to look at, and how to show it.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The SYCLBIN file; `-` is standard input
    pub file: PathBuf,
    /// How to show it
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Show every property set with every key and value (JSON always has them)
    #[arg(long)]
    pub raw: bool,
    /// Show what compilers recorded about native code for GPUs: registers, spills, memory (JSON always has it)
    #[arg(long)]
    pub native: bool,
}

/// Prints a report on a file.
///
/// # Errors
///
/// Fails if the file cannot be read, or is not a SYCLBIN file.
pub fn run(options: &Options) -> Result<()> {
    let input = Input::read(&options.file)?;
    let report = Report::of(&input)?;
    let render = |report: &_| text::render(report, options.raw, options.native);
    Ok(ui::show(options.format, &report, render)?)
}

/// The whole report on a file.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// See [`SCHEMA_VERSION`](crate::ui::SCHEMA_VERSION).
    pub schema_version: u32,
    /// The file as a whole.
    pub file: FileFacts,
    /// Its kernels, each symbol once.
    pub kernels: Vec<Kernel>,
    /// Its abstract modules.
    pub modules: Vec<Module>,
}

/// The file as a whole.
#[derive(Clone, Debug, Serialize)]
pub struct FileFacts {
    /// The path as given.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// The container, by [`syclbin::Container::name`].
    pub container: &'static str,
    /// `input`, `object` or `executable`.
    pub state: Option<&'static str>,
    /// The number that stands for the state.
    pub state_number: Option<u32>,
    /// Strings of the wrapper without a meaning in SYCLBIN.
    pub strings: Vec<StringEntry>,
    /// Entries of the wrapper that are not SYCLBIN's.
    pub foreign_entries: Vec<ForeignEntry>,
    /// Properties of the file, as they are.
    pub property_sets: Vec<Set>,
}

/// A string of a wrapper.
#[derive(Clone, Debug, Serialize)]
pub struct StringEntry {
    /// Its key.
    pub key: String,
    /// Its value, if that is text.
    pub text: Option<String>,
    /// Its value.
    pub hex: String,
}

/// An entry of the wrapper that is not SYCLBIN's.
#[derive(Clone, Debug, Serialize)]
pub struct ForeignEntry {
    /// The kind of the image, by number.
    pub image_kind: u16,
    /// The offloading model, by number.
    pub offload_kind: u16,
    /// The strings of the entry.
    pub strings: Vec<StringEntry>,
    /// The size of the image in bytes.
    pub size: u64,
}

/// A kernel, and what a launcher must know about it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Kernel {
    /// The symbol in the code.
    pub symbol: String,
    /// The qualified name in C++, where the symbol can be read.
    pub name: Option<String>,
    /// The C++ declaration, where it is known.
    pub declaration: Option<String>,
    /// Where the source has it: the name of the file and the line.
    pub location: Option<String>,
    /// The path of the function that `include_syclbin!` generates, such as `fill::iota`.
    pub stub: Option<String>,
    /// Why it generates none.
    pub no_stub: Option<String>,
    /// Its parameters, unless there is a reason why they are unknown.
    pub parameters: Option<Vec<Parameter>>,
    /// Why its parameters are unknown.
    pub reason: Option<String>,
    /// The only work-group size that it runs with, in SYCL's order: the last number is the fastest.
    pub required_work_group_size: Option<Vec<u32>>,
    /// The largest work-group size along each dimension, in SYCL's order.
    pub maximum_work_group_size: Option<Vec<u32>>,
    /// The number of its dimensions, if the file says.
    pub work_group_dimensions: Option<usize>,
    /// The only sub-group size that it runs with.
    pub required_sub_group_size: Option<u32>,
    /// Indices of the arguments that the compiler removed, counted from 0.
    pub eliminated_arguments: Vec<usize>,
    /// The abstract modules that contain it.
    pub modules: Vec<usize>,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Parameter {
    /// Its name, where it is known.
    pub name: Option<String>,
    /// Its type.
    #[serde(rename = "type")]
    pub ty: ParameterType,
    /// Whether the file tells signed from unsigned; if not, `type` says signed.
    pub sign_known: bool,
    /// The state of each of its arguments in the code: `passed`, or `removed` by the compiler.
    pub arguments: Vec<&'static str>,
}

/// The type of a parameter.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ParameterType {
    /// The kind, such as `scalar` or `pointer`.
    pub kind: &'static str,
    /// The number type, such as `f32`, that it is, consists of or points to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scalar: Option<&'static str>,
    /// `read` or `read_write`, for types in device memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<&'static str>,
    /// The C++ spelling, as far as the file tells.
    pub cpp: String,
    /// The number of elements of a vector or array.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The number of dimensions of an accessor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<u8>,
    /// The bytes of work-group memory, if fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The struct that it is, consists of or points to, with offsets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
}

/// An abstract module.
#[derive(Clone, Debug, Serialize)]
pub struct Module {
    /// The symbols of its kernels.
    pub kernels: Vec<String>,
    /// Its images: IR images, then native images.
    pub images: Vec<Image>,
    /// The requirements on a device.
    pub requirements: Requirements,
    /// How the code was compiled.
    pub build: Build,
    /// Its specialization constants, in the order of their defaults.
    pub specialization_constants: Vec<SpecializationConstant>,
    /// Its device globals.
    pub device_globals: Vec<DeviceGlobal>,
    /// Symbols that it uses but does not define.
    pub imports: Vec<String>,
    /// Symbols that it exports to others.
    pub exports: Vec<String>,
    /// Known properties whose values are meaningless.
    pub problems: Vec<String>,
    /// Strings of the wrapper without a meaning in SYCLBIN.
    pub strings: Vec<StringEntry>,
    /// All property sets, including the above, as stored in the file.
    pub property_sets: Vec<Set>,
}

/// An image of a module.
#[derive(Clone, Debug, Serialize)]
pub struct Image {
    /// `ir` or `native`.
    pub kind: &'static str,
    /// The language of an IR image: `spirv`, `ptx`, `amdgcn`, or `unknown`.
    pub ir_type: Option<&'static str>,
    /// The number that stands for the language.
    pub ir_type_number: Option<u32>,
    /// The architecture of a native image.
    pub arch: Option<String>,
    /// The target triple; empty where the file does not say.
    pub target: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its offset in the file.
    pub offset: u64,
    /// The SHA-256 of its bytes.
    pub sha256: String,
    /// The format of its bytes, whatever the file says.
    pub content: String,
    /// For code for NVIDIA GPUs: the kind of each part, and its GPUs.
    pub cuda: Vec<String>,
    /// What the compiler recorded about each kernel in native code for GPUs.
    pub native_kernels: Vec<native::Kernel>,
    /// Strings of the wrapper without a meaning in SYCLBIN.
    pub strings: Vec<StringEntry>,
    /// Its properties in the file.
    pub property_sets: Vec<Set>,
}

/// A property set, as stored in the file.
#[derive(Clone, Debug, Serialize)]
pub struct Set {
    /// Its name, such as `SYCL/kernel names`.
    pub name: String,
    /// Whether this program knows its meaning.
    pub known: bool,
    /// Its properties, in file order.
    pub properties: Vec<Property>,
}

/// A property, as stored in the file.
#[derive(Clone, Debug, Serialize)]
pub struct Property {
    /// Its key.
    pub key: String,
    /// Its value.
    #[serde(flatten)]
    pub value: PropertyValue,
}

/// The value of a property.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PropertyValue {
    /// A number.
    U32 {
        /// The number.
        value: u32,
    },
    /// A sequence of bits.
    Bytes {
        /// The number of bits.
        bits: u64,
        /// The bytes that hold them.
        hex: String,
        /// The bytes as text, if they are printable.
        text: Option<String>,
    },
    /// A value of an unknown type.
    Other {
        /// The number of the type.
        type_number: u32,
        /// The value as the file spells it.
        text: String,
    },
}
