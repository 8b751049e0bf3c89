// SPDX-License-Identifier: MIT OR Apache-2.0
//! Produces the modules of each input: compiles sources, and reads SYCLBIN files and objects.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use syclbin::__private::debug_info::Described;

use crate::command_line::depfile;
use crate::command_line::inputs::Input;
use crate::command_line::options::{Bitcode, Options, Show};
use crate::command_line::targets::{NVIDIA, Target};
use crate::link::{self, InputFile, imports, objects};
use crate::nvidia::{self, Ptx};
use crate::steps::{self, Step};
use crate::{Failure, Result, compile, describe, own};

/// Returns the paths of the intermediate file and depfile for input number `index`.
pub(crate) fn between(folder: &Path, index: usize, code: Option<Ptx>) -> [PathBuf; 2] {
    let kind = if code.is_some() { ".ptx" } else { "" };
    [
        folder.join(format!("part-{index}{kind}.syclbin")),
        folder.join(format!("part-{index}{kind}.d")),
    ]
}

/// Returns the kinds of code that each source is compiled to: SPIR-V (`None`), and PTX if a target needs it. If no
/// target needs SPIR-V, it comes last and is compiled only to describe the kernels.
pub(crate) fn codes(options: &Options) -> Result<Vec<Option<Ptx>>> {
    if options.ptx.is_some() {
        return Ok(vec![options.ptx]); // this process compiles to PTX on behalf of another
    }
    let ptx = options.targets.nvidia()?.map(|code| Ptx::new(code.ptx));
    let mut codes: Vec<Option<Ptx>> = [None].into_iter().chain(ptx.map(Some)).collect();
    if !options.targets.want_spirv() {
        codes.reverse();
    }
    Ok(codes)
}

pub(crate) fn makes_ptx(codes: &[Option<Ptx>], inputs: &[Input]) -> bool {
    codes.iter().any(Option::is_some) && inputs.iter().any(Input::is_source)
}

/// Returns whether a single compile in this process produces the requested file. Everything else is compiled in other
/// processes, because the library may crash, and shares state between compiles.
pub(crate) fn is_one_step(options: &Options, inputs: &[Input]) -> bool {
    matches!(inputs, [Input::Source(_)]) && options.targets.all() == [Target::Spirv]
}

/// Returns the step that compiles input number `index` to the kind of code `code`.
pub(crate) fn compile_step(
    options: &Options,
    inputs: &[Input],
    index: usize,
    code: Option<Ptx>,
    folder: &Path,
) -> Result<Step> {
    let state = match inputs {
        [_] => options.state,
        _ => options.dependencies.state_of_part(options.state),
    };
    let source = inputs[index].path().display().to_string();
    let [mut output, mut depfile] = between(folder, index, code);
    if is_one_step(options, inputs) {
        output.clone_from(&options.output);
        if let Some(wanted) = &options.depfile {
            depfile.clone_from(&wanted.path);
        }
    }
    let mut arguments = vec!["-c".to_owned(), format!("-fsyclbin={state}")];
    match code {
        Some(ptx) => arguments.push(ptx.option()),
        None if is_one_step(options, inputs) => {}
        None => arguments.insert(1, describe::LATER.to_owned()),
    }
    arguments.extend(options.clang.iter().cloned());
    arguments.extend(options.dependencies.explicit(state).map(str::to_owned));
    if let Some(wanted) = &options.depfile {
        let path = depfile.display().to_string();
        arguments.extend([wanted.option.to_owned(), "-MF".to_owned(), path]);
        arguments.extend(["-MT".to_owned(), wanted.targets.clone()]);
        arguments.extend(wanted.phony.then(|| "-MP".to_owned()));
    }
    arguments.extend(["-o".to_owned(), output.display().to_string()]);
    arguments.extend(["--".to_owned(), source.clone()]);
    let subject = match code {
        Some(_) => format!("{source} for target {NVIDIA}"),
        None if options.targets.want_spirv() => source,
        None => format!("{source} to describe its kernels"),
    };
    Step::of_own(&subject, arguments)
}

