//! Contracts: conditions over the arguments of a kernel, checked at launch.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Ident, Literal, Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syclbin::signature::{Argument, Element, KernelSignature, Parameter, Pointee, Scalar, Type};
use syn::spanned::Spanned;
use syn::{BinOp, Expr, Lit, Member, UnOp};

use crate::cpp_name::CppName;
use crate::names;
use crate::rust_type::{Types, number};
use crate::structs;

/// The conditions of a kernel.
pub(crate) struct Contract {
    conditions: Vec<Condition>,
    /// Whether it was not read, of which enough was said.
    unreadable: bool,
}

struct Condition {
    text: String,
    left: Side,
    relation: Ident,
    right: Side,
}

/// One side of a comparison.
struct Side {
    text: String,
    expression: Expr,
}

const FORM: &str =
    "expected a comparison of integers, such as `x.len() >= n`, with <, <=, ==, !=, >= or >";
const TERMS: &str = "a contract knows integer parameters, their members, `x.len()` of buffers and work-group memory, \
    `range.items()`, `range[0]` and `range.dimensions()` of the launch, numbers, and + - * / %";

impl Contract {
    /// Reads the conditions behind `where`. What they name is looked at by [`Self::check`].
    pub(crate) fn parse(conditions: &[TokenStream]) -> Result<Self, syn::Error> {
        let mut read = Vec::new();
        let mut errors: Option<syn::Error> = None;
        for tokens in conditions {
            let condition = syn::parse2(tokens.clone())
                .map_err(|error| keyword(tokens).unwrap_or(syn::Error::new(error.span(), FORM)))
                .and_then(|expression| split(&expression, &mut read));
            if let Err(error) = condition {
                match &mut errors {
                    Some(errors) => errors.combine(error),
                    None => errors = Some(error),
                }
            }
        }
        match errors {
            Some(errors) => Err(errors),
            None => Ok(Self {
                conditions: read,
                unreadable: false,
            }),
        }
    }

    /// Stands for one that cannot be read.
    pub(crate) const fn unreadable() -> Self {
        Self {
            conditions: Vec::new(),
            unreadable: true,
        }
    }

    /// What checks a launch of `kernel`.
    ///
    /// # Errors
    ///
    /// When a condition names what the kernel does not have, or what is no integer; and when no
    /// condition bounds a buffer. All that is wrong.
    pub(crate) fn check(
        &self,
        kernel: &KernelSignature,
        item: &CppName,
        types: &Types<'_>,
        depth: usize,
    ) -> Result<Check, Vec<syn::Error>> {
        let parameters = kernel.parameters.as_deref().unwrap_or_default();
        let mut terms = Terms {
            parameters,
            types,
            depth,
            measured: vec![false; parameters.len()],
            buffer: None,
            value: None,
            implied: Implied::default(),
        };
        let mut errors = Vec::new();
        let read = self
            .conditions
            .iter()
            .map(|condition| terms.compare(condition));
        let written: Vec<TokenStream> = read
            .filter_map(|read| read.map_err(|wrong| errors.extend(wrong)).ok())
            .collect();
        if !self.unreadable {
            errors.extend(terms.unbounded().map(|message| item.error(message)));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let implied = terms.implied.conditions(kernel);
        let checks = implied.iter().map(|condition| terms.compare(condition));
        let mut checks = checks.collect::<Result<Vec<TokenStream>, _>>()?;
        checks.extend(written);
        let given = match checks.is_empty() {
            true => quote!(_),
            false => quote!(given),
        };
        let all = implied.iter().chain(&self.conditions);
        Ok(Check {
            texts: all.map(|condition| condition.text.clone()).collect(),
            function: quote! {
                |#given| {
                    #(#checks)*
                    ::core::result::Result::Ok(())
                }
            },
        })
    }
}

/// A contract as it is checked.
pub(crate) struct Check {
    /// All conditions as people write them, those that follow from others first.
    pub(crate) texts: Vec<String>,
    /// A closure over nothing.
    pub(crate) function: TokenStream,
}

/// What conditions rest on without saying it.
#[derive(Default)]
struct Implied {
    /// The last dimension they name. Dimension k of a kernel is `range[k]` only if the range has as
    /// many dimensions as the kernel; how many that are is not in the file, so this tells.
    last: Option<usize>,
    /// Whether they say how many dimensions there are.
    dimensions: bool,
    /// Numbers that may be signed or not. Where they are not negative, they are the same.
    unsure: BTreeMap<String, Expr>,
}

