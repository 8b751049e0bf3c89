// SPDX-License-Identifier: MIT OR Apache-2.0
//! Splits PTX into words, and skips comments and white space.

use crate::prelude::*;
use crate::text::decimal;

#[derive(Clone)]
pub(super) struct Tokens<'a>(&'a [u8]);

impl<'a> Tokens<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the number of remaining bytes.
    pub(super) const fn left(&self) -> usize {
        self.0.len()
    }

    pub(super) fn peek(&self) -> Option<&'a [u8]> {
        self.clone().next()
    }

    /// Skips to the end of a block whose `{` has been read. Calls `each` with every word inside.
    pub(super) fn skip_block(&mut self, mut each: impl FnMut(&'a [u8])) {
        let mut depth = 1usize;
        while depth > 0
            && let Some(token) = self.next()
        {
            match token {
                b"{" => depth += 1,
                b"}" => depth -= 1,
                word => each(word),
            }
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let (first, rest) = self.0.split_first()?;
            let skip_past = |end: &[u8]| {
                let at = rest.windows(end.len()).position(|bytes| bytes == end);
                at.map_or(&[][..], |at| &rest[at + end.len()..])
            };
            match (first, rest.first()) {
                (b'/', Some(b'/')) => self.0 = skip_past(b"\n"),
                (b'/', Some(b'*')) => self.0 = skip_past(b"*/"),
                // A string, such as a source file name, becomes a single word, which the parser ignores.
                (b'"', _) => {
                    self.0 = skip_past(b"\"");
                    return Some(b"\"");
                }
                (b' ' | b'\t' | b'\r' | b'\n', _) => self.0 = rest,
                // Any byte that cannot be part of a word is a separate word. If it were skipped, `is_ptx` would accept
                // arbitrary bytes before the version.
                _ => {
                    let length = self.0.iter().take_while(|byte| is_word(**byte)).count();
                    let (word, after) = self.0.split_at(length.max(1));
                    self.0 = after;
                    return Some(word);
                }
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$' | b'%')
}

/// Parses an unsigned decimal number, the form in which compilers write sizes.
pub(super) fn number(word: &[u8]) -> Option<u64> {
    decimal(str::from_utf8(word).ok()?)
}

pub(super) fn text(word: &[u8]) -> String {
    String::from_utf8_lossy(word).into_owned()
}
