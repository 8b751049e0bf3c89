// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks the requirements of a safe launch: all buffers are bounded and aligned, the kernel follows no unchecked
//! pointers, and every `bool` is 0 or 1.

use std::collections::BTreeSet;

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syclbin::signature::{Argument, Element, Parameter, Pointee, Scalar, Type};

use crate::contract::condition::{Condition, memory, read};
use crate::contract::given;
use crate::names::label;
use crate::types::{MOST_BOOLS, Types, element_of, option};

/// Returns an error for each parameter that rules out a safe launch, or whose length is missing from `bounded`.
pub(crate) fn missing(
    parameters: &[Parameter],
    types: &Types<'_>,
    bounded: &BTreeSet<(usize, u64)>,
) -> Vec<String> {
    let numbered = parameters.iter().enumerate();
    let missing = numbered.filter_map(|(index, parameter)| {
        let name = label(index, parameter);
        if matches!(parameter.ty, Type::Image { .. }) {
            return Some(format!(
                "this kernel cannot be safe: `{name}` is an image, and no condition can state which pixels the kernel \
                 accesses"
            ));
        }
        if element_of(&parameter.ty).is_some_and(|element| types.holds_pointer(element)) {
            return Some(format!(
                "this kernel cannot be safe: `{name}` may contain device pointers, and nothing checks where they point"
            ));
        }
        if memory(&parameter.ty).is_none() || removed(parameter) {
            return None;
        }
        if let Type::Accessor {
            element: Pointee::Void | Pointee::Unknown(_),
            ..
        } = &parameter.ty
        {
            return Some(format!(
                "this kernel cannot be safe: the file does not record the element type of accessor `{name}`, so no \
                 condition can bound its size in bytes; define the type in the source, or launch the kernel with \
                 `unsafe`"
            ));
        }
        let dimensions = u64::from(parameter.ty.dimensions().unwrap_or(1));
        let open = (0..dimensions).find(|dimension| !bounded.contains(&(index, *dimension)))?;
        // In a condition, `range` means the launch range, so the advice uses the parameter's index.
        let name = match &*name {
            "range" => format!("arg{index}"),
            _ => name,
        };
        Some(match dimensions {
            1 => format!(
                "nothing bounds `{name}`: add a condition such as `{name}.len() >= range.items()`"
            ),
            _ => format!(
                "nothing bounds dimension {open} of `{name}`: add a condition such as \
                 `{name}.size({open}) >= range[{open}]`"
            ),
        })
    });
    missing.collect()
}

/// The minimum alignment of all device memory. A slice needs no check if its elements require at most this alignment,
/// and their size is a multiple of their alignment.
const ALWAYS_ALIGNED: u64 = 64;

/// Returns an alignment condition for each buffer whose slices may be less aligned than the C++ elements require.
/// Pointers to unknown types get a condition too, because the kernel may read any type through them. Such pointers are
/// skipped if they are in `named`, because the contract already states a condition on their alignment.
pub(crate) fn alignments(
    parameters: &[Parameter],
    types: &Types<'_>,
    named: &BTreeSet<usize>,
) -> Vec<(String, TokenStream)> {
    let numbered = parameters.iter().enumerate();
    let sized = numbered.filter(|(_, parameter)| !removed(parameter));
    let found = sized.filter_map(|(index, parameter)| {
        let (Type::Pointer { pointee: of, .. } | Type::Accessor { element: of, .. }) =
            &parameter.ty
        else {
            return None;
        };
        let in_code = parameter.align.unwrap_or(1);
        let bytes = match of {
            Pointee::Element(element) => {
                let align = types.layouts.align(element).max(in_code);
                let size = types.layouts.size(element).unwrap_or(0);
                let kept = align <= ALWAYS_ALIGNED && size.is_multiple_of(align);
                Some(align).filter(|_| !kept)?.into()
            }
            _ if parameter.align.is_none() && named.contains(&index) => return None,
            _ => parameter.align,
        };
        let (name, given) = (label(index, parameter), given());
        let position = Literal::usize_unsuffixed(index);
        let text = bytes.map_or("device.align()".into(), |bytes| bytes.to_string());
        let bytes = option(bytes.map(Literal::u64_unsuffixed));
        let check = quote!(#given.aligned(#position, #bytes)?;);
        Some((format!("{name}.align() >= {text}"), check))
    });
    found.collect()
}

/// Returns the conditions that every `bool` in arguments passed by value is 0 or 1.
///
/// # Errors
///
/// Fails if there are too many to check on each launch.
pub(crate) fn bools(parameters: &[Parameter], types: &Types<'_>) -> Result<Vec<Condition>, String> {
    let mut found = Vec::new();
    for (index, parameter) in parameters.iter().enumerate() {
        // A parameter of type `bool` is a `bool` in Rust, so it needs no check.
        let simple = matches!(parameter.ty, Type::Value(Element::Scalar(_)));
        let element = parameter.ty.value();
        let Some(element) = element.filter(|_| !simple && !removed(parameter)) else {
            continue;
        };
        let name = label(index, parameter);
        let bools = types.bools(element, MOST_BOOLS - found.len());
        let bools = bools.ok_or_else(|| {
            format!(
                "this kernel cannot be safe: `{name}` contains more `bool`s than a launch checks, and a `bool` that \
                 is neither 0 nor 1 is undefined behavior in C++"
            )
        })?;
        found.extend(bools.into_iter().map(|(offset, path)| {
            let text = name.clone() + &path;
            // The generated types store a `bool` as a `u8`.
            let number = read(&given(), Scalar::U8, true, index, offset);
            Condition {
                code: quote!(#number <= 1),
                argument: Some(index),
                text: format!("{text} <= 1"),
                values: vec![(text, number)],
            }
        }));
    }
    Ok(found)
}

pub(super) fn removed(parameter: &Parameter) -> bool {
    parameter.arguments.first() == Some(&Argument::Removed)
}
