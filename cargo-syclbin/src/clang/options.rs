//! The command line: what this program does itself, and what it passes on to clang.

use std::ffi::OsString;
use std::path::PathBuf;

use syclbin::State;

use crate::{Failure, Result, own};

pub(crate) const HELP: &str = "\
Usage: syclbin-clang [-fsycl] -fsyclbin[=STATE] [-o FILE] [OPTIONS] SOURCE

Compiles the SYCL kernels in SOURCE to a SYCLBIN file, as DPC++'s clang++ does.

  -fsyclbin[=STATE]  input, object or executable (the default)
  -o FILE            the file to write (default: a.syclbin)
  -I DIR, -D NAME[=VALUE], -U NAME, -include FILE, -isystem DIR
  -O0..-O3, -g, -std=..., -f..., -W...    as in clang
  -MD [-MF FILE] [-MT TARGET]             write a depfile (default: the output with suffix .d)
  --version, --help
";

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Compile(Options),
    Version,
    Help,
}

/// One compilation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) source: PathBuf,
    pub(crate) output: PathBuf,
    pub(crate) state: State,
    pub(crate) depfile: Option<Depfile>,
    /// What clang is given, in order. The library takes UTF-8.
    pub(crate) clang: Vec<String>,
}

/// A depfile that is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Depfile {
    pub(crate) path: PathBuf,
    /// What the rule in it makes.
    pub(crate) target: PathBuf,
    /// `-MD`, or `-MMD` for a list without system headers.
    pub(crate) kind: String,
}

/// Options whose value may be the next argument; the library wants them in one.
const JOINED: [&str; 3] = ["-I", "-D", "-U"];
/// Options whose value is the next argument.
const SEPARATE: [&str; 4] = ["-isystem", "-iquote", "-idirafter", "-Xclang"];
/// Options whose value the library drops; its clang takes them behind `-Xclang`.
const INNER: [&str; 2] = ["-include", "-imacros"];
/// The targets that are built in, and so may be asked for.
const TARGETS: [&str; 2] = [
    "-fsycl-targets=spir64",
    "-fsycl-targets=spir64-unknown-unknown",
];
/// Options of clang++ that change what is made; not passing them on silently would be a trap.
const REFUSED: [(&str, &str); 7] = [
    ("-fsycl-targets", "only the target spir64 is built in"),
    ("--offload-arch", "only the target spir64 is built in"),
    ("-Xsycl-target", "only the target spir64 is built in"),
    (
        "-fsycl-device-only",
        "it wins over -fsyclbin in clang++; leave it out",
    ),
    ("-fsycl-link", "linking SYCLBIN files is not supported"),
    (
        "-x",
        "sources are taken for SYCL C++ whatever they are called",
    ),
    ("@", "write the arguments out"),
];

impl Request {
    pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self> {
        let mut sources = Vec::new();
        let mut clang = Vec::new();
        let (mut output, mut state) = (None, None);
        let (mut kind, mut depfile, mut target) = (None, None, None);
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let text = utf8(argument)?;
            let mut value = |option: &str| match arguments.next() {
                Some(value) => utf8(value),
                None => own(format!("argument to '{option}' is missing")),
            };
            match text.as_str() {
                "--version" => return Ok(Self::Version),
                "--help" | "-h" => return Ok(Self::Help),
                "-fsycl" | "-c" | "--offload-new-driver" => {}
                target if TARGETS.contains(&target) => {}
                "-fsyclbin" => state = Some(State::Executable),
                "-o" => output = Some(PathBuf::from(value("-o")?)),
                "-MD" | "-MMD" => kind = Some(text),
                "-MF" => depfile = Some(PathBuf::from(value("-MF")?)),
                "-MT" | "-MQ" => target = Some(PathBuf::from(value(&text)?)),
                option if JOINED.contains(&option) => {
                    let value = value(option)?;
                    clang.push(format!("{option}{value}"));
                }
                option if SEPARATE.contains(&option) => {
                    let value = value(option)?;
                    clang.extend([text, value]);
                }
                option if INNER.contains(&option) => {
                    let value = value(option)?;
                    let inner = ["-Xclang".into(), text, "-Xclang".into(), value];
                    clang.extend(inner);
                }
                option if option.starts_with("-fsyclbin=") => {
                    let name = &option["-fsyclbin=".len()..];
                    state = Some(State::from_name(name).ok_or_else(|| {
                        Failure::Own(format!(
                            "invalid value '{name}' in '{option}': it is input, object or executable"
                        ))
                    })?);
                }
                option if option.len() > 1 && option.starts_with(['-', '@']) => {
                    if let Some((_, why)) = REFUSED.iter().find(|(r, _)| option.starts_with(r)) {
                        return own(format!("option '{option}' is not supported: {why}"));
                    }
                    if let Some(path) = option.strip_prefix("-o") {
                        output = Some(PathBuf::from(path));
                    } else if let Some(path) = option.strip_prefix("-MF") {
                        depfile = Some(PathBuf::from(path));
                    } else if let Some(name) = option.strip_prefix("-MT") {
                        target = Some(PathBuf::from(name));
                    } else if let Some(inner) = INNER.iter().find(|i| option.starts_with(*i)) {
                        return own(format!("write '{inner} FILE' in two arguments"));
                    } else {
                        clang.push(text);
                    }
                }
                _ => sources.push(PathBuf::from(text)),
            }
        }
        let source = match <[PathBuf; 1]>::try_from(sources) {
            Ok([source]) => source,
            Err(sources) if sources.is_empty() => return own("no input file; see --help"),
            Err(_) => return own("several input files; compile each to a file of its own"),
        };
        let Some(state) = state else {
            return own("-fsyclbin is missing: a SYCLBIN file is all this program makes");
        };
        if matches!(state, State::Input | State::Object) {
            // Images of these states are still to be linked; DPC++ implies the same option.
            clang.push("-fsycl-allow-device-image-dependencies".into());
        }
        let output = output.unwrap_or_else(|| PathBuf::from("a.syclbin"));
        let depfile = kind.map(|kind| Depfile {
            path: depfile.unwrap_or_else(|| output.with_extension("d")),
            target: target.unwrap_or_else(|| output.clone()),
            kind,
        });
        Ok(Self::Compile(Options {
            source,
            output,
            state,
            depfile,
            clang,
        }))
    }
}

