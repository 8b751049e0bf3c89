// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles conditions: replaces parameter names in Rust expressions with reads of the launch arguments.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, Ident, Literal, Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syclbin::__private::counted;
use syclbin::signature::{KernelSignature, Parameter, Pointee, Scalar, Type};
use syn::Expr;

use crate::contract::safety::removed;
use crate::contract::subobject::{Subobject, call, literal};
use crate::contract::{given, has_operator, spelled};
use crate::input::items::{is_punct, is_word};
use crate::names;
use crate::types::{Types, number, option, scalar};

const FORM: &str = "expected a Rust expression that is true or false, such as `x.len() >= n`";

pub(super) struct Condition {
    pub(super) text: String,
    pub(super) code: TokenStream,
    /// The index of the argument that an error message names.
    pub(super) argument: Option<usize>,
    /// The numbers in the condition, as spelled in the contract, with the code that reads them.
    pub(super) values: Vec<(String, TokenStream)>,
}

impl Condition {
    /// Returns the text of the condition, and the code that checks it.
    pub(super) fn check(&self) -> (String, TokenStream) {
        let Self { text, code, .. } = self;
        let argument = option(self.argument.map(Literal::usize_unsuffixed));
        let values = self.values.iter();
        let values = values.map(|(text, code)| quote!((#text, &#code)));
        let given = given();
        let holds = Ident::new("holds", Span::mixed_site());
        // In a closure, a `return` ends this condition, but not the check of the others. `return` also makes the
        // condition an expression: at the start of a block, `if .. {}` would be a statement, and no operator could
        // follow.
        let check = quote! {
            #[allow(clippy::needless_return, clippy::redundant_closure_call, unreachable_code)]
            let #holds = (|| -> ::core::primitive::bool { return #code })();
            if !#given.holds(#holds) {
                return ::core::result::Result::Err(#given.broken(#text, #argument, &[#(#values),*]));
            }
        };
        (text.clone(), check)
    }
}

pub(super) struct Reader<'k, 'f> {
    parameters: &'k [Parameter],
    types: &'k Types<'f>,
    dimensions: Option<u8>,
    /// The path from the generated module of the conditions to the module that contains `include_syclbin!`.
    around: TokenStream,
    /// Whether the parameters are members of a lambda or functor, whose values may have been compiled into the code.
    captured: bool,
    /// The bounded dimensions, each with the index of its parameter. A pointer has only dimension 0, and a condition
    /// with `is_none()` bounds it too.
    pub(super) bounded: BTreeSet<(usize, u64)>,
    /// The indices of the parameters whose alignment appears in a condition.
    pub(super) aligned: BTreeSet<usize>,
    /// Whether the conditions use names that are neither parameters nor `range`.
    pub(super) foreign: bool,
    /// The numbers in the current condition.
    values: Vec<(String, TokenStream)>,
    /// The parameter indices of the first buffer and of the first value in the current condition.
    memory: Option<usize>,
    value: Option<usize>,
}

impl<'k, 'f> Reader<'k, 'f> {
    pub(super) fn new(
        kernel: &'k KernelSignature,
        types: &'k Types<'f>,
        dimensions: Option<u8>,
        around: TokenStream,
    ) -> Self {
        Self {
            parameters: kernel.parameters.as_deref().unwrap_or_default(),
            types,
            dimensions,
            around,
            captured: kernel.symbol.starts_with("_ZTS"),
            bounded: BTreeSet::new(),
            aligned: BTreeSet::new(),
            foreign: false,
            values: Vec::new(),
            memory: None,
            value: None,
        }
    }

    /// Parses a condition. The error for a failed check names the first buffer in the condition, or else the first
    /// value.
    pub(super) fn condition(&mut self, tokens: &TokenStream) -> syn::Result<Condition> {
        let code = self.replaced(tokens.clone())?;
        syn::parse2::<Expr>(code.clone()).map_err(|error| syn::Error::new(error.span(), FORM))?;
        Ok(Condition {
            text: spelled(tokens),
            code,
            argument: self.memory.take().or(self.value.take()),
            values: std::mem::take(&mut self.values),
        })
    }

    fn replaced(&mut self, tokens: TokenStream) -> syn::Result<TokenStream> {
        let mut all = Vec::new();
        flatten(tokens, &mut all);
        let (mut code, mut at) = (TokenStream::new(), 0);
        while let Some(token) = all.get(at) {
            let member = is_member(&all, at);
            let (tokens, read) = match token {
                TokenTree::Ident(word) if !member => self.word(word, &all[at..])?,
                TokenTree::Literal(number) if !member => (wide(number)?, 1),
                TokenTree::Group(group) => {
                    let stream = match (group.delimiter(), literal(group)) {
                        (Delimiter::Bracket, Some(_)) => group.stream(), // an index
                        _ => self.replaced(group.stream())?,
                    };
                    let mut inner = Group::new(group.delimiter(), stream);
                    inner.set_span(group.span());
                    (inner.into_token_stream(), 1)
                }
                other => (other.to_token_stream(), 1),
            };
            code.extend(tokens);
            at += read;
        }
        Ok(code)
    }

    /// Returns the code for `word`, the first of `tokens`, and the number of tokens that it replaces.
    fn word(&mut self, word: &Ident, tokens: &[TokenTree]) -> syn::Result<(TokenStream, usize)> {
        let path = matches!(tokens, [_, TokenTree::Punct(colon), ..] if colon.as_char() == ':');
        let name = names::plain(word);
        let found = names::parameter(self.parameters, &name);
        let (code, read) = match found {
            _ if path => return Ok(self.path(word)),
            _ if name == "range" => self.range(word, tokens)?,
            None => return Ok(self.foreign(word)),
            Some((index, parameter)) => match memory(&parameter.ty) {
                Some(pointee) => self.memory(index, &parameter.ty, pointee, word.span(), tokens)?,
                None if self.captured && removed(parameter) => {
                    let message = format!(
                        "a condition on `{word}` has no effect: the compiler removed the parameter, or compiled in \
                         its value from the C++ source"
                    );
                    return Err(syn::Error::new(word.span(), message));
                }
                None => self.number(index, parameter, word, tokens)?,
            },
        };
        // A buffer name without a method is not a number, so error messages do not show its value.
        let is_memory = found.is_some_and(|(_, parameter)| memory(&parameter.ty).is_some());
        let text = spelled(&tokens[..read].iter().cloned().collect::<TokenStream>());
        let is_new = self.values.iter().all(|(other, _)| *other != text);
        if is_new && (read > 1 || !is_memory) {
            self.values.push((text, code.clone()));
        }
        Ok((code, read))
    }

    /// Returns a user-defined name unchanged, and records that the conditions use such names.
    fn foreign(&mut self, word: &Ident) -> (TokenStream, usize) {
        let keywords = ["true", "false", "as", "if", "else", "crate"];
        self.foreign |= !keywords.contains(&&*word.to_string());
        (word.to_token_stream(), 1)
    }

    /// Returns the code for the first word of a path. `self` and `super` start from the module that contains
    /// `include_syclbin!`.
    fn path(&mut self, word: &Ident) -> (TokenStream, usize) {
        let around = &self.around;
        match &*word.to_string() {
            "self" => (around.clone(), 3),
            "super" => (quote!(#around #word), 1),
            _ => self.foreign(word),
        }
    }

    /// Returns the code for a size of `range` or `range.local()`.
    fn range(&self, word: &Ident, tokens: &[TokenTree]) -> syn::Result<(TokenStream, usize)> {
        let given = located(word.span());
        let range = quote_spanned!(word.span()=> #given.range());
        if let [_, dot, method, rest @ ..] = tokens
            && is_punct(dot, '.')
            && is_word(method, "local")
        {
            let (code, read) = self.size(&quote!(#range.local()), word, rest)?;
            return Ok((code, read + 3));
        }
        self.size(&range, word, tokens)
    }

    /// Returns the code for a size of `range`. `tokens` begin with the last word or group before the size.
    fn size(
        &self,
        range: &TokenStream,
        word: &Ident,
        tokens: &[TokenTree],
    ) -> syn::Result<(TokenStream, usize)> {
        if let Some((method, arguments)) = tokens.get(1..).and_then(call)
            && arguments.stream().is_empty()
        {
            return Ok((quote!(#range.#method #arguments), 4));
        }
        match tokens {
            [_, TokenTree::Group(index), ..] if index.delimiter() == Delimiter::Bracket => {
                let count = u64::from(self.dimensions.unwrap_or(3).max(1));
                if literal(index).is_some_and(|dimension| dimension < count) {
                    return Ok((quote!(#range #index), 2));
                }
                let is_known = self.dimensions.is_some();
                let most = if is_known { "" } else { "at most " };
                Err(wrong_index(index, count, &format!("range has {most}")))
            }
            _ => {
                let message = "expected `range.items()`, `range.dimensions()`, or `range[0]` to `range[2]`; for the \
                    work-group, write `range.local()` with the same methods";
                Err(syn::Error::new(word.span(), message))
            }
        }
    }

    fn memory(
        &mut self,
        index: usize,
        ty: &Type,
        pointee: &Pointee,
        span: Span,
        tokens: &[TokenTree],
    ) -> syn::Result<(TokenStream, usize)> {
        let dimensions = u64::from(ty.dimensions().unwrap_or(1));
        let is_accessor = matches!(ty, Type::Accessor { .. } | Type::LocalAccessor { .. });
        let kind = Ident::new(if is_accessor { "accessor" } else { "memory" }, span);
        let size = match pointee {
            Pointee::Element(element) => self.types.layouts.size(element).unwrap_or(0),
            // The caller chooses the element type, so the length is measured in bytes.
            Pointee::Void | Pointee::Unknown(_) => 1,
        };
        let (given, position) = (located(span), Literal::usize_unsuffixed(index));
        let size = Literal::u64_unsuffixed(size);
        let code = quote_spanned!(span=> #given.#kind(#position, #size));
        self.memory = self.memory.or(Some(index));
        let Some((method, arguments)) = tokens.get(1..).and_then(call) else {
            return Ok((code, 1));
        };
        match &*method.to_string() {
            // The total number of elements does not determine the length of rows, so `len` bounds no dimension.
            "len" if dimensions > 1 => {}
            "len" | "is_none" => _ = self.bounded.insert((index, 0)),
            "size" if is_accessor => match literal(arguments) {
                Some(dimension) if dimension < dimensions => {
                    self.bounded.insert((index, dimension));
                }
                _ => return Err(wrong_index(arguments, dimensions, "accessor has ")),
            },
            "align" => _ = self.aligned.insert(index),
            _ => return Ok((code, 1)),
        }
        Ok((quote!(#code.#method #arguments), 4))
    }

    /// Returns the code for a value or one of its members.
    fn number(
        &mut self,
        index: usize,
        parameter: &Parameter,
        word: &Ident,
        tokens: &[TokenTree],
    ) -> syn::Result<(TokenStream, usize)> {
        let error = |message: String| Err(syn::Error::new(word.span(), message));
        let Some(whole) = Subobject::of(index, parameter) else {
            return error(format!(
                "a contract cannot read `{word}`: it is neither a value nor memory"
            ));
        };
        let (subobject, read) = whole.steps(tokens, self.types)?;
        let Some(scalar) = scalar(&subobject.element) else {
            let spelled = self.types.layouts.spell(&subobject.element);
            return error(format!("expected a number, found `{spelled}`"));
        };
        self.value = self.value.or(Some(index));
        Ok((subobject.read(scalar, located(word.span())), read))
    }
}

fn wrong_index(index: &Group, count: u64, owner: &str) -> syn::Error {
    let dimensions = counted(count, "dimension");
    let message =
        format!("expected a literal index below {count}, because the {owner}{dimensions}");
    syn::Error::new(index.span(), message)
}

/// Returns the pointee of a parameter, or `None` for parameters passed by value and for local memory whose size the
/// file records.
pub(crate) fn memory(ty: &Type) -> Option<&Pointee> {
    let is_sized = matches!(ty, Type::LocalMemory { size: Some(_), .. });
    ty.pointee().filter(|_| !is_sized)
}

/// Returns code that reads a number at its C++ offset and with its C++ type, because a user-defined Rust type may use a
/// different integer type or member order.
pub(super) fn read(
    given: &Ident,
    scalar: Scalar,
    sign_known: bool,
    index: usize,
    offset: u64,
) -> TokenStream {
    let index = Literal::usize_unsuffixed(index);
    let offset = Literal::u64_unsuffixed(offset);
    // Write the full path, because the user may define a type called `u32`.
    let mut ty = number(scalar);
    if !matches!(scalar, Scalar::F16 | Scalar::BF16) {
        ty = quote!(::core::primitive::#ty);
    }
    let method = match scalar {
        Scalar::Bool => return quote!(#given.bool(#index, #offset)),
        scalar if scalar.is_float() => "value",
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 if !sign_known => "unsure",
        _ => "number",
    };
    let method = Ident::new(method, Span::call_site());
    quote!(#given.#method::<#ty>(#index, #offset))
}

/// Returns the variable that contains the launch view, with a span for errors at `span`.
fn located(span: Span) -> Ident {
    let mut given = given();
    given.set_span(given.span().located_at(span));
    given
}

/// Removes the invisible group around a `macro_rules!` variable such as `$n`, unless the group contains an operator.
fn flatten(tokens: TokenStream, all: &mut Vec<TokenTree>) {
    for token in tokens {
        match token {
            TokenTree::Group(group)
                if group.delimiter() == Delimiter::None && !has_operator(&group) =>
            {
                flatten(group.stream(), all);
            }
            other => all.push(other),
        }
    }
}

/// Returns whether the token is a name after `.` or `::`.
fn is_member(tokens: &[TokenTree], at: usize) -> bool {
    let punct = |back: usize, c: char| {
        let token = at.checked_sub(back).and_then(|at| tokens.get(at));
        matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == c
            && (back == 1 || punct.spacing() == Spacing::Joint))
    };
    punct(1, '.') && !punct(2, '.') || punct(1, ':') && punct(2, ':')
}

/// Widens an untyped literal to 128 bits, enough for every number in a kernel.
fn wide(number: &Literal) -> syn::Result<TokenStream> {
    let mut wide = match syn::parse2::<syn::LitInt>(number.to_token_stream()) {
        Ok(integer) if integer.suffix().is_empty() => {
            Literal::i128_suffixed(integer.base10_parse()?)
        }
        _ => number.clone(),
    };
    wide.set_span(number.span());
    Ok(wide.to_token_stream())
}
