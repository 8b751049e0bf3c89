// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes a text without functions that are no longer called.

use std::collections::{BTreeMap, BTreeSet};

use super::line::words;
use super::text::{Body, Function, Item, Text};

/// Returns the text without private functions that are no longer named.
pub(super) fn write(text: &Text<'_>) -> String {
    let needed = needed(text);
    let mut written = String::new();
    let mut line = |line: &str| {
        written.push_str(line);
        written.push('\n');
    };
    for item in &text.items {
        match item {
            Item::Line(text) => line(text),
            Item::Declaration { name, lines } if needed.contains(name) => {
                lines.iter().for_each(|text| line(text));
            }
            Item::Function(function) if needed.contains(function.name) => {
                function.header.iter().for_each(|text| line(text));
                match &function.body {
                    Some(body) => body.lines_to_write().for_each(|text| line(&text)),
                    None => function.lines.iter().for_each(|text| line(text)),
                }
                line("}");
            }
            _ => {}
        }
    }
    written
}

/// Returns whether each function is declared or defined before it is called.
pub(super) fn is_declared(text: &str) -> bool {
    let mut known = BTreeSet::new();
    let functions: BTreeSet<&str> = text.lines().filter_map(function).collect();
    for line in text.lines() {
        if let Some(name) = function(line) {
            known.insert(name);
        } else if line.trim_start().starts_with("call") {
            let mut called = words(line).filter(|word| functions.contains(word));
            if called.any(|name| !known.contains(name)) {
                return false;
            }
        }
    }
    true
}

/// Returns the function whose declaration or definition starts on this line.
fn function(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(".func")?;
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('(') {
        Some(result) => result.split_once(')')?.1,
        None => rest,
    };
    let name = rest.trim_start();
    let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || "_$".contains(c)));
    let name = &name[..end.unwrap_or(name.len())];
    (!line.starts_with(char::is_whitespace) && !name.is_empty()).then_some(name)
}

/// Returns the names of functions that are needed, and all names that are not private functions.
fn needed<'t>(text: &'t Text<'t>) -> BTreeSet<&'t str> {
    let mut own: BTreeMap<&str, &Function<'_>> = BTreeMap::new();
    for item in &text.items {
        if let Item::Function(function) = item
            && !function.is_kernel
            && function.linkage.is_none()
        {
            own.insert(function.name, function);
        }
    }
    let mut needed = BTreeSet::new();
    let mut next = Vec::new();
    for item in &text.items {
        match item {
            Item::Line(line) => next.extend(words(line)),
            Item::Declaration { name, .. } if !own.contains_key(name) => {
                needed.insert(*name);
            }
            Item::Declaration { .. } => {}
            Item::Function(function) => {
                if !own.contains_key(function.name) {
                    needed.insert(function.name);
                    next.extend(words_of(function));
                }
            }
        }
    }
    while let Some(word) = next.pop() {
        if let Some(function) = own.get(word)
            && needed.insert(word)
        {
            next.extend(words_of(function));
        }
    }
    needed
}

fn words_of<'f>(function: &'f Function<'_>) -> Vec<&'f str> {
    match &function.body {
        Some(body) => body.lines.iter().flat_map(|line| words(line)).collect(),
        None => function.lines.iter().flat_map(|line| words(line)).collect(),
    }
}

impl Body {
    fn lines_to_write(&self) -> impl Iterator<Item = String> {
        let locals = self.locals.values().cloned();
        let registers = self.registers.lines();
        locals.chain(registers).chain(self.lines.iter().cloned())
    }
}
