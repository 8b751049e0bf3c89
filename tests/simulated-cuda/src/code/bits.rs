// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields of bits, and what puts bytes and words together anew.

use super::{Alu, Word};

/// `bfe`: a field, with its sign if its type has one.
pub(super) fn extract(kind: &str) -> Option<Alu> {
    Some(match kind {
        "u32" => Alu::Three(|a, b, c| field(a & 0xffff_ffff, b, c, 32, false)),
        "s32" => Alu::Three(|a, b, c| field(i32::from_bits(a).bits(), b, c, 32, true)),
        "u64" => Alu::Three(|a, b, c| field(a, b, c, 64, false)),
        "s64" => Alu::Three(|a, b, c| field(a, b, c, 64, true)),
        _ => return None,
    })
}

fn field(value: u64, at: u64, length: u64, width: u64, signed: bool) -> u64 {
    let (at, length) = (at & 0xff, length & 0xff);
    if length == 0 {
        return 0;
    }
    let sign = signed && value >> (at + length - 1).min(width - 1) & 1 == 1;
    let fill = if sign { u64::MAX } else { 0 };
    let there = length.min(width.saturating_sub(at));
    if there == 0 {
        return fill;
    }
    let ones = u64::MAX >> (64 - there);
    value >> at & ones | fill & !ones
}

/// `bfi`: `b` with a field of `a` in it.
pub(super) fn insert(a: u64, b: u64, at: u64, length: u64, width: u64) -> u64 {
    let (at, length) = (at & 0xff, length & 0xff);
    if length == 0 || at >= width {
        return b;
    }
    let ones = u64::MAX >> (64 - length.min(width - at)) << at;
    b & !ones | a << at & ones
}

/// `bmsk`: ones from a bit on.
pub(super) fn mask(at: u64, length: u64) -> u64 {
    let length = length & 0xffff_ffff;
    if at >= 32 || length == 0 {
        return 0;
    }
    ((1u64 << length.min(32)) - 1) << at & 0xffff_ffff
}

/// `bfind`: the most significant bit that is not a sign.
pub(super) fn find_first(kind: &str, shift: bool) -> Option<Alu> {
    macro_rules! of {
        ($t:ty, $signed:expr) => {{
            fn at(bits: u64) -> u64 {
                let value = <$t>::from_bits(bits);
                let value = if $signed && value >> (<$t>::BITS - 1) == 1 {
                    !value
                } else {
                    value
                };
                value.checked_ilog2().map_or(0xffff_ffff, u64::from)
            }
            if shift {
                Alu::One(|a| match at(a) {
                    0xffff_ffff => 0xffff_ffff,
                    at => u64::from(<$t>::BITS) - 1 - at,
                })
            } else {
                Alu::One(at)
            }
        }};
    }
    Some(match kind {
        "u32" => of!(u32, false),
        "s32" => of!(u32, true),
        "u64" => of!(u64, false),
        "s64" => of!(u64, true),
        _ => return None,
    })
}

/// The others, each by its name.
pub(super) fn find(name: &str, modifiers: &[&str], kind: &str) -> Option<Alu> {
    let has = |modifier| modifiers.contains(&modifier);
    Some(match name {
        "shf" if has("l") && has("clamp") => {
            Alu::Three(|a, b, c| left(a, b, (c & 0xffff_ffff).min(32)))
        }
        "shf" if has("l") => Alu::Three(|a, b, c| left(a, b, c & 31)),
        "shf" if has("clamp") => Alu::Three(|a, b, c| pair(a, b) >> (c & 0xffff_ffff).min(32)),
        "shf" => Alu::Three(|a, b, c| pair(a, b) >> (c & 31)),
        "prmt" => match modifiers.first().copied() {
            Some("b32") => Alu::Three(|a, b, c| permuted(pair(a, b), c)),
            Some("f4e") => Alu::Three(|a, b, c| {
                permuted(pair(a, b), [0x3210, 0x4321, 0x5432, 0x6543][c as usize & 3])
            }),
            Some("b4e") => Alu::Three(|a, b, c| {
                permuted(pair(a, b), [0x5670, 0x6701, 0x7012, 0x0123][c as usize & 3])
            }),
            Some("rc8") => Alu::Three(|a, b, c| permuted(pair(a, b), (c & 3) * 0x1111)),
            Some("ecl") => Alu::Three(|a, b, c| {
                permuted(pair(a, b), [0x3210, 0x3211, 0x3222, 0x3333][c as usize & 3])
            }),
            Some("ecr") => Alu::Three(|a, b, c| {
                permuted(pair(a, b), [0x0000, 0x1110, 0x2210, 0x3210][c as usize & 3])
            }),
            Some("rc16") => Alu::Three(|a, b, c| {
                permuted(pair(a, b), [0x1010, 0x3232, 0x1010, 0x3232][c as usize & 3])
            }),
            _ => return None,
        },
        "lop3" => Alu::Four(|a, b, c, table| {
            (0..8)
                .filter(|bit| table >> bit & 1 == 1)
                .fold(0, |all, bit| {
                    let pick = |value: u64, one: u64| if one == 1 { value } else { !value };
                    all | pick(a, bit >> 2 & 1) & pick(b, bit >> 1 & 1) & pick(c, bit & 1)
                })
        }),
        "szext" => {
            let signed = kind == "s32";
            match (has("clamp"), signed) {
                (true, true) => Alu::Two(|a, b| {
                    field(
                        i32::from_bits(a).bits(),
                        0,
                        (b & 0xffff_ffff).min(32),
                        32,
                        true,
                    )
                }),
                (true, false) => {
                    Alu::Two(|a, b| field(a & 0xffff_ffff, 0, (b & 0xffff_ffff).min(32), 32, false))
                }
                (false, true) => {
                    Alu::Two(|a, b| field(i32::from_bits(a).bits(), 0, b & 31, 32, true))
                }
                (false, false) => Alu::Two(|a, b| field(a & 0xffff_ffff, 0, b & 31, 32, false)),
            }
        }
        "dp4a" => match modifiers {
            ["s32", "s32"] => Alu::Three(|a, b, c| dot4(a, b, c, true, true)),
            ["s32", "u32"] => Alu::Three(|a, b, c| dot4(a, b, c, true, false)),
            ["u32", "s32"] => Alu::Three(|a, b, c| dot4(a, b, c, false, true)),
            ["u32", "u32"] => Alu::Three(|a, b, c| dot4(a, b, c, false, false)),
            _ => return None,
        },
        _ => return None,
    })
}

