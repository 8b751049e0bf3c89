// SPDX-License-Identifier: MIT OR Apache-2.0
//! Creates the files that a command line requests: the SYCLBIN file and the depfile.

mod parts;

use std::path::Path;
use std::time::SystemTime;

use syclbin::{Container, State, Syclbin};
use syclbin_build::file;
use syclbin_tools::__private::link::link_modules;

use crate::command_line::inputs::Input;
use crate::command_line::options::{Bitcode, Options, Show};
use crate::command_line::targets::Target;
use crate::native::{self, Backend};
use crate::{Failure, Result, compile, link, nvidia, own, steps};

/// Creates the requested files, or prints the steps. Each file is written either completely or not at all.
pub(crate) fn make(options: &Options) -> Result<()> {
    options.warnings.show()?;
    match (&options.bitcode, options.inputs.as_slice()) {
        (Some(Bitcode::Compile(name)), [path]) => return parts::from_bitcode(options, path, name),
        (Some(Bitcode::Save), [path]) => {
            return compile::save_bitcode(path, &options.output, parts::clang_arguments(options));
        }
        (Some(_), _) => {
            return own(
                "--compile-bitcode and --save-bitcode require exactly one input; pass a single file",
            );
        }
        (None, _) => {}
    }
    let inputs = options.inputs.iter().cloned().map(Input::open);
    let inputs: Vec<Input> = inputs.collect::<Result<_>>()?;
    check(options, &inputs)?;
    let codes = parts::codes(options)?;
    if parts::makes_ptx(&codes, &inputs) {
        nvidia::check(&options.clang)?;
    }
    let backends = Backend::all(options)?;
    if options.show == Show::StepsOnly {
        return show_only(options, &inputs, &backends);
    }
    if parts::is_one_step(options, &inputs) {
        // The library runs in this process. If it crashed, a temporary directory would be left behind, so none is
        // created.
        return build(options, &inputs, &backends, Path::new(""));
    }
    let folder = tempfile::Builder::new().prefix("syclbin-clang-").tempdir();
    let folder = folder.or_else(|error| {
        own(format!(
            "cannot create a directory for intermediate files: {error}; set TMPDIR to a writable directory"
        ))
    })?;
    let built = build(options, &inputs, &backends, folder.path());
    if built == Err(Failure::Reported(steps::CRASHED)) {
        // Keeps the directory, because the printed command that reproduces the crash reads files in it.
        let _ = folder.keep();
    }
    built
}

/// Creates the requested files, with intermediate files in a temporary directory.
fn build(options: &Options, inputs: &[Input], backends: &[Backend], folder: &Path) -> Result<()> {
    let (mut parts, read) = parts::compile(options, inputs, folder)?;
    let mut warnings = native::discard_replaced(&mut parts, backends, options.state)?;
    let mut whole = link::join(parts, options.state)?;
    let compiles_spirv = |backend: &Backend| backend.target.is_of_spirv();
    let needs_linked_code = options.link_only || backends.iter().any(compiles_spirv);
    if options.state == State::Executable && needs_linked_code {
        // Native code cannot be linked later, and `-fsycl-link` asks for it. What cannot be linked stays unchanged.
        let unlinked = link_modules(&mut whole.modules).into_iter();
        warnings.extend(unlinked.map(|module| module.to_string()));
    }
    if !backends.is_empty() {
        let keep_spirv = options.targets.all().contains(&Target::Spirv);
        let of_modules = native::add(&mut whole, backends, keep_spirv, folder, options.show)?;
        warnings.extend(of_modules);
    }
    if let Some(code) = options.targets.nvidia()?
        && !options.targets.ptx_is_optional
    {
        warnings.extend(nvidia::without_ptx(&whole, &code));
    }
    options.warnings.with_texts(warnings).show()?;
    if options.state == State::Executable {
        nvidia::store_ptx_as_native(&mut whole);
    }
    let bytes = encode(&whole, "the compiler output")?;
    if let Some(depfile) = &options.depfile {
        write(&depfile.path, depfile.text(&read).as_bytes())?;
    }
    // The SYCLBIN file is written last, so it is created or updated only if everything else succeeded.
    write(&options.output, &bytes)
}

