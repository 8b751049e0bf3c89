// SPDX-License-Identifier: MIT OR Apache-2.0
//! Specialization constants: values that are chosen after compilation and before the build.

use std::borrow::Cow;
use std::collections::BTreeSet;

use syclbin::__private::spirv::portable::specialize;
use syclbin::metadata::{Malformed, ModuleMetadata, SpecConstantLayout, SpecializationConstants};
use syclbin::ptx;

use crate::error::{Error, ErrorKind, Result, join};

/// A scalar of a constant that gets a value other than the compiled-in value.
pub(crate) struct Setting {
    /// The `SpecId` in SPIR-V.
    pub(crate) id: u32,
    pub(crate) bytes: Vec<u8>,
}

/// Checks names and sizes of `values` against the modules of a file.
///
/// # Errors
///
/// When no module has such a constant, and when a module has it in another size.
pub(crate) fn check<'m>(
    values: &[(String, Vec<u8>)],
    modules: impl Iterator<Item = &'m ModuleMetadata> + Clone,
) -> Result<()> {
    for (name, value) in values {
        let mut found = false;
        for metadata in modules.clone() {
            // A malformed module has no metadata.
            let layout = metadata.specialization.layout().unwrap_or_default();
            let Some(place) = layout.get(name) else {
                continue;
            };
            found = true;
            if !takes(place, value.len()) {
                let message = format_args!(
                    "specialization constant {name} has {} bytes, the value has {}",
                    place.size,
                    value.len()
                );
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
        }
        if !found {
            let names = modules.clone();
            let names = names.flat_map(|metadata| metadata.specialization.constants.names());
            let names: BTreeSet<&str> = names.collect();
            let message = format_args!(
                "no specialization constant {name} in this SYCLBIN file; it has {}",
                join(names)
            );
            return Err(Error::new(ErrorKind::NotFound, message));
        }
    }
    Ok(())
}

/// Returns whether a value of `bytes` bytes is for the constant at `place`. After an emulated constant, which has one
/// part, may come padding up to the next constant, which does not belong to its type.
fn takes(place: &SpecConstantLayout, bytes: usize) -> bool {
    let without_padding = match place.leaves.as_slice() {
        [only] if only.start == place.start => only.size,
        _ => place.size,
    };
    bytes == place.size || bytes == without_padding
}

/// Returns the values of all constants in the layout of the file: the given values, and the values of the file.
/// Returns `None` if the file has no values.
pub(crate) fn blob(
    values: &[(String, Vec<u8>)],
    constants: &SpecializationConstants,
) -> Option<Vec<u8>> {
    let of_file = constants.set_values.as_ref();
    let mut blob = of_file.or(constants.defaults.as_ref())?.clone();
    // Malformed metadata was rejected earlier.
    let layout = constants.layout().unwrap_or_default();
    for (name, value) in values {
        let place = layout.get(name);
        let bytes = place.and_then(|place| blob.get_mut(place.start..)?.get_mut(..value.len()));
        if let Some(bytes) = bytes {
            bytes.copy_from_slice(value);
        }
    }
    Some(blob)
}

/// Returns the settings for a module's program: the given values, and the values that the file sets itself.
/// Scalars that `spirv` does not have are left out, because nothing in it reads them.
pub(crate) fn settings(
    values: &[(String, Vec<u8>)],
    constants: &SpecializationConstants,
    spirv: &[u8],
) -> Result<Vec<Setting>, Malformed> {
    let layout = constants.layout()?;
    let ids = spec_ids(spirv);
    let mut settings = Vec::new();
    for (name, place) in layout.iter() {
        let Some(value) = in_force(values, constants, name, place) else {
            continue;
        };
        for leaf in place.leaves.iter().filter(|leaf| ids.contains(&leaf.id)) {
            let bytes = value.get(leaf.start - place.start..);
            if let Some(bytes) = bytes.and_then(|rest| rest.get(..leaf.size)) {
                settings.push(Setting {
                    id: leaf.id,
                    bytes: bytes.to_vec(),
                });
            }
        }
    }
    Ok(settings)
}

/// Makes `settings` the defaults in SPIR-V. OpenCL has a function for it, `clSetProgramSpecializationConstant`. But
/// PoCL (6.0) lacks it, and rusticl (Mesa 25.0) refuses some types and leaves the values out of the native code that
/// it returns.
///
/// # Errors
///
/// Says in words why not.
pub(crate) fn as_defaults<'c>(
    settings: &[Setting],
    spirv: Cow<'c, [u8]>,
) -> Result<Cow<'c, [u8]>, String> {
    if settings.is_empty() {
        return Ok(spirv);
    }
    let values = settings
        .iter()
        .map(|setting| (setting.id, setting.bytes.as_slice()));
    let specialized = specialize(&spirv, &values.collect());
    specialized
        .map(Cow::Owned)
        .map_err(|error| error.to_string())
}

