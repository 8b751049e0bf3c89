//! Device selection: the grammar of `SYCLBIN_DEVICE`, and the choice among devices with its reason.
//!
//! ```text
//! selector = term { "," term }            the first term that matches a device wins
//! term     = [ backend ":" ] device       without a device, or "*": any
//! backend  = "opencl" | "cuda" | "*"
//! device   = index [ "." part ]           of `Device::all()`, from 0
//!          | kind [ ":" ( index [ "." part ] | text ) ]    the index counts devices of that kind
//!          | text                         a part of the name, vendor or platform
//! kind     = "gpu" | "cpu" | "accelerator" | "*"
//! ```
//!
//! So `opencl:gpu`, `cuda:gpu:0` and `*:gpu` mean the same as in SYCL. After a backend and `*`, an index counts
//! the devices of that backend.
//!
//! Letters match in either case. Everything here is pure: devices come in as [`Facts`].

use crate::device::facts::{DeviceKind, Facts};
use crate::load::coverage::Coverage;

/// A parsed selector: never empty.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Selector(Vec<Term>);

/// One alternative of a selector.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Term {
    backend: Option<&'static str>,
    kind: Option<DeviceKind>,
    pick: Pick,
    /// The number of the part, where the term asks for a part of the device.
    part: Option<usize>,
}

#[derive(Debug, PartialEq, Eq)]
enum Pick {
    /// The best device.
    Any,
    /// The device at this index.
    Index(usize),
    /// The best device with this text, in lower case, in its name, vendor or platform.
    Text(String),
}

/// The backends.
const BACKENDS: [&str; 2] = ["opencl", "cuda"];

/// The backend names that SYCL has beside those.
const OTHER_BACKENDS: [&str; 3] = ["level_zero", "hip", "native_cpu"];

impl Selector {
    /// Parses a selector.
    ///
    /// # Errors
    ///
    /// Says in words which term is wrong and what is allowed.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        text.split(',')
            .map(Term::parse)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Returns the alternatives, the preferred one first.
    pub(crate) fn terms(&self) -> &[Term] {
        &self.0
    }
}

impl Term {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim().to_lowercase();
        let mut parts: Vec<&str> = text.split(':').map(str::trim).collect();
        let mut backend = None;
        if let [first, ..] = parts[..]
            && let Some(known) = BACKENDS.iter().find(|known| **known == first)
        {
            backend = Some(*known);
            parts.remove(0);
        } else if matches!(parts[..], ["*", _, ..]) {
            parts.remove(0);
        } else if let [backend, _, ..] = parts[..]
            && OTHER_BACKENDS.contains(&backend)
        {
            return Err(format!(
                "devices of {backend} are not reached in this version; use opencl:{}",
                parts[1..].join(":")
            ));
        }
        let (kind, pick) = match parts[..] {
            [] | ["*"] => (None, "*"),
            [name] => match kind(name) {
                Some(kind) => (Some(kind), "*"),
                None => (None, name),
            },
            ["*", pick] => (None, pick),
            [name, pick] => match kind(name) {
                Some(kind) => (Some(kind), pick),
                None => {
                    return Err(format!(
                        "{name:?} is not a kind of device; use gpu, cpu or accelerator before the colon"
                    ));
                }
            },
            _ => {
                return Err(format!(
                    "{text:?} has too many colons; the longest form is opencl:gpu:0"
                ));
            }
        };
        if pick.is_empty() {
            return Err(
                "a term is empty; use a kind (gpu, cpu, accelerator), an index or a part of \
                        the name"
                    .to_owned(),
            );
        }
        // A name may contain such numbers, but a number alone is not a name.
        let numbers: Option<Vec<usize>> = pick.split('.').map(|part| part.parse().ok()).collect();
        let (pick, part) = match numbers.as_deref() {
            Some([index]) => (Pick::Index(*index), None),
            Some([index, part]) => (Pick::Index(*index), Some(*part)),
            Some(_) => {
                return Err(format!(
                    "{pick} asks for a part of a part; the longest form is 0.1, for part 1 of device 0"
                ));
            }
            None if pick == "*" => (Pick::Any, None),
            None => (Pick::Text(pick.to_owned()), None),
        };
        Ok(Self {
            backend,
            kind,
            pick,
            part,
        })
    }

    /// Returns the number of the part, where the term asks for a part of the device.
    pub(crate) fn part(&self) -> Option<usize> {
        self.part
    }

    /// Returns whether the term asks for a CUDA device.
    pub(crate) fn is_cuda(&self) -> bool {
        self.backend == Some("cuda")
    }

    /// Returns whether a CPU device can match. The installed CPU driver is not loaded for other terms.
    pub(crate) fn may_be_cpu(&self) -> bool {
        self.kind.is_none_or(|kind| kind == DeviceKind::Cpu)
            && self.backend.is_none_or(|backend| backend == "opencl")
    }

    /// Returns the device that the term selects, as an index into `devices`.
    ///
    /// An index selects that device, even if it cannot run kernels. Otherwise the best match that runs kernels
    /// is chosen. If no match does, the first match is chosen, for the error to name.
    pub(crate) fn choose(&self, devices: &[&Facts]) -> Option<usize> {
        let mut matches = devices
            .iter()
            .enumerate()
            .filter(|(_, facts)| self.kind.is_none_or(|kind| kind == facts.kind))
            .filter(|(_, facts)| (self.backend).is_none_or(|backend| backend == facts.backend()));
        match &self.pick {
            Pick::Index(index) => matches.nth(*index).map(|(index, _)| index),
            Pick::Any => first_of_best_rank(matches),
            Pick::Text(text) => first_of_best_rank(matches.filter(|(_, facts)| {
                [&facts.name, &facts.vendor, &facts.platform]
                    .iter()
                    .any(|field| field.to_lowercase().contains(text))
            })),
        }
    }
}

