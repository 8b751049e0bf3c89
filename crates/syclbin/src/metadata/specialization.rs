// SPDX-License-Identifier: MIT OR Apache-2.0
//! Specialization constants: the layout of their parts, and their values.

use super::Field as _;
use super::named::Named;
use super::value::{Malformed, Property};
use crate::prelude::*;
use crate::property::{PropertySets, Value, key, set};

/// The specialization constants of a module, in file order. The order determines the position of each constant in
/// the value blobs.
///
/// ```
/// use syclbin::metadata::{SpecConstantDescriptor, SpecializationConstants};
///
/// let mut constants = SpecializationConstants::default();
/// let part = |id, offset, size| SpecConstantDescriptor { id, offset, size };
/// constants.constants.insert("radius", vec![part(0, 0, 4)]);
/// constants.constants.insert("scale", vec![part(1, 0, 8)]);
/// constants.defaults = Some([&5u32.to_le_bytes()[..], &0.5f64.to_le_bytes()].concat());
/// assert_eq!(constants.default_value("scale")?, Some(&0.5f64.to_le_bytes()[..]));
/// # Ok::<(), syclbin::metadata::Malformed>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecializationConstants {
    /// The parts of each constant (set [`SPECIALIZATION_CONSTANTS`](set::SPECIALIZATION_CONSTANTS)). The names are
    /// symbols that the compiler generates.
    pub constants: Named<Vec<SpecConstantDescriptor>>,
    /// The default values of all constants, as one blob
    /// (set [`SPECIALIZATION_DEFAULTS`](set::SPECIALIZATION_DEFAULTS)).
    pub defaults: Option<Vec<u8>>,
    /// The effective values of all constants, in the same layout. Only runtimes write them (set
    /// [`SPECIALIZATION_SET_VALUES`](set::SPECIALIZATION_SET_VALUES)).
    pub set_values: Option<Vec<u8>>,
}

/// A part of a constant: a scalar with its own `SpecId`, or padding. A composite constant consists of one part for each
/// of its scalars, or of a single part if constants are emulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpecConstantDescriptor {
    /// The `SpecId` in SPIR-V, or [`SpecConstantDescriptor::PADDING`].
    pub id: u32,
    /// The offset within the constant, in bytes.
    pub offset: u32,
    /// The size in bytes.
    pub size: u32,
}

impl SpecConstantDescriptor {
    /// The id that marks padding.
    pub const PADDING: u32 = u32::MAX;

    /// Returns whether the part is padding.
    #[must_use]
    #[doc(hidden)]
    pub const fn is_padding(self) -> bool {
        self.id == Self::PADDING
    }
}

impl Property for Vec<SpecConstantDescriptor> {
    const EXPECTED: &'static str = "parts of 12 bytes: id, offset and size";

    fn from_value(value: &Value) -> Option<Self> {
        let words = Vec::<u32>::from_value(value)?;
        let (parts, []) = words.as_chunks() else {
            return None;
        };
        let part = |&[id, offset, size]: &[u32; 3]| SpecConstantDescriptor { id, offset, size };
        Some(parts.iter().map(part).collect())
    }

    fn to_value(&self) -> Value {
        let words = |part: &SpecConstantDescriptor| [part.id, part.offset, part.size];
        self.iter().flat_map(words).collect::<Vec<u32>>().to_value()
    }
}

/// The position of a constant in the value blobs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpecConstantLayout {
    /// The offset of the first byte from the start of the blob.
    pub start: usize,
    /// The size in bytes, including gaps and padding.
    pub size: usize,
    /// The parts of the constant, without padding.
    pub leaves: Vec<Leaf>,
}

impl SpecConstantLayout {
    /// Returns the value of the constant in a blob.
    pub(crate) fn slice<'b>(&self, blob: &'b [u8]) -> Option<&'b [u8]> {
        blob.get(self.start..)?.get(..self.size)
    }

    /// Returns the sizes that a value may have. An emulated constant has a single part, and its size may include padding
    /// up to the next constant, which a value may omit.
    #[doc(hidden)]
    #[must_use]
    pub fn value_sizes(&self) -> [usize; 2] {
        match self.leaves.as_slice() {
            [only] if only.start == self.start => [self.size, only.size],
            _ => [self.size; 2],
        }
    }
}

