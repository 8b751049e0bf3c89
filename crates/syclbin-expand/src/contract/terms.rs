//! The meaning of expressions in a contract: numbers, arguments and the range of the launch.

use std::collections::BTreeSet;

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syclbin::signature::{KernelSignature, Parameter, Pointee, Scalar, Type};
use syn::spanned::Spanned;
use syn::{BinOp, Expr, ExprBinary, ExprGroup, ExprMethodCall, ExprParen, Lit, UnOp};

use crate::contract::bounds::Bounds;
use crate::contract::condition::{ungrouped, word};
use crate::contract::implied::Implied;
use crate::contract::safety::dimensions;
use crate::contract::spelling::spelled;
use crate::contract::subobject::{MemberPath, Subobject};
use crate::contract::sum::{Length, Sum};
use crate::names::label;
use crate::types::{Types, number};

const TERMS: &str = "a contract knows integer parameters, their members, `x.len()` of buffers and work-group memory, \
    `x.align()` of buffers, `x.size(0)` of accessors, `range.items()`, `range[0]` and `range.dimensions()` of the launch, numbers, and + - * / %";

/// The value of an expression in a contract.
pub(crate) struct Value {
    /// Code for a `__private::Number`, or for a value that converts to it.
    pub(crate) code: TokenStream,
    /// The sum of the expression.
    pub(crate) sum: Sum,
}

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
                "there is no dimension {dimension}: this kernel is compiled for work-groups of {count}, \
                 counted from 0"
            )),
            (dimension, _) => {
                let dimension = Literal::u64_unsuffixed(dimension);
                Ok(quote!(given.size(#dimension)))
            }
        }
    }

    /// Returns the number of elements in the buffer or memory of parameter `index`.
    fn length(&mut self, index: usize, at: &Expr) -> syn::Result<Value> {
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
                    "this has no length: it is no buffer",
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
    fn alignment(&mut self, index: usize, at: &Expr) -> syn::Result<Value> {
        let ty = self.parameters.get(index).map(|parameter| &parameter.ty);
        if !matches!(ty, Some(Type::Pointer { .. } | Type::Accessor { .. })) {
            let message = "this has no alignment: it is no buffer";
            return Err(syn::Error::new_spanned(at, message));
        }
        self.aligned.insert(index);
        self.buffer = self.buffer.or(Some(index));
        let position = Literal::usize_unsuffixed(index);
        Ok(Value::natural(quote!(given.align(#position)), at))
    }

    /// Returns the size of a dimension of the accessor of parameter `index`.
    fn size(&mut self, index: usize, dimension: &Expr, at: &Expr) -> syn::Result<Value> {
        let error = |message: String| Err(syn::Error::new_spanned(at, message));
        let parameter = self.parameters.get(index);
        let dimensions = match parameter.map(|parameter| &parameter.ty) {
            Some(Type::Accessor { dimensions, .. }) => *dimensions,
            Some(Type::LocalAccessor { dimensions, .. }) => dimensions.unwrap_or(1),
            _ => return error("this has no sizes: it is no accessor".into()),
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
    fn value(&mut self, expression: &Expr) -> syn::Result<Value> {
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
                _ => format!("`{name}` is no integer"),
            });
        };
        let subobject = path.steps(whole, self.types, expression)?;
        let Some(scalar) = subobject.scalar() else {
            let spelled = self.types.layouts.spell(&subobject.element);
            return error(format!("this is no integer: it is `{spelled}`"));
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

    fn parameter(&self, name: &str) -> Option<usize> {
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

    fn no_parameter(&self, at: &Expr) -> syn::Error {
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

impl Value {
    fn constant(number: i128) -> Self {
        let value = Literal::i128_suffixed(number);
        Self {
            code: quote!(#value),
            sum: Sum::constant(number),
        }
    }

    /// Creates a number of the launch that is never negative.
    fn natural(code: TokenStream, at: &Expr) -> Self {
        let sum = Sum::natural(spelled(ungrouped(at)));
        Self { code, sum }
    }
}

/// Returns the value of limits such as `i32::MIN`.
fn limit(path: &syn::Path) -> Option<i128> {
    let mut words = path
        .segments
        .iter()
        .map(|segment| segment.ident.to_string());
    let (ty, end) = (words.next()?, words.next()?);
    let (signed, bits) = ty.split_at_checked(1)?;
    let bits: u32 = bits
        .parse()
        .ok()
        .filter(|bits| [8, 16, 32, 64].contains(bits))?;
    let half = 1i128 << (bits - 1);
    match (signed, &*end) {
        ("i", "MIN") => Some(-half),
        ("i", "MAX") => Some(half - 1),
        ("u", "MIN") => Some(0),
        ("u", "MAX") => Some(2 * half - 1),
        _ => None,
    }
}

/// Returns the number, if the expression is an integer literal.
fn literal(expression: &Expr) -> syn::Result<Option<u64>> {
    match ungrouped(expression) {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().map(Some),
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_rust() {
        for (text, expected) in [
            ("i8::MIN", Some(i8::MIN.into())),
            ("i8::MAX", Some(i8::MAX.into())),
            ("u8::MIN", Some(0)),
            ("u8::MAX", Some(u8::MAX.into())),
            ("i16::MIN", Some(i16::MIN.into())),
            ("u16::MAX", Some(u16::MAX.into())),
            ("i32::MAX", Some(i32::MAX.into())),
            ("u32::MIN", Some(0)),
            ("u32::MAX", Some(u32::MAX.into())),
            ("i64::MIN", Some(i64::MIN.into())),
            ("i64::MAX", Some(i64::MAX.into())),
            ("u64::MAX", Some(u64::MAX.into())),
            ("i32::BITS", None),
            ("f32::MAX", None),
            ("i7::MAX", None),
            ("i128::MAX", None),
            ("usize::MAX", None),
        ] {
            assert_eq!(limit(&syn::parse_str(text).unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn literals_are_whole_numbers() {
        for (text, expected) in [
            ("0", Some(0)),
            ("(7)", Some(7)),
            ("0x10", Some(16)),
            ("1.5", None),
            ("n", None),
            ("-1", None),
        ] {
            let expression: Expr = syn::parse_str(text).unwrap();
            assert_eq!(literal(&expression).unwrap(), expected, "{text}");
        }
    }
}
