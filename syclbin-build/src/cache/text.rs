//! A text of C++ as the compiler sees it: without comments, with white space folded, and what in it
//! depends on more than that.
//!
//! Comments become a blank, a run of white space a blank or a line break, and a line that goes on after
//! a backslash is one line. Strings, raw strings and names of headers stay as they are. So two texts
//! that fold to the same have the same tokens, the same directives, and make the same code, unless
//! something asks for its line.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

/// SHA-256.
pub(crate) type Hash = [u8; 32];

/// What a text is to the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// Of all bytes.
    pub(crate) raw: Hash,
    /// Of what the compiler sees.
    pub(crate) folded: Hash,
    /// Lines matter in it: `__LINE__` and what comes to it.
    pub(crate) needs_lines: bool,
    /// The time of the compile is in what is made of it.
    pub(crate) has_time: bool,
    /// Why what is made of it cannot be kept, if it cannot.
    pub(crate) unfit: Option<&'static str>,
    /// The headers it includes or asks for, as it names them.
    pub(crate) headers: BTreeSet<String>,
    /// All its identifiers.
    pub(crate) words: BTreeSet<String>,
}

impl Text {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut lexer = Lexer::new(bytes);
        lexer.run();
        let Lexer { out, text, .. } = lexer;
        Self {
            raw: Sha256::digest(bytes).into(),
            folded: Sha256::digest(&out).into(),
            ..text
        }
    }
}

/// A text without its comments, and with white space folded.
pub(crate) fn folded(text: &str) -> String {
    let mut lexer = Lexer::new(text.as_bytes());
    lexer.run();
    String::from_utf8_lossy(&lexer.out).into_owned()
}

/// Whether an identifier stands for a line or a column, or for something that mostly has one. `assert`
/// is a macro of a header, as are its relatives in other libraries.
pub(crate) fn is_of_lines(word: &str) -> bool {
    const EXACT: [&str; 5] = [
        "__LINE__",
        "__builtin_LINE",
        "__builtin_COLUMN",
        "source_location",
        "code_location",
    ];
    EXACT.contains(&word)
        || word.ends_with("source_location")
        || (word.to_ascii_lowercase().contains("assert") && !is_static_assert(word))
}

pub(crate) fn is_static_assert(word: &str) -> bool {
    ["static_assert", "_Static_assert"].contains(&word)
}

/// The time of the compile is in what these make.
pub(crate) const TIMES: [&str; 3] = ["__DATE__", "__TIME__", "__TIMESTAMP__"];

struct Lexer<'t> {
    bytes: &'t [u8],
    at: usize,
    out: Vec<u8>,
    text: Text,
    /// White space that is to be written before the next token.
    pending: Option<u8>,
    is_line_start: bool,
}

