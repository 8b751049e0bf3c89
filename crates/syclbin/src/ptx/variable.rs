// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses PTX variables that are declared outside functions.

use super::kernel::{Space, scalar};
use super::tokens::{Tokens, number, text};
use crate::prelude::*;

/// A PTX variable that can be looked up by name (`.visible`, `.common` or `.weak`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variable {
    /// The name.
    pub name: String,
    /// The state space.
    pub space: Space,
    /// The size in bytes, or 0 for an array that is declared without a length.
    pub size: u64,
    /// The alignment in bytes.
    pub align: u64,
}

/// The visibility of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Linkage {
    /// Visible only in this PTX text.
    #[default]
    Own,
    /// Visible in all PTX code linked with this text: `.visible`, `.common`.
    Visible,
    /// Like `Visible`, but other PTX code may also define the name: `.weak`.
    Weak,
    /// Defined in other PTX code.
    Extern,
}

/// Reads the declarations after `.global`, `.const` or `.shared`, up to their `;`.
pub(super) fn declared(tokens: &mut Tokens<'_>, space: Space) -> Vec<Variable> {
    let mut words: Vec<&[u8]> = Vec::new();
    let (mut in_value, mut found) = (false, Vec::new());
    // Variables after a comma have the type of the first variable.
    let mut ty: Vec<&[u8]> = Vec::new();
    while let Some(token) = tokens.next() {
        match token {
            b"{" => tokens.skip_block(|_| {}),
            b"=" => in_value = true,
            b"," | b";" => {
                let all = [ty.as_slice(), words.as_slice()].concat();
                if let Some((variable, of_type)) = read(&all, space) {
                    ty = all[..of_type].to_vec();
                    found.push(variable);
                }
                (in_value, words) = (false, Vec::new());
                if token == b";" {
                    break;
                }
            }
            _ if in_value => {}
            word => words.push(word),
        }
    }
    found
}

/// Parses a declaration such as `.align 4 .b8 NAME[16]`. Also returns the number of words that belong to the type.
fn read(words: &[&[u8]], space: Space) -> Option<(Variable, usize)> {
    let (mut align, mut element, mut lanes) = (None, None, 1);
    let mut rest = words.iter().copied().enumerate();
    let (of_type, name) = loop {
        match rest.next()? {
            (_, b".align") => align = Some(number(rest.next()?.1)?),
            (_, b".v2") => lanes = 2,
            (_, b".v4") => lanes = 4,
            (_, word) if word.starts_with(b".") => {
                let bytes = scalar(word).map(|(_, bits)| u64::from(bits / 8));
                element = bytes.or(element);
            }
            (at, name) => break (at, name),
        }
    };
    let element = element?.checked_mul(lanes)?;
    let mut size = element;
    while let Some((_, word)) = rest.next() {
        match word {
            b"[" => match rest.next()?.1 {
                // For `[]`, a definition elsewhere or the launch sets the length.
                b"]" => size = 0,
                count => size = size.checked_mul(number(count)?)?,
            },
            b"]" => {}
            _ => return None,
        }
    }
    let align = align.unwrap_or(element).max(1);
    let variable = Variable {
        name: text(name),
        space,
        size,
        align,
    };
    align.is_power_of_two().then_some((variable, of_type))
}
