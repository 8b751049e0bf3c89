// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is passed to kernels and what memory holds: numbers, structs and their layouts, pointers.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// What is passed for a parameter.
///
/// The enums of types are exhaustive, because generated code depends on every variant. A new variant is a new
/// major version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Type {
    /// A number.
    Scalar(Scalar),
    /// An enumeration of C++, passed as the integer under it.
    Enum(Enum),
    /// `sycl::vec` by value.
    Vector {
        /// What it has.
        of: Scalar,
        /// How many: 1, 2, 3, 4, 8 or 16. Three take the space of four.
        count: u32,
    },
    /// Equal elements by value: `sycl::marray`, `sycl::id` and `sycl::range` (of `u64`, in SYCL's
    /// order), or an array in a functor.
    Array {
        /// What it has.
        of: Element,
        /// How many.
        count: u64,
    },
    /// A struct by value.
    Struct(StructId),
    /// A pointer to device memory.
    Pointer {
        /// What it points to.
        pointee: Pointee,
        /// Whether the kernel writes through it.
        access: Access,
    },
    /// Memory that a work-group shares (`work_group_memory`, `dynamic_work_group_memory`).
    LocalMemory {
        /// What it holds.
        element: Pointee,
        /// Its bytes. `None` if the launch gives them: it is dynamic, or the file does not tell.
        size: Option<u64>,
    },
    /// `sycl::local_accessor`: memory that a work-group shares, sized at launch. Four arguments in
    /// the code: the pointer, two ranges and an id.
    LocalAccessor {
        /// What it holds.
        element: Pointee,
        /// One to three; `None` where the compiler removed the ranges and no declaration tells.
        dimensions: Option<u8>,
    },
    /// `sycl::accessor` of a buffer. Four arguments in the code: the pointer, the range of access,
    /// the range of the memory and the id where access begins.
    Accessor {
        /// What the buffer holds.
        element: Pointee,
        /// One to three.
        dimensions: u8,
        /// Whether the kernel writes through it.
        access: Access,
    },
    /// `sycl::accessor` of an image (`sycl::target::image`), which the device takes as one argument. An array of
    /// images (`sycl::target::image_array`) is an image with one more dimension.
    Image {
        /// The components of its pixels, as the kernel has them: `float`, `int` or `unsigned int`. `None` if
        /// the file does not tell.
        element: Option<Scalar>,
        /// One to three.
        dimensions: u8,
        /// Whether the kernel writes it. A kernel that writes an image does not read it.
        access: Access,
    },
    /// `sycl::sampler`.
    Sampler,
    /// `sycl::kernel_handler`: a pointer to the values of specialization constants, null where they
    /// are set in the code.
    KernelHandler,
    /// What no launch has to pass: an object without members, or an argument that the compiler removed and that
    /// nothing describes. Where the code takes it, it is a byte of any value.
    Unused,
}

/// What memory holds at a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    /// A number.
    Scalar(Scalar),
    /// An enumeration, stored as the integer under it.
    Enum(Enum),
    /// `sycl::vec`.
    Vector {
        /// What it has.
        of: Scalar,
        /// How many; three take the space of four.
        count: u32,
    },
    /// Equal elements, one after the other.
    Array {
        /// What it has.
        of: Box<Self>,
        /// How many.
        count: u64,
    },
    /// A struct.
    Struct(StructId),
    /// A pointer, 8 bytes, and what is behind it: a number, an enumeration, a vector, anything (`void *`), or
    /// something unknown. A struct, for example, only has its name.
    Pointer(Box<Pointee>),
    /// This many bytes without known content: a union, bit-fields, a type without description.
    Bytes(u64),
}

/// What a pointer points to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pointee {
    /// Elements of one kind.
    Element(Element),
    /// Anything: `void *`.
    Void,
    /// Something that the file does not describe, by its name in C++ if it has that.
    Unknown(Option<String>),
}

/// An enumeration of C++.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Enum {
    /// Its name in C++: `ns::Mode`.
    pub name: String,
    /// The integer under it.
    pub of: Scalar,
}

/// What a kernel does through a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// It only reads: the pointer is to `const`, or the compiler proved that nothing is written.
    Read,
    /// It may write.
    ReadWrite,
}

/// A number, by its size and kind. `long` has 64 bits, as on every platform but Windows; where the
/// code takes another size, the kernel is reported as contradictory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scalar {
    /// `bool`: one byte, 0 or 1.
    Bool,
    /// `signed char`, and `char`, which is signed on every SYCL device.
    I8,
    /// `unsigned char`, `std::byte`.
    U8,
    /// `short`.
    I16,
    /// `unsigned short`.
    U16,
    /// `int`.
    I32,
    /// `unsigned int`.
    U32,
    /// `long`, `long long`.
    I64,
    /// `unsigned long`, `unsigned long long`.
    U64,
    /// `sycl::half`.
    F16,
    /// `sycl::ext::oneapi::bfloat16`.
    BF16,
    /// `float`.
    F32,
    /// `double`.
    F64,
}

