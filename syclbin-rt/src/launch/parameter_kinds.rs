// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameter kinds: the kinds of arguments that a parameter accepts, determined once per kernel rather than at each
//! launch.

use crate::backend::kernel::Argument;
use crate::load::code::Takes;

/// The kinds of arguments that a parameter accepts.
#[derive(Clone, Copy)]
pub(crate) struct Kinds {
    /// One bit for each kind.
    bits: u8,
    /// The size of the value in bytes; 0 if the code does not contain it. For an image, the number of dimensions, plus
    /// [`WRITTEN`] if the kernel writes it.
    bytes: u32,
}

const BYTES: u8 = 1;
const MEMORY: u8 = 2;
const LOCAL: u8 = 4;
const SAMPLER: u8 = 8;
const POINTER: u8 = 16;
const NULL: u8 = 32;
const IMAGE: u8 = 64;

/// Added to an image's dimensions if the kernel writes the image.
const WRITTEN: u32 = 8;

/// The size of a null pointer.
const NULL_BYTES: usize = 8;

impl Kinds {
    /// Accepts every kind, for a parameter of unknown type.
    pub(crate) const ALL: Self = Self {
        bits: u8::MAX,
        bytes: 0,
    };

    /// Returns the kinds that a parameter accepts.
    pub(crate) fn of(takes: Takes) -> Self {
        // Free functions take the handler as a struct; lambdas and functors take the pointer inside it.
        let (bits, bytes) = match takes {
            Takes::Number(bytes) => (BYTES, bytes),
            Takes::Struct(bytes) => (BYTES | NULL, bytes),
            Takes::Buffer => (MEMORY | POINTER | NULL, None),
            Takes::LocalMemory => (LOCAL, None),
            Takes::Sampler => (SAMPLER, None),
            Takes::Image {
                dimensions,
                written,
            } => (IMAGE, Some(image(dimensions, written))),
            Takes::Unknown => (BYTES | MEMORY | POINTER | NULL, None),
            Takes::Anything => (BYTES | MEMORY | POINTER | NULL | LOCAL, None),
        };
        let bytes = bytes.unwrap_or(0);
        Self { bits, bytes }
    }

    /// Returns whether the parameter accepts the kind and size of `value`. Without this check, a driver could interpret
    /// the bytes of a number as a handle. PoCL (6.0) also accepts values of any size, and reads as many bytes as the
    /// parameter needs.
    #[inline]
    pub(crate) fn take(self, value: Argument<'_>) -> bool {
        let fits = |size| self.bytes == 0 || size == self.bytes as usize;
        let kind = match value {
            Argument::Bytes(value) => return fits(value.len()) && self.bits & BYTES != 0,
            Argument::Null => return fits(NULL_BYTES) && self.bits & NULL != 0,
            Argument::Memory(..) => MEMORY,
            Argument::Local(_) => LOCAL,
            // A kernel that only reads also accepts an image passed for writing.
            Argument::Image(given, written) => {
                let dimensions = given.shape().dimensions;
                let fits = |written| self.bytes == 0 || self.bytes == image(dimensions, written);
                return self.bits & IMAGE != 0 && (fits(false) || written && fits(true));
            }
            Argument::Sampler(_) => SAMPLER,
            Argument::Pointer(_) => POINTER,
        };
        self.bits & kind != 0
    }
}

fn image(dimensions: u8, written: bool) -> u32 {
    u32::from(dimensions) + if written { WRITTEN } else { 0 }
}

/// Describes why `value` does not match `takes`.
#[cold]
pub(crate) fn problem(value: Argument<'_>, takes: Option<Takes>) -> String {
    let sizes = match (value, takes) {
        (Argument::Bytes(value), Some(Takes::Number(bytes) | Takes::Struct(bytes))) => {
            Some(value.len()).zip(bytes)
        }
        (Argument::Null, Some(Takes::Struct(bytes))) => Some(NULL_BYTES).zip(bytes),
        _ => None,
    };
    if let Some((given, takes)) = sizes {
        return format!("has {given} bytes, but the kernel expects {takes}");
    }
    let image;
    let given = match value {
        Argument::Local(_) => "work-group memory",
        Argument::Memory(..) => "a buffer",
        Argument::Bytes(_) => "a value",
        Argument::Sampler(_) => "a sampler",
        Argument::Image(given, written) => {
            image = described(given.shape().dimensions, written);
            &image
        }
        Argument::Pointer(_) => "a pointer",
        Argument::Null => "a kernel handler",
    };
    let taken;
    let takes = match takes {
        Some(Takes::Number(_)) => "a number",
        Some(Takes::Buffer) => "a buffer",
        Some(Takes::LocalMemory) => "work-group memory",
        Some(Takes::Struct(_)) => "a struct by value",
        Some(Takes::Sampler) => "a sampler",
        Some(Takes::Image {
            dimensions,
            written,
        }) => {
            taken = described(dimensions, written);
            &taken
        }
        _ => "something else",
    };
    format!("is {given}, but the kernel expects {takes}")
}

fn described(dimensions: u8, written: bool) -> String {
    let dimensions = match dimensions {
        1 => "one dimension",
        2 => "two dimensions",
        _ => "three dimensions",
    };
    let access = if written { "write" } else { "read" };
    format!("an image of {dimensions} to {access}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_take_only_their_kinds() {
        let taken = |takes| {
            let kinds = Kinds::of(takes);
            let pointer = Argument::Pointer(0);
            [
                Argument::Bytes(&[]),
                Argument::Local(4),
                pointer,
                Argument::Null,
            ]
            .map(|argument| kinds.take(argument))
        };
        assert_eq!(taken(Takes::Number(None)), [true, false, false, false]);
        assert_eq!(taken(Takes::Struct(None)), [true, false, false, true]);
        assert_eq!(taken(Takes::Struct(Some(1))), [false; 4]);
        assert_eq!(taken(Takes::Struct(Some(8))), [false, false, false, true]);
        assert_eq!(taken(Takes::Buffer), [false, false, true, true]);
        assert_eq!(taken(Takes::LocalMemory), [false, true, false, false]);
        assert_eq!(taken(Takes::Sampler), [false; 4]);
        let image = Takes::Image {
            dimensions: 2,
            written: true,
        };
        assert_eq!(taken(image), [false; 4]);
        assert_eq!(taken(Takes::Unknown), [true, false, true, true]);
        assert_eq!(taken(Takes::Anything), [true; 4]);
    }
}
