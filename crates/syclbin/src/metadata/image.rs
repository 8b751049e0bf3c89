// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sets that SYCLBIN itself defines: of the file, of an IR image, of a native image.

use alloc::string::String;

use super::target::Target;
use super::value::malformed::Malformed;
use super::value::property::put;
use crate::property::{PropertySets, key, set};
use crate::{IrType, State};

/// What a file says of itself (set [`GLOBAL`](set::GLOBAL) of [`Syclbin::global`]).
///
/// [`Syclbin::global`]: crate::Syclbin::global
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileMetadata {
    /// How far the code has been brought (`state`). The reference runtime requires it.
    pub state: Option<State>,
}

/// What a file says of an IR image (set [`IR_MODULE`](set::IR_MODULE) of [`Image::metadata`]).
///
/// [`Image::metadata`]: crate::Image::metadata
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IrMetadata {
    /// Its language (`type`). Compilers write SPIR-V for everything without an architecture, x86-64 code
    /// included. So readers must check the target as well.
    pub ty: Option<IrType>,
    /// The target triple (`target`).
    pub target: Option<String>,
}

/// What a file says of a native image (set [`NATIVE_IMAGE`](set::NATIVE_IMAGE) of
/// [`Image::metadata`]).
///
/// [`Image::metadata`]: crate::Image::metadata
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NativeMetadata {
    /// The architecture as text (`arch`): a name such as `sm_90`, or several with commas between,
    /// or `*`.
    pub arch: Option<String>,
    /// The target triple (`target`). The reference runtime requires it; files from before July 2025 do not
    /// have it.
    pub target: Option<String>,
}

impl FileMetadata {
    /// Reads the set.
    ///
    /// # Errors
    ///
    /// When the value is malformed.
    pub fn read(sets: &PropertySets<'_>) -> Result<Self, Malformed> {
        let state = sets.read(set::GLOBAL, key::STATE)?;
        Ok(Self { state })
    }

    /// Writes the set. Unknown keys are left alone.
    pub fn write(&self, sets: &mut PropertySets<'_>) {
        put(sets, set::GLOBAL, key::STATE, self.state.as_ref());
    }
}

impl IrMetadata {
    /// Reads the set.
    ///
    /// # Errors
    ///
    /// When a value is malformed.
    pub fn read(sets: &PropertySets<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            ty: sets.read(set::IR_MODULE, key::TYPE)?,
            target: sets.read(set::IR_MODULE, key::TARGET)?,
        })
    }

    /// Writes the set. Unknown keys are left alone.
    pub fn write(&self, sets: &mut PropertySets<'_>) {
        put(sets, set::IR_MODULE, key::TYPE, self.ty.as_ref());
        put(sets, set::IR_MODULE, key::TARGET, self.target.as_ref());
    }

    /// Returns the target, if the file names one.
    #[must_use]
    pub fn target(&self) -> Option<Target<'_>> {
        self.target.as_deref().map(Target::of_triple)
    }
}

impl NativeMetadata {
    /// Reads the set.
    ///
    /// # Errors
    ///
    /// When a value is malformed.
    pub fn read(sets: &PropertySets<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            arch: sets.read(set::NATIVE_IMAGE, key::ARCH)?,
            target: sets.read(set::NATIVE_IMAGE, key::TARGET)?,
        })
    }

    /// Writes the set. Unknown keys are left alone.
    pub fn write(&self, sets: &mut PropertySets<'_>) {
        put(sets, set::NATIVE_IMAGE, key::ARCH, self.arch.as_ref());
        put(sets, set::NATIVE_IMAGE, key::TARGET, self.target.as_ref());
    }

    /// Returns the target, if the file names one.
    #[must_use]
    pub fn target(&self) -> Option<Target<'_>> {
        self.target.as_deref().map(Target::of_triple)
    }
}