/// Compiles the only input in this process. Returns its modules, and the files that were read.
fn compile_here(
    options: &Options,
    inputs: &[Input],
    folder: &Path,
) -> Result<(InputFile, Vec<PathBuf>)> {
    compile_step(options, inputs, 0, options.ptx, folder)?.show(options.show);
    let source = inputs[0].path();
    let mut clang = clang_arguments(options);
    if options.show == Show::Steps {
        clang.push("-v".to_owned());
    }
    let dependencies = options.depfile.as_ref().map(|depfile| depfile.option);
    let keeps_asserts = imports::keeps_asserts(&clang);
    let (mut file, read) =
        compile::compile(source, clang, options.state, dependencies, options.ptx)?;
    if options.ptx.is_none() && !options.describes_later {
        let described = describe::read(&file)?;
        describe::record(&mut file, &described, &options.clang)?;
    }
    let part = InputFile::new(source.display().to_string(), file);
    if !keeps_asserts {
        imports::check_asserts(&part)?;
    }
    Ok((part, read))
}

/// Returns the modules of each input in order, and the files that were read for each source.
pub(crate) fn compile(
    options: &Options,
    inputs: &[Input],
    folder: &Path,
) -> Result<(Vec<InputFile>, Vec<Vec<PathBuf>>)> {
    if is_one_step(options, inputs) {
        let (part, read) = compile_here(options, inputs, folder)?;
        return Ok((vec![part], vec![read]));
    }
    let mut parts = Vec::new();
    let mut sources = Vec::new();
    // Reads all files before the first compile, because reading is fast and may fail.
    for (index, input) in inputs.iter().enumerate() {
        match input {
            Input::Source(path) => sources.push((index, path)),
            Input::Syclbin(path) => parts.push((index, link::open(path, options.state)?)),
            Input::Object(path) => {
                let of_input = objects::open(path, options.state)?.into_iter();
                parts.extend(of_input.map(|part| (index, part)));
            }
        }
    }
    let codes = codes(options)?;
    let if_it_fails = |code: &Option<Ptx>| match code {
        Some(_) if options.targets.ptx_is_optional => Some("other targets are not affected"),
        None if !options.targets.want_spirv() => {
            Some("the types of kernel parameters are inferred")
        }
        _ => None,
    };
    let mut steps = Vec::new();
    for (index, _) in &sources {
        let first = steps.len();
        for code in &codes {
            let mut step = compile_step(options, inputs, *index, *code, folder)?;
            step.like = (steps.len() > first).then_some(first);
            step.if_it_fails = if_it_fails(code);
            steps.push(step);
        }
    }
    for (number, (_, part)) in parts.iter().enumerate() {
        steps.extend(bitcode_steps(options, number, part, folder)?);
    }
    let done = steps::run_all(&steps, options.show);
    if done == Err(Failure::Reported(steps::CRASHED)) && makes_ptx(&codes, inputs) {
        let _ = writeln!(
            std::io::stderr().lock(),
            "syclbin-clang: note: if the compiler crashes only for {NVIDIA}, remove that target, move the failing \
             kernel to a source that is not compiled for it, or use a DPC++ clang++ (SYCLBIN_CLANG)"
        );
    }
    done?;
    for (number, (index, part)) in parts.iter_mut().enumerate() {
        for image in 0..part.bitcode.len() {
            let [_, output] = between_bitcode(folder, number, image);
            let compiled = link::read(&output, part.name.clone())?;
            part.file.modules.extend(compiled.file.modules);
        }
        let is_object = matches!(inputs[*index], Input::Object(_));
        if is_object && !imports::keeps_asserts(&options.clang) {
            imports::check_asserts(part)?;
        }
    }
    let mut read = Vec::new();
    for (index, path) in sources {
        let name = path.display().to_string();
        // If an output is missing, an optional step failed, and its warning has already been printed.
        let made = codes.iter().filter(|code| {
            let [output, _] = between(folder, index, **code);
            if_it_fails(code).is_none() || output.is_file()
        });
        let paths = |code| between(folder, index, code);
        let (part, of_source) = source(options, &name, made.copied(), paths)?;
        read.push(of_source);
        parts.extend(part.map(|part| (index, part)));
    }
    parts.sort_by_key(|(index, _)| *index);
    let parts = parts.into_iter().map(|(_, part)| part).collect();
    Ok((objects::select(parts)?, read))
}

