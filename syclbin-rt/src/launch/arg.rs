// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments: values for the parameters of a kernel. An argument can expand to several device arguments.

use std::marker::PhantomData;

use bytemuck::{NoUninit, Pod};

use crate::backend::{Argument, DevicePointer, DeviceSlice, Region};
use crate::launch::accessor::AccessorRange;
use crate::launch::parameter_kinds;
use crate::memory::image::format::Format;
use crate::memory::image::{Image, Sampler};

/// One argument of a launch.
///
/// | C++ parameter | argument |
/// |---|---|
/// | `int`, `float`, an `enum` | [`Arg::scalar`] |
/// | `bool` | [`Arg::bool`] |
/// | `sycl::half`, `bfloat16`, `sycl::vec`, a struct | [`Arg::value`], [`Arg::value_ref`] |
/// | a pointer | [`Arg::read`], [`Arg::write`], [`Arg::pointer`], [`Arg::null`] |
/// | a pointer inside a struct | [`DevicePointer`] in a value |
/// | `work_group_memory` | [`Arg::local`], [`LocalMemory`] |
/// | `accessor` | [`Arg::read_accessor`], [`Arg::write_accessor`] |
/// | `local_accessor` | [`Arg::local_accessor`] |
/// | `accessor` of an image | [`Arg::read_image`], [`Arg::write_image`] |
/// | `sampler` | [`Arg::sampler`] |
/// | `kernel_handler` | [`Arg::kernel_handler`] |
pub struct Arg<'a>(Value<'a>);

/// The maximum size of a value that is stored inside an [`Arg`], in bytes.
const INLINE: usize = 64;

/// The size of the largest [`Scalar`], in bytes.
const WORD: usize = 8;

