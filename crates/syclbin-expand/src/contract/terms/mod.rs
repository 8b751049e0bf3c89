// SPDX-License-Identifier: MIT OR Apache-2.0
//! The meaning of expressions in a contract: numbers, arguments and the range of the launch.

mod arguments;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeSet;

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syclbin::signature::{KernelSignature, Parameter, Type};
use syn::{BinOp, Expr, ExprBinary, ExprGroup, ExprMethodCall, ExprParen, Lit, UnOp};

use crate::contract::bounds::Bounds;
use crate::contract::condition::{ungrouped, word};
use crate::contract::implied::Implied;
use crate::contract::sum::{Length, Sum};
use crate::types::Types;
pub(crate) use value::Value;
use value::{limit, literal};

const TERMS: &str = "a contract knows integer parameters, their members, `x.len()` of buffers and work-group memory, \
    `x.align()` of buffers, `x.size(0)` of accessors, `range.items()`, `range[0]` and `range.dimensions()` of the launch, numbers, and + - * / %";

/// The names that expressions of one kernel may use, and the names that they used.
pub(crate) struct Terms<'k, 'f> {
    kernel: &'k KernelSignature,
    parameters: &'k [Parameter],
    types: &'k Types<'f>,
    depth: usize,
    /// The bounds on lengths and numbers from the conditions.
    pub(crate) bounds: Bounds,
    /// The lengths in the conditions.
    pub(crate) named: BTreeSet<Length>,
    /// The parameters whose alignment conditions name.
    pub(crate) aligned: BTreeSet<usize>,
    /// The conditions on numbers that may be signed or unsigned.
    pub(crate) unsure: Vec<Implied>,
    /// The conditions on signed numbers by their spelling: not negative, where [`Bounds`] says so.
    pub(crate) signed: Vec<(String, Implied)>,
    /// The first buffer in the condition.
    buffer: Option<usize>,
    value: Option<usize>,
}

impl<'k, 'f> Terms<'k, 'f> {
    pub(crate) fn new(kernel: &'k KernelSignature, types: &'k Types<'f>, depth: usize) -> Self {
        Self {
            kernel,
            parameters: kernel.parameters.as_deref().unwrap_or_default(),
            types,
            depth,
            bounds: Bounds::default(),
            named: BTreeSet::new(),
            aligned: BTreeSet::new(),
            unsure: Vec::new(),
            signed: Vec::new(),
            buffer: None,
            value: None,
        }
    }

    /// Returns the argument that a condition blames, and forgets it. A condition blames a buffer rather than
    /// the number that it is compared with.
    pub(crate) fn blamed(&mut self) -> Option<usize> {
        self.buffer.take().or(self.value.take())
    }

