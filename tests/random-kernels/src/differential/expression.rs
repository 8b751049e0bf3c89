// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random expressions with defined results, in C++ and in Rust.

use crate::Random;

/// A type of numbers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Number {
    pub(crate) cpp: &'static str,
    /// In which C++ computes without overflow, as smaller types become `int`.
    wide: &'static str,
    pub(crate) rust: &'static str,
    pub(crate) bits: usize,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Signed,
    Unsigned,
    Float,
}

const fn number(
    cpp: &'static str,
    wide: &'static str,
    rust: &'static str,
    bits: usize,
    kind: Kind,
) -> Number {
    Number {
        cpp,
        wide,
        rust,
        bits,
        kind,
    }
}

/// All of them; the integers come first.
pub(crate) const NUMBERS: [Number; 10] = [
    number("signed char", "unsigned", "i8", 8, Kind::Signed),
    number("unsigned char", "unsigned", "u8", 8, Kind::Unsigned),
    number("short", "unsigned", "i16", 16, Kind::Signed),
    number("unsigned short", "unsigned", "u16", 16, Kind::Unsigned),
    number("int", "unsigned", "i32", 32, Kind::Signed),
    number("unsigned", "unsigned", "u32", 32, Kind::Unsigned),
    number("long", "unsigned long", "i64", 64, Kind::Signed),
    number("unsigned long", "unsigned long", "u64", 64, Kind::Unsigned),
    number("float", "float", "f32", 32, Kind::Float),
    number("double", "double", "f64", 64, Kind::Float),
];

/// An expression.
#[derive(Clone, Debug)]
pub(crate) struct Both {
    pub(crate) cpp: String,
    pub(crate) rust: String,
}

/// Draws expressions over variables `v0`, `v1` ..., which have these types. In Rust each is an array with an
/// element for each work-item `i`.
pub(crate) struct Draw<'d> {
    pub(crate) random: &'d mut Random,
    pub(crate) variables: &'d [&'static Number],
}

