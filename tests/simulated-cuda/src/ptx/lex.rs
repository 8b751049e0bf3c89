// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words of a PTX text, each with its line.

use super::Syntax;

/// What a text is made of. Comments and white space are gone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Token<'a> {
    /// A name, a directive or an instruction with all its modifiers: `add.rn.f32`, `%tid.x`.
    Word(&'a str),
    /// An integer, without its sign.
    Integer(u64),
    /// The bits of a 32-bit floating-point number (`0f`).
    Single(u32),
    /// The bits of a 64-bit floating-point number (`0d`, or with a point).
    Double(u64),
    /// The content of a string, as it is written.
    Text(&'a str),
    /// Any other character.
    Sign(char),
}

/// Cuts a text into tokens with the lines they are in.
pub(crate) fn tokens(text: &str) -> Result<Vec<(Token<'_>, u32)>, Syntax> {
    let bytes = text.as_bytes();
    let mut found = Vec::with_capacity(text.len() / 4);
    let mut at = 0;
    let mut line = 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\n' => {
                line += 1;
                at += 1;
            }
            b if b.is_ascii_whitespace() => at += 1,
            b'/' if bytes.get(at + 1) == Some(&b'/') => at = end_of_line(bytes, at),
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let end = text[at..]
                    .find("*/")
                    .ok_or_else(|| Syntax::new(line, "a comment has no end"))?;
                line += newlines(&bytes[at..at + end]);
                at += end + 2;
            }
            b'"' => {
                let end = text[at + 1..]
                    .find('"')
                    .ok_or_else(|| Syntax::new(line, "a string has no end"))?;
                found.push((Token::Text(&text[at + 1..at + 1 + end]), line));
                at += end + 2;
            }
            b'0'..=b'9' => {
                let end = word_end(bytes, at);
                found.push((number(&text[at..end], line)?, line));
                at = end;
            }
            b if starts_word(b) => {
                let end = word_end(bytes, at + 1);
                found.push((Token::Word(&text[at..end]), line));
                at = end;
            }
            b if b.is_ascii_graphic() => {
                found.push((Token::Sign(char::from(b)), line));
                at += 1;
            }
            _ => return Err(Syntax::new(line, "a byte that is no text")),
        }
    }
    Ok(found)
}

fn end_of_line(bytes: &[u8], at: usize) -> usize {
    bytes[at..]
        .iter()
        .position(|&byte| byte == b'\n')
        .map_or(bytes.len(), |end| at + end)
}

fn newlines(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |sum, &byte| sum + u32::from(byte == b'\n'))
}

fn starts_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

fn word_end(bytes: &[u8], from: usize) -> usize {
    let rest = bytes[from..].iter();
    let inside = |byte: &&u8| starts_word(**byte) || byte.is_ascii_digit();
    from + rest.take_while(inside).count()
}

fn number(word: &str, line: u32) -> Result<Token<'static>, Syntax> {
    let wrong = || Syntax::new(line, format!("{word} is no number"));
    let radix = |digits: &str, radix| {
        let digits = digits.trim_end_matches(['U', 'u']);
        u64::from_str_radix(digits, radix)
            .map(Token::Integer)
            .map_err(|_| wrong())
    };
    let lower = word.as_bytes().get(1).map(u8::to_ascii_lowercase);
    match lower {
        Some(b'f') if word.len() == 10 => u32::from_str_radix(&word[2..], 16)
            .map(Token::Single)
            .map_err(|_| wrong()),
        Some(b'd') if word.len() == 18 => u64::from_str_radix(&word[2..], 16)
            .map(Token::Double)
            .map_err(|_| wrong()),
        Some(b'x') => radix(&word[2..], 16),
        Some(b'b') => radix(&word[2..], 2),
        _ if word.contains('.') => word
            .parse::<f64>()
            .map(|value| Token::Double(value.to_bits()))
            .map_err(|_| wrong()),
        Some(b'0'..=b'7') if word.starts_with('0') => radix(&word[1..], 8),
        _ => radix(word, 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_modifiers_and_numbers_their_bits() {
        let text = "add.rn.f32 %f1, 0f3F800000, -0x1F; // no\n$L_1: /* a\nb */ @!%p1 1.5 017 7U";
        let found = tokens(text).expect("it is a text");
        let only: Vec<_> = found.iter().map(|(token, _)| *token).collect();
        assert_eq!(
            only,
            [
                Token::Word("add.rn.f32"),
                Token::Word("%f1"),
                Token::Sign(','),
                Token::Single(0x3f80_0000),
                Token::Sign(','),
                Token::Sign('-'),
                Token::Integer(31),
                Token::Sign(';'),
                Token::Word("$L_1"),
                Token::Sign(':'),
                Token::Sign('@'),
                Token::Sign('!'),
                Token::Word("%p1"),
                Token::Double(1.5f64.to_bits()),
                Token::Integer(15),
                Token::Integer(7),
            ]
        );
        assert_eq!(found.last().map(|(_, line)| *line), Some(3));
    }

    #[test]
    fn unterminated_token_error_has_a_line() {
        for text in ["\n\"open", "\n/* open"] {
            let error = tokens(text).expect_err("it has no end");
            assert_eq!(error.line, 2, "{text:?}");
        }
    }
}
