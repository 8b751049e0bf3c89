// SPDX-License-Identifier: MIT OR Apache-2.0
//! `api`: lists the public API of each published library and compares it with `xtask/api/NAME.txt`.
//!
//! It parses source files, because the format of rustdoc's JSON changes with Rust releases, and this workspace builds
//! with several. So a list contains items, signatures and `impl` blocks, but no auto traits.

mod source;
mod strip;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cargo_metadata::{Target, TargetKind};
use syn::{Item, ItemImpl, UseTree, Visibility};

use crate::files;
use crate::steps::{Result, workspace};
use source::Source;

/// Compares the list of each library, or writes it with `--write`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let is_write = files::is_write(arguments)?;
    for package in &workspace()?.packages {
        let is = |target: &&Target, kind| target.kind.contains(&kind);
        let mut targets = package.targets.iter();
        // The library of a program serves only its own tests.
        let is_program = targets.any(|target| is(&target, TargetKind::Bin));
        let mut targets = package.targets.iter();
        let library =
            targets.find(|target| is(target, TargetKind::Lib) || is(target, TargetKind::ProcMacro));
        if let (None, false, Some(library)) = (&package.publish, is_program, library) {
            let source = Source::read(library.src_path.as_std_path())?;
            let name = Path::new("xtask/api").join(format!("{}.txt", package.name));
            files::compare(&name.to_string_lossy(), &Api::of(&source).text(), is_write).map_err(
                |error| format!("{error}; if the API of {} should change, record it with `cargo xtask api --write`", package.name),
            )?;
        }
    }
    Ok(())
}

/// The items of a crate that users can name.
struct Api<'s> {
    source: &'s Source,
    /// Each item as a heading, its first line and its text. The heading is, for example, its public module.
    items: BTreeSet<(String, String, String)>,
    /// The names of types and traits in `items`.
    named: BTreeSet<String>,
}

impl<'s> Api<'s> {
    fn of(source: &'s Source) -> Self {
        let mut api = Self {
            source,
            items: BTreeSet::new(),
            named: BTreeSet::new(),
        };
        api.add_module(&[], &[]);
        let mut blocks: BTreeMap<String, ItemImpl> = BTreeMap::new();
        for item in source.modules.values().flatten() {
            if let Item::Impl(block) = item
                && let Some(block) = strip::implementation(block, |name| api.is_hidden(name))
                && strip::names(&block)
                    .iter()
                    .any(|name| api.named.contains(name))
            {
                // Merge blocks with the same header: users do not see how functions are divided among them.
                let header = strip::header(&block);
                match blocks.entry(header) {
                    Entry::Occupied(mut other) => other.get_mut().items.extend(block.items),
                    Entry::Vacant(entry) => drop(entry.insert(block)),
                }
            }
        }
        for (_, mut block) in blocks {
            block.items.sort_by_key(strip::member_name);
            api.insert_in("impl", strip::text(Item::Impl(block)));
        }
        for items in source.modules.values() {
            api.add_calls(items);
        }
        api
    }

    /// Adds the macro calls of a module that defines a nameable type, because they may add functions to it.
    fn add_calls(&mut self, items: &[Item]) {
        let mut names = items.iter().filter_map(source::defined);
        if !names.any(|name| self.named.contains(&name)) {
            return;
        }
        for item in items {
            if let Item::Macro(call) = item
                && call.ident.is_none()
            {
                self.insert_in("macro calls", strip::text(Item::Macro(call.clone())));
            }
        }
    }

    /// Returns whether users cannot name a type or trait of this crate.
    fn is_hidden(&self, name: &str) -> bool {
        self.source.defined.contains(name) && !self.named.contains(name)
    }

    /// Adds the visible items of the module `path` to the public module `shown`.
    fn add_module(&mut self, path: &[String], shown: &[String]) {
        let source = self.source;
        for item in source.modules.get(path).into_iter().flatten() {
            if strip::is_hidden(strip::attributes(item)) {
                continue;
            }
            match item {
                Item::Mod(module) if is_public(&module.vis) => {
                    let name = module.ident.to_string();
                    self.add_module(&joined(path, &name), &joined(shown, &name));
                }
                Item::Use(import) if is_public(&import.vis) => {
                    self.add_import(&import.tree, path, &mut Vec::new(), shown);
                }
                Item::Mod(_) | Item::Use(_) | Item::Impl(_) => {}
                item if strip::visibility(item).is_some_and(is_public) => self.add(item, shown),
                Item::Macro(item) if strip::is_exported(item) => {
                    self.add(&Item::Macro(item.clone()), &[]);
                }
                _ => {}
            }
        }
    }

