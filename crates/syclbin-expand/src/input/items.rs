// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses the items after the module: user-defined types, the selection of kernels, and items that set a kernel's name,
//! visibility, optional pointers or contract. Contracts are declared inside `unsafe extern "SYCL" { .. }`.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use syn::Visibility;
use syn::parse::Parser;

use crate::names;
use crate::names::cpp_name::CppName;

#[derive(Default)]
pub(crate) struct Items {
    pub(crate) types: Vec<TypeItem>,
    pub(crate) selection: Option<Selection>,
    pub(crate) kernels: Vec<KernelItem>,
}

/// `ns::Particle => crate::Particle` or `ns::Particle as Body`.
pub(crate) struct TypeItem {
    pub(crate) cpp: CppName,
    pub(crate) rust: RustType,
}

pub(crate) enum RustType {
    /// The user's own type.
    Own(syn::Path),
    /// A new name for the generated type.
    Named(Ident),
}

pub(crate) struct Selection {
    /// Whether the kernels with these names are skipped. Otherwise, all others are.
    pub(crate) skips: bool,
    pub(crate) names: Vec<CppName>,
}

/// `pub(crate) safe fn scale<int> as scale_ints where data.len() >= n, mask: Option;`
pub(crate) struct KernelItem {
    pub(crate) visibility: Option<Visibility>,
    /// The span of the keyword `unsafe` before the enclosing block, if the kernel is declared safe.
    pub(crate) vouched: Option<Span>,
    pub(crate) cpp: CppName,
    pub(crate) rename: Option<Ident>,
    /// The pointer parameters that may be null.
    pub(crate) optional: Vec<Ident>,
    pub(crate) conditions: Vec<TokenStream>,
}

const FORMS: &str = "expected `types { .. }`, `only { .. }`, `skip { .. }`, `fn NAME as NEW_NAME;` or \
    `unsafe extern \"SYCL\" { safe fn NAME where BUFFER.len() >= N; }`";

impl Items {
    /// Parses all items. Returns the valid items, and the errors in the others.
    pub(crate) fn parse(tokens: TokenStream) -> (Self, Vec<syn::Error>) {
        let (mut items, mut errors) = (Self::default(), Vec::new());
        items.add_all(tokens, None, &mut errors);
        (items, errors)
    }

    /// Adds the items in `tokens`. `vouched` is the span of the keyword `unsafe` before the enclosing block.
    fn add_all(
        &mut self,
        tokens: TokenStream,
        vouched: Option<Span>,
        errors: &mut Vec<syn::Error>,
    ) {
        let mut rest = tokens.into_iter().peekable();
        while rest.peek().is_some() {
            let mut item = Vec::new();
            let mut ended = false;
            for token in rest.by_ref() {
                ended = is_punct(&token, ';') || is_block(&item, &token);
                item.push(token);
                if ended {
                    break;
                }
            }
            let added = match item.as_slice() {
                [head @ .., TokenTree::Group(block)] if is_extern(head) => {
                    vouching(head).map(|span| self.add_all(block.stream(), Some(span), errors))
                }
                item => self.add(item, ended, vouched, errors),
            };
            errors.extend(added.err());
        }
    }

    fn add(
        &mut self,
        item: &[TokenTree],
        ended: bool,
        vouched: Option<Span>,
        errors: &mut Vec<syn::Error>,
    ) -> syn::Result<()> {
        let (Some(first), Some(last)) = (item.first(), item.last()) else {
            return Ok(());
        };
        match item {
            [TokenTree::Punct(_)] if is_punct(first, ';') => Ok(()), // allowed, as after Rust items
            [TokenTree::Ident(word), TokenTree::Group(block)] if word == "types" => {
                for entry in entries(block) {
                    match TypeItem::parse(&entry) {
                        Ok(parsed) => self.types.push(parsed),
                        Err(error) => errors.push(error),
                    }
                }
                Ok(())
            }
            [TokenTree::Ident(word), TokenTree::Group(block)]
                if word == "only" || word == "skip" =>
            {
                self.select(word, block)
            }
            _ if item.iter().take(2).any(|token| is_word(token, "mod")) => {
                let message = "an `include_syclbin!` generates a single module; use another `include_syclbin!` for \
                    this one";
                Err(syn::Error::new(first.span(), message))
            }
            _ => {
                let body = &item[..item.len() - usize::from(ended)];
                let kernel = KernelItem::parse(body, vouched)?;
                if !ended {
                    return Err(syn::Error::new(last.span(), "expected `;` after this"));
                }
                self.kernels.push(kernel);
                Ok(())
            }
        }
    }

