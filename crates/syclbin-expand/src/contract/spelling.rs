// SPDX-License-Identifier: MIT OR Apache-2.0
//! Expressions as users write them, for messages.

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};
use quote::ToTokens;

/// Returns an expression as users write it.
pub(crate) fn spelled(tokens: &impl ToTokens) -> String {
    let mut text = String::new();
    spell(tokens.to_token_stream(), &mut text);
    text
}

/// Writes spaces around operators only. A token stream would print a space between any two tokens.
fn spell(tokens: TokenStream, text: &mut String) {
    let (mut after, mut joint) = (Token::Start, false);
    for token in tokens {
        let kind = match &token {
            TokenTree::Punct(punct) if !['.', ':'].contains(&punct.as_char()) => match after {
                Token::Start | Token::Operator if !joint => Token::Sign,
                _ => Token::Operator,
            },
            _ => Token::Operand,
        };
        let spaced = match (after, kind) {
            (Token::Start | Token::Sign, _) | (Token::Operand, Token::Operand) => false,
            _ => !joint,
        };
        if spaced {
            text.push(' ');
        }
        match &token {
            TokenTree::Group(group) => {
                let [open, close] = match group.delimiter() {
                    Delimiter::Parenthesis => ["(", ")"],
                    Delimiter::Bracket => ["[", "]"],
                    Delimiter::Brace => ["{", "}"],
                    // The contents of a `macro_rules!` variable.
                    Delimiter::None if has_operator(group) => ["(", ")"],
                    Delimiter::None => ["", ""],
                };
                text.push_str(open);
                spell(group.stream(), text);
                text.push_str(close);
            }
            token => text.push_str(&token.to_string()),
        }
        joint = matches!(&token, TokenTree::Punct(punct) if punct.spacing() == Spacing::Joint);
        after = kind;
    }
}

pub(super) fn has_operator(group: &Group) -> bool {
    let mut tokens = group.stream().into_iter();
    tokens.any(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() != '.'))
}

#[derive(Clone, Copy)]
enum Token {
    Start,
    Operator,
    /// A minus before a number.
    Sign,
    Operand,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_stand_around_operators_only() {
        for text in [
            "x.len() >= n",
            "-1",
            "n - -1",
            "-n * (m + 2) <= -x.len()",
            "w.grids[1].sizes[2] == range[0]",
            "a && b",
            "!a",
            "n % 8 != 0",
        ] {
            let tokens: TokenStream = text.parse().unwrap();
            assert_eq!(spelled(&tokens), text);
        }
        let squeezed: TokenStream = "-n*2>=x.len()".parse().unwrap();
        assert_eq!(spelled(&squeezed), "-n * 2 >= x.len()");
    }

    #[test]
    fn an_invisible_group_shows_around_operators() {
        for (inner, expected) in [
            ("n", "2 * n"),
            ("x.len()", "2 * x.len()"),
            ("a - b", "2 * (a - b)"),
        ] {
            let group = Group::new(Delimiter::None, inner.parse().unwrap());
            assert_eq!(spelled(&quote::quote!(2 * #group)), expected);
        }
    }
}
