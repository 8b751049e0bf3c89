//! What is said of a file: one tree of facts for people and for programs.
//!
//! Its field names are those of the JSON form, `schema/inspect.schema.json`; a field that does not
//! apply is `null` there, never absent.

use serde::Serialize;

pub use super::known::{
    Build, DeviceGlobal, RequiredAspect, Requirements, SpecializationConstant, SpecializationScalar,
};

/// All that is said of a file.
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
    /// The path as it was given.
    pub path: String,
    /// In bytes.
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
    /// What the image is, by number.
    pub image_kind: u16,
    /// The offloading model, by number.
    pub offload_kind: u16,
    /// What is said of it.
    pub strings: Vec<StringEntry>,
    /// Bytes of the image.
    pub size: u64,
}

/// A kernel, and what a launcher must know of it.
#[derive(Clone, Debug, Serialize)]
pub struct Kernel {
    /// The symbol in the code.
    pub symbol: String,
    /// The qualified name in C++, where the symbol can be read.
    pub name: Option<String>,
    /// The C++ declaration, where it is known.
    pub declaration: Option<String>,
    /// What it takes, unless there is a reason why that cannot be told.
    pub parameters: Option<Vec<Parameter>>,
    /// Why its parameters cannot be told.
    pub reason: Option<String>,
    /// The one size of work-group it runs with, in SYCL's order: the last number is the fastest.
    pub required_work_group_size: Option<Vec<u32>>,
    /// The largest size of work-group along each dimension, in SYCL's order.
    pub maximum_work_group_size: Option<Vec<u32>>,
    /// How many dimensions it has, where the file says.
    pub work_group_dimensions: Option<usize>,
    /// The one size of sub-group it runs with.
    pub required_sub_group_size: Option<u32>,
    /// Places of the arguments that the compiler removed, counted from 0.
    pub eliminated_arguments: Vec<usize>,
    /// The abstract modules that have it.
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
    /// What becomes of the arguments it is in the code: `passed` or `removed` by the compiler.
    pub arguments: Vec<&'static str>,
}

/// The type of a parameter.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ParameterType {
    /// Such as `scalar` or `pointer`.
    pub kind: &'static str,
    /// Such as `f32`: what it is, or what it consists of or points to, if that is a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scalar: Option<&'static str>,
    /// `read` or `read_write`, of what is in device memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<&'static str>,
    /// As C++ spells it, as far as the file tells.
    pub cpp: String,
    /// How many elements a vector or array has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// How many dimensions an accessor has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<u8>,
    /// Bytes of work-group memory, where they are fixed.
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
    /// Its images: IR, then native.
    pub images: Vec<Image>,
    /// What a device must have.
    pub requirements: Requirements,
    /// How the code was compiled.
    pub build: Build,
    /// Its specialization constants, in the order that their defaults have.
    pub specialization_constants: Vec<SpecializationConstant>,
    /// Its device globals.
    pub device_globals: Vec<DeviceGlobal>,
    /// Symbols it uses and does not have.
    pub imports: Vec<String>,
    /// Symbols it offers to others.
    pub exports: Vec<String>,
    /// Properties that should mean something and do not.
    pub problems: Vec<String>,
    /// Strings of the wrapper without a meaning in SYCLBIN.
    pub strings: Vec<StringEntry>,
    /// All of the above and the rest, as the file has it.
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
    /// In bytes.
    pub size: u64,
    /// Where it starts in the file.
    pub offset: u64,
    /// Of its bytes.
    pub sha256: String,
    /// What its bytes are, whatever the file says.
    pub content: String,
    /// Of code for NVIDIA GPUs: what its parts are, and for which of them.
    pub cuda: Vec<String>,
    /// Strings of the wrapper without a meaning in SYCLBIN.
    pub strings: Vec<StringEntry>,
    /// What the file says of it.
    pub property_sets: Vec<Set>,
}

/// A property set, as the file has it.
#[derive(Clone, Debug, Serialize)]
pub struct Set {
    /// Such as `SYCL/kernel names`.
    pub name: String,
    /// Whether this program knows what it means.
    pub known: bool,
    /// In the order of the file.
    pub properties: Vec<Property>,
}

/// A property, as the file has it.
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
    /// Bits.
    Bytes {
        /// How many count.
        bits: u64,
        /// The bytes that hold them.
        hex: String,
        /// The bytes as text, if they are printable.
        text: Option<String>,
    },
    /// Of a type that is not known.
    Other {
        /// The number of the type.
        type_number: u32,
        /// The value as the file spells it.
        text: String,
    },
}
