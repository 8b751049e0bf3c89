// SPDX-License-Identifier: MIT OR Apache-2.0
//! A line of a function's body: its kind, and its words, operands and addresses.

/// The kind of a line. LLVM writes one instruction per line; any other form is [`Line::Odd`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'l> {
    /// An empty line, or a comment.
    Blank,
    /// `{ // callseq 1, 0`, which opens a call. `Close` is its end.
    Open,
    Close,
    /// `.reg .b32 %r<5>;`: the text after `.reg`.
    Registers(&'l str),
    /// `.local .align 4 .b8 depot[12];`: its name.
    Local(&'l str),
    /// `.param .b32 param0;`, in a call: its name.
    Parameter(&'l str),
    Label(&'l str),
    /// `LABEL: .branchtargets A, B;`: the label, and its list.
    Targets(&'l str, &'l str),
    /// `.pragma` or `.loc`.
    Remark,
    Instruction(Instruction<'l>),
    /// Instructions in a scope with local names, `{ .reg .b16 t; mov.b32 {t, %rs1}, %r1; }`.
    Block(&'l str),
    /// The start and end of a scope in inline assembly of a source.
    OpenScope,
    CloseScope,
    Odd,
}

impl<'l> Line<'l> {
    pub(super) fn of(text: &'l str) -> Self {
        let words = text.trim();
        if let Some(comment) = words.strip_prefix("{ //") {
            return if comment.trim_start().starts_with("callseq ") {
                Self::Open
            } else {
                Self::Odd
            };
        }
        if let Some(comment) = words.strip_prefix("} //") {
            return if comment.trim_start().starts_with("callseq ") {
                Self::Close
            } else {
                Self::Odd
            };
        }
        let words = words.split_once("//").map_or(words, |(words, _)| words);
        let words = words.trim_end();
        match words {
            "" => return Self::Blank,
            "{" => return Self::OpenScope,
            "}" => return Self::CloseScope,
            _ => {}
        }
        if let Some(inside) = words.strip_prefix('{').and_then(|w| w.strip_suffix('}')) {
            let is_known = |statement: &str| {
                let mut words = statement.split_whitespace();
                let first = words.next().unwrap_or_default();
                let kind = first.split('.').next().unwrap_or_default();
                match first {
                    ".reg" => words.all(|word| !word.starts_with('%')),
                    _ => matches!(kind, "mov" | "cvt" | "selp" | "setp") || statement.is_empty(),
                }
            };
            let is_plain = !inside.contains(':') && inside.split(';').map(str::trim).all(is_known);
            return if is_plain {
                Self::Block(words)
            } else {
                Self::Odd
            };
        }
        if let Some((label, rest)) = words.split_once(':')
            && is_word(label.trim_end())
        {
            let (label, rest) = (label.trim_end(), rest.trim());
            let targets = rest.strip_prefix(".branchtargets");
            return match targets.and_then(|list| list.strip_suffix(';')) {
                Some(list) => Self::Targets(label, list),
                None if rest.is_empty() => Self::Label(label),
                None => Self::Odd,
            };
        }
        let Some(statement) = words.strip_suffix(';').filter(|s| !s.contains(';')) else {
            return Self::Odd;
        };
        if !statement.starts_with('.') {
            return Instruction::of(statement).map_or(Self::Odd, Self::Instruction);
        }
        let (directive, rest) = statement
            .split_once(char::is_whitespace)
            .unwrap_or((statement, ""));
        let name = rest.split_whitespace().last().unwrap_or_default();
        let name = name.split_once('[').map_or(name, |(name, _)| name);
        match directive {
            ".reg" => Self::Registers(rest.trim()),
            ".local" | ".param" if rest.contains(',') => Self::Odd,
            ".local" if is_word(name) => Self::Local(name),
            ".param" if is_word(name) => Self::Parameter(name),
            ".pragma" | ".loc" => Self::Remark,
            _ => Self::Odd,
        }
    }
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instruction<'l> {
    /// `%p1` or `!%p1`, if the instruction is conditional.
    pub(super) guard: Option<&'l str>,
    /// The full name with all suffixes, `st.param.v2.b32`.
    pub(super) name: &'l str,
    /// All operands, as text.
    pub(super) list: &'l str,
}

impl<'l> Instruction<'l> {
    /// Parses an instruction without its semicolon.
    fn of(statement: &'l str) -> Option<Self> {
        let (guard, rest) = match statement.strip_prefix('@') {
            Some(guarded) => {
                let (guard, rest) = guarded.split_once(char::is_whitespace)?;
                (Some(guard), rest.trim_start())
            }
            None => (None, statement),
        };
        let (name, list) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let list = list.trim();
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':');
        let is_instruction = name.starts_with(|c: char| c.is_ascii_lowercase());
        (is_instruction && name.chars().all(is_name)).then_some(Self { guard, name, list })
    }

    /// Returns the parts of the name: `st`, `param`, `b32`.
    pub(super) fn parts(&self) -> impl Iterator<Item = &'l str> {
        self.name.split('.')
    }

    pub(super) fn kind(&self) -> &'l str {
        self.parts().next().unwrap_or_default()
    }

    pub(super) fn operands(&self) -> Vec<&'l str> {
        split(self.list)
    }

    /// Returns whether the next line can only be reached by a branch.
    pub(super) fn ends_flow(&self) -> bool {
        let kind = self.kind();
        self.guard.is_none() && matches!(kind, "bra" | "brx" | "ret" | "exit" | "trap")
    }
}

/// Splits a list at commas that are not inside brackets.
pub(super) fn split(list: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, c) in list.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = list[start..].trim();
    if !last.is_empty() || !found.is_empty() {
        found.push(last);
    }
    found
}

