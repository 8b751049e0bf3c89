// SPDX-License-Identifier: MIT OR Apache-2.0
//! Converts C++ structs to Rust structs with the same layout.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syclbin::signature::{Field, Layout, StructId};
use syn::spanned::Spanned;

use crate::doc;
use crate::names::{self, Scope};
use crate::types::Types;

pub(crate) const VECTOR_OF_THREE: &str =
    "A vector of three elements is as large as one of four; the last element is unused.";

/// Returns the namespaces and name of a struct: `ns::Pair<int, 2>` becomes `Pair_int_2` in `ns`.
pub(crate) fn name(layout: &Layout) -> (Vec<String>, String) {
    let parts = names::path(&layout.name).into_iter();
    let mut parts: Vec<String> = parts.map(|part| names::rust(&part)).collect();
    let base = parts.pop().unwrap_or_else(|| "Struct".into());
    (parts, base)
}

/// Returns the fields of a struct with their Rust names.
pub(crate) fn members(layout: &Layout) -> Vec<(Ident, &Field)> {
    let fields = layout.fields.iter();
    let written = fields.map(|field| field.name.as_deref().unwrap_or_default());
    let names = Scope::default().claim_each(written, "field");
    let named = names.into_iter().zip(&layout.fields);
    named
        .filter_map(|(name, field)| Some((name?, field)))
        .collect()
}

/// Returns the member with this C++ name, or an unnamed member with this Rust name.
pub(crate) fn member<'f>(layout: &'f Layout, name: &str) -> Option<&'f Field> {
    let mut members = members(layout).into_iter();
    let found = members.find(|(own, field)| match &field.name {
        Some(written) => written == name,
        None => names::plain(own) == name,
    });
    found.map(|(_, field)| field)
}

/// Generates the definition of a struct, with compile-time checks of its layout.
pub(crate) fn definition(
    id: StructId,
    ident: &Ident,
    types: &Types<'_>,
    depth: usize,
) -> TokenStream {
    let Some(layout) = types.layouts.get(id) else {
        return TokenStream::new();
    };
    let rt = quote!(::syclbin_rt);
    let (mut names, mut offsets) = (Vec::new(), Vec::new());
    let (mut fields, mut end) = (TokenStream::new(), 0);
    let members = members(layout);
    let pad = |from: u64, to: u64| {
        let count = to.checked_sub(from).filter(|count| *count > 0)?;
        let mut name = format_ident!("_padding{from}");
        while members.iter().any(|(own, _)| *own == name) {
            name = format_ident!("{name}_");
        }
        let count = Literal::u64_unsuffixed(count);
        Some(quote! {
            #[doc(hidden)]
            pub #name: #rt::Padding<#count>,
        })
    };
    for (name, field) in &members {
        fields.extend(pad(end, field.offset));
        let ty = types.of(&field.ty, depth);
        let doc = field_doc(field, types);
        fields.extend(quote! {
            #doc
            pub #name: #ty,
        });
        let size = types.layouts.size(&field.ty).unwrap_or(0);
        end = field.offset.saturating_add(size);
        names.push(name);
        offsets.push(Literal::u64_unsuffixed(field.offset));
    }
    fields.extend(pad(end, layout.size));
    let modifier = types.modifier(id);
    let (size, align_in_cpp) = (layout.size, layout.align);
    let doc = doc::paragraphs([
        doc::cpp(&spelled(id, types)),
        format!("{size} bytes, aligned to {align_in_cpp} on the device."),
        unknown(layout).to_owned(),
    ]);
    let size = Literal::u64_unsuffixed(size);
    quote! {
        #doc
        #[derive(Clone, Copy, Debug, PartialEq, #rt::bytemuck::Pod, #rt::bytemuck::Zeroable)]
        #[bytemuck(crate = "::syclbin_rt::bytemuck")]
        #[repr(C #modifier)]
        pub struct #ident {
            #fields
        }

        impl ::core::default::Default for #ident {
            /// Returns a value whose bytes are all zero.
            fn default() -> Self {
                #rt::bytemuck::Zeroable::zeroed()
            }
        }

        const _: () = {
            const SIZE: usize = ::core::mem::size_of::<#ident>();
            ::core::assert!(SIZE == #size);
            #(::core::assert!(::core::mem::offset_of!(#ident, #names) == #offsets);)*
        };
    }
}

/// Returns a note on what the file does not record about the members.
fn unknown(layout: &Layout) -> &'static str {
    let unnamed = layout.fields.iter().any(|field| field.name.is_none());
    let unsigned = layout.fields.iter().any(|field| !field.sign_known);
    match (unnamed, unsigned) {
        (false, false) => "",
        (true, false) => "The file does not record the names of all members.",
        (false, true) => {
            "The file does not record which integers are signed, so they are treated as signed."
        }
        (true, true) => {
            "The file records neither the names of all members nor which integers are signed, so all integers are \
             treated as signed."
        }
    }
}

/// Returns the C++ definition, with one line per member.
fn spelled(id: StructId, types: &Types<'_>) -> String {
    let text = types.layouts.describe(id);
    // Layouts are described on one line: `struct P { float x; /* 0 */ } /* size 4, align 4 */`.
    let members = text
        .rsplit_once(" } /* size ")
        .map_or(&*text, |(members, _)| members);
    let Some((head, members)) = members.split_once(" {") else {
        return text;
    };
    let lines = members.split(" */").filter(|line| !line.trim().is_empty());
    let lines: String = lines
        .map(|line| format!("    {} */\n", line.trim()))
        .collect();
    format!("{head} {{\n{lines}}};")
}

