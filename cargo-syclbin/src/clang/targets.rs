//! Targets: which devices a file has code for, from `-fsycl-targets`, `--offload-arch` and the options
//! that are meant for their compilers.

use syclbin::architecture::Family;
use syclbin::{Architecture, State};

use crate::response_file::words;
use crate::{Result, own};

/// The variable with which a build takes another compiler.
const ELSEWHERE: &str = "use a DPC++ clang++ for it (SYCLBIN_CLANG)";

/// A kind of device to have code for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// SPIR-V, which a driver compiles when the program runs.
    Spirv,
    /// Native code for x86-64, made on Intel's CPU device.
    Cpu {
        /// The processor it is for; else the one that compiles.
        processor: Option<&'static str>,
    },
    /// Native code for an Intel GPU, made by ocloc.
    Gpu {
        /// What ocloc calls it, such as `pvc`; else `-device` is among the options for it.
        device: Option<&'static str>,
    },
}

impl Target {
    /// The first part of its triple, by which options name it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Spirv => "spir64",
            Self::Cpu { .. } => "spir64_x86_64",
            Self::Gpu { .. } => "spir64_gen",
        }
    }

    pub(crate) fn triple(&self) -> String {
        format!("{}-unknown-unknown", self.name())
    }

    pub(crate) fn is_native(&self) -> bool {
        *self != Self::Spirv
    }

    /// What `-fsycl-targets` calls it; `None` where only `--offload-arch` can say which processor.
    fn listed_name(&self) -> Option<String> {
        match self {
            Self::Cpu { processor: Some(_) } => None,
            Self::Gpu {
                device: Some(device),
            } => Some(format!("intel_gpu_{device}")),
            other => Some(other.name().to_owned()),
        }
    }

    /// Whether an option means it by `name`: its kind, or the very GPU.
    fn is_named(&self, name: &str) -> bool {
        name == self.name() || self.listed_name().as_deref() == Some(name)
    }
}

/// The targets of a command line, and the options for their compilers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Targets {
    /// Those named by `-fsycl-targets`, the last of which counts.
    listed: Vec<Target>,
    /// Those named by `--offload-arch`, all of which count.
    added: Vec<Target>,
    /// Options for compilers, in one text as they were given.
    backend: Vec<(Option<String>, String)>,
}

impl Targets {
    /// Takes the value of `-fsycl-targets`.
    pub(crate) fn list(&mut self, value: &str) -> Result<()> {
        let option = format!("-fsycl-targets={value}");
        self.listed = names(value, &option)?
            .map(|name| target(name, &option))
            .collect::<Result<_>>()?;
        Ok(())
    }

    /// Takes the value of `--offload-arch`.
    pub(crate) fn add(&mut self, value: &str) -> Result<()> {
        let option = format!("--offload-arch={value}");
        for name in names(value, &option)? {
            self.added.push(architecture(name, &option)?);
        }
        Ok(())
    }

    /// Takes options for the compiler of a target; without one, of the only native target there is.
    pub(crate) fn add_backend(&mut self, target: Option<&str>, options: &str) {
        let target = target.map(|name| match target_named(name) {
            Some(target) => target.listed_name().unwrap_or_default(),
            None => first_part(name).to_owned(),
        });
        self.backend.push((target, options.to_owned()));
    }

    /// All targets, in order and each once. SPIR-V, if none is named.
    pub(crate) fn all(&self) -> Vec<Target> {
        let mut all = Vec::new();
        for target in self.listed.iter().chain(&self.added) {
            if !all.contains(target) {
                all.push(target.clone());
            }
        }
        if all.is_empty() {
            all.push(Target::Spirv);
        }
        all.sort(); // SPIR-V first: every device can start from it
        all
    }

    /// The options for the compiler of `target`.
    pub(crate) fn backend(&self, target: &Target) -> Vec<String> {
        let meant = |named: &Option<String>| named.as_deref().is_none_or(|n| target.is_named(n));
        let backend = self.backend.iter().filter(|(named, _)| meant(named));
        backend.flat_map(|(_, options)| words(options)).collect()
    }

