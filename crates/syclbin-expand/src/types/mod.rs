// SPDX-License-Identifier: MIT OR Apache-2.0
//! Converts the types of C++ values in memory to Rust types.

pub(crate) mod structs;

use std::collections::BTreeMap;

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, quote};
use syclbin::signature::{Element, Field, Layout, Layouts, Pointee, Scalar, StructId, Type};

/// The maximum alignment that `repr(align)` supports.
const MOST_ALIGN: u64 = 1 << 29;

/// The maximum number of `bool`s in the arguments of a safe launch, or in a specialization constant. It limits the cost
/// of the checks, because each `bool` is checked.
pub(crate) const MOST_BOOLS: usize = 64;

pub(crate) struct Types<'f> {
    pub(crate) layouts: &'f Layouts,
    pub(crate) paths: BTreeMap<StructId, TypePath>,
    facts: BTreeMap<StructId, Facts>,
}

/// The properties of a struct that follow from its members.
#[derive(Clone, Copy, Default)]
struct Facts {
    /// Whether a member's offset or the struct's size is not a multiple of the alignment that Rust requires.
    packed: bool,
    /// The alignment of the Rust struct.
    align: u64,
    /// Whether `alignas` raises the alignment above that of the members.
    over_aligned: bool,
    /// Whether the struct is or contains an over-aligned struct, which Rust does not allow in a packed struct.
    holds_over_aligned: bool,
    /// Whether the struct contains device addresses.
    holds_pointer: bool,
    holds_bool: bool,
}

pub(crate) enum TypePath {
    /// The user's own type.
    Own(syn::Path),
    /// The modules and name of a generated type, relative to the generated module.
    Generated(Vec<Ident>),
}

impl<'f> Types<'f> {
    pub(crate) fn new(layouts: &'f Layouts) -> Self {
        let mut types = Self {
            layouts,
            paths: BTreeMap::new(),
            facts: BTreeMap::new(),
        };
        if !types.measure_all(true) {
            types.measure_all(false);
        }
        types
    }

    /// Computes the facts about all structs, and returns whether Rust allows the resulting structs. If `over_align` is
    /// set, applies the alignment from `alignas`.
    fn measure_all(&mut self, over_align: bool) -> bool {
        let mut allowed = true;
        // In this order, each struct follows the structs that it contains.
        for (id, layout) in self.layouts.iter() {
            let facts = self.measure(layout, over_align);
            allowed &= !(facts.packed && facts.holds_over_aligned);
            self.facts.insert(id, facts);
        }
        allowed
    }