impl Type {
    /// Returns what it passes by value. `None` for memory and for objects of SYCL.
    #[must_use]
    pub fn value(&self) -> Option<Element> {
        Some(match self {
            Self::Scalar(of) => Element::Scalar(*of),
            Self::Enum(of) => Element::Enum(of.clone()),
            Self::Vector { of, count } => {
                let (of, count) = (*of, *count);
                Element::Vector { of, count }
            }
            Self::Array { of, count } => {
                let (of, count) = (Box::new(of.clone()), *count);
                Element::Array { of, count }
            }
            Self::Struct(id) => Element::Struct(*id),
            _ => return None,
        })
    }

    /// Returns the parameter that passes `element` by value, if there is one.
    pub(super) fn by_value(element: Element) -> Option<Self> {
        Some(match element {
            Element::Scalar(scalar) => Self::Scalar(scalar),
            Element::Enum(of) => Self::Enum(of),
            Element::Vector { of, count } => Self::Vector { of, count },
            Element::Array { of, count } => Self::Array { of: *of, count },
            Element::Struct(id) => Self::Struct(id),
            Element::Pointer(_) | Element::Bytes(_) => return None,
        })
    }

    /// Returns what the memory that it passes holds.
    #[must_use]
    pub const fn pointee(&self) -> Option<&Pointee> {
        match self {
            Self::Pointer { pointee: of, .. }
            | Self::LocalMemory { element: of, .. }
            | Self::LocalAccessor { element: of, .. }
            | Self::Accessor { element: of, .. } => Some(of),
            _ => None,
        }
    }

    /// Returns the dimensions of an accessor, where they are known.
    #[must_use]
    pub const fn dimensions(&self) -> Option<u8> {
        match self {
            Self::LocalAccessor { dimensions, .. } => *dimensions,
            Self::Accessor { dimensions, .. } | Self::Image { dimensions, .. } => Some(*dimensions),
            _ => None,
        }
    }

    /// Returns whether the kernel writes to the memory that it passes.
    #[must_use]
    pub const fn access(&self) -> Option<Access> {
        match self {
            Self::Pointer { access, .. }
            | Self::Accessor { access, .. }
            | Self::Image { access, .. } => Some(*access),
            _ => None,
        }
    }

    /// Returns the struct it is, holds or points to.
    #[must_use]
    pub fn structure(&self) -> Option<StructId> {
        match self.pointee() {
            Some(Pointee::Element(element)) => element.structure(),
            Some(_) => None,
            None => self.value()?.structure(),
        }
    }

    /// Gives a struct the number that `ids` has for it.
    pub(super) fn renumber(&mut self, ids: &[StructId]) {
        match self {
            Self::Struct(id) => *id = ids[id.0],
            Self::Array { of, .. } => of.renumber(ids),
            Self::Pointer { pointee: of, .. }
            | Self::LocalMemory { element: of, .. }
            | Self::LocalAccessor { element: of, .. }
            | Self::Accessor { element: of, .. } => {
                if let Pointee::Element(of) = of {
                    of.renumber(ids);
                }
            }
            _ => {}
        }
    }
}

impl Element {
    /// Returns the struct it is or consists of.
    pub(super) fn structure(&self) -> Option<StructId> {
        match self {
            Self::Struct(id) => Some(*id),
            Self::Array { of, .. } => of.structure(),
            _ => None,
        }
    }

    /// Gives a struct the number that `ids` has for it.
    pub(super) fn renumber(&mut self, ids: &[StructId]) {
        match self {
            Self::Struct(id) => *id = ids[id.0],
            Self::Array { of, .. } => of.renumber(ids),
            _ => {}
        }
    }
}

impl Scalar {
    /// Returns its bits in memory.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 8,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 16,
            Self::I32 | Self::U32 | Self::F32 => 32,
            Self::I64 | Self::U64 | Self::F64 => 64,
        }
    }

    /// Returns its bytes in memory.
    #[must_use]
    pub const fn size(self) -> u64 {
        (self.bits() / 8) as u64
    }

    /// Returns whether it is a floating-point number.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::BF16 | Self::F32 | Self::F64)
    }

    /// Returns its name in C++, without a typedef.
    #[must_use]
    pub const fn cpp(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "signed char",
            Self::U8 => "unsigned char",
            Self::I16 => "short",
            Self::U16 => "unsigned short",
            Self::I32 => "int",
            Self::U32 => "unsigned int",
            Self::I64 => "long",
            Self::U64 => "unsigned long",
            Self::F16 => "sycl::half",
            Self::BF16 => "sycl::ext::oneapi::bfloat16",
            Self::F32 => "float",
            Self::F64 => "double",
        }
    }

    /// Returns the integer of that many bits.
    pub(super) fn integer(bits: u32, signed: bool) -> Option<Self> {
        let all = if signed {
            [Self::I8, Self::I16, Self::I32, Self::I64]
        } else {
            [Self::U8, Self::U16, Self::U32, Self::U64]
        };
        all.into_iter().find(|scalar| scalar.bits() == bits)
    }

    pub(super) fn float(bits: u32) -> Option<Self> {
        [Self::F16, Self::F32, Self::F64]
            .into_iter()
            .find(|scalar| scalar.bits() == bits)
    }
}

