// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decides whether a device accepts a native image, without calling the driver.
//!
//! Drivers reject code from another driver, and some crash the process on damaged code. So the metadata and the
//! container are checked first: the target and architecture in the file, and whether the code is a complete ELF file
//! for the right machine.

use std::fmt;

use syclbin::__private::listed;
use syclbin::architecture::{Architecture, Family};
use syclbin::cubin::{self, EntryKind};
use syclbin::metadata::{ModuleMetadata, Target};
use syclbin::property::{PropertySets, set};
use syclbin::{Content, Image, ImageKind, Value, ptx};

use crate::backend::facts::{DeviceKind, Facts, PtxFacts};
use crate::load::constants::{self, Values};
use crate::load::{code, requirements};

/// The name prefix of the variables that hold specialization constants in CUDA code.
const CONSTANT: &str = "__syclbin_constant_";

/// Values of the ELF field `e_machine`: x86-64 and Intel GPUs.
const EM_X86_64: u16 = 62;
const EM_INTELGT: u16 = 205;

const ELF: &[u8] = b"\x7fELF";

/// Returns whether an image contains native code, which drivers do not compile. If the device accepts PTX, PTX does not
/// count as native, even if the file labels it as native code.
pub(crate) fn is_native(image: &Image<'_>, facts: &Facts) -> bool {
    image.native && !(facts.ptx.is_some() && image.is_ptx())
}

/// Checks whether a native image may be passed to the device's driver.
///
/// `sets` are the properties of the image's module, and `values` the values that were set for specialization constants.
///
/// # Errors
///
/// Returns the reason as text.
pub(crate) fn check(
    image: &Image<'_>,
    metadata: &ModuleMetadata,
    sets: &PropertySets<'_>,
    values: &Values,
    facts: &Facts,
) -> Result<(), String> {
    let ImageKind::Native { arch, target } = image.kind() else {
        return Err("it is not native code".to_owned());
    };
    check_target(target, facts)?;
    if facts.ptx.is_none() {
        check_architecture(arch, facts)?;
    }
    let imports = listed(metadata.imported_symbols.names());
    if !imports.is_empty() {
        return Err(format!(
            "it imports {imports}, but native code cannot be linked at load time"
        ));
    }
    constants::check(image, metadata, values, facts)?;
    if let Some(takes) = facts.ptx {
        return check_cubin(arch, &image.bytes, takes);
    }
    let saved_on = SavedOn::read(image, sets);
    if let (None, Some(system)) = (&saved_on, &facts.other_system) {
        // CPU code without a record of its device is Linux code: it calls Linux functions and follows the Linux calling
        // convention.
        return Err(format!(
            "it is CPU code for x86-64 Linux, but this program runs on {system}"
        ));
    }
    let (device, is_elf) = (SavedOn::device(facts), image.bytes.starts_with(ELF));
    match saved_on {
        // If the code is not an ELF file, only the driver can check it.
        Some(saved_on) if saved_on == device && !is_elf => Ok(()),
        Some(saved_on) if saved_on == device => elf_machine(&image.bytes).map(drop),
        // Drivers recognize their own ELF files, even from other driver versions or for a less capable device. So only
        // code from other platforms and code in other formats is rejected here.
        Some(saved_on) if saved_on.platform != device.platform || !is_elf => Err(format!(
            "it was saved on {saved_on}, but the device is {device}"
        )),
        _ => check_binary(&image.bytes, facts),
    }
}

fn check_target(target: &str, facts: &Facts) -> Result<(), String> {
    let target_kind = Target::of_triple(target);
    if facts.ptx.is_some() {
        return match target_kind {
            Target::Nvptx64 | Target::Other("") => Ok(()),
            _ => Err(format!("{target} code does not run on CUDA devices")),
        };
    }
    code::check_fpga(target)?;
    let fits = match target_kind {
        // Runtimes record this target for code from a driver; files from before July 2025 record none.
        Target::Spir64 | Target::Other("") => true,
        Target::Spir64X86_64 => facts.kind == DeviceKind::Cpu,
        Target::Spir64Gen => facts.kind == DeviceKind::Gpu,
        _ => false,
    };
    if fits {
        return Ok(());
    }
    let kind = facts.kind;
    Err(format!("{target} code does not run on an OpenCL {kind}"))
}

