// SPDX-License-Identifier: MIT OR Apache-2.0
//! Floating-point arithmetic. What is rounded to the nearest is exactly that; what is approximate
//! on a device is as near here as the processor's own functions.

use half::{bf16, f16};

use super::rounding::{Round, double, single};
use super::{Alu, Word};

/// The function of an instruction, for a type such as `f32`. Flushing and saturating is left to
/// whoever asks.
pub(super) fn find(name: &str, modifiers: &[&str], kind: &str) -> Option<Alu> {
    let approximate = modifiers.contains(&"approx");
    let round = Round::of(modifiers);
    let nan = modifiers.contains(&"NaN");
    match name {
        "testp" => return test(modifiers, kind),
        "abs" | "neg" | "copysign" => return sign(name, kind),
        _ => {}
    }
    macro_rules! rounded {
        ($family:ident, $call:ident, $kind:ident, $($arg:ident),+) => {
            match round {
                Round::Nearest => Alu::$kind(|$($arg),+| $family::$call($(Word::from_bits($arg)),+, Round::Nearest).bits()),
                Round::Zero => Alu::$kind(|$($arg),+| $family::$call($(Word::from_bits($arg)),+, Round::Zero).bits()),
                Round::Down => Alu::$kind(|$($arg),+| $family::$call($(Word::from_bits($arg)),+, Round::Down).bits()),
                Round::Up => Alu::$kind(|$($arg),+| $family::$call($(Word::from_bits($arg)),+, Round::Up).bits()),
            }
        };
    }
    macro_rules! full {
        ($t:ident, $family:ident) => {
            match name {
                "add" | "sub" | "mul" if round == Round::Nearest => match name {
                    "add" => Alu::Two(|a, b| {
                        (<$t as Word>::from_bits(a) + <$t as Word>::from_bits(b)).bits()
                    }),
                    "sub" => Alu::Two(|a, b| {
                        (<$t as Word>::from_bits(a) - <$t as Word>::from_bits(b)).bits()
                    }),
                    _ => Alu::Two(|a, b| {
                        (<$t as Word>::from_bits(a) * <$t as Word>::from_bits(b)).bits()
                    }),
                },
                "fma" | "mad" if round == Round::Nearest => Alu::Three(|a, b, c| {
                    <$t as Word>::from_bits(a)
                        .mul_add(<$t as Word>::from_bits(b), <$t as Word>::from_bits(c))
                        .bits()
                }),
                "add" => rounded!($family, add, Two, a, b),
                "sub" => match round {
                    Round::Zero => Alu::Two(|a, b| {
                        $family::add(Word::from_bits(a), -<$t as Word>::from_bits(b), Round::Zero)
                            .bits()
                    }),
                    Round::Down => Alu::Two(|a, b| {
                        $family::add(Word::from_bits(a), -<$t as Word>::from_bits(b), Round::Down)
                            .bits()
                    }),
                    _ => Alu::Two(|a, b| {
                        $family::add(Word::from_bits(a), -<$t as Word>::from_bits(b), Round::Up)
                            .bits()
                    }),
                },
                "mul" => rounded!($family, mul, Two, a, b),
                "fma" | "mad" => rounded!($family, fma, Three, a, b, c),
                "div" => rounded!($family, div, Two, a, b),
                "sqrt" => rounded!($family, sqrt, One, a),
                "rcp" => match round {
                    Round::Nearest => Alu::One(|a| (1.0 / <$t as Word>::from_bits(a)).bits()),
                    Round::Zero => {
                        Alu::One(|a| $family::div(1.0, Word::from_bits(a), Round::Zero).bits())
                    }
                    Round::Down => {
                        Alu::One(|a| $family::div(1.0, Word::from_bits(a), Round::Down).bits())
                    }
                    Round::Up => {
                        Alu::One(|a| $family::div(1.0, Word::from_bits(a), Round::Up).bits())
                    }
                },
                "rsqrt" => Alu::One(|a| (1.0 / <$t as Word>::from_bits(a).sqrt()).bits()),
                "min" if nan => Alu::Two(|a, b| {
                    $t::smaller_or_nan(Word::from_bits(a), Word::from_bits(b)).bits()
                }),
                "max" if nan => Alu::Two(|a, b| {
                    $t::larger_or_nan(Word::from_bits(a), Word::from_bits(b)).bits()
                }),
                "min" => {
                    Alu::Two(|a, b| $t::smaller(Word::from_bits(a), Word::from_bits(b)).bits())
                }
                "max" => Alu::Two(|a, b| $t::larger(Word::from_bits(a), Word::from_bits(b)).bits()),
                _ => return None,
            }
        };
    }
    Some(match kind {
        "f32" if approximate || matches!(name, "sin" | "cos" | "ex2" | "lg2" | "tanh") => {
            single_only(name)?
        }
        "f32" => full!(f32, single),
        "f64" => full!(f64, double),
        "f16" | "f16x2" => half_of(name, nan, kind == "f16x2")?,
        "bf16" | "bf16x2" => brain_of(name, nan, kind == "bf16x2")?,
        _ => return None,
    })
}