fn pair(low: u64, high: u64) -> u64 {
    high << 32 | low & 0xffff_ffff
}

fn left(low: u64, high: u64, by: u64) -> u64 {
    pair(low, high) << by >> 32
}

/// Four of eight bytes, each chosen by four bits; the topmost of those takes only the sign.
fn permuted(bytes: u64, choice: u64) -> u64 {
    (0..4).fold(0, |all, at| {
        let nibble = choice >> (4 * at) & 15;
        let byte = bytes >> (8 * (nibble & 7)) & 0xff;
        let byte = if nibble & 8 == 0 {
            byte
        } else {
            0xff * (byte >> 7)
        };
        all | byte << (8 * at)
    })
}

fn dot4(a: u64, b: u64, c: u64, a_signed: bool, b_signed: bool) -> u64 {
    let byte = |value: u64, at: u32, signed: bool| {
        let byte = value >> (8 * at) & 0xff;
        if signed {
            i8::from_bits(byte).bits()
        } else {
            byte
        }
    };
    (0..4).fold(c, |sum, at| {
        sum.wrapping_add(byte(a, at, a_signed).wrapping_mul(byte(b, at, b_signed)))
    })
}

#[cfg(test)]
mod tests {
    use crate::code::tests::run;

    #[test]
    fn fields_are_taken_out_and_put_in() {
        assert_eq!(run("bfe.u32", &[0xabcd_1234, 8, 8]), 0x12);
        assert_eq!(run("bfe.s32", &[0x0000_f000, 12, 4]) as u32, u32::MAX);
        assert_eq!(run("bfe.s32", &[0x8000_0000, 40, 4]) as u32, u32::MAX);
        assert_eq!(run("bfe.u64", &[u64::MAX, 60, 10]), 15);
        assert_eq!(run("bfe.u32", &[u64::MAX, 3, 0]), 0);
        assert_eq!(run("bfi.b32", &[0xff, 0, 4, 4]) as u32, 0xf0);
        assert_eq!(run("bfi.b64", &[1, 0, 63, 1]), 1 << 63);
        assert_eq!(run("bfi.b32", &[0xff, 7, 32, 4]) as u32, 7);
    }

    #[test]
    fn the_first_bit_is_found() {
        assert_eq!(run("bfind.u32", &[0x0001_0000]), 16);
        assert_eq!(run("bfind.s32", &[0xffff_fffe]), 0);
        assert_eq!(run("bfind.u32", &[0]) as u32, u32::MAX);
        assert_eq!(run("bfind.shiftamt.u32", &[0x0001_0000]), 15);
    }

    #[test]
    fn words_are_shifted_through_each_other() {
        let (low, high) = (0x1111_2222u64, 0x3333_4444u64);
        assert_eq!(run("shf.l.wrap.b32", &[low, high, 8]) as u32, 0x3344_4411);
        assert_eq!(run("shf.r.wrap.b32", &[low, high, 8]) as u32, 0x4411_1122);
        assert_eq!(run("shf.r.clamp.b32", &[low, high, 40]) as u32, 0x3333_4444);
        assert_eq!(
            run("shf.l.wrap.b32", &[low, low, 4]) as u32,
            0x1111_2222u32.rotate_left(4)
        );
    }

    #[test]
    fn bytes_and_truth_tables_are_chosen() {
        assert_eq!(
            run("prmt.b32", &[0x4433_2211, 0x8877_6655, 0x7531]) as u32,
            0x8866_4422
        );
        assert_eq!(
            run("prmt.b32", &[0x0000_0080, 0, 0x0008]) as u32,
            0x8080_80ff
        );
        assert_eq!(
            run("lop3.b32", &[0b1100, 0b1010, 0b1111, 0x80]) as u32,
            0b1000
        );
        assert_eq!(
            run("lop3.b32", &[0b1100, 0b1010, 0b0110, 0x96]) as u32 & 15,
            0
        );
        assert_eq!(
            run("dp4a.s32.s32", &[0xff02_0304, 0x0101_0101, 10]) as u32,
            18
        );
    }
}
