// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameter kinds: which arguments a parameter accepts.

use std::num::NonZero;

use crate::backend::kernel::Argument;
use crate::error::counted;
use crate::load::code::KnownType;

const NULL_BYTES: usize = 8;

/// Returns whether a parameter of type `ty` accepts the kind and size of `value`. Without this check, a driver could
/// interpret the bytes of a number as a handle. PoCL (6.0) also accepts values of any size, and reads as many bytes as
/// the parameter needs, even past the end of the value. If the code does not contain the type, the parameter accepts
/// everything.
#[inline(always)]
pub(crate) fn accepts(ty: Option<KnownType>, value: Argument<'_>) -> bool {
    use KnownType::{Anything, Buffer, Image, LocalMemory, Number, Sampler, Struct, Unknown};
    let Some(ty) = ty else { return true };
    let fits = |bytes: Option<NonZero<u32>>, size: usize| {
        bytes.is_none_or(|bytes| bytes.get() as usize == size)
    };
    match value {
        Argument::Bytes(value) => match ty {
            Number(bytes) | Struct(bytes) => fits(bytes, value.len()),
            _ => matches!(ty, Unknown | Anything),
        },
        Argument::Memory(..) | Argument::Pointer(_) => matches!(ty, Buffer | Unknown | Anything),
        Argument::Local(_) => matches!(ty, LocalMemory | Anything),
        Argument::Sampler(_) => ty == Sampler,
        // Free functions take a `kernel_handler` as a struct; lambdas and functors take the pointer inside it.
        Argument::Null => match ty {
            Struct(bytes) => fits(bytes, NULL_BYTES),
            _ => matches!(ty, Buffer | Unknown | Anything),
        },
        // A kernel that only reads also accepts an image passed for writing.
        Argument::Image(given, writes) => match ty {
            Image(dimensions, written) => {
                given.shape().dimensions == dimensions && (writes || !written)
            }
            _ => false,
        },
    }
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
        let given = counted(given, "byte");
        return format!("is {given} long, but the kernel expects {ty}");
    }
    let ty: &str = match ty {
        Some(KnownType::Number(_)) => "a number",
        Some(KnownType::Buffer) => "a buffer",
        Some(KnownType::LocalMemory) => "work-group memory",
        Some(KnownType::Struct(_)) => "a struct by value",
        Some(KnownType::Sampler) => "a sampler",
        Some(KnownType::Image(dimensions, written)) => &image_kind(dimensions, written),
        _ => "something else",
    };
    format!("is {}, but the kernel expects {ty}", kind(value))
}

pub(crate) fn kind(value: Argument<'_>) -> String {
    let kind: &str = match value {
        Argument::Local(_) => "work-group memory",
        Argument::Memory(..) => "a buffer",
        Argument::Bytes(_) => "a value",
        Argument::Sampler(_) => "a sampler",
        Argument::Image(image, written) => &image_kind(image.shape().dimensions, written),
        Argument::Pointer(_) => "a pointer",
        Argument::Null => "a kernel handler",
    };
    kind.to_owned()
}

fn image_kind(dimensions: u8, written: bool) -> String {
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
    use crate::common;

    #[test]
    fn parameters_take_only_their_kinds() {
        let taken = |ty| {
            [
                Argument::Bytes(&[]),
                Argument::Local(4),
                Argument::Pointer(0),
                Argument::Null,
            ]
            .map(|argument| accepts(Some(ty), argument))
        };
        let bytes = NonZero::new;
        assert_eq!(taken(KnownType::Number(None)), [true, false, false, false]);
        assert_eq!(taken(KnownType::Struct(None)), [true, false, false, true]);
        assert_eq!(taken(KnownType::Struct(bytes(1))), [false; 4]);
        assert_eq!(
            taken(KnownType::Struct(bytes(8))),
            [false, false, false, true]
        );
        assert_eq!(taken(KnownType::Buffer), [false, false, true, true]);
        assert_eq!(taken(KnownType::LocalMemory), [false, true, false, false]);
        assert_eq!(taken(KnownType::Sampler), [false; 4]);
        let image = KnownType::Image(2, true);
        assert_eq!(taken(image), [false; 4]);
        assert_eq!(taken(KnownType::Unknown), [true, false, true, true]);
        assert_eq!(taken(KnownType::Anything), [true; 4]);
        assert!(accepts(None, Argument::Local(4)));
    }

    #[test]
    fn refused_argument_error_names_the_expected_kind() {
        let four = NonZero::new(4);
        for (ty, expected) in [
            (KnownType::Number(four), "a number"),
            (KnownType::Buffer, "a buffer"),
            (KnownType::Struct(four), "a struct by value"),
            (KnownType::Sampler, "a sampler"),
            (
                KnownType::Image(2, true),
                "a two-dimensional image for writing",
            ),
            (
                KnownType::Image(3, false),
                "a three-dimensional image for reading",
            ),
        ] {
            assert_eq!(
                problem(Argument::Local(4), Some(ty)),
                format!("is work-group memory, but the kernel expects {expected}")
            );
        }
        assert_eq!(
            problem(Argument::Pointer(0), Some(KnownType::LocalMemory)),
            "is a pointer, but the kernel expects work-group memory"
        );
    }

    #[test]
    fn images_fit_by_dimensions_and_access() -> crate::Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let image = match crate::Image::<2, crate::format::Rgba<u8>>::zeroed(&queue, [1, 1]) {
            Err(error) if error.kind() == crate::ErrorKind::Unsupported => {
                common::say_skipped(&error.to_string());
                return Ok(());
            }
            image => image?,
        };
        let taken = |writes| {
            [
                KnownType::Image(2, false),
                KnownType::Image(2, true),
                KnownType::Image(1, false),
                KnownType::Image(3, true),
                KnownType::Sampler,
                KnownType::Buffer,
            ]
            .map(|ty| accepts(Some(ty), Argument::Image(&image.raw, writes)))
        };
        assert_eq!(taken(true), [true, true, false, false, false, false]);
        assert_eq!(taken(false), [true, false, false, false, false, false]);
        Ok(())
    }
}
