// SPDX-License-Identifier: MIT OR Apache-2.0
//! Native images for CUDA: the checks that select images for a device without its driver.

use syclbin::cubin::{self, EntryKind};
use syclbin::metadata::{ModuleMetadata, Target};
use syclbin::ptx;
use syclbin::{Image, ImageKind};

use crate::device::facts::PtxFacts;

/// The prefix of the variables that code for CUDA has for specialization constants.
const CONSTANT: &str = "__syclbin_constant_";

/// Checks whether a native image, a cubin or a fat binary, may be passed to the driver of the device.
///
/// # Errors
///
/// Says in words why not.
pub(crate) fn check(
    image: &Image<'_>,
    metadata: &ModuleMetadata,
    takes: PtxFacts,
) -> Result<(), String> {
    let ImageKind::Native { arch, target } = image.kind() else {
        return Err("it is not native code".to_owned());
    };
    match Target::of_triple(target) {
        // Files from before July 2025 have no target.
        Target::Nvptx64 | Target::Other("") => {}
        _ => return Err(format!("{target} is not code for CUDA")),
    }
    let imports: Vec<&str> = metadata.imported_symbols.names().collect();
    if !imports.is_empty() {
        return Err(format!(
            "it imports {}, and native code is not linked when it is loaded",
            imports.join(", ")
        ));
    }
    check_code(arch, &image.bytes, takes)
}

/// Returns whether PTX or native code has variables for its specialization constants, as `syclbin-clang` makes them.
pub(crate) fn has_constants(code: &[u8]) -> bool {
    let mut windows = code.windows(CONSTANT.len());
    windows.any(|window| window == CONSTANT.as_bytes())
}

/// Checks whether something in a cubin or a fat binary runs on the device.
fn check_code(arch: &str, bytes: &[u8], takes: PtxFacts) -> Result<(), String> {
    let (major, minor) = (takes.sm / 10, takes.sm % 10);
    let device = format!("the device is sm_{}", takes.sm);
    if bytes.starts_with(b"\x7fELF") {
        // The flags of a cubin do not distinguish `sm_90a` from `sm_90`.
        let found = cubin::target(bytes).map_err(|error| error.to_string())?;
        let said = ptx::Target::parse(arch).filter(|said| said.number == found.number);
        let target = said.unwrap_or(found);
        return if target.native_runs_on(major, minor) {
            Ok(())
        } else {
            Err(format!("it is for {target}, and {device}"))
        };
    }
    let entries = cubin::entries(bytes).map_err(|error| error.to_string())?;
    let mut held = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| error.to_string())?;
        let (what, runs) = match entry.kind {
            EntryKind::Elf => ("", entry.target.native_runs_on(major, minor)),
            EntryKind::Ptx => ("PTX for ", entry.target.ptx_runs_on(major, minor)),
            // The driver checks its content.
            _ => return Ok(()),
        };
        if runs {
            return Ok(());
        }
        held.push(format!("{what}{}", entry.target));
    }
    if held.is_empty() {
        Err("it is a fat binary without code".to_owned())
    } else {
        Err(format!("it has {}, and {device}", held.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds an ELF file for CUDA, with only the parts that are checked.
    fn cubin(sm: u32) -> Vec<u8> {
        let mut elf = vec![0u8; 64];
        elf[..9].copy_from_slice(b"\x7fELF\x02\x01\x01\x41\x08");
        elf[18] = 190;
        elf[48..52].copy_from_slice(&(sm << 8).to_le_bytes());
        elf
    }

    fn on(sm: u32) -> PtxFacts {
        PtxFacts {
            sm,
            ptx: (8, 4),
            driver: 12040,
        }
    }

    fn judged(arch: &str, target: &str, bytes: Vec<u8>, sm: u32) -> Result<(), String> {
        let image = Image::native(arch, target, bytes);
        check(&image, &ModuleMetadata::default(), on(sm))
    }

    const TARGET: &str = "nvptx64-nvidia-cuda";

    #[test]
    fn cubin_runs_on_newer_minor_versions() {
        assert_eq!(judged("sm_80", TARGET, cubin(80), 80), Ok(()));
        assert_eq!(judged("sm_80", TARGET, cubin(80), 89), Ok(()));
        assert_eq!(judged("", "", cubin(80), 80), Ok(()));
        assert_eq!(
            judged("sm_80", TARGET, cubin(80), 90).unwrap_err(),
            "it is for sm_80, and the device is sm_90"
        );
        assert_eq!(
            judged("sm_89", TARGET, cubin(89), 80).unwrap_err(),
            "it is for sm_89, and the device is sm_80"
        );
        // The file's own entry narrows it down, if it has that number.
        let narrow = judged("sm_90a", TARGET, cubin(90), 91).unwrap_err();
        assert_eq!(narrow, "it is for sm_90a, and the device is sm_91");
        assert_eq!(
            judged("sm_75", TARGET, cubin(90), 75).unwrap_err(),
            "it is for sm_90, and the device is sm_75"
        );
    }

    #[test]
    fn other_code_and_damage_are_named() {
        let x86 = judged("", "spir64_x86_64-unknown-unknown", cubin(80), 80).unwrap_err();
        assert_eq!(x86, "spir64_x86_64-unknown-unknown is not code for CUDA");
        assert!(judged("sm_80", TARGET, b"\x7fELF".to_vec(), 80).is_err());
        assert!(judged("sm_80", TARGET, b"nothing".to_vec(), 80).is_err());
        assert!(judged("sm_80", TARGET, Vec::new(), 80).is_err());
    }

    #[test]
    fn imports_of_native_code_are_refused() {
        let mut metadata = ModuleMetadata::default();
        let image = Image::native("sm_80", TARGET, cubin(80));
        metadata.imported_symbols.values.insert("_Z5shapef", 1);
        let imports = check(&image, &metadata, on(80)).unwrap_err();
        assert!(imports.starts_with("it imports _Z5shapef"), "{imports}");
    }
}
