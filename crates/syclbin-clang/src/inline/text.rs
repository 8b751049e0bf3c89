// SPDX-License-Identifier: MIT OR Apache-2.0
//! A PTX text as functions and the lines between them.

use std::collections::BTreeMap;

use super::line::{Line, bits, is_word, split, words};
use super::registers::Registers;

/// A PTX text.
pub(super) struct Text<'t> {
    pub(super) items: Vec<Item<'t>>,
}

/// An item of a text.
pub(super) enum Item<'t> {
    Line(&'t str),
    /// A declaration of a function that is defined below or elsewhere.
    Declaration {
        name: &'t str,
        lines: Vec<&'t str>,
    },
    Function(Function<'t>),
}

/// A function or kernel.
pub(super) struct Function<'t> {
    pub(super) name: &'t str,
    pub(super) is_kernel: bool,
    /// `.visible` or `.weak`, if code elsewhere can call it.
    pub(super) linkage: Option<&'t str>,
    /// The names of its results and parameters, or `None` if they are not understood.
    pub(super) interface: Option<Interface<'t>>,
    /// The lines up to the opening brace of the body.
    pub(super) header: Vec<&'t str>,
    pub(super) lines: Vec<&'t str>,
    /// `None` if the body contains something unknown.
    pub(super) body: Option<Body>,
}

/// The interface that a caller and a function agree on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Interface<'t> {
    pub(super) results: Vec<Parameter<'t>>,
    pub(super) parameters: Vec<Parameter<'t>>,
}

/// A parameter or result, with its alignment and size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parameter<'t> {
    pub(super) name: &'t str,
    pub(super) align: u32,
    pub(super) size: u32,
}

/// The body of a function, without braces.
#[derive(Clone, Debug, Default)]
pub(super) struct Body {
    pub(super) registers: Registers,
    /// Thread memory: its name and declaration.
    pub(super) locals: BTreeMap<String, String>,
    /// All other lines. A list of branch targets is one line.
    pub(super) lines: Vec<String>,
}

impl<'t> Text<'t> {
    /// Parses a text. Returns `None` if functions do not have the form that LLVM writes.
    pub(super) fn parse(text: &'t str) -> Option<Self> {
        let mut items = Vec::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let (linkage, words) = without_linkage(line);
            let is_kernel = words.starts_with(".entry ");
            if !is_kernel && !words.starts_with(".func ") {
                items.push(Item::Line(line));
                continue;
            }
            let mut header = vec![line];
            while !is_end(header.last()?) {
                header.push(lines.next()?);
            }
            let (name, interface) = interface(&header)?;
            if header.last()?.trim_end() != "{" {
                items.push(Item::Declaration {
                    name,
                    lines: header,
                });
                continue;
            }
            let mut body = Vec::new();
            loop {
                let line = lines.next()?;
                if line.trim_end() == "}" && line.starts_with('}') {
                    break;
                }
                body.push(line);
            }
            items.push(Item::Function(Function {
                name,
                is_kernel,
                linkage,
                interface,
                header,
                body: Body::parse(&body),
                lines: body,
            }));
        }
        Some(Self { items })
    }
}

/// Returns whether a header ends with this line.
fn is_end(line: &str) -> bool {
    let line = line.trim_end();
    line == "{" || line.ends_with(';')
}

fn without_linkage(line: &str) -> (Option<&str>, &str) {
    for linkage in [".visible", ".weak", ".common", ".extern"] {
        if let Some(rest) = line.strip_prefix(linkage) {
            return (Some(linkage), rest.trim_start());
        }
    }
    (None, line)
}

/// Returns the name in a header, and its parameter and result lists if the header contains nothing else.
fn interface<'t>(header: &[&'t str]) -> Option<(&'t str, Option<Interface<'t>>)> {
    let (_, first) = without_linkage(header.first()?);
    let first = first
        .strip_prefix(".func")
        .or(first.strip_prefix(".entry"))?;
    let first = first.trim();
    let (results, rest) = match first.strip_prefix('(') {
        Some(rest) => rest.split_once(')')?,
        None => ("", first),
    };
    let rest = rest.trim_start();
    let name = words(rest).next().filter(|name| rest.starts_with(name))?;
    // LLVM writes each parameter on a separate line, and brackets at the end of lines.
    let mut list = rest[name.len()..].trim();
    let mut parameters = Vec::new();
    let mut is_known = true;
    let mut later = header[1..].iter().map(|line| line.trim());
    let mut depth = 0_i32;
    loop {
        if let Some(rest) = list.strip_prefix('(') {
            depth += 1;
            list = rest.trim();
        }
        let (inside, is_closed) = match list.strip_suffix(')') {
            Some(inside) => (inside.trim(), true),
            None => (list, false),
        };
        match depth {
            1 => parameters.extend(split(inside).into_iter().filter(|p| !p.is_empty())),
            _ => is_known &= matches!(inside, "" | "{" | ";"),
        }
        if is_closed {
            depth += 1;
        }
        match later.next() {
            Some(next) => list = next,
            None => break,
        }
    }
    is_known &= depth == 2;
    let results = split(results);
    let all =
        |list: Vec<&'t str>| -> Option<Vec<_>> { list.into_iter().map(Parameter::of).collect() };
    let interface = all(results).zip(all(parameters));
    let interface = interface.filter(|_| is_known);
    let interface = interface.map(|(results, parameters)| Interface {
        results,
        parameters,
    });
    Some((name, interface))
}

