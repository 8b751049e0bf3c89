// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arithmetic of 32 and 64 bits rounded towards zero, down and up. To the nearest is what the
//! processor does by itself.
//!
//! The exact error of a rounded result is a number of the same type, unless it underflows; where it
//! does, a result that is tiny itself may be one unit off.

/// Which way a result goes that is between two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Round {
    Nearest,
    Zero,
    Down,
    Up,
}

impl Round {
    /// The mode of an instruction, `rn` if none is said.
    pub(super) fn of(modifiers: &[&str]) -> Self {
        let found = modifiers.iter().find_map(|modifier| match *modifier {
            "rn" => Some(Self::Nearest),
            "rz" => Some(Self::Zero),
            "rm" => Some(Self::Down),
            "rp" => Some(Self::Up),
            _ => None,
        });
        found.unwrap_or(Self::Nearest)
    }
}

/// How far below or above of a rounded result the exact one is: its sign counts.
macro_rules! directed {
    ($name:ident, $t:ident) => {
        pub(super) mod $name {
            use super::Round;

            /// The neighbour of `rounded` on the side of the exact result, where the mode wants it.
            pub(crate) fn adjust(rounded: $t, error: $t, round: Round) -> $t {
                if error == 0.0 || error.is_nan() || rounded.is_nan() {
                    return rounded;
                }
                let up = match round {
                    Round::Nearest => return rounded,
                    Round::Down => false,
                    Round::Up => true,
                    Round::Zero => rounded < 0.0 || rounded == 0.0 && error < 0.0,
                };
                match (up, error > 0.0) {
                    (true, true) => rounded.next_up(),
                    (false, false) => rounded.next_down(),
                    _ => rounded,
                }
            }

            /// Beyond the largest number is infinity only where the mode goes there.
            fn bounded(rounded: $t, exact_is_finite: bool, round: Round) -> Option<$t> {
                if rounded.is_finite() || rounded.is_nan() || !exact_is_finite {
                    return None;
                }
                let positive = rounded > 0.0;
                Some(match round {
                    Round::Nearest => rounded,
                    Round::Up if positive => rounded,
                    Round::Down if !positive => rounded,
                    _ if positive => $t::MAX,
                    _ => $t::MIN,
                })
            }

            pub(crate) fn add(a: $t, b: $t, round: Round) -> $t {
                let sum = a + b;
                if let Some(bound) = bounded(sum, a.is_finite() && b.is_finite(), round) {
                    return bound;
                }
                if sum == 0.0
                    && round == Round::Down
                    && (a != 0.0 || a.is_sign_negative() != b.is_sign_negative())
                {
                    return -0.0;
                }
                let back = sum - a;
                let error = (a - (sum - back)) + (b - back);
                adjust(sum, error, round)
            }

            pub(crate) fn mul(a: $t, b: $t, round: Round) -> $t {
                let product = a * b;
                if let Some(bound) = bounded(product, a.is_finite() && b.is_finite(), round) {
                    return bound;
                }
                adjust(product, a.mul_add(b, -product), round)
            }

            pub(crate) fn fma(a: $t, b: $t, c: $t, round: Round) -> $t {
                let result = a.mul_add(b, c);
                let finite = a.is_finite() && b.is_finite() && c.is_finite();
                if let Some(bound) = bounded(result, finite, round) {
                    return bound;
                }
                let product = a * b;
                let low = a.mul_add(b, -product);
                let sum = product + c;
                let back = sum - product;
                let lost = (product - (sum - back)) + (c - back);
                adjust(result, (sum - result) + (lost + low), round)
            }

            pub(crate) fn div(a: $t, b: $t, round: Round) -> $t {
                let quotient = a / b;
                if let Some(bound) = bounded(quotient, a.is_finite() && b != 0.0, round) {
                    return bound;
                }
                let rest = (-quotient).mul_add(b, a);
                adjust(quotient, if b < 0.0 { -rest } else { rest }, round)
            }

            pub(crate) fn sqrt(a: $t, round: Round) -> $t {
                let root = a.sqrt();
                adjust(root, (-root).mul_add(root, a), round)
            }
        }
    };
}
directed!(single, f32);
directed!(double, f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directed_rounding_encloses_the_exact_result() {
        let values = [
            0.1f32,
            3.0,
            -7.25,
            1e-20,
            1e20,
            1.000_000_1,
            -0.3,
            16_777_217.0,
        ];
        for a in values {
            for b in values {
                let exact = f64::from(a) * f64::from(b);
                let down = single::mul(a, b, Round::Down);
                let up = single::mul(a, b, Round::Up);
                if exact.abs() < f64::from(f32::MIN_POSITIVE) || up.is_infinite() {
                    continue;
                }
                assert!(
                    f64::from(down) <= exact && exact <= f64::from(up),
                    "{a} * {b}"
                );
                assert!(down == up || down.next_up() == up, "{a} * {b}");
                let zero = single::mul(a, b, Round::Zero);
                assert_eq!(zero, if exact < 0.0 { up } else { down });
                let sum = f64::from(a) + f64::from(b);
                let down = single::add(a, b, Round::Down);
                let up = single::add(a, b, Round::Up);
                if (f64::from(a) - (sum - f64::from(b))) == 0.0 {
                    assert!(f64::from(down) <= sum && sum <= f64::from(up), "{a} + {b}");
                }
                let quotient = (single::div(a, b, Round::Down), single::div(a, b, Round::Up));
                assert!(quotient.0 <= a / b && a / b <= quotient.1, "{a} / {b}");
            }
        }
        assert_eq!(single::mul(f32::MAX, 2.0, Round::Zero), f32::MAX);
        assert_eq!(single::mul(f32::MAX, 2.0, Round::Nearest), f32::INFINITY);
        assert!(single::sqrt(2.0, Round::Down) < single::sqrt(2.0, Round::Up));
        assert_eq!(single::sqrt(4.0, Round::Up), 2.0);
        assert!(double::fma(0.1, 0.1, 0.1, Round::Down) < double::fma(0.1, 0.1, 0.1, Round::Up));
    }
}
