// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Machine`]: the machine of a run, without its device.

use std::env::consts::ARCH;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// The operating system and the processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The distribution, if `/etc/os-release` names it.
    pub system: Option<String>,
    /// The name and the version of the kernel.
    pub kernel: String,
    /// The C library and its version, if `getconf` reports them.
    pub libc: Option<String>,
    /// The processor, if `/proc/cpuinfo` names it.
    pub processor: Option<String>,
    /// The number of hardware threads.
    pub threads: usize,
}

impl Machine {
    /// Describes this machine.
    #[must_use]
    pub fn this() -> Self {
        let kernel = ["ostype", "osrelease"].map(|name| {
            let value = std::fs::read_to_string(format!("/proc/sys/kernel/{name}"));
            value.unwrap_or_else(|_| "unknown".to_owned())
        });
        let getconf = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
        let libc = getconf.ok().filter(|output| output.status.success());
        Self {
            system: field("/etc/os-release", "PRETTY_NAME=")
                .map(|name| name.trim_matches('"').to_owned()),
            kernel: format!("{} {} {ARCH}", kernel[0].trim(), kernel[1].trim()),
            libc: libc.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            processor: field("/proc/cpuinfo", "model name")
                .map(|name| name.trim_start_matches([' ', '\t', ':']).to_owned()),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// Returns the rest of the first line that begins with `key`.
fn field(path: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let mut lines = text.lines();
    lines.find_map(|line| Some(line.strip_prefix(key)?.trim().to_owned()))
}