    fn select(&mut self, word: &Ident, block: &Group) -> syn::Result<()> {
        if self.selection.is_some() {
            let message = "only one `only` or `skip` block is allowed; merge or remove this one";
            return Err(syn::Error::new(word.span(), message));
        }
        let names = entries(block).into_iter();
        let names = names.map(|entry| CppName::parse(&entry, &entry[0], "kernel"));
        let names: Vec<CppName> = names.collect::<syn::Result<_>>()?;
        if names.is_empty() {
            let message = format!("name kernels between the braces, or remove `{word}`");
            return Err(syn::Error::new(word.span(), message));
        }
        let skips = word == "skip";
        self.selection = Some(Selection { skips, names });
        Ok(())
    }
}

impl TypeItem {
    fn parse(tokens: &[TokenTree]) -> syn::Result<Self> {
        const FORM: &str = "expected `CppName => crate::RustType`, or `CppName as NewName`";
        let arrow = |pair: &[TokenTree]| is_punct(&pair[0], '=') && is_punct(&pair[1], '>');
        if let Some(at) = tokens.windows(2).position(arrow) {
            let (cpp, rust) = (&tokens[..at], &tokens[at + 2..]);
            let cpp = CppName::parse(cpp, &tokens[at], "struct")?;
            let rust: TokenStream = rust.iter().cloned().collect();
            let path = syn::Path::parse_mod_style.parse2(rust.clone());
            let path = path.map_err(|error| syn::Error::new(error.span(), FORM))?;
            let from_anywhere = path.leading_colon.is_some()
                || path.segments.first().is_some_and(|s| s.ident == "crate");
            if !from_anywhere {
                let message = "the generated module uses this path, so start it with `crate::` or with `::` and a \
                    crate name";
                return Err(syn::Error::new_spanned(rust, message));
            }
            let rust = RustType::Own(path);
            return Ok(Self { cpp, rust });
        }
        let at = position(tokens, "as");
        let at = at.ok_or_else(|| syn::Error::new(tokens[0].span(), FORM))?;
        let cpp = CppName::parse(&tokens[..at], &tokens[at], "struct")?;
        let rust = RustType::Named(rust_name(&tokens[at + 1..], &tokens[at])?);
        Ok(Self { cpp, rust })
    }
}

impl KernelItem {
    /// Returns whether the item is only a name and thus has no effect.
    pub(crate) fn is_idle(&self) -> bool {
        self.visibility.is_none()
            && self.vouched.is_none()
            && self.rename.is_none()
            && self.optional.is_empty()
    }

    fn parse(tokens: &[TokenTree], vouched: Option<Span>) -> syn::Result<Self> {
        let Some(at) = position(tokens, "fn") else {
            let first = tokens.first().map_or_else(Span::call_site, TokenTree::span);
            return Err(syn::Error::new(first, FORMS));
        };
        let (mut head, body) = (&tokens[..at], &tokens[at + 1..]);
        let mut safe = None;
        if let [rest @ .., last] = head
            && is_word(last, "safe")
        {
            (head, safe) = (rest, Some(last.span()));
        }
        if let (Some(span), None) = (safe, vouched) {
            let message = "nothing checks that a kernel obeys its contract, so you have to guarantee this: write \
                `unsafe extern \"SYCL\" { safe fn .. }`";
            return Err(syn::Error::new(span, message));
        }
        let visibility = visibility(head)?;
        let conditions_at = position(body, "where").unwrap_or(body.len());
        let called = &body[..conditions_at];
        let name_end = position(called, "as").unwrap_or(conditions_at);
        let (name, rename) = called.split_at(name_end);
        let cpp = CppName::parse(name, &tokens[at], "kernel")?;
        let rename = match rename {
            [word, name @ ..] => Some(rust_name(name, word)?),
            [] => None,
        };
        let (mut conditions, mut optional): (Vec<TokenStream>, _) = (Vec::new(), Vec::new());
        if let Some(word) = body.get(conditions_at) {
            for part in split(&body[conditions_at + 1..], false) {
                match part.as_slice() {
                    [TokenTree::Ident(name), colon, option]
                        if is_punct(colon, ':') && is_word(option, "Option") =>
                    {
                        optional.push(name.clone());
                    }
                    _ => conditions.push(TokenStream::from_iter(part)),
                }
            }
            if safe.is_none() && !conditions.is_empty() {
                let message = "only a `safe` kernel can have conditions; write `safe fn`";
                return Err(syn::Error::new(word.span(), message));
            }
            if conditions.is_empty() && optional.is_empty() {
                let message = "expected conditions after `where`, such as `x.len() >= n`";
                return Err(syn::Error::new(word.span(), message));
            }
            for condition in &conditions {
                super::check_length(condition.clone(), "condition")?;
            }
        }
        Ok(Self {
            visibility,
            vouched: vouched.filter(|_| safe.is_some()),
            cpp,
            rename,
            optional,
            conditions,
        })
    }
}