impl Draw<'_> {
    /// An expression of type `of`.
    pub(crate) fn expression(&mut self, of: &'static Number) -> Both {
        if self.random.percent(15) {
            return self.choice(of);
        }
        match of.kind {
            Kind::Float => self.float(of),
            _ => self.integer(of),
        }
    }

    /// A variable of this type, another one converted, or a constant.
    fn operand(&mut self, of: &'static Number) -> Both {
        if self.random.percent(15) {
            return self.constant(of);
        }
        let same: Vec<usize> = (0..self.variables.len())
            .filter(|at| self.variables[*at] == of)
            .collect();
        let at = if same.is_empty() || self.random.percent(20) {
            self.random.below(self.variables.len())
        } else {
            *self.random.pick(&same)
        };
        let from = self.variables[at];
        let (cpp, rust) = (format!("v{at}"), format!("v{at}[i]"));
        convert(Both { cpp, rust }, from, of)
    }

    fn constant(&mut self, of: &Number) -> Both {
        let (cpp, rust) = (of.cpp, of.rust);
        if of.kind == Kind::Float {
            let value =
                f64::from(u16::try_from(self.random.below(4000)).unwrap_or(0)) / 8.0 - 200.0;
            return Both {
                cpp: format!("(({cpp}){value:?})"),
                rust: format!("({value:?} as {rust})"),
            };
        }
        let value = match self.random.below(3) {
            0 => self.random.next(),
            1 => self.random.next() % 40,
            _ => 1 << (of.bits - 1),
        };
        Both {
            cpp: format!("(({cpp}){value:#x}ul)"),
            rust: format!("({value:#x}_u64 as {rust})"),
        }
    }

    /// One of two values, after a comparison of others.
    fn choice(&mut self, of: &'static Number) -> Both {
        let compared = self.random.pick(&NUMBERS);
        let (a, b) = (self.operand(compared), self.operand(compared));
        let (yes, no) = (self.operand(of), self.operand(of));
        let operator = self.random.pick(&["<", "<=", "==", "!=", ">", ">="]);
        Both {
            cpp: format!(
                "({} {operator} {} ? {} : {})",
                a.cpp, b.cpp, yes.cpp, no.cpp
            ),
            rust: format!(
                "if ({}) {operator} ({}) {{ {} }} else {{ {} }}",
                a.rust, b.rust, yes.rust, no.rust
            ),
        }
    }

    fn integer(&mut self, of: &'static Number) -> Both {
        let (a, b) = (self.operand(of), self.operand(of));
        let (cpp, wide, mask) = (of.cpp, of.wide, of.bits - 1);
        let (x, y) = (a.cpp, b.cpp);
        // In a type without a sign nothing overflows.
        let wrapped = |operator: &str| format!("({cpp})(({wide}){x} {operator} ({wide}){y})");
        let method = |name: &str| format!("({}).{name}({})", a.rust, b.rust);
        let (cpp, rust) = match self.random.below(11) {
            0 => (wrapped("+"), method("wrapping_add")),
            1 => (wrapped("-"), method("wrapping_sub")),
            2 => (wrapped("*"), method("wrapping_mul")),
            3 => (wrapped("&"), format!("({}) & ({})", a.rust, b.rust)),
            4 => (wrapped("|"), format!("({}) | ({})", a.rust, b.rust)),
            5 => (wrapped("^"), format!("({}) ^ ({})", a.rust, b.rust)),
            6 => (
                format!("({cpp})(({wide}){x} << ((unsigned){y} & {mask}u))"),
                format!("({}).wrapping_shl(({}) as u32)", a.rust, b.rust),
            ),
            7 => (
                format!("({cpp})({x} >> ((unsigned){y} & {mask}u))"),
                format!("({}).wrapping_shr(({}) as u32)", a.rust, b.rust),
            ),
            8 => (
                format!("quotient<{cpp}>({x}, {y})"),
                format!("({}).quotient_of({})", a.rust, b.rust),
            ),
            9 => (
                format!("remainder<{cpp}>({x}, {y})"),
                format!("({}).remainder_of({})", a.rust, b.rust),
            ),
            _ => (format!("({cpp})(~({wide}){x})"), format!("!({})", a.rust)),
        };
        Both { cpp, rust }
    }

    fn float(&mut self, of: &'static Number) -> Both {
        let (a, b) = (self.operand(of), self.operand(of));
        let (cpp, rust) = match self.random.below(5) {
            0 => (
                format!("{} + {}", a.cpp, b.cpp),
                format!("({}) + ({})", a.rust, b.rust),
            ),
            1 => (
                format!("{} - {}", a.cpp, b.cpp),
                format!("({}) - ({})", a.rust, b.rust),
            ),
            2 => (
                format!("{} * {}", a.cpp, b.cpp),
                format!("({}) * ({})", a.rust, b.rust),
            ),
            3 => (
                format!("{} / ({1} == 0 ? 1 : {1})", a.cpp, b.cpp),
                format!(
                    "({}) / if ({1}) == 0.0 {{ 1.0 }} else {{ {1} }}",
                    a.rust, b.rust
                ),
            ),
            _ => (
                format!("sycl::sqrt({0} < 0 ? -{0} : {0})", a.cpp),
                format!(
                    "(if ({0}) < 0.0 {{ -({0}) }} else {{ {0} }}).sqrt()",
                    a.rust
                ),
            ),
        };
        // No infinity and nothing that a device may flush to zero.
        Both {
            cpp: format!("tame<{}>({cpp})", of.cpp),
            rust: format!("({rust}).tame()"),
        }
    }
}

fn convert(value: Both, from: &Number, to: &Number) -> Both {
    if from == to {
        return value;
    }
    let Both { cpp, rust } = value;
    match (from.kind, to.kind) {
        (Kind::Float, Kind::Float) => Both {
            cpp: format!("tame<{}>(({}){cpp})", to.cpp, to.cpp),
            rust: format!("(({rust}) as {}).tame()", to.rust),
        },
        // What an integer cannot hold is undefined in C++.
        (Kind::Float, _) => Both {
            cpp: format!("({})({cpp} >= 0 && {cpp} < 100 ? {cpp} : 0)", to.cpp),
            rust: format!(
                "(if {rust} >= 0.0 && {rust} < 100.0 {{ {rust} as {} }} else {{ 0 }})",
                to.rust
            ),
        },
        _ => Both {
            cpp: format!("(({}){cpp})", to.cpp),
            rust: format!("({rust} as {})", to.rust),
        },
    }
}