    fn add_import(
        &mut self,
        tree: &UseTree,
        from: &[String],
        path: &mut Vec<String>,
        shown: &[String],
    ) {
        match tree {
            UseTree::Path(part) => {
                path.push(part.ident.to_string());
                self.add_import(&part.tree, from, path, shown);
                path.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_import(tree, from, path, shown);
                }
            }
            UseTree::Glob(_) => {
                if let Some(module) = self.source.module(from, path) {
                    self.add_module(&module, shown);
                }
            }
            UseTree::Name(name) => self.add_named(from, path, &name.ident.to_string(), None, shown),
            UseTree::Rename(name) => {
                let alias = name.rename.to_string();
                self.add_named(from, path, &name.ident.to_string(), Some(alias), shown);
            }
        }
    }

    /// Adds the item that `pub use path::name` exports. An item of another crate is shown as its path.
    fn add_named(
        &mut self,
        from: &[String],
        path: &[String],
        name: &str,
        alias: Option<String>,
        shown: &[String],
    ) {
        let found = self.source.find(from, path, name);
        if found.is_empty() || alias.is_some() {
            let alias = alias.map_or_else(String::new, |alias| format!(" as {alias}"));
            let path: String = path.iter().map(|part| format!("{part}::")).collect();
            self.insert(shown, format!("pub use {path}{name}{alias};\n"));
        }
        for item in found {
            self.add(item, shown);
        }
        if let Some(module) = self.source.module(from, &joined(path, name)) {
            self.add_module(&module, &joined(shown, name));
        }
    }

    fn add(&mut self, item: &Item, shown: &[String]) {
        if let Some(name) = source::defined(item) {
            self.named.insert(name);
        }
        self.insert(shown, strip::text(strip::item(item.clone())));
    }

    fn insert(&mut self, shown: &[String], text: String) {
        let module: String = shown.iter().map(|part| format!("::{part}")).collect();
        self.insert_in(&format!("crate{module}"), text);
    }

    /// Inserts an item under a heading. Attributes do not affect the order.
    fn insert_in(&mut self, heading: &str, text: String) {
        let mut lines = text.lines();
        let first = lines.find(|line| !line.starts_with("#["));
        let first = first.unwrap_or_default().to_owned();
        self.items.insert((heading.to_owned(), first, text));
    }

    /// Returns the list: a heading for each module, then its items, sorted.
    fn text(&self) -> String {
        let mut text = String::new();
        let mut last = "";
        for (heading, _, item) in &self.items {
            if heading != last {
                text.push_str(&format!("\n// {heading}\n\n"));
                last = heading;
            }
            text.push_str(item);
        }
        text.trim_start().to_owned()
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn joined(path: &[String], name: &str) -> Vec<String> {
    [path, &[name.to_owned()]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> String {
        Api::of(&Source::of(text).unwrap()).text()
    }

    #[test]
    fn bodies_and_private_parts_are_absent() {
        let text = "/// Doc.\n#[derive(Clone)] pub struct A { pub x: u8, y: u8 }\n\
            impl A { pub fn get(&self) -> u8 { self.y } fn own(&self) {} }\n\
            struct B; impl B { pub fn get(&self) {} } impl From<B> for A { fn from(b: B) -> A { todo!() } }";
        let expected = "// crate\n\n#[derive(Clone)]\npub struct A {\n    pub x: u8,\n    _: _,\n}\n\n\
            // impl\n\nimpl A {\n    pub fn get(&self) -> u8 {}\n}\nimpl From<B> for A {}\n";
        assert_eq!(list(text), expected);
    }

    #[test]
    fn imports_show_what_they_name() {
        let text = "mod a { pub enum E { V } pub(crate) fn f() {} } pub use a::E; pub use std::mem::drop as d;\n\
            #[doc(hidden)] pub mod hidden { pub fn g() {} } #[cfg(test)] pub fn t() {}\n\
            pub mod open { pub const C: u8 = 1; pub use super::a::E as F; }";
        let expected = "// crate\n\npub enum E {\n    V,\n}\npub use std::mem::drop as d;\n\n\
            // crate::open\n\npub const C: u8 = _;\npub enum E {\n    V,\n}\npub use super::a::E as F;\n";
        assert_eq!(list(text), expected);
    }
}
