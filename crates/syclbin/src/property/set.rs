// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names of property sets, as spelled in files.

/// Declares the names, and the list of all of them.
macro_rules! sets {
    ($($(#[$of:meta])* $name:ident = $text:literal;)*) => {
        $($(#[$of])* pub const $name: &str = $text;)*

        /// All sets that this crate knows.
        pub const ALL: &[&str] = &[$($name),*];
    };
}

sets! {
    /// The state of the file.
    GLOBAL = "SYCLBIN/global metadata";
    /// The type and target of an IR image.
    IR_MODULE = "SYCLBIN/ir module metadata";
    /// The architecture and target of a native image.
    NATIVE_IMAGE = "SYCLBIN/native device code image metadata";
    /// The kernels, with one key for each.
    KERNEL_NAMES = "SYCL/kernel names";
    /// Masks of the arguments that the compiler removed, with a key for each kernel that has a mask.
    KERNEL_PARAM_OPT = "SYCL/kernel param opt";
    /// The device requirements.
    DEVICE_REQUIREMENTS = "SYCL/device requirements";
    /// Symbols that the module uses but does not define.
    IMPORTED_SYMBOLS = "SYCL/imported symbols";
    /// Symbols that the module exports.
    EXPORTED_SYMBOLS = "SYCL/exported symbols";
    /// The layout of each specialization constant's parts, with one key for each constant.
    SPECIALIZATION_CONSTANTS = "SYCL/specialization constants";
    /// The default values of all specialization constants, as one blob.
    SPECIALIZATION_DEFAULTS = "SYCL/specialization constants default values";
    /// The effective values of all specialization constants, as one blob.
    SPECIALIZATION_SET_VALUES = "SYCL/specialization constants set values";
    /// The device libraries that the module uses. Only old compilers write this set.
    DEVICELIB_REQ_MASK = "SYCL/devicelib req mask";
    /// The features that a device library image implements.
    DEVICELIB_METADATA = "SYCL/devicelib metadata";
    /// Work-group sizes of kernels and names of variables, with keys of the form `NAME@WHAT`.
    PROGRAM_METADATA = "SYCL/program metadata";
    /// Compilation settings of the module.
    MISC_PROPERTIES = "SYCL/misc properties";
    /// Kernels that use `assert`. Only old compilers write this set.
    ASSERT_USED = "SYCL/assert used";
    /// A name that the reference runtime defines. Compilers do not write this set and its layout is undocumented, so it
    /// is the only set without a view in [`metadata`](crate::metadata).
    MALLOC_USED = "SYCL/malloc used";
    /// Device globals, with the unique identifier as key.
    DEVICE_GLOBALS = "SYCL/device globals";
    /// Host pipes, with one key for each. Only old compilers write this set.
    HOST_PIPES = "SYCL/host pipes";
    /// Sets of virtual functions that the module defines or calls.
    VIRTUAL_FUNCTIONS = "SYCL/virtual functions";
    /// The index of the hidden argument for work-group memory, with a key for each kernel that has this argument.
    IMPLICIT_LOCAL_ARG = "SYCL/implicit local arg";
    /// Kernels that use dynamically sized work-group memory.
    DYNAMIC_LOCAL_MEMORY = "SYCL/work group dynamic local mem";
    /// The symbol of each kernel that was registered under a source name.
    REGISTERED_KERNELS = "SYCL/registered kernels";
    /// A description of each kernel, recorded at build time: names, types, layouts, dimensions and source location. The
    /// key is the symbol. The value is a byte array in a project-specific format, which
    /// [`signature::kernels`](crate::signature::kernels) reads.
    ///
    /// This set is defined by this project, not by the SYCLBIN specification. Other readers ignore unknown sets, so
    /// they still load files with this set.
    KERNELS = "SYCLBIN-RS/kernels";
    /// The type of each device global and specialization constant. The key is the identifier. The value has the same
    /// format as in [`KERNELS`].
    ///
    /// This project defines this set too.
    VARIABLES = "SYCLBIN-RS/variables";
    /// The sources that a file was compiled from, stored in the properties of the file. See
    /// [`Sources`](crate::metadata::Sources).
    ///
    /// This project defines this set too.
    SOURCES = "SYCLBIN-RS/sources";
    /// The device and driver that produced the native code of a module: platform, name and version, each as UTF-8
    /// bytes. Only that driver understands the format of the code. In a file for several devices, each native image has
    /// this set instead of the module.
    ///
    /// This project defines this set too.
    NATIVE_CODE = "SYCLBIN-RS/native code";
    /// The hidden arguments of kernels in native code whose device globals are passed as arguments. The only property
    /// is `layout`.
    ///
    /// This project defines this set too.
    HIDDEN_ARGUMENTS = "SYCLBIN-RS/hidden arguments";
    /// Marks a placeholder for a file that was not compiled, for example on docs.rs, where no compiler is available. It
    /// is stored in the properties of the file. Such a file is treated as if it contained every requested kernel.
    ///
    /// This project defines this set too.
    PLACEHOLDER = "SYCLBIN-RS/placeholder";
}
