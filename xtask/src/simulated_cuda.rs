// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulated CUDA driver, which tests the CUDA backend on machines without an NVIDIA GPU.

use std::process::Command;

use crate::steps::{Result, cargo, step, target_folder};

/// The variable that configures the simulated GPU, for example with `sm=50`.
pub(crate) const SETTINGS: &str = "SYCLBIN_SIMULATED_CUDA";

pub(crate) fn build() -> Result<()> {
    let build = ["build", "--quiet", "--package", "simulated-cuda"];
    step("simulated CUDA", cargo().args(build))
}

/// Returns `command` with the simulation in place of NVIDIA's driver.
pub(crate) fn with(command: &Command) -> Result<Command> {
    let program = target_folder()?.join("debug").join("with-simulated-cuda");
    let mut with = Command::new(program);
    with.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        with.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => with.env(name, value),
            None => with.env_remove(name),
        };
    }
    Ok(with)
}
