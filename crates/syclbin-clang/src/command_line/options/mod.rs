// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses the options that this program handles, and collects those that it passes to clang.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use syclbin::State;
use syclbin_build::depfile::escape;

use crate::command_line::depfile::Depfile;
use crate::command_line::states::{self, Dependencies};
use crate::command_line::table::{self, Treatment};
use crate::command_line::targets::{Target, Targets};
use crate::command_line::warnings::Warnings;
use crate::library::{BFLOAT16_PATH, VERSION, include_arguments};
use crate::nvidia::{self, Ptx};
use crate::{Failure, Result, describe, own};

/// The action that a command line requests.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Make(Box<Options>),
    /// Compiles a module to native code. This program runs itself with this request, so that a driver crash terminates
    /// only the child process.
    BuildForCpu {
        spirv: PathBuf,
        output: PathBuf,
        /// The options for `clBuildProgram`.
        options: String,
    },
    /// Prints this text to standard output.
    Print(String),
}

/// The text that `--help` prints.
const HELP: &str = include_str!("../help.txt");

/// Whether the steps are printed, and whether they run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Show {
    #[default]
    Nothing,
    /// Prints the steps and runs them: `-v`.
    Steps,
    /// Prints the steps without running them: `-###`.
    StepsOnly,
}

/// An action on LLVM bitcode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bitcode {
    /// Compiles the only input, a bitcode file. The string names the original input that the bitcode comes from.
    Compile(String),
    /// Writes the bitcode of the only input, a source. Tests use this to create objects.
    Save,
}

impl Bitcode {
    pub(crate) const COMPILE: &str = "--compile-bitcode=";
    pub(crate) const SAVE: &str = "--save-bitcode";
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Sources, SYCLBIN files and objects, in order.
    pub(crate) inputs: Vec<PathBuf>,
    pub(crate) output: PathBuf,
    pub(crate) state: State,
    /// `-fsycl-link`: the inputs must not include sources.
    pub(crate) link_only: bool,
    pub(crate) dependencies: Dependencies,
    pub(crate) depfile: Option<Depfile>,
    pub(crate) targets: Targets,
    /// The settings for compiling to PTX. Set only in the child process that this program starts for that step.
    pub(crate) ptx: Option<Ptx>,
    /// Whether to keep debug information in SPIR-V. Set only in a child process, because its parent describes the
    /// kernels.
    pub(crate) describes_later: bool,
    /// The action on LLVM bitcode. [`Bitcode::Compile`] is set only in a child process that this program starts.
    pub(crate) bitcode: Option<Bitcode>,
    /// The arguments for clang, in order. They are UTF-8, because the library requires it.
    pub(crate) clang: Vec<String>,
    pub(crate) show: Show,
    pub(crate) warnings: Warnings,
}

impl Request {
    /// Parses the arguments. Response files must already be expanded.
    pub(crate) fn parse(arguments: Vec<String>) -> Result<Self> {
        let mut reader = Reader {
            arguments: arguments.into(),
            ..Reader::default()
        };
        while let Some(argument) = reader.arguments.pop_front() {
            if let Some(request) = reader.read(argument)? {
                return Ok(request);
            }
        }
        reader.finish().map(|options| Self::Make(Box::new(options)))
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            inputs: Vec::new(),
            output: PathBuf::from("a.syclbin"),
            state: State::Executable,
            link_only: false,
            dependencies: Dependencies::default(),
            depfile: None,
            targets: Targets::default(),
            ptx: None,
            describes_later: false,
            bitcode: None,
            clang: Vec::new(),
            show: Show::default(),
            warnings: Warnings::default(),
        }
    }
}

/// The remaining arguments, and the options parsed so far.
#[derive(Default)]
struct Reader {
    arguments: VecDeque<String>,
    /// All options, except those below.
    options: Options,
    state: Option<State>,
    /// `-MD` or `-MMD`.
    dependencies: Option<&'static str>,
    phony: bool,
    depfile: Option<PathBuf>,
    rule_targets: Vec<String>,
}

