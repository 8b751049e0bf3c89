// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conditions: comparisons of two sides, as the user wrote them.

use proc_macro2::{TokenStream, TokenTree};
use syn::{BinOp, Expr, Lit};

use crate::contract::spelling::spelled;
use crate::names;

pub(crate) struct Condition {
    pub(crate) text: String,
    pub(crate) left: Side,
    pub(crate) relation: Relation,
    pub(crate) right: Side,
}

/// How two sides are compared. The names are the names in `__private::Relation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    GreaterOrEqual,
    Greater,
    /// `>=` of alignments, which users cannot write.
    Aligned,
}

/// One side of a comparison.
pub(crate) struct Side {
    pub(crate) text: String,
    pub(crate) expression: Expr,
}

pub(crate) const FORM: &str =
    "expected a comparison of integers, such as `x.len() >= n`, with <, <=, ==, !=, >= or >";

/// How conditions use the range of a launch.
#[derive(Default)]
pub(crate) struct RangeUse {
    /// The last dimension that they name.
    pub(crate) last: Option<usize>,
    /// Whether they name the number of dimensions.
    pub(crate) count: bool,
}

impl RangeUse {
    pub(crate) fn look(&mut self, expression: &Expr) {
        let is_range = |expression| word(expression).is_some_and(|name| name == "range");
        match ungrouped(expression) {
            Expr::Unary(unary) => self.look(&unary.expr),
            Expr::Binary(binary) => {
                self.look(&binary.left);
                self.look(&binary.right);
            }
            // On anything but the range, this is an error elsewhere.
            Expr::MethodCall(call) => self.count |= call.method == "dimensions",
            Expr::Index(index) if is_range(&index.expr) => {
                if let Expr::Lit(literal) = &*index.index
                    && let Lit::Int(dimension) = &literal.lit
                    && let Ok(dimension @ 0..3) = dimension.base10_parse()
                {
                    self.last = self.last.max(Some(dimension));
                }
            }
            _ => {}
        }
    }
}

/// Returns an error for a keyword of Rust in `tokens`. C++ parameters can have such names, for example `in`.
pub(crate) fn keyword(tokens: &TokenStream) -> Option<syn::Error> {
    tokens.clone().into_iter().find_map(|token| {
        let TokenTree::Ident(word) = token else {
            return None;
        };
        let raw = names::raw_keyword(&word)?;
        let message = format!("`{word}` is a keyword of Rust; write `{raw}`");
        Some(syn::Error::new(word.span(), message))
    })
}

/// Splits `a && b` into two conditions.
pub(crate) fn split(expression: &Expr, conditions: &mut Vec<Condition>) -> syn::Result<()> {
    let error = |at: &Expr| Err(syn::Error::new_spanned(at, FORM));
    let Expr::Binary(binary) = ungrouped(expression) else {
        return error(expression);
    };
    let relation = match binary.op {
        BinOp::And(_) => {
            split(&binary.left, conditions)?;
            return split(&binary.right, conditions);
        }
        BinOp::Lt(_) => Relation::Less,
        BinOp::Le(_) => Relation::LessOrEqual,
        BinOp::Eq(_) => Relation::Equal,
        BinOp::Ne(_) => Relation::NotEqual,
        BinOp::Ge(_) => Relation::GreaterOrEqual,
        BinOp::Gt(_) => Relation::Greater,
        _ => return error(expression),
    };
    conditions.push(Condition {
        text: spelled(binary),
        relation,
        left: Side::new(&binary.left),
        right: Side::new(&binary.right),
    });
    Ok(())
}

impl Side {
    fn new(expression: &Expr) -> Self {
        Self {
            text: spelled(expression),
            expression: expression.clone(),
        }
    }
}

/// Returns the name, if `expression` is a single name.
pub(crate) fn word(expression: &Expr) -> Option<String> {
    let Expr::Path(path) = ungrouped(expression) else {
        return None;
    };
    path.path.get_ident().map(names::plain)
}

/// Removes parentheses, and the invisible parentheses of a `macro_rules!` variable.
pub(crate) fn ungrouped(expression: &Expr) -> &Expr {
    match expression {
        Expr::Paren(inner) => ungrouped(&inner.expr),
        Expr::Group(inner) => ungrouped(&inner.expr),
        other => other,
    }
}
