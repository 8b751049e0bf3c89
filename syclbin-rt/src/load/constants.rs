// SPDX-License-Identifier: MIT OR Apache-2.0
//! Specialization constants of native code: their values are compiled in, or its kernels read them from memory.

use syclbin::metadata::{ModuleMetadata, Target};
use syclbin::{Image, ImageKind};

use crate::device::facts::Facts;
use crate::load::cubin;
use crate::module::specialization;

/// Returns whether the kernels of an image take the address of their specialization constants as an argument.
/// DPC++ compiles them so for CUDA and ahead of time.
pub(crate) fn are_emulated(image: &Image<'_>, metadata: &ModuleMetadata, facts: &Facts) -> bool {
    if metadata.specialization.constants.is_empty() || are_folded(metadata) {
        return false;
    }
    if facts.ptx.is_some() {
        return !cubin::has_constants(&image.bytes);
    }
    match image.kind() {
        // Code from a driver has the target of its SPIR-V, or none in files from before July 2025.
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

/// Checks whether the constants of native code can have the values in force: `values`, else the values of the file.
///
/// # Errors
///
/// Says in words why not.
pub(crate) fn check(
    image: &Image<'_>,
    metadata: &ModuleMetadata,
    values: &[(String, Vec<u8>)],
    facts: &Facts,
) -> Result<(), String> {
    let held = &metadata.specialization;
    if held.constants.is_empty() {
        return Ok(());
    }
    let blob = specialization::blob(values, held);
    if are_emulated(image, metadata, facts) {
        let missing = "it reads specialization constants from memory, and the file has no values";
        return blob.map(drop).ok_or_else(|| missing.to_owned());
    }
    if facts.ptx.is_some() && !are_folded(metadata) {
        // They are variables, which are set after the code is loaded.
        return Ok(());
    }
    let compiled_in = if are_folded(metadata) {
        held.defaults.clone()
    } else {
        specialization::blob(&[], held)
    };
    let layout = held.layout().map_err(|error| error.to_string())?;
    for (name, place) in layout.iter() {
        let is_given = values.iter().any(|(given, _)| given == name);
        let of = |blob: &Option<Vec<u8>>| {
            let value = blob.as_ref()?.get(place.start..)?.get(..place.size)?;
            Some(value.to_vec())
        };
        let compiled_in = of(&compiled_in);
        if compiled_in != of(&blob) || is_given && compiled_in.is_none() {
            return Err(format!(
                "it is compiled for another value of specialization constant {name}"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use syclbin::metadata::{Named, SpecConstantDescriptor, SpecializationConstants};

    use crate::device::facts::PtxFacts;

    /// Returns a module with a constant of one byte, whose default is 3 and whose value in the file is 5.
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
            let values: Vec<_> = values.collect();
            check(&native("spir64"), metadata, &values, &Facts::default())
        };
        assert_eq!(with(&metadata, &[5]), Ok(()));
        let message = with(&metadata, &[3]).unwrap_err();
        assert!(
            message.ends_with("specialization constant radius"),
            "{message}"
        );
        metadata.misc.specialized_with_defaults = Some(true);
        assert_eq!(with(&metadata, &[3]), Ok(()));
        // The value in the file is not the default, and nothing requested the default.
        let refused = with(&metadata, &[]).unwrap_err();
        assert!(refused.ends_with("constant radius"), "{refused}");
        assert!(check(&native("nvptx64"), &metadata, &[], &cuda).is_err());
        metadata.specialization.set_values = Some(vec![3]);
        assert_eq!(with(&metadata, &[]), Ok(()));
        assert_eq!(check(&native("nvptx64"), &metadata, &[], &cuda), Ok(()));
    }

    #[test]
    fn emulated_constants_take_every_value() {
        let mut metadata = metadata();
        let facts = Facts::default();
        let image = native("spir64_x86_64-unknown-unknown");
        assert!(are_emulated(&image, &metadata, &facts));
        let values = [("radius".to_owned(), vec![7])];
        assert_eq!(check(&image, &metadata, &values, &facts), Ok(()));
        metadata.specialization.set_values = None;
        assert_eq!(check(&image, &metadata, &values, &facts), Ok(()));
        metadata.specialization.defaults = None;
        let message = check(&image, &metadata, &values, &facts).unwrap_err();
        assert!(message.ends_with("the file has no values"), "{message}");
        metadata.misc.specialized_with_defaults = Some(true);
        assert!(!are_emulated(&image, &metadata, &facts));
    }
}