    /// Arguments that say all of this once more.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let all = self.all();
        let mut listed = Vec::new();
        let mut processors = Vec::new();
        for target in &all {
            match target {
                Target::Cpu {
                    processor: Some(name),
                } => processors.push(format!("--offload-arch={name}")),
                other => listed.extend(other.listed_name()),
            }
        }
        let mut arguments = Vec::new();
        if !listed.is_empty() {
            arguments.push(format!("-fsycl-targets={}", listed.join(",")));
        }
        arguments.extend(processors);
        for (named, options) in &self.backend {
            let option = match named {
                Some(name) => format!("-Xsycl-target-backend={name}"),
                None => "-Xsycl-target-backend".to_owned(),
            };
            arguments.extend([option, options.clone()]);
        }
        arguments
    }

    /// That a file of `state` can have code for them, and that each option for a compiler has one that
    /// it is for.
    pub(crate) fn check(&self, state: State) -> Result<()> {
        let mut native: Vec<_> = self.all();
        native.retain(Target::is_native);
        if let Some(target) = native.first().filter(|_| state == State::Input) {
            return own(format!(
                "-fsyclbin=input with target {}: native code is no input to a compiler; ask for an object \
                 or an executable",
                target.name()
            ));
        }
        let is_cpu = |target: &&Target| matches!(target, Target::Cpu { .. });
        if native.iter().filter(is_cpu).count() > 1 {
            return own(
                "native code for several processors: nothing tells their images apart when a program \
                 runs; name one, the oldest that is to run it",
            );
        }
        let mut kinds: Vec<_> = native.iter().map(Target::name).collect();
        kinds.dedup();
        for (named, shown) in &self.backend {
            match named.as_deref() {
                Some("spir64") => {
                    return own(format!(
                        "-Xsycl-target-backend=spir64 '{shown}': SPIR-V is compiled when the program \
                         runs, and the file has no place for options; leave it out"
                    ));
                }
                Some(name) if !native.iter().any(|target| target.is_named(name)) => {
                    return own(format!(
                        "-Xsycl-target-backend={name} '{shown}': {name} is no target of this file; add it \
                         to -fsycl-targets"
                    ));
                }
                None if kinds.is_empty() => {
                    return own(format!(
                        "-Xsycl-target-backend '{shown}': no target of this file is compiled now; name \
                         one in -fsycl-targets, as spir64_x86_64 or spir64_gen"
                    ));
                }
                None if kinds.len() > 1 => {
                    return own(format!(
                        "-Xsycl-target-backend '{shown}' may mean any of {}; name the target: \
                         -Xsycl-target-backend={}",
                        kinds.join(", "),
                        kinds[0]
                    ));
                }
                _ => {}
            }
        }
        for target in &native {
            let options = self.backend(target);
            let device = |option: &String| option == "-device" || option.starts_with("-device=");
            if *target == (Target::Gpu { device: None }) && !options.iter().any(device) {
                return own("-fsycl-targets=spir64_gen does not say for which GPU; add \
                     -Xsycl-target-backend=spir64_gen '-device NAME', or name one, as intel_gpu_pvc");
            }
        }
        Ok(())
    }
}

fn names<'v>(value: &'v str, option: &str) -> Result<impl Iterator<Item = &'v str>> {
    if value.split(',').any(str::is_empty) {
        return own(format!("'{option}': the name of a target is missing"));
    }
    Ok(value.split(','))
}

/// The architecture of a triple.
fn first_part(triple: &str) -> &str {
    triple.split('-').next().unwrap_or_default()
}

/// The target of this name, in every spelling there is for it.
fn target_named(name: &str) -> Option<Target> {
    match first_part(name) {
        "spir64" => Some(Target::Spirv),
        "spir64_x86_64" => Some(Target::Cpu { processor: None }),
        "spir64_gen" => Some(Target::Gpu { device: None }),
        gpu if gpu.starts_with("intel_gpu_") => gpu_named(gpu),
        _ => None,
    }
}

