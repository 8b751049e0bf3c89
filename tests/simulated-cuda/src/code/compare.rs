// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparisons and choices between two values.

use half::{bf16, f16};

use super::{Alu, Word};

/// `setp` and `set` without what they are combined with, `selp` and `slct`.
pub(super) fn find(name: &str, modifiers: &[&str]) -> Option<Alu> {
    let kind = *modifiers.last()?;
    Some(match name {
        "setp" | "set" => comparison(modifiers.first()?, kind)?,
        "selp" => Alu::Three(|a, b, p| if p & 1 == 1 { a } else { b }),
        "slct" if kind == "f32" => Alu::Three(|a, b, c| {
            if <f32 as Word>::from_bits(c) >= 0.0 {
                a
            } else {
                b
            }
        }),
        "slct" => Alu::Three(|a, b, c| if i32::from_bits(c) >= 0 { a } else { b }),
        _ => return None,
    })
}

/// A function that gives 1 where the comparison holds.
fn comparison(which: &str, kind: &str) -> Option<Alu> {
    macro_rules! integers {
        ($t:ident) => {
            match which {
                "eq" => Alu::Two(|a, b| u64::from($t::from_bits(a) == $t::from_bits(b))),
                "ne" => Alu::Two(|a, b| u64::from($t::from_bits(a) != $t::from_bits(b))),
                "lt" | "lo" => Alu::Two(|a, b| u64::from($t::from_bits(a) < $t::from_bits(b))),
                "le" | "ls" => Alu::Two(|a, b| u64::from($t::from_bits(a) <= $t::from_bits(b))),
                "gt" | "hi" => Alu::Two(|a, b| u64::from($t::from_bits(a) > $t::from_bits(b))),
                "ge" | "hs" => Alu::Two(|a, b| u64::from($t::from_bits(a) >= $t::from_bits(b))),
                _ => return None,
            }
        };
    }
    // The first six are false where one is no number, those with a u are true.
    macro_rules! floats {
        ($t:ident) => {{
            use std::cmp::Ordering::{Equal, Greater, Less};
            fn order(a: u64, b: u64) -> Option<std::cmp::Ordering> {
                <$t as Word>::from_bits(a).partial_cmp(&<$t as Word>::from_bits(b))
            }
            match which {
                "eq" => Alu::Two(|a, b| u64::from(order(a, b) == Some(Equal))),
                "ne" => Alu::Two(|a, b| u64::from(matches!(order(a, b), Some(Less | Greater)))),
                "lt" => Alu::Two(|a, b| u64::from(order(a, b) == Some(Less))),
                "le" => Alu::Two(|a, b| u64::from(matches!(order(a, b), Some(Less | Equal)))),
                "gt" => Alu::Two(|a, b| u64::from(order(a, b) == Some(Greater))),
                "ge" => Alu::Two(|a, b| u64::from(matches!(order(a, b), Some(Greater | Equal)))),
                "equ" => Alu::Two(|a, b| u64::from(matches!(order(a, b), Some(Equal) | None))),
                "neu" => Alu::Two(|a, b| u64::from(order(a, b) != Some(Equal))),
                "ltu" => Alu::Two(|a, b| u64::from(matches!(order(a, b), Some(Less) | None))),
                "leu" => Alu::Two(|a, b| u64::from(order(a, b) != Some(Greater))),
                "gtu" => Alu::Two(|a, b| u64::from(matches!(order(a, b), Some(Greater) | None))),
                "geu" => Alu::Two(|a, b| u64::from(order(a, b) != Some(Less))),
                "num" => Alu::Two(|a, b| u64::from(order(a, b).is_some())),
                "nan" => Alu::Two(|a, b| u64::from(order(a, b).is_none())),
                _ => return None,
            }
        }};
    }
    Some(match kind {
        "u16" | "b16" => integers!(u16),
        "s16" => integers!(i16),
        "u32" | "b32" => integers!(u32),
        "s32" => integers!(i32),
        "u64" | "b64" => integers!(u64),
        "s64" => integers!(i64),
        "f16" => floats!(f16),
        "bf16" => floats!(bf16),
        "f32" => floats!(f32),
        "f64" => floats!(f64),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::tests::run;

    #[test]
    fn integers_are_compared_with_or_without_sign() {
        for (a, b) in [
            (0u64, 1u64),
            (0xffff_ffff, 1),
            (5, 5),
            (0x8000_0000, 0x7fff_ffff),
        ] {
            let (x, y) = (u32::from_bits(a), u32::from_bits(b));
            let (p, q) = (i32::from_bits(a), i32::from_bits(b));
            assert_eq!(run("setp.lt.u32", &[a, b]), u64::from(x < y));
            assert_eq!(run("setp.hi.u32", &[a, b]), u64::from(x > y));
            assert_eq!(run("setp.lt.s32", &[a, b]), u64::from(p < q));
            assert_eq!(run("setp.ge.s32", &[a, b]), u64::from(p >= q));
            assert_eq!(run("setp.eq.b32", &[a, b | 1 << 40]), u64::from(x == y));
            assert_eq!(run("setp.ne.s64", &[a, b]), u64::from(a != b));
        }
    }

    #[test]
    fn what_is_no_number_is_in_no_order() {
        let (one, nan) = (1f32.bits(), f32::NAN.bits());
        for which in ["eq", "ne", "lt", "le", "gt", "ge", "num"] {
            assert_eq!(run(&format!("setp.{which}.f32"), &[one, nan]), 0, "{which}");
        }
        for which in ["equ", "neu", "ltu", "leu", "gtu", "geu", "nan"] {
            assert_eq!(run(&format!("setp.{which}.f32"), &[one, nan]), 1, "{which}");
        }
        assert_eq!(run("setp.geu.f64", &[1f64.bits(), 2f64.bits()]), 0);
        assert_eq!(
            run("setp.lt.f16", &[f16::ONE.bits(), f16::INFINITY.bits()]),
            1
        );
    }

    #[test]
    fn one_of_two_values_is_chosen() {
        assert_eq!(run("selp.b32", &[7, 8, 1]), 7);
        assert_eq!(run("selp.f64", &[7, 8, 0]), 8);
        assert_eq!(run("slct.u32.s32", &[7, 8, u64::MAX]), 8);
        assert_eq!(run("slct.u32.f32", &[7, 8, (-0f32).bits()]), 7);
    }
}