/// Generates documentation for properties of a field that its Rust type does not express.
fn field_doc(field: &Field, types: &Types<'_>) -> TokenStream {
    use syclbin::signature::{Element, Pointee, Scalar};
    let mut innermost = &field.ty;
    while let Element::Array { of, .. } = innermost {
        innermost = of;
    }
    let text = match innermost {
        Element::Scalar(Scalar::Bool) => "A `bool`: 0 or 1.".to_owned(),
        Element::Enum(of) if of.of == Scalar::Bool => {
            format!("A value of the enumeration `{}`: 0 or 1.", of.name)
        }
        Element::Enum(of) => format!("A value of the enumeration `{}`.", of.name),
        Element::Vector { count: 3, .. } => VECTOR_OF_THREE.to_owned(),
        Element::Bytes(_) => "Opaque bytes: a union or bit-fields.".to_owned(),
        Element::Pointer(pointee) => match &**pointee {
            Pointee::Unknown(Some(name)) => format!("Points to `{name}`."),
            Pointee::Unknown(None) => {
                "Points to a type that the file does not describe.".to_owned()
            }
            Pointee::Void => "Points to anything.".to_owned(),
            _ => format!("`{}`.", types.layouts.spell(&field.ty)),
        },
        _ => match &field.name {
            Some(name) => format!("`{name}` at byte {}.", field.offset),
            None => format!("At byte {}.", field.offset),
        },
    };
    doc::comment(&text)
}

/// Generates compile-time checks that a user's own type has the layout of the struct `id`. Errors point at the type's
/// path.
pub(crate) fn proof(id: StructId, path: &syn::Path, types: &Types<'_>) -> TokenStream {
    let Some(layout) = types.layouts.get(id) else {
        return TokenStream::new();
    };
    let span = path.span().resolved_at(Span::call_site());
    let (cpp, rust) = (&layout.name, names::spelled_path(path));
    let size = Literal::u64_unsuffixed(layout.size);
    let wrong_size = as_format(&format!(
        "`{rust}` must be {} bytes long, like `{cpp}` in C++: {}",
        layout.size,
        types.layouts.describe(id)
    ));
    let fields = members(layout).into_iter();
    let fields = fields.filter(|(_, field)| field.name.is_some());
    let fields = fields.map(|(mut name, field)| {
        name.set_span(span);
        let offset = Literal::u64_unsuffixed(field.offset);
        let size = types.layouts.size(&field.ty).unwrap_or(0);
        let wrong_offset = as_format(&format!(
            "`{rust}::{name}` must be at byte {}, as in C++: {}",
            field.offset,
            types.layouts.describe(id)
        ));
        let wrong_size = as_format(&format!(
            "`{rust}::{name}` must be {size} bytes long, like `{}` in C++",
            types.layouts.spell(&field.ty)
        ));
        let size = Literal::u64_unsuffixed(size);
        quote_spanned! {span=>
            ::core::assert!(::core::mem::offset_of!(#path, #name) == #offset, #wrong_offset);
            ::core::assert!(
                ::syclbin_rt::__private::size_of_field(|value: #path| value.#name) == #size,
                #wrong_size,
            );
        }
    });
    quote_spanned! {span=>
        const _: () = {
            const fn is_pod<T: ::syclbin_rt::Pod>() {}
            is_pod::<#path>();
            ::core::assert!(::core::mem::size_of::<#path>() == #size, #wrong_size);
            #(#fields)*
        };
    }
}

/// Escapes text for `assert!`, which parses it as a format string.
fn as_format(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use syclbin::signature::{Element, Layouts, Pointee, Scalar};

    fn field(name: Option<&str>, sign_known: bool) -> Field {
        Field {
            name: name.map(str::to_owned),
            offset: 0,
            ty: Element::Scalar(Scalar::I32),
            sign_known,
        }
    }

    #[test]
    fn a_struct_says_what_is_unknown() {
        let (name, sign) = ("names of all members", "integers are signed");
        for (first, second, expected) in [
            (
                field(Some("a"), true),
                field(Some("b"), true),
                [false, false],
            ),
            (field(Some("a"), true), field(None, true), [true, false]),
            (
                field(Some("a"), true),
                field(Some("b"), false),
                [false, true],
            ),
            (field(None, true), field(Some("b"), false), [true, true]),
        ] {
            let layout = Layout {
                name: "S".into(),
                size: 4,
                align: 4,
                fields: vec![first, second],
                described: false,
            };
            let text = unknown(&layout);
            assert_eq!(
                [name, sign].map(|part| text.contains(part)),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn a_pointer_without_description_says_so() {
        let layouts = Layouts::default();
        let mut pointer = field(Some("p"), true);
        pointer.ty = Element::Pointer(Box::new(Pointee::Unknown(None)));
        let doc = field_doc(&pointer, &Types::new(&layouts)).to_string();
        assert!(
            doc.contains("Points to a type that the file does not describe."),
            "{doc}"
        );
    }
}
