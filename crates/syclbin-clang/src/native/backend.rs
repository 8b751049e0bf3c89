// SPDX-License-Identifier: MIT OR Apache-2.0
//! Backends: the compilers for native code, and their arguments.

use std::path::{Path, PathBuf};

use syclbin::architecture::Family;
use syclbin::metadata::DeviceRequirements;
use syclbin::{AbstractModule, Architecture, Aspect, Image, State};
use syclbin_toolchain::Component;
use syclbin_toolchain::file::{self, find_program};

use super::{import, objection};
use crate::command_line::options::Options;
use crate::command_line::targets::{Target, processor, processors};
use crate::link::imports;
use crate::steps::{Step, this_program};
use crate::{Failure, Result, library, nvidia, own};

/// The environment variable that selects the processor for Intel's CPU device.
pub(super) const PROCESSOR_VARIABLE: &str = "CL_CONFIG_CPU_TARGET_ARCH";
/// The environment variable that lists OpenCL libraries to try first.
const LIBRARY_VARIABLE: &str = "OPENCL_DYLIB_PATH";
/// The reference runtime's name for x86-64 without a specific processor.
const ANY_PROCESSOR: &str = "x86_64";
/// The ocloc option for code that is linked later.
const LIBRARY: &str = "-library-compilation";

/// A native target, with all options for its compiler.
pub(crate) struct Backend {
    pub(crate) target: Target,
    /// The name of the architecture, as images record it.
    pub(super) arch: String,
    pub(super) options: Vec<String>,
    /// The compiler: ocloc or ptxas. For CPUs, this program, which calls Intel's CPU device.
    pub(super) program: PathBuf,
    /// Environment variables for the compiler.
    pub(super) variables: Vec<(&'static str, String)>,
}

impl Backend {
    /// Returns a backend for each native target that `options` request.
    ///
    /// # Errors
    ///
    /// Fails if the compiler for a target is missing, or if an option for it is invalid.
    pub(crate) fn all(options: &Options) -> Result<Vec<Self>> {
        let targets = &options.targets;
        let all = targets.all().into_iter().filter_map(|target| {
            let given = targets.backend(&target);
            match target {
                Target::Cpu(named) => Some(Self::cpu(named, given)),
                Target::Gpu(named) => Some(Self::gpu(named, given, options.state)),
                Target::Spirv | Target::Nvidia(_) => None,
            }
        });
        let mut all: Vec<Self> = all.collect::<Result<_>>()?;
        if let Some(code) = targets.nvidia()?.filter(|code| !code.gpus.is_empty()) {
            let assembler = nvidia::assembler(&options.clang)?;
            all.extend(code.gpus.iter().map(|gpu| Self {
                target: Target::Nvidia(Some(*gpu)),
                arch: gpu.name().to_owned(),
                options: code.options.clone(),
                program: assembler.clone(),
                variables: Vec::new(),
            }));
        }
        Ok(all)
    }

    /// Returns a module's code in the format that the compiler accepts as input.
    pub(super) fn input<'m>(&self, module: &'m AbstractModule<'_>) -> Option<&'m [u8]> {
        let mut images = module.images.iter();
        if self.target.is_of_spirv() {
            return images.find_map(|image| image.spirv());
        }
        let ptx = images.find(|image| image.is_ptx());
        ptx.map(|image| &*image.bytes)
    }

    pub(crate) fn suffix(&self) -> &'static str {
        if self.target.is_of_spirv() {
            "spv"
        } else {
            "ptx"
        }
    }

    pub(super) fn cpu(named: Option<&'static str>, given: Vec<String>) -> Result<Self> {
        // Loaders assume that native code is for x86-64 Linux unless it names another system, so other hosts must not
        // produce it.
        if !cfg!(target_os = "linux") {
            return own(
                "target spir64_x86_64: native code for CPUs can be compiled only on Linux; remove the target",
            );
        }
        let mut wanted = named;
        let mut options = Vec::new();
        for option in given {
            let name = option.trim_start_matches('-');
            if let Some(name) = name.strip_prefix("march=") {
                wanted = Some(processor(name).ok_or_else(|| {
                    Failure::Own(format!(
                        "'{option}' for spir64_x86_64: the CPU device does not support this processor; supported \
                         processors are {}",
                        processors()
                    ))
                })?);
            } else if let Some(option) = name.strip_prefix("bo=") {
                options.push(option.to_owned());
            } else {
                return own(format!(
                    "'{option}' for spir64_x86_64 is not supported; use -march=PROCESSOR or --bo=OPTION"
                ));
            }
        }
        let mut variables = Vec::new();
        if let Some(installed) = library::installed(Component::CpuDevice) {
            // The installed library precedes the libraries that the user listed.
            let named = std::env::var(LIBRARY_VARIABLE).unwrap_or_default();
            let libraries = format!("{};{named}", installed.entry().display());
            variables.push((LIBRARY_VARIABLE, libraries));
        }
        variables.extend(wanted.map(|processor| (PROCESSOR_VARIABLE, processor.to_owned())));
        Ok(Self {
            target: Target::Cpu(named),
            arch: wanted.unwrap_or(ANY_PROCESSOR).to_owned(),
            options,
            program: this_program()?,
            variables,
        })
    }

