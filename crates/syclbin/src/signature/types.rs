// SPDX-License-Identifier: MIT OR Apache-2.0
//! The types of kernel parameters and of elements in memory.

use crate::prelude::*;

/// The number of arguments of an accessor: a pointer, two ranges and an id.
pub(super) const OF_ACCESSOR: usize = 4;

/// The type of a parameter.
///
/// The type enums are exhaustive, because code generators must handle every variant. A new variant requires a new
/// major version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Type {
    /// An element passed by value: a scalar, an enumeration, a vector, an array or a struct. An array represents a
    /// `sycl::marray`, a `std::array`, a `sycl::id` or `sycl::range` (`u64`, in SYCL order), or an array in a functor.
    Value(Element),
    /// A pointer to device memory.
    Pointer {
        /// The type that the pointer points to, if known.
        pointee: Pointee,
        /// Whether the kernel writes through the pointer.
        access: Access,
    },
    /// Memory that a work-group shares (`work_group_memory`, `dynamic_work_group_memory`).
    LocalMemory {
        /// The element type.
        element: Pointee,
        /// The size in bytes. `None` if the launch sets the size, because the size is dynamic or the file does not
        /// record it.
        size: Option<u64>,
    },
    /// `sycl::local_accessor`: memory that a work-group shares, sized at launch. The compiler passes it as four kernel
    /// arguments: the pointer, two ranges and an id.
    LocalAccessor {
        /// The element type.
        element: Pointee,
        /// The number of dimensions, 0 to 3. `None` if the compiler removed the ranges and no declaration is
        /// available.
        dimensions: Option<u8>,
    },
    /// `sycl::accessor` for a buffer. The compiler passes it as four kernel arguments: the pointer, the access range,
    /// the memory range and the access offset.
    Accessor {
        /// The element type of the buffer.
        element: Pointee,
        /// The number of dimensions, 1 to 3.
        dimensions: u8,
        /// Whether the kernel writes through the accessor.
        access: Access,
    },
    /// `sycl::accessor` for an image (`sycl::target::image`), passed as one argument. An image array
    /// (`sycl::target::image_array`) is an image with one more dimension.
    Image {
        /// The type of the pixel components in the kernel: `float`, `int` or `unsigned int`. `None` if the file
        /// does not record the type.
        element: Option<Scalar>,
        /// The number of dimensions, 1 to 3.
        dimensions: u8,
        /// Whether the kernel reads or writes the image.
        access: Access,
    },
    /// `sycl::sampler`.
    Sampler,
    /// `sycl::kernel_handler`: a pointer to the values of specialization constants, or null if the code
    /// contains the values.
    KernelHandler,
    /// A parameter that callers do not pass: an object without members, or a removed argument without a
    /// description. If the code still expects an argument, any byte is valid.
    Unused,
}

/// The type of an element in memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    /// A scalar.
    Scalar(Scalar),
    /// An enumeration, stored as its underlying integer.
    Enum(Enum),
    /// `sycl::vec`.
    Vector {
        /// The element type.
        of: Scalar,
        /// The number of elements. Three elements occupy the space of four.
        count: u32,
    },
    /// Consecutive elements of one type.
    Array {
        /// The element type.
        of: Box<Self>,
        /// The number of elements.
        count: u64,
    },
    /// A struct.
    Struct(StructId),
    /// An 8-byte pointer, and its pointee: a scalar, an enumeration, a vector, `void`, or an unknown type. A pointee
    /// struct is recorded only by name.
    Pointer(Box<Pointee>),
    /// Bytes with unknown content: a union, bit-fields, or a type without a description.
    Bytes(u64),
}

/// The pointee of a pointer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pointee {
    /// Elements of a known type.
    Element(Element),
    /// The pointee of `void *`.
    Void,
    /// A type that the file does not describe, with its C++ name if known.
    Unknown(Option<String>),
}

/// A C++ enumeration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Enum {
    /// The C++ name, such as `ns::Mode`.
    pub name: String,
    /// The underlying integer type.
    pub of: Scalar,
}