/// Reads the outputs of one source's steps, one for each of `codes`. Returns the source's modules, and the files that
/// were read. Kernel descriptions come from the SPIR-V, even if no target needs SPIR-V.
fn source(
    options: &Options,
    name: &str,
    codes: impl Iterator<Item = Option<Ptx>>,
    paths: impl Fn(Option<Ptx>) -> [PathBuf; 2],
) -> Result<(Option<InputFile>, Vec<PathBuf>)> {
    let (mut whole, mut described): (Option<InputFile>, _) = (None, Described::default());
    let mut read = Vec::new();
    for code in codes {
        let [output, depfile] = paths(code);
        let mut part = link::read(&output, name.to_owned())?;
        if options.depfile.is_some() {
            let rule = std::fs::read_to_string(&depfile)
                .or_else(|error| own(format!("cannot read the depfile: {error}")))?;
            read.extend(depfile::files(&rule));
        }
        if code.is_none() {
            described = describe::read(&part.file)?;
            if !options.targets.want_spirv() {
                continue;
            }
        }
        if let Some(spirv) = whole {
            part.file = nvidia::merge(spirv.file, part.file);
        }
        whole = Some(part);
    }
    if let Some(part) = &mut whole {
        describe::record(&mut part.file, &described, &options.clang)?;
    }
    Ok((whole, read))
}

/// Returns the paths of the bitcode and the modules of image number `image` in part number `number`.
fn between_bitcode(folder: &Path, number: usize, image: usize) -> [PathBuf; 2] {
    ["bc", "syclbin"].map(|suffix| folder.join(format!("object-{number}-{image}.{suffix}")))
}

/// Returns the steps that compile the bitcode of part number `number`. Writes their input files.
fn bitcode_steps(
    options: &Options,
    number: usize,
    object: &InputFile,
    folder: &Path,
) -> Result<Vec<Step>> {
    let state = options.dependencies.state_of_part(options.state);
    let steps = object.bitcode.iter().enumerate().map(|(image, bitcode)| {
        let [input, output] = between_bitcode(folder, number, image);
        super::write(&input, bitcode)?;
        let mut arguments = vec![
            format!("-fsyclbin={state}"),
            format!("{}{}", Bitcode::COMPILE, object.name),
        ];
        arguments.extend(options.clang.iter().cloned());
        arguments.extend(options.dependencies.explicit(state).map(str::to_owned));
        arguments.extend(["-o".to_owned(), output.display().to_string()]);
        arguments.extend(["--".to_owned(), input.display().to_string()]);
        Step::of_own(&object.name, arguments)
    });
    steps.collect()
}

/// Returns the arguments for clang, including the option that allows or forbids dependencies between modules.
pub(crate) fn clang_arguments(options: &Options) -> Vec<String> {
    let mut clang = options.clang.clone();
    let option = options.dependencies.option(options.state);
    clang.extend(option.map(str::to_owned));
    clang
}

/// Compiles the bitcode at `path`, which comes from the input `name`, and writes the output file.
pub(crate) fn from_bitcode(options: &Options, path: &Path, name: &str) -> Result<()> {
    let clang = clang_arguments(options);
    let file = compile::compile_bitcode(path, name, clang, options.state)?;
    let bytes = super::encode(&file, &format!("the code of '{name}'"))?;
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
