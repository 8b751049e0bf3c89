// SPDX-License-Identifier: MIT OR Apache-2.0
//! Produces the modules of each input: compiles sources, and reads SYCLBIN files and objects.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use syclbin::{Container, State};

use crate::command_line::depfile;
use crate::command_line::inputs::Input;
use crate::command_line::options::{Bitcode, Options, Show};
use crate::command_line::states;
use crate::command_line::targets::{NVIDIA, Target};
use crate::compile;
use crate::link::imports;
use crate::link::objects::{self, Candidate, Object};
use crate::link::{self, InputFile};
use crate::nvidia::{self, Ptx};
use crate::steps::{self, Step};
use crate::{Failure, Result, own};
use syclbin_tools::__private::spelled;

/// Returns the paths of the intermediate file and depfile for input number `index`.
pub(crate) fn between(folder: &Path, index: usize, code: Option<Ptx>) -> [PathBuf; 2] {
    let kind = if code.is_some() { ".ptx" } else { "" };
    [
        folder.join(format!("part-{index}{kind}.syclbin")),
        folder.join(format!("part-{index}{kind}.d")),
    ]
}

/// Returns the kinds of code that each source is compiled to: SPIR-V (`None`), PTX, or both.
pub(crate) fn codes(options: &Options) -> Result<Vec<Option<Ptx>>> {
    if options.ptx.is_some() {
        return Ok(vec![options.ptx]); // this process compiles to PTX on behalf of another
    }
    let nvidia = options.targets.nvidia()?;
    let nvidia = nvidia.map(|code| Ptx::new(code.ptx));
    let spirv = options.targets.want_spirv().then_some(None);
    Ok(spirv.into_iter().chain(nvidia.map(Some)).collect())
}

pub(crate) fn makes_ptx(codes: &[Option<Ptx>], inputs: &[Input]) -> bool {
    codes.iter().any(Option::is_some) && inputs.iter().any(Input::is_source)
}

/// Returns whether the only input is a source that this process compiles itself. PTX is compiled in another process,
/// because the library may crash on sources that compile for other targets.
pub(crate) fn is_compiled_here(options: &Options, inputs: &[Input]) -> bool {
    let has_ptx = options.ptx.is_none() && matches!(options.targets.nvidia(), Ok(Some(_)));
    matches!(inputs, [Input::Source(_)]) && !has_ptx
}

/// Returns the state that each source is compiled to.
fn state(options: &Options, inputs: &[Input]) -> State {
    match inputs.len() {
        1 => options.state,
        _ => options.dependencies.state_of_part(options.state),
    }
}

/// Returns whether a single compile produces the requested file.
pub(crate) fn is_one_step(options: &Options, inputs: &[Input]) -> bool {
    let all = options.targets.all();
    is_compiled_here(options, inputs) && all.iter().all(|target| *target == Target::Spirv)
}

/// Returns the process that compiles input number `index` for `code`.
pub(crate) fn compile_step(
    options: &Options,
    inputs: &[Input],
    index: usize,
    code: Option<Ptx>,
    folder: &Path,
) -> Result<Step> {
    let is_one_step = is_one_step(options, inputs);
    let state = if is_one_step || code.is_some() || !is_compiled_here(options, inputs) {
        state(options, inputs)
    } else {
        // The last step does not accept an executable as an input, so the printed step must not produce one.
        options.dependencies.state_of_part(options.state)
    };
    let source = inputs[index].path().display().to_string();
    let [mut output, mut depfile] = between(folder, index, code);
    let mut writes = vec![output.clone(), depfile.clone()];
    if is_one_step {
        writes.clear();
        output.clone_from(&options.output);
        if let Some(wanted) = &options.depfile {
            depfile.clone_from(&wanted.path);
        }
    }
    let mut arguments = vec![
        "-c".to_owned(),
        format!("-fsyclbin={}", states::name(state)),
    ];
    arguments.extend(code.map(Ptx::option));
    arguments.extend(options.clang.iter().cloned());
    if let Some(option) = options.dependencies.explicit(state) {
        arguments.push(option.to_owned());
    }
    if let Some(wanted) = &options.depfile {
        let path = depfile.display().to_string();
        arguments.extend([wanted.kind.option().to_owned(), "-MF".to_owned(), path]);
        arguments.extend(["-MT".to_owned(), wanted.targets.clone()]);
        arguments.extend(wanted.phony.then(|| "-MP".to_owned()));
    }
    arguments.extend(["-o".to_owned(), output.display().to_string()]);
    arguments.extend(["--".to_owned(), source.clone()]);
    let subject = match code {
        Some(_) => format!("{source}, for target {NVIDIA}"),
        None => source,
    };
    let mut step = Step::of_own(&subject, arguments)?;
    step.writes = writes;
    Ok(step)
}