/// Chooses a device, as an index: among those that fit the file best, a GPU, else an accelerator, else a CPU.
///
/// Devices that cannot run kernels of SYCLBIN files and those of other kinds are never chosen.
pub(crate) fn best(devices: &[(&Facts, Coverage)]) -> Option<usize> {
    let ranked = devices.iter().enumerate();
    let fitting = ranked.filter(|(_, (facts, fit))| is_ordinary(facts) && fit.rank() < 2);
    let chosen = fitting.min_by_key(|(_, (facts, fit))| (fit.rank(), rank(facts)));
    chosen.map(|(index, _)| index)
}

/// Explains why [`best`] chose number `chosen`.
pub(crate) fn reason(devices: &[(&Facts, Coverage)], chosen: usize) -> String {
    let Some((chosen, _)) = devices.get(chosen) else {
        return String::new();
    };
    let better: &[DeviceKind] = match chosen.kind {
        DeviceKind::Gpu => &[],
        DeviceKind::Accelerator => &[DeviceKind::Gpu],
        DeviceKind::Cpu | DeviceKind::Other => &[DeviceKind::Gpu, DeviceKind::Accelerator],
    };
    let reason = |kind: &DeviceKind| {
        let mut of_kind = devices.iter().filter(|(facts, _)| facts.kind == *kind);
        let ordinary = of_kind.clone().any(|(facts, _)| is_ordinary(facts));
        match (of_kind.next(), ordinary) {
            (None, _) => format!("there is no {kind}"),
            (Some(_), false) => format!("no {kind} runs SYCLBIN kernels"),
            (Some(_), true) => format!("the file has no code for the {kind}"),
        }
    };
    let mut reasons: Vec<String> = better.iter().map(reason).collect();
    reasons.push(format!(
        "it is the first {} that runs SYCLBIN kernels",
        chosen.kind
    ));
    reasons.join(", ")
}

/// Returns the devices that would come before number `chosen` if the file had all its code for them.
pub(crate) fn skipped(devices: &[(&Facts, Coverage)], chosen: usize) -> Vec<usize> {
    let order = |index: usize, facts: &Facts| (rank(facts), index);
    let Some((own, fit)) = devices.get(chosen) else {
        return Vec::new();
    };
    let skipped = devices
        .iter()
        .enumerate()
        .filter(|(index, (facts, other))| {
            is_ordinary(facts)
                && other.rank() > fit.rank()
                && order(*index, facts) < order(chosen, own)
        });
    skipped.map(|(index, _)| index).collect()
}

fn first_of_best_rank<'a>(devices: impl Iterator<Item = (usize, &'a &'a Facts)>) -> Option<usize> {
    // `min_by_key` returns the first of equals: the order of `Device::all()` decides last.
    devices
        .min_by_key(|(_, facts)| (!is_ordinary(facts), rank(facts)))
        .map(|(index, _)| index)
}

/// Returns the rank of the device's kind; 0 is the preferred kind.
fn rank(facts: &Facts) -> usize {
    match facts.kind {
        DeviceKind::Gpu => 0,
        DeviceKind::Accelerator => 1,
        DeviceKind::Cpu => 2,
        DeviceKind::Other => 3,
    }
}

