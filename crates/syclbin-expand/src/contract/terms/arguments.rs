// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an expression may ask of an argument: a number, a length, a size or an alignment.

use proc_macro2::Literal;
use quote::quote;
use syclbin::signature::{Parameter, Pointee, Scalar, Type};
use syn::Expr;
use syn::spanned::Spanned;

use super::value::literal;
use super::{TERMS, Terms, Value};
use crate::contract::condition::{ungrouped, word};
use crate::contract::implied::Implied;
use crate::contract::safety::dimensions;
use crate::contract::spelling::spelled;
use crate::contract::subobject::{MemberPath, Subobject};
use crate::contract::sum::{Length, Sum};
use crate::names::label;
use crate::types::number;

impl Terms<'_, '_> {
    /// Returns the number of elements in the buffer or memory of parameter `index`.
    pub(super) fn length(&mut self, index: usize, at: &Expr) -> syn::Result<Value> {
        let Some(parameter) = self.parameters.get(index) else {
            return Err(syn::Error::new_spanned(at, TERMS));
        };
        let pointee = match &parameter.ty {
            Type::Pointer { pointee, .. } => pointee,
            Type::Accessor { element, .. }
            | Type::LocalAccessor { element, .. }
            | Type::LocalMemory {
                element,
                size: None,
            } => element,
            _ => {
                return Err(syn::Error::new_spanned(
                    at,
                    "this has no length: it is not a buffer",
                ));
            }
        };
        let length = Length {
            parameter: index,
            // The number of all elements does not give the layout of the rows.
            dimension: (dimensions(&parameter.ty) == 1).then_some(0),
        };
        self.named.insert(length);
        self.buffer = self.buffer.or(Some(index));
        let position = Literal::usize_unsuffixed(index);
        let element = match pointee {
            Pointee::Element(_) => self.types.pointee(pointee, self.depth),
            // The caller chooses the type of the elements; in bytes, the buffer has a length.
            Pointee::Void | Pointee::Unknown(_) => quote!(u8),
        };
        Ok(Value {
            code: quote!(given.len::<#element>(#position)),
            sum: Sum::length(length),
        })
    }

    /// Returns the alignment of the address of the buffer of parameter `index`.
    pub(super) fn alignment(&mut self, index: usize, at: &Expr) -> syn::Result<Value> {
        let ty = self.parameters.get(index).map(|parameter| &parameter.ty);
        if !matches!(ty, Some(Type::Pointer { .. } | Type::Accessor { .. })) {
            let message = "this has no alignment: it is not a buffer";
            return Err(syn::Error::new_spanned(at, message));
        }
        self.aligned.insert(index);
        self.buffer = self.buffer.or(Some(index));
        let position = Literal::usize_unsuffixed(index);
        Ok(Value::natural(quote!(given.align(#position)), at))
    }

    /// Returns the size of a dimension of the accessor of parameter `index`.
    pub(super) fn size(&mut self, index: usize, dimension: &Expr, at: &Expr) -> syn::Result<Value> {
        let error = |message: String| Err(syn::Error::new_spanned(at, message));
        let parameter = self.parameters.get(index);
        let dimensions = match parameter.map(|parameter| &parameter.ty) {
            Some(Type::Accessor { dimensions, .. }) => *dimensions,
            Some(Type::LocalAccessor { dimensions, .. }) => dimensions.unwrap_or(1),
            _ => return error("this has no sizes: it is not an accessor".into()),
        };
        let Some(dimension) = literal(dimension)? else {
            return error(TERMS.into());
        };
        if dimension >= u64::from(dimensions) {
            return error(format!(
                "the accessor has {dimensions} dimensions, counted from 0"
            ));
        }
        let length = Length {
            parameter: index,
            dimension: Some(dimension),
        };
        self.named.insert(length);
        self.buffer = self.buffer.or(Some(index));
        let position = Literal::usize_unsuffixed(index);
        let dimension = Literal::u64_unsuffixed(dimension);
        Ok(Value {
            code: quote!(given.extent(#position, #dimension)),
            sum: Sum::length(length),
        })
    }

    /// Returns a number that is passed by value, or a number inside an argument by value.
    pub(super) fn value(&mut self, expression: &Expr) -> syn::Result<Value> {
        let error = |message: String| Err(syn::Error::new_spanned(expression, message));
        let Some(path) = MemberPath::read(expression) else {
            return error(TERMS.into());
        };
        let name = &path.parameter;
        let Some(index) = self.parameter(name) else {
            return Err(self.no_parameter(path.at));
        };
        let Some(parameter) = self.parameters.get(index) else {
            return error(TERMS.into());
        };
        let Some(whole) = Subobject::of(index, parameter) else {
            return error(match parameter.ty {
                Type::Pointer { .. } | Type::Accessor { .. } => format!(
                    "`{name}` is a buffer; what it holds is not known at launch, `{name}.len()` is"
                ),
                _ => format!("`{name}` is not an integer"),
            });
        };
        let subobject = path.steps(whole, self.types, expression)?;
        let Some(scalar) = subobject.scalar() else {
            let spelled = self.types.layouts.spell(&subobject.element);
            return error(format!("this is not an integer: it is `{spelled}`"));
        };
        if scalar == Scalar::Bool {
            return error("this is a `bool`; contracts compare integers".into());
        }
        if scalar.is_float() {
            let ty = number(scalar).to_string().replace(' ', "");
            return error(format!("this is a `{ty}`; contracts compare integers"));
        }
        self.value = self.value.or(Some(index));
        let number = subobject.read(scalar);
        let text = spelled(ungrouped(expression));
        let signed = matches!(scalar, Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64);
        let natural = || Implied::natural(Some(index), text.clone(), number.clone());
        let sum = if signed && subobject.sign_known {
            self.signed.push((text.clone(), natural()));
            Sum::signed(text)
        } else {
            if signed {
                self.unsure.push(natural());
            }
            Sum::natural(text)
        };
        Ok(Value { code: number, sum })
    }

    pub(super) fn parameter(&self, name: &str) -> Option<usize> {
        let mut parameters = self.parameters.iter();
        parameters
            .position(|parameter| parameter.name.as_deref() == Some(name))
            .or_else(|| {
                // The documentation uses these names for unnamed parameters.
                let index = name.strip_prefix("arg")?.parse().ok()?;
                let parameter: &Parameter = self.parameters.get(index)?;
                let name = parameter.name.as_deref().unwrap_or_default();
                name.is_empty().then_some(index)
            })
    }

    pub(super) fn no_parameter(&self, at: &Expr) -> syn::Error {
        if word(at).is_some_and(|name| name == "range") {
            let message = "the range of the launch is `range.items()`, or `range[0]` to `range[2]`";
            return syn::Error::new(at.span(), message);
        }
        let numbered = self.parameters.iter().enumerate();
        let names: Vec<String> = numbered
            .map(|(index, parameter)| format!("`{}`", label(index, parameter)))
            .collect();
        let message = match names.as_slice() {
            [] => "the kernel has no parameters".to_owned(),
            names => format!(
                "the kernel has no parameter of this name; it has {}",
                names.join(", ")
            ),
        };
        syn::Error::new(at.span(), message)
    }
}