/// How a kernel accesses memory through a pointer or accessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Only reads: the pointee is `const`, or analysis proved that the kernel never writes.
    Read,
    /// May write.
    ReadWrite,
}

/// A scalar type. `long` is 64 bits wide, as on every platform except Windows. If debug information records 32 bits,
/// the type is `int`. If only the code uses a different size, it contradicts the declaration, and the kernel is
/// reported as [`Unsupported`](super::Unsupported).
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
    /// Returns the element that is passed by value, or `None` for memory and SYCL objects.
    #[must_use]
    pub const fn value(&self) -> Option<&Element> {
        match self {
            Self::Value(element) => Some(element),
            _ => None,
        }
    }

    /// Returns the parameter type that passes `element` by value, if possible.
    pub(super) fn by_value(element: Element) -> Option<Self> {
        let is_passed = !matches!(element, Element::Pointer(_) | Element::Bytes(_));
        is_passed.then_some(Self::Value(element))
    }

    /// Returns the pointee of a pointer, a buffer accessor or work-group memory.
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

    /// Returns the number of arguments that a parameter of this type occupies in the compiled kernel.
    pub(super) const fn arguments(&self) -> usize {
        match self {
            Self::Accessor { .. } | Self::LocalAccessor { .. } => OF_ACCESSOR,
            _ => 1,
        }
    }

    /// Returns the number of dimensions of a buffer, image or local accessor, if known.
    #[must_use]
    pub const fn dimensions(&self) -> Option<u8> {
        match self {
            Self::LocalAccessor { dimensions, .. } => *dimensions,
            Self::Accessor { dimensions, .. } | Self::Image { dimensions, .. } => Some(*dimensions),
            _ => None,
        }
    }

    /// Returns the size in bytes of each range and of the id that an accessor passes.
    pub(super) fn range_size(&self) -> Option<u64> {
        // A zero-dimensional accessor passes a one-dimensional range.
        Some(u64::from(self.dimensions()?.max(1)) * 8)
    }

    /// Returns how the kernel accesses a pointer, buffer or image.
    #[must_use]
    pub const fn access(&self) -> Option<Access> {
        match self {
            Self::Pointer { access, .. }
            | Self::Accessor { access, .. }
            | Self::Image { access, .. } => Some(*access),
            _ => None,
        }
    }

    /// Returns the struct that the type is, contains or points to.
    #[must_use]
    pub fn structure(&self) -> Option<StructId> {
        match self.pointee() {
            Some(Pointee::Element(element)) => element.structure(),
            Some(_) => None,
            None => self.value()?.structure(),
        }
    }
}

impl Element {
    pub(super) fn array(of: Self, count: u64) -> Self {
        let of = Box::new(of);
        Self::Array { of, count }
    }

    /// Returns the struct, if this is a struct or an array of structs.
    #[must_use]
    #[doc(hidden)]
    pub fn structure(&self) -> Option<StructId> {
        match self {
            Self::Struct(id) => Some(*id),
            Self::Array { of, .. } => of.structure(),
            _ => None,
        }
    }
}

impl Pointee {
    /// Returns the innermost element type of nested arrays, or the pointee itself.
    pub(super) fn innermost(self) -> Self {
        match self {
            Self::Element(Element::Array { of, .. }) => Self::Element(*of).innermost(),
            pointee => pointee,
        }
    }
}

impl Scalar {
    /// Returns the size in bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 8,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 16,
            Self::I32 | Self::U32 | Self::F32 => 32,
            Self::I64 | Self::U64 | Self::F64 => 64,
        }
    }

    /// Returns the size in bytes.
    #[must_use]
    pub const fn size(self) -> u64 {
        (self.bits() / 8) as u64
    }

    /// Returns whether the type is a floating-point type.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::BF16 | Self::F32 | Self::F64)
    }

    /// Returns the C++ name. For an integer, this is the built-in type rather than a typedef such as `int32_t`.
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

    pub(super) fn integer(bits: u32, signed: bool) -> Option<Self> {
        let all = if signed {
            [Self::I8, Self::I16, Self::I32, Self::I64]
        } else {
            [Self::U8, Self::U16, Self::U32, Self::U64]
        };
        all.into_iter().find(|scalar| scalar.bits() == bits)
    }

    pub(super) const fn float(bits: u32, bfloat: bool) -> Option<Self> {
        match (bits, bfloat) {
            (16, false) => Some(Self::F16),
            (16, true) => Some(Self::BF16),
            (32, false) => Some(Self::F32),
            (64, false) => Some(Self::F64),
            _ => None,
        }
    }
}

