// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signatures as data: descriptions of the kernels of a generated module, for registries, tuners and bindings to other
//! languages.

/// A kernel of a generated module. Its constant `KERNELS` lists all that have stubs.
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
    /// The symbol in the file, which [`Module::kernel`](crate::Module::kernel) takes.
    pub symbol: &'static str,
    /// The kernel in C++. Empty if the file does not record it.
    pub declaration: &'static str,
    /// The parameters in order.
    pub parameters: &'static [ParameterInfo],
    /// The number of dimensions of its ranges, 0 for a `single_task`. `None` if the file does not record it.
    pub dimensions: Option<u8>,
    /// The only work-group size that it can be launched with, in SYCL's order. Empty if any size is possible.
    pub work_group_size: &'static [usize],
    /// The SYCL aspects that a device must have.
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
    /// The size of the value, or of an element of the memory, in bytes. `None` if it is not known.
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
    /// The values of specialization constants, which the stub passes by itself.
    KernelHandler,
}