/// Returns whether a word can contain `c`. Registers begin with `%`; a point ends a word.
fn is_within(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%')
}

pub(super) fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_within)
}

/// Returns all words of a text.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_within(c))
        .filter(|word| !word.is_empty())
}

/// Replaces the words of a text for which `other` returns a replacement.
pub(super) fn with_words(text: &str, other: impl Fn(&str) -> Option<String>) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_within(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        match other(word).filter(|_| !word.is_empty()) {
            Some(new) => written += &new,
            None => written += word,
        }
        let end = after.find(is_within).unwrap_or(after.len());
        written += &after[..end];
        rest = &after[end..];
    }
    written
}

/// The data that a load or store of a parameter moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Access<'l> {
    pub(super) is_store: bool,
    /// The parameter.
    pub(super) name: &'l str,
    /// The offset of the first of `values`, in bytes.
    pub(super) offset: u32,
    /// The size of each value in memory.
    pub(super) bits: u32,
    pub(super) is_signed: bool,
    pub(super) values: Vec<&'l str>,
}

impl<'l> Access<'l> {
    /// Parses `st.param.v2.b32 [param0+8], {%r1, %r2}`, or a similar load.
    pub(super) fn of(instruction: &Instruction<'l>) -> Option<Self> {
        let mut parts: Vec<&str> = instruction.parts().collect();
        let is_store = match parts[..] {
            ["st", "param", ..] => true,
            ["ld", "param", ..] => false,
            _ => return None,
        };
        let count = match parts.get(2).copied() {
            Some("v2") => 2,
            Some("v4") => 4,
            _ => 1,
        };
        if count > 1 {
            parts.remove(2);
        }
        let [_, _, ty] = parts[..] else { return None };
        let operands = instruction.operands();
        let (address, values) = match operands[..] {
            [address, values] if is_store => (address, values),
            [values, address] if !is_store => (address, values),
            _ => return None,
        };
        let address = address.strip_prefix('[')?.strip_suffix(']')?;
        let (name, offset) = address.split_once('+').unwrap_or((address, "0"));
        let values = match values.strip_prefix('{').and_then(|v| v.strip_suffix('}')) {
            Some(list) => split(list),
            None => vec![values],
        };
        if instruction.guard.is_some() || values.len() != count {
            return None;
        }
        Some(Self {
            is_store,
            name: Some(name.trim()).filter(|name| is_word(name))?,
            offset: offset.trim().parse().ok()?,
            bits: bits(ty)?,
            is_signed: ty.starts_with('s'),
            values,
        })
    }

    /// Returns each value with its offset.
    pub(super) fn places(&self) -> impl Iterator<Item = (u32, &'l str)> {
        let (offset, size) = (self.offset, self.bits / 8);
        let values = self.values.clone().into_iter();
        (0..)
            .zip(values)
            .map(move |(index, value)| (offset.saturating_add(index * size), value))
    }
}

/// Returns the size of a type that a register can hold.
pub(super) fn bits(ty: &str) -> Option<u32> {
    let size = ty.strip_prefix(['b', 'u', 's', 'f'])?;
    let size = size.parse().ok();
    size.filter(|size| matches!(size, 8 | 16 | 32 | 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_of_several_names_are_odd() {
        let read = |text| matches!(Line::of(text), Line::Local("a") | Line::Parameter("a"));
        assert!(read(".local .align 8 .b8 a[16];") && read(".param .b32 a;"));
        for text in [
            ".local .b8 a[4],b[4];",
            ".local .b32 a,b;",
            ".param .b32 a,b;",
        ] {
            assert!(matches!(Line::of(text), Line::Odd), "{text}");
        }
    }
}
