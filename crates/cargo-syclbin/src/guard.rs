// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin guard`: runs a command, such as `cargo test`, so that out-of-bounds accesses or races of kernels are
//! errors.
//!
//! The runtime detects them (`SYCLBIN_GUARD`). Unless a buffer consists of whole pages, only one side of it can border on
//! an inaccessible page, so the command runs once for each side.

use std::ffi::OsString;
use std::process::Command;

use clap::Args;

use crate::doctor::DEVICE_VARIABLE;
use crate::error::{Error, Result};
use crate::ui::complain;

const GUARD_VARIABLE: &str = "SYCLBIN_GUARD";

/// Options of `cargo syclbin guard`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Instead, look for results that depend on the order of work-groups
    #[arg(long)]
    pub races: bool,
    /// The command and its arguments, such as `cargo test`
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

/// Runs the command once for each side of the buffers, or once to look for races, and returns whether it succeeded each
/// time. Uses the CPU device unless `SYCLBIN_DEVICE` is set.
///
/// # Errors
///
/// Fails if the command cannot be started.
pub fn run(options: &Options) -> Result<bool> {
    let Some((program, arguments)) = options.command.split_first() else {
        return Ok(true); // clap requires at least one word
    };
    let mut failed = Vec::new();
    let mut modes = vec!["end", "start"];
    if options.races {
        modes = vec!["races"];
    }
    for mode in modes {
        if !options.races {
            complain(format_args!("guarding the {mode} of each buffer"));
        }
        let mut command = Command::new(program);
        command.args(arguments).env(GUARD_VARIABLE, mode);
        if std::env::var_os(DEVICE_VARIABLE).is_none_or(|device| device.is_empty()) {
            command.env(DEVICE_VARIABLE, "cpu");
        }
        let status = command.status();
        let status = status.map_err(|error| Error::Start(program.into(), error))?;
        if !status.success() {
            complain(format_args!("the command failed ({status})"));
            failed.push(mode);
        }
    }
    match failed[..] {
        _ if options.races => {}
        [] => complain("the command succeeded both times"),
        [side] => complain(format_args!("only the run that guards the {side} failed")),
        _ => {
            complain("both runs failed; if the command also fails without `guard`, fix that first");
        }
    }
    Ok(failed.is_empty())
}