/// Lists the kernels of a source that compiled to SPIR-V but not to PTX, with possible remedies. The compiler crashed
/// on one of these kernels.
fn tell_of_crash(input: &Input, index: usize, codes: &[Option<Ptx>], folder: &Path) {
    let made = |code: &Option<Ptx>| between(folder, index, *code)[0].is_file();
    let [spirv @ None, ptx @ Some(_)] = codes else {
        return;
    };
    if !made(spirv) || made(ptx) {
        return;
    }
    let [output, _] = between(folder, index, *spirv);
    if let Ok(part) = link::read(&output, input.to_string()) {
        let kernels: Vec<_> = part.file.kernel_names().map(spelled).collect();
        let _ = writeln!(
            std::io::stderr().lock(),
            "syclbin-clang: note: {input} contains the kernels {}; remove {NVIDIA} from the targets, move the kernel \
             that fails to a source without this target, or use a DPC++ clang++ (SYCLBIN_CLANG)",
            kernels.join(", ")
        );
    }
}

/// Returns the modules of each input in order, and the files that were read for each source.
///
/// The library shares state within a process, so each source is compiled in a separate process.
pub(crate) fn compile(
    options: &Options,
    inputs: &[Input],
    folder: &Path,
) -> Result<(Vec<InputFile>, Vec<Vec<PathBuf>>)> {
    let state = state(options, inputs);
    let mut read = Vec::new();
    if let [Input::Source(source)] = inputs
        && is_compiled_here(options, inputs)
    {
        compile_step(options, inputs, 0, options.ptx, folder)?.show(options.show);
        let mut clang = options.clang.clone();
        clang.extend(options.dependencies.option(state).map(str::to_owned));
        if options.show == Show::Steps {
            clang.push("-v".to_owned());
        }
        let kind = options.depfile.as_ref().map(|depfile| depfile.kind);
        let keeps_asserts = imports::keeps_asserts(&clang);
        let compiled = compile::compile(source, clang, state, kind, options.ptx)?;
        read.push(compiled.read);
        let part = InputFile {
            name: source.display().to_string(),
            file: compiled.file,
        };
        if !keeps_asserts {
            imports::check_asserts(&part)?;
        }
        return Ok((vec![part], read));
    }
    let mut parts = Vec::new();
    let mut objects = Vec::new();
    // Reads files before any compile, because reading is fast and may already fail.
    for (index, input) in inputs.iter().enumerate() {
        match input {
            Input::Source(_) => {}
            Input::Syclbin(path) => {
                let part = link::open(path, options.state)?;
                let is_member = false;
                parts.push((index, Candidate { part, is_member }));
            }
            Input::Object(path) => {
                let of_input = objects::open(path, options.state)?.into_iter();
                objects.extend(of_input.map(|object| (index, object)));
            }
        }
    }
    let codes = codes(options)?;
    let mut steps = Vec::new();
    for (index, input) in inputs.iter().enumerate() {
        let first = steps.len();
        for code in codes.iter().filter(|_| input.is_source()) {
            let mut step = compile_step(options, inputs, index, *code, folder)?;
            step.like = (steps.len() > first).then_some(first);
            step.is_optional = code.is_some() && options.targets.ptx_is_optional();
            steps.push(step);
        }
    }
    let of_sources = steps.len();
    for (number, (_, object)) in objects.iter().enumerate() {
        steps.extend(bitcode_steps(options, number, object, folder)?);
    }
    let done = steps::run_all(&steps, options.show);
    if done == Err(Failure::Reported(steps::CRASHED)) {
        for (index, input) in inputs.iter().enumerate() {
            tell_of_crash(input, index, &codes, folder);
        }
    }
    done?;
    for (index, input) in inputs.iter().enumerate() {
        if let Input::Source(path) = input {
            let name = path.display().to_string();
            let mut of_source = Vec::new();
            let mut whole: Option<InputFile> = None;
            for code in &codes {
                let [output, depfile] = between(folder, index, *code);
                if code.is_some() && options.targets.ptx_is_optional() && !output.is_file() {
                    continue; // its step has already warned
                }
                let part = link::read(&output, name.clone())?;
                whole = Some(match whole {
                    Some(spirv) => spirv.map(|file| nvidia::merge(file, part.file)),
                    None => part,
                });
                if options.depfile.is_some() {
                    let rule = std::fs::read_to_string(&depfile)
                        .or_else(|error| own(format!("cannot read the depfile: {error}")))?;
                    of_source.extend(depfile::files(&rule));
                }
            }
            read.push(of_source);
            let is_member = false;
            parts.extend(whole.map(|part| (index, Candidate { part, is_member })));
        }
    }
    let mut compiled = steps.iter().skip(of_sources);
    for (index, object) in objects {
        let outputs = compiled.by_ref().take(object.bitcode.len());
        parts.push((index, of_object(options, object, outputs)?));
    }
    parts.sort_by_key(|(index, _)| *index);
    let candidates = parts.into_iter().map(|(_, part)| part).collect();
    Ok((objects::select(candidates)?, read))
}

