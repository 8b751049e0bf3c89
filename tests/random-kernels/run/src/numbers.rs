// SPDX-License-Identifier: MIT OR Apache-2.0
//! What random expressions need besides the operators of Rust, and the comparison of results.

use syclbin_rt::bytemuck::{self, Pod};

use crate::{Outcome, Values};

impl Values {
    /// Returns a random integer; a third of them are small.
    pub fn integer<T: Pod>(&mut self) -> T {
        let mut value: T = self.value();
        if self.value::<u8>().is_multiple_of(3) {
            bytemuck::bytes_of_mut(&mut value)[1..].fill(0);
        }
        value
    }

    /// Returns a number with few digits: any type holds it without rounding.
    pub fn float<T: Tame>(&mut self) -> T {
        T::of(f32::from(self.value::<i16>()) / 64.0)
    }
}

/// Floating-point numbers.
pub trait Tame: Sized {
    /// Another type for a number.
    fn of(value: f32) -> Self;

    /// The number, or one that is neither infinite nor subnormal.
    #[must_use]
    fn tame(self) -> Self;
}

/// Integers.
pub trait Divide: Sized {
    /// The quotient; `self` where that is not defined.
    #[must_use]
    fn quotient_of(self, by: Self) -> Self;

    /// The remainder; `self` where that is not defined.
    #[must_use]
    fn remainder_of(self, by: Self) -> Self;
}

/// The bits of a result.
pub trait Bits: Copy {
    /// As many as it has, and zeros above.
    fn bits(self) -> u64;
}

macro_rules! integers {
    ($($signed:ident $unsigned:ident),*) => {$(
        integers!(@ $signed $unsigned);
        integers!(@ $unsigned $unsigned);
    )*};
    (@ $ty:ident $unsigned:ident) => {
        impl Divide for $ty {
            fn quotient_of(self, by: Self) -> Self {
                if by == 0 { self } else { self.wrapping_div(by) }
            }
            fn remainder_of(self, by: Self) -> Self {
                if by == 0 { self } else { self.wrapping_rem(by) }
            }
        }
        impl Bits for $ty {
            #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast, reason = "bits")]
            fn bits(self) -> u64 {
                u64::from(self as $unsigned)
            }
        }
    };
}
integers!(i8 u8, i16 u16, i32 u32, i64 u64);

macro_rules! floats {
    ($($ty:ident),*) => {$(
        impl Tame for $ty {
            fn of(value: f32) -> Self {
                Self::from(value)
            }
            fn tame(self) -> Self {
                match self.abs() {
                    size if size < 1e-15 => 0.0,
                    size if size < 1e15 => self,
                    _ => 1.0,
                }
            }
        }
        impl Bits for $ty {
            fn bits(self) -> u64 {
                self.to_bits().into()
            }
        }
    )*};
}
floats!(f32, f64);

/// A variable of all work-items.
pub trait Variable {
    /// What one work-item has.
    fn bits_of(&self, item: usize) -> u64;
}

impl<T: Bits> Variable for Vec<T> {
    fn bits_of(&self, item: usize) -> u64 {
        self[item].bits()
    }
}

/// Compares what a device computed, the variables of one work-item after those of another, with what Rust
/// did.
///
/// # Errors
///
/// The first variable that differs: those behind it may follow from it.
pub fn agree(computed: &[u64], variables: &[&dyn Variable]) -> Outcome {
    for (at, variable) in variables.iter().enumerate() {
        for (item, results) in computed.chunks(variables.len()).enumerate() {
            let (is, must) = (results[at], variable.bits_of(item));
            if is != must {
                let text = format!("v{at} of work-item {item} is {is:#x}, must be {must:#x}");
                return Err(text.into());
            }
        }
    }
    Ok(())
}
