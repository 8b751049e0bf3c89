// SPDX-License-Identifier: MIT OR Apache-2.0
//! Support for generated code: kernels that are looked up on first use, kernel descriptions, and struct padding.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use bytemuck::{Pod, Zeroable};

use crate::backend::gate::CallGuard;
use crate::error::Result;
use crate::launch::kernel::Kernel;
use crate::module::Module;

/// A kernel of a generated module. Clones refer to the same kernel.
#[derive(Clone)]
pub struct StubKernel(Arc<Inner>);

struct Inner {
    module: Module,
    symbol: &'static str,
    kernel: OnceLock<Result<Kernel>>,
}

impl StubKernel {
    /// Creates the kernel with this symbol, without building it.
    #[must_use]
    pub fn new(module: &Module, symbol: &'static str) -> Self {
        Self(Arc::new(Inner {
            module: module.clone(),
            symbol,
            kernel: OnceLock::new(),
        }))
    }

    /// Returns the kernel, or the reason why it cannot run. The first call builds it.
    #[inline]
    pub fn get(&self) -> &Result<Kernel> {
        match self.0.kernel.get() {
            Some(kernel) => kernel,
            None => self.find(),
        }
    }

    #[cold]
    fn find(&self) -> &Result<Kernel> {
        // Must precede the initialization: once the process is exiting, `CallGuard::new` blocks forever, and the
        // exiting thread may wait for this kernel.
        let _guard = CallGuard::new();
        let inner = &*self.0;
        (inner.kernel).get_or_init(|| inner.module.kernel(inner.symbol))
    }
}

impl fmt::Debug for StubKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (symbol, device) = (self.0.symbol, self.0.module.queue().device());
        write!(f, "StubKernel({symbol} on {device})")
    }
}

/// Describes a kernel of a generated module. The module's constant `KERNELS` lists all kernels with stubs.
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
    /// The path of the stub in the module, such as `fill::iota`.
    pub name: &'static str,
    /// The symbol in the file, to pass to [`Module::kernel`](crate::Module::kernel).
    pub symbol: &'static str,
    /// The C++ declaration, such as `void ns::scale(const float *, int)`. Empty if the file does not record it.
    pub declaration: &'static str,
    /// The parameters in order.
    pub parameters: &'static [ParameterInfo],
    /// The number of dimensions of the kernel's ranges: 0 for a `single_task`, `None` if the file does not record it.
    pub dimensions: Option<u8>,
    /// The required work-group size, in SYCL's order. Empty if the kernel requires no particular size.
    pub work_group_size: &'static [usize],
    /// The SYCL aspects that the device must support.
    pub aspects: &'static [&'static str],
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterInfo {
    /// The name in C++. Empty if the file does not record it.
    pub name: &'static str,
    /// How the parameter is passed.
    pub kind: ParameterKind,
    /// The type in C++, such as `const float *`. Empty if the file does not record it.
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
    /// An accessor to a buffer that the kernel reads.
    ReadAccessor,
    /// An accessor to a buffer that the kernel may write.
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

/// `N` bytes between or after the fields of a `#[repr(C)]` struct, where C++ leaves a gap.
///
/// With padding fields, the struct can implement [`Pod`]. Kernels may write anything into padding, so comparisons
/// ignore its content: all values are equal.
///
/// ```
/// use syclbin_rt::Padding;
/// use syclbin_rt::bytemuck::{Pod, Zeroable};
///
/// /// `struct Sample { char kind; double value; };`
/// #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
/// #[repr(C)]
/// struct Sample {
///     kind: i8,
///     padding: Padding<7>,
///     value: f64,
/// }
///
/// let sample = Sample { kind: 1, value: 0.5, ..Sample::default() };
/// assert_eq!(format!("{sample:?}"), "Sample { kind: 1, padding: _, value: 0.5 }");
/// ```
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
pub struct Padding<const N: usize>([u8; N]);

impl<const N: usize> Default for Padding<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> PartialEq for Padding<N> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<const N: usize> Eq for Padding<N> {}

impl<const N: usize> Hash for Padding<N> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<const N: usize> fmt::Debug for Padding<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

/// Returns the size of a field in bytes. Generated code compares it with the size in C++.
///
/// ```
/// # use syclbin_rt::__private::size_of_field;
/// struct Sample { kind: i8, value: f64 }
/// const _: () = assert!(size_of_field(|sample: Sample| sample.value) == 8);
/// ```
#[must_use]
pub const fn size_of_field<T, F>(_: fn(T) -> F) -> usize {
    size_of::<F>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_padding_holds_does_not_count() {
        let zero = Padding::<3>::default();
        let other: Padding<3> = bytemuck::cast([1u8, 2, 3]);
        assert_eq!(zero, other);
        let hashed = |padding: Padding<3>| {
            let mut hasher = std::hash::DefaultHasher::new();
            padding.hash(&mut hasher);
            hasher.finish()
        };
        assert_eq!(hashed(zero), hashed(other));
        assert_eq!(bytemuck::bytes_of(&other), [1, 2, 3], "but it is kept");
        assert_eq!((size_of::<Padding<5>>(), align_of::<Padding<5>>()), (5, 1));
        assert_eq!(format!("{other:?}"), "_");
    }
}
