// SPDX-License-Identifier: MIT OR Apache-2.0
//! The types of registers: from the 64 bits of a slot and back.

use half::{bf16, f16};

/// A type that a register can hold.
pub(crate) trait Word: Copy {
    /// How many bits it has.
    const WIDTH: u32;
    /// Its value from the low bits of a slot.
    fn from_bits(bits: u64) -> Self;
    /// The slot that holds it; above its own bits is its sign.
    fn bits(self) -> u64;
    /// Its value, if it is an integer.
    fn whole(self) -> i128;
}

macro_rules! integers {
    ($($t:ident),*) => {$(
        impl Word for $t {
            const WIDTH: u32 = <$t>::BITS;
            fn from_bits(bits: u64) -> Self {
                bits as $t
            }
            fn bits(self) -> u64 {
                self as u64
            }
            fn whole(self) -> i128 {
                i128::from(self)
            }
        }
    )*};
}
integers!(u8, i8, u16, i16, u32, i32, u64, i64);

macro_rules! floats {
    ($($t:ident: $bits:ident),*) => {$(
        impl Word for $t {
            const WIDTH: u32 = $bits::BITS;
            fn from_bits(bits: u64) -> Self {
                <$t>::from_bits(<$bits as Word>::from_bits(bits))
            }
            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }
            fn whole(self) -> i128 {
                0
            }
        }
    )*};
}
floats!(f16: u16, bf16: u16, f32: u32, f64: u64);