fn check_architecture(arch: &str, facts: &Facts) -> Result<(), String> {
    // The compiler option for Intel's GPUs accepts a list of architectures, or `*` for all. The driver checks names
    // that this crate does not know.
    let named = arch.split([',', ' ']).filter(|name| !name.is_empty());
    let known: Vec<Architecture> = named.flat_map(Architecture::members).collect();
    let fits = |architecture: &Architecture| match architecture.family() {
        // The driver detects code that needs a newer CPU.
        Family::Cpu => facts.kind == DeviceKind::Cpu,
        Family::IntelGpu => match facts.architecture {
            Some(device) => device == *architecture,
            None => facts.kind == DeviceKind::Gpu,
        },
        Family::Unknown | Family::Other(_) => true,
        _ => false,
    };
    if known.is_empty() || arch.contains('*') || known.iter().any(fits) {
        return Ok(());
    }
    let device = requirements::architecture(facts);
    Err(format!("it is for {arch}, but the device is {device}"))
}

fn check_binary(bytes: &[u8], facts: &Facts) -> Result<(), String> {
    let machine = match facts.kind {
        DeviceKind::Cpu => EM_X86_64,
        // An archive of binaries for several Intel GPUs.
        DeviceKind::Gpu if Content::of(bytes) == Content::Archive => return Ok(()),
        DeviceKind::Gpu => EM_INTELGT,
        _ => return Err("this device's native code format is unknown".to_owned()),
    };
    match elf_machine(bytes)? {
        found if found == machine => Ok(()),
        found => Err(format!(
            "it is an ELF file for machine {found}, but the device requires machine {machine}"
        )),
    }
}

/// Returns the machine number (`e_machine`) of an ELF file, after checking that all sections lie inside the file.
fn elf_machine(bytes: &[u8]) -> Result<u16, String> {
    const SHT_NOBITS: u32 = 8;
    let damaged = |what: &str| Err(format!("it is a damaged ELF file: {what}"));
    let Some(rest) = bytes.strip_prefix(ELF) else {
        return Err("it is stored as native code, but is not an ELF file".to_owned());
    };
    if !rest.starts_with(&[2, 1]) {
        return Err("it is a 32-bit or big-endian ELF file".to_owned());
    }
    let half = |at| read(bytes, at).map(u16::from_le_bytes);
    let word = |at| read(bytes, at).map(u64::from_le_bytes);
    let (Some(machine), Some(table), Some(size), Some(count)) =
        (half(18), word(40), half(58), half(60))
    else {
        return damaged("its header is truncated");
    };
    let is_inside = |index: u16| {
        let at = table.checked_add(u64::from(index) * u64::from(size))?;
        let field = |offset| usize::try_from(at.checked_add(offset)?).ok();
        let kind = read(bytes, field(4)?).map(u32::from_le_bytes)?;
        let end = word(field(24)?)?.checked_add(word(field(32)?)?)?;
        Some(kind == SHT_NOBITS || end <= bytes.len() as u64)
    };
    if !(0..count).all(|index| is_inside(index) == Some(true)) {
        return damaged("a section extends beyond the end of the file");
    }
    match count {
        0 => damaged("it has no sections"),
        _ => Ok(machine),
    }
}

fn read<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Returns whether PTX or native code contains variables for its specialization constants, as `syclbin-clang` generates
/// them.
pub(crate) fn has_constants(code: &[u8]) -> bool {
    let mut windows = code.windows(CONSTANT.len());
    windows.any(|window| window == CONSTANT.as_bytes())
}

/// Checks whether any code in a cubin or a fat binary runs on the device.
fn check_cubin(arch: &str, bytes: &[u8], takes: PtxFacts) -> Result<(), String> {
    let (major, minor) = (takes.sm / 10, takes.sm % 10);
    let device = format!("the device is sm_{}", takes.sm);
    if bytes.starts_with(ELF) {
        // The flags of a cubin do not distinguish `sm_90a` from `sm_90`, so use the architecture that the file records
        // if its number matches.
        let found = cubin::target(bytes).map_err(|error| error.to_string())?;
        let said = ptx::Target::parse(arch).filter(|said| said.number == found.number);
        let target = said.unwrap_or(found);
        if target.native_runs_on(major, minor) {
            return Ok(());
        }
        return Err(format!("it is for {target}, but {device}"));
    }
    let entries = cubin::entries(bytes).map_err(|error| error.to_string())?;
    let mut held = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| error.to_string())?;
        let (what, runs) = match entry.kind {
            EntryKind::Elf => ("", entry.target.native_runs_on(major, minor)),
            EntryKind::Ptx => ("PTX for ", entry.target.ptx_runs_on(major, minor)),
            // Only the driver can check entries of other kinds.
            _ => return Ok(()),
        };
        if runs {
            return Ok(());
        }
        held.push(format!("{what}{}", entry.target));
    }
    Err(match held.join(", ") {
        held if held.is_empty() => "it is an empty fat binary".to_owned(),
        held => format!("it contains {held}, but {device}"),
    })
}

