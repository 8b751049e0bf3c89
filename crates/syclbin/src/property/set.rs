// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names of property sets, as spelled in files.

/// Declares a constant for each name, and the list `ALL`.
macro_rules! names {
    ($($(#[$of:meta])* $constant:ident = $name:literal;)*) => {
        $($(#[$of])* pub const $constant: &str = $name;)*

        /// All names in this module.
        pub const ALL: &[&str] = &[$($constant),*];
    };
}

names! {
    /// The state of the file.
    GLOBAL = "SYCLBIN/global metadata";
    /// The type and target of an IR image.
    IR_MODULE = "SYCLBIN/ir module metadata";
    /// The architecture and target of a native image.
    NATIVE_IMAGE = "SYCLBIN/native device code image metadata";
    /// The kernels, keyed by symbol.
    KERNEL_NAMES = "SYCL/kernel names";
    /// Masks of the arguments that the compiler removed, keyed by kernel.
    KERNEL_PARAM_OPT = "SYCL/kernel param opt";
    /// The device requirements.
    DEVICE_REQUIREMENTS = "SYCL/device requirements";
    /// Symbols that the module uses but does not define.
    IMPORTED_SYMBOLS = "SYCL/imported symbols";
    /// Symbols that the module exports.
    EXPORTED_SYMBOLS = "SYCL/exported symbols";
    /// The layout of the parts of specialization constants, keyed by constant.
    SPECIALIZATION_CONSTANTS = "SYCL/specialization constants";
    /// The default values of all specialization constants, as one blob.
    SPECIALIZATION_DEFAULTS = "SYCL/specialization constants default values";
    /// The effective values of all specialization constants, as one blob.
    SPECIALIZATION_SET_VALUES = "SYCL/specialization constants set values";
    /// The device libraries that the module requires. Only old compilers write this set.
    DEVICELIB_REQ_MASK = "SYCL/devicelib req mask";
    /// The features that a device library image implements.
    DEVICELIB_METADATA = "SYCL/devicelib metadata";
    /// Work-group and sub-group sizes of kernels, and names of device globals, with keys of the form `NAME@PROPERTY`.
    PROGRAM_METADATA = "SYCL/program metadata";
    /// Compilation settings of the module.
    MISC_PROPERTIES = "SYCL/misc properties";
    /// Kernels that use `assert`. Only old compilers write this set.
    ASSERT_USED = "SYCL/assert used";
    /// A set that the reference runtime defines. Compilers do not write the set, and its layout is undocumented, so
    /// [`metadata`](crate::metadata) provides no view of it.
    MALLOC_USED = "SYCL/malloc used";
    /// Device globals, keyed by unique identifier.
    DEVICE_GLOBALS = "SYCL/device globals";
    /// Host pipes, keyed by unique identifier. Only old compilers write this set.
    HOST_PIPES = "SYCL/host pipes";
    /// Sets of virtual functions that the module defines or calls.
    VIRTUAL_FUNCTIONS = "SYCL/virtual functions";
    /// The index of the hidden argument for work-group memory, keyed by kernel.
    IMPLICIT_LOCAL_ARG = "SYCL/implicit local arg";
    /// Kernels that use dynamically sized work-group memory.
    DYNAMIC_LOCAL_MEMORY = "SYCL/work group dynamic local mem";
    /// The symbols of kernels that were registered under a source name.
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
    /// Like [`KERNELS`], this set is specific to this project.
    VARIABLES = "SYCLBIN-RS/variables";
    /// The inputs of the compilation that produced the file: sources, arguments and compiler version. The set is stored
    /// in the file-level properties. See [`Sources`](crate::metadata::Sources).
    ///
    /// Like [`KERNELS`], this set is specific to this project.
    SOURCES = "SYCLBIN-RS/sources";
    /// The device and driver that produced the native code of a module: platform, name and version, each as UTF-8
    /// bytes. Only that driver understands the format of the code. In a file for several devices, this set is attached
    /// to each native image instead of the module.
    ///
    /// Like [`KERNELS`], this set is specific to this project.
    NATIVE_CODE = "SYCLBIN-RS/native code";
    /// The layout of the hidden arguments through which kernels in native code access device globals, for drivers
    /// without support for such variables. The only property is `layout`.
    ///
    /// Like [`KERNELS`], this set is specific to this project.
    HIDDEN_ARGUMENTS = "SYCLBIN-RS/hidden arguments";
    /// The driver options that the original container stored with an image. `cargo syclbin extract` writes this set.
    ///
    /// Like [`KERNELS`], this set is specific to this project.
    BUILD_OPTIONS = "SYCLBIN-RS/build options";
    /// Marks a placeholder for a file that was not compiled, for example on docs.rs, where no compiler is available.
    /// The set is stored in the file-level properties. A placeholder is treated as if it contained every requested
    /// kernel.
    ///
    /// Like [`KERNELS`], this set is specific to this project.
    PLACEHOLDER = "SYCLBIN-RS/placeholder";
}
