// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares the parameters of PTX kernels with their declaration, or infers them from the PTX alone.
//!
//! PTX records sizes, but does not always distinguish signed from unsigned integers, or pointers from integers.
//! Unknown signedness, pointees and members are marked as such. Any other ambiguity makes a kernel unsupported.

use crate::prelude::*;
use crate::ptx::{Kind, Passed, Space};

use super::types::{Access, Element, Enum, Field, Layout, Layouts, Pointee, Scalar, Type};
use super::{Unsupported, unsupported};

/// Checks that PTX arguments match a parameter of type `ty`, and otherwise fails with the first mismatched argument.
/// Arguments that the compiler removed are `None`, and match any type.
pub(super) fn agree(ty: &Type, passed: &[Option<Passed>], layouts: &Layouts) -> Result<(), Passed> {
    let [first, ranges @ ..] = passed else {
        return Ok(());
    };
    if let Some(first) = first {
        let same = match ty {
            Type::Value(Element::Scalar(of) | Element::Enum(Enum { of, .. })) => {
                is_scalar(*first, *of)
            }
            Type::Value(value) => is_bytes(*first, layouts.size(value)),
            Type::Pointer { .. } | Type::Accessor { .. } => is_pointer(*first),
            Type::LocalMemory { .. } | Type::LocalAccessor { .. } => is_local(*first),
            Type::KernelHandler => is_pointer(*first) || is_bytes(*first, Some(8)),
            // A texture or surface handle.
            Type::Image { .. } => is_scalar(*first, Scalar::U64),
            Type::Sampler | Type::Unused => true,
        };
        if !same {
            return Err(*first);
        }
    }
    let Some(size) = ty.range_size() else {
        return Ok(());
    };
    let mut ranges = ranges.iter().flatten();
    let other = ranges.find(|range| !is_bytes(**range, Some(size)));
    other.map_or(Ok(()), |other| Err(*other))
}

fn is_scalar(passed: Passed, scalar: Scalar) -> bool {
    match passed {
        Passed::Number { kind, bits } => {
            let same = match kind {
                Kind::Float => scalar.is_float(),
                // A 16-bit float may be passed as an integer.
                Kind::Unsigned | Kind::Signed => !scalar.is_float() || bits == 16,
                Kind::Bits => true,
            };
            same && bits == scalar.bits()
        }
        Passed::Bytes { size, .. } => scalar.is_float() && scalar.bits() == 16 && size == 2,
        Passed::Pointer { .. } | Passed::Other => false,
    }
}

fn is_bytes(passed: Passed, expected: Option<u64>) -> bool {
    matches!(passed, Passed::Bytes { size, .. } if Some(size) == expected)
}

fn is_pointer(passed: Passed) -> bool {
    match passed {
        Passed::Pointer { space, .. } => matches!(space, None | Some(Space::Global)),
        Passed::Number { kind, bits } => is_untyped(kind) && bits == 64,
        Passed::Bytes { .. } | Passed::Other => false,
    }
}

/// Returns whether a number of this kind may be an address.
const fn is_untyped(kind: Kind) -> bool {
    matches!(kind, Kind::Unsigned | Kind::Bits)
}

/// Returns whether the argument can address work-group memory, as a pointer or as an offset.
fn is_local(passed: Passed) -> bool {
    match passed {
        Passed::Pointer { space, .. } => space == Some(Space::Shared),
        Passed::Number { kind, bits } => is_untyped(kind) && matches!(bits, 32 | 64),
        Passed::Bytes { .. } | Passed::Other => false,
    }
}

/// Infers the type of a parameter from its PTX type, because the C++ type has no definition. Also returns whether the
/// signedness is known.
pub(super) fn named(
    name: &str,
    passed: Passed,
    layouts: &mut Layouts,
) -> Result<(Type, bool), Unsupported> {
    match passed {
        Passed::Number { kind, bits } if matches!(kind, Kind::Unsigned | Kind::Signed) => {
            let of = Scalar::integer(bits, true).ok_or_else(|| other(passed))?;
            let name = name.into();
            let ty = Type::Value(Element::Enum(Enum { name, of }));
            Ok((ty, kind == Kind::Signed))
        }
        Passed::Bytes { size, align } => Ok((bytes(name, size, align, layouts), true)),
        _ => unsupported(format!(
            "`{name}` has no definition, and its PTX type ({passed}) does not determine its layout"
        )),
    }
}

/// Returns a struct whose members are unknown.
pub(super) fn bytes(name: &str, size: u64, align: u64, layouts: &mut Layouts) -> Type {
    let fields = vec![Field::unnamed(0, Element::Bytes(size), true)];
    let layout = Layout::of_code(name, size, align, fields);
    Type::Value(Element::Struct(layouts.insert(layout)))
}

/// Infers the type of a parameter, and whether its signedness is known, from the PTX alone. If `shared` is true,
/// numbers may be offsets into work-group memory.
pub(super) fn undeclared(
    passed: Passed,
    shared: bool,
    layouts: &mut Layouts,
) -> Result<(Type, bool), Unsupported> {
    let either = |what: &str| {
        unsupported(format!(
            "{passed} could be {what}, and no declaration specifies which"
        ))
    };
    let number = |scalar: Option<Scalar>| {
        let scalar = scalar.ok_or_else(|| other(passed))?;
        Ok::<_, Unsupported>(Type::Value(Element::Scalar(scalar)))
    };
    Ok(match passed {
        Passed::Number { kind, bits } => match (kind, bits) {
            (Kind::Float, _) => (number(Scalar::float(bits, false))?, true),
            (Kind::Signed, _) => (number(Scalar::integer(bits, true))?, true),
            (_, 64) => return either("an integer or a pointer"),
            (_, 32) if shared => return either("a number or work-group memory"),
            (Kind::Bits, 16 | 32) => return either("an integer or a floating-point number"),
            _ => (number(Scalar::integer(bits, true))?, false),
        },
        Passed::Pointer { space, .. } => match space {
            None | Some(Space::Global) => {
                let (pointee, access) = (Pointee::Unknown(None), Access::ReadWrite);
                (Type::Pointer { pointee, access }, true)
            }
            Some(Space::Shared) => {
                let (element, size) = (Pointee::Unknown(None), None);
                (Type::LocalMemory { element, size }, true)
            }
            Some(_) => return Err(other(passed)),
        },
        Passed::Bytes { size, align } => (bytes("", size, align, layouts), true),
        Passed::Other => return Err(other(passed)),
    })
}

fn other(passed: Passed) -> Unsupported {
    Unsupported::new(format!("its PTX type ({passed}) is not supported"))
}
