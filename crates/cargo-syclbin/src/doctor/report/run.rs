// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a kernel can be run here.

use syclbin_toolchain::INSTALL_COMMAND;

use super::{Item, bad, good, note};
use crate::doctor::facts::{CpuDevice, Facts};

/// Reports the devices, the device that a program would get, and the result of running a kernel on it.
pub(super) fn run(facts: &Facts) -> Vec<Item> {
    let mut items = Vec::new();
    items.extend(facts.cpu_device.as_ref().map(cpu_device));
    let variable = facts.device_variable.as_ref();
    items.extend(variable.map(|value| note("SYCLBIN_DEVICE", value.clone())));
    let remedy = match (&facts.unsupported, variable) {
        (_, Some(_)) => "unset SYCLBIN_DEVICE, or name a device that is listed here".to_owned(),
        (None, None) => format!(
            "install the driver of your GPU, or run `{INSTALL_COMMAND} --component cpu-device`"
        ),
        (Some(_), None) => "install the driver of your GPU or processor".to_owned(),
    };
    let devices = match &facts.devices.all {
        Ok(devices) => devices.as_slice(),
        Err(reason) => {
            items.push(bad("devices", reason.clone()).with_remedy(&remedy));
            return items;
        }
    };
    for (index, device) in devices.iter().enumerate() {
        let text = format!(
            "{index}: {}, {}, {}",
            device.name, device.platform, device.library
        );
        let takes = match (device.takes_ptx, device.takes_spirv) {
            (true, _) => " (takes PTX)",
            (false, true) => "",
            (false, false) => " (takes neither SPIR-V nor PTX)",
        };
        items.push(match (&facts.run, facts.devices.chosen == Some(index)) {
            (Ok(run), true) => good("device", format!("{text} (chosen: {})", run.reason)),
            _ => note("device", format!("{text}{takes}")),
        });
    }
    let skipped = facts.run.iter().flat_map(|run| &run.skipped);
    items.extend(skipped.map(|skipped| note("skipped", skipped.clone())));
    let source = match facts.trial {
        Some(Ok(_)) => "that was compiled here",
        _ => "that is shipped with this program",
    };
    items.push(match &facts.run {
        Ok(run) if run.is_right => {
            good("trial", format!("ran a kernel {source} on {}", run.device))
        }
        Ok(run) => bad(
            "trial",
            format!("a kernel {source} had a wrong result on {}", run.device),
        )
        .with_remedy("update the driver of the device, or set SYCLBIN_DEVICE to another one"),
        Err(problem) => bad(
            "trial",
            format!("running a kernel {source} failed: {problem}"),
        )
        .with_remedy(&remedy),
    });
    items
}

fn cpu_device(device: &CpuDevice) -> Item {
    let text = format!("{}, {}", device.version, device.library.display());
    match &device.damage {
        None => note("CPU device", text),
        // Another device may work, so this alone does not affect the verdict.
        Some(problem) => note("CPU device", format!("{text}, damaged: {problem}"))
            .with_remedy(&format!("run `{INSTALL_COMMAND} --component cpu-device`")),
    }
}