    /// Evaluates `expression`.
    pub(crate) fn number(&mut self, expression: &Expr) -> syn::Result<Value> {
        let unknown = || Err(syn::Error::new_spanned(expression, TERMS));
        match expression {
            Expr::Paren(ExprParen { expr, .. }) | Expr::Group(ExprGroup { expr, .. }) => {
                self.grouped(expr)
            }
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) => Ok(Value::constant(number.base10_parse()?)),
                _ => unknown(),
            },
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => self.negated(&unary.expr),
            Expr::Binary(binary) => self.combined(binary, expression),
            Expr::MethodCall(call) => self.method(call, expression),
            Expr::Index(index) if word(&index.expr).is_some_and(|name| name == "range") => {
                let code = self.range(&index.index, expression)?;
                Ok(Value::natural(code, expression))
            }
            Expr::Path(path) if path.path.segments.len() == 2 => match limit(&path.path) {
                Some(limit) => Ok(Value::constant(limit)),
                None => unknown(),
            },
            Expr::Path(_) | Expr::Field(_) | Expr::Index(_) => self.value(expression),
            _ => unknown(),
        }
    }

    fn grouped(&mut self, inner: &Expr) -> syn::Result<Value> {
        let Value { code, sum } = self.number(inner)?;
        let code = match ungrouped(inner) {
            // The parentheses of a group are invisible, and have no tokens in `quote!`.
            Expr::Binary(_) => quote!((#code)),
            _ => code,
        };
        Ok(Value { code, sum })
    }

    fn negated(&mut self, inner: &Expr) -> syn::Result<Value> {
        let Value { code, sum } = self.number(inner)?;
        let code = quote!((::syclbin_rt::__private::Number::from(0i128)
            - ::syclbin_rt::__private::Number::from(#code)));
        let sum = sum.scaled(-1);
        Ok(Value { code, sum })
    }

    fn combined(&mut self, binary: &ExprBinary, at: &Expr) -> syn::Result<Value> {
        let op = &binary.op;
        let combine = match op {
            BinOp::Add(_) => Sum::plus,
            BinOp::Sub(_) => Sum::minus,
            BinOp::Mul(_) => Sum::times,
            BinOp::Div(_) => Sum::over,
            BinOp::Rem(_) => Sum::modulo,
            _ => return Err(syn::Error::new_spanned(at, TERMS)),
        };
        let left = self.number(&binary.left)?;
        let right = self.number(&binary.right)?;
        let operand = |side: &Expr, code: TokenStream| match ungrouped(side) {
            Expr::Binary(_) | Expr::Unary(_) => code,
            _ => quote!(::syclbin_rt::__private::Number::from(#code)),
        };
        let (a, b) = (
            operand(&binary.left, left.code),
            operand(&binary.right, right.code),
        );
        Ok(Value {
            code: quote!(#a #op #b),
            sum: combine(left.sum, right.sum),
        })
    }

    fn method(&mut self, call: &ExprMethodCall, at: &Expr) -> syn::Result<Value> {
        let unknown = || Err(syn::Error::new_spanned(at, TERMS));
        let Some(name) = word(&call.receiver).filter(|_| call.turbofish.is_none()) else {
            return unknown();
        };
        let method = call.method.to_string();
        let arguments: Vec<&Expr> = call.args.iter().collect();
        match (method.as_str(), arguments.as_slice(), self.parameter(&name)) {
            ("len", [], Some(index)) => self.length(index, at),
            ("size", [dimension], Some(index)) => self.size(index, dimension, at),
            ("align", [], Some(index)) => self.alignment(index, at),
            ("len" | "align", [], None) | ("size", [_], None) => {
                Err(self.no_parameter(&call.receiver))
            }
            ("items", [], _) if name == "range" => Ok(Value::natural(quote!(given.items()), at)),
            ("dimensions", [], _) if name == "range" => {
                Ok(Value::natural(quote!(given.dimensions()), at))
            }
            _ => unknown(),
        }
    }

    /// Returns the code for a size of the range of the launch.
    fn range(&self, dimension: &Expr, at: &Expr) -> syn::Result<TokenStream> {
        let error = |message: String| Err(syn::Error::new_spanned(at, message));
        let same = self.parameter("range");
        let same = same.and_then(|index| self.parameters.get(index));
        if same.is_some_and(|p| matches!(p.ty, Type::Array { .. } | Type::Vector { .. })) {
            return error(
                "the launch has a `range`, and the kernel a parameter of this name; \
                 rename that in C++"
                    .into(),
            );
        }
        let Some(dimension) = literal(dimension)? else {
            return error(TERMS.into());
        };
        let compiled = self.kernel.required_local_size.as_ref().map(Vec::len);
        match (dimension, compiled) {
            (3.., _) => error("a range has three dimensions at most: 0, 1 and 2".into()),
            // It would be 1 at every launch.
            (dimension, Some(count)) if dimension >= count as u64 => error(format!(
                "no dimension {dimension}: this kernel is compiled for work-groups of {count}, counted from 0"
            )),
            (dimension, _) => {
                let dimension = Literal::u64_unsuffixed(dimension);
                Ok(quote!(given.size(#dimension)))
            }
        }
    }
}