/// Returns the values for the constant variables of PTX and of code made from it, by the names of the
/// variables. They are the given values, and the values that the file sets itself.
pub(crate) fn variables(
    values: &[(String, Vec<u8>)],
    constants: &SpecializationConstants,
) -> Result<Vec<(String, Vec<u8>)>, Malformed> {
    let layout = constants.layout()?;
    let variable = |(name, place): (&str, &SpecConstantLayout)| {
        let value = in_force(values, constants, name, place)?;
        Some((ptx::constant_variable(name), value))
    };
    Ok(layout.iter().filter_map(variable).collect())
}

/// Returns the value of a constant if it is not the default.
fn in_force(
    values: &[(String, Vec<u8>)],
    constants: &SpecializationConstants,
    name: &str,
    place: &SpecConstantLayout,
) -> Option<Vec<u8>> {
    if let Some((_, value)) = values.iter().find(|(other, _)| other == name) {
        return Some(value.clone());
    }
    let file = |blob: &Option<Vec<u8>>| {
        let blob = blob.as_ref()?;
        blob.get(place.start..)?
            .get(..place.size)
            .map(<[u8]>::to_vec)
    };
    let set = file(&constants.set_values)?;
    (file(&constants.defaults).as_ref() != Some(&set)).then_some(set)
}

/// Returns the `SpecId`s of a SPIR-V module.
fn spec_ids(spirv: &[u8]) -> BTreeSet<u32> {
    const HEADER: usize = 5;
    const OP_DECORATE: u32 = 71;
    const SPEC_ID: u32 = 1;
    let words: Vec<u32> = bytemuck::pod_collect_to_vec(spirv);
    let mut ids = BTreeSet::new();
    let mut rest = words.get(HEADER..).unwrap_or_default();
    while let Some(first) = rest.first() {
        let count = (first >> 16) as usize;
        let Some((instruction, next)) = rest.split_at_checked(count.max(1)) else {
            break;
        };
        if let [first, _target, SPEC_ID, id] = instruction
            && first & 0xffff == OP_DECORATE
        {
            ids.insert(*id);
        }
        rest = next;
    }
    ids
}

#[cfg(test)]
mod tests {
    use syclbin::metadata::SpecConstantDescriptor;

    use super::*;

    #[test]
    fn only_values_beside_the_default_are_set() {
        let mut constants = SpecializationConstants::default();
        for (name, id) in [("first", 0), ("second", 1), ("third", 2)] {
            let part = SpecConstantDescriptor {
                id,
                offset: 0,
                size: 4,
            };
            constants.constants.insert(name, vec![part]);
        }
        let blob = |values: [u32; 3]| Some(values.map(u32::to_le_bytes).concat());
        constants.defaults = blob([1, 2, 3]);
        constants.set_values = blob([1, 5, 6]);
        let given = [("third".to_owned(), 7u32.to_le_bytes().to_vec())];
        let expected = [("second", 5u32), ("third", 7)]
            .map(|(name, value)| (ptx::constant_variable(name), value.to_le_bytes().to_vec()));
        assert_eq!(variables(&given, &constants), Ok(expected.to_vec()));
    }
}