/// The position of a part of a constant in the value blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The `SpecId` in SPIR-V.
    pub id: u32,
    /// The offset from the start of the blob, in bytes.
    pub start: usize,
    /// The size in bytes.
    pub size: usize,
}

impl SpecializationConstants {
    /// Reads the three sets.
    ///
    /// # Errors
    ///
    /// Returns an error if a value is malformed, or if [`Self::layout`] fails.
    pub fn read(sets: &PropertySets<'_>) -> Result<Self, Malformed> {
        let constants = Self {
            constants: Named::read(sets, set::SPECIALIZATION_CONSTANTS)?,
            defaults: sets.read(set::SPECIALIZATION_DEFAULTS, key::ALL)?,
            set_values: sets.read(set::SPECIALIZATION_SET_VALUES, key::ALL)?,
        };
        constants.layout()?;
        Ok(constants)
    }

    /// Writes the three sets.
    pub fn write(&self, sets: &mut PropertySets<'_>) {
        let name = set::SPECIALIZATION_CONSTANTS;
        // The order is significant, so constants do not keep their earlier positions.
        sets.retain(name, |_| false);
        self.constants.write(sets, name);
        for (set, blob) in self.blobs() {
            blob.write(sets, set, key::ALL);
        }
    }

    /// Returns the blobs and their sets.
    const fn blobs(&self) -> [(&'static str, &Option<Vec<u8>>); 2] {
        [
            (set::SPECIALIZATION_DEFAULTS, &self.defaults),
            (set::SPECIALIZATION_SET_VALUES, &self.set_values),
        ]
    }

    /// Returns the position of each constant in the blobs. Constants are stored back to back, including the
    /// gaps between their parts.
    ///
    /// # Errors
    ///
    /// Returns an error if parts overlap, are not in ascending order or do not fit into the address space, or if a blob
    /// has the wrong length.
    pub fn layout(&self) -> Result<Named<SpecConstantLayout>, Malformed> {
        let mut blob = 0usize;
        let mut layouts = Named::default();
        for (name, parts) in self.constants.iter() {
            let fail = |expected, found| {
                Malformed::new(set::SPECIALIZATION_CONSTANTS, name, expected, found)
            };
            let start = blob;
            let mut size = 0usize;
            let mut leaves = Vec::new();
            for part in parts {
                let (offset, length) = (part.offset as usize, part.size as usize);
                if offset < size {
                    let found = format!("a part at offset {offset} after one that ends at {size}");
                    return Err(fail("parts in ascending order without overlaps", found));
                }
                let Some(end) = offset
                    .checked_add(length)
                    .and_then(|end| end.checked_add(start))
                else {
                    let found = format!("{part:?}");
                    return Err(fail("parts that fit into the address space", found));
                };
                if !part.is_padding() {
                    let (id, start, size) = (part.id, start + offset, length);
                    leaves.push(Leaf { id, start, size });
                }
                (size, blob) = (end - start, end);
            }
            let layout = SpecConstantLayout {
                start,
                size,
                leaves,
            };
            layouts.insert(name, layout);
        }
        for (set, values) in self.blobs() {
            if let Some(values) = values.as_ref().filter(|values| values.len() != blob) {
                let expected = format!("{blob} bytes, the total size of all constants");
                let found = format!("{} bytes", values.len());
                return Err(Malformed::new(set, key::ALL, expected, found));
            }
        }
        Ok(layouts)
    }

    /// Returns the default value of the constant `name`, including gaps and padding. Returns `None` if the constant
    /// does not exist, or if the file stores no default values.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Self::layout`], which runs again on each call.
    pub fn default_value(&self, name: &str) -> Result<Option<&[u8]>, Malformed> {
        let layout = self.layout()?;
        let place = layout.get(name);
        Ok(place.and_then(|place| place.slice(self.defaults.as_ref()?)))
    }
}