/// Returns the processes that compile the bitcode of object number `number`. Writes their input files.
fn bitcode_steps(
    options: &Options,
    number: usize,
    object: &Object,
    folder: &Path,
) -> Result<Vec<Step>> {
    let state = options.dependencies.state_of_part(options.state);
    let steps = object.bitcode.iter().enumerate().map(|(image, bitcode)| {
        let input = folder.join(format!("object-{number}-{image}.bc"));
        let output = folder.join(format!("object-{number}-{image}.syclbin"));
        super::write(&input, bitcode)?;
        let mut arguments = vec![
            format!("-fsyclbin={}", states::name(state)),
            format!("{}{}", Bitcode::COMPILE, object.name),
        ];
        arguments.extend(options.clang.iter().cloned());
        arguments.extend(options.dependencies.explicit(state).map(str::to_owned));
        arguments.extend(["-o".to_owned(), output.display().to_string()]);
        arguments.extend(["--".to_owned(), input.display().to_string()]);
        let mut step = Step::of_own(&object.name, arguments)?;
        step.reads = Some(input);
        step.writes = vec![output];
        Ok(step)
    });
    steps.collect()
}

/// Returns the modules of an object, including those that other processes compiled from its bitcode.
fn of_object<'s>(
    options: &Options,
    object: Object,
    steps: impl Iterator<Item = &'s Step>,
) -> Result<Candidate> {
    let is_member = object.is_member;
    let name = object.name;
    let mut part = InputFile {
        name: name.clone(),
        file: object.file,
    };
    for output in steps.flat_map(|step| &step.writes) {
        let compiled = link::read(output, name.clone())?;
        part.file.modules.extend(compiled.file.modules);
    }
    if !imports::keeps_asserts(&options.clang) {
        imports::check_asserts(&part)?;
    }
    Ok(Candidate { part, is_member })
}

/// Returns the arguments for clang, including the option for the state.
pub(crate) fn clang_arguments(options: &Options) -> Vec<String> {
    let mut clang = options.clang.clone();
    let option = options.dependencies.option(options.state);
    clang.extend(option.map(str::to_owned));
    clang
}

/// Compiles the bitcode at `path`, which comes from the input `name`.
pub(crate) fn from_bitcode(options: &Options, path: &Path, name: &str) -> Result<()> {
    let clang = clang_arguments(options);
    let file = compile::compile_bitcode(path, name, clang, options.state)?;
    let bytes = syclbin::write::to_vec(&file, Container::default()).or_else(|error| {
        own(format!(
            "cannot encode the code of '{name}' as SYCLBIN: {error}"
        ))
    })?;
    super::write(&options.output, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvidia::gpu::NvidiaGpu;

    #[test]
    fn only_sources_are_compiled_to_ptx() {
        let ptx = Ptx::new(NvidiaGpu::named("sm_80").unwrap());
        let [source, file] = [
            Input::Source("k.cpp".into()),
            Input::Syclbin("k.syclbin".into()),
        ];
        let inputs = [file.clone(), source.clone()];
        assert!(makes_ptx(&[None, Some(ptx)], &inputs));
        assert!(!makes_ptx(&[None], &[source]));
        assert!(!makes_ptx(&[Some(ptx)], &[file]));
    }
}
