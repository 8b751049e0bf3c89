// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cvt`: from one type to another, with every rounding.

use half::{bf16, f16};

use super::casts::{extension, frequent};
use super::rounding::Round;
use super::{Alu, Word};

/// A type that can be converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An integer of so many bits, with a sign or without.
    Integer(u32, bool),
    Half,
    Brain,
    Single,
    Double,
}

impl Kind {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "u8" | "b8" => Self::Integer(8, false),
            "s8" => Self::Integer(8, true),
            "u16" | "b16" => Self::Integer(16, false),
            "s16" => Self::Integer(16, true),
            "u32" | "b32" => Self::Integer(32, false),
            "s32" => Self::Integer(32, true),
            "u64" | "b64" => Self::Integer(64, false),
            "s64" => Self::Integer(64, true),
            "f16" => Self::Half,
            "bf16" => Self::Brain,
            "f32" => Self::Single,
            "f64" => Self::Double,
            _ => return None,
        })
    }
}

/// A conversion.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Convert {
    to: Kind,
    from: Kind,
    round: Round,
    /// Rounds to a whole number.
    whole: bool,
    saturate: bool,
    relu: bool,
    flush: bool,
}

/// A number before it is written: whole, or any.
#[derive(Debug, Clone, Copy)]
enum Number {
    Whole(i128),
    Any(f64),
}

/// The conversion of an instruction with one operand.
pub(super) fn find(name: &str, modifiers: &[&str]) -> Option<Alu> {
    if name != "cvt" {
        return None;
    }
    let (from, rest) = modifiers.split_last()?;
    let (to, rest) = rest.split_last()?;
    let has = |modifier| rest.contains(&modifier);
    let (to, from) = (Kind::of(to)?, Kind::of(from)?);
    let saturate = has("sat") || has("satfinite");
    if let (Kind::Integer(to, to_sign), Kind::Integer(from, from_sign), false) =
        (to, from, saturate)
    {
        return extension(from, from_sign, to, to_sign);
    }
    if let ([mode], false) = (rest, saturate || has("ftz") || has("relu"))
        && let Some(frequent) = frequent(mode, to, from)
    {
        return Some(frequent);
    }
    let (round, whole) = if has("rzi") {
        (Round::Zero, true)
    } else if has("rmi") {
        (Round::Down, true)
    } else if has("rpi") {
        (Round::Up, true)
    } else if has("rni") {
        (Round::Nearest, true)
    } else {
        (Round::of(rest), false)
    };
    Some(Alu::Convert(Convert {
        to,
        from,
        round,
        whole,
        saturate,
        relu: has("relu"),
        flush: has("ftz"),
    }))
}

/// Two numbers in one register: `cvt.rn.f16x2.f32 d, high, low`.
pub(super) fn packed(modifiers: &[&str]) -> Option<Convert> {
    let (from, rest) = modifiers.split_last()?;
    let (to, rest) = rest.split_last()?;
    if *from != "f32" {
        return None;
    }
    Some(Convert {
        to: Kind::of(to.strip_suffix("x2")?)?,
        from: Kind::Single,
        round: Round::of(rest),
        whole: false,
        saturate: rest.contains(&"sat"),
        relu: rest.contains(&"relu"),
        flush: rest.contains(&"ftz"),
    })
}

impl Convert {
    /// The slot of the result.
    pub(crate) fn run(self, bits: u64) -> u64 {
        let number = match self.from {
            Kind::Integer(8, true) => Number::Whole(i8::from_bits(bits).whole()),
            Kind::Integer(8, false) => Number::Whole(u8::from_bits(bits).whole()),
            Kind::Integer(16, true) => Number::Whole(i16::from_bits(bits).whole()),
            Kind::Integer(16, false) => Number::Whole(u16::from_bits(bits).whole()),
            Kind::Integer(32, true) => Number::Whole(i32::from_bits(bits).whole()),
            Kind::Integer(32, false) => Number::Whole(u32::from_bits(bits).whole()),
            Kind::Integer(_, true) => Number::Whole(i64::from_bits(bits).whole()),
            Kind::Integer(_, false) => Number::Whole(bits.whole()),
            Kind::Half => Number::Any(<f16 as Word>::from_bits(bits).to_f64()),
            Kind::Brain => Number::Any(<bf16 as Word>::from_bits(bits).to_f64()),
            Kind::Single => Number::Any(f64::from(self.flushed(<f32 as Word>::from_bits(bits)))),
            Kind::Double => Number::Any(<f64 as Word>::from_bits(bits)),
        };
        match self.to {
            Kind::Integer(width, signed) => self.to_integer(number, width, signed),
            _ => self.to_float(number),
        }
    }

