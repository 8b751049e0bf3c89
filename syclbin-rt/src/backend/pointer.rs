// SPDX-License-Identifier: MIT OR Apache-2.0
//! A pointer of the device, as a value.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};

/// The address of a `T` on a device, as in a pointer inside a struct. It has 8 bytes, and zero is the null
/// pointer.
///
/// Returned by [`DeviceArray::pointer`](crate::DeviceArray::pointer). It is a number and keeps nothing alive.
#[repr(transparent)]
pub struct DevicePointer<T> {
    address: u64,
    pointee: PhantomData<T>,
}

impl<T> DevicePointer<T> {
    /// Returns the null pointer.
    #[must_use]
    pub const fn null() -> Self {
        Self::from_address(0)
    }

    /// Returns the pointer to `address`.
    #[must_use]
    pub const fn from_address(address: u64) -> Self {
        let pointee = PhantomData;
        Self { address, pointee }
    }

    /// Returns the address that it points to.
    #[must_use]
    pub const fn address(self) -> u64 {
        self.address
    }

    /// Casts to a pointer to `U` with the same address, as a pointer cast in C++ does.
    #[must_use]
    pub const fn cast<U>(self) -> DevicePointer<U> {
        DevicePointer::from_address(self.address)
    }

    /// Returns the pointer to the element that is `count` elements further.
    #[must_use]
    pub const fn wrapping_add(self, count: u64) -> Self {
        let bytes = count.wrapping_mul(size_of::<T>() as u64);
        Self::from_address(self.address.wrapping_add(bytes))
    }
}

// SAFETY: it is one `u64`, for which zero is a value.
unsafe impl<T> Zeroable for DevicePointer<T> {}
// SAFETY: it is `repr(transparent)` over one `u64`, and the marker has no bytes.
unsafe impl<T: 'static> Pod for DevicePointer<T> {}
// SAFETY: it is a number; nothing on the host goes through it.
unsafe impl<T> Send for DevicePointer<T> {}
// SAFETY: as for Send.
unsafe impl<T> Sync for DevicePointer<T> {}

// Derived implementations would require the same of `T`.
impl<T> Clone for DevicePointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DevicePointer<T> {}

impl<T> PartialEq for DevicePointer<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<T> Eq for DevicePointer<T> {}

impl<T> fmt::Debug for DevicePointer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DevicePointer({:#x})", self.address)
    }
}
