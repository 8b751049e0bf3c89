// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulated CUDA driver: a machine without an NVIDIA GPU tests the other backend with it.

use std::process::Command;

use crate::steps::{Result, cargo, step, target_folder};

/// The variable that says which GPU is simulated: `sm=50`, for instance.
pub(crate) const SETTINGS: &str = "SYCLBIN_SIMULATED_CUDA";

/// Builds it.
pub(crate) fn build() -> Result<()> {
    let build = ["build", "--quiet", "--package", "simulated-cuda"];
    step("simulated CUDA", cargo().args(build))
}

/// `command`, run where NVIDIA's driver is the simulation.
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
