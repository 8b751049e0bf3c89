// SPDX-License-Identifier: MIT OR Apache-2.0
//! Specialization constants: values that are set after compilation, before the driver builds the code. Native code
//! either contains the values or reads them from memory.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use syclbin::__private::spirv::portable::specialize;
use syclbin::metadata::{ModuleMetadata, SpecConstantLayout, SpecializationConstants, Target};
use syclbin::{Image, ImageKind, ptx};

use crate::backend::facts::Facts;
use crate::error::{Error, ErrorKind, counted, join};
use crate::load::native;

/// The values that were set for specialization constants, by name.
pub(crate) type Values = BTreeMap<String, Vec<u8>>;

/// Checks the names and sizes of `values` against the modules of a file.
///
/// # Errors
///
/// Fails if no module contains a constant with one of these names, or if a module declares it with a different size.
pub(crate) fn check_given<'m>(
    values: &Values,
    modules: impl Iterator<Item = &'m ModuleMetadata> + Clone,
) -> crate::error::Result<()> {
    for (name, value) in values {
        let mut found = false;
        for metadata in modules.clone() {
            // Malformed metadata was rejected earlier.
            let layout = metadata.specialization.layout().unwrap_or_default();
            let Some(place) = layout.get(name) else {
                continue;
            };
            found = true;
            if !place.value_sizes().contains(&value.len()) {
                return Err(Error::invalid(format_args!(
                    "specialization constant {name} is {} long, but the given value is {} long; pass a value of its type",
                    counted(place.size, "byte"),
                    counted(value.len(), "byte")
                )));
            }
        }
        if !found {
            let names = modules.clone();
            let names = names.flat_map(|metadata| metadata.specialization.constants.names());
            let names: BTreeSet<&str> = names.collect();
            let message = format_args!(
                "no specialization constant {name} in this SYCLBIN file; available constants: {}",
                join(names)
            );
            return Err(Error::new(ErrorKind::NotFound, message));
        }
    }
    Ok(())
}

/// Returns the values of all constants, in the layout of the file. Constants that are not set keep the value from the
/// file. Returns `None` if the file contains no values.
pub(crate) fn blob(values: &Values, constants: &SpecializationConstants) -> Option<Vec<u8>> {
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

/// Writes the given values, and the values set in the file, into SPIR-V as defaults. Scalars that `spirv` does not
/// contain are skipped, because no code reads them.
///
/// OpenCL offers `clSetProgramSpecializationConstant` for this, but PoCL (6.0) lacks it. In rusticl (Mesa 25.0), it
/// rejects some types, and the native code that rusticl returns ignores the values.
///
/// # Errors
///
/// Returns the reason as text.
pub(crate) fn as_defaults<'c>(
    values: &Values,
    constants: &SpecializationConstants,
    spirv: Cow<'c, [u8]>,
) -> Result<Cow<'c, [u8]>, String> {
    let layout = constants.layout().map_err(|error| error.to_string())?;
    let mut scalars = BTreeMap::new();
    for (name, place) in layout.iter() {
        let Some(value) = overridden_value(values, constants, name, place) else {
            continue;
        };
        for leaf in &place.leaves {
            if let Some(bytes) = part(value, leaf.start - place.start, leaf.size) {
                scalars.insert(leaf.id, bytes);
            }
        }
    }
    if scalars.is_empty() {
        return Ok(spirv);
    }
    let specialized = specialize(&spirv, &scalars).map_err(|error| error.to_string());
    specialized.map(Cow::Owned)
}

pub(crate) fn part(blob: &[u8], start: usize, size: usize) -> Option<&[u8]> {
    blob.get(start..)?.get(..size)
}

/// Returns the variables that hold specialization constants in PTX, and in native code compiled from it, with their
/// values. Skips constants that keep their default values.
pub(crate) fn variables(
    values: &Values,
    constants: &SpecializationConstants,
) -> Result<Vec<(String, Vec<u8>)>, String> {
    let layout = constants.layout().map_err(|error| error.to_string())?;
    let variable = |(name, place): (&str, &SpecConstantLayout)| {
        let value = overridden_value(values, constants, name, place)?;
        Some((ptx::constant_variable(name), value.to_vec()))
    };
    Ok(layout.iter().filter_map(variable).collect())
}

/// Returns the value of a constant, if a value was given, or if the file sets a value other than the default.
fn overridden_value<'v>(
    values: &'v Values,
    constants: &'v SpecializationConstants,
    name: &str,
    place: &SpecConstantLayout,
) -> Option<&'v [u8]> {
    if let Some(value) = values.get(name) {
        return Some(value);
    }
    let file = |blob: &'v Option<Vec<u8>>| part(blob.as_ref()?, place.start, place.size);
    let set = file(&constants.set_values)?;
    (file(&constants.defaults) != Some(set)).then_some(set)
}

/// Returns whether the kernels of an image receive the address of their specialization constants as an argument.
/// DPC++ generates such code for CUDA and for ahead-of-time compilation.
pub(crate) fn are_emulated(image: &Image<'_>, metadata: &ModuleMetadata, facts: &Facts) -> bool {
    if metadata.specialization.constants.is_empty() || are_folded(metadata) {
        return false;
    }
    if facts.ptx.is_some() {
        return !native::has_constants(&image.bytes);
    }
    match image.kind() {
        // Native code that a driver compiled from SPIR-V already contains the values. It keeps the target of the
        // SPIR-V; in files from before July 2025, it has no target.
        ImageKind::Native { target, .. } => !matches!(
            Target::of_triple(target),
            Target::Spir64 | Target::Other("")
        ),
        ImageKind::Ir { .. } => false,
    }
}

