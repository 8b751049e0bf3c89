// SPDX-License-Identifier: MIT OR Apache-2.0
//! Summarizes the generated code: one line for each launch function and each struct.

use quote::ToTokens as _;
use syn::{Attribute, Field, ImplItem, ImplItemFn, Item, ItemFn, ItemMod, ItemStruct, Visibility};

/// Returns the lines of a generated module. `path` is the prefix of all names in the module, such as `fill::`; it is
/// empty for the outermost module.
pub(crate) fn lines(module: &ItemMod, path: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for item in module.content.iter().flat_map(|(_, items)| items) {
        match item {
            Item::Struct(item) if item.attrs.iter().any(|one| one.path().is_ident("repr")) => {
                lines.push(structure(item.clone(), path));
            }
            Item::Impl(item) if item.trait_.is_none() => {
                let functions = item.items.iter().filter_map(|item| match item {
                    ImplItem::Fn(function) if launches(function) => Some(function),
                    _ => None,
                });
                lines.extend(functions.map(|function| signature(function, path)));
            }
            Item::Mod(inner) => {
                lines.extend(self::lines(inner, &format!("{path}{}::", inner.ident)));
            }
            _ => {}
        }
    }
    lines
}

fn launches(function: &ImplItemFn) -> bool {
    let syn::ReturnType::Type(_, ty) = &function.sig.output else {
        return false;
    };
    let syn::Type::Path(ty) = &**ty else {
        return false;
    };
    let name = ty.path.segments.last();
    name.is_some_and(|name| name.ident == "Launch" || name.ident == "SafeLaunch")
}

fn signature(function: &ImplItemFn, path: &str) -> String {
    let mut block = function.block.clone();
    block.stmts.clear();
    let line = line(Item::Fn(ItemFn {
        attrs: Vec::new(),
        vis: Visibility::Inherited,
        modifiers: function.modifiers.clone(),
        sig: function.sig.clone(),
        block: Box::new(block),
    }));
    let line = line.trim_end_matches(" {}");
    line.replacen("fn ", &format!("fn {path}"), 1)
}

fn structure(mut item: ItemStruct, path: &str) -> String {
    let is_hidden = |attribute: &Attribute| {
        let tokens = attribute.meta.to_token_stream().to_string();
        tokens.starts_with("doc") && tokens.contains("hidden")
    };
    if let syn::Fields::Named(fields) = &mut item.fields {
        let shown = |field: &Field| !field.attrs.iter().any(is_hidden);
        let fields_before = std::mem::take(&mut fields.named).into_iter();
        let bare = |field: Field| Field {
            attrs: Vec::new(),
            vis: Visibility::Inherited,
            ..field
        };
        fields.named = fields_before.filter(shown).map(bare).collect();
    }
    item.attrs.clear();
    item.vis = Visibility::Inherited;
    let line = line(Item::Struct(item));
    line.replacen("struct ", &format!("struct {path}"), 1)
}

/// Formats an item on one line, without paths that users rarely write.
fn line(item: Item) -> String {
    let file = syn::File {
        shebang: None,
        frontmatter: None,
        attrs: Vec::new(),
        items: vec![item],
    };
    let text = prettyplease::unparse(&file);
    let line = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    [
        "::syclbin_rt::__private::",
        "::syclbin_rt::",
        "::core::option::",
        "::core::primitive::",
    ]
    .iter()
    .fold(line, |line, path| line.replace(path, ""))
    .replace("( ", "(")
    .replace(", )", ")")
    .replace(", }", " }")
}
