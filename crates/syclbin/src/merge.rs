// SPDX-License-Identifier: MIT OR Apache-2.0
//! Merges files with the same kernels, compiled for different devices, into one file.

use crate::model::{AbstractModule, Image, Syclbin};
use crate::prelude::*;
use crate::property::set;

/// The reason why files cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// The files differ in their state, sources or other file-level properties.
    #[error(
        "file {index} differs from file 0 in its state or sources; merge only files that were saved from the same file"
    )]
    Properties {
        /// The zero-based index of the file.
        index: usize,
    },
    /// The files have no kernel in common.
    #[error(
        "file {index} shares no kernel with file 0; merge only files that were saved from the same file"
    )]
    Kernels {
        /// The zero-based index of the file.
        index: usize,
    },
}

/// Merges files with the same kernels, saved for different devices, into one file for all these devices.
///
/// Modules with equal kernels, properties and IR images are combined into one module that contains all their native
/// images, without duplicates. Other modules stay separate. The set [`NATIVE_CODE`](set::NATIVE_CODE), which names the
/// device that native code was compiled for, moves from each module to its native images. Strings and foreign entries
/// in the wrapper are kept only from the first file.
///
/// ```
/// use syclbin::{AbstractModule, Image, State, Syclbin, merge};
///
/// let saved = |arch: &str| {
///     let mut module = AbstractModule::default();
///     module.add_kernel_name("__sycl_kernel_saxpy");
///     module.images.push(Image::native(arch, "nvptx64-nvidia-cuda", arch.as_bytes().to_vec()));
///     let mut file = Syclbin::new(State::Executable);
///     file.modules.push(module);
///     file
/// };
/// let merged = merge(saved("sm_80"), [saved("sm_90"), saved("sm_80")])?;
/// assert_eq!(merged.modules.len(), 1);
/// assert_eq!(merged.modules[0].images.len(), 2);
/// # Ok::<(), syclbin::MergeError>(())
/// ```
///
/// # Errors
///
/// Returns an error if files differ in file-level properties, such as the state, or if the first file contains kernels
/// and another file shares none of them.
pub fn merge<'a>(
    first: Syclbin<'a>,
    others: impl IntoIterator<Item = Syclbin<'a>>,
) -> Result<Syclbin<'a>, MergeError> {
    let mut whole = first;
    whole.modules.iter_mut().for_each(describe_images);
    let kernels: BTreeSet<String> = whole.kernel_names().map(String::from).collect();
    for (index, mut other) in (1..).zip(others) {
        if other.global != whole.global {
            return Err(MergeError::Properties { index });
        }
        let is_shared = other.kernel_names().any(|name| kernels.contains(name));
        if !kernels.is_empty() && !is_shared {
            return Err(MergeError::Kernels { index });
        }
        other.modules.iter_mut().for_each(describe_images);
        for module in other.modules {
            add(&mut whole.modules, module);
        }
    }
    Ok(whole)
}

/// Moves the set `NATIVE_CODE` from a module to its native images.
fn describe_images(module: &mut AbstractModule<'_>) {
    let Some(made_for) = module.metadata.remove_set(set::NATIVE_CODE) else {
        return;
    };
    for image in module.images.iter_mut().filter(|image| image.native) {
        for (key, value) in made_for.iter() {
            let key = String::from(key);
            image.metadata.insert(set::NATIVE_CODE, key, value.clone());
        }
    }
}

/// Adds the images of a module to the matching module, or adds the module if none matches.
fn add<'a>(modules: &mut Vec<AbstractModule<'a>>, module: AbstractModule<'a>) {
    if modules.contains(&module) {
        return;
    }
    // Modules without kernels stay separate: their code may differ even if their metadata is equal.
    let has_kernels = module.kernel_names().next().is_some();
    let same = |known: &&mut AbstractModule<'_>| {
        known.metadata == module.metadata && code(known).eq(code(&module))
    };
    match modules.iter_mut().find(same).filter(|_| has_kernels) {
        Some(known) => {
            for image in module.images {
                if !known.images.contains(&image) {
                    known.images.push(image);
                }
            }
        }
        None => modules.push(module),
    }
}

/// Returns the IR images, which a driver compiles at load time.
fn code<'m, 'a>(module: &'m AbstractModule<'a>) -> impl Iterator<Item = &'m Image<'a>> {
    module.images.iter().filter(|image| !image.native)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{IrType, State};
    use crate::property::Value;
    use alloc::vec;

    fn module(kernel: &str, device: &str, code: &[u8]) -> AbstractModule<'static> {
        let mut module = AbstractModule::default();
        module.add_kernel_name(String::from(kernel));
        (module.metadata).insert(set::NATIVE_CODE, "device", Value::from(device));
        let image = Image::native(device, "spir64-unknown-unknown", code.to_vec());
        module.images.push(image);
        module
    }

    fn file(modules: Vec<AbstractModule<'static>>) -> Syclbin<'static> {
        let mut file = Syclbin::new(State::Executable);
        file.modules = modules;
        file
    }

    #[test]
    fn modules_get_images_of_every_device() {
        let of = |device| {
            let modules = ["a", "b"].map(|kernel| module(kernel, device, device.as_bytes()));
            file(modules.to_vec())
        };
        let merged = merge(of("cpu"), [of("gpu"), of("cpu")]).unwrap();
        assert_eq!(merged.modules.len(), 2);
        for module in &merged.modules {
            assert!(module.metadata.set(set::NATIVE_CODE).is_none());
            let devices: Vec<&str> = (module.images.iter())
                .filter_map(|image| image.metadata.get(set::NATIVE_CODE, "device")?.as_str())
                .collect();
            assert_eq!(devices, ["cpu", "gpu"]);
        }
    }

    #[test]
    fn modules_of_other_properties_stay_separate() {
        let mut other = module("a", "gpu", b"2");
        other.add_kernel_name("only on the gpu");
        let merged = merge(file(vec![module("a", "cpu", b"1")]), [file(vec![other])]);
        assert_eq!(merged.unwrap().modules.len(), 2);
        // Different code makes it a different module.
        let with_code = |code: u8| {
            let mut module = module("a", "cpu", b"1");
            module
                .images
                .insert(0, Image::ir(IrType::SpirV, "spir64", vec![code]));
            file(vec![module])
        };
        let merged = merge(with_code(1), [with_code(2), with_code(1)]).unwrap();
        assert_eq!(merged.modules.len(), 2);
    }

    #[test]
    fn modules_without_kernels_are_not_joined() {
        let library = |code: u8| {
            let mut file = file(vec![module("a", "cpu", b"1"), AbstractModule::default()]);
            file.modules[1].images = vec![Image::native("", "", vec![code])];
            file
        };
        let merged = merge(library(1), [library(2), library(1)]).unwrap();
        assert_eq!(merged.modules.len(), 3);
    }

    #[test]
    fn unrelated_files_are_refused() {
        let cpu = || file(vec![module("a", "cpu", b"1")]);
        let mut object = cpu();
        object.global = Syclbin::new(State::Object).global;
        let refused = merge(cpu(), [cpu(), object]).unwrap_err();
        assert_eq!(refused, MergeError::Properties { index: 2 });
        let refused = merge(cpu(), [file(vec![module("b", "cpu", b"1")])]).unwrap_err();
        assert_eq!(refused, MergeError::Kernels { index: 1 });
    }
}