    fn flushed(self, value: f32) -> f32 {
        if self.flush && value.is_subnormal() {
            0f32.copysign(value)
        } else {
            value
        }
    }

    fn to_whole(self, value: f64) -> f64 {
        match self.round {
            Round::Nearest => value.round_ties_even(),
            Round::Zero => value.trunc(),
            Round::Down => value.floor(),
            Round::Up => value.ceil(),
        }
    }

    fn to_integer(self, number: Number, width: u32, signed: bool) -> u64 {
        let value = match number {
            Number::Whole(value) => value,
            Number::Any(value) => self.to_whole(value) as i128,
        };
        let (least, most) = if signed {
            (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1)
        } else {
            (0, (1i128 << width) - 1)
        };

        value.clamp(least, most) as u64
    }

    fn to_float(self, number: Number) -> u64 {
        let number = match number {
            Number::Any(value) if self.whole => Number::Any(self.to_whole(value)),
            number => number,
        };
        let number = match number {
            Number::Any(value) if self.saturate => Number::Any(if value.is_nan() {
                0.0
            } else {
                value.clamp(0.0, 1.0) + 0.0
            }),
            Number::Any(value) if self.relu && value <= 0.0 => Number::Any(0.0),
            number => number,
        };
        match self.to {
            Kind::Single => {
                let nearest = match number {
                    Number::Whole(value) => value as f32,
                    Number::Any(value) => value as f32,
                };
                let way = self.way(number, f64::from(nearest));
                self.flushed(beside(nearest, way, f32::next_up, f32::next_down))
                    .bits()
            }
            Kind::Half => {
                let nearest = match number {
                    Number::Whole(value) => f16::from_f64(value as f64),
                    Number::Any(value) => f16::from_f64(value),
                };
                let way = self.way(number, nearest.to_f64());
                let up = |value: f16| <f16 as Word>::from_bits(next(value.bits(), 0x8000, true));
                let down = |value: f16| <f16 as Word>::from_bits(next(value.bits(), 0x8000, false));
                beside(nearest, way, up, down).bits()
            }
            Kind::Brain => {
                let nearest = match number {
                    Number::Whole(value) => bf16::from_f64(value as f64),
                    Number::Any(value) => bf16::from_f64(value),
                };
                let way = self.way(number, nearest.to_f64());
                let up = |value: bf16| <bf16 as Word>::from_bits(next(value.bits(), 0x8000, true));
                let down =
                    |value: bf16| <bf16 as Word>::from_bits(next(value.bits(), 0x8000, false));
                beside(nearest, way, up, down).bits()
            }
            _ => {
                let nearest = match number {
                    Number::Whole(value) => value as f64,
                    Number::Any(value) => value,
                };
                let way = self.way(number, nearest);
                beside(nearest, way, f64::next_up, f64::next_down).bits()
            }
        }
    }

    /// Which neighbour of the nearest result the mode wants: the one above, below, or neither.
    fn way(self, number: Number, nearest: f64) -> i8 {
        let (below, above, negative) = match number {
            Number::Whole(value) => {
                let nearest = nearest as i128;
                (nearest < value, nearest > value, value < 0)
            }
            Number::Any(value) => (nearest < value, nearest > value, value < 0.0),
        };
        match self.round {
            Round::Up if below => 1,
            Round::Down if above => -1,
            Round::Zero if above && !negative => -1,
            Round::Zero if below && negative => 1,
            _ => 0,
        }
    }
}

fn beside<T>(value: T, way: i8, up: impl Fn(T) -> T, down: impl Fn(T) -> T) -> T {
    match way {
        1 => up(value),
        -1 => down(value),
        _ => value,
    }
}

