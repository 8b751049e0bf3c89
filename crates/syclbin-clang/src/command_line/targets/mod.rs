// SPDX-License-Identifier: MIT OR Apache-2.0
//! Targets: the devices to compile for, from `-fsycl-targets`, `--offload-arch` and the options for backend compilers.

mod named;

use std::collections::BTreeSet;

use syclbin::State;

use crate::command_line::response_file::words;
use crate::nvidia::gpu::NvidiaGpu;
use crate::{Result, own};
use named::{architecture, names, nvidia_gpu, targets};
pub(crate) use named::{first_part, processor, processors};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// SPIR-V, which a driver compiles at run time.
    Spirv,
    /// Native code for x86-64, compiled by Intel's CPU device for this processor. The default is the processor of this
    /// machine.
    Cpu(Option<&'static str>),
    /// Native code for an Intel GPU, compiled by ocloc. The string is the GPU's name in ocloc, such as `pvc`. If
    /// `None`, the user names the GPU with ocloc's option `-device`.
    Gpu(Option<&'static str>),
    /// PTX, which NVIDIA's driver compiles at run time. If a GPU is named, also native code for that GPU, compiled by
    /// ptxas. If `None`, the options for this target may name GPUs.
    Nvidia(Option<NvidiaGpu>),
}

/// The code to generate for NVIDIA GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NvidiaCode {
    /// The oldest GPU that the PTX runs on.
    pub(crate) ptx: NvidiaGpu,
    /// The GPUs to generate native code for, in order.
    pub(crate) gpus: Vec<NvidiaGpu>,
    pub(crate) options: Vec<String>,
}

/// The target triple for NVIDIA GPUs.
pub(crate) const NVIDIA: &str = "nvptx64-nvidia-cuda";

impl Target {
    /// Returns the first component of the target's triple, by which options refer to the target.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Spirv => "spir64",
            Self::Cpu(_) => "spir64_x86_64",
            Self::Gpu(_) => "spir64_gen",
            Self::Nvidia(_) => "nvptx64",
        }
    }

    pub(crate) fn triple(&self) -> String {
        match self {
            Self::Nvidia(_) => NVIDIA.to_owned(),
            _ => format!("{}-unknown-unknown", self.name()),
        }
    }

    /// Returns whether the target is native code compiled from SPIR-V.
    pub(crate) fn is_of_spirv(&self) -> bool {
        matches!(self, Self::Cpu(_) | Self::Gpu(_))
    }

    /// Returns whether `name` in an option refers to this target: to its kind, to exactly this GPU, or to its family.
    fn is_named(&self, name: &str) -> bool {
        first_part(name) == self.name()
            || targets(name, "").is_ok_and(|members| members.contains(self))
    }
}

/// The targets of a command line, and the options for their compilers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Targets {
    /// The targets of the last `-fsycl-targets`.
    listed: Vec<Target>,
    /// The targets of all `--offload-arch` options.
    added: Vec<Target>,
    /// Whether PTX may be omitted for sources that cannot be compiled to it: `--optional-target`.
    pub(crate) ptx_is_optional: bool,
    /// Options for backend compilers, in command-line order, each with its explicit target, if any.
    backend: Vec<(Option<String>, String)>,
}

impl Targets {
    /// Handles the value of `-fsycl-targets`.
    pub(crate) fn list(&mut self, value: &str) -> Result<()> {
        let option = format!("-fsycl-targets={value}");
        let listed = names(value, &option)?.map(|name| targets(name, &option));
        self.listed = listed.collect::<Result<Vec<_>>>()?.concat();
        Ok(())
    }

    /// Handles the value of `--optional-target`.
    pub(crate) fn add_optional(&mut self, value: &str) -> Result<()> {
        if targets(value, "") != Ok(vec![Target::Nvidia(None)]) {
            return own(format!(
                "--optional-target={value}: only {NVIDIA} can be optional; specify {value} in -fsycl-targets"
            ));
        }
        self.ptx_is_optional = true;
        Ok(())
    }

    /// Handles the value of `--offload-arch`.
    pub(crate) fn add(&mut self, value: &str) -> Result<()> {
        let option = format!("--offload-arch={value}");
        for name in names(value, &option)? {
            self.added.push(architecture(name, &option)?);
        }
        Ok(())
    }

    /// Handles options for a target's compiler. If `target` is `None`, they apply to the only target other than SPIR-V.
    pub(crate) fn add_backend(&mut self, target: Option<&str>, options: &str) {
        let target = target.map(str::to_owned);
        self.backend.push((target, options.to_owned()));
    }

    /// Returns all targets, sorted and without duplicates. The default is SPIR-V.
    pub(crate) fn all(&self) -> Vec<Target> {
        // The order of `Target` puts SPIR-V first, because SPIR-V is not tied to a device.
        let mut all: BTreeSet<Target> = self.listed.iter().chain(&self.added).cloned().collect();
        if all.is_empty() {
            all.insert(Target::Spirv);
        }
        let is_ptx = |target: &Target| matches!(target, Target::Nvidia(_));
        if self.ptx_is_optional && !all.iter().any(is_ptx) {
            all.insert(Target::Nvidia(None));
        }
        all.into_iter().collect()
    }

