// SPDX-License-Identifier: MIT OR Apache-2.0
//! Chooses the best device, and explains the choice.
//!
//! All functions here are pure: they receive devices as [`Facts`].

#[cfg(test)]
#[path = "best_tests.rs"]
pub(crate) mod tests;

use crate::backend::facts::{DeviceKind, Facts};
use crate::load::coverage::Coverage;

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
    let Some((chosen, _)) = devices.get(chosen) else {
        return String::new();
    };
    let better: &[DeviceKind] = match chosen.kind {
        DeviceKind::Gpu => &[],
        DeviceKind::Accelerator => &[DeviceKind::Gpu],
        DeviceKind::Cpu | DeviceKind::Other => &[DeviceKind::Gpu, DeviceKind::Accelerator],
    };
    let reason = |kind: &DeviceKind| {
        let mut of_kind = devices.iter().filter(|(facts, _)| facts.kind == *kind);
        let ordinary = of_kind.clone().any(|(facts, _)| is_ordinary(facts));
        match (of_kind.next(), ordinary) {
            (None, _) => format!("no {kind} was found"),
            (Some(_), false) => format!("no {kind} can run SYCLBIN kernels"),
            (Some(_), true) => format!("the file has no code for the {kind}"),
        }
    };
    let mut reasons: Vec<String> = better.iter().map(reason).collect();
    reasons.push(format!(
        "it is the first {} that can run SYCLBIN kernels",
        chosen.kind
    ));
    reasons.join("; ")
}

/// Returns the devices that would be preferred to device `chosen` if the file had complete code for them.
pub(crate) fn skipped(devices: &[(&Facts, Coverage)], chosen: usize) -> Vec<usize> {
    let order = |index: usize, facts: &Facts| (rank(facts), index);
    let Some((own, fit)) = devices.get(chosen) else {
        return Vec::new();
    };
    let skipped = devices
        .iter()
        .enumerate()
        .filter(|(index, (facts, other))| {
            is_ordinary(facts)
                && other.rank() > fit.rank()
                && order(*index, facts) < order(chosen, own)
        });
    skipped.map(|(index, _)| index).collect()
}

/// Returns the first device of the most preferred kind. Considers other devices only if no device runs general
/// kernels.
pub(crate) fn first_of_best_rank<'a>(
    devices: impl Iterator<Item = (usize, &'a &'a Facts)>,
) -> Option<usize> {
    // `min_by_key` returns the first minimum, so the order of `Device::all()` breaks ties.
    devices
        .min_by_key(|(_, facts)| (!is_ordinary(facts), rank(facts)))
        .map(|(index, _)| index)
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

/// Returns whether the device runs general kernels, unlike OpenCL's "custom" devices.
fn is_ordinary(facts: &Facts) -> bool {
    facts.is_usable() && facts.kind != DeviceKind::Other
}