/// Identifies a struct in the [`Layouts`] of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StructId(pub(super) usize);

/// The layout of a struct.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Layout {
    /// The name. If the struct is [`described`](Self::described), this is the C++ spelling, such as
    /// `ns::Pair<int, 2>`. Otherwise, it is the name in the code without template arguments. Such a name may be empty,
    /// or shared by several structs.
    pub name: String,
    /// The size in bytes, including trailing padding.
    pub size: u64,
    /// The alignment in bytes. For a type with `alignas` that is used only inside other structs, the actual
    /// alignment may be larger.
    pub align: u64,
    /// The members, sorted by offset.
    pub fields: Vec<Field>,
    /// Whether the layout was read from a C++ description. If not, it was derived from the code: members have
    /// no names, padding appears as bytes, and [`Field::sign_known`] may be false.
    pub described: bool,
}

/// A member of a struct.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Field {
    /// The name, or `None` if the file does not record it. A base class appears as a member named after the class.
    pub name: Option<String>,
    /// The offset in the struct, in bytes.
    pub offset: u64,
    /// The type.
    pub ty: Element,
    /// Whether the file distinguishes signed from unsigned integers. If not, integers are assumed to be signed.
    pub sign_known: bool,
}

/// All structs that the kernels and variables in a file use, without duplicates. A struct follows the structs that it
/// contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layouts {
    pub(super) list: Vec<Layout>,
    places: BTreeMap<Layout, StructId>,
}

impl Field {
    /// Creates a member without a name.
    pub(super) const fn unnamed(offset: u64, ty: Element, sign_known: bool) -> Self {
        Self {
            name: None,
            offset,
            ty,
            sign_known,
        }
    }
}

impl Layout {
    /// Creates a layout that was derived from the code.
    pub(super) fn of_code(name: &str, size: u64, align: u64, fields: Vec<Field>) -> Self {
        Self {
            name: name.into(),
            size,
            align,
            fields,
            described: false,
        }
    }
}

impl Layouts {
    /// Returns the struct `id`, if it belongs to this file.
    #[must_use]
    pub fn get(&self, id: StructId) -> Option<&Layout> {
        self.list.get(id.0)
    }

    /// Returns the members of the struct `id`.
    pub(super) fn fields(&self, id: StructId) -> &[Field] {
        self.get(id).map_or(&[], |layout| &layout.fields)
    }

    /// Returns all structs. A struct follows the structs that it contains.
    pub fn iter(&self) -> impl Iterator<Item = (StructId, &Layout)> {
        let numbered = self.list.iter().enumerate();
        numbered.map(|(index, layout)| (StructId(index), layout))
    }

    /// Adds a struct and returns its id, or returns the id of an equal struct.
    pub(super) fn insert(&mut self, layout: Layout) -> StructId {
        if let Some(id) = self.places.get(&layout) {
            return *id;
        }
        let id = StructId(self.list.len());
        self.list.push(layout.clone());
        self.places.insert(layout, id);
        id
    }

    /// Raises the alignment of a struct to `align`, if the size is a multiple of `align`.
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

    /// Returns the size of `element` in bytes, or `None` if the size does not fit into 64 bits, or if the element
    /// contains a struct from another file.
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
            // Vectors are aligned to their size, up to 64 bytes.
            Element::Vector { .. } => self.size(element).unwrap_or(1).clamp(1, 64),
            Element::Scalar(_) | Element::Enum(_) => self.size(element).unwrap_or(1),
            Element::Array { of, .. } => self.align(of),
            Element::Struct(id) => self.get(*id).map_or(1, |layout| layout.align),
            Element::Pointer(_) => 8,
            Element::Bytes(_) => 1,
        }
    }
}