enum Value<'a> {
    /// A small value: the first `size` bytes. Nearly all values are small, so this variant avoids copying a larger
    /// array.
    Word {
        bytes: [u8; WORD],
        size: usize,
    },
    /// A larger value: the first `size` bytes, in the host's byte order, which OpenCL devices share.
    Inline {
        bytes: [u8; INLINE],
        size: usize,
    },
    Boxed(Box<[u8]>),
    /// Elements, and whether the kernel writes them. Separate from `Device`, so that a launch reads only one tag.
    Slice(&'a Region, bool),
    Accessor(&'a Region, bool, AccessorRange),
    /// The number of bytes, and the range.
    LocalAccessor(usize, AccessorRange),
    /// An argument that is passed to the device unchanged.
    Device(Argument<'a>),
}

/// Returns the bytes of a value, padded with zeros, or `None` if there are more than `N`.
fn padded<const N: usize>(value: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    bytes.get_mut(..value.len())?.copy_from_slice(value);
    Some(bytes)
}

/// A number that is passed to a kernel by value.
///
/// Implemented for integers of 8 to 64 bits, `f32` and `f64`. To pass other types by value, such as `half::f16`, use
/// [`Arg::value`].
pub trait Scalar: Pod + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! scalars {
    ($($ty:ty)*) => {
        $(
            impl sealed::Sealed for $ty {}
            impl Scalar for $ty {}
        )*
    };
}

scalars! { i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 }

impl<'a> Arg<'a> {
    /// Passes a number by value. Its type must match the parameter's type: `1u32` does not match `float`.
    #[must_use]
    pub fn scalar<T: Scalar>(value: T) -> Self {
        Self::value(value)
    }

    /// Passes a `bool`, as one byte that is 0 or 1.
    #[must_use]
    pub fn bool(value: bool) -> Self {
        Self::value(value)
    }

    /// Passes a value of any type without padding bytes, such as `half::f16` or `half::bf16`. A `#[repr(C)]` struct
    /// must have the layout of the C++ struct. Use an array for a `sycl::vec`; a vector of 3 elements is as large as
    /// one of 4.
    ///
    /// A value of up to 64 bytes is stored inside the argument. A larger value moves to the heap; [`Arg::value_ref`]
    /// avoids that.
    #[must_use]
    pub fn value<T: NoUninit>(value: T) -> Self {
        let value = bytemuck::bytes_of(&value);
        let size = value.len();
        if let Some(bytes) = padded(value) {
            return Self(Value::Word { bytes, size });
        }
        match padded(value) {
            Some(bytes) => Self(Value::Inline { bytes, size }),
            None => Self(Value::Boxed(value.into())),
        }
    }

    /// Passes a value by reference, without moving it. Otherwise it works like [`Arg::value`].
    #[must_use]
    pub fn value_ref<T: NoUninit>(value: &'a T) -> Self {
        Self(Value::Device(Argument::Bytes(bytemuck::bytes_of(value))))
    }

    /// Passes a pointer to elements that the kernel only reads. They may belong to a [`Buffer`](crate::Buffer), to an
    /// array such as a [`DeviceArray`](crate::DeviceArray), or to a part of either.
    #[must_use]
    pub fn read<T: Pod>(slice: &'a DeviceSlice<T>) -> Self {
        Self(Value::Slice(slice.region(), false))
    }

    /// Passes a pointer like [`Arg::read`], but to elements that the kernel writes.
    #[must_use]
    pub fn write<T: Pod>(slice: &'a mut DeviceSlice<T>) -> Self {
        Self(Value::Slice(slice.region(), true))
    }

    /// Passes a pointer to device memory that has an address, such as a [`DeviceArray`](crate::DeviceArray).
    #[must_use]
    pub fn pointer<T>(pointer: DevicePointer<T>) -> Self {
        Self(Value::Device(Argument::Pointer(pointer.address())))
    }

    /// Passes a null pointer, for a kernel that checks for null. [`Arg::read_or_null`] and [`Arg::write_or_null`] pass
    /// null for `None`.
    #[must_use]
    pub fn null() -> Self {
        Self(Value::Device(Argument::Pointer(0)))
    }

    /// Passes a pointer as [`Arg::read`] does, or a null pointer for `None`.
    #[must_use]
    pub fn read_or_null<T: Pod>(slice: Option<&'a DeviceSlice<T>>) -> Self {
        slice.map_or_else(Self::null, Self::read)
    }

    /// Passes a pointer as [`Arg::write`] does, or a null pointer for `None`.
    #[must_use]
    pub fn write_or_null<T: Pod>(slice: Option<&'a mut DeviceSlice<T>>) -> Self {
        slice.map_or_else(Self::null, Self::write)
    }

    /// Passes an `accessor` to elements that the kernel only reads. `T` is the accessor's element type, and `range` is
    /// the layout of the elements in one to three dimensions.
    ///
    /// The device receives four arguments, which count as a single argument here.
    #[must_use]
    pub fn read_accessor<T: Pod>(
        slice: &'a DeviceSlice<T>,
        range: impl Into<AccessorRange>,
    ) -> Self {
        Self(Value::Accessor(slice.region(), false, range.into()))
    }

    /// Passes an `accessor` like [`Arg::read_accessor`], but to elements that the kernel writes.
    #[must_use]
    pub fn write_accessor<T: Pod>(
        slice: &'a mut DeviceSlice<T>,
        range: impl Into<AccessorRange>,
    ) -> Self {
        Self(Value::Accessor(slice.region(), true, range.into()))
    }

    /// Passes a `work_group_memory` or a `dynamic_work_group_memory`: memory of `bytes` bytes for each work-group. If
    /// the C++ type fixes the size, `bytes` must equal it.
    ///
    /// For a kernel that uses work-group scratch memory, pass this argument after the others.
    #[must_use]
    pub fn local(bytes: usize) -> Self {
        Self(Value::Device(Argument::Local(bytes)))
    }

    /// Passes a `local_accessor` over `range`: memory for each work-group, with elements of type `T` in one to three
    /// dimensions. The device receives four arguments.
    ///
    /// ```
    /// use syclbin_rt::Arg;
    ///
    /// let tile = Arg::local_accessor::<f32>([16, 32]);
    /// ```
    #[must_use]
    pub fn local_accessor<T>(range: impl Into<crate::Extent>) -> Self {
        let range = range.into();
        let bytes = LocalMemory::<T>::of(range.items()).bytes();
        Self(Value::LocalAccessor(bytes, AccessorRange::new(range)))
    }

    /// Passes an image that the kernel only reads, for an `accessor` with `sycl::target::image`. The kernel must read
    /// components of the type [`Format::Element`].
    #[must_use]
    pub fn read_image<const D: usize, F: Format>(image: &'a Image<D, F>) -> Self {
        Self(Value::Device(Argument::Image(&image.raw, false)))
    }

    /// Passes an image like [`Arg::read_image`], but one that the kernel writes.
    #[must_use]
    pub fn write_image<const D: usize, F: Format>(image: &'a mut Image<D, F>) -> Self {
        Self(Value::Device(Argument::Image(&image.raw, true)))
    }

    /// Passes a `sampler`.
    #[must_use]
    pub fn sampler(sampler: &'a Sampler) -> Self {
        Self(Value::Device(Argument::Sampler(&sampler.0)))
    }

    /// Passes a `kernel_handler`, through which C++ reads specialization constants. The device receives a pointer to
    /// their values, or null if the values are compiled into the program.
    #[must_use]
    pub fn kernel_handler() -> Self {
        Self(Value::Device(Argument::Null))
    }

    /// Returns the number of device arguments that this argument expands to, including those that the compiler removed.
    #[inline]
    pub(crate) fn lowered(&self) -> usize {
        self.range().map_or(1, |_| 1 + AccessorRange::IDS)
    }

    /// Returns the device argument with index `part` among those that this argument expands to.
    pub(crate) fn raw(&self, part: usize) -> Argument<'_> {
        // The compiler lowers an accessor to a pointer followed by two ranges and an offset.
        if let (Some(range), Some(id)) = (self.range(), part.checked_sub(1)) {
            return Argument::Bytes(range.bytes(id));
        }
        match &self.0 {
            Value::Word { bytes, size } => Argument::Bytes(bytes.get(..*size).unwrap_or(bytes)),
            Value::Inline { bytes, size } => Argument::Bytes(bytes.get(..*size).unwrap_or(bytes)),
            Value::Boxed(bytes) => Argument::Bytes(bytes),
            Value::Slice(region, written) | Value::Accessor(region, written, _) => {
                Argument::Memory(region, *written)
            }
            Value::LocalAccessor(bytes, _) => Argument::Local(*bytes),
            Value::Device(argument) => *argument,
        }
    }

    /// Returns the only device argument, if this is a small value or a slice. Nearly all arguments are, so launches use
    /// this fast path: its two branches are easier to predict than the jump table of a `match`, and the value need not
    /// go through memory.
    #[inline(always)]
    pub(crate) fn plain(&self) -> Option<Argument<'_>> {
        if let Value::Word { bytes, size } = &self.0 {
            Some(Argument::Bytes(bytes.get(..*size).unwrap_or(bytes)))
        } else if let Value::Slice(region, written) = &self.0 {
            Some(Argument::Memory(region, *written))
        } else {
            None
        }
    }

    /// Returns the number of elements, each `element_bytes` bytes long, that the kernel can access: in a buffer, in the
    /// accessible part of a buffer, or in work-group memory. Returns 0 for other arguments.
    pub(crate) fn elements(&self, element_bytes: usize) -> i128 {
        let bytes = match (self.raw(0), self.range()) {
            (Argument::Memory(..), Some(range)) => return range.items(),
            (Argument::Memory(region, _), None) => region.bytes(),
            (Argument::Local(bytes), _) => bytes,
            _ => 0,
        };
        bytes.checked_div(element_bytes).unwrap_or(0) as i128
    }

    /// Returns the size of a dimension of an accessor; 0 beyond its dimensions and for other arguments.
    pub(crate) fn extent(&self, dimension: usize) -> i128 {
        self.range().map_or(0, |range| range.size(dimension))
    }

    fn range(&self) -> Option<&AccessorRange> {
        match &self.0 {
            Value::Accessor(_, _, range) | Value::LocalAccessor(_, range) => Some(range),
            _ => None,
        }
    }

    fn memory(&self) -> Option<&Region> {
        match self.raw(0) {
            Argument::Memory(region, _) => Some(region),
            _ => None,
        }
    }

    /// Returns the largest known power of two that divides the address of a slice or an accessor's buffer. Returns
    /// `None` for other arguments.
    pub(crate) fn alignment(&self) -> Option<u64> {
        let region = self.memory()?;
        Some(match region.bytes() {
            0 => 1 << 63, // an empty slice is never accessed, so any alignment holds
            _ => region.memory.alignment(region.offset),
        })
    }

    /// Returns the alignment of the allocation that contains a slice or an accessor's buffer, but at most the alignment
    /// that the device guarantees for every allocation. Returns `None` for other arguments.
    pub(crate) fn whole_alignment(&self) -> Option<u64> {
        let memory = &self.memory()?.memory;
        Some(memory.alignment(0).min(memory.least_alignment()))
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.0, Value::Device(Argument::Pointer(0)))
    }

    /// Returns the bytes, if the argument is a value.
    pub(crate) fn value_bytes(&self) -> Option<&[u8]> {
        match self.raw(0) {
            Argument::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns an accessor's range, and the number of elements in its buffer. Returns `None` for other arguments,
    /// including local accessors.
    pub(crate) fn accessor_range(&self) -> Option<(&AccessorRange, usize)> {
        match &self.0 {
            Value::Accessor(region, _, range) => Some((range, region.len)),
            _ => None,
        }
    }
}

impl<T> From<LocalMemory<T>> for Arg<'_> {
    fn from(memory: LocalMemory<T>) -> Self {
        Self::local(memory.bytes())
    }
}