/// The number after or before one, as bits.
fn next(bits: u64, sign: u64, up: bool) -> u64 {
    let magnitude = bits & (sign - 1);
    let negative = bits & sign != 0;
    match (magnitude, negative == up) {
        (0, _) => {
            if up {
                1
            } else {
                sign | 1
            }
        }
        (_, true) => bits - 1,
        (_, false) => bits + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::tests::run;

    #[test]
    fn integers_are_cut_off_or_extended() {
        assert_eq!(run("cvt.u64.u32", &[0xffff_ffff_8000_0000]), 0x8000_0000);
        assert_eq!(run("cvt.s64.s32", &[0x8000_0000]), 0xffff_ffff_8000_0000);
        assert_eq!(run("cvt.u32.u64", &[0x1_2345_6789]) as u32, 0x2345_6789);
        assert_eq!(run("cvt.s16.s8", &[0x80]) as u16, 0xff80);
        assert_eq!(run("cvt.u16.u8", &[0x180]) as u16, 0x80);
        assert_eq!(run("cvt.u8.u32", &[0x1ff]), 0xff);
        assert_eq!(run("cvt.s8.s32", &[0xff]) as i32, -1);
        assert_eq!(run("cvt.sat.u8.s32", &[(-5i32).bits()]), 0);
        assert_eq!(run("cvt.sat.s8.s32", &[1000]), 127);
    }

    #[test]
    fn numbers_become_whole_by_each_rounding() {
        for value in [2.5f32, -2.5, 3.5, 0.49, -0.51, 1e20, -1e20, f32::NAN] {
            let int = |words: &str| i32::from_bits(run(words, &[value.bits()]));
            assert_eq!(int("cvt.rzi.s32.f32"), value as i32, "{value}");
            assert_eq!(
                int("cvt.rni.s32.f32"),
                value.round_ties_even() as i32,
                "{value}"
            );
            assert_eq!(int("cvt.rmi.s32.f32"), value.floor() as i32, "{value}");
            assert_eq!(int("cvt.rpi.s32.f32"), value.ceil() as i32, "{value}");
            assert_eq!(
                run("cvt.rzi.u64.f32", &[value.bits()]),
                value as u64,
                "{value}"
            );
            let same = <f32 as Word>::from_bits(run("cvt.rmi.f32.f32", &[value.bits()]));
            assert!(same == value.floor() || value.is_nan());
        }
    }

    #[test]
    fn integers_convert_to_floats_by_each_rounding() {
        for value in [
            0i64,
            1,
            -1,
            16_777_217,
            -16_777_217,
            i64::MAX,
            i64::MIN,
            33_554_435,
        ] {
            let float = |words: &str| <f32 as Word>::from_bits(run(words, &[value.bits()]));
            assert_eq!(float("cvt.rn.f32.s64"), value as f32);
            let exact = i128::from(value);
            let down = float("cvt.rm.f32.s64");
            let up = float("cvt.rp.f32.s64");
            assert!(down as i128 <= exact && exact <= up as i128, "{value}");
            assert!(down == up || down.next_up() == up, "{value}");
            let zero = float("cvt.rz.f32.s64");
            assert_eq!(zero, if value < 0 { up } else { down });
            let double = <f64 as Word>::from_bits(run("cvt.rn.f64.s64", &[value.bits()]));
            assert_eq!(double, value as f64);
        }
        let all = <f32 as Word>::from_bits(run("cvt.rn.f32.u64", &[u64::MAX]));
        assert_eq!(all, u64::MAX as f32);
    }

    #[test]
    fn numbers_become_narrower() {
        let third = 1.0 / 3.0f64;
        assert_eq!(
            <f32 as Word>::from_bits(run("cvt.rn.f32.f64", &[third.bits()])),
            third as f32
        );
        let low = <f32 as Word>::from_bits(run("cvt.rz.f32.f64", &[third.bits()]));
        assert!(f64::from(low) < third && f64::from(low.next_up()) > third);
        let half = <f16 as Word>::from_bits(run("cvt.rn.f16.f32", &[0.1f32.bits()]));
        assert_eq!(half, f16::from_f32(0.1));
        assert_eq!(
            run("cvt.f32.f16", &[f16::from_f32(1.5).bits()]),
            1.5f32.bits()
        );
        assert_eq!(run("cvt.sat.f32.f32", &[7f32.bits()]), 1f32.bits());
        assert_eq!(
            run("cvt.rn.bf16.f32", &[1.5f32.bits()]),
            bf16::from_f32(1.5).bits()
        );
        assert_eq!(run("cvt.rz.f16.f32", &[1e9f32.bits()]), f16::MAX.bits());
        assert_eq!(run("cvt.rp.f16.f32", &[(-1e9f32).bits()]), f16::MIN.bits());
    }
}
