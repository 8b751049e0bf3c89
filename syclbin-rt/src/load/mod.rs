// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loading: an abstract module becomes a built program, or an error that has the reason for each image.
//!
//! Each step takes what the step before it returns:
//!
//! 1. [`unit::Unit`]: a module with valid property sets.
//! 2. [`selection::Selection`]: its images that the driver takes, found without the driver.
//! 3. [`build::BuiltModule`]: the program of the first image that the driver builds, linked with others.
//! 4. [`loaded_module::LoadedModule`]: the program with its kernels, and the verdict on each image.

pub(crate) mod ahead_of_time;
pub(crate) mod build;
pub(crate) mod build_options;
pub(crate) mod constants;
pub(crate) mod coverage;
pub(crate) mod cubin;
pub(crate) mod device_code;
pub(crate) mod files;
pub(crate) mod image;
pub(crate) mod image_choice;
pub(crate) mod link;
pub(crate) mod loaded_module;
pub(crate) mod made_for;
pub(crate) mod native;
pub(crate) mod requirements;
pub(crate) mod selection;
pub(crate) mod unit;
pub(crate) mod verdict;

use crate::load::build::Builder;
use crate::load::files::Files;
use crate::load::loaded_module::LoadedModule;
use crate::load::selection::Selection;
use crate::log;
use crate::module::global::Variable;
use crate::queue::Queue;

/// Loads the modules of the first of `files` for the device of `queue`, and returns them with their device
/// globals. `constants` are values of specialization constants.
pub(crate) fn load(
    queue: &Queue,
    files: &Files<'_>,
    constants: &[(String, Vec<u8>)],
) -> (Vec<LoadedModule>, Vec<Variable>) {
    let mut selections = Vec::new();
    let mut modules = Vec::new();
    for (module, unit) in files.loaded().iter().enumerate() {
        match unit {
            Ok(unit) => selections.push(Selection::new(files, module, unit, constants)),
            Err(malformed) => modules.push(LoadedModule::malformed(module, malformed)),
        }
    }
    let mut builder = Builder::new(queue, files, constants);
    let built = builder.build(selections).into_iter();
    modules.extend(built.map(|built| LoadedModule::new(files, built)));
    modules.sort_by_key(|loaded| loaded.choice.module);
    for loaded in &modules {
        log::debug(format_args!("for {}, {}", queue.device(), loaded.choice));
    }
    (modules, builder.into_variables())
}
