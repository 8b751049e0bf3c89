// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer arithmetic and logic: what an instruction makes of the bits of its operands.
//!
//! An operand is a whole register. A function looks at as many of its bits as its type has, and
//! what it leaves above those in the result is never looked at.

use super::{Alu, Word};

/// The function of an instruction, for a type such as `s32`.
pub(super) fn find(name: &str, modifiers: &[&str], kind: &str) -> Option<Alu> {
    let has = |modifier| modifiers.contains(&modifier);
    let signed = kind.starts_with('s');
    Some(match name {
        "add" if has("sat") && kind == "s32" => Alu::Two(|a, b| {
            let sum = i32::from_bits(a).saturating_add(i32::from_bits(b));
            sum.bits()
        }),
        "sub" if has("sat") && kind == "s32" => Alu::Two(|a, b| {
            let difference = i32::from_bits(a).saturating_sub(i32::from_bits(b));
            difference.bits()
        }),
        "add" if matches!(kind, "u16x2" | "s16x2") => Alu::Two(|a, b| {
            let high = (a >> 16).wrapping_add(b >> 16);
            (high & 0xffff) << 16 | (a.wrapping_add(b) & 0xffff)
        }),
        "add" => Alu::Two(u64::wrapping_add),
        "sub" => Alu::Two(u64::wrapping_sub),
        "neg" => Alu::One(u64::wrapping_neg),
        "not" if kind == "pred" => Alu::One(|a| a ^ 1),
        "not" => Alu::One(|a| !a),
        "and" => Alu::Two(|a, b| a & b),
        "or" => Alu::Two(|a, b| a | b),
        "xor" => Alu::Two(|a, b| a ^ b),
        "cnot" => each(kind, One { call: cnot })?,
        "abs" => each(kind, One { call: abs })?,
        "mul" if has("wide") => wide(kind, false)?,
        "mad" if has("wide") => wide(kind, true)?,
        "mul24" if has("lo") && signed => Alu::Two(|a, b| low24(a).wrapping_mul(low24(b)).bits()),
        "mul24" if has("lo") => Alu::Two(|a, b| (a & 0xff_ffff) * (b & 0xff_ffff)),
        "mad24" if has("lo") && signed => {
            Alu::Three(|a, b, c| low24(a).wrapping_mul(low24(b)).bits().wrapping_add(c))
        }
        "mad24" if has("lo") => {
            Alu::Three(|a, b, c| ((a & 0xff_ffff) * (b & 0xff_ffff)).wrapping_add(c))
        }
        "mul" if has("hi") => high(kind)?,
        "mad" if has("hi") => high_add(kind)?,
        "mul" => Alu::Two(u64::wrapping_mul),
        "mad" => Alu::Three(|a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        "div" => two(kind, "div")?,
        "rem" => two(kind, "rem")?,
        "min" => two(kind, "min")?,
        "max" => two(kind, "max")?,
        "shl" => two(&kind.replace('b', "u"), "shl")?,
        "shr" => two(&kind.replace('b', "u"), "shr")?,
        "sad" => sad(kind)?,
        "popc" if kind == "b64" => Alu::One(|a| u64::from(a.count_ones())),
        "popc" => Alu::One(|a| u64::from(u32::from_bits(a).count_ones())),
        "clz" if kind == "b64" => Alu::One(|a| u64::from(a.leading_zeros())),
        "clz" => Alu::One(|a| u64::from(u32::from_bits(a).leading_zeros())),
        "brev" if kind == "b64" => Alu::One(u64::reverse_bits),
        "brev" => Alu::One(|a| u32::from_bits(a).reverse_bits().bits()),
        "bfind" => super::bits::find_first(kind, has("shiftamt"))?,
        "bfe" => super::bits::extract(kind)?,
        "bfi" if kind == "b64" => Alu::Four(|a, b, c, d| super::bits::insert(a, b, c, d, 64)),
        "bfi" => Alu::Four(|a, b, c, d| super::bits::insert(a, b, c, d, 32)),
        "bmsk" if has("clamp") => Alu::Two(|a, b| super::bits::mask(a & 0xffff_ffff, b)),
        "bmsk" => Alu::Two(|a, b| super::bits::mask(a & 31, b & 31)),
        "szext" | "shf" | "prmt" | "lop3" | "dp4a" | "dp2a" | "fns" => {
            super::bits::find(name, modifiers, kind)?
        }
        _ => return None,
    })
}

struct One {
    call: fn(&str) -> Option<Alu>,
}

fn each(kind: &str, one: One) -> Option<Alu> {
    (one.call)(kind)
}

fn cnot(kind: &str) -> Option<Alu> {
    Some(match kind {
        "b16" => Alu::One(|a| u64::from(u16::from_bits(a) == 0)),
        "b32" => Alu::One(|a| u64::from(u32::from_bits(a) == 0)),
        "b64" => Alu::One(|a| u64::from(a == 0)),
        _ => return None,
    })
}

fn abs(kind: &str) -> Option<Alu> {
    Some(match kind {
        "s16" => Alu::One(|a| i16::from_bits(a).wrapping_abs().bits()),
        "s32" => Alu::One(|a| i32::from_bits(a).wrapping_abs().bits()),
        "s64" => Alu::One(|a| i64::from_bits(a).wrapping_abs().bits()),
        _ => return None,
    })
}

fn low24(bits: u64) -> i32 {
    i32::from_bits(bits << 8) >> 8
}

fn wide(kind: &str, add: bool) -> Option<Alu> {
    macro_rules! of {
        ($small:ty, $large:ty) => {{
            let product: fn(u64, u64) -> u64 = |a, b| {
                (<$large>::from(<$small>::from_bits(a)) * <$large>::from(<$small>::from_bits(b)))
                    .bits()
            };
            let sum: fn(u64, u64, u64) -> u64 = |a, b, c| {
                let product =
                    <$large>::from(<$small>::from_bits(a)) * <$large>::from(<$small>::from_bits(b));
                product.wrapping_add(<$large>::from_bits(c)).bits()
            };
            if add {
                Alu::Three(sum)
            } else {
                Alu::Two(product)
            }
        }};
    }
    Some(match kind {
        "u16" => of!(u16, u32),
        "s16" => of!(i16, i32),
        "u32" => of!(u32, u64),
        "s32" => of!(i32, i64),
        _ => return None,
    })
}

fn upper<T: Word>(a: u64, b: u64) -> u64 {
    let product = T::from_bits(a)
        .whole()
        .wrapping_mul(T::from_bits(b).whole());

    (product >> T::WIDTH) as u64
}

fn high(kind: &str) -> Option<Alu> {
    Some(match kind {
        "u16" => Alu::Two(upper::<u16>),
        "s16" => Alu::Two(upper::<i16>),
        "u32" => Alu::Two(upper::<u32>),
        "s32" => Alu::Two(upper::<i32>),
        // A product of two of these does not fit into the signed 128 bits of the others.
        "u64" => Alu::Two(|a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64),
        "s64" => Alu::Two(upper::<i64>),
        _ => return None,
    })
}

fn high_add(kind: &str) -> Option<Alu> {
    Some(match kind {
        "u16" => Alu::Three(|a, b, c| upper::<u16>(a, b).wrapping_add(c)),
        "s16" => Alu::Three(|a, b, c| upper::<i16>(a, b).wrapping_add(c)),
        "u32" => Alu::Three(|a, b, c| upper::<u32>(a, b).wrapping_add(c)),
        "s32" => Alu::Three(|a, b, c| upper::<i32>(a, b).wrapping_add(c)),
        "u64" => Alu::Three(|a, b, c| {
            let upper = ((u128::from(a) * u128::from(b)) >> 64) as u64;
            upper.wrapping_add(c)
        }),
        "s64" => Alu::Three(|a, b, c| upper::<i64>(a, b).wrapping_add(c)),
        _ => return None,
    })
}

fn sad(kind: &str) -> Option<Alu> {
    macro_rules! of {
        ($t:ty) => {
            Alu::Three(|a, b, c| {
                let distance = <$t>::from_bits(a).abs_diff(<$t>::from_bits(b));
                u64::from(distance).wrapping_add(c)
            })
        };
    }
    Some(match kind {
        "u16" => of!(u16),
        "s16" => of!(i16),
        "u32" => of!(u32),
        "s32" => of!(i32),
        "u64" => of!(u64),
        "s64" => of!(i64),
        _ => return None,
    })
}

/// The functions of two operands that differ by type.
fn two(kind: &str, name: &str) -> Option<Alu> {
    macro_rules! of {
        ($t:ty) => {
            match name {
                // What the hardware does where the language leaves it open.
                "div" => Alu::Two(|a, b| match <$t>::from_bits(b) {
                    0 => u64::MAX,
                    b => <$t>::from_bits(a).wrapping_div(b).bits(),
                }),
                "rem" => Alu::Two(|a, b| match <$t>::from_bits(b) {
                    0 => a,
                    b => <$t>::from_bits(a).wrapping_rem(b).bits(),
                }),
                "min" => Alu::Two(|a, b| <$t>::from_bits(a).min(<$t>::from_bits(b)).bits()),
                "max" => Alu::Two(|a, b| <$t>::from_bits(a).max(<$t>::from_bits(b)).bits()),
                "shl" => Alu::Two(|a, b| match u32::from_bits(b) {
                    by if by >= <$t>::BITS => 0,
                    by => (<$t>::from_bits(a) << by).bits(),
                }),
                // A shift by more than there is leaves the sign, or nothing.
                "shr" => Alu::Two(|a, b| {
                    let half = u32::from_bits(b).min(<$t>::BITS);
                    let (first, second) = (half / 2, half - half / 2);
                    (<$t>::from_bits(a) >> first >> second).bits()
                }),
                _ => return None,
            }
        };
    }
    Some(match kind {
        "u16" => of!(u16),
        "s16" => of!(i16),
        "u32" => of!(u32),
        "s32" => of!(i32),
        "u64" => of!(u64),
        "s64" => of!(i64),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [u64; 12] = [
        0,
        1,
        2,
        7,
        0x7f,
        0x8000,
        0xffff,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_fff9,
        0x8000_0000_0000_0000,
        u64::MAX,
    ];

    fn run(words: &str, operands: &[u64]) -> u64 {
        super::super::tests::run(words, operands)
    }

    #[test]
    fn arithmetic_of_32_bits_is_that_of_rust() {
        for a in VALUES {
            for b in VALUES {
                let (x, y) = (u32::from_bits(a), u32::from_bits(b));
                let (p, q) = (i32::from_bits(a), i32::from_bits(b));
                let low = |bits| u32::from_bits(bits);
                assert_eq!(low(run("add.s32", &[a, b])), x.wrapping_add(y));
                assert_eq!(low(run("sub.u32", &[a, b])), x.wrapping_sub(y));
                assert_eq!(low(run("mul.lo.s32", &[a, b])), x.wrapping_mul(y));
                assert_eq!(low(run("min.s32", &[a, b])), p.min(q).cast_unsigned());
                assert_eq!(low(run("max.u32", &[a, b])), x.max(y));
                assert_eq!(run("mul.wide.u32", &[a, b]), u64::from(x) * u64::from(y));
                let wide = (i64::from(p) * i64::from(q)).cast_unsigned();
                assert_eq!(run("mul.wide.s32", &[a, b]), wide);
                assert_eq!(low(run("mul.hi.s32", &[a, b])), low(wide >> 32));
                assert_eq!(
                    low(run("add.sat.s32", &[a, b])),
                    p.saturating_add(q).cast_unsigned()
                );
                if !matches!(y, 0) {
                    assert_eq!(low(run("div.u32", &[a, b])), x / y);
                    assert_eq!(low(run("rem.u32", &[a, b])), x % y);
                    assert_eq!(
                        low(run("div.s32", &[a, b])),
                        p.wrapping_div(q).cast_unsigned()
                    );
                    assert_eq!(
                        low(run("rem.s32", &[a, b])),
                        p.wrapping_rem(q).cast_unsigned()
                    );
                }
                let shifted = x.checked_shl(y).unwrap_or(0);
                assert_eq!(low(run("shl.b32", &[a, b])), shifted);
                let sign = p.checked_shr(y).unwrap_or(p >> 31);
                assert_eq!(low(run("shr.s32", &[a, b])), sign.cast_unsigned());
                assert_eq!(low(run("shr.u32", &[a, b])), x.checked_shr(y).unwrap_or(0));
                assert_eq!(
                    low(run("sad.s32", &[a, b, 5])),
                    p.abs_diff(q).wrapping_add(5)
                );
            }
        }
    }

    #[test]
    fn integer_arithmetic_of_64_bits_matches_rust() {
        for a in VALUES {
            for b in VALUES {
                let (p, q) = (a.cast_signed(), b.cast_signed());
                let high = ((i128::from(p) * i128::from(q)) >> 64) as u64;
                assert_eq!(run("mul.hi.s64", &[a, b]), high);
                let high = ((u128::from(a) * u128::from(b)) >> 64) as u64;
                assert_eq!(run("mul.hi.u64", &[a, b]), high);
                assert_eq!(run("min.s64", &[a, b]), p.min(q).cast_unsigned());
                if b != 0 {
                    assert_eq!(run("rem.s64", &[a, b]), p.wrapping_rem(q).cast_unsigned());
                }
                let (p, q) = (i16::from_bits(a), i16::from_bits(b));
                let sum = u16::from_bits(run("add.s16", &[a, b]));
                assert_eq!(sum, p.wrapping_add(q).cast_unsigned());
                let product = u32::from_bits(run("mul.wide.s16", &[a, b]));
                assert_eq!(product, (i32::from(p) * i32::from(q)).cast_unsigned());
                let shifted = u16::from_bits(run("shr.s16", &[a, 3]));
                assert_eq!(shifted, (p >> 3).cast_unsigned());
            }
        }
    }

    #[test]
    fn what_counts_bits_counts_those_of_its_type() {
        for a in VALUES {
            let x = u32::from_bits(a);
            assert_eq!(run("popc.b32", &[a]), u64::from(x.count_ones()));
            assert_eq!(run("popc.b64", &[a]), u64::from(a.count_ones()));
            assert_eq!(run("clz.b32", &[a]), u64::from(x.leading_zeros()));
            assert_eq!(run("brev.b32", &[a]), u64::from(x.reverse_bits()));
            assert_eq!(u32::from_bits(run("not.b32", &[a])), !x);
            assert_eq!(run("not.pred", &[a & 1]), 1 - (a & 1));
        }
    }
}
