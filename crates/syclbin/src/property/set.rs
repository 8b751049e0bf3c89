// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of sets, as files spell them.

/// The state of the file.
pub const GLOBAL: &str = "SYCLBIN/global metadata";
/// Type and target of an IR image.
pub const IR_MODULE: &str = "SYCLBIN/ir module metadata";
/// Architecture and target of a native image.
pub const NATIVE_IMAGE: &str = "SYCLBIN/native device code image metadata";
/// One key per kernel.
pub const KERNEL_NAMES: &str = "SYCL/kernel names";
/// A mask of the arguments the compiler removed, one key per kernel that has one.
pub const KERNEL_PARAM_OPT: &str = "SYCL/kernel param opt";
/// What a device must have.
pub const DEVICE_REQUIREMENTS: &str = "SYCL/device requirements";
/// Symbols the module uses and does not have.
pub const IMPORTED_SYMBOLS: &str = "SYCL/imported symbols";
/// Symbols the module offers to others.
pub const EXPORTED_SYMBOLS: &str = "SYCL/exported symbols";
/// The location of the parts of each specialization constant, one key per constant.
pub const SPECIALIZATION_CONSTANTS: &str = "SYCL/specialization constants";
/// The default values of all specialization constants, as one blob.
pub const SPECIALIZATION_DEFAULTS: &str = "SYCL/specialization constants default values";
/// The values in force of all specialization constants, as one blob.
pub const SPECIALIZATION_SET_VALUES: &str = "SYCL/specialization constants set values";
/// Which device libraries are used; only old compilers write it.
pub const DEVICELIB_REQ_MASK: &str = "SYCL/devicelib req mask";
/// What a device library image implements.
pub const DEVICELIB_METADATA: &str = "SYCL/devicelib metadata";
/// Sizes of kernels and names of variables, keys `NAME@WHAT`.
pub const PROGRAM_METADATA: &str = "SYCL/program metadata";
/// How the module was compiled.
pub const MISC_PROPERTIES: &str = "SYCL/misc properties";
/// Kernels that use `assert`; only old compilers write it.
pub const ASSERT_USED: &str = "SYCL/assert used";
/// A name the reference runtime defines. Compilers do not write the set and its layout is not documented,
/// so it is the only set without a view in [`metadata`](crate::metadata).
pub const MALLOC_USED: &str = "SYCL/malloc used";
/// Device globals, one key per unique identifier.
pub const DEVICE_GLOBALS: &str = "SYCL/device globals";
/// Host pipes, one key per pipe; only old compilers write it.
pub const HOST_PIPES: &str = "SYCL/host pipes";
/// Sets of virtual functions the module defines or calls.
pub const VIRTUAL_FUNCTIONS: &str = "SYCL/virtual functions";
/// The index of the hidden argument for work-group memory, one key per kernel that has one.
pub const IMPLICIT_LOCAL_ARG: &str = "SYCL/implicit local arg";
/// Kernels that use work-group memory whose size is given at launch.
pub const DYNAMIC_LOCAL_MEMORY: &str = "SYCL/work group dynamic local mem";
/// The symbol of each kernel that was registered under a name of the source.
pub const REGISTERED_KERNELS: &str = "SYCL/registered kernels";
/// A description of each kernel, made when the file was built: names, types, layouts, dimensions, and where the source
/// has it. The key is the symbol. [`signature::kernels`](crate::signature::kernels) reads the value, a byte array whose
/// form is this project's.
///
/// This project defines this set, not the SYCLBIN specification. Readers ignore sets they do not know, so
/// a file that has it loads everywhere.
pub const KERNELS: &str = "SYCLBIN-RS/kernels";
/// The type of each device global and specialization constant. The key is the identifier, and the value is like those
/// of [`KERNELS`].
///
/// This project defines this set too.
pub const VARIABLES: &str = "SYCLBIN-RS/variables";
/// The sources that a file was compiled from; in the properties of a file. See
/// [`Sources`](crate::metadata::Sources).
///
/// This project defines this set too.
pub const SOURCES: &str = "SYCLBIN-RS/sources";
/// The device and the driver that made the native code of a module: platform, name and version, each a byte
/// array of UTF-8 text. Only that driver knows the form of such code. In a file for several devices, each native image
/// has this set instead of the module.
///
/// This project defines this set too.
pub const NATIVE_CODE: &str = "SYCLBIN-RS/native code";
/// The hidden arguments of kernels in native code whose device globals are arguments; one property, `layout`.
///
/// This project defines this set too.
pub const HIDDEN_ARGUMENTS: &str = "SYCLBIN-RS/hidden arguments";
/// Marks a placeholder for a file that was not compiled, as on docs.rs, where a compiler is missing. It
/// is in the properties of a file. A request for any kernel of such a file is valid.
///
/// This project defines this set too.
pub const PLACEHOLDER: &str = "SYCLBIN-RS/placeholder";
