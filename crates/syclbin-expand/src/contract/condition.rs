//! Conditions: comparisons of two sides, as they are written.

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

/// How the two sides are compared; called as `contract::Relation` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    GreaterOrEqual,
    Greater,
    /// `>=` of alignments, which no condition is written with.
    Aligned,
}

/// One side of a comparison.
pub(crate) struct Side {
    pub(crate) text: String,
    pub(crate) expression: Expr,
}

pub(crate) const FORM: &str =
    "expected a comparison of integers, such as `x.len() >= n`, with <, <=, ==, !=, >= or >";

/// What conditions say about the range of a launch.
#[derive(Default)]
pub(crate) struct RangeUse {
    /// The last dimension.
    pub(crate) last: Option<usize>,
    /// Whether they say how many there are.
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
            // Of anything but the range this is an error elsewhere.
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

/// C++ names parameters like keywords of Rust, such as `in`.
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

/// Takes `a && b` for two conditions.
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

/// The name, if `expression` is one.
pub(crate) fn word(expression: &Expr) -> Option<String> {
    let Expr::Path(path) = ungrouped(expression) else {
        return None;
    };
    path.path.get_ident().map(names::plain)
}

/// What stands in parentheses, or in the invisible ones of a `macro_rules!` variable.
pub(crate) fn ungrouped(expression: &Expr) -> &Expr {
    match expression {
        Expr::Paren(inner) => ungrouped(&inner.expr),
        Expr::Group(inner) => ungrouped(&inner.expr),
        other => other,
    }
}
