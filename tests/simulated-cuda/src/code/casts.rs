// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversions that are a cast: those between integers, and those that kernels do often.

use super::convert::Kind;
use super::{Alu, Word};

/// What kernels do often, without a look at what kind it is each time.
pub(super) fn frequent(mode: &str, to: Kind, from: Kind) -> Option<Alu> {
    macro_rules! cast {
        ($from:ident, $to:ident) => {
            Alu::One(|a| (<$from as Word>::from_bits(a) as $to).bits())
        };
    }
    use Kind::{Double, Integer, Single};
    Some(match (mode, from, to) {
        ("rn", Integer(32, true), Single) => cast!(i32, f32),
        ("rn", Integer(32, false), Single) => cast!(u32, f32),
        ("rn", Integer(64, true), Single) => cast!(i64, f32),
        ("rn", Integer(64, false), Single) => cast!(u64, f32),
        ("rn", Integer(32, true), Double) => cast!(i32, f64),
        ("rn", Integer(32, false), Double) => cast!(u32, f64),
        ("rn", Integer(64, true), Double) => cast!(i64, f64),
        ("rn", Integer(64, false), Double) => cast!(u64, f64),
        ("rn", Double, Single) => cast!(f64, f32),
        // These saturate, and what is no number becomes 0, as the language has it.
        ("rzi", Single, Integer(32, true)) => cast!(f32, i32),
        ("rzi", Single, Integer(32, false)) => cast!(f32, u32),
        ("rzi", Single, Integer(64, true)) => cast!(f32, i64),
        ("rzi", Single, Integer(64, false)) => cast!(f32, u64),
        ("rzi", Double, Integer(32, true)) => cast!(f64, i32),
        ("rzi", Double, Integer(64, true)) => cast!(f64, i64),
        _ => return None,
    })
}

/// From integer to integer: bits are cut off, or the sign is repeated.
pub(super) fn extension(from: u32, from_sign: bool, to: u32, to_sign: bool) -> Option<Alu> {
    let narrower = to < from;
    let (width, sign) = if narrower {
        (to, to_sign)
    } else {
        (from, from_sign)
    };
    // The sign of a narrower source fills a wider target that has none up to its own width.
    Some(match (width, sign) {
        (8, false) => Alu::One(|a| a & 0xff),
        (8, true) if !narrower && !to_sign && to == 16 => {
            Alu::One(|a| i8::from_bits(a).bits() & 0xffff)
        }
        (8, true) => Alu::One(|a| i8::from_bits(a).bits()),
        (16, false) => Alu::One(|a| a & 0xffff),
        (16, true) => Alu::One(|a| i16::from_bits(a).bits()),
        (32, false) => Alu::One(|a| a & 0xffff_ffff),
        (32, true) => Alu::One(|a| i32::from_bits(a).bits()),
        (64, _) => Alu::One(|a| a),
        _ => return None,
    })
}