    /// Returns the type of `element`, as spelled by code `depth` modules deep.
    pub(crate) fn of(&self, element: &Element, depth: usize) -> TokenStream {
        match element {
            Element::Scalar(scalar) => number(*scalar),
            Element::Enum(number_) => number(number_.of),
            Element::Vector { of, count } => vector(*of, *count),
            Element::Array { of, count } => array(&self.of(of, depth), *count),
            Element::Struct(id) => self.structure(*id, depth),
            Element::Pointer(pointee) => {
                let pointee = match &**pointee {
                    Pointee::Element(element) => self.of(element, depth),
                    // The file does not describe the pointee. Users can `cast` the pointer to any type.
                    Pointee::Void | Pointee::Unknown(_) => quote!(()),
                };
                quote!(::syclbin_rt::DevicePointer<#pointee>)
            }
            Element::Bytes(count) => array(&quote!(u8), *count),
        }
    }

    pub(crate) fn structure(&self, id: StructId, depth: usize) -> TokenStream {
        match self.paths.get(&id) {
            Some(TypePath::Own(path)) => quote!(#path),
            Some(TypePath::Generated(path)) => {
                let up = std::iter::repeat_n(quote!(super::), depth);
                quote!(#(#up)* #(#path)::*)
            }
            // Unreachable: every struct of a planned kernel has a path.
            None => quote!(()),
        }
    }

    /// Returns the type that a pointer points to. If the type is unknown, any type is accepted.
    pub(crate) fn pointee(&self, pointee: &Pointee, depth: usize) -> TokenStream {
        match pointee {
            Pointee::Element(element) => self.of(element, depth),
            Pointee::Void | Pointee::Unknown(_) => quote!(impl ::syclbin_rt::Pod),
        }
    }

    pub(crate) fn holds_pointer(&self, element: &Element) -> bool {
        self.facts_of(element).holds_pointer
    }

    /// Returns the offset and path, such as `.grids[1].wraps`, of every `bool` in `element`. Returns `None` if there
    /// are more than `most`.
    pub(crate) fn bools(&self, element: &Element, most: usize) -> Option<Vec<(u64, String)>> {
        let mut found = Vec::new();
        self.find_bools(element, (0, String::new()), most, &mut found)
            .then_some(found)
    }

    /// Collects the `bool`s in the element at this offset and path. Returns `false` as soon as there are more than
    /// `most`.
    fn find_bools(
        &self,
        element: &Element,
        (offset, path): (u64, String),
        most: usize,
        found: &mut Vec<(u64, String)>,
    ) -> bool {
        if !self.facts_of(element).holds_bool {
            return true;
        }
        let mut each = |of: &Element, count: u64| {
            let size = self.layouts.size(of).unwrap_or(0);
            (0..count).all(|index| {
                let offset = offset.saturating_add(size.saturating_mul(index));
                self.find_bools(of, (offset, format!("{path}[{index}]")), most, found)
            })
        };
        match element {
            Element::Array { of, count } => each(of, *count),
            Element::Vector { of, count } => each(&Element::Scalar(*of), u64::from(*count)),
            Element::Struct(id) => {
                let fields = self.layouts.get(*id).map(|layout| &layout.fields);
                fields.into_iter().flatten().all(|field| {
                    let offset = offset.saturating_add(field.offset);
                    let path = format!("{path}.{}", field.name.as_deref().unwrap_or("_"));
                    self.find_bools(&field.ty, (offset, path), most, found)
                })
            }
            _ => {
                found.push((offset, path));
                found.len() <= most
            }
        }
    }

    /// Returns the modifier of `repr(C)` for the struct `id`, if it needs one.
    pub(crate) fn modifier(&self, id: StructId) -> Option<TokenStream> {
        let facts = self.facts.get(&id)?;
        let align = Literal::u64_unsuffixed(facts.align);
        let align = facts.over_aligned.then(|| quote!(, align(#align)));
        align.or_else(|| facts.packed.then(|| quote!(, packed)))
    }

    /// Returns the facts about an element. The alignment is that of the Rust type; C++ aligns vectors more strictly.
    fn facts_of(&self, element: &Element) -> Facts {
        let number = |align| Facts {
            align,
            ..Facts::default()
        };
        let scalar = |of: Scalar| Facts {
            holds_bool: of == Scalar::Bool,
            ..number(of.size())
        };
        match element {
            Element::Scalar(of) | Element::Vector { of, .. } => scalar(*of),
            Element::Enum(of) => scalar(of.of),
            Element::Array { count: 0, of } => number(self.facts_of(of).align),
            Element::Array { of, .. } => self.facts_of(of),
            Element::Pointer(_) => Facts {
                holds_pointer: true,
                ..number(8)
            },
            // A union or another undescribed part may contain a pointer.
            Element::Bytes(size) => Facts {
                holds_pointer: *size >= 8,
                ..number(1)
            },
            Element::Struct(id) => self.facts.get(id).copied().unwrap_or(number(1)),
        }
    }

    fn measure(&self, layout: &Layout, over_align: bool) -> Facts {
        let facts_of = |field: &Field| (field.offset, self.facts_of(&field.ty));
        let fields: Vec<(u64, Facts)> = layout.fields.iter().map(facts_of).collect();
        let aligns = fields.iter().map(|(_, facts)| facts.align);
        let align = aligns.max().unwrap_or(1);
        let mut misplaced = fields.iter();
        let packed = misplaced.any(|(offset, facts)| !offset.is_multiple_of(facts.align))
            || !layout.size.is_multiple_of(align);
        let in_cpp = layout.fields.iter();
        let in_cpp = in_cpp.map(|field| self.layouts.align(&field.ty));
        let over_aligned = over_align
            && layout.described
            && !packed
            && layout.align > in_cpp.max().unwrap_or(1).max(align)
            && layout.align <= MOST_ALIGN
            && layout.size.is_multiple_of(layout.align);
        Facts {
            packed,
            align: match (packed, over_aligned) {
                (true, _) => 1,
                (false, true) => layout.align,
                (false, false) => align,
            },
            over_aligned,
            holds_over_aligned: over_aligned
                || fields.iter().any(|(_, facts)| facts.holds_over_aligned),
            holds_pointer: fields.iter().any(|(_, facts)| facts.holds_pointer),
            holds_bool: fields.iter().any(|(_, facts)| facts.holds_bool),
        }
    }
}

/// Returns the type of a number, or `None` for other elements.
pub(crate) fn scalar(element: &Element) -> Option<Scalar> {
    match element {
        Element::Scalar(scalar) => Some(*scalar),
        Element::Enum(of) => Some(of.of),
        _ => None,
    }
}

/// Returns the element that a parameter passes or points to, if it is known.
pub(crate) fn element_of(ty: &Type) -> Option<&Element> {
    match ty.pointee() {
        Some(Pointee::Element(element)) => Some(element),
        _ => ty.value(),
    }
}

/// Returns the code for an optional value.
pub(crate) fn option(value: Option<impl ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}

fn array(of: &TokenStream, count: u64) -> TokenStream {
    let count = Literal::u64_unsuffixed(count);
    quote!([#of; #count])
}

/// Returns the type of a `sycl::vec`. A vector of three elements occupies as much memory as one of four.
fn vector(of: Scalar, count: u32) -> TokenStream {
    array(&number(of), u64::from(if count == 3 { 4 } else { count }))
}

/// Returns the type of a number in memory, where a `bool` is a `u8`.
pub(crate) fn number(scalar: Scalar) -> TokenStream {
    match scalar {
        Scalar::Bool | Scalar::U8 => quote!(u8),
        Scalar::I8 => quote!(i8),
        Scalar::I16 => quote!(i16),
        Scalar::U16 => quote!(u16),
        Scalar::I32 => quote!(i32),
        Scalar::U32 => quote!(u32),
        Scalar::I64 => quote!(i64),
        Scalar::U64 => quote!(u64),
        Scalar::F32 => quote!(f32),
        Scalar::F64 => quote!(f64),
        Scalar::F16 => quote!(::syclbin_rt::half::f16),
        Scalar::BF16 => quote!(::syclbin_rt::half::bf16),
    }
}