/// Parses a visibility. Only `pub` and `pub(crate)` mean the same inside and outside the generated module.
fn visibility(tokens: &[TokenTree]) -> syn::Result<Option<Visibility>> {
    let Some(first) = tokens.first() else {
        return Ok(None);
    };
    let error = |at: &TokenTree, message: &str| Err(syn::Error::new(at.span(), message));
    let all: TokenStream = tokens.iter().cloned().collect();
    match syn::parse2::<Visibility>(all) {
        Ok(Visibility::Inherited) | Err(_) => error(first, FORMS),
        Ok(Visibility::Restricted(path)) if !path.path.is_ident("crate") => error(
            first,
            "expected `pub` or `pub(crate)`; other visibilities would be relative to the generated module",
        ),
        Ok(visibility) => Ok(Some(visibility)),
    }
}

fn rust_name(tokens: &[TokenTree], at: &TokenTree) -> syn::Result<Ident> {
    let error = |at: &TokenTree, message: &str| Err(syn::Error::new(at.span(), message));
    let word = match tokens {
        [TokenTree::Ident(word)] => word,
        [] => return error(at, "expected a Rust name after this"),
        [first, ..] => {
            let message = "expected one Rust name, followed by `;` (or by `,` in `types`)";
            return error(first, message);
        }
    };
    let text = word.to_string();
    if syn::parse_str::<Ident>(&text).is_ok() {
        // `r#load` and `load` are the same name, but differ as `Ident`s.
        let mut name = names::identifier(&names::plain(word)).unwrap_or_else(|| word.clone());
        name.set_span(word.span());
        return Ok(name);
    }
    let message = match names::raw_keyword(word) {
        Some(raw) => format!("`{text}` is a Rust keyword; write `{raw}` or choose another name"),
        None => format!("`{text}` is not a valid Rust name; `{text}_` is"),
    };
    Err(syn::Error::new(word.span(), message))
}

/// Returns the tokens between the commas in a block of C++ names.
fn entries(block: &Group) -> Vec<Vec<TokenTree>> {
    let tokens: Vec<TokenTree> = block.stream().into_iter().collect();
    split(&tokens, true)
}

/// Splits at commas, and drops empty parts. If `names` is set, ignores commas between `<` and `>`, as in C++ names.
fn split(tokens: &[TokenTree], names: bool) -> Vec<Vec<TokenTree>> {
    let mut parts = vec![Vec::new()];
    let (mut depth, mut before) = (0usize, None);
    for token in tokens {
        // The `>` of the arrow in `&A::operator->` does not close a bracket.
        let arrow = before.is_some_and(|before| is_punct(before, '-'));
        if names && is_punct(token, '<') {
            depth += 1;
        } else if names && is_punct(token, '>') && !arrow {
            depth = depth.saturating_sub(1);
        }
        if is_punct(token, ',') && depth == 0 {
            parts.push(Vec::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(token.clone());
        }
        before = Some(token);
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns whether `head` seems to start a block of kernels. [`vouching`] checks that it is `unsafe extern "SYCL"`.
fn is_extern(head: &[TokenTree]) -> bool {
    matches!(head, [TokenTree::Ident(word), ..] if word == "unsafe" || word == "extern")
        && position(head, "fn").is_none()
}

/// Returns the span of the keyword `unsafe` in `head`, which starts a block of kernels.
fn vouching(head: &[TokenTree]) -> syn::Result<Span> {
    let is_sycl = |abi: &TokenTree| abi.to_string() == "\"SYCL\"";
    match head {
        [TokenTree::Ident(word), TokenTree::Ident(block), abi]
            if word == "unsafe" && block == "extern" && is_sycl(abi) =>
        {
            Ok(word.span())
        }
        [first, ..] => {
            let message = "contracts belong in `unsafe extern \"SYCL\" { .. }`: with `unsafe` you guarantee that a \
                kernel is sound whenever its contract holds";
            Err(syn::Error::new(first.span(), message))
        }
        [] => Err(syn::Error::new(Span::call_site(), FORMS)),
    }
}

fn position(tokens: &[TokenTree], text: &str) -> Option<usize> {
    tokens.iter().position(|token| is_word(token, text))
}

pub(crate) fn is_word(token: &TokenTree, text: &str) -> bool {
    matches!(token, TokenTree::Ident(word) if word == text)
}

pub(crate) fn is_punct(token: &TokenTree, c: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == c)
}

/// Returns whether `token` is a block that ends an item.
fn is_block(before: &[TokenTree], token: &TokenTree) -> bool {
    let brace = matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    brace && position(before, "fn").is_none()
}
