// SPDX-License-Identifier: MIT OR Apache-2.0
//! Coverage: how many modules of a file contain code for a device. This is determined without calling the driver.

use syclbin::metadata::ModuleMetadata;
use syclbin::property::PropertySets;
use syclbin::{AbstractModule, Image, Syclbin};

use crate::backend::facts::Facts;
use crate::load::{code, native, requirements};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// Every module contains code for the device. The device may still lack an aspect that some modules require.
    Whole,
    /// Only some modules contain code for the device. Contains the first reason why a module contains none.
    Partial(String),
    /// No module contains code for the device. Contains a reason for each image.
    Nothing(Vec<String>),
}

impl Coverage {
    /// Compares a file with the facts about a device. Does not resolve imports, because other files may export the
    /// symbols.
    pub(crate) fn of(file: &Syclbin<'_>, facts: &Facts) -> Self {
        let has_kernels = |module: &&AbstractModule<'_>| module.kernel_names().next().is_some();
        let mut modules: Vec<(usize, &AbstractModule<'_>)> =
            file.modules.iter().enumerate().collect();
        // Modules without kernels only export symbols to other modules. Files from before June 2025 do not list
        // any kernels.
        if file.modules.iter().any(|module| has_kernels(&module)) {
            modules.retain(|(_, module)| has_kernels(module));
        }
        let mut runs = modules.is_empty();
        let mut without_code = Vec::new();
        let mut refused = Vec::new();
        for (index, module) in modules {
            let metadata = ModuleMetadata::read(&module.metadata);
            let outcome = metadata
                .map_err(|malformed| vec![format!("module {index}: {malformed}")])
                .and_then(|metadata| {
                    check_code(module, index, &metadata, facts)?;
                    Ok(requirements::check(&metadata, facts))
                });
            match outcome {
                Ok(Ok(())) => runs = true,
                Ok(Err(lacking)) => refused.push(format!("module {index}: {lacking}")),
                Err(reasons) => without_code.extend(reasons),
            }
        }
        match without_code.first() {
            None if runs => Self::Whole,
            Some(first) if runs => Self::Partial(first.clone()),
            _ => Self::Nothing(without_code.into_iter().chain(refused).collect()),
        }
    }

    /// Returns the reason why the device cannot run the whole file, if it cannot.
    pub(crate) fn reason(&self) -> Option<String> {
        match self {
            Self::Whole => None,
            Self::Partial(reason) => Some(format!(
                "only some of the file's kernels have code for this device: {reason}"
            )),
            Self::Nothing(reasons) => Some(reasons.join("; ")),
        }
    }

    /// Returns the rank of the coverage; 0 is the best.
    pub(crate) fn rank(&self) -> usize {
        match self {
            Self::Whole => 0,
            Self::Partial(_) => 1,
            Self::Nothing(_) => 2,
        }
    }
}

/// Checks whether a module contains an image in a format that the device accepts, ignoring the module's requirements.
fn check_code(
    module: &AbstractModule<'_>,
    index: usize,
    metadata: &ModuleMetadata,
    facts: &Facts,
) -> Result<(), Vec<String>> {
    let mut reasons = Vec::new();
    for (number, image) in module.images.iter().enumerate() {
        let Err(reason) = check(image, metadata, &module.metadata, facts) else {
            return Ok(());
        };
        let image = code::describe(image);
        reasons.push(format!(
            "module {index}, image {number} ({image}): {reason}"
        ));
    }
    if reasons.is_empty() {
        reasons.push(format!("module {index} contains no images"));
    }
    Err(reasons)
}

fn check(
    image: &Image<'_>,
    metadata: &ModuleMetadata,
    sets: &PropertySets<'_>,
    facts: &Facts,
) -> Result<(), String> {
    if native::is_native(image, facts) {
        native::check(image, metadata, sets, &[], facts)
    } else {
        code::code(image, facts).map(drop)
    }
}
