// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes the request for each SYCLBIN file to a note in `OUT_DIR`. `cargo syclbin list` and `cargo syclbin watch` read
//! these notes.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::cargo;
use crate::compiler::default_targets::{self, TARGETS};
use crate::compiler::headers;
use crate::file::{self, join_words, key_and_value, split_words};
use crate::request::{Request, Triples};
use crate::search;

/// The prefix of a note's file name. The name of the SYCLBIN file follows.
const PREFIX: &str = ".sources-";

/// Returns the directory for SYCLBIN files in `OUT_DIR`.
pub(crate) fn directory(out_dir: &Path) -> PathBuf {
    out_dir.join("syclbin")
}

/// Returns the path of the SYCLBIN file called `name`.
pub fn file(out_dir: &Path, name: &str) -> PathBuf {
    file_in(&directory(out_dir), name)
}

pub(crate) fn file_in(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.syclbin"))
}

pub(crate) fn note(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{PREFIX}{name}"))
}

/// Returns the note of the file called `name` that a build script with this `OUT_DIR` builds.
pub(crate) fn note_of(out_dir: &Path, name: &str) -> PathBuf {
    note(&directory(out_dir), name)
}

/// Writes a note with the request for the file called `name`.
pub(crate) fn write(out_dir: &Path, name: &str, request: &Request) -> io::Result<()> {
    let mut words = Vec::new();
    for source in &request.sources {
        let is_matched = request.matched.contains(source);
        words.push(word(if is_matched { "matched" } else { "source" }, source));
    }
    let arguments = request.arguments.iter();
    words.extend(arguments.map(|argument| word("argument", argument)));
    // Cargo may have set these variables only for the build script.
    if default_targets::split(&request.arguments).1.is_empty() {
        let targets = cargo::env_again(default_targets::VARIABLE);
        let flag = |targets: OsString| OsString::from_iter([OsStr::new(TARGETS), &targets]);
        words.extend(targets.map(|targets| word("argument", flag(targets))));
    }
    let compiler = request.compiler.clone().map(PathBuf::into_os_string);
    let compiler = compiler.or_else(|| cargo::env_again(search::VARIABLE));
    words.extend(compiler.map(|compiler| word("compiler", compiler)));
    words.extend((request.links_at_load).then(|| word("link-at-load", "true")));
    words.extend(request.links.then(|| word("link", "true")));
    let Triples { target, host } = request.triples();
    words.extend(target.map(|triple| word("target", triple)));
    words.extend(host.map(|triple| word("host", triple)));
    words.push(word("headers", headers::folder()));
    let bytes = join_words(words.iter().map(OsString::as_os_str));
    file::replace(&note_of(out_dir, name), &bytes)
}

fn word(key: &str, value: impl AsRef<OsStr>) -> OsString {
    OsString::from_iter([OsStr::new(key), OsStr::new("="), value.as_ref()])
}

pub(crate) fn request(out_dir: &Path, name: &str) -> io::Result<Request> {
    let bytes = std::fs::read(note(&directory(out_dir), name))?;
    let mut request = Request::default();
    let mut triples = Triples::default();
    for word in split_words(&bytes) {
        let Some((key, value)) = key_and_value(&word) else {
            continue;
        };
        match key {
            "source" => request.sources.push(value.into()),
            "matched" => {
                request.sources.push(value.clone().into());
                request.matched.insert(value.into());
            }
            "argument" => request.arguments.push(value),
            "compiler" => request.compiler = Some(value.into()),
            "link-at-load" => request.links_at_load = true,
            "link" => request.links = true,
            "target" => triples.target = value.into_string().ok(),
            "host" => triples.host = value.into_string().ok(),
            // If another copy of this crate wrote the note, that copy's headers take precedence.
            "headers" if Path::new(&value) != headers::folder() => {
                request.arguments.extend(["-isystem".into(), value]);
            }
            _ => {}
        }
    }
    request.triples = Some(triples);
    Ok(request)
}