fn gpu_named(name: &str) -> Option<Target> {
    let known = Architecture::from_name(name).filter(|a| a.family() == Family::IntelGpu);
    let device = known?.name()?.strip_prefix("intel_gpu_")?;
    Some(Target::Gpu {
        device: Some(device),
    })
}

fn target(name: &str, option: &str) -> Result<Target> {
    if let Some(target) = target_named(name) {
        return Ok(target);
    }
    if name.starts_with("intel_gpu_") {
        return gpu(name, option);
    }
    own(format!(
        "'{option}': '{name}' is not built in; spir64, spir64_x86_64, spir64_gen and intel_gpu_... are; \
         {ELSEWHERE}"
    ))
}

/// Processors, by the names that clang++ and opencl-aot have for them and that of Intel's CPU device.
const PROCESSORS: [(&str, &str); 13] = [
    ("sse42", "corei7"),
    ("sse4.2", "corei7"),
    ("corei7", "corei7"),
    ("avx", "corei7-avx"),
    ("corei7-avx", "corei7-avx"),
    ("avx2", "core-avx2"),
    ("core-avx2", "core-avx2"),
    ("avx512", "skx"),
    ("skx", "skx"),
    ("skylake-avx512", "skx"),
    ("sapphirerapids", "sapphirerapids"),
    ("graniterapids", "graniterapids"),
    ("diamondrapids", "diamondrapids"),
];

/// What the CPU device calls a processor.
pub(crate) fn processor(name: &str) -> Option<&'static str> {
    let row = PROCESSORS.iter().find(|(known, _)| *known == name);
    row.map(|(_, processor)| *processor)
}

/// The names of processors, for messages.
pub(crate) fn processors() -> String {
    PROCESSORS.map(|(name, _)| name).join(", ")
}

fn architecture(name: &str, option: &str) -> Result<Target> {
    if let Some(processor) = processor(name) {
        let processor = Some(processor);
        return Ok(Target::Cpu { processor });
    }
    match Architecture::from_name(name).map(Architecture::family) {
        Some(Family::IntelGpu) => gpu(name, option),
        _ => own(format!(
            "'{option}': '{name}' is not built in; Intel GPUs (pvc, bmg_g21 ...) and processors ({}) are; \
             {ELSEWHERE}",
            processors()
        )),
    }
}

