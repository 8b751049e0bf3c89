// SPDX-License-Identifier: MIT OR Apache-2.0
//! Encodes and decodes descriptions. Numbers are LEB128. Strings and lists are prefixed with their length. An
//! enumeration is encoded as the variant number, followed by the variant's fields.

use crate::prelude::*;
use crate::signature::names::Names;
use crate::signature::spell::{Declaration, DeclaredParameter};
use crate::signature::types::{
    Access, Element, Enum, Field, Layout, Pointee, Scalar, StructId, Type,
};
use crate::signature::{Argument, Parameter, Unsupported};

/// The maximum nesting depth of types. Values with deeper types are rejected as damaged.
const MAX_DEPTH: usize = 64;

pub(super) struct Writer {
    pub(super) bytes: Vec<u8>,
    /// The index of each struct in this value.
    pub(super) structs: BTreeMap<StructId, u64>,
}

pub(super) struct Reader<'v> {
    /// The bytes that have not been read.
    pub(super) bytes: &'v [u8],
    depth: usize,
    /// Receives the structs.
    pub(super) names: &'v mut Names,
    /// The structs in this value, by index.
    structs: Vec<StructId>,
}

impl<'v> Reader<'v> {
    pub(super) fn new(bytes: &'v [u8], names: &'v mut Names) -> Self {
        Self {
            bytes,
            depth: MAX_DEPTH,
            names,
            structs: Vec::new(),
        }
    }

    /// Reads the structs at the start of a value.
    pub(super) fn structs(&mut self) -> Option<()> {
        for _ in 0..self.count()? {
            let layout =
                Layout::read(self).filter(|layout| layout.is_sound(&self.names.layouts))?;
            let id = self.names.import(layout);
            self.structs.push(id);
        }
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    /// Reads the number of bytes or items that follow. Rejects a number greater than the number of remaining bytes,
    /// because every item occupies at least one byte.
    fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(u64::read(self)?).ok()?;
        (count <= self.bytes.len()).then_some(count)
    }
}

pub(super) trait Coded: Sized {
    fn write(&self, to: &mut Writer);
    fn read(from: &mut Reader<'_>) -> Option<Self>;
}

impl Coded for u64 {
    fn write(&self, to: &mut Writer) {
        let mut left = *self;
        while left > 0x7f {
            to.bytes.push(left.to_le_bytes()[0] | 0x80);
            left >>= 7;
        }
        to.bytes.push(left.to_le_bytes()[0]);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let mut number = 0;
        for shift in (0..Self::BITS).step_by(7) {
            let byte = from.byte()?;
            let bits = Self::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Coded for $number {
            fn write(&self, to: &mut Writer) {
                u64::from(*self).write(to);
            }

            fn read(from: &mut Reader<'_>) -> Option<Self> {
                u64::read(from)?.try_into().ok()
            }
        }
    )*};
}
numbers!(u8, u32);

impl Coded for bool {
    fn write(&self, to: &mut Writer) {
        to.bytes.push((*self).into());
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        match from.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Coded for String {
    fn write(&self, to: &mut Writer) {
        (self.len() as u64).write(to);
        to.bytes.extend(self.as_bytes());
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let count = from.count()?;
        let (text, rest) = from.bytes.split_at_checked(count)?;
        from.bytes = rest;
        core::str::from_utf8(text).ok().map(ToOwned::to_owned)
    }
}

impl<T: Coded> Coded for Vec<T> {
    fn write(&self, to: &mut Writer) {
        (self.len() as u64).write(to);
        for item in self {
            item.write(to);
        }
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        (0..from.count()?).map(|_| T::read(from)).collect()
    }
}

impl<T: Coded> Coded for Box<T> {
    fn write(&self, to: &mut Writer) {
        (**self).write(to);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        from.depth = from.depth.checked_sub(1)?;
        let inner = T::read(from)?;
        from.depth += 1;
        Some(Self::new(inner))
    }
}

impl<T: Coded, U: Coded> Coded for (T, U) {
    fn write(&self, to: &mut Writer) {
        self.0.write(to);
        self.1.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some((T::read(from)?, U::read(from)?))
    }
}

impl Coded for StructId {
    fn write(&self, to: &mut Writer) {
        to.structs.get(self).copied().unwrap_or(u64::MAX).write(to);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let index = usize::try_from(u64::read(from)?).ok()?;
        from.structs.get(index).copied()
    }
}

/// Encodes structs as their fields, in order.
macro_rules! structs {
    ($($name:ident { $($field:ident),* })*) => {$(
        impl Coded for $name {
            fn write(&self, to: &mut Writer) {
                $(self.$field.write(to);)*
            }

            fn read(from: &mut Reader<'_>) -> Option<Self> {
                Some(Self { $($field: Coded::read(from)?),* })
            }
        }
    )*};
}

structs! {
    Declaration { name, parameters }
    DeclaredParameter { ty, name }
    Enum { name, of }
    Field { name, offset, ty, sign_known }
    Layout { name, size, align, fields, described }
    Parameter { name, ty, sign_known, align, arguments }
    Unsupported { reason, no_kernel }
}

/// Encodes enumerations as the variant number, followed by the variant's fields. Variant numbers must never change.
macro_rules! enums {
    ($($name:ident $(<$($of:ident),*>)? {
        $($number:literal = $variant:ident $(($value:ident))? $({ $($field:ident),* })?,)*
    })*) => {$(
        impl$(<$($of: Coded),*>)? Coded for $name$(<$($of),*>)? {
            fn write(&self, to: &mut Writer) {
                match self {$(
                    Self::$variant $(($value))? $({ $($field),* })? => {
                        to.bytes.push($number);
                        $($value.write(to);)?
                        $($($field.write(to);)*)?
                    }
                )*}
            }

            fn read(from: &mut Reader<'_>) -> Option<Self> {
                Some(match from.byte()? {
                    $($number => {
                        $(let $value = Coded::read(from)?;)?
                        $($(let $field = Coded::read(from)?;)*)?
                        Self::$variant $(($value))? $({ $($field),* })?
                    })*
                    _ => return None,
                })
            }
        }
    )*};
}

enums! {
    Option<T> {
        0 = None,
        1 = Some(value),
    }
    Result<T, E> {
        0 = Err(reason),
        1 = Ok(value),
    }
    Access {
        0 = Read,
        1 = ReadWrite,
    }
    Argument {
        0 = Passed,
        1 = Removed,
    }
    Scalar {
        0 = Bool,
        1 = I8,
        2 = U8,
        3 = I16,
        4 = U16,
        5 = I32,
        6 = U32,
        7 = I64,
        8 = U64,
        9 = F16,
        10 = BF16,
        11 = F32,
        12 = F64,
    }
    Pointee {
        0 = Element(element),
        1 = Void,
        2 = Unknown(name),
    }
    Element {
        0 = Scalar(scalar),
        1 = Enum(of),
        2 = Vector { of, count },
        3 = Array { of, count },
        4 = Struct(id),
        5 = Pointer(to),
        6 = Bytes(size),
    }
    Type {
        0 = Value(element),
        1 = Pointer { pointee, access },
        2 = LocalMemory { element, size },
        3 = LocalAccessor { element, dimensions },
        4 = Accessor { element, dimensions, access },
        5 = Image { element, dimensions, access },
        6 = Sampler,
        7 = KernelHandler,
        8 = Unused,
    }
}
