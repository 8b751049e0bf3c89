// SPDX-License-Identifier: MIT OR Apache-2.0
//! The components that are useful on this machine.

use std::path::Path;

use syclbin_toolchain::Component;

/// Returns what is installed by default. It leaves out `nvidia` on a machine that has neither an NVIDIA GPU nor its
/// driver.
#[must_use]
pub fn components() -> Vec<Component> {
    let mut components = Component::ALL.to_vec();
    components.retain(|component| *component != Component::Nvidia || has_nvidia());
    components
}

/// Returns whether there is an NVIDIA GPU, or a driver for one.
fn has_nvidia() -> bool {
    // Checks for the kernel module first; then, for containers and other systems, for the library that programs
    // load.
    Path::new("/proc/driver/nvidia/version").exists()
        || has_gpu(Path::new("/sys/bus/pci/devices"))
        || syclbin_rt::Device::select("cuda").is_ok()
}

/// Returns whether any PCI device in a directory of `/sys` is an NVIDIA display controller.
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
