// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin toolchain`: manages pinned components in the home directory.
//!
//! A component consists of wheels from PyPI, which are zip files. Each wheel is processed like this:
//!
//! ```text
//! pins ──pip, or --wheels──▶ wheel ──size, SHA-256──▶ members ──unpack──▶ HOME/.staging/compiler/
//!                                                                  │ MANIFEST, last
//!                                               HOME/compiler/2026.2.0/ ◀──one rename
//! ```
//!
//! An interrupted installation (a wrong hash, a full disk, `kill -9`) leaves at most a staging directory. That
//! directory is never mistaken for an installation, and the next command that writes removes it.

pub mod driver;
pub mod install;
pub mod list;
pub mod manifest;
pub mod pins;
pub mod pip;
pub mod staging;
pub mod wheel;

use std::path::Path;

use syclbin_toolchain::Component;

use crate::error::{Error, Result};

/// Checks whether the pinned wheels support a platform, which is named as in [`std::env::consts`].
///
/// # Errors
///
/// Fails on every platform except x86-64 Linux. The error suggests an alternative.
pub fn supports(os: &str, arch: &str) -> Result<()> {
    if (os, arch) == ("linux", "x86_64") {
        return Ok(());
    }
    Err(Error::Platform {
        os: os.to_owned(),
        arch: arch.to_owned(),
    })
}

/// Returns the components that are installed by default. `nvidia` is included only if an NVIDIA GPU or its driver is
/// present.
#[must_use]
pub fn components() -> Vec<Component> {
    let mut components = Component::ALL.to_vec();
    components.retain(|component| *component != Component::Nvidia || has_nvidia());
    components
}

fn has_nvidia() -> bool {
    // Containers and other systems may lack the kernel module's file, so also check for the library that programs
    // load.
    Path::new("/proc/driver/nvidia/version").exists()
        || has_gpu(Path::new("/sys/bus/pci/devices"))
        || syclbin_rt::Device::select("cuda").is_ok()
}

/// Returns whether any PCI device below `devices` is an NVIDIA display controller.
fn has_gpu(devices: &Path) -> bool {
    let read = |path: &Path, name| std::fs::read_to_string(path.join(name)).unwrap_or_default();
    let entries = std::fs::read_dir(devices).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|device| {
        read(&device, "vendor").trim() == "0x10de" && read(&device, "class").starts_with("0x03")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_platform_is_told_the_other_way() {
        assert!(supports("linux", "x86_64").is_ok());
        for (os, arch) in [
            ("linux", "aarch64"),
            ("macos", "x86_64"),
            ("windows", "x86_64"),
        ] {
            let error = supports(os, arch).unwrap_err().to_string();
            assert!(error.contains(os) && error.contains(arch), "{error}");
            assert!(error.contains("SYCLBIN_CLANG"), "{error}");
        }
    }

    #[test]
    fn nvidia_gpu_is_a_display_controller() {
        let root = tempfile::tempdir().unwrap();
        let add = |name: &str, vendor: &str, class: &str| {
            let device = root.path().join(name);
            std::fs::create_dir(&device).unwrap();
            std::fs::write(device.join("vendor"), vendor).unwrap();
            std::fs::write(device.join("class"), class).unwrap();
        };
        add("0000:00:01.0", "0x8086\n", "0x030000\n");
        add("0000:00:02.0", "0x10de\n", "0x040300\n"); // the audio device of a card
        assert!(!has_gpu(root.path()));
        add("0000:00:03.0", "0x10de\n", "0x030200\n");
        assert!(has_gpu(root.path()));
        assert!(!has_gpu(&root.path().join("none")));
    }
}