/// Returns whether the compiler replaced the constants with their defaults.
fn are_folded(metadata: &ModuleMetadata) -> bool {
    metadata.misc.specialized_with_defaults == Some(true)
}

/// Checks whether native code can use the current values of its constants: `values`, or else the values from the file.
///
/// # Errors
///
/// Returns the reason as text.
pub(crate) fn check(
    image: &Image<'_>,
    metadata: &ModuleMetadata,
    values: &Values,
    facts: &Facts,
) -> Result<(), String> {
    let held = &metadata.specialization;
    if held.constants.is_empty() {
        return Ok(());
    }
    let overridden_value = blob(values, held);
    if are_emulated(image, metadata, facts) {
        let missing = "it reads specialization constants from memory, but the file contains no values for them";
        return overridden_value.map(drop).ok_or_else(|| missing.to_owned());
    }
    if facts.ptx.is_some() && !are_folded(metadata) {
        // The constants are variables that are set after loading.
        return Ok(());
    }
    let set_values = held.set_values.as_ref().filter(|_| !are_folded(metadata));
    let compiled_in = set_values.or(held.defaults.as_ref());
    let layout = held.layout().map_err(|error| error.to_string())?;
    for (name, place) in layout.iter() {
        let [compiled_in, current] = [compiled_in, overridden_value.as_ref()]
            .map(|blob| part(blob?, place.start, place.size));
        if compiled_in != current || values.contains_key(name) && compiled_in.is_none() {
            return Err(format!(
                "it was compiled with a different value of specialization constant {name}; to change the value, \
                compile for spir64 as well"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use syclbin::metadata::{Named, SpecConstantDescriptor, SpecializationConstants};

    use crate::backend::facts::PtxFacts;

    /// Returns metadata with a one-byte constant, whose default is 3 and whose value in the file is 5.
    fn metadata() -> ModuleMetadata {
        let part = SpecConstantDescriptor {
            id: 0,
            offset: 0,
            size: 1,
        };
        let mut constants = Named::default();
        constants.insert("radius", vec![part]);
        ModuleMetadata {
            specialization: SpecializationConstants {
                constants,
                defaults: Some(vec![3]),
                set_values: Some(vec![5]),
            },
            ..ModuleMetadata::default()
        }
    }

    fn native(target: &str) -> Image<'static> {
        Image::native("", target, Vec::new())
    }

    #[test]
    fn constants_that_are_compiled_in_keep_their_values() {
        let mut metadata = metadata();
        let cuda = Facts {
            ptx: Some(PtxFacts {
                sm: 80,
                ptx: (8, 4),
                driver: 12040,
            }),
            ..Facts::default()
        };
        let with = |metadata: &ModuleMetadata, values: &[u8]| {
            let values = values
                .iter()
                .map(|value| ("radius".to_owned(), vec![*value]));
            let values = values.collect();
            check(&native("spir64"), metadata, &values, &Facts::default())
        };
        assert_eq!(with(&metadata, &[5]), Ok(()));
        let message = with(&metadata, &[3]).unwrap_err();
        assert!(
            message.contains("of specialization constant radius; "),
            "{message}"
        );
        metadata.misc.specialized_with_defaults = Some(true);
        assert_eq!(with(&metadata, &[3]), Ok(()));
        // The file sets a value that is not the default, and no value was given.
        let refused = with(&metadata, &[]).unwrap_err();
        assert!(
            refused.contains("of specialization constant radius; "),
            "{refused}"
        );
        assert!(check(&native("nvptx64"), &metadata, &Values::new(), &cuda).is_err());
        metadata.specialization.set_values = Some(vec![3]);
        assert_eq!(with(&metadata, &[]), Ok(()));
        assert_eq!(
            check(&native("nvptx64"), &metadata, &Values::new(), &cuda),
            Ok(())
        );
    }

    #[test]
    fn emulated_constants_take_every_value() {
        let mut metadata = metadata();
        let facts = Facts::default();
        let image = native("spir64_x86_64-unknown-unknown");
        assert!(are_emulated(&image, &metadata, &facts));
        let values = Values::from([("radius".to_owned(), vec![7])]);
        assert_eq!(check(&image, &metadata, &values, &facts), Ok(()));
        metadata.specialization.set_values = None;
        assert_eq!(check(&image, &metadata, &values, &facts), Ok(()));
        metadata.specialization.defaults = None;
        let message = check(&image, &metadata, &values, &facts).unwrap_err();
        assert!(
            message.ends_with("the file contains no values for them"),
            "{message}"
        );
        metadata.misc.specialized_with_defaults = Some(true);
        assert!(!are_emulated(&image, &metadata, &facts));
    }

    #[test]
    fn constants_in_variables_are_not_emulated() {
        let cuda = Facts {
            ptx: Some(PtxFacts {
                sm: 80,
                ptx: (8, 4),
                driver: 12040,
            }),
            ..Facts::default()
        };
        let is_emulated = |text: String| {
            let image = Image::native("sm_80", "nvptx64-nvidia-cuda", text.into_bytes());
            are_emulated(&image, &metadata(), &cuda)
        };
        let variable = ptx::constant_variable("radius");
        assert!(!is_emulated(format!(
            ".visible .global .b8 {variable} = 3;"
        )));
        assert!(is_emulated(".visible .global .b8 radius = 3;".to_owned()));
    }
}

#[cfg(test)]
mod specialization_tests {
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
        let given = Values::from([("third".to_owned(), 7u32.to_le_bytes().to_vec())]);
        let expected = [("second", 5u32), ("third", 7)]
            .map(|(name, value)| (ptx::constant_variable(name), value.to_le_bytes().to_vec()));
        assert_eq!(variables(&given, &constants), Ok(expected.to_vec()));
    }
}