/// Returns the names of all SYCLBIN files, each with its sources relative to the package directory.
///
/// # Errors
///
/// Fails if the notes cannot be read.
pub fn read(out_dir: &Path) -> io::Result<BTreeMap<String, Vec<PathBuf>>> {
    let directory = directory(out_dir);
    let each = names(&directory)?.into_iter().map(|name| {
        let request = request(out_dir, &name)?;
        Ok((name, request.sources))
    });
    each.collect()
}

/// Returns the names of the files for which `directory` contains notes.
pub(crate) fn names(directory: &Path) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let names = entries.map(|entry| {
        let name = entry?.file_name().to_string_lossy().into_owned();
        Ok(name.strip_prefix(PREFIX).map(str::to_owned))
    });
    names.filter_map(Result::transpose).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noted_sources_are_read_by_name() {
        let out = tempfile::tempdir().unwrap();
        assert!(read(out.path()).unwrap().is_empty());
        std::fs::create_dir(directory(out.path())).unwrap();
        let sources = ["k/a b.cpp", "c.cpp"].map(PathBuf::from);
        for (name, sources) in [("a", &sources[..]), ("b", &sources[1..])] {
            let request = Request {
                sources: sources.to_vec(),
                ..Request::default()
            };
            write(out.path(), name, &request).unwrap();
        }
        std::fs::write(file(out.path(), "old"), "").unwrap();
        let found = read(out.path()).unwrap();
        let found: Vec<_> = found.iter().map(|(name, of)| (&**name, &**of)).collect();
        assert_eq!(found, [("a", &sources[..]), ("b", &sources[1..])]);
    }

    #[cfg(unix)]
    #[test]
    fn noted_paths_have_any_encoding() {
        use std::os::unix::ffi::OsStrExt as _;

        let out = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory(out.path())).unwrap();
        let noted = Request {
            sources: vec![OsStr::from_bytes(b"caf\xe9/a.cpp").into()],
            arguments: vec![OsStr::from_bytes(b"-Icaf\xe9=\xe9").into()],
            ..Request::default()
        };
        write(out.path(), "a", &noted).unwrap();
        let read = request(out.path(), "a").unwrap();
        assert_eq!(
            (read.sources, read.arguments),
            (noted.sources, noted.arguments)
        );
    }

    #[test]
    fn noted_request_compiles_the_same() {
        let out = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory(out.path())).unwrap();
        let request = Request {
            sources: vec!["a=b.cpp".into(), "c.cpp".into()],
            patterns: Vec::new(),
            matched: [PathBuf::from("c.cpp")].into(),
            arguments: ["-DTEXT=a b\n", "", "-O3"].map(OsString::from).into(),
            compiler: Some("icpx".into()),
            prebuilt: None,
            links_at_load: true,
            links: true,
            triples: Some(Triples {
                target: Some("aarch64-unknown-linux-gnu".to_owned()),
                host: Some("x86_64-unknown-linux-gnu".to_owned()),
            }),
        };
        write(out.path(), "a", &request).unwrap();
        let read = super::request(out.path(), "a").unwrap();
        assert_eq!(read, request);
    }

    #[test]
    fn headers_of_another_copy_take_precedence() {
        let out = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory(out.path())).unwrap();
        let arguments = |headers: &Path| {
            let text = format!("headers={}\0unknown=1", headers.display());
            std::fs::write(note(&directory(out.path()), "a"), text).unwrap();
            request(out.path(), "a").unwrap().arguments
        };
        assert_eq!(arguments(Path::new("/other")), ["-isystem", "/other"]);
        assert_eq!(arguments(&headers::folder()), [""; 0]);
    }

    #[test]
    fn only_a_missing_directory_has_no_notes() {
        let out = tempfile::tempdir().unwrap();
        assert_eq!(names(&out.path().join("none")).unwrap(), [""; 0]);
        let file = out.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(names(&file).is_err());
    }
}
