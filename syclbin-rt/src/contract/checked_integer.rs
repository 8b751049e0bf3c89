// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of contracts: integers that record an overflow.

use std::ops::{Add, Div, Mul, Rem, Sub};

/// A side of a condition: an integer, or `None` after an overflow or a division by zero. `None` stays `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number(pub(crate) Option<i128>);

impl From<Option<i128>> for Number {
    fn from(value: Option<i128>) -> Self {
        Self(value)
    }
}

macro_rules! from_integers {
    ($($ty:ty)*) => {
        $(impl From<$ty> for Number {
            fn from(value: $ty) -> Self {
                Self(Some(i128::from(value)))
            }
        })*
    };
}

from_integers! { i8 u8 i16 u16 i32 u32 i64 u64 i128 }

macro_rules! operators {
    ($($operator:ident $function:ident $checked:ident)*) => {
        $(impl $operator for Number {
            type Output = Self;

            fn $function(self, other: Self) -> Self {
                let sides = self.0.zip(other.0);
                Self(sides.and_then(|(left, right)| left.$checked(right)))
            }
        })*
    };
}

operators! {
    Add add checked_add
    Sub sub checked_sub
    Mul mul checked_mul
    Div div checked_div
    Rem rem checked_rem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overflows_stays_none() {
        let number = |value: i128| Number::from(value);
        assert_eq!((number(7) - number(2) * number(3)) / number(1), number(1));
        assert_eq!(number(-7) % number(3), number(-1));
        let overflow = number(i128::MAX) + number(1);
        assert_eq!(overflow, Number(None));
        assert_eq!(overflow - number(i128::MAX), Number(None));
        assert_eq!(number(1) / number(0), Number(None));
        assert_eq!(number(1) % number(0), Number(None));
    }
}