    /// Returns whether sources must be compiled to SPIR-V, for the output or as input for native code.
    pub(crate) fn want_spirv(&self) -> bool {
        let all = self.all();
        all.contains(&Target::Spirv) || all.iter().any(Target::is_of_spirv)
    }

    /// Returns the code to generate for NVIDIA GPUs, if any.
    ///
    /// # Errors
    ///
    /// Fails if an option names an unsupported GPU, or if there are ptxas options but no GPU.
    pub(crate) fn nvidia(&self) -> Result<Option<NvidiaCode>> {
        let (mut gpus, mut options, mut is_target) = (BTreeSet::new(), Vec::new(), false);
        let mut is_for_all = false;
        for target in self.all() {
            let Target::Nvidia(gpu) = target else {
                continue;
            };
            is_target = true;
            let mut names_gpu = gpu.is_some();
            gpus.extend(gpu);
            for option in self.backend(&target) {
                let named = ["--offload-arch=", "--cuda-gpu-arch="];
                if let Some(value) = named.iter().find_map(|name| option.strip_prefix(name)) {
                    names_gpu = true;
                    for name in names(value, &option)? {
                        gpus.insert(nvidia_gpu(name, &option)?);
                    }
                } else if !options.contains(&option) {
                    options.push(option);
                }
            }
            is_for_all |= !names_gpu;
        }
        if !is_target {
            return Ok(None);
        }
        let gpus: Vec<NvidiaGpu> = gpus.into_iter().collect();
        if let ([], [option, ..]) = (gpus.as_slice(), options.as_slice()) {
            return own(format!(
                "'{option}' for {NVIDIA}: it is a ptxas option, but ptxas does not run because no GPU is specified; \
                 add --offload-arch=sm_80 or another GPU, or remove the option"
            ));
        }
        let ptx = match gpus.as_slice() {
            // The PTX may use every feature of this GPU, because no other GPU runs it.
            [only] if !is_for_all => *only,
            [lowest, ..] if !is_for_all => lowest.plain(),
            _ => NvidiaGpu::OLDEST,
        };
        Ok(Some(NvidiaCode { ptx, gpus, options }))
    }

    /// Returns the options for the compiler of `target`.
    pub(crate) fn backend(&self, target: &Target) -> Vec<String> {
        let meant = |named: &Option<String>| named.as_deref().is_none_or(|n| target.is_named(n));
        let backend = self.backend.iter().filter(|(named, _)| meant(named));
        backend.flat_map(|(_, options)| words(options)).collect()
    }

    /// Checks that a file in state `state` can contain code for the targets, and that each compiler option matches a
    /// target.
    pub(crate) fn check(&self, state: State) -> Result<()> {
        let mut native: Vec<_> = self.all();
        native.retain(|target| *target != Target::Spirv);
        let nvidia = self.nvidia()?;
        let of_nvidia = nvidia.is_some_and(|code| !code.gpus.is_empty());
        let is_native = |target: &&Target| match target {
            Target::Nvidia(_) => of_nvidia,
            _ => true,
        };
        if state == State::Input
            && let Some(target) = native.iter().find(is_native)
        {
            return own(format!(
                "-fsyclbin=input with target {}: a compiler cannot read native code as input; use \
                 -fsyclbin=object or -fsyclbin=executable",
                target.name()
            ));
        }
        let is_cpu = |target: &&Target| matches!(target, Target::Cpu(_));
        if native.iter().filter(is_cpu).count() > 1 {
            return own(
                "cannot compile native code for several processors: a program could not choose between their images; \
                 specify only the oldest processor that must run the code",
            );
        }
        let mut kinds: Vec<_> = native.iter().map(Target::name).collect();
        kinds.dedup();
        for (named, shown) in &self.backend {
            let problem = match named.as_deref() {
                Some(name) if first_part(name) == "spir64" => format!(
                    "-Xsycl-target-backend=spir64 '{shown}': SPIR-V is compiled when the program runs, and the file \
                     cannot store options for that; remove the option"
                ),
                Some(name) if !native.iter().any(|target| target.is_named(name)) => format!(
                    "-Xsycl-target-backend={name} '{shown}': the command line does not request target {name}; add it \
                     to -fsycl-targets"
                ),
                None if kinds.is_empty() => format!(
                    "-Xsycl-target-backend '{shown}': no target of this file is compiled ahead of time; specify one \
                     in -fsycl-targets, such as spir64_x86_64, spir64_gen or {NVIDIA}"
                ),
                None if kinds.len() > 1 => format!(
                    "-Xsycl-target-backend '{shown}' is ambiguous between {}; specify the target: \
                     -Xsycl-target-backend={}",
                    kinds.join(", "),
                    kinds[0]
                ),
                _ => continue,
            };
            return own(problem);
        }
        for target in &native {
            let options = self.backend(target);
            let device = |option: &String| option == "-device" || option.starts_with("-device=");
            if *target == (Target::Gpu(None)) && !options.iter().any(device) {
                return own(
                    "-fsycl-targets=spir64_gen does not specify a GPU; add -Xsycl-target-backend=spir64_gen \
                    '-device NAME', or use a GPU target such as intel_gpu_pvc",
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