impl std::fmt::Debug for Arg<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.raw(0), self.range()) {
            (Argument::Memory(..), Some(range)) => write!(f, "Arg(accessor of {range:?})"),
            (Argument::Local(bytes), Some(_)) => {
                write!(f, "Arg(accessor of {bytes} bytes of work-group memory)")
            }
            (Argument::Local(bytes), None) => write!(f, "Arg({bytes} bytes of work-group memory)"),
            (Argument::Bytes(bytes), _) => write!(f, "Arg({bytes:02x?})"),
            (Argument::Pointer(address), _) => write!(f, "Arg({address:#x})"),
            (argument, _) => write!(f, "Arg({})", parameter_kinds::kind(argument)),
        }
    }
}

/// Work-group memory for elements of type `T`. Its size is set at launch. Convert it to an [`Arg`] with `into`.
///
/// ```
/// use syclbin_rt::{Arg, LocalMemory};
///
/// let scratch = LocalMemory::<i32>::of(64);
/// assert_eq!(scratch.bytes(), 256);
/// let arg: Arg<'_> = scratch.into();
/// ```
#[derive(Debug)]
pub struct LocalMemory<T> {
    count: usize,
    element: PhantomData<fn() -> T>,
}

impl<T> LocalMemory<T> {
    /// Describes memory for `count` elements.
    #[must_use]
    pub const fn of(count: usize) -> Self {
        let element = PhantomData;
        Self { count, element }
    }

    /// Returns the number of elements.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Returns the size in bytes. Returns `usize::MAX` on overflow, which exceeds the memory of any device.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.count.saturating_mul(size_of::<T>())
    }
}

// Derived implementations would add bounds on `T`.
impl<T> Clone for LocalMemory<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for LocalMemory<T> {}

#[cfg(test)]
#[path = "arg_tests.rs"]
mod arg_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflowing_local_memory_size_saturates() {
        assert_eq!(LocalMemory::<u64>::of(usize::MAX / 2).bytes(), usize::MAX);
        assert_eq!(LocalMemory::<[u16; 3]>::of(7).bytes(), 42);
    }
}
