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
//! directory is never mistaken for an installation, and the next command that changes the home directory removes it.

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
use syclbin_toolchain::file::paths_in;

use self::pins::{ALL, ComponentPin};
use crate::error::{Error, Result};

/// Returns the pins of `components`. If `components` is empty, returns those of the compiler and the CPU device, where
/// available, and those of `nvidia` if an NVIDIA GPU or its driver is present.
///
/// # Errors
///
/// Fails if one of `components`, or every component, is unavailable for this system. The error suggests alternatives.
pub fn pins_of(components: &[Component]) -> Result<Vec<ComponentPin>> {
    pins_among(ALL.clone(), components)
}

/// Like [`pins_of`], but for a system whose available components are `pins`.
fn pins_among(mut pins: Vec<ComponentPin>, components: &[Component]) -> Result<Vec<ComponentPin>> {
    let exists = |component: &Component| pins.iter().any(|pin| pin.component == *component);
    let lacking = components.iter().find(|component| !exists(component));
    if lacking.is_some() || pins.is_empty() {
        return Err(Error::Platform(lacking.copied()));
    }
    let is_wanted = |component| match component {
        _ if !components.is_empty() => components.contains(&component),
        Component::Compiler | Component::CpuDevice => true,
        Component::Nvidia => has_nvidia(),
        Component::OneapiHeaders => false,
    };
    pins.retain(|pin| is_wanted(pin.component));
    Ok(pins)
}

fn has_nvidia() -> bool {
    // Loads no driver, because a damaged driver could crash the program that is about to replace it. Containers may
    // lack some of these files.
    let files = [
        "/proc/driver/nvidia/version",
        "/dev/nvidiactl",
        "/usr/lib/wsl/lib/libcuda.so.1",
    ];
    files.iter().any(|file| Path::new(file).exists()) || has_gpu(Path::new("/sys/bus/pci/devices"))
}

/// Returns whether any PCI device below `devices` is an NVIDIA display controller.
fn has_gpu(devices: &Path) -> bool {
    let read = |path: &Path, name| std::fs::read_to_string(path.join(name)).unwrap_or_default();
    paths_in(devices).any(|device| {
        read(&device, "vendor").trim() == "0x10de" && read(&device, "class").starts_with("0x03")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_components_name_the_alternatives() {
        let text = |component| Error::Platform(component).to_string();
        for component in Component::ALL.map(Some).into_iter().chain([None]) {
            let text = text(component);
            let named = component.map_or("no component", Component::name);
            assert!(
                text.starts_with(named) && text.contains(std::env::consts::OS),
                "{text}"
            );
        }
        assert!(text(Some(Component::CpuDevice)).contains(syclbin_toolchain::GET_CPU_DRIVER));
        assert!(text(Some(Component::Compiler)).contains("SYCLBIN_CLANG"));
        assert!(text(None).contains("on the CPU") && text(None).contains("SYCLBIN_CLANG"));
    }

    #[test]
    fn unavailable_component_is_refused() {
        let among = |os, arch, wanted: &[Component]| match pins_among(pins::of(os, arch), wanted) {
            Ok(pins) => Ok(pins.iter().map(|pin| pin.component).collect::<Vec<_>>()),
            Err(Error::Platform(lacking)) => Err(lacking),
            Err(other) => panic!("{other}"),
        };
        assert_eq!(among("linux", "aarch64", &[]), Err(None));
        let nvidia = [Component::Nvidia];
        assert_eq!(
            among("windows", "x86_64", &nvidia),
            Err(Some(Component::Nvidia))
        );
        assert_eq!(among("linux", "x86_64", &nvidia), Ok(nvidia.to_vec()));
        let default = [Component::Compiler, Component::CpuDevice];
        assert_eq!(among("windows", "x86_64", &[]), Ok(default.to_vec()));
        let on_linux = among("linux", "x86_64", &[]).unwrap();
        assert!(!on_linux.contains(&Component::OneapiHeaders));
        assert_eq!(ALL.is_empty(), !syclbin_toolchain::HAS_COMPONENTS);
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
