// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locates members and elements inside an argument by their C++ layout.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use syclbin::signature::{Element, Parameter, Scalar};

use crate::contract::condition::read;
use crate::input::items::is_punct;
use crate::names;
use crate::types::{Types, structs};

/// A member or an element of an argument that is passed by value, or the whole argument.
pub(super) struct Subobject {
    /// The index of the argument.
    index: usize,
    /// The offset in the argument, in bytes.
    offset: u64,
    pub(super) element: Element,
    /// Whether the file distinguishes signed from unsigned integers.
    sign_known: bool,
}

impl Subobject {
    /// Returns the whole argument `index`, or `None` if it is not passed by value.
    pub(super) fn of(index: usize, parameter: &Parameter) -> Option<Self> {
        let element = parameter.ty.value()?.clone();
        Some(Self {
            index,
            offset: 0,
            element,
            sign_known: parameter.sign_known,
        })
    }

    pub(super) fn read(&self, scalar: Scalar, given: Ident) -> TokenStream {
        read(&given, scalar, self.sign_known, self.index, self.offset)
    }

    /// Follows members and elements such as `.grid.a[1]` after the first of `tokens`. Returns the subobject, and the
    /// number of tokens consumed.
    pub(super) fn steps(
        mut self,
        tokens: &[TokenTree],
        types: &Types<'_>,
    ) -> syn::Result<(Self, usize)> {
        let mut read = 1;
        loop {
            let arguments = call(&tokens[read..]).map(|(_, arguments)| arguments.delimiter());
            self = match &tokens[read..] {
                _ if arguments == Some(Delimiter::Parenthesis) => return Ok((self, read)),
                [dot, TokenTree::Ident(name), ..] if is_punct(dot, '.') => {
                    read += 2;
                    self.member(name, types)?
                }
                [TokenTree::Group(index), ..] if index.delimiter() == Delimiter::Bracket => {
                    read += 1;
                    self.indexed(index, types)?
                }
                _ => return Ok((self, read)),
            };
        }
    }

    fn member(&self, name: &Ident, types: &Types<'_>) -> syn::Result<Self> {
        let error = |message: String| Err(syn::Error::new(name.span(), message));
        let Element::Struct(id) = &self.element else {
            let spelled = types.layouts.spell(&self.element);
            return error(format!(
                "cannot access `.{name}`: `{spelled}` is not a struct"
            ));
        };
        let layout = types.layouts.get(*id);
        let field = layout.and_then(|layout| structs::member(layout, &names::plain(name)));
        let Some(field) = field else {
            let known = types.layouts.describe(*id);
            return error(format!("no member `{name}` in `{known}`"));
        };
        Ok(Self {
            index: self.index,
            offset: self.offset.saturating_add(field.offset),
            element: field.ty.clone(),
            sign_known: field.sign_known,
        })
    }

    fn indexed(&self, index: &Group, types: &Types<'_>) -> syn::Result<Self> {
        let error = |message: String| Err(syn::Error::new(index.span(), message));
        let (element, count) = match &self.element {
            Element::Array { of, count } => ((**of).clone(), *count),
            Element::Vector { of, count } => (Element::Scalar(*of), u64::from(*count)),
            _ => return error("this is not an array".into()),
        };
        let Some(index) = literal(index).filter(|index| *index < count) else {
            return error(format!(
                "expected an index below {count}, the number of elements"
            ));
        };
        let size = types.layouts.size(&element).unwrap_or(0);
        Ok(Self {
            offset: self.offset.saturating_add(size.saturating_mul(index)),
            element,
            ..*self
        })
    }
}

/// Returns the name and the arguments if `tokens` begin with a method call such as `.len()`.
pub(super) fn call(tokens: &[TokenTree]) -> Option<(&Ident, &Group)> {
    match tokens {
        [dot, TokenTree::Ident(name), TokenTree::Group(group), ..] if is_punct(dot, '.') => {
            Some((name, group))
        }
        _ => None,
    }
}

/// Returns the number, if it is the only token in the brackets.
pub(super) fn literal(group: &Group) -> Option<u64> {
    let integer = syn::parse2::<syn::LitInt>(group.stream()).ok()?;
    integer.base10_parse().ok()
}