/// What there is for 32 bits alone, or in an approximate form.
fn single_only(name: &str) -> Option<Alu> {
    macro_rules! of {
        (|$a:ident| $e:expr) => {
            Alu::One(|bits| {
                let $a = <f32 as Word>::from_bits(bits);
                Word::bits($e)
            })
        };
    }
    Some(match name {
        "sin" => of!(|a| a.sin()),
        "cos" => of!(|a| a.cos()),
        "ex2" => of!(|a| a.exp2()),
        "lg2" => of!(|a| a.log2()),
        "tanh" => of!(|a| a.tanh()),
        "sqrt" => of!(|a| a.sqrt()),
        "rsqrt" => of!(|a| 1.0 / a.sqrt()),
        "rcp" => of!(|a| 1.0 / a),
        "div" => {
            Alu::Two(|a, b| (<f32 as Word>::from_bits(a) / <f32 as Word>::from_bits(b)).bits())
        }
        _ => return None,
    })
}

/// The order in which `min` and `max` see numbers: a zero may have a sign, and what is no number
/// is not chosen.
trait Chosen: Sized {
    fn smaller(a: Self, b: Self) -> Self;
    fn larger(a: Self, b: Self) -> Self;
    fn smaller_or_nan(a: Self, b: Self) -> Self;
    fn larger_or_nan(a: Self, b: Self) -> Self;
}

macro_rules! chosen {
    ($($t:ident),*) => {$(
        impl Chosen for $t {
            fn smaller(a: Self, b: Self) -> Self {
                if a.is_nan() {
                    b
                } else if b.is_nan() || a < b || a == b && a.is_sign_negative() {
                    a
                } else {
                    b
                }
            }
            fn larger(a: Self, b: Self) -> Self {
                if a.is_nan() {
                    b
                } else if b.is_nan() || a > b || a == b && a.is_sign_positive() {
                    a
                } else {
                    b
                }
            }
            fn smaller_or_nan(a: Self, b: Self) -> Self {
                if a.is_nan() || b.is_nan() { $t::NAN } else { Self::smaller(a, b) }
            }
            fn larger_or_nan(a: Self, b: Self) -> Self {
                if a.is_nan() || b.is_nan() { $t::NAN } else { Self::larger(a, b) }
            }
        }
    )*};
}
chosen!(f16, bf16, f32, f64);

/// An operation on one number of 16 bits, or on two in a register.
macro_rules! lanes {
    ($t:ident, $two:expr, One, $f:expr) => {
        lanes!(@ $t, $two, One, $f, a)
    };
    ($t:ident, $two:expr, Two, $f:expr) => {
        lanes!(@ $t, $two, Two, $f, a, b)
    };
    ($t:ident, $two:expr, Three, $f:expr) => {
        lanes!(@ $t, $two, Three, $f, a, b, c)
    };
    (@ $t:ident, $two:expr, $kind:ident, $f:expr, $($a:ident),+) => {
        if $two {
            Alu::$kind(|$($a),+| {
                let low = $f($(<$t as Word>::from_bits($a)),+).bits();
                let high = $f($(<$t as Word>::from_bits($a >> 16)),+).bits();
                high << 16 | low
            })
        } else {
            Alu::$kind(|$($a),+| $f($(<$t as Word>::from_bits($a)),+).bits())
        }
    };
}

