//! From a command line to the files it asks for: the SYCLBIN file and the depfile.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::path::Path;

use syclbin::property::{Value, set};
use syclbin::signature::spirv::{self, Import};
use syclbin::{AbstractModule, Container, Image, IrType, State, Syclbin};
use syclbin_build::{depfile, file};

use crate::headers;
use crate::library::{self, DeviceImage, Outcome};
use crate::lower;
use crate::options::{Depfile, Options};
use crate::{Failure, Result, own};

const TARGET: &str = "spir64-unknown-unknown";
/// Where the headers inside the library appear to lie.
const BUILT_IN_FOLDER: &str = "/sycl-jit-toolchain/";
/// Compiles, and writes what is asked for. Files appear whole or not at all.
pub(crate) fn run(options: &Options) -> Result<()> {
    let source = std::fs::read(&options.source).or_else(|error| {
        let path = options.source.display();
        own(format!("source '{path}' cannot be read: {error}"))
    })?;
    let library = library::find()?;
    let name = options.source.to_string_lossy();

    let mut arguments = options.clang.clone();
    arguments.extend(headers::arguments(&library));
    let dependencies = match &options.depfile {
        Some(depfile) => {
            let sink = Sink::new()?;
            arguments.extend([depfile.kind.clone(), "-MF".into(), sink.path.clone()]);
            Some((depfile, sink))
        }
        None => None,
    };
    let (images, log) = match library::compile(&library, &name, source, &arguments)? {
        Outcome::Compiled(images, log) => (images, log),
        Outcome::Failed(log) => return Err(Failure::Diagnostics(diagnostics(&log))),
    };
    if !log.trim().is_empty() {
        let _ = writeln!(std::io::stderr().lock(), "{}", diagnostics(&log).trim_end());
    }
    let compiled = assemble(images, options.state)?;
    if let Some((depfile, sink)) = dependencies {
        let text = sink.finish()?;
        write(&depfile.path, real_dependencies(depfile, &text).as_bytes())?;
    }
    // Last, so that its presence means that all went well.
    let bytes = syclbin::write::to_vec(&compiled, Container::default())
        .or_else(|error| own(format!("what the compiler made cannot be written: {error}")))?;
    write(&options.output, &bytes)
}

/// Where the library writes its depfile: a pipe with a path. The library ends the process when it
/// cannot write, so a file on a full disk would stay behind half-written.
struct Sink {
    path: String,
    writer: std::io::PipeWriter,
    reader: std::thread::JoinHandle<std::io::Result<String>>,
}

impl Sink {
    fn new() -> Result<Self> {
        let (mut reader, writer) =
            std::io::pipe().or_else(|error| own(format!("no pipe for the depfile: {error}")))?;
        #[cfg(unix)]
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&writer);
        #[cfg(not(unix))]
        let descriptor = return own("the compiler library exists for Linux only");
        Ok(Self {
            path: format!("/proc/self/fd/{descriptor}"),
            writer,
            reader: std::thread::spawn(move || {
                let mut text = Vec::new();
                reader.read_to_end(&mut text)?;
                Ok(String::from_utf8_lossy(&text).into_owned())
            }),
        })
    }

    /// What was written.
    fn finish(self) -> Result<String> {
        drop(self.writer); // else the reader waits for more
        match self.reader.join() {
            Ok(Ok(text)) => Ok(text),
            Ok(Err(error)) => own(format!("the depfile cannot be read: {error}")),
            Err(_) => own("the thread that reads the depfile died"),
        }
    }
}

/// Clang's own words: the library puts a heading of two lines before errors, and a tab.
fn diagnostics(log: &str) -> String {
    let Some((_, details)) = log.split_once("Detailed information:\n") else {
        return log.into();
    };
    details.strip_prefix('\t').unwrap_or(details).into()
}

/// One abstract module for each image, with the properties the library returned.
fn assemble(images: Vec<DeviceImage>, state: State) -> Result<Syclbin<'static>> {
    let mut file = Syclbin::new(state);
    for image in images {
        let mut module = AbstractModule::default();
        for (set, properties) in image.properties {
            module.metadata.insert_set(set.clone());
            for (key, value) in properties {
                module.metadata.insert(set.clone(), key, value);
            }
        }
        let mut code = image.code;
        if let Some(lowered) = lower::lower(&code).or_else(|why| own(why.to_string()))? {
            code = lowered.code;
            lowered.constants.write(&mut module.metadata);
        }
        module.images.push(Image::ir(IrType::SpirV, TARGET, code));
        file.modules.push(module);
    }
    check_imports(&file, state)?;
    Ok(file)
}

/// Refuses code that a driver cannot link. Some drivers end the process when they meet it.
fn check_imports(file: &Syclbin<'_>, state: State) -> Result<()> {
    let mut imports = BTreeSet::new();
    let mut exports = BTreeSet::new();
    for module in &file.modules {
        if let Some(exported) = module.metadata.set(set::EXPORTED_SYMBOLS) {
            let is_set = |(_, value): &(&str, &Value)| value.as_u32() == Some(1);
            exports.extend(
                exported
                    .iter()
                    .filter(is_set)
                    .map(|(key, _)| key.to_owned()),
            );
        }
        for image in &module.images {
            match spirv::unresolved_imports(&image.bytes) {
                Ok(found) => imports.extend(found),
                Err(error) => return own(format!("the compiler made no valid SPIR-V: {error}")),
            }
        }
    }
    let missing: Vec<_> = imports.difference(&exports).map(String::as_str).collect();
    if missing
        .iter()
        .any(|symbol| Import::of(symbol) == Import::DeviceLibrary)
    {
        return own(format!(
            "the device code calls functions of DPC++'s device library that this compiler does not \
             link: {}; an `assert` does (define NDEBUG to leave it out), or use a DPC++ clang++ \
             (SYCLBIN_CLANG)",
            missing.join(", ")
        ));
    }
    if state == State::Executable && !missing.is_empty() {
        return own(format!(
            "undefined in the device code: {}; define it in the same source",
            missing.join(", ")
        ));
    }
    Ok(())
}

/// The rule without the headers that live inside the library: no file of that name exists.
fn real_dependencies(depfile: &Depfile, text: &str) -> String {
    let all = depfile::prerequisites(text);
    let real = all.iter().filter(|path| !path.starts_with(BUILT_IN_FOLDER));
    depfile::rule(&depfile.target, real.map(std::path::PathBuf::as_path))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    file::replace(path, bytes).or_else(|error| own(cannot_write(path, &error)))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> String {
    format!("{} cannot be written: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn the_librarys_heading_is_taken_off_clangs_words() {
        let log =
            "Device compilation failed\nDetailed information:\n\te.cpp:1:1: error: x\n  1 | y\n";
        assert_eq!(diagnostics(log), "e.cpp:1:1: error: x\n  1 | y\n");
        let warning = "w.cpp:2:2: warning: hello\n";
        assert_eq!(diagnostics(warning), warning);
    }

    #[test]
    fn headers_inside_the_library_are_no_dependencies() {
        let depfile = Depfile {
            path: PathBuf::from("k.d"),
            target: PathBuf::from("k.syclbin"),
            kind: "-MD".into(),
        };
        let text =
            "k.o: k.cpp \\\n  /sycl-jit-toolchain//bin/../include/sycl/sycl.hpp \\\n  /a\\ b.hpp\n";
        let rule = real_dependencies(&depfile, text);
        assert_eq!(rule, "k.syclbin: \\\n  k.cpp \\\n  /a\\ b.hpp\n");
    }
}
