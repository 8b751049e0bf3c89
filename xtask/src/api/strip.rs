// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reduces items to the parts that users see, without documentation, bodies and private parts.

use proc_macro2::Span;
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Block, Expr, ExprInfer, Fields, FnArg, Ident, ImplItem, Item, ItemImpl, ItemMacro,
    Pat, PatType, Signature, Token, TraitItem, Type, TypeInfer, Visibility,
};

/// Attributes that matter to users.
const SHOWN: [&str; 6] = [
    "cfg",
    "deprecated",
    "derive",
    "must_use",
    "non_exhaustive",
    "repr",
];

pub(super) fn text(item: Item) -> String {
    prettyplease::unparse(&syn::File {
        shebang: None,
        frontmatter: None,
        attrs: Vec::new(),
        items: vec![item],
    })
}

pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

pub(super) fn visibility(item: &Item) -> Option<&Visibility> {
    Some(match item {
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Static(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        Item::Union(item) => &item.vis,
        _ => return None,
    })
}

fn has(attributes: &[Attribute], name: &str, is_meant: impl Fn(&str) -> bool) -> bool {
    attributes.iter().any(|attribute| {
        let list = attribute.meta.require_list();
        attribute.path().is_ident(name) && list.is_ok_and(|list| is_meant(&list.tokens.to_string()))
    })
}

/// Returns whether an item with these attributes exists only in tests.
pub(super) fn is_test(attributes: &[Attribute]) -> bool {
    has(attributes, "cfg", |condition| {
        condition == "test" || condition.starts_with("all (test")
    })
}

pub(super) fn is_hidden(attributes: &[Attribute]) -> bool {
    has(attributes, "doc", |argument| argument == "hidden")
}

/// Returns whether a macro is visible to other crates.
pub(super) fn is_exported(item: &ItemMacro) -> bool {
    let is_export = |attribute: &Attribute| attribute.path().is_ident("macro_export");
    item.attrs.iter().any(is_export)
}

fn keep_shown(attributes: &mut Vec<Attribute>) {
    attributes.retain(|attribute| SHOWN.iter().any(|name| attribute.path().is_ident(name)));
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Returns the placeholder for omitted parts.
fn underscore() -> Token![_] {
    Token![_](Span::call_site())
}

fn any_value() -> Expr {
    Expr::Infer(ExprInfer {
        attrs: Vec::new(),
        underscore_token: underscore(),
    })
}

fn any_type() -> Type {
    Type::Infer(TypeInfer {
        attrs: Vec::new(),
        underscore_token: underscore(),
    })
}

fn empty() -> Block {
    Block {
        brace_token: syn::token::Brace::default(),
        stmts: Vec::new(),
    }
}

/// Removes the parts of a public item that users do not see.
pub(super) fn item(mut item: Item) -> Item {
    match &mut item {
        Item::Const(item) => {
            keep_shown(&mut item.attrs);
            *item.expr = any_value();
        }
        Item::Enum(item) => {
            keep_shown(&mut item.attrs);
            for variant in &mut item.variants {
                keep_shown(&mut variant.attrs);
                for field in &mut variant.fields {
                    keep_shown(&mut field.attrs);
                }
            }
        }
        Item::Fn(item) => {
            keep_shown(&mut item.attrs);
            strip_signature(&mut item.sig);
            *item.block = empty();
        }
        Item::Macro(item) => {
            keep_shown(&mut item.attrs);
            if item.ident.is_some() {
                item.mac.tokens = proc_macro2::TokenStream::new();
            }
        }
        Item::Static(item) => {
            keep_shown(&mut item.attrs);
            *item.expr = any_value();
        }
        Item::Struct(item) => {
            keep_shown(&mut item.attrs);
            strip_fields(&mut item.fields);
        }
        Item::Trait(item) => {
            keep_shown(&mut item.attrs);
            item.items.iter_mut().for_each(strip_member);
        }
        Item::Type(item) => keep_shown(&mut item.attrs),
        Item::Union(item) => keep_shown(&mut item.attrs),
        _ => {}
    }
    item
}

/// Replaces all private fields with one `_`, because they prevent users from building the struct.
fn strip_fields(fields: &mut Fields) {
    for field in fields.iter_mut() {
        keep_shown(&mut field.attrs);
        if !is_public(&field.vis) {
            field.ty = any_type();
            field.vis = Visibility::Inherited;
        }
    }
    let Fields::Named(fields) = fields else {
        return;
    };
    let mut shown = Punctuated::new();
    let mut private = None;
    for field in std::mem::take(&mut fields.named) {
        if is_public(&field.vis) {
            shown.push(field);
        } else {
            private = Some(field);
        }
    }
    if let Some(mut field) = private {
        field.ident = Some(Ident::new("_", Span::call_site()));
        field.attrs.clear();
        shown.push(field);
    }
    fields.named = shown;
}

fn strip_member(member: &mut TraitItem) {
    match member {
        TraitItem::Fn(function) => {
            keep_shown(&mut function.attrs);
            function.default = function.default.as_ref().map(|_| empty());
        }
        TraitItem::Const(constant) => {
            keep_shown(&mut constant.attrs);
            constant.default = constant.default.take().map(|(sign, _)| (sign, any_value()));
        }
        TraitItem::Type(associated) => keep_shown(&mut associated.attrs),
        _ => {}
    }
}

/// Returns the visible part of an `impl` block, if there is one: public functions, or the implementation of a trait.
pub(super) fn implementation(
    block: &ItemImpl,
    is_private: impl Fn(&str) -> bool,
) -> Option<ItemImpl> {
    if is_hidden(&block.attrs) {
        return None;
    }
    let mut block = block.clone();
    keep_shown(&mut block.attrs);
    if let Some((path, _)) = &block.trait_ {
        let name = path.segments.last()?.ident.to_string();
        block.items.retain(|item| matches!(item, ImplItem::Type(_)));
        return (!is_private(&name)).then_some(block);
    }
    block.items.retain_mut(|item| match item {
        ImplItem::Fn(function) => {
            let is_shown = is_public(&function.vis) && !is_hidden(&function.attrs);
            keep_shown(&mut function.attrs);
            strip_signature(&mut function.sig);
            function.block = empty();
            is_shown
        }
        ImplItem::Const(constant) => {
            let is_shown = is_public(&constant.vis) && !is_hidden(&constant.attrs);
            keep_shown(&mut constant.attrs);
            constant.expr = any_value();
            is_shown
        }
        _ => false,
    });
    (!block.items.is_empty()).then_some(block)
}

pub(super) fn header(block: &ItemImpl) -> String {
    let mut block = block.clone();
    block.items.clear();
    text(Item::Impl(block))
}

pub(super) fn member_name(member: &ImplItem) -> String {
    match member {
        ImplItem::Const(item) => item.ident.to_string(),
        ImplItem::Fn(item) => item.sig.ident.to_string(),
        ImplItem::Type(item) => item.ident.to_string(),
        _ => String::new(),
    }
}

/// Removes `mut` from parameters, because callers do not see it.
fn strip_signature(signature: &mut Signature) {
    for parameter in &mut signature.inputs {
        match parameter {
            FnArg::Receiver(receiver) => receiver.mutability = None,
            FnArg::Typed(PatType { pat, .. }) => {
                if let Pat::Ident(name) = &mut **pat {
                    name.mutability = None;
                }
            }
        }
    }
}

/// Returns the names of the type of an `impl` block and of its trait.
pub(super) fn names(block: &ItemImpl) -> Vec<String> {
    let mut paths = Vec::new();
    if let Type::Path(own) = &*block.self_ty {
        paths.push(&own.path);
    }
    paths.extend(block.trait_.iter().map(|(path, _)| path));
    let names = paths.into_iter().filter_map(|path| path.segments.last());
    names.map(|segment| segment.ident.to_string()).collect()
}
