// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signatures as data: describe the kernels of a generated module to registries, tuners and bindings for other
//! languages.

/// A kernel of a generated module. The module's constant `KERNELS` lists all kernels with stubs.
///
/// ```
/// use syclbin_rt::{KernelInfo, ParameterInfo, ParameterKind};
///
/// fn values(kernel: &KernelInfo) -> impl Iterator<Item = &ParameterInfo> {
///     let parameters = kernel.parameters.iter();
///     parameters.filter(|parameter| parameter.kind == ParameterKind::Value)
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelInfo {
    /// The path of the stub in the module: `fill::iota`.
    pub name: &'static str,
    /// The symbol in the file, to pass to [`Module::kernel`](crate::Module::kernel).
    pub symbol: &'static str,
    /// The kernel's name in C++. Empty if the file does not record it.
    pub declaration: &'static str,
    /// The parameters in order.
    pub parameters: &'static [ParameterInfo],
    /// The number of dimensions of its ranges, 0 for a `single_task`. `None` if the file does not record it.
    pub dimensions: Option<u8>,
    /// The required work-group size, in SYCL's order. Empty if any size is possible.
    pub work_group_size: &'static [usize],
    /// The required SYCL aspects of the device.
    pub aspects: &'static [&'static str],
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterInfo {
    /// The name in C++. Empty if the file does not record it.
    pub name: &'static str,
    /// How it is passed.
    pub kind: ParameterKind,
    /// The type in C++: `const float *`.
    pub ty: &'static str,
    /// The size in bytes of the value, or of an element of the memory. `None` if unknown.
    pub size: Option<usize>,
}

/// How a parameter is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterKind {
    /// A number, an enumeration, a vector, an array or a struct.
    Value,
    /// A pointer to device memory that the kernel reads.
    ReadPointer,
    /// A pointer to device memory that the kernel may write.
    WritePointer,
    /// An accessor of a buffer that the kernel reads.
    ReadAccessor,
    /// An accessor of a buffer that the kernel may write.
    WriteAccessor,
    /// Work-group memory.
    LocalMemory,
    /// An image that the kernel reads.
    ReadImage,
    /// An image that the kernel writes.
    WriteImage,
    /// A sampler.
    Sampler,
    /// The values of specialization constants, which the stub passes automatically.
    KernelHandler,
}
