// SPDX-License-Identifier: MIT OR Apache-2.0
//! The value of a property.

use alloc::string::String;
use alloc::vec::Vec;

/// The value of a property. It owns its bytes: the text form has them in base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Type 1: a number.
    U32(u32),
    /// Type 2: bits. `data` has `bits / 8` bytes, rounded up.
    Bytes {
        /// How many bits count; a multiple of 8 for everything but argument masks.
        bits: u64,
        /// The bytes that hold them.
        data: Vec<u8>,
    },
    /// A type this crate does not know, kept as it is.
    Other {
        /// The number of the type.
        ty: u32,
        /// The value as the file spells it.
        text: String,
    },
}

impl Value {
    /// Returns the number, if the value is one.
    #[must_use]
    pub const fn as_u32(&self) -> Option<u32> {
        match self {
            Self::U32(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the bytes, if the value has some.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes { data, .. } => Some(data),
            _ => None,
        }
    }

    /// Returns the bytes as text, if they are UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        core::str::from_utf8(self.as_bytes()?).ok()
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::U32(number)
    }
}

impl From<Vec<u8>> for Value {
    fn from(data: Vec<u8>) -> Self {
        let bits = data.len() as u64 * 8;
        Self::Bytes { bits, data }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::from(text.as_bytes().to_vec())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::from(text.into_bytes())
    }
}