// Numbers of 16 bits are computed in larger ones. One operation is then rounded as if it were done
// in 16 bits, because the larger ones have more than twice as many digits.
macro_rules! small {
    ($of:ident, $t:ident) => {
        fn $of(name: &str, nan: bool, two: bool) -> Option<Alu> {
            Some(match name {
                "add" => lanes!($t, two, Two, |a: $t, b: $t| $t::from_f32(
                    a.to_f32() + b.to_f32()
                )),
                "sub" => lanes!($t, two, Two, |a: $t, b: $t| $t::from_f32(
                    a.to_f32() - b.to_f32()
                )),
                "mul" => lanes!($t, two, Two, |a: $t, b: $t| $t::from_f32(
                    a.to_f32() * b.to_f32()
                )),
                "fma" => lanes!($t, two, Three, |a: $t, b: $t, c: $t| {
                    $t::from_f64(a.to_f64().mul_add(b.to_f64(), c.to_f64()))
                }),
                "ex2" => lanes!($t, two, One, |a: $t| $t::from_f32(a.to_f32().exp2())),
                "tanh" => lanes!($t, two, One, |a: $t| $t::from_f32(a.to_f32().tanh())),
                "min" if nan => lanes!($t, two, Two, $t::smaller_or_nan),
                "max" if nan => lanes!($t, two, Two, $t::larger_or_nan),
                "min" => lanes!($t, two, Two, $t::smaller),
                "max" => lanes!($t, two, Two, $t::larger),
                _ => return None,
            })
        }
    };
}
small!(half_of, f16);
small!(brain_of, bf16);

/// What only looks at the sign, and so is the same for all.
fn sign(name: &str, kind: &str) -> Option<Alu> {
    macro_rules! of {
        ($mask:expr) => {
            match name {
                "abs" => Alu::One(|a| a & !$mask),
                "neg" => Alu::One(|a| a ^ $mask),
                _ => Alu::Two(|a, b| b & !$mask | a & $mask),
            }
        };
    }
    Some(match kind {
        "f16" | "bf16" => of!(0x8000u64),
        "f16x2" | "bf16x2" => of!(0x8000_8000u64),
        "f32" => of!(0x8000_0000u64),
        "f64" => of!(1u64 << 63),
        _ => return None,
    })
}