impl<'t> Lexer<'t> {
    fn new(bytes: &'t [u8]) -> Self {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut text = Text {
            raw: [0; 32],
            folded: [0; 32],
            needs_lines: false,
            has_time: false,
            unfit: None,
            headers: BTreeSet::new(),
            words: BTreeSet::new(),
        };
        let has = |sign: &[u8]| bytes.windows(sign.len()).any(|window| window == sign);
        if has(b"??/") || has(b"??=") {
            text.unfit = Some("it has trigraphs");
        }
        // One of old Macs ends a line to clang.
        let mut returns = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\r');
        if returns.any(|(at, _)| bytes.get(at + 1) != Some(&b'\n')) {
            text.unfit = Some("it has a carriage return that ends no line");
        }
        Self {
            bytes,
            at: 0,
            out: Vec::with_capacity(bytes.len()),
            text,
            pending: None,
            is_line_start: true,
        }
    }

    /// The place of the next character that is no spliced line end, from `at` on.
    fn spliced(&self, mut at: usize) -> usize {
        while self.bytes.get(at) == Some(&b'\\') {
            let rest = &self.bytes[at + 1..];
            let blanks = rest.iter().take_while(|byte| is_blank(**byte)).count();
            if rest.get(blanks) != Some(&b'\n') {
                break;
            }
            at += blanks + 2;
        }
        at
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.spliced(self.at)).copied()
    }

    fn peek_second(&self) -> Option<u8> {
        let first = self.spliced(self.at);
        self.bytes.get(self.spliced(first + 1)).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let at = self.spliced(self.at);
        let byte = self.bytes.get(at).copied();
        self.at = at + usize::from(byte.is_some());
        byte
    }

    fn copy(&mut self) -> Option<u8> {
        let byte = self.next();
        self.out.extend(byte);
        byte
    }

    fn run(&mut self) {
        while self.white_space() {
            let starts_line = std::mem::take(&mut self.is_line_start);
            let Some(byte) = self.peek() else { return };
            match byte {
                b'#' if starts_line => self.directive(),
                b'%' if starts_line && self.peek_second() == Some(b':') => {
                    self.copy();
                    self.directive();
                }
                b'"' | b'\'' => self.quoted(byte),
                _ if is_word_start(byte) => self.word(),
                _ if byte.is_ascii_digit() => self.number(),
                b'.' if self.peek_second().is_some_and(|byte| byte.is_ascii_digit()) => {
                    self.number();
                }
                _ => {
                    self.copy();
                }
            }
        }
    }

    /// Passes over white space and comments, and writes what stands for them; whether there is more.
    fn white_space(&mut self) -> bool {
        while let Some(byte) = self.peek() {
            let is_comment = byte == b'/' && matches!(self.peek_second(), Some(b'/' | b'*'));
            if byte == b'\n' {
                self.next();
                self.pending = Some(b'\n');
                self.is_line_start = true;
            } else if is_blank(byte) {
                self.next();
                self.pending = self.pending.or(Some(b' '));
            } else if is_comment {
                self.comment();
                self.pending = self.pending.or(Some(b' '));
            } else {
                let pending = self.pending.take().filter(|_| !self.out.is_empty());
                self.out.extend(pending);
                return true;
            }
        }
        false
    }

    fn comment(&mut self) {
        self.next();
        if self.next() == Some(b'/') {
            while self.peek().is_some_and(|byte| byte != b'\n') {
                self.next();
            }
            return;
        }
        while let Some(byte) = self.next() {
            if byte == b'*' && self.peek() == Some(b'/') {
                self.next();
                return;
            }
        }
    }

    /// A string or a character. One that is not closed ends with its line.
    fn quoted(&mut self, quote: u8) {
        self.copy();
        while let Some(byte) = self.peek() {
            if byte == b'\n' {
                return;
            }
            self.copy();
            if byte == b'\\' && self.peek() != Some(b'\n') {
                self.copy();
            } else if byte == quote {
                return;
            }
        }
    }

    /// A number as the preprocessor takes it: `1'000.5e+3_km`.
    fn number(&mut self) {
        while let Some(byte) = self.peek() {
            let second = self.peek_second().unwrap_or(b' ');
            match byte {
                b'e' | b'E' | b'p' | b'P' if matches!(second, b'+' | b'-') => {
                    self.copy();
                    self.copy();
                }
                b'\'' if is_word(second) => {
                    self.copy();
                    self.copy();
                }
                _ if is_word(byte) || byte == b'.' => {
                    self.copy();
                }
                _ => return,
            }
        }
    }

    fn word(&mut self) {
        let word = self.read_word();
        if self.peek() == Some(b'"') && ["R", "LR", "uR", "UR", "u8R"].contains(&word.as_str()) {
            self.raw_string();
            return;
        }
        if is_of_lines(&word) {
            self.text.needs_lines = true;
        }
        if TIMES.contains(&word.as_str()) {
            self.text.has_time = true;
            self.text.unfit = Some("it has the time of the compile in it");
        }
        match word.as_str() {
            "__has_include" | "__has_include_next" => {
                self.blanks();
                if self.peek() == Some(b'(') {
                    self.copy();
                    self.blanks();
                    self.header();
                }
            }
            "__has_embed" => self.text.unfit = Some("it embeds files"),
            _ => {}
        }
        self.text.words.insert(word);
    }

    fn read_word(&mut self) -> String {
        let start = self.out.len();
        while self.peek().is_some_and(is_word) {
            self.copy();
        }
        String::from_utf8_lossy(&self.out[start..]).into_owned()
    }

    /// `"DELIMITER( anything )DELIMITER"`, in which nothing is spliced.
    fn raw_string(&mut self) {
        self.at = self.spliced(self.at);
        let rest = &self.bytes[self.at + 1..];
        let delimiter = rest.iter().position(|byte| *byte == b'(');
        let Some(delimiter) = delimiter.filter(|length| *length <= 16) else {
            self.text.unfit = Some("it has a raw string without beginning");
            self.copy();
            return;
        };
        let mut end = vec![b')'];
        end.extend(&rest[..delimiter]);
        end.push(b'"');
        let body = &rest[delimiter..];
        let length = body.windows(end.len()).position(|window| window == end);
        let length = 1 + delimiter + length.map_or(body.len(), |length| length + end.len());
        self.out.extend(&self.bytes[self.at..self.at + length]);
        self.at += length;
    }

    /// White space and comments within a line.
    fn blanks(&mut self) {
        let mut any = false;
        while let Some(byte) = self.peek() {
            match (byte, self.peek_second()) {
                (b'/', Some(b'/' | b'*')) => self.comment(),
                _ if is_blank(byte) => {
                    self.next();
                }
                _ => break,
            }
            any = true;
        }
        if any {
            self.out.push(b' ');
        }
    }

    fn directive(&mut self) {
        self.copy();
        self.blanks();
        let name = self.read_word();
        match name.as_str() {
            "include" | "include_next" | "import" => {
                self.blanks();
                self.header();
            }
            "embed" => self.text.unfit = Some("it embeds files"),
            "define" => {
                self.blanks();
                let macro_name = self.read_word();
                self.text.words.insert(macro_name);
            }
            "error" | "warning" => self.message(),
            // `#line 3`, and the marks that preprocessors leave: `# 3 "a.hpp"`.
            "line" => self.text.needs_lines = true,
            number if number.starts_with(|c: char| c.is_ascii_digit()) => {
                self.text.needs_lines = true;
            }
            _ => {}
        }
    }

    /// The rest of a line that is no code, unless `#if 0` leaves it out: then a comment or a raw string
    /// begins in it.
    fn message(&mut self) {
        let start = self.out.len();
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.copy();
        }
        let begins = |two: &[u8]| two == b"/*" || two == b"R\"";
        if self.out[start..].windows(2).any(begins) {
            self.text.unfit = Some("a comment or a string begins in a message of its own");
        }
    }

    /// The name of a header, in which `//` is no comment.
    fn header(&mut self) {
        let close = match self.peek() {
            Some(b'<') => b'>',
            Some(b'"') => b'"',
            _ => {
                self.text.unfit = Some("a macro names a header");
                return;
            }
        };
        self.copy();
        let start = self.out.len();
        while self
            .peek()
            .is_some_and(|byte| byte != close && byte != b'\n')
        {
            self.copy();
        }
        let name = String::from_utf8_lossy(&self.out[start..]).into_owned();
        self.text.headers.insert(name);
        if self.peek() == Some(close) {
            self.copy();
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

fn is_word_start(byte: u8) -> bool {
    is_word(byte) && !byte.is_ascii_digit()
}

/// All that is beyond ASCII counts as a letter.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
