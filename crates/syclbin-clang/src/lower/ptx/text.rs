// SPDX-License-Identifier: MIT OR Apache-2.0
//! Splits PTX text into lines, variables and functions, and replaces names.

use std::collections::BTreeMap;
use std::ops::Range;

/// The maximum size of a constant in bytes, far more than any reasonable source needs.
const MAX_SIZE: usize = 1 << 16;

pub(super) struct Text<'t> {
    pub(super) lines: Vec<&'t str>,
    /// Variables in device memory, by name.
    pub(super) variables: BTreeMap<&'t str, Variable<'t>>,
    /// Functions that are declared here and defined elsewhere.
    pub(super) declarations: Vec<Declaration<'t>>,
    pub(super) bodies: Vec<Body<'t>>,
}

pub(super) struct Variable<'t> {
    pub(super) name: &'t str,
    pub(super) line: usize,
    pub(super) align: usize,
    /// The initial value, if it consists of plain bytes.
    pub(super) bytes: Option<Vec<u8>>,
}

/// A function defined elsewhere: `.extern .func (.param .b32 func_retval0) NAME (...) ;`
pub(super) struct Declaration<'t> {
    pub(super) name: &'t str,
    /// The result, such as `.param .b32 func_retval0`.
    pub(super) result: &'t str,
    pub(super) parameters: Vec<&'t str>,
    pub(super) lines: Range<usize>,
}

pub(super) struct Body<'t> {
    pub(super) name: &'t str,
    pub(super) is_kernel: bool,
    pub(super) lines: Range<usize>,
}

impl<'t> Text<'t> {
    pub(super) fn parse(text: &'t str) -> Self {
        let mut found = Self {
            lines: text.lines().collect(),
            variables: BTreeMap::new(),
            declarations: Vec::new(),
            bodies: Vec::new(),
        };
        let mut at = 0;
        while let Some(line) = found.lines.get(at) {
            let words = without_linkage(line);
            if line.starts_with(".extern .func") {
                at = found.declaration(at);
            } else if let Some(head) = words.strip_prefix(".entry ") {
                at = found.body(at, head, true);
            } else if let Some(head) = words.strip_prefix(".func ") {
                at = found.body(at, head, false);
            } else {
                if let Some(variable) = words.strip_prefix(".global ") {
                    let variable = Variable::parse(variable, at);
                    found.variables.extend(variable.map(|v| (v.name, v)));
                }
                at += 1;
            }
        }
        found
    }

    /// Parses a declaration and returns the index of the next line.
    fn declaration(&mut self, at: usize) -> usize {
        let rest = self.lines.iter().skip(at);
        let Some(end) = rest.clone().position(|line| line.trim_end().ends_with(';')) else {
            return self.lines.len();
        };
        let line = self.lines.get(at).copied().unwrap_or_default();
        let head = line.strip_prefix(".extern .func").unwrap_or_default();
        let (result, name) = result_and_name(head);
        let parameters = rest.skip(1).take(end);
        let parameters = parameters.filter_map(|line| {
            let words = line.trim().trim_end_matches(',').strip_prefix(".param ")?;
            words.split_whitespace().last()
        });
        self.declarations.push(Declaration {
            name,
            result,
            parameters: parameters.collect(),
            lines: at..at + end + 1,
        });
        at + end + 1
    }

    /// Parses a function definition and returns the index of the next line.
    fn body(&mut self, at: usize, head: &'t str, is_kernel: bool) -> usize {
        let (_, name) = result_and_name(head);
        let rest = self.lines.iter().enumerate().skip(at);
        // A brace at the start of a line opens or closes a body. Everything inside a body is indented, except inline
        // assembly from the source.
        let mut inline_assembly = false;
        for (line, text) in rest {
            match text.trim() {
                "// begin inline asm" => inline_assembly = true,
                "// end inline asm" => inline_assembly = false,
                _ => {}
            }
            if inline_assembly {
                continue;
            }
            match text.trim_end() {
                ";" => return line + 1,
                "}" => {
                    self.bodies.push(Body {
                        name,
                        is_kernel,
                        lines: at + 1..line,
                    });
                    return line + 1;
                }
                _ => {}
            }
        }
        self.lines.len()
    }
}

impl<'t> Variable<'t> {
    /// Parses `.align 4 .b8 NAME[16] = {1, 2};`.
    fn parse(words: &'t str, line: usize) -> Option<Self> {
        let words = words.strip_prefix(".align ")?;
        let (align, words) = words.split_once(' ')?;
        let (name, words) = words.strip_prefix(".b8 ")?.split_once('[')?;
        let (size, words) = words.split_once(']')?;
        let size: usize = size.parse().ok().filter(|size| *size <= MAX_SIZE)?;
        let first = words.trim().trim_end_matches(';').trim();
        let bytes = match first.strip_prefix('=') {
            None if first.is_empty() => Some(vec![0; size]),
            None => None,
            Some(list) => plain_bytes(list, size),
        };
        Some(Self {
            name,
            line,
            align: align.parse().ok().filter(|a: &usize| a.is_power_of_two())?,
            bytes,
        })
    }
}

/// Parses `{1, 2}` and pads it with zeros to `size`.
fn plain_bytes(list: &str, size: usize) -> Option<Vec<u8>> {
    let list = list.trim().strip_prefix('{')?.strip_suffix('}')?;
    let bytes = list.split(',').map(|byte| byte.trim().parse().ok());
    let bytes: Option<Vec<u8>> = bytes.collect();
    let mut bytes = bytes.filter(|bytes| bytes.len() <= size)?;
    bytes.resize(size, 0);
    Some(bytes)
}

fn without_linkage(line: &str) -> &str {
    let linkages = [".visible ", ".weak ", ".common "];
    let rest = linkages.iter().find_map(|own| line.strip_prefix(own));
    rest.unwrap_or(line)
}

/// Splits `(.param .b32 func_retval0) NAME(` into the content of the first parentheses, and the name.
fn result_and_name(head: &str) -> (&str, &str) {
    let head = head.trim();
    let (result, rest) = match head.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((result, rest)) => (result.trim(), rest.trim()),
        None => ("", head),
    };
    let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
    (result, &rest[..end])
}

/// Returns the offset of the operands in a line.
fn operands(line: &str) -> usize {
    let start = line.len() - line.trim_start().len();
    let word = |from: usize| {
        let rest = &line[from..];
        from + rest.find(char::is_whitespace).unwrap_or(rest.len())
    };
    let mut end = word(start);
    if line[start..].starts_with('@') {
        let rest = &line[end..];
        end = word(end + (rest.len() - rest.trim_start().len()));
    }
    end
}

/// Returns whether a name can contain `c`. A dot is included so that directives are not mistaken for names.
pub(super) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.')
}

/// Appends `line` to `written`, with its names replaced. Leaves the predicate and the opcode unchanged, because a
/// variable may be called `ret`.
pub(super) fn rename(line: &str, names: &BTreeMap<&str, String>, written: &mut String) {
    let mut rest = line;
    if line.starts_with(char::is_whitespace) {
        let operands = operands(line);
        written.push_str(&line[..operands]);
        rest = &line[operands..];
    }
    while !rest.is_empty() {
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        written.push_str(names.get(word).map_or(word, String::as_str));
        let end = after.find(is_name).unwrap_or(after.len());
        written.push_str(&after[..end]);
        rest = &after[end..];
    }
}