const PLATFORM: &str = "platform";
const DEVICE: &str = "device";
const DRIVER: &str = "driver";

/// The device and the driver on which native code was saved. The code's format is specific to the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SavedOn {
    pub(crate) platform: String,
    device: String,
    driver: String,
}

impl SavedOn {
    pub(crate) fn device(facts: &Facts) -> Self {
        let platform = &facts.platform;
        Self {
            // A driver has the same name and version on every system, but its CPU code differs between systems.
            platform: match &facts.other_system {
                Some(system) => format!("{platform} on {system}"),
                None => platform.clone(),
            },
            device: facts.name.clone(),
            driver: facts.driver_version.clone(),
        }
    }

    /// Reads the device that a runtime recorded for a native image, if any. Files for several devices store the
    /// device in the image's properties, other files in the module's properties.
    pub(crate) fn read(image: &Image<'_>, of_module: &PropertySets<'_>) -> Option<Self> {
        Self::of_sets(&image.metadata).or_else(|| Self::of_sets(of_module))
    }

    fn of_sets(sets: &PropertySets<'_>) -> Option<Self> {
        let text = |key| sets.get(set::NATIVE_CODE, key)?.as_str().map(str::to_owned);
        Some(Self {
            platform: text(PLATFORM)?,
            device: text(DEVICE)?,
            driver: text(DRIVER)?,
        })
    }

    pub(crate) fn write(&self, sets: &mut PropertySets<'_>) {
        for (key, text) in [
            (PLATFORM, &self.platform),
            (DEVICE, &self.device),
            (DRIVER, &self.driver),
        ] {
            sets.insert(set::NATIVE_CODE, key, Value::from(text.as_str()));
        }
    }
}