/// Returns whether the device runs kernels that were not made for it alone, unlike OpenCL's "custom" devices.
fn is_ordinary(facts: &Facts) -> bool {
    facts.is_usable() && facts.kind != DeviceKind::Other
}

fn kind(name: &str) -> Option<DeviceKind> {
    match name {
        "gpu" => Some(DeviceKind::Gpu),
        "cpu" => Some(DeviceKind::Cpu),
        "accelerator" => Some(DeviceKind::Accelerator),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use syclbin::{Image, IrType, Syclbin};

    use super::*;
    use crate::device::facts::PtxFacts;

    /// The best of `devices` for a file.
    fn best_for(devices: &[&Facts], file: &Syclbin<'_>) -> Option<usize> {
        let fits: Vec<_> = (devices.iter())
            .map(|facts| (*facts, Coverage::of(file, facts)))
            .collect();
        best(&fits)
    }

    /// The same for all files.
    fn best_of(devices: &[&Facts]) -> Option<usize> {
        best_for(devices, &Syclbin::default())
    }

    fn device(name: &str, kind: DeviceKind, takes_spirv: bool) -> Facts {
        Facts {
            name: name.to_owned(),
            vendor: "Maker".to_owned(),
            kind,
            takes_spirv,
            ..Facts::default()
        }
    }

    /// A machine with a bit of everything.
    fn machine() -> Vec<Facts> {
        vec![
            device("Portable CPU", DeviceKind::Cpu, false),
            device("Xeon CPU", DeviceKind::Cpu, true),
            device("Old GPU", DeviceKind::Gpu, false),
            device("Arc A750", DeviceKind::Gpu, true),
            device("Arc B580", DeviceKind::Gpu, true),
            device("Custom Chip", DeviceKind::Other, true),
        ]
    }

    fn chosen(selector: &str, devices: &[Facts]) -> Option<String> {
        let devices: Vec<&Facts> = devices.iter().collect();
        let selector = Selector::parse(selector).unwrap();
        let index = selector
            .terms()
            .iter()
            .find_map(|term| term.choose(&devices));
        index.map(|index| devices[index].name.clone())
    }

    #[test]
    fn the_best_device_is_a_gpu_that_takes_spirv_then_an_accelerator_then_a_cpu() {
        let mut machine = machine();
        machine.push(device("Accelerator", DeviceKind::Accelerator, true));
        let mut best_name = || {
            let devices: Vec<&Facts> = machine.iter().collect();
            let index = best_of(&devices)?;
            Some(machine.remove(index).name)
        };
        assert_eq!(best_name().unwrap(), "Arc A750");
        assert_eq!(best_name().unwrap(), "Arc B580");
        assert_eq!(best_name().unwrap(), "Accelerator");
        assert_eq!(best_name().unwrap(), "Xeon CPU");
        assert_eq!(best_name(), None);
    }

    #[test]
    fn a_kind_picks_its_best_device() {
        let machine = machine();
        assert_eq!(chosen("gpu", &machine).unwrap(), "Arc A750");
        assert_eq!(chosen(" CPU ", &machine).unwrap(), "Xeon CPU");
        assert_eq!(chosen("accelerator", &machine), None);
    }

    #[test]
    fn an_index_counts_all_devices_or_those_of_a_kind() {
        let machine = machine();
        assert_eq!(chosen("2", &machine).unwrap(), "Old GPU");
        assert_eq!(chosen("gpu:2", &machine).unwrap(), "Arc B580");
        assert_eq!(chosen("cpu:9", &machine), None);
    }

    #[test]
    fn text_matches_a_part_of_the_name_in_either_case() {
        let machine = machine();
        assert_eq!(chosen("b580", &machine).unwrap(), "Arc B580");
        assert_eq!(chosen("gpu:ARC", &machine).unwrap(), "Arc A750");
        assert_eq!(chosen("cpu:arc", &machine), None);
        assert_eq!(chosen("maker", &machine).unwrap(), "Arc A750");
    }

    #[test]
    fn the_first_alternative_that_matches_wins() {
        let machine = machine();
        assert_eq!(chosen("nvidia, xeon, gpu", &machine).unwrap(), "Xeon CPU");
    }

    #[test]
    fn a_match_that_takes_no_spirv_is_chosen_only_alone() {
        let machine = machine();
        assert_eq!(chosen("portable", &machine).unwrap(), "Portable CPU");
        assert_eq!(chosen("cpu", &machine).unwrap(), "Xeon CPU");
    }

    #[test]
    fn only_terms_that_may_mean_a_cpu_load_the_installed_driver() {
        let selector = Selector::parse("gpu:arc,accelerator,cpu,intel,0").unwrap();
        let may: Vec<bool> = selector.terms().iter().map(Term::may_be_cpu).collect();
        assert_eq!(may, [false, false, true, true, true]);
    }

    #[test]
    fn a_backend_may_stand_in_front() {
        let machine = machine();
        for (selector, name) in [
            ("opencl:gpu", "Arc A750"),
            ("opencl:cpu:0", "Portable CPU"),
            ("OpenCL:gpu:b580", "Arc B580"),
            ("opencl:xeon", "Xeon CPU"),
            ("opencl:2", "Old GPU"),
            ("*:gpu", "Arc A750"),
            ("opencl:*", "Arc A750"),
            ("opencl", "Arc A750"),
            ("*", "Arc A750"),
            ("opencl:*:2", "Old GPU"),
            ("cpu:*", "Xeon CPU"),
        ] {
            assert_eq!(chosen(selector, &machine).unwrap(), name, "{selector}");
        }
        assert_eq!(
            Selector::parse("hip:gpu:0").unwrap_err(),
            "devices of hip are not reached in this version; use opencl:gpu:0"
        );
        let message = Selector::parse("opencl:gpu:0:1").unwrap_err();
        assert!(message.contains("too many colons"), "{message}");
        assert!(Selector::parse("opencl:").is_err());
    }

    #[test]
    fn a_backend_limits_the_choice_and_what_an_index_counts() {
        let mut machine = machine();
        let cuda = PtxFacts {
            sm: 90,
            ptx: (8, 4),
            driver: 12040,
        };
        for name in ["H200", "L4"] {
            machine.push(Facts {
                ptx: Some(cuda),
                ..device(name, DeviceKind::Gpu, false)
            });
        }
        for (selector, name) in [
            ("cuda", "H200"),
            ("cuda:gpu", "H200"),
            ("cuda:gpu:1", "L4"),
            ("cuda:1", "L4"),
            ("CUDA:*", "H200"),
            ("cuda:l4", "L4"),
            ("gpu", "Arc A750"),
            ("gpu:3", "H200"),
            ("opencl:gpu", "Arc A750"),
            ("cuda:cpu,cpu", "Xeon CPU"),
        ] {
            assert_eq!(chosen(selector, &machine).unwrap(), name, "{selector}");
        }
        assert_eq!(chosen("cuda:cpu", &machine), None);
        assert_eq!(chosen("opencl:gpu:3", &machine), None);
        let selector = Selector::parse("cuda,cuda:0,cpu").unwrap();
        let may: Vec<bool> = selector.terms().iter().map(Term::may_be_cpu).collect();
        assert_eq!(may, [false, false, true]);
    }

    /// A CUDA GPU and a CPU.
    fn gpu_and_cpu() -> [Facts; 2] {
        let cuda = PtxFacts {
            sm: 90,
            ptx: (8, 4),
            driver: 12040,
        };
        let gpu = Facts {
            ptx: Some(cuda),
            ..device("H200", DeviceKind::Gpu, false)
        };
        [gpu, device("Xeon CPU", DeviceKind::Cpu, true)]
    }

    /// A file with a module for each list of kinds of code.
    fn file(modules: &[&[IrType]]) -> Syclbin<'static> {
        // Only the header distinguishes SPIR-V from other bytes.
        let spirv: Vec<u8> = [0x0723_0203u32, 0x0001_0000, 0, 1, 0]
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect();
        let ptx = b".version 6.3\n.target sm_75\n.address_size 64\n".to_vec();
        let image = |ty: &IrType| match ty {
            IrType::SpirV => Image::ir(*ty, "spir64-unknown-unknown", spirv.clone()),
            _ => Image::ir(*ty, "nvptx64-nvidia-cuda", ptx.clone()),
        };
        let mut file = Syclbin::default();
        for images in modules {
            let mut module = syclbin::AbstractModule::default();
            module.add_kernel_name("kernel");
            module.images = images.iter().map(image).collect();
            file.modules.push(module);
        }
        file
    }

    #[test]
    fn best_device_has_all_code_of_the_file() {
        let machine = gpu_and_cpu();
        let [gpu, cpu] = machine.each_ref();
        let (spirv, ptx) = (IrType::SpirV, IrType::Ptx);
        assert_eq!(best_of(&[cpu, gpu]), Some(1));
        for (modules, chosen) in [
            (vec![&[spirv][..]], Some(1)),
            (vec![&[spirv, ptx]], Some(0)),
            (vec![&[ptx]], Some(0)),
            (vec![&[spirv, ptx], &[spirv]], Some(1)),
            (vec![&[spirv, ptx], &[ptx]], Some(0)),
            (vec![&[IrType::AmdGcn]], None),
            (vec![], Some(0)),
        ] {
            let file = file(&modules);
            assert_eq!(best_for(&[gpu, cpu], &file), chosen, "{modules:?}");
        }
        // A device that runs part of the file is better than nothing, but only where no device runs all of it.
        let mixed = file(&[&[spirv, ptx], &[spirv]]);
        assert_eq!(best_for(&[gpu], &mixed), Some(0));
        assert_eq!(best_for(&[cpu], &file(&[&[ptx]])), None);
    }

    #[test]
    fn skipped_devices_come_before_the_chosen_one() {
        let machine = gpu_and_cpu();
        let file = file(&[&[IrType::SpirV]]);
        let fits: Vec<_> = (machine.iter())
            .map(|facts| (facts, Coverage::of(&file, facts)))
            .collect();
        assert_eq!(skipped(&fits, 1), [0]);
        assert_eq!(
            super::reason(&fits, 1),
            "the file has no code for the gpu, there is no accelerator, it is the first cpu that runs SYCLBIN kernels"
        );
        let reason = fits[0].1.reason().unwrap();
        let begin =
            "module 0, image 0 (SPIR-V, spir64-unknown-unknown): CUDA devices take no SPIR-V";
        assert!(reason.starts_with(begin), "{reason}");
        assert_eq!(fits[1].1.reason(), None);
    }

    #[test]
    fn missing_aspects_do_not_count_as_missing_code() {
        let cpu = device("Xeon CPU", DeviceKind::Cpu, true);
        let mut file = file(&[&[IrType::SpirV], &[IrType::SpirV]]);
        let needs = |file: &mut Syclbin<'_>, module: usize| {
            let aspect = syclbin::Aspect::FP64.number().to_le_bytes().to_vec();
            let metadata = &mut file.modules[module].metadata;
            metadata.insert("SYCL/device requirements", "aspects", aspect);
        };
        needs(&mut file, 0);
        assert_eq!(Coverage::of(&file, &cpu), Coverage::Whole);
        needs(&mut file, 1);
        let Coverage::Nothing(reasons) = Coverage::of(&file, &cpu) else {
            panic!("no module runs");
        };
        assert!(reasons[0].contains("aspect fp64"), "{reasons:?}");
    }

    #[test]
    fn a_part_is_a_number_behind_that_of_its_device() {
        let part = |selector| {
            let selector = Selector::parse(selector).unwrap();
            (selector.terms()[0].part(), selector.terms()[0].may_be_cpu())
        };
        assert_eq!(part("opencl:cpu:0.1"), (Some(1), true));
        assert_eq!(part("gpu:1.12"), (Some(12), false));
        assert_eq!(part("0.3"), (Some(3), true));
        assert_eq!(part("cpu:0"), (None, true));
        assert_eq!(part("pocl 3.1"), (None, true));
        assert_eq!(
            chosen("opencl:gpu:1.0", &machine()).unwrap(),
            "Arc A750".to_owned()
        );
        let message = Selector::parse("cpu:0.1.2").unwrap_err();
        assert!(message.contains("a part of a part"), "{message}");
    }

    #[test]
    fn the_reason_says_what_would_have_come_first() {
        let machine = machine();
        let reason = |chosen: usize, of: &[Facts]| {
            let devices: Vec<_> = of.iter().map(|facts| (facts, Coverage::Whole)).collect();
            super::reason(&devices, chosen)
        };
        assert_eq!(
            reason(3, &machine),
            "it is the first gpu that runs SYCLBIN kernels"
        );
        assert_eq!(
            reason(1, &machine[..3]),
            "no gpu runs SYCLBIN kernels, there is no accelerator, it is the first cpu that runs \
             SYCLBIN kernels"
        );
    }

    #[test]
    fn mistakes_are_told_in_words() {
        assert_eq!(
            Selector::parse("tpu:0").unwrap_err(),
            "\"tpu\" is not a kind of device; use gpu, cpu or accelerator before the colon"
        );
        for empty in ["", "gpu,,cpu", "gpu:", ","] {
            let message = Selector::parse(empty).unwrap_err();
            assert!(message.starts_with("a term is empty"), "{message}");
        }
    }
}