impl Reader {
    /// Parses an argument, and consumes the next one if it is the option's value.
    fn read(&mut self, argument: String) -> Result<Option<Request>> {
        if argument == "--" {
            let inputs = self.arguments.drain(..).map(PathBuf::from);
            self.options.inputs.extend(inputs);
            return Ok(None);
        }
        if argument.len() < 2 || !argument.starts_with('-') {
            self.options.inputs.push(PathBuf::from(argument));
            return Ok(None);
        }
        let Some(known) = table::find(&argument) else {
            self.options.warnings.look_at(&argument);
            self.options.clang.push(argument);
            return Ok(None);
        };
        let name = known.name;
        let is_separate = known.value.is_none();
        let (value, spelled) = match known.value {
            Some(value) => (value.to_owned(), argument.clone()),
            None => {
                let value = self.next(name)?;
                let spelled = format!("{argument} {value}");
                (value, spelled)
            }
        };
        let clang = &mut self.options.clang;
        match known.treatment {
            Treatment::Nothing => {}
            Treatment::Join => clang.push(format!("{name}{value}")),
            Treatment::Pass if is_separate => clang.extend([argument, value]),
            Treatment::Pass => clang.push(argument),
            Treatment::Inner => {
                let xclang = || "-Xclang".to_owned();
                let name = format!("-{}", name.trim_matches(['-', '=']));
                clang.extend([xclang(), name, xclang(), value]);
            }
            Treatment::Unused => self.options.warnings.unused(&spelled),
            Treatment::Refused(why) => {
                return own(format!("option '{spelled}' is not supported: {why}"));
            }
            Treatment::Ours => return self.ours(name, value, spelled),
        }
        Ok(None)
    }

    /// Takes the next argument, which is the value of `option`.
    fn next(&mut self, option: &str) -> Result<String> {
        let value = self.arguments.pop_front();
        value.ok_or_else(|| Failure::Own(format!("argument to '{option}' is missing")))
    }

    fn ours(
        &mut self,
        name: &'static str,
        value: String,
        spelled: String,
    ) -> Result<Option<Request>> {
        let options = &mut self.options;
        match name {
            "--version" => {
                let own = env!("CARGO_PKG_VERSION");
                let text = format!("syclbin-clang version {own} (DPC++ {VERSION})\n");
                return Ok(Some(Request::Print(text)));
            }
            "--help" | "-help" | "-h" => return Ok(Some(Request::Print(HELP.to_owned()))),
            "--build-for-cpu" => return self.build_for_cpu().map(Some),
            "-fsyclbin" => self.state = Some(State::Executable),
            "-fsyclbin=" => {
                self.state = Some(State::from_name(&value).ok_or_else(|| {
                    Failure::Own(format!(
                        "invalid value '{value}' in '{spelled}': expected input, object or executable"
                    ))
                })?);
            }
            "-fsycl-link" => options.link_only = true,
            states::ALLOW => options.dependencies = Dependencies::Allowed,
            "-fsycl-rdc" | "-fgpu-rdc" | "--offload-rdc" | "-foffload-rdc" => {
                options.dependencies = Dependencies::Unsaid;
            }
            states::FORBID
            | "-fno-sycl-rdc"
            | "-fno-gpu-rdc"
            | "--no-offload-rdc"
            | "-fno-offload-rdc" => options.dependencies = Dependencies::Forbidden(spelled),
            Bitcode::COMPILE => options.bitcode = Some(Bitcode::Compile(value)),
            Bitcode::SAVE => options.bitcode = Some(Bitcode::Save),
            describe::LATER => options.describes_later = true,
            nvidia::OPTION => options.ptx = Some(Ptx::parse(&value)?),
            "-fsycl-targets=" => options.targets.list(&value)?,
            "--optional-target=" => options.targets.add_optional(&value)?,
            "--offload-arch=" => options.targets.add(&value)?,
            "-Xs" | "-Xsycl-target-backend" => options.targets.add_backend(None, &value),
            "-Xsycl-target-backend=" => {
                let arguments = self.next(&spelled)?;
                let targets = &mut self.options.targets;
                targets.add_backend(Some(&value), &arguments);
            }
            // All targets are compiled with the same clang options, so the value is parsed like any other argument.
            "-Xsycl-target-frontend" => self.arguments.push_front(value),
            "-Xsycl-target-frontend=" => {
                if !value.starts_with("spir64") && !value.starts_with("nvptx64") {
                    return own(format!(
                        "option '{spelled}' is not supported: its target must begin with spir64 or nvptx64"
                    ));
                }
                let value = self.next(&spelled)?;
                self.arguments.push_front(value);
            }
            "-v" | "--verbose" if options.show == Show::StepsOnly => {}
            "-v" | "--verbose" => options.show = Show::Steps,
            "-###" => options.show = Show::StepsOnly,
            "-w" | "-Qunused-arguments" => {
                options.warnings.look_at(name);
                options.clang.push(name.to_owned());
            }
            "-o" | "--output" | "--output=" => options.output = PathBuf::from(value),
            "-MD" | "-MMD" => self.dependencies = Some(name),
            "-MP" => self.phony = true,
            "-MF" => self.depfile = Some(PathBuf::from(value)),
            "-MT" => self.rule_targets.push(value),
            "-MQ" => self.rule_targets.push(escape(Path::new(&value))),
            "-x" | "--language" if ["c++", "none"].contains(&value.as_str()) => {}
            "-x" | "--language" => {
                return own(format!(
                    "option '{spelled}' is not supported: every source is compiled as SYCL C++, whatever its suffix"
                ));
            }
            "-Wp," => self.preprocessor(&value),
            other => return own(format!("option '{other}' is not implemented")),
        }
        Ok(None)
    }

