// SPDX-License-Identifier: MIT OR Apache-2.0
//! Chooses the best device, and explains the choice.
//!
//! All functions here are pure: they receive devices as [`Facts`].

#[cfg(test)]
#[path = "best_tests.rs"]
pub(crate) mod tests;

use std::collections::BTreeSet;

use syclbin::metadata::ModuleMetadata;
use syclbin::{AbstractModule, Syclbin};

use crate::backend::facts::{DeviceKind, Facts};
use crate::load::constants::Values;
use crate::load::{code, native, requirements};

/// Returns the index of the best device. Among the devices with the best [`Coverage`] of the file, prefers a GPU, then
/// an accelerator, then a CPU.
///
/// Never chooses a device of another kind, or a device that cannot run kernels from SYCLBIN files.
pub(crate) fn best(devices: &[(&Facts, Coverage)]) -> Option<usize> {
    let ranked = devices.iter().enumerate();
    let fitting = ranked.filter(|(_, (facts, fit))| is_ordinary(facts) && fit.rank() < 2);
    let chosen = fitting.min_by_key(|(_, (facts, fit))| (fit.rank(), rank(facts)));
    chosen.map(|(index, _)| index)
}

pub(crate) fn reason(devices: &[(&Facts, Coverage)], chosen: usize) -> String {
    let (chosen, _) = &devices[chosen];
    // In the order of `rank`.
    let kinds = [DeviceKind::Gpu, DeviceKind::Accelerator];
    let better = kinds.iter().take(rank(chosen));
    let reason = |kind: &DeviceKind| {
        let mut of_kind = devices.iter().filter(|(facts, _)| facts.kind == *kind);
        let ordinary = of_kind.clone().any(|(facts, _)| is_ordinary(facts));
        match (of_kind.next(), ordinary) {
            (None, _) => format!("no {kind} was found"),
            (Some(_), false) => format!("no {kind} can run SYCLBIN kernels"),
            (Some(_), true) => format!("the {kind} cannot run all kernels of the file"),
        }
    };
    let kind = chosen.kind;
    let first = format!("it is the first {kind} that can run SYCLBIN kernels");
    let reasons: Vec<String> = better.map(reason).chain([first]).collect();
    reasons.join("; ")
}

/// Returns the devices that would be preferred to `chosen`, the best device, if they could run as much of the file.
pub(crate) fn skipped(devices: &[(&Facts, Coverage)], chosen: usize) -> Vec<usize> {
    let (own, _) = &devices[chosen];
    let is_skipped = |index: &usize| {
        let (facts, _) = &devices[*index];
        is_ordinary(facts) && (rank(facts), *index) < (rank(own), chosen)
    };
    (0..devices.len()).filter(is_skipped).collect()
}

/// Returns the first device of the most preferred kind. Considers only devices that can run user-written kernels,
/// unless there are none.
pub(crate) fn first_of_best_rank<'a>(
    devices: impl Iterator<Item = (usize, &'a &'a Facts)>,
) -> Option<usize> {
    // `min_by_key` returns the first minimum, so the order of `Device::all()` breaks ties.
    let first = devices.min_by_key(|(_, facts)| (!is_ordinary(facts), rank(facts)));
    first.map(|(index, _)| index)
}

/// Returns the rank of the device's kind; 0 is the preferred kind.
fn rank(facts: &Facts) -> usize {
    match facts.kind {
        DeviceKind::Gpu => 0,
        DeviceKind::Accelerator => 1,
        DeviceKind::Cpu => 2,
        DeviceKind::Other => 3,
    }
}

/// Returns whether the device can run user-written kernels, unlike OpenCL's "custom" devices.
fn is_ordinary(facts: &Facts) -> bool {
    facts.is_usable() && facts.kind != DeviceKind::Other
}

/// How much of a file a device can run, determined without calling the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// Every kernel has code for the device. The device may still lack an aspect that some kernels require.
    Whole,
    /// Only some kernels have code for the device. The string is the first reason why another kernel does not.
    Partial(String),
    /// The device cannot run any kernel. Contains the reasons.
    Nothing(Vec<String>),
}

impl Coverage {
    /// Determines how much of a file a device can run. Does not resolve imports, because other files may export the
    /// symbols.
    pub(crate) fn of(file: &Syclbin<'_>, facts: &Facts) -> Self {
        // Ignore modules without kernels, which only export symbols to other modules.
        let modules = file.modules.iter().enumerate();
        let modules = modules.filter(|(_, module)| module.kernel_names().next().is_some());
        let mut runs = file.kernel_names().next().is_none();
        let mut with_code = BTreeSet::new();
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
                Err(reasons) => {
                    without_code.push((module, reasons));
                    continue;
                }
            }
            with_code.extend(module.kernel_names());
        }
        // Compilers put code for some targets into a separate module with the same kernels.
        without_code
            .retain(|(module, _)| module.kernel_names().any(|name| !with_code.contains(name)));
        let mut reasons = without_code.into_iter().flat_map(|(_, reasons)| reasons);
        if runs {
            reasons.next().map_or(Self::Whole, Self::Partial)
        } else {
            Self::Nothing(reasons.chain(refused).collect())
        }
    }

    /// Returns the reason why the device cannot run the whole file, or `None` if it can.
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
        let checked = if native::is_native(image, facts) {
            native::check(image, metadata, &module.metadata, &Values::new(), facts)
        } else {
            code::code(image, facts).map(drop)
        };
        let Err(reason) = checked else { return Ok(()) };
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
