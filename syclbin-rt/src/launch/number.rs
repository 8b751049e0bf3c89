// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers in contracts: 128-bit integers. A condition fails if its arithmetic overflows, or if it compares a length
//! with a negative number.

use std::cell::Cell;
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

/// Why the current condition cannot be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Overflow,
    /// The condition compares a length with a negative number, which a kernel would convert to a very large `size_t`.
    NegativeLength,
    /// The condition uses the work-group size, but the driver chooses it.
    NoLocalSize,
    /// The sign of an integer matters, but the file does not record whether the integer is signed.
    UnknownSign,
}

impl Fault {
    /// Records the fault, unless an earlier one may be its cause.
    pub(crate) fn record(self, first: &Cell<Option<Self>>) {
        first.set(first.get().or(Some(self)));
    }
}

/// The value of a numeric expression in a contract.
#[derive(Clone, Copy, Debug)]
pub struct Number<'g> {
    value: i128,
    /// Whether the value was computed from a length.
    length: bool,
    fault: &'g Cell<Option<Fault>>,
}

impl<'g> Number<'g> {
    pub(crate) fn new(value: i128, length: bool, fault: &'g Cell<Option<Fault>>) -> Self {
        Self {
            value,
            length,
            fault,
        }
    }

    /// Returns the smaller of the two numbers.
    pub fn min(self, other: impl Integer) -> Self {
        let (value, length) = other.parts();
        self.with(Some(self.value.min(value)), length)
    }

    /// Returns the larger of the two numbers.
    pub fn max(self, other: impl Integer) -> Self {
        let (value, length) = other.parts();
        self.with(Some(self.value.max(value)), length)
    }

    /// Returns the quotient, rounded up.
    pub fn div_ceil(self, other: impl Integer) -> Self {
        let (divisor, length) = other.parts();
        let quotient = self.value.checked_div(divisor);
        let rest = self.value.checked_rem(divisor);
        let up = rest.is_some_and(|rest| rest != 0 && (rest < 0) == (divisor < 0));
        let rounded = quotient.and_then(|quotient| quotient.checked_add(i128::from(up)));
        self.with(rounded, length)
    }

    /// Returns the smallest multiple of `other` that is greater than or equal to the number.
    pub fn next_multiple_of(self, other: impl Integer) -> Self {
        self.div_ceil(other) * other
    }

    /// Creates the result of an operation on this number; `None` records an overflow.
    fn with(self, value: Option<i128>, length: bool) -> Self {
        if value.is_none() {
            Fault::Overflow.record(self.fault);
        }
        Self {
            value: value.unwrap_or_default(),
            length: self.length || length,
            ..self
        }
    }

    fn compare(self, other: impl Integer) -> Ordering {
        let (value, length) = other.parts();
        if length && self.value < 0 || self.length && value < 0 {
            Fault::NegativeLength.record(self.fault);
        }
        self.value.cmp(&value)
    }
}

/// A Rust integer, or a [`Number`].
pub trait Integer: Copy {
    /// Returns the value, and whether it was computed from a length.
    #[doc(hidden)]
    fn parts(self) -> (i128, bool);
}

impl Integer for Number<'_> {
    fn parts(self) -> (i128, bool) {
        (self.value, self.length)
    }
}

impl<T: Integer> PartialEq<T> for Number<'_> {
    fn eq(&self, other: &T) -> bool {
        self.compare(*other).is_eq()
    }
}

impl<T: Integer> PartialOrd<T> for Number<'_> {
    fn partial_cmp(&self, other: &T) -> Option<Ordering> {
        Some(self.compare(*other))
    }
}

impl Neg for Number<'_> {
    type Output = Self;

    fn neg(self) -> Self {
        self.with(self.value.checked_neg(), false)
    }
}

impl fmt::Display for Number<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// Implements a binary operator whose left or right operand is a [`Number`].
macro_rules! operator {
    ($operator:ident $function:ident $checked:ident: $($ty:ty)*) => {
        impl<T: Integer> $operator<T> for Number<'_> {
            type Output = Self;

            fn $function(self, other: T) -> Self {
                let (value, length) = other.parts();
                self.with(self.value.$checked(value), length)
            }
        }

        $(impl<'g> $operator<Number<'g>> for $ty {
            type Output = Number<'g>;

            fn $function(self, other: Number<'g>) -> Number<'g> {
                Number::new(self as i128, false, other.fault).$function(other)
            }
        })*
    };
}

macro_rules! integers {
    ($($ty:ty)*) => {
        $(
            impl Integer for $ty {
                fn parts(self) -> (i128, bool) {
                    (self as i128, false)
                }
            }

            impl PartialEq<Number<'_>> for $ty {
                fn eq(&self, other: &Number<'_>) -> bool {
                    other.compare(*self).is_eq()
                }
            }

            impl PartialOrd<Number<'_>> for $ty {
                fn partial_cmp(&self, other: &Number<'_>) -> Option<Ordering> {
                    Some(other.compare(*self).reverse())
                }
            }
        )*

        operator! { Add add checked_add: $($ty)* }
        operator! { Sub sub checked_sub: $($ty)* }
        operator! { Mul mul checked_mul: $($ty)* }
        operator! { Div div checked_div: $($ty)* }
        operator! { Rem rem checked_rem: $($ty)* }
    };
}

integers! { i8 u8 i16 u16 i32 u32 i64 u64 isize usize i128 }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_that_of_integers() {
        let fault = Cell::default();
        let number = |value| Number::new(value, false, &fault);
        assert!((number(7) - 2 * number(3)) / 1u8 == 1usize);
        assert!(number(-7) % 3 == -1 && -number(7) == -7i64 && 3u32 < number(4));
        assert!(number(7).min(3) == 3 && number(7).max(number(9)) == 9);
        for (value, divisor, up) in [(7, 4, 2), (8, 4, 2), (-7, 4, -1), (7, -4, -1), (-7, -4, 2)] {
            assert!(number(value).div_ceil(divisor) == up, "{value} / {divisor}");
        }
        assert!(number(65).next_multiple_of(64) == 128);
        assert_eq!(fault.get(), None);
    }

    #[test]
    fn overflow_is_a_fault() {
        let overflows: [fn(Number<'_>) -> Number<'_>; 9] = [
            |most| most + 1,
            |most| -2 - most,
            |most| most * 2,
            |most| most / 0,
            |most| most % 0,
            |most| (-most - 1) / -1,
            |most| -(-most - 1),
            |most| most.div_ceil(0),
            |most| most.next_multiple_of(64),
        ];
        for (case, overflow) in overflows.iter().enumerate() {
            let fault = Cell::default();
            let _ = overflow(Number::new(i128::MAX, false, &fault));
            assert_eq!(fault.get(), Some(Fault::Overflow), "{case}");
        }
    }

    #[test]
    fn negative_number_beside_length_is_a_fault() {
        let compared = |n: i128, length: fn(Number<'_>) -> Number<'_>| {
            let fault = Cell::default();
            let (len, n) = (Number::new(9, true, &fault), Number::new(n, false, &fault));
            let _ = length(len) >= n;
            let found = fault.take();
            let _ = n < length(len);
            assert_eq!(fault.get(), found);
            found
        };
        assert_eq!(compared(-1, |len| len), Some(Fault::NegativeLength));
        assert_eq!(
            compared(-1, |len| 2 * (len + 1) / 2),
            Some(Fault::NegativeLength)
        );
        assert_eq!(compared(0, |len| len), None);
        let fault = Cell::default();
        assert!(Number::new(-1, false, &fault) < 3 && fault.get().is_none());
    }
}
