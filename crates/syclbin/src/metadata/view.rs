// SPDX-License-Identifier: MIT OR Apache-2.0
//! Macros that declare views: structs whose fields are the values of property keys.

use alloc::vec::Vec;

use super::value::{Malformed, Property};
use crate::Aspect;
use crate::property::PropertySets;

/// A view field that is stored under a key.
pub(super) trait Field: Sized {
    fn read(sets: &PropertySets<'_>, set: &str, key: &str) -> Result<Self, Malformed>;
    fn write(&self, sets: &mut PropertySets<'_>, set: &'static str, key: &'static str);
}

impl<T: Property> Field for Option<T> {
    fn read(sets: &PropertySets<'_>, set: &str, key: &str) -> Result<Self, Malformed> {
        sets.read(set, key)
    }

    fn write(&self, sets: &mut PropertySets<'_>, set: &'static str, key: &'static str) {
        match self {
            Some(property) => sets.insert(set, key, property.to_value()),
            None if sets.get(set, key).is_some() => sets.retain(set, |other| other != key),
            None => {}
        }
    }
}

/// An empty list is equivalent to a missing list, and some writers omit it. So an empty list is only written to
/// replace an existing one.
macro_rules! lists {
    ($($list:ty),*) => {$(
        impl Field for $list {
            fn read(sets: &PropertySets<'_>, set: &str, key: &str) -> Result<Self, Malformed> {
                Ok(sets.read(set, key)?.unwrap_or_default())
            }

            fn write(&self, sets: &mut PropertySets<'_>, set: &'static str, key: &'static str) {
                if *self != Self::default() || sets.get(set, key).is_some() {
                    sets.insert(set, key, self.to_value());
                }
            }
        }
    )*};
}
lists!(Vec<u32>, Vec<Aspect>, super::Records, super::SetNames);

/// Implements `read` and `write` for a view.
macro_rules! view {
    ($view:ident { $($field:ident: $set:ident, $key:ident;)* }) => {
        impl $view {
            /// Reads the view.
            ///
            /// # Errors
            ///
            /// Returns an error if a value is malformed.
            pub fn read(sets: &PropertySets<'_>) -> Result<Self, Malformed> {
                Ok(Self {
                    $($field: Field::read(sets, set::$set, key::$key)?,)*
                })
            }

            /// Writes the view. Unknown keys are preserved.
            pub fn write(&self, sets: &mut PropertySets<'_>) {
                $(self.$field.write(sets, set::$set, key::$key);)*
            }
        }
    };
}
pub(super) use view;

/// Declares an enumeration of the numeric values of a property.
macro_rules! numbers {
    (
        $(#[$about:meta])*
        pub enum $name:ident {
            $($(#[$of:meta])* $variant:ident = $number:literal,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$of])* $variant,)*
            /// An unknown number.
            Other(u32),
        }

        impl $name {
            /// Returns the number in the file.
            #[must_use]
            pub const fn number(self) -> u32 {
                match self {
                    $(Self::$variant => $number,)*
                    Self::Other(number) => number,
                }
            }

            /// Returns the variant for a number in the file.
            #[must_use]
            #[doc(hidden)]
            pub const fn from_number(number: u32) -> Self {
                match number {
                    $($number => Self::$variant,)*
                    other => Self::Other(other),
                }
            }
        }

        impl crate::metadata::Property for $name {
            const EXPECTED: &'static str = u32::EXPECTED;

            fn from_value(value: &crate::property::Value) -> Option<Self> {
                u32::from_value(value).map(Self::from_number)
            }

            fn to_value(&self) -> crate::property::Value {
                crate::property::Value::U32(self.number())
            }
        }
    };
}
pub(crate) use numbers;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::Value;
    use alloc::vec;

    #[test]
    fn empty_list_replaces_but_does_not_add() {
        let mut sets = PropertySets::default();
        Vec::<u32>::new().write(&mut sets, "s", "k");
        assert!(sets.is_empty());
        vec![1u32].write(&mut sets, "s", "k");
        Vec::<u32>::new().write(&mut sets, "s", "k");
        assert_eq!(sets.get("s", "k"), Some(&Value::from(Vec::new())));
    }
}
