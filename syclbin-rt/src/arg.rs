//! Arguments: one value or one buffer for one parameter of a kernel.

use bytemuck::Pod;

use crate::backend::opencl::{Argument, Memory};
use crate::buffer::Buffer;

/// One argument of a launch.
pub struct Arg<'a>(Value<'a>);

enum Value<'a> {
    /// The first `size` bytes, in the memory order of the host, which OpenCL devices share.
    Scalar {
        bytes: [u8; 8],
        size: usize,
    },
    Buffer(&'a Memory),
}

/// A number that a kernel takes by value.
///
/// Implemented for the integers of 8 to 64 bits, `f32` and `f64`.
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
    /// A number, passed by value. Its type must be the parameter's: `1u32` is no `float`.
    #[must_use]
    pub fn scalar<T: Scalar>(value: T) -> Self {
        let value = bytemuck::bytes_of(&value);
        let mut bytes = [0; 8];
        bytes[..value.len()].copy_from_slice(value);
        let size = value.len();
        Self(Value::Scalar { bytes, size })
    }

    /// A `bool`, which kernels take as one byte, 0 or 1.
    #[must_use]
    pub fn bool(value: bool) -> Self {
        Self::scalar(u8::from(value))
    }

    /// A pointer to a buffer that the kernel only reads.
    #[must_use]
    pub fn read<T: Pod>(buffer: &'a Buffer<T>) -> Self {
        Self(Value::Buffer(buffer.memory()))
    }

    /// A pointer to a buffer that the kernel writes.
    #[must_use]
    pub fn write<T: Pod>(buffer: &'a mut Buffer<T>) -> Self {
        Self(Value::Buffer(buffer.memory()))
    }

    /// The memory, if it is a buffer.
    pub(crate) fn memory(&self) -> Option<&'a Memory> {
        match self.0 {
            Value::Scalar { .. } => None,
            Value::Buffer(memory) => Some(memory),
        }
    }

    pub(crate) fn raw(&self) -> Argument<'_> {
        match &self.0 {
            Value::Scalar { bytes, size } => Argument::Bytes(&bytes[..*size]),
            Value::Buffer(memory) => Argument::Memory(memory),
        }
    }
}

impl std::fmt::Debug for Arg<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Value::Scalar { bytes, size } => write!(f, "Arg({:02x?})", &bytes[..*size]),
            Value::Buffer(_) => f.write_str("Arg(buffer)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(arg: &Arg<'_>) -> Vec<u8> {
        match arg.raw() {
            Argument::Bytes(bytes) => bytes.to_vec(),
            Argument::Memory(_) => unreachable!("a scalar is no buffer"),
        }
    }

    #[test]
    fn scalars_keep_their_size_and_bytes() {
        assert_eq!(bytes(&Arg::scalar(-2i8)), [0xfe]);
        assert_eq!(bytes(&Arg::scalar(1.5f32)), 1.5f32.to_ne_bytes());
        assert_eq!(bytes(&Arg::scalar(u64::MAX)), [0xff; 8]);
    }

    #[test]
    fn a_bool_is_one_byte() {
        assert_eq!(bytes(&Arg::bool(true)), [1]);
        assert_eq!(bytes(&Arg::bool(false)), [0]);
    }
}