impl<'t> Parameter<'t> {
    /// Parses `.param .align 4 .b8 NAME[12]` and `.param .b32 NAME`.
    fn of(text: &'t str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (align, ty, word) = match words[..] {
            [".param", ".align", align, ty, word] => (Some(align), ty, word),
            [".param", ty, word] => (None, ty, word),
            _ => return None,
        };
        let unit = bits(ty.strip_prefix('.')?)? / 8;
        let (name, size) = match word.strip_suffix(']').and_then(|word| word.split_once('[')) {
            Some((name, count)) => (name, unit.checked_mul(count.parse().ok()?)?),
            None => (word, unit),
        };
        is_word(name).then_some(Self {
            name,
            align: align.map_or(Some(unit), |align| align.parse().ok())?,
            size,
        })
    }
}

impl Body {
    /// Parses a body. Returns `None` if it contains something unknown.
    fn parse(lines: &[&str]) -> Option<Self> {
        let mut body = Self::default();
        let (mut is_in_call, mut is_in_scope) = (false, false);
        let mut lines = lines.iter();
        while let Some(text) = lines.next() {
            let mut text = (*text).to_owned();
            // Lists that span several lines.
            let starts_list = text.trim_end().ends_with(".branchtargets");
            let starts_call = is_in_call && !text.contains("//") && !text.trim_end().ends_with(';');
            while (starts_list || starts_call) && !text.trim_end().ends_with(';') {
                text.push(' ');
                text.push_str(lines.next()?.trim());
            }
            let line = Line::of(&text);
            // A scope without declarations does not need its braces.
            if is_in_scope && !is_plain(&line) {
                return None;
            }
            match line {
                Line::OpenScope if !is_in_call => {
                    is_in_scope = true;
                    continue;
                }
                Line::CloseScope if is_in_scope => {
                    is_in_scope = false;
                    continue;
                }
                Line::Registers(words) if !is_in_call => {
                    body.registers.declare(words)?;
                    continue;
                }
                Line::Local(name) if !is_in_call => {
                    let name = name.to_owned();
                    body.locals.insert(name, text);
                    continue;
                }
                Line::Open if !is_in_call => is_in_call = true,
                Line::Close if is_in_call => is_in_call = false,
                Line::Parameter(_) if is_in_call => {}
                Line::Label(_) | Line::Targets(..) if is_in_call => return None,
                Line::Instruction(instruction) => {
                    let is_call = instruction.kind() == "call";
                    let leaves = matches!(instruction.kind(), "bra" | "brx" | "ret");
                    if (is_call && !is_in_call) || (leaves && is_in_call) {
                        return None;
                    }
                }
                Line::Blank
                | Line::Label(_)
                | Line::Targets(..)
                | Line::Remark
                | Line::Block(_) => {}
                _ => return None,
            }
            body.lines.push(text);
        }
        (!is_in_call && !is_in_scope).then_some(body)
    }

    /// Returns the number of its instructions.
    pub(super) fn size(&self) -> usize {
        size(&self.lines)
    }
}

/// Returns whether a line declares nothing and continues with the next line.
fn is_plain(line: &Line<'_>) -> bool {
    match line {
        Line::Blank | Line::CloseScope => true,
        Line::Instruction(instruction) => {
            !matches!(instruction.kind(), "bra" | "brx" | "ret" | "call")
        }
        _ => false,
    }
}

/// Returns the number of instructions.
pub(super) fn size(lines: &[String]) -> usize {
    let instruction =
        |line: &&String| matches!(Line::of(line), Line::Instruction(_) | Line::Block(_));
    lines.iter().filter(instruction).count()
}
