//! Parts: each input as modules, sources compiled and SYCLBIN files read.

use std::path::{Path, PathBuf};

use syclbin::State;

use crate::compile;
use crate::depfile;
use crate::imports;
use crate::inputs::Input;
use crate::link::{self, Part};
use crate::options::{Options, Show};
use crate::states;
use crate::steps::{self, Step};
use crate::targets::Target;
use crate::{Result, own};

/// Where the file and the depfile of input number `index` lie until they are joined.
pub(crate) fn between(folder: &Path, index: usize) -> [PathBuf; 2] {
    [
        folder.join(format!("part-{index}.syclbin")),
        folder.join(format!("part-{index}.d")),
    ]
}

/// The state that each source is compiled to.
fn state(options: &Options, inputs: &[Input]) -> State {
    match inputs.len() {
        1 => options.state,
        _ => options.dependencies.state_of_part(options.state),
    }
}

/// Whether the compile of a source makes the file that is asked for.
pub(crate) fn is_one_step(options: &Options, inputs: &[Input]) -> bool {
    let native = options.targets.all().iter().any(Target::is_native);
    matches!(inputs, [Input::Source(_)]) && !native
}

/// The process that compiles input number `index`.
pub(crate) fn compile_step(
    options: &Options,
    inputs: &[Input],
    index: usize,
    folder: &Path,
) -> Result<Step> {
    let is_one_step = is_one_step(options, inputs);
    let state = match is_one_step {
        true => options.state,
        // What is shown as the last step takes it, and it takes no executables.
        false => options.dependencies.state_of_part(options.state),
    };
    let source = inputs[index].path().display().to_string();
    let [mut output, mut depfile] = between(folder, index);
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
    let mut step = Step::of_own(&source, arguments)?;
    step.writes = writes;
    Ok(step)
}

/// The parts of the file in the order of the inputs, and the files that were read for each source.
///
/// The library has state that is shared by all of a process, so several sources are compiled by as many.
pub(crate) fn compile(
    options: &Options,
    inputs: &[Input],
    folder: &Path,
) -> Result<(Vec<Part>, Vec<Vec<PathBuf>>)> {
    let state = state(options, inputs);
    let mut read = Vec::new();
    if let [Input::Source(source)] = inputs {
        compile_step(options, inputs, 0, folder)?.show(options.show);
        let mut clang = options.clang.clone();
        clang.extend(options.dependencies.option(state).map(str::to_owned));
        if options.show == Show::Steps {
            clang.push("-v".to_owned());
        }
        let kind = options.depfile.as_ref().map(|depfile| depfile.kind);
        let keeps_asserts = imports::keeps_asserts(&clang);
        let compiled = compile::compile(source, clang, state, kind)?;
        read.push(compiled.read);
        let part = Part {
            name: source.display().to_string(),
            file: compiled.file,
        };
        if !keeps_asserts {
            imports::check_asserts(&part)?;
        }
        return Ok((vec![part], read));
    }
    let mut parts = Vec::new();
    // Before any compile: they are read in no time, and may be what is wrong.
    for (index, input) in inputs.iter().enumerate() {
        if let Input::Syclbin(path) = input {
            parts.push((index, link::open(path, options.state)?));
        }
    }
    let mut steps = Vec::new();
    for (index, input) in inputs.iter().enumerate() {
        if input.is_source() {
            steps.push(compile_step(options, inputs, index, folder)?);
        }
    }
    steps::run_all(&steps, options.show)?;
    for (index, input) in inputs.iter().enumerate() {
        if let Input::Source(path) = input {
            let [output, depfile] = between(folder, index);
            let name = path.display().to_string();
            parts.push((index, link::read(&output, name)?));
            if options.depfile.is_some() {
                let rule = std::fs::read_to_string(&depfile)
                    .or_else(|error| own(format!("the depfile cannot be read: {error}")))?;
                read.push(depfile::files(&rule));
            }
        }
    }
    parts.sort_by_key(|(index, _)| *index);
    Ok((parts.into_iter().map(|(_, part)| part).collect(), read))
}