/// Encodes a file. `what` describes it in an error.
fn encode(file: &Syclbin<'_>, what: &str) -> Result<Vec<u8>> {
    syclbin::write::to_vec(file, Container::default())
        .or_else(|error| own(format!("cannot encode {what} as SYCLBIN: {error}")))
}

/// Rejects requests that would fail only after minutes, or that would overwrite an input.
fn check(options: &Options, inputs: &[Input]) -> Result<()> {
    let sources: Vec<_> = inputs.iter().filter(|input| input.is_source()).collect();
    if let (true, Some(source)) = (options.link_only, sources.first()) {
        return own(format!(
            "-fsycl-link accepts only SYCLBIN files and objects, but '{source}' is a source; compile it with \
             -fsyclbin=object first"
        ));
    }
    for (index, input) in inputs.iter().enumerate() {
        let mut earlier = inputs[..index].iter();
        if earlier.any(|other| is_same(other.path(), input.path())) {
            return own(format!("input '{input}' is repeated; pass it only once"));
        }
    }
    let mut outputs = vec![("output", &options.output)];
    if let Some(depfile) = &options.depfile {
        if depfile.explicit && sources.len() > 1 {
            return own(format!(
                "-MF {}: clang++ would keep only the rule for the last of {} sources; remove -MF so that {} lists the \
                 files of all sources, or compile each source to its own object",
                depfile.path.display(),
                sources.len(),
                options.output.with_extension("d").display()
            ));
        }
        if is_same(&depfile.path, &options.output) {
            return own(format!(
                "depfile '{}' is also the output; choose another file with -MF",
                depfile.path.display()
            ));
        }
        outputs.push(("depfile", &depfile.path));
    }
    for (what, path) in outputs {
        let shown = path.display();
        if let Some(input) = inputs.iter().find(|input| is_same(input.path(), path)) {
            return own(format!(
                "{what} '{shown}' is also input '{input}'; choose another file"
            ));
        }
        if path.is_dir() {
            return own(format!(
                "{what} '{shown}' is a directory; specify a file in it"
            ));
        }
        let folder = file::directory_of(path);
        if !folder.is_dir() {
            return own(format!(
                "cannot write {what} '{shown}': directory '{}' does not exist; create it",
                folder.display()
            ));
        }
    }
    Ok(())
}

/// Returns whether two paths refer to the same regular file. A device such as /dev/null may be named twice.
fn is_same(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b && a.is_file(),
        _ => a == b,
    }
}

/// Prints the steps without running them, for `-###`. In the printed commands, intermediate files are in the current
/// directory.
fn show_only(options: &Options, inputs: &[Input], backends: &[Backend]) -> Result<()> {
    let folder = Path::new("");
    let sources = inputs.iter().enumerate();
    for (index, _) in sources.filter(|(_, input)| input.is_source()) {
        for code in parts::codes(options)? {
            parts::compile_step(options, inputs, index, code, folder)?.show(options.show);
        }
    }
    // The number of modules is not known yet, so `MODULE` stands for each.
    for (number, backend) in backends.iter().enumerate() {
        let spirv = folder.join(format!("MODULE.{}", backend.suffix()));
        let output = folder.join(format!("MODULE.{number}.native"));
        backend.step("MODULE", &spirv, &output).show(options.show);
    }
    Ok(())
}

/// Writes a file. If the file already contains these bytes, only updates its modification time, which make and Ninja
/// compare. Does not open a special file, such as a pipe, a second time, because its reader may be gone.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = file::replace(path, bytes).and_then(|()| {
        if path.metadata()?.is_file() {
            // Windows sets a file's time only through a handle that is open for writing.
            let file = std::fs::File::options()
                .read(true)
                .write(cfg!(windows))
                .open(path)?;
            file.set_modified(SystemTime::now())
        } else {
            Ok(())
        }
    });
    written.or_else(|error| own(format!("cannot write '{}': {error}", path.display())))
}