    fn gpu(named: Option<&'static str>, given: Vec<String>, state: State) -> Result<Self> {
        let Some(ocloc) = find_program("ocloc", std::env::var_os("PATH").as_deref()) else {
            return own(
                "target spir64_gen: Intel's offline compiler ocloc was not found on PATH; install it (Debian and \
                 Ubuntu: package intel-ocloc), or remove the target",
            );
        };
        let mut options = Vec::new();
        let mut device = None;
        let mut for_driver = Vec::new();
        if state == State::Object {
            for_driver.push(LIBRARY.to_owned());
        }
        let mut given = given.into_iter();
        while let Some(option) = given.next() {
            let mut value = || match given.next() {
                Some(value) => Ok(value),
                None => own(format!("'{option}' for spir64_gen requires a value")),
            };
            match option.as_str() {
                "-device" => device = Some(value()?),
                "-options" => for_driver.push(value()?),
                other => match other.strip_prefix("-device=") {
                    Some(name) => device = Some(name.to_owned()),
                    None => options.push(option),
                },
            }
        }
        let arch = match (named.map(str::to_owned), device) {
            (Some(named), Some(other)) if named != other => {
                return own(format!(
                    "target intel_gpu_{named} with '-device {other}' for spir64_gen: specify the GPU only once"
                ));
            }
            (Some(arch), _) | (None, Some(arch)) => arch,
            (None, None) => return own("spir64_gen requires '-device NAME'"),
        };
        if !for_driver.is_empty() {
            options.extend(["-options".to_owned(), for_driver.join(" ")]);
        }
        Ok(Self {
            target: Target::Gpu(named),
            arch,
            options,
            program: ocloc,
            variables: Vec::new(),
        })
    }

    /// Returns the step that compiles `input` to `output`.
    pub(crate) fn step(&self, subject: &str, input: &Path, output: &Path) -> Step {
        let [input, output] = [input, output].map(|path| path.display().to_string());
        let options = self.options.as_slice();
        let (mut gpu, mut subject) = (None, subject.to_owned());
        let arguments = match self.target {
            Target::Nvidia(_) => {
                let arch = format!("-arch={}", self.arch);
                [&[arch], options, &[input, "-o".into(), output]].concat()
            }
            Target::Gpu(_) => {
                gpu = Some(self.arch.clone());
                subject = format!("{subject} for GPU {}", self.arch);
                // Do not add `-q`, which would suppress warnings.
                let fixed = ["-output_no_suffix", "-spirv_input", "-device", &self.arch];
                let fixed = fixed.map(str::to_owned);
                let files = ["-file".into(), input, "-output".into(), output];
                [&fixed, options, &files].concat()
            }
            Target::Cpu(_) | Target::Spirv => {
                let options = self.options.join(" ");
                vec!["--build-for-cpu".into(), input, output, options]
            }
        };
        Step {
            variables: self.variables.clone(),
            gpu,
            ..Step::new(self.program.clone(), &subject, arguments)
        }
    }

    /// Returns the image that the step with this `output` wrote.
    pub(super) fn image(&self, output: &Path) -> std::io::Result<Image<'static>> {
        // For a single GPU, newer versions of ocloc append `.bin` despite `-output_no_suffix`.
        let mut with_suffix = output.as_os_str().to_owned();
        with_suffix.push(".bin");
        let with_suffix = PathBuf::from(with_suffix);
        let code = match self.target {
            Target::Gpu(_) if with_suffix.is_file() => file::read(&with_suffix)?,
            _ => file::read(output)?,
        };
        Ok(Image::native(&self.arch, &self.target.triple(), code))
    }

    /// Returns the backend's name for messages.
    pub(super) fn named(&self) -> String {
        match self.target {
            Target::Gpu(_) => format!("GPU {}", self.arch),
            _ => self.target.name().to_owned(),
        }
    }

    /// Returns the value of the property `compile_target` for a module that contains only an image from this backend.
    pub(super) fn compile_target(&self) -> Option<String> {
        match &self.target {
            Target::Cpu(_) => Some(self.target.name().to_owned()),
            Target::Gpu(device) => device.map(|device| format!("intel_gpu_{device}")),
            // An NVIDIA image names its GPU itself, and the property would also apply to any PTX in the module.
            Target::Nvidia(_) | Target::Spirv => None,
        }
    }

    /// Returns the reason why the compiler cannot compile a module, if any.
    pub(super) fn objection(&self, module: &AbstractModule<'_>) -> Result<Option<String>> {
        match self.target {
            Target::Nvidia(_) => Ok(import(&imports::of_ptx(module)?)),
            Target::Gpu(_) if lacks_doubles(&self.arch) && uses_doubles(module) => {
                let why = "uses double precision, which that GPU does not support";
                Ok(Some(why.to_owned()))
            }
            _ => objection(module),
        }
    }
}

fn uses_doubles(module: &AbstractModule<'_>) -> bool {
    DeviceRequirements::read(&module.metadata)
        .is_ok_and(|requirements| requirements.aspects.contains(&Aspect::FP64))
}

/// Returns whether the Intel GPU `arch` lacks double precision: its version is at least 11.0 and below 12.60. For these
/// GPUs, ocloc rejects code that uses double precision.
fn lacks_doubles(arch: &str) -> bool {
    let [first, after, arch] = ["icllp", "pvc", arch].map(Architecture::from_name);
    let is_of_intel = arch.is_some_and(|arch| arch.family() == Family::IntelGpu);
    is_of_intel && first <= arch && arch < after
}