impl Implied {
    fn conditions(&self, kernel: &KernelSignature) -> Vec<Condition> {
        let mut conditions = Vec::new();
        // One that is compiled for a work-group size cannot be launched over other dimensions.
        let free = kernel.required_local_size.is_none() && !self.dimensions;
        if let Some(last) = self.last.filter(|_| free) {
            let count = Literal::usize_unsuffixed(last + 1);
            conditions.push(Condition::new(
                &syn::parse_quote!(range.dimensions()),
                "Equal",
                &syn::parse_quote!(#count),
            ));
        }
        let zero = syn::parse_quote!(0);
        let unsure = self.unsure.values();
        conditions.extend(unsure.map(|number| Condition::new(number, "GreaterOrEqual", &zero)));
        conditions
    }
}

/// C++ names parameters like keywords of Rust, such as `in`.
fn keyword(tokens: &TokenStream) -> Option<syn::Error> {
    tokens.clone().into_iter().find_map(|token| {
        let TokenTree::Ident(word) = token else {
            return None;
        };
        let raw = names::raw_keyword(&word)?;
        let message = format!("`{word}` is a keyword of Rust; write `{raw}`");
        Some(syn::Error::new(word.span(), message))
    })
}

/// Takes `a && b` for two conditions.
fn split(expression: &Expr, conditions: &mut Vec<Condition>) -> syn::Result<()> {
    let error = |at: &Expr| Err(syn::Error::new_spanned(at, FORM));
    let Expr::Binary(binary) = ungrouped(expression) else {
        return error(expression);
    };
    let relation = match binary.op {
        BinOp::And(_) => {
            split(&binary.left, conditions)?;
            return split(&binary.right, conditions);
        }
        BinOp::Lt(_) => "Less",
        BinOp::Le(_) => "LessOrEqual",
        BinOp::Eq(_) => "Equal",
        BinOp::Ne(_) => "NotEqual",
        BinOp::Ge(_) => "GreaterOrEqual",
        BinOp::Gt(_) => "Greater",
        _ => return error(expression),
    };
    conditions.push(Condition {
        text: spelled(binary),
        ..Condition::new(&binary.left, relation, &binary.right)
    });
    Ok(())
}

impl Condition {
    fn new(left: &Expr, relation: &str, right: &Expr) -> Self {
        let (left, right) = (Side::new(left), Side::new(right));
        let sign = match relation {
            "Equal" => "==",
            _ => ">=",
        };
        Self {
            text: format!("{} {sign} {}", left.text, right.text),
            relation: Ident::new(relation, Span::call_site()),
            left,
            right,
        }
    }
}

impl Side {
    fn new(expression: &Expr) -> Self {
        Self {
            text: spelled(expression),
            expression: expression.clone(),
        }
    }
}

/// What expressions of one kernel may name.
struct Terms<'k, 'f> {
    parameters: &'k [Parameter],
    types: &'k Types<'f>,
    depth: usize,
    /// Whose length a condition has.
    measured: Vec<bool>,
    /// The first buffer that a condition names, and the first number.
    buffer: Option<usize>,
    value: Option<usize>,
    implied: Implied,
}

impl Terms<'_, '_> {
    /// The check of one condition.
    fn compare(&mut self, condition: &Condition) -> Result<TokenStream, Vec<syn::Error>> {
        (self.buffer, self.value) = (None, None);
        let mut errors = Vec::new();
        let sides = [&condition.left, &condition.right].map(|side| self.number(&side.expression));
        let [left, right] = sides.map(|side| side.map_err(|error| errors.push(error)).ok());
        if !errors.is_empty() {
            return Err(errors);
        }
        // A buffer is to blame rather than the number it is compared with.
        let argument = match self.buffer.or(self.value) {
            Some(index) => {
                let index = Literal::usize_unsuffixed(index);
                quote!(::core::option::Option::Some(#index))
            }
            None => quote!(::core::option::Option::None),
        };
        let (text, relation) = (&condition.text, &condition.relation);
        let (left_text, right_text) = (&condition.left.text, &condition.right.text);
        Ok(quote! {
            given.holds(
                &::syclbin_rt::contract::Condition {
                    text: #text,
                    argument: #argument,
                    left: #left_text,
                    relation: ::syclbin_rt::contract::Relation::#relation,
                    right: #right_text,
                },
                #left,
                #right,
            )?;
        })
    }

    /// `expression` as a `contract::Number`.
    fn number(&mut self, expression: &Expr) -> syn::Result<TokenStream> {
        let unknown = || Err(syn::Error::new_spanned(expression, TERMS));
        match expression {
            Expr::Paren(inner) => {
                let inner = self.number(&inner.expr)?;
                Ok(quote!((#inner)))
            }
            Expr::Group(inner) => self.number(&inner.expr),
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) => {
                    let value: i64 = number.base10_parse()?;
                    let value = Literal::i64_suffixed(value);
                    Ok(quote!(#value))
                }
                _ => unknown(),
            },
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
                let inner = self.number(&unary.expr)?;
                Ok(quote!((::syclbin_rt::contract::Number::from(0i64)
                    - ::syclbin_rt::contract::Number::from(#inner))))
            }
            Expr::Binary(binary) => {
                let op = &binary.op;
                if !matches!(
                    op,
                    BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Div(_) | BinOp::Rem(_)
                ) {
                    return unknown();
                }
                let mut operand = |side: &Expr| {
                    let number = self.number(side)?;
                    syn::Result::Ok(match ungrouped(side) {
                        Expr::Binary(_) | Expr::Unary(_) => number,
                        _ => quote!(::syclbin_rt::contract::Number::from(#number)),
                    })
                };
                let (left, right) = (operand(&binary.left)?, operand(&binary.right)?);
                Ok(quote!(#left #op #right))
            }
            Expr::MethodCall(call) if call.args.is_empty() && call.turbofish.is_none() => {
                let Some(name) = word(&call.receiver) else {
                    return unknown();
                };
                match (call.method.to_string().as_str(), self.parameter(&name)) {
                    ("len", Some(index)) => self.length(index, expression),
                    ("len", None) => Err(self.no_parameter(&call.receiver)),
                    ("items", _) if name == "range" => Ok(quote!(given.items())),
                    ("dimensions", _) if name == "range" => {
                        self.implied.dimensions = true;
                        Ok(quote!(given.dimensions()))
                    }
                    _ => unknown(),
                }
            }
            Expr::Index(index) if word(&index.expr).is_some_and(|name| name == "range") => {
                let same = self.parameter("range");
                let same = same.and_then(|index| self.parameters.get(index));
                if same.is_some_and(|p| matches!(p.ty, Type::Array { .. } | Type::Vector { .. })) {
                    let message = "the launch has a `range`, and the kernel a parameter of this name; \
                        rename that in C++";
                    return Err(syn::Error::new_spanned(expression, message));
                }
                match &*index.index {
                    Expr::Lit(literal) => match &literal.lit {
                        Lit::Int(dimension) => match dimension.base10_parse::<usize>()? {
                            dimension @ 0..3 => {
                                self.implied.last = self.implied.last.max(Some(dimension));
                                let dimension = Literal::usize_unsuffixed(dimension);
                                Ok(quote!(given.size(#dimension)))
                            }
                            _ => Err(syn::Error::new_spanned(
                                expression,
                                "a range has three dimensions at most: 0, 1 and 2",
                            )),
                        },
                        _ => unknown(),
                    },
                    _ => unknown(),
                }
            }
            Expr::Path(_) | Expr::Field(_) | Expr::Index(_) => self.value(expression),
            _ => unknown(),
        }
    }

    /// Elements of the buffer or memory of parameter `index`.
    fn length(&mut self, index: usize, at: &Expr) -> syn::Result<TokenStream> {
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
        self.measured[index] = true;
        self.buffer = self.buffer.or(Some(index));
        let position = Literal::usize_unsuffixed(index);
        match pointee {
            Pointee::Element(_) => {
                let element = self.types.pointee(pointee, self.depth);
                Ok(quote!(given.len::<#element>(#position)))
            }
            // The caller chooses what it holds; as bytes it has a length.
            Pointee::Void | Pointee::Unknown(_) => Ok(quote!(given.len::<u8>(#position))),
        }
    }

    /// A number that is passed by value, or is in what is.
    fn value(&mut self, expression: &Expr) -> syn::Result<TokenStream> {
        let error = |message: String| Err(syn::Error::new_spanned(expression, message));
        let mut path = Vec::new();
        let mut inner = expression;
        let name = loop {
            match inner {
                Expr::Path(_) => match word(inner) {
                    Some(name) => break name,
                    None => return error(TERMS.into()),
                },
                Expr::Field(field) => {
                    let Member::Named(name) = &field.member else {
                        return error(TERMS.into());
                    };
                    path.push(Step::Member(name.clone()));
                    inner = &field.base;
                }
                Expr::Index(index) => {
                    let Expr::Lit(literal) = &*index.index else {
                        return error(TERMS.into());
                    };
                    path.push(Step::Index(literal.lit.clone()));
                    inner = &index.expr;
                }
                _ => return error(TERMS.into()),
            }
        };
        path.reverse();
        let Some(index) = self.parameter(&name) else {
            return Err(self.no_parameter(inner));
        };
        let Some(parameter) = self.parameters.get(index) else {
            return error(TERMS.into());
        };
        let mut element = match &parameter.ty {
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
            Type::Pointer { .. } | Type::Accessor { .. } => {
                return error(format!(
                    "`{name}` is a buffer; what it holds is not known at launch, `{name}.len()` is"
                ));
            }
            _ => return error(format!("`{name}` is no integer")),
        };
        let outer = self.types.of(&element, self.depth);
        let position = Literal::usize_unsuffixed(index);
        // Here, so that rustc points here.
        let span = expression.span().resolved_at(Span::call_site());
        let mut value = quote_spanned!(span=> given.value::<#outer>(#position));
        let member = !path.is_empty();
        let mut sign_known = parameter.sign_known;
        for step in path {
            (element, value) = match (step, &element) {
                (Step::Member(member), Element::Struct(id)) => {
                    let layout = self.types.layouts.get(*id);
                    match layout.and_then(|layout| structs::member(layout, &names::plain(&member)))
                    {
                        Some((field, mut ident)) => {
                            ident.set_span(member.span());
                            sign_known = field.sign_known;
                            (field.ty.clone(), quote!(#value.#ident))
                        }
                        None => {
                            let known = self.types.layouts.describe(*id);
                            return error(format!("there is no member `{member}`: {known}"));
                        }
                    }
                }
                (Step::Index(index), Element::Array { of, count }) => {
                    let index = within(&index, *count)?;
                    ((**of).clone(), quote!(#value[#index]))
                }
                (Step::Index(index), Element::Vector { of, count }) => {
                    let index = within(&index, u64::from(*count))?;
                    (Element::Scalar(*of), quote!(#value[#index]))
                }
                (Step::Member(member), _) => {
                    return error(format!("`{member}` is no member of a struct"));
                }
                (Step::Index(_), _) => return error("this is no array".into()),
            };
        }
        let scalar = match &element {
            Element::Scalar(scalar) => *scalar,
            Element::Enum(of) => of.of,
            _ => {
                return error(format!(
                    "this is no integer: it is `{}`",
                    self.types.layouts.spell(&element)
                ));
            }
        };
        if scalar.is_float() || scalar == Scalar::Bool {
            let ty = number(scalar).to_string().replace(' ', "");
            let ty = if scalar == Scalar::Bool {
                "bool".into()
            } else {
                ty
            };
            return error(format!("this is a `{ty}`; contracts compare integers"));
        }
        self.value = self.value.or(Some(index));
        if !sign_known {
            let text = spelled(expression);
            self.implied.unsure.insert(text, expression.clone());
        }
        // A type of the user's may have another integer of that size, which is another number.
        Ok(match member {
            true => {
                let ty = number(scalar);
                quote_spanned!(span=> { let value: #ty = #value; value })
            }
            false => value,
        })
    }

    fn parameter(&self, name: &str) -> Option<usize> {
        let mut parameters = self.parameters.iter();
        parameters
            .position(|parameter| parameter.name.as_deref() == Some(name))
            .or_else(|| {
                // As the documentation calls those without a name.
                let index = name.strip_prefix("arg")?.parse().ok()?;
                let parameter: &Parameter = self.parameters.get(index)?;
                parameter
                    .name
                    .as_deref()
                    .unwrap_or_default()
                    .is_empty()
                    .then_some(index)
            })
    }

    fn no_parameter(&self, at: &Expr) -> syn::Error {
        if word(at).is_some_and(|name| name == "range") {
            let message = "the range of the launch is `range.items()`, or `range[0]` to `range[2]`";
            return syn::Error::new(at.span(), message);
        }
        let names = self
            .parameters
            .iter()
            .enumerate()
            .map(|(index, parameter)| {
                let name = parameter.name.clone().filter(|name| !name.is_empty());
                format!("`{}`", name.unwrap_or_else(|| format!("arg{index}")))
            });
        let names: Vec<String> = names.collect();
        syn::Error::new(
            at.span(),
            format!(
                "the kernel has no parameter of this name; it has {}",
                names.join(", ")
            ),
        )
    }

    /// What a safe launch needs and no condition gives.
    fn unbounded(&self) -> impl Iterator<Item = String> {
        let numbered = self.parameters.iter().zip(&self.measured).enumerate();
        numbered.filter_map(|(index, (parameter, measured))| {
            let name = parameter.name.clone().filter(|name| !name.is_empty());
            let name = name.unwrap_or_else(|| format!("arg{index}"));
            let (element, sized) = match &parameter.ty {
                Type::Pointer { pointee, .. } => (pointee_element(pointee), true),
                Type::Accessor { element, .. } | Type::LocalAccessor { element, .. } => (pointee_element(element), true),
                Type::LocalMemory { element, size } => (pointee_element(element), size.is_none()),
                Type::Struct(id) => (Some(Element::Struct(*id)), false),
                Type::Array { of, .. } => (Some(of.clone()), false),
                _ => (None, false),
            };
            if element.is_some_and(|element| self.types.holds_pointer(&element)) {
                return Some(format!(
                    "this kernel cannot be safe: `{name}` holds device pointers, and nothing checks where they point"
                ));
            }
            let removed = parameter.arguments.first() == Some(&Argument::Removed);
            (sized && !measured && !removed).then(|| {
                format!("nothing bounds `{name}`: add a condition such as `{name}.len() >= range.items()`")
            })
        })
    }
}

fn pointee_element(pointee: &Pointee) -> Option<Element> {
    match pointee {
        Pointee::Element(element) => Some(element.clone()),
        Pointee::Void | Pointee::Unknown(_) => None,
    }
}

/// The index of one of `count` elements.
fn within(index: &Lit, count: u64) -> syn::Result<Literal> {
    let Lit::Int(number) = index else {
        return Err(syn::Error::new_spanned(index, TERMS));
    };
    match number.base10_parse::<u64>()? {
        index if index < count => Ok(Literal::u64_unsuffixed(index)),
        _ => Err(syn::Error::new_spanned(
            index,
            format!("there are {count} elements, counted from 0"),
        )),
    }
}

/// A step into a value.
enum Step {
    Member(Ident),
    Index(Lit),
}

/// The name, if `expression` is one.
fn word(expression: &Expr) -> Option<String> {
    let Expr::Path(path) = expression else {
        return None;
    };
    path.path.get_ident().map(names::plain)
}

fn ungrouped(expression: &Expr) -> &Expr {
    match expression {
        Expr::Paren(inner) => ungrouped(&inner.expr),
        Expr::Group(inner) => ungrouped(&inner.expr),
        other => other,
    }
}

/// An expression as people write it.
fn spelled(tokens: &impl ToTokens) -> String {
    let mut text = String::new();
    spell(tokens.to_token_stream(), &mut text);
    text
}

/// A token stream prints a space between any two tokens; here they stand around operators only.
fn spell(tokens: TokenStream, text: &mut String) {
    let (mut after, mut joint) = (Token::Start, false);
    for token in tokens {
        let kind = match &token {
            TokenTree::Punct(punct) if punct.as_char() != '.' => match after {
                Token::Start | Token::Operator if !joint => Token::Sign,
                _ => Token::Operator,
            },
            _ => Token::Operand,
        };
        let spaced = match (after, kind) {
            (Token::Start | Token::Sign, _) | (Token::Operand, Token::Operand) => false,
            _ => !joint,
        };
        if spaced {
            text.push(' ');
        }
        match &token {
            TokenTree::Group(group) => {
                let [open, close] = match group.delimiter() {
                    Delimiter::Parenthesis => ["(", ")"],
                    Delimiter::Bracket => ["[", "]"],
                    Delimiter::Brace => ["{", "}"],
                    Delimiter::None => ["", ""],
                };
                text.push_str(open);
                spell(group.stream(), text);
                text.push_str(close);
            }
            token => text.push_str(&token.to_string()),
        }
        joint = matches!(&token, TokenTree::Punct(punct) if punct.spacing() == Spacing::Joint);
        after = kind;
    }
}

#[derive(Clone, Copy)]
enum Token {
    Start,
    Operator,
    /// A minus before a number.
    Sign,
    Operand,
}