fn gpu(name: &str, option: &str) -> Result<Target> {
    match gpu_named(name) {
        Some(gpu) => Ok(gpu),
        None => own(format!(
            "'{option}': '{name}' is no Intel GPU that is known here; for a newer one use \
             -fsycl-targets=spir64_gen -Xsycl-target-backend=spir64_gen '-device NAME'"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;

    fn listed(value: &str) -> Result<Vec<Target>> {
        let mut targets = Targets::default();
        targets.list(value)?;
        targets.check(State::Executable)?;
        Ok(targets.all())
    }

    fn said<T: std::fmt::Debug>(result: Result<T>) -> String {
        match result {
            Err(Failure::Own(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    const CPU: Target = Target::Cpu { processor: None };
    const PVC: Target = Target::Gpu {
        device: Some("pvc"),
    };

    #[test]
    fn targets_are_known_by_their_names_and_triples_each_once_and_spirv_first() {
        assert_eq!(Targets::default().all(), [Target::Spirv]);
        let all = listed("spir64_x86_64,spir64-unknown-unknown,spir64_x86_64-unknown-unknown");
        assert_eq!(all, Ok(vec![Target::Spirv, CPU]));
        assert_eq!(listed("intel_gpu_12_60_7,intel_gpu_pvc"), Ok(vec![PVC]));
        let mut targets = Targets::default();
        targets.list("spir64_x86_64").unwrap();
        targets.list("spir64").unwrap();
        targets.add("pvc,avx2").unwrap();
        let processor = Some("core-avx2");
        assert_eq!(
            targets.all(),
            [Target::Spirv, Target::Cpu { processor }, PVC],
            "the last list counts, and what is added to it"
        );
    }

    #[test]
    fn other_targets_are_refused_by_name_with_the_way_out() {
        for name in [
            "nvptx64-nvidia-cuda",
            "nvidia_gpu_sm_90",
            "amdgcn-amd-amdhsa",
            "amd_gpu_gfx90a",
            "native_cpu",
            "x",
        ] {
            let text = said(listed(&format!("spir64,{name}")));
            assert!(
                text.contains(&format!("'{name}' is not built in")),
                "{text}"
            );
            assert!(text.contains("SYCLBIN_CLANG"), "{text}");
        }
        for name in ["sm_90", "gfx90a", "zen5"] {
            let text = said(Targets::default().add(name));
            assert!(
                text.contains(&format!("'{name}' is not built in")),
                "{text}"
            );
        }
        assert!(said(listed("intel_gpu_xyz")).contains("no Intel GPU that is known"));
        assert!(said(listed("spir64,")).contains("is missing"));
    }

    #[test]
    fn options_for_a_compiler_need_one_that_they_are_for() {
        let mut targets = Targets::default();
        targets.add_backend(None, "-device 'pvc,dg2'");
        assert!(said(targets.check(State::Executable)).contains("no target of this file"));
        targets.list("spir64,spir64_gen").unwrap();
        assert_eq!(targets.check(State::Executable), Ok(()));
        let gen_target = Target::Gpu { device: None };
        assert_eq!(targets.backend(&gen_target), ["-device", "pvc,dg2"]);
        targets.list("spir64_gen,spir64_x86_64").unwrap();
        assert!(
            said(targets.check(State::Executable))
                .contains("may mean any of spir64_x86_64, spir64_gen")
        );

        let mut targets = Targets::default();
        targets.add_backend(Some("spir64_x86_64-unknown-unknown"), "-march=avx2");
        assert!(said(targets.check(State::Executable)).contains("spir64_x86_64 is no target"));
        targets.list("spir64_x86_64,intel_gpu_pvc").unwrap();
        assert_eq!(targets.check(State::Executable), Ok(()));
        assert_eq!(targets.backend(&CPU), ["-march=avx2"]);
        assert!(targets.backend(&PVC).is_empty());
        targets.add_backend(Some("spir64"), "-x");
        assert!(said(targets.check(State::Executable)).contains("when the program runs"));
        assert!(said(listed("spir64_gen")).contains("for which GPU"));
    }

    #[test]
    fn options_for_a_gpu_name_it_as_the_targets_do() {
        let mut targets = Targets::default();
        targets
            .list("spir64,intel_gpu_pvc,intel_gpu_bmg_g21")
            .unwrap();
        targets.add_backend(Some("intel_gpu_12_60_7"), "-q");
        assert_eq!(targets.check(State::Executable), Ok(()));
        assert_eq!(targets.backend(&PVC), ["-q"]);
        let other = Target::Gpu {
            device: Some("bmg_g21"),
        };
        assert!(targets.backend(&other).is_empty());
        targets.add_backend(Some("intel_gpu_dg1"), "-q");
        assert!(said(targets.check(State::Executable)).contains("intel_gpu_dg1 is no target"));
    }

    #[test]
    fn arguments_of_targets_mean_the_same_targets() {
        assert_eq!(Targets::default().arguments(), ["-fsycl-targets=spir64"]);
        let mut targets = Targets::default();
        targets.list("spir64_gen-unknown-unknown").unwrap();
        targets.add("pvc,avx2").unwrap();
        targets.add_backend(Some("spir64_gen"), "-options '-a -b'");
        targets.add_backend(None, "-q");
        let expected = [
            "-fsycl-targets=spir64_gen,intel_gpu_pvc",
            "--offload-arch=core-avx2",
            "-Xsycl-target-backend=spir64_gen",
            "-options '-a -b'",
            "-Xsycl-target-backend",
            "-q",
        ];
        assert_eq!(targets.arguments(), expected);
    }
}