fn utf8(argument: OsString) -> Result<String> {
    argument.into_string().or_else(|argument| {
        own(format!(
            "argument '{}' is not UTF-8, which the compiler library cannot take",
            argument.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Request> {
        Request::parse(line.split_whitespace().map(OsString::from))
    }

    fn options(line: &str) -> Options {
        match parse(line).unwrap() {
            Request::Compile(options) => options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn clangs_command_line_is_understood() {
        let options = options(
            "-fsycl -fsyclbin=object -I inc -Iinc2 -D N=3 -O3 -std=c++20 -MD -MF k.d -o k.syclbin k.cpp",
        );
        assert_eq!(options.source, PathBuf::from("k.cpp"));
        assert_eq!(options.output, PathBuf::from("k.syclbin"));
        assert_eq!(options.state, State::Object);
        let depfile = options.depfile.unwrap();
        assert_eq!(depfile.path, PathBuf::from("k.d"));
        assert_eq!(depfile.target, PathBuf::from("k.syclbin"));
        assert_eq!(
            options.clang,
            [
                "-Iinc",
                "-Iinc2",
                "-DN=3",
                "-O3",
                "-std=c++20",
                "-fsycl-allow-device-image-dependencies"
            ]
        );
    }

    #[test]
    fn joined_and_separate_spellings_mean_the_same() {
        let joined = options("-fsyclbin -ok.syclbin -MD -MFk.d -MTt k.cpp");
        let separate = options("-fsyclbin -o k.syclbin -MD -MF k.d -MT t k.cpp");
        assert_eq!(joined, separate);
        let options = options("-fsyclbin -include a.hpp -isystem inc k.cpp");
        let expected = ["-Xclang", "-include", "-Xclang", "a.hpp", "-isystem", "inc"];
        assert_eq!(options.clang, expected);
    }

    #[test]
    fn the_defaults_are_clangs() {
        let options = options("-fsyclbin k.cpp -MD");
        assert_eq!(options.output, PathBuf::from("a.syclbin"));
        assert_eq!(options.state, State::Executable);
        assert_eq!(options.depfile.unwrap().path, PathBuf::from("a.d"));
        assert!(options.clang.is_empty());
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_name() {
        for (line, expected) in [
            ("-fsyclbin", "no input file"),
            ("-fsyclbin a.cpp b.cpp", "several input files"),
            ("a.cpp", "-fsyclbin is missing"),
            ("-fsyclbin=final a.cpp", "invalid value 'final'"),
            ("-fsyclbin a.cpp -o", "argument to '-o' is missing"),
            (
                "-fsyclbin a.cpp -fsycl-targets=nvptx64-nvidia-cuda",
                "only the target spir64",
            ),
            ("-fsyclbin -x c++ a.cpp", "option '-x' is not supported"),
            ("-fsyclbin @args", "option '@args' is not supported"),
            ("-fsyclbin -includea.hpp a.cpp", "in two arguments"),
        ] {
            match parse(line) {
                Err(Failure::Own(text)) => assert!(text.contains(expected), "{line}: {text}"),
                other => panic!("{line}: {other:?}"),
            }
        }
        assert_eq!(parse("--version x"), Ok(Request::Version));
    }
}
