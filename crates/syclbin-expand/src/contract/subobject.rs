// SPDX-License-Identifier: MIT OR Apache-2.0
//! Subobjects: the position of a member or an element in an argument, in the C++ layout.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;
use syclbin::signature::{Element, Parameter, Scalar, Type};
use syn::{Expr, Lit, Member};

use crate::contract::condition::{ungrouped, word};
use crate::names;
use crate::types::structs;
use crate::types::{Types, number};

/// A member or an element of an argument that is passed by value, or the whole argument.
#[derive(Clone)]
pub(crate) struct Subobject {
    /// The index of the argument.
    pub(crate) index: usize,
    /// The offset in the argument, in bytes.
    pub(crate) offset: u64,
    pub(crate) element: Element,
    /// Whether the file distinguishes signed from unsigned.
    pub(crate) sign_known: bool,
}

impl Subobject {
    /// Returns the whole argument `index`, or `None` if it is not passed by value.
    pub(crate) fn of(index: usize, parameter: &Parameter) -> Option<Self> {
        let element = match &parameter.ty {
            Type::Scalar(scalar) => Element::Scalar(*scalar),
            Type::Enum(of) => Element::Enum(of.clone()),
            Type::Struct(id) => Element::Struct(*id),
            Type::Vector { of, count } => Element::Vector {
                of: *of,
                count: *count,
            },
            Type::Array { of, count } => Element::Array {
                of: Box::new(of.clone()),
                count: *count,
            },
            _ => return None,
        };
        Some(Self {
            index,
            offset: 0,
            element,
            sign_known: parameter.sign_known,
        })
    }

    /// Returns element `index` of an array or vector, or `None` for other types.
    pub(crate) fn element(&self, index: u64, types: &Types<'_>) -> Option<Self> {
        let element = match &self.element {
            Element::Array { of, .. } => (**of).clone(),
            Element::Vector { of, .. } => Element::Scalar(*of),
            _ => return None,
        };
        let size = types.layouts.size(&element).unwrap_or(0);
        Some(Self {
            offset: self.offset.saturating_add(size.saturating_mul(index)),
            element,
            ..*self
        })
    }

    /// Returns the number of elements of an array or vector.
    pub(crate) fn count(&self) -> Option<u64> {
        match &self.element {
            Element::Array { count, .. } => Some(*count),
            Element::Vector { count, .. } => Some(u64::from(*count)),
            _ => None,
        }
    }

    /// Returns the type of the number, or `None` if this is not a number.
    pub(crate) fn scalar(&self) -> Option<Scalar> {
        match &self.element {
            Element::Scalar(scalar) => Some(*scalar),
            Element::Enum(of) => Some(of.of),
            _ => None,
        }
    }

    /// Returns code that reads the number with its C++ layout. A user's type may have another integer there,
    /// or another order of members.
    pub(crate) fn read(&self, scalar: Scalar) -> TokenStream {
        let ty = number(scalar);
        let index = Literal::usize_unsuffixed(self.index);
        let offset = Literal::u64_unsuffixed(self.offset);
        quote!(given.number::<#ty>(#index, #offset))
    }
}

/// The path of a subobject in conditions: `world.grid.a[1]`.
pub(crate) struct MemberPath<'e> {
    /// The name of the parameter.
    pub(crate) parameter: String,
    pub(crate) at: &'e Expr,
    steps: Vec<Step<'e>>,
}

enum Step<'e> {
    Member(&'e Ident),
    Index(&'e Lit),
}

impl<'e> MemberPath<'e> {
    /// Parses a path. Returns `None` for expressions that do not name a subobject.
    pub(crate) fn read(expression: &'e Expr) -> Option<Self> {
        let mut steps = Vec::new();
        let mut inner = ungrouped(expression);
        loop {
            let (step, base) = match inner {
                Expr::Field(field) => match &field.member {
                    Member::Named(name) => (Step::Member(name), &field.base),
                    Member::Unnamed(_) => return None,
                },
                Expr::Index(index) => match &*index.index {
                    Expr::Lit(literal) => (Step::Index(&literal.lit), &index.expr),
                    _ => return None,
                },
                _ => break,
            };
            steps.push(step);
            inner = ungrouped(base);
        }
        steps.reverse();
        Some(Self {
            parameter: word(inner)?,
            at: inner,
            steps,
        })
    }

    /// Returns the subobject that the path names in `subobject`. Errors point at `expression`.
    pub(crate) fn steps(
        &self,
        mut subobject: Subobject,
        types: &Types<'_>,
        expression: &Expr,
    ) -> syn::Result<Subobject> {
        let error = |message: String| Err(syn::Error::new_spanned(expression, message));
        for step in &self.steps {
            subobject = match (step, &subobject.element) {
                (Step::Member(member), Element::Struct(id)) => {
                    let layout = types.layouts.get(*id);
                    let name = names::plain(member);
                    let field = layout.and_then(|layout| structs::member(layout, &name));
                    let Some(field) = field else {
                        let known = types.layouts.describe(*id);
                        return error(format!("no member `{member}`: {known}"));
                    };
                    Subobject {
                        index: subobject.index,
                        offset: subobject.offset.saturating_add(field.offset),
                        element: field.ty.clone(),
                        sign_known: field.sign_known,
                    }
                }
                (Step::Member(member), _) => {
                    return error(format!("`.{member}` needs a struct, and this is not one"));
                }
                (Step::Index(index), _) => {
                    let Some(count) = subobject.count() else {
                        return error("this is not an array".into());
                    };
                    let index = within(index, count)?;
                    match subobject.element(index, types) {
                        Some(element) => element,
                        None => return error("this is not an array".into()),
                    }
                }
            };
        }
        Ok(subobject)
    }
}

/// Returns the index, if it is less than `count`.
fn within(index: &Lit, count: u64) -> syn::Result<u64> {
    let Lit::Int(number) = index else {
        let message = "an element is named by its number, counted from 0";
        return Err(syn::Error::new_spanned(index, message));
    };
    match number.base10_parse()? {
        index if index < count => Ok(index),
        _ => Err(syn::Error::new_spanned(
            index,
            format!("there are {count} elements, counted from 0"),
        )),
    }
}