/// A struct among the [`Layouts`] of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StructId(pub(super) usize);

/// The layout of a struct.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Layout {
    /// Its name. Where it is [`described`](Self::described), as C++ spells it: `ns::Pair<int, 2>`. Otherwise
    /// the name in the code, without template arguments. That name may be empty, and several structs may
    /// share it.
    pub name: String,
    /// Its bytes, with the padding at the end.
    pub size: u64,
    /// Its alignment in bytes. A type with `alignas` may have a larger one where only other structs hold it.
    pub align: u64,
    /// What it has, by offset.
    pub fields: Vec<Field>,
    /// Whether C++ described it. If not, it comes from the code: members do not have names, padding is among
    /// them as bytes, and [`Field::sign_known`] matters.
    pub described: bool,
}

/// A member of a struct.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Field {
    /// Its name; `None` where the file does not have it. A base class is a member of its own name.
    pub name: Option<String>,
    /// Bytes from the beginning of the struct.
    pub offset: u64,
    /// What it is.
    pub ty: Element,
    /// Whether the file distinguishes signed from unsigned. If not, integers are taken for signed.
    pub sign_known: bool,
}

/// All structs that the kernels of a file take, each once. A struct stands behind those it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layouts {
    list: Vec<Layout>,
    places: BTreeMap<Layout, StructId>,
}

impl Layout {
    /// Gives the structs it holds the numbers that `ids` has for them.
    pub(super) fn renumber(&mut self, ids: &[StructId]) {
        for field in &mut self.fields {
            field.ty.renumber(ids);
        }
    }
}

impl Layouts {
    /// Returns the struct `id`, if it belongs to this file.
    #[must_use]
    pub fn get(&self, id: StructId) -> Option<&Layout> {
        self.list.get(id.0)
    }

    /// Returns all structs.
    pub fn iter(&self) -> impl Iterator<Item = (StructId, &Layout)> {
        let numbered = self.list.iter().enumerate();
        numbered.map(|(index, layout)| (StructId(index), layout))
    }

    /// Returns the number of structs.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns whether there are no structs.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Adds a struct, or finds the equal one.
    pub(super) fn insert(&mut self, layout: Layout) -> StructId {
        if let Some(id) = self.places.get(&layout) {
            return *id;
        }
        let id = StructId(self.list.len());
        self.list.push(layout.clone());
        self.places.insert(layout, id);
        id
    }

    /// Aligns a struct to `align`, if that is stricter and its size allows it.
    pub(super) fn align_as(&mut self, id: StructId, align: u64) {
        if let Some(layout) = self.list.get_mut(id.0)
            && align > layout.align
            && layout.size.is_multiple_of(align)
        {
            self.places.remove(layout);
            layout.align = align;
            self.places.insert(layout.clone(), id);
        }
    }

    /// Returns all structs.
    pub(super) fn into_list(self) -> Vec<Layout> {
        self.list
    }

    /// Returns the bytes that `element` takes, or `None` if they exceed 64 bits.
    #[must_use]
    pub fn size(&self, element: &Element) -> Option<u64> {
        match element {
            Element::Scalar(scalar) => Some(scalar.size()),
            Element::Enum(of) => Some(of.of.size()),
            Element::Vector { of, count } => {
                let room = u64::from(if *count == 3 { 4 } else { *count });
                room.checked_mul(of.size())
            }
            Element::Array { of, count } => self.size(of)?.checked_mul(*count),
            Element::Struct(id) => Some(self.get(*id)?.size),
            Element::Pointer(_) => Some(8),
            Element::Bytes(size) => Some(*size),
        }
    }

    /// Returns the alignment of `element` in bytes.
    #[must_use]
    pub fn align(&self, element: &Element) -> u64 {
        match element {
            // As far as a device aligns a vector.
            Element::Vector { .. } => self.size(element).unwrap_or(1).clamp(1, 64),
            Element::Scalar(_) | Element::Enum(_) => self.size(element).unwrap_or(1),
            Element::Array { of, .. } => self.align(of),
            Element::Struct(id) => self.get(*id).map_or(1, |layout| layout.align),
            Element::Pointer(_) => 8,
            Element::Bytes(_) => 1,
        }
    }
}
