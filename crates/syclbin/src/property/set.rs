// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names of property sets, as spelled in files.

/// The state of the file.
pub const GLOBAL: &str = "SYCLBIN/global metadata";
/// The type and target of an IR image.
pub const IR_MODULE: &str = "SYCLBIN/ir module metadata";
/// The architecture and target of a native image.
pub const NATIVE_IMAGE: &str = "SYCLBIN/native device code image metadata";
/// The kernels, keyed by symbol.
pub const KERNEL_NAMES: &str = "SYCL/kernel names";
/// Masks of the arguments that the compiler removed, keyed by kernel.
pub const KERNEL_PARAM_OPT: &str = "SYCL/kernel param opt";
/// The device requirements.
pub const DEVICE_REQUIREMENTS: &str = "SYCL/device requirements";
/// Symbols that the module uses but does not define.
pub const IMPORTED_SYMBOLS: &str = "SYCL/imported symbols";
/// Symbols that the module exports.
pub const EXPORTED_SYMBOLS: &str = "SYCL/exported symbols";
/// The layout of the parts of specialization constants, keyed by constant.
pub const SPECIALIZATION_CONSTANTS: &str = "SYCL/specialization constants";
/// The default values of all specialization constants, as one blob.
pub const SPECIALIZATION_DEFAULTS: &str = "SYCL/specialization constants default values";
/// The effective values of all specialization constants, as one blob.
pub const SPECIALIZATION_SET_VALUES: &str = "SYCL/specialization constants set values";
/// The device libraries that the module requires. Only old compilers write this set.
pub const DEVICELIB_REQ_MASK: &str = "SYCL/devicelib req mask";
/// The features that a device library image implements.
pub const DEVICELIB_METADATA: &str = "SYCL/devicelib metadata";
/// Work-group and sub-group sizes of kernels, and names of device globals, with keys of the form `NAME@PROPERTY`.
pub const PROGRAM_METADATA: &str = "SYCL/program metadata";
/// Compilation settings of the module.
pub const MISC_PROPERTIES: &str = "SYCL/misc properties";
/// Kernels that use `assert`. Only old compilers write this set.
pub const ASSERT_USED: &str = "SYCL/assert used";
/// A set that the reference runtime defines. Compilers do not write the set, and its layout is undocumented, so
/// [`metadata`](crate::metadata) provides no view of it.
pub const MALLOC_USED: &str = "SYCL/malloc used";
/// Device globals, keyed by unique identifier.
pub const DEVICE_GLOBALS: &str = "SYCL/device globals";
/// Host pipes, keyed by unique identifier. Only old compilers write this set.
pub const HOST_PIPES: &str = "SYCL/host pipes";
/// Sets of virtual functions that the module defines or calls.
pub const VIRTUAL_FUNCTIONS: &str = "SYCL/virtual functions";
/// The index of the hidden argument for work-group memory, keyed by kernel.
pub const IMPLICIT_LOCAL_ARG: &str = "SYCL/implicit local arg";
/// Kernels that use dynamically sized work-group memory.
pub const DYNAMIC_LOCAL_MEMORY: &str = "SYCL/work group dynamic local mem";
/// The symbols of kernels that were registered under a source name.
pub const REGISTERED_KERNELS: &str = "SYCL/registered kernels";
/// A description of each kernel, recorded at build time: names, types, layouts, dimensions and source location. The
/// key is the symbol. The value is a byte array in a project-specific format, which
/// [`signature::kernels`](crate::signature::kernels) reads.
///
/// This set is defined by this project, not by the SYCLBIN specification. Other readers ignore unknown sets, so
/// they still load files with this set.
pub const KERNELS: &str = "SYCLBIN-RS/kernels";
/// The type of each device global and specialization constant. The key is the identifier. The value has the same
/// format as in [`KERNELS`].
///
/// Like [`KERNELS`], this set is specific to this project.
pub const VARIABLES: &str = "SYCLBIN-RS/variables";
/// The inputs of the compilation that produced the file: sources, arguments and compiler version. The set is stored in
/// the file-level properties. See [`Sources`](crate::metadata::Sources).
///
/// Like [`KERNELS`], this set is specific to this project.
pub const SOURCES: &str = "SYCLBIN-RS/sources";
/// The device and driver that produced the native code of a module: platform, name and version, each as UTF-8
/// bytes. Only that driver understands the format of the code. In a file for several devices, this set is attached
/// to each native image instead of the module.
///
/// Like [`KERNELS`], this set is specific to this project.
pub const NATIVE_CODE: &str = "SYCLBIN-RS/native code";
/// The hidden arguments of kernels in native code whose device globals are passed as arguments. The only property
/// is `layout`.
///
/// Like [`KERNELS`], this set is specific to this project.
pub const HIDDEN_ARGUMENTS: &str = "SYCLBIN-RS/hidden arguments";
/// The driver options that the original container stored with an image. `cargo syclbin extract` writes this set.
///
/// Like [`KERNELS`], this set is specific to this project.
pub const BUILD_OPTIONS: &str = "SYCLBIN-RS/build options";
/// Marks a placeholder for a file that was not compiled, for example on docs.rs, where no compiler is available. The
/// set is stored in the file-level properties. A placeholder is treated as if it contained every requested kernel.
///
/// Like [`KERNELS`], this set is specific to this project.
pub const PLACEHOLDER: &str = "SYCLBIN-RS/placeholder";

/// All names in this module.
pub const ALL: &[&str] = &[
    GLOBAL,
    IR_MODULE,
    NATIVE_IMAGE,
    KERNEL_NAMES,
    KERNEL_PARAM_OPT,
    DEVICE_REQUIREMENTS,
    IMPORTED_SYMBOLS,
    EXPORTED_SYMBOLS,
    SPECIALIZATION_CONSTANTS,
    SPECIALIZATION_DEFAULTS,
    SPECIALIZATION_SET_VALUES,
    DEVICELIB_REQ_MASK,
    DEVICELIB_METADATA,
    PROGRAM_METADATA,
    MISC_PROPERTIES,
    ASSERT_USED,
    MALLOC_USED,
    DEVICE_GLOBALS,
    HOST_PIPES,
    VIRTUAL_FUNCTIONS,
    IMPLICIT_LOCAL_ARG,
    DYNAMIC_LOCAL_MEMORY,
    REGISTERED_KERNELS,
    KERNELS,
    VARIABLES,
    SOURCES,
    NATIVE_CODE,
    HIDDEN_ARGUMENTS,
    BUILD_OPTIONS,
    PLACEHOLDER,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_names_are_listed() {
        let declared = include_str!("set.rs").matches("\npub const ").count();
        assert_eq!(declared, ALL.len() + 1, "with the list itself");
    }
}