impl fmt::Display for SavedOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (platform, device, driver) = (&self.platform, &self.device, &self.driver);
        write!(f, "{device} ({platform}, driver {driver})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu() -> Facts {
        Facts {
            kind: DeviceKind::Cpu,
            architecture: Architecture::from_name("x86_64"),
            ..Facts::default()
        }
    }

    /// Returns the native image of a file that the reference runtime wrote.
    fn image() -> Image<'static> {
        let bytes = test_files::read("export_side.executable.syclbin");
        let file = syclbin::read::parse(&bytes).unwrap().into_owned();
        file.modules.into_iter().next().unwrap().images.remove(0)
    }

    fn checked(image: &Image<'_>, facts: &Facts) -> Result<(), String> {
        check(
            image,
            &ModuleMetadata::default(),
            &PropertySets::default(),
            &Values::new(),
            facts,
        )
    }

    fn native(arch: &str, target: &str) -> Image<'static> {
        Image::native(arch, target, image().bytes)
    }

    #[test]
    fn reference_runtime_image_is_for_cpus() {
        assert_eq!(checked(&image(), &cpu()), Ok(()));
        let gpu = Facts {
            kind: DeviceKind::Gpu,
            ..Facts::default()
        };
        let message = checked(&image(), &gpu).unwrap_err();
        assert!(message.starts_with("it is for x86_64, but"), "{message}");
    }

    #[test]
    fn recorded_target_and_architecture_decide() {
        let fits = |arch, target| checked(&native(arch, target), &cpu()).is_ok();
        assert!(fits("corei7", "spir64_x86_64-unknown-unknown"));
        assert!(fits("", "") && fits("made up", "spir64-unknown-unknown"));
        assert!(!fits("", "spir64_gen-unknown-unknown"));
        assert!(!fits("sm_90", "nvptx64-nvidia-cuda"));
        assert!(!fits("pvc", "spir64-unknown-unknown"));
        let message = checked(&native("pvc,dg2", ""), &cpu()).unwrap_err();
        assert_eq!(message, "it is for pvc,dg2, but the device is x86_64");
        assert!(fits("unknown", ""), "the driver decides");
    }

    #[test]
    fn gpus_of_unknown_architecture_take_gpu_code() {
        let mut elf = image().bytes.to_vec();
        elf[18..20].copy_from_slice(&EM_INTELGT.to_le_bytes());
        let taken = |arch, code: &[u8], kind| {
            let facts = Facts {
                kind,
                ..Facts::default()
            };
            checked(&Image::native(arch, "", code.to_vec()), &facts)
        };
        assert_eq!(taken("pvc", &elf, DeviceKind::Gpu), Ok(()));
        assert!(taken("pvc", &elf, DeviceKind::Cpu).is_err());
        assert_eq!(
            taken("", &image().bytes, DeviceKind::Gpu).unwrap_err(),
            "it is an ELF file for machine 62, but the device requires machine 205"
        );
    }

    #[test]
    fn family_is_for_its_members() {
        let bytes = [b"!<arch>\n".as_slice(), &[0; 64]].concat();
        let taken = |arch, device: &str| {
            let gpu = Facts {
                kind: DeviceKind::Gpu,
                architecture: Architecture::from_name(device),
                ..Facts::default()
            };
            let image = Image::native(arch, "spir64_gen-unknown-unknown", bytes.clone());
            checked(&image, &gpu).is_ok()
        };
        assert!(taken("bmg", "bmg_g21") && taken("intel_gpu_bmg", "bmg_g31"));
        assert!(!taken("bmg", "pvc") && !taken("dg2,mtl", "ptl_h"));
        assert!(taken("dg2,mtl", "acm_g11") && taken("ptl", "ptl_u"));
    }

    #[test]
    fn every_truncation_is_told_from_a_whole_file() {
        let whole = image();
        assert_eq!(elf_machine(&whole.bytes), Ok(EM_X86_64));
        for len in 0..whole.bytes.len() {
            assert!(elf_machine(&whole.bytes[..len]).is_err(), "{len}");
        }
        let mut empty = whole.bytes[..64].to_vec();
        empty[60..62].fill(0);
        assert_eq!(
            elf_machine(&empty).unwrap_err(),
            "it is a damaged ELF file: it has no sections"
        );
        let mut other = whole.bytes.to_vec();
        other[18] = 183;
        let other = Image::native("", "", other);
        let message = checked(&other, &cpu()).unwrap_err();
        assert!(message.contains("for machine 183"), "{message}");
        let text = Image::native("", "", b"#!/bin/sh".to_vec());
        let message = checked(&text, &cpu()).unwrap_err();
        assert!(message.contains("is not an ELF file"), "{message}");
    }

    #[test]
    fn imports_of_native_code_are_not_linked() {
        let mut metadata = ModuleMetadata::default();
        metadata.imported_symbols.add("_Z5shapef");
        let message = check(
            &image(),
            &metadata,
            &PropertySets::default(),
            &Values::new(),
            &cpu(),
        )
        .unwrap_err();
        assert!(message.starts_with("it imports _Z5shapef"), "{message}");
    }

    #[test]
    fn cpu_code_is_for_its_system() {
        let windows = Facts {
            other_system: Some("x86_64 windows".to_owned()),
            ..cpu()
        };
        let message = "it is CPU code for x86-64 Linux, but this program runs on x86_64 windows";
        assert_eq!(checked(&image(), &windows).unwrap_err(), message);
        for (saver, other) in [(cpu(), windows.clone()), (windows, cpu())] {
            let mut sets = PropertySets::default();
            SavedOn::device(&saver).write(&mut sets);
            let taken = |facts| {
                check(
                    &image(),
                    &ModuleMetadata::default(),
                    &sets,
                    &Values::new(),
                    facts,
                )
            };
            assert_eq!(taken(&saver), Ok(()));
            assert!(taken(&other).unwrap_err().contains("on x86_64 windows"));
        }
    }

    #[test]
    fn saved_code_is_for_its_device_and_driver() {
        let facts = |platform: &str, version: &str| Facts {
            platform: platform.to_owned(),
            name: "a processor".to_owned(),
            driver_version: version.to_owned(),
            ..cpu()
        };
        let own = facts("Portable", "6.0");
        let mut sets = PropertySets::default();
        SavedOn::device(&own).write(&mut sets);
        let taken = |code: &[u8], facts: &Facts| {
            let image = Image::native("x86_64", "spir64-unknown-unknown", code.to_vec());
            check(
                &image,
                &ModuleMetadata::default(),
                &sets,
                &Values::new(),
                facts,
            )
        };
        assert_eq!(taken(b"pocl", &own), Ok(()));
        assert_eq!(taken(&image().bytes, &own), Ok(()));
        // Another kind of processor is the driver's own business.
        let mut other = image().bytes.to_vec();
        other[18] = 183;
        assert_eq!(taken(&other, &own), Ok(()));
        assert!(taken(&other, &facts("Portable", "7.1")).is_err());
        assert!(taken(&image().bytes[..100], &own).is_err());
        assert_eq!(
            taken(b"pocl", &facts("Portable", "7.1")).unwrap_err(),
            "it was saved on a processor (Portable, driver 6.0), but the device is a processor (Portable, \
             driver 7.1)"
        );
        // Intel's driver accepts code from other versions and for less capable processors.
        assert_eq!(taken(&image().bytes, &facts("Portable", "7.1")), Ok(()));
        assert!(taken(&image().bytes, &facts("Intel", "6.0")).is_err());
    }
}