fn test(modifiers: &[&str], kind: &str) -> Option<Alu> {
    macro_rules! of {
        ($t:ident) => {
            match *modifiers.first()? {
                "finite" => Alu::One(|a| u64::from(<$t as Word>::from_bits(a).is_finite())),
                "infinite" => Alu::One(|a| u64::from(<$t as Word>::from_bits(a).is_infinite())),
                "number" => Alu::One(|a| u64::from(!<$t as Word>::from_bits(a).is_nan())),
                "notanumber" => Alu::One(|a| u64::from(<$t as Word>::from_bits(a).is_nan())),
                "normal" => Alu::One(|a| u64::from(<$t as Word>::from_bits(a).is_normal())),
                "subnormal" => Alu::One(|a| u64::from(<$t as Word>::from_bits(a).is_subnormal())),
                _ => return None,
            }
        };
    }
    Some(match kind {
        "f32" => of!(f32),
        "f64" => of!(f64),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::tests::run;

    const VALUES: [f64; 12] = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        0.1,
        3.25e7,
        -2e-30,
        1e38,
        65504.0,
        f64::INFINITY,
        f64::NAN,
        1e-45,
    ];

    #[test]
    fn nearest_rounding_matches_the_processor() {
        for x in VALUES {
            for y in VALUES {
                let same = |words: &str, expected: f64| {
                    let found = f64::from_bits(run(words, &[x.to_bits(), y.to_bits()]));
                    assert!(
                        found == expected || found.is_nan() && expected.is_nan(),
                        "{words} {x} {y}"
                    );
                };
                same("add.rn.f64", x + y);
                same("sub.rn.f64", x - y);
                same("mul.rn.f64", x * y);
                same("div.rn.f64", x / y);
                let (a, b) = (x as f32, y as f32);
                let same = |words: &str, expected: f32| {
                    let found = <f32 as Word>::from_bits(run(words, &[a.bits(), b.bits()]));
                    assert!(
                        found == expected || found.is_nan() && expected.is_nan(),
                        "{words} {a} {b}"
                    );
                };
                same("add.rn.f32", a + b);
                same("sub.f32", a - b);
                same("mul.rn.f32", a * b);
                same("div.rn.f32", a / b);
                same("div.full.f32", a / b);
                same("min.f32", a.min(b));
                same("max.f32", a.max(b));
                let fused = run("fma.rn.f32", &[a.bits(), b.bits(), 0.3f32.bits()]);
                let expected = a.mul_add(b, 0.3);
                let fused = <f32 as Word>::from_bits(fused);
                assert!(
                    fused == expected || fused.is_nan() && expected.is_nan(),
                    "{a} {b}"
                );
            }
            let root = <f32 as Word>::from_bits(run("sqrt.rn.f32", &[(x as f32).bits()]));
            assert!(root == (x as f32).sqrt() || root.is_nan());
        }
    }

    #[test]
    fn numbers_of_16_bits_are_rounded_once() {
        let (a, b) = (f16::from_f32(0.1), f16::from_f32(1.7));
        let sum = <f16 as Word>::from_bits(run("add.rn.f16", &[a.bits(), b.bits()]));
        assert_eq!(sum, f16::from_f64(a.to_f64() + b.to_f64()));
        let two = run(
            "mul.rn.f16x2",
            &[a.bits() | b.bits() << 16, b.bits() | a.bits() << 16],
        );
        let product = f16::from_f64(a.to_f64() * b.to_f64());
        assert_eq!(two, product.bits() | product.bits() << 16);
        let (a, b) = (bf16::from_f32(0.1), bf16::from_f32(1.7));
        let fused = <bf16 as Word>::from_bits(run("fma.rn.bf16", &[a.bits(), b.bits(), a.bits()]));
        assert_eq!(
            fused,
            bf16::from_f64(a.to_f64().mul_add(b.to_f64(), a.to_f64()))
        );
    }

    #[test]
    fn min_and_max_order_zeros_and_ignore_nan() {
        let (zero, minus, nan) = (0f32.bits(), (-0f32).bits(), f32::NAN.bits());
        assert_eq!(run("min.f32", &[zero, minus]), minus);
        assert_eq!(run("max.f32", &[minus, zero]), zero);
        assert_eq!(run("min.f32", &[nan, zero]), zero);
        assert!(<f32 as Word>::from_bits(run("min.NaN.f32", &[nan, zero])).is_nan());
        assert_eq!(run("neg.f32", &[zero]), minus);
        assert_eq!(run("abs.f64", &[(-2f64).bits()]), 2f64.bits());
        assert_eq!(run("copysign.f32", &[minus, 3f32.bits()]), (-3f32).bits());
        assert_eq!(run("testp.notanumber.f32", &[nan]), 1);
        assert_eq!(run("testp.finite.f64", &[f64::INFINITY.bits()]), 0);
    }

    #[test]
    fn approximate_functions_are_near() {
        let near = |words: &str, a: f32, expected: f32| {
            let found = <f32 as Word>::from_bits(run(words, &[a.bits()]));
            assert!(
                (found - expected).abs() <= expected.abs() * 1e-6,
                "{words} {found}"
            );
        };
        near("ex2.approx.f32", 3.0, 8.0);
        near("lg2.approx.ftz.f32", 8.0, 3.0);
        near("rcp.approx.f32", 4.0, 0.25);
        near("rsqrt.approx.f32", 4.0, 0.5);
        near("sqrt.approx.f32", 9.0, 3.0);
        near("sin.approx.f32", 0.5, 0.5f32.sin());
        near("cos.approx.f32", 0.5, 0.5f32.cos());
        near("tanh.approx.f32", 0.5, 0.5f32.tanh());
    }
}