    /// Handles `-Wp,A,B`: options for the preprocessor. The part after `-MD` or `-MMD` is the depfile path.
    fn preprocessor(&mut self, value: &str) {
        let mut options = Vec::new();
        let mut parts = value.split(',');
        while let Some(part) = parts.next() {
            if part.is_empty() {
                continue; // an empty argument would be treated as an input file named ''
            }
            options.push(part.to_owned());
            if ["-MD", "-MMD"].contains(&part)
                && let Some(file) = parts.next().filter(|file| !file.is_empty())
            {
                options.extend(["-MF".to_owned(), file.to_owned()]);
            }
        }
        for option in options.into_iter().rev() {
            self.arguments.push_front(option);
        }
    }

    fn build_for_cpu(&mut self) -> Result<Request> {
        let arguments = Vec::from(std::mem::take(&mut self.arguments));
        let Ok([spirv, output, options]) = <[String; 3]>::try_from(arguments) else {
            return own("--build-for-cpu requires a SPIR-V file, an output and driver options");
        };
        Ok(Request::BuildForCpu {
            spirv: spirv.into(),
            output: output.into(),
            options,
        })
    }

    fn finish(self) -> Result<Options> {
        let mut options = self.options;
        if options.inputs.is_empty() {
            return own("no input file; see --help");
        }
        options.state = match (self.state, options.link_only) {
            (Some(State::Executable) | None, true) => State::Executable,
            (Some(state), true) => {
                return own(format!(
                    "-fsycl-link creates an executable, but -fsyclbin={state} requests another state; remove one of \
                     them"
                ));
            }
            (Some(state), false) => state,
            (None, false) => {
                return own(
                    "-fsyclbin is missing; add it, because this program writes only SYCLBIN files",
                );
            }
        };
        options
            .dependencies
            .check(options.state, &mut options.warnings)?;
        options.targets.check(options.state)?;
        if options.targets.all().iter().any(Target::is_of_spirv) {
            options.clang.splice(0..0, include_arguments(BFLOAT16_PATH));
        }
        if options.output == Path::new("-") {
            return own("-o -: cannot write a SYCLBIN file to standard output; specify a file");
        }
        if let Some(option) = self.dependencies {
            options.depfile = Some(Depfile {
                explicit: self.depfile.is_some(),
                path: self
                    .depfile
                    .unwrap_or_else(|| options.output.with_extension("d")),
                targets: if self.rule_targets.is_empty() {
                    escape(&options.output)
                } else {
                    self.rule_targets.join(" ")
                },
                option,
                phony: self.phony,
            });
        } else {
            for (option, given) in [
                ("-MF", self.depfile.is_some()),
                ("-MT", !self.rule_targets.is_empty()),
                ("-MP", self.phony),
            ] {
                if given {
                    options.warnings.unused(option);
                }
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests;