#[cfg(test)]
mod cubin_tests {
    use super::*;

    /// Builds an ELF file for CUDA that contains only the parts that are checked.
    fn cubin(sm: u32) -> Vec<u8> {
        let mut elf = vec![0u8; 64];
        elf[..9].copy_from_slice(b"\x7fELF\x02\x01\x01\x41\x08");
        elf[18] = 190;
        elf[48..52].copy_from_slice(&(sm << 8).to_le_bytes());
        elf
    }

    fn judge(image: &Image<'_>, metadata: &ModuleMetadata, sm: u32) -> Result<(), String> {
        let facts = Facts {
            ptx: Some(PtxFacts {
                sm,
                ptx: (8, 4),
                driver: 12040,
            }),
            ..Facts::default()
        };
        check(
            image,
            metadata,
            &PropertySets::default(),
            &Values::new(),
            &facts,
        )
    }

    fn judged(arch: &str, target: &str, bytes: Vec<u8>, sm: u32) -> Result<(), String> {
        let image = Image::native(arch, target, bytes);
        judge(&image, &ModuleMetadata::default(), sm)
    }

    const TARGET: &str = "nvptx64-nvidia-cuda";

    #[test]
    fn cubin_runs_on_newer_minor_versions() {
        assert_eq!(judged("sm_80", TARGET, cubin(80), 80), Ok(()));
        assert_eq!(judged("sm_80", TARGET, cubin(80), 89), Ok(()));
        assert_eq!(judged("sm_89", TARGET, cubin(89), 89), Ok(()));
        assert_eq!(judged("", "", cubin(80), 80), Ok(()));
        assert_eq!(
            judged("sm_80", TARGET, cubin(80), 90).unwrap_err(),
            "it is for sm_80, but the device is sm_90"
        );
        assert_eq!(
            judged("sm_89", TARGET, cubin(89), 80).unwrap_err(),
            "it is for sm_89, but the device is sm_80"
        );
        // The architecture in the file is more specific, if its number matches.
        let narrow = judged("sm_90a", TARGET, cubin(90), 91).unwrap_err();
        assert_eq!(narrow, "it is for sm_90a, but the device is sm_91");
        assert_eq!(
            judged("sm_75", TARGET, cubin(90), 75).unwrap_err(),
            "it is for sm_90, but the device is sm_75"
        );
    }

    #[test]
    fn other_code_and_damage_are_named() {
        let x86 = judged("", "spir64_x86_64-unknown-unknown", cubin(80), 80).unwrap_err();
        assert_eq!(
            x86,
            "spir64_x86_64-unknown-unknown code does not run on CUDA devices"
        );
        assert!(judged("sm_80", TARGET, b"\x7fELF".to_vec(), 80).is_err());
        assert!(judged("sm_80", TARGET, b"nothing".to_vec(), 80).is_err());
        assert!(judged("sm_80", TARGET, Vec::new(), 80).is_err());
    }

    #[test]
    fn imports_of_native_code_are_refused() {
        let mut metadata = ModuleMetadata::default();
        let image = Image::native("sm_80", TARGET, cubin(80));
        metadata.imported_symbols.values.insert("_Z5shapef", 1);
        let imports = judge(&image, &metadata, 80).unwrap_err();
        assert!(imports.starts_with("it imports _Z5shapef"), "{imports}");
    }

    #[test]
    fn any_fitting_part_of_a_fat_binary_suffices() {
        let fat = |name: &str, sm| judged("", TARGET, test_files::read(name), sm);
        // It contains PTX for `sm_75` and native code for `sm_80`.
        let plain = |sm| fat("nvidia/plain.fatbin", sm);
        assert_eq!(plain(90), Ok(()));
        assert_eq!(plain(75), Ok(()));
        assert_eq!(
            plain(70).unwrap_err(),
            "it contains PTX for sm_75, sm_80, but the device is sm_70"
        );
        // It contains native code for `sm_100f` first.
        let family = fat("nvidia/family.fatbin", 80).unwrap_err();
        assert!(family.starts_with("it contains sm_100f"), "{family}");
        // Only the driver can unpack this.
        assert_eq!(fat("nvidia/several.fatbin", 70), Ok(()));
        let mut empty = test_files::read("nvidia/plain.fatbin")[..16].to_vec();
        empty[8..].fill(0);
        assert_eq!(
            judged("", TARGET, empty, 80).unwrap_err(),
            "it is an empty fat binary"
        );
    }
}
