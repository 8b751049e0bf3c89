//! PTX text: whether bytes are some, and which kernels it defines.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

/// Whether `bytes` are PTX: after comments comes its version.
pub(crate) fn is_ptx(bytes: &[u8]) -> bool {
    Tokens(bytes).next() == Some(b".version")
}

/// The names of the kernels (`.entry`). Of those that DPC++ makes twice, with an offset of the
/// global id and without, the plain one.
pub(crate) fn kernels(bytes: &[u8]) -> Vec<String> {
    let mut tokens = Tokens(bytes);
    let mut names = Vec::new();
    while let Some(token) = tokens.next() {
        if token == b".entry" {
            let name = tokens.next().unwrap_or_default();
            names.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    let plain: BTreeSet<String> = names.iter().cloned().collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| {
        let of = name.strip_suffix("_with_offset");
        !name.is_empty() && of.is_none_or(|of| !plain.contains(of)) && seen.insert(name.clone())
    });
    names
}

/// Words of PTX, without comments; what is between words is passed over.
struct Tokens<'a>(&'a [u8]);

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
                _ if is_word(*first) => {
                    let end = self.0.iter().position(|byte| !is_word(*byte));
                    let (word, after) = self.0.split_at(end.unwrap_or(self.0.len()));
                    self.0 = after;
                    return Some(word);
                }
                (b' ' | b'\t' | b'\r' | b'\n', _) => self.0 = rest,
                // A mark is a word of its own, so that text is not taken for PTX past it.
                _ => {
                    let (mark, after) = self.0.split_at(1);
                    self.0 = after;
                    return Some(mark);
                }
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$' | b'%')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"//\n// .entry no\n/* .entry no */\n.version 6.3\n.target sm_75\n\
        .visible .entry axpy(\n.param .u64 a\n)\n{ ret; }\n\
        .visible .entry axpy_with_offset(\n)\n{}\n.entry $weird_with_offset()\n{}";

    #[test]
    fn kernels_of_ptx_are_its_entries_without_the_variants_with_an_offset() {
        assert!(is_ptx(TEXT));
        assert_eq!(kernels(TEXT), ["axpy", "$weird_with_offset"]);
    }

    #[test]
    fn text_that_only_mentions_a_version_is_no_ptx() {
        for text in [&b"x .version 1"[..], b"/* .version", b"= .version", b""] {
            assert!(!is_ptx(text));
        }
    }
}
