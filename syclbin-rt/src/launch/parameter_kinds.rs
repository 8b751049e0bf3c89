// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameter kinds: the kinds of arguments that a parameter accepts, determined once per kernel rather than at each
//! launch.

use crate::backend::kernel::Argument;
use crate::load::code::KnownType;

#[derive(Clone, Copy)]
pub(crate) struct AcceptedKinds {
    /// One bit for each kind.
    bits: u8,
    /// The size of the value in bytes; 0 if the code does not specify it. For an image, the number of dimensions,
    /// plus [`WRITTEN`] if the kernel writes it.
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

const NULL_BYTES: usize = 8;

impl AcceptedKinds {
    /// Accepts every kind, for a parameter of unknown type.
    pub(crate) const ALL: Self = Self {
        bits: u8::MAX,
        bytes: 0,
    };

    pub(crate) fn of(ty: KnownType) -> Self {
        // Free functions take a `kernel_handler` as a struct; lambdas and functors take the pointer inside it.
        let (bits, bytes) = match ty {
            KnownType::Number(bytes) => (BYTES, bytes),
            KnownType::Struct(bytes) => (BYTES | NULL, bytes),
            KnownType::Buffer => (MEMORY | POINTER | NULL, None),
            KnownType::LocalMemory => (LOCAL, None),
            KnownType::Sampler => (SAMPLER, None),
            KnownType::Image {
                dimensions,
                written,
            } => (IMAGE, Some(image(dimensions, written))),
            KnownType::Unknown => (BYTES | MEMORY | POINTER | NULL, None),
            KnownType::Anything => (BYTES | MEMORY | POINTER | NULL | LOCAL, None),
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

#[cold]
pub(crate) fn problem(value: Argument<'_>, ty: Option<KnownType>) -> String {
    let sizes = match (value, ty) {
        (Argument::Bytes(value), Some(KnownType::Number(bytes) | KnownType::Struct(bytes))) => {
            Some(value.len()).zip(bytes)
        }
        (Argument::Null, Some(KnownType::Struct(bytes))) => Some(NULL_BYTES).zip(bytes),
        _ => None,
    };
    if let Some((given, ty)) = sizes {
        let s = if given == 1 { "" } else { "s" };
        return format!("has {given} byte{s}, but the kernel expects {ty}");
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
    let ty = match ty {
        Some(KnownType::Number(_)) => "a number",
        Some(KnownType::Buffer) => "a buffer",
        Some(KnownType::LocalMemory) => "work-group memory",
        Some(KnownType::Struct(_)) => "a struct by value",
        Some(KnownType::Sampler) => "a sampler",
        Some(KnownType::Image {
            dimensions,
            written,
        }) => {
            taken = described(dimensions, written);
            &taken
        }
        _ => "something else",
    };
    format!("is {given}, but the kernel expects {ty}")
}

fn described(dimensions: u8, written: bool) -> String {
    let dimensions = match dimensions {
        1 => "one-dimensional",
        2 => "two-dimensional",
        _ => "three-dimensional",
    };
    let access = if written { "writing" } else { "reading" };
    format!("a {dimensions} image for {access}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_take_only_their_kinds() {
        let taken = |ty| {
            let kinds = AcceptedKinds::of(ty);
            let pointer = Argument::Pointer(0);
            [
                Argument::Bytes(&[]),
                Argument::Local(4),
                pointer,
                Argument::Null,
            ]
            .map(|argument| kinds.take(argument))
        };
        assert_eq!(taken(KnownType::Number(None)), [true, false, false, false]);
        assert_eq!(taken(KnownType::Struct(None)), [true, false, false, true]);
        assert_eq!(taken(KnownType::Struct(Some(1))), [false; 4]);
        assert_eq!(
            taken(KnownType::Struct(Some(8))),
            [false, false, false, true]
        );
        assert_eq!(taken(KnownType::Buffer), [false, false, true, true]);
        assert_eq!(taken(KnownType::LocalMemory), [false, true, false, false]);
        assert_eq!(taken(KnownType::Sampler), [false; 4]);
        let image = KnownType::Image {
            dimensions: 2,
            written: true,
        };
        assert_eq!(taken(image), [false; 4]);
        assert_eq!(taken(KnownType::Unknown), [true, false, true, true]);
        assert_eq!(taken(KnownType::Anything), [true; 4]);
    }
}
