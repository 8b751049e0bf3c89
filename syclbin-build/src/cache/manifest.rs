// SPDX-License-Identifier: MIT OR Apache-2.0
//! Encodes and decodes cached results and manifests. A manifest lists the results for one source and setting, each with
//! its input files.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use hmac_sha256::Hash as Sha256;
use syclbin::{AbstractModule, Container, State, Syclbin};
use syclbin_toolchain::store::hex;

use super::files::Dependency;
use crate::compiler::output::Compiled;

/// The maximum number of results in a manifest. Each edit of a header adds a result, and the oldest results are
/// removed.
const MOST: usize = 16;

/// A cached result, and everything that it depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// The name of the result's cache entry, without the suffix.
    pub(crate) id: String,
    /// All files that the compiler read, starting with the source.
    pub(crate) read: Vec<Dependency>,
    /// The file names that the files in `read` pass to `__has_include` or `__has_embed`.
    pub(crate) asked: BTreeSet<String>,
    /// The hash of the paths of all [`candidates`](super::candidates).
    pub(crate) candidates: String,
}

impl Record {
    /// Creates a record whose id is a hash of all its inputs. Returns `None` if a path or name is not a single line of
    /// UTF-8.
    pub(crate) fn new(
        key: &str,
        read: Vec<Dependency>,
        asked: BTreeSet<String>,
        candidates: String,
    ) -> Option<Self> {
        let mut hash = Sha256::new();
        hash.update(key);
        hash.update(&candidates);
        for one in &read {
            hash.update(&one.hash);
            hash.update(one.path.to_str().filter(|path| is_line(path))?);
            hash.update([0]);
        }
        asked.iter().all(|name| is_line(name)).then(|| Self {
            id: hex(hash.finalize()),
            read,
            asked,
            candidates,
        })
    }
}

fn is_line(text: &str) -> bool {
    !text.contains(['\n', '\r'])
}

/// Adds a result to those for the same source and setting, which are stored latest first.
pub(crate) fn add(records: &mut Vec<Record>, record: Record) {
    records.retain(|other| other.id != record.id);
    records.insert(0, record);
    records.truncate(MOST);
}

/// Encodes the results for one source and setting as a manifest.
pub(crate) fn encode(records: &[Record]) -> String {
    let mut text = String::new();
    for record in records {
        let _ = writeln!(text, "result {} {}", record.id, record.candidates);
        for Dependency { path, hash, stamp } in &record.read {
            let _ = writeln!(text, "file {hash} {stamp} {}", path.display());
        }
        for name in &record.asked {
            let _ = writeln!(text, "asked {name}");
        }
    }
    text
}

pub(crate) fn decode(text: &str) -> Option<Vec<Record>> {
    let mut records: Vec<Record> = Vec::new();
    for line in text.lines() {
        match line.split_once(' ')? {
            ("result", rest) => {
                let (id, candidates) = rest.split_once(' ')?;
                records.push(Record {
                    id: id.to_owned(),
                    candidates: candidates.to_owned(),
                    ..Record::default()
                });
            }
            ("asked", name) => _ = records.last_mut()?.asked.insert(name.to_owned()),
            (_, rest) => {
                let mut fields = rest.splitn(3, ' ').map(str::to_owned);
                records.last_mut()?.read.push(Dependency {
                    hash: fields.next()?,
                    stamp: fields.next()?,
                    path: fields.next()?.into(),
                });
            }
        }
    }
    Some(records)
}

/// Encodes a result without its input files, which the manifest lists. Returns `None` if the SYCLBIN format cannot
/// represent the modules.
pub(crate) fn encode_result(compiled: &Compiled) -> Option<Vec<u8>> {
    let mut file = Syclbin::new(State::Object);
    file.modules.clone_from(&compiled.modules);
    let diagnostics = compiled.diagnostics.as_bytes();
    let mut bytes = vec![u8::from(compiled.is_of_use)];
    bytes.extend((diagnostics.len() as u64).to_le_bytes());
    bytes.extend(diagnostics);
    bytes.extend(syclbin::write::to_vec(&file, Container::default()).ok()?);
    Some(bytes)
}

/// Decodes a result. `files` lists its input files.
pub(crate) fn decode_result(bytes: &[u8], files: Vec<PathBuf>) -> Option<Compiled> {
    let (is_of_use, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (diagnostics, file) = rest.split_at_checked(length)?;
    let file = syclbin::read::parse(file).ok()?;
    let modules = file.modules.into_iter().map(AbstractModule::into_owned);
    Some(Compiled {
        modules: modules.collect(),
        files,
        diagnostics: String::from_utf8(diagnostics.to_vec()).ok()?,
        is_of_use: *is_of_use == 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled() -> Compiled {
        let bytes = test_files::read("vector_ops.object.syclbin");
        let file = syclbin::read::parse(&bytes).unwrap();
        let modules = file.modules.into_iter().map(AbstractModule::into_owned);
        Compiled {
            modules: modules.collect(),
            files: vec!["kernels/a.cpp".into(), "/usr/include/b c".into()],
            diagnostics: "a.cpp:1:1: warning: \u{e4}\n".into(),
            is_of_use: true,
        }
    }

    #[test]
    fn an_entry_survives_a_round_trip() {
        let compiled = compiled();
        let bytes = encode_result(&compiled).unwrap();
        let files = compiled.files.clone();
        assert_eq!(decode_result(&bytes, files), Some(compiled));
        for length in (0..bytes.len()).step_by(97) {
            assert_eq!(
                decode_result(&bytes[..length], Vec::new()),
                None,
                "{length} bytes"
            );
        }
    }

    fn record(number: u8) -> Record {
        let read = [
            "kernels/a b.cpp",
            "end ",
            "/usr/include/x",
            "inc/gr\u{fc}n.hpp",
        ];
        let read = read.map(|path| Dependency {
            path: path.into(),
            hash: format!("{number:064x}"),
            stamp: "1-2-3".to_owned(),
        });
        let asked = ["a b.hpp", ""].map(str::to_owned);
        Record::new("key", read.into(), asked.into(), "5".repeat(64)).unwrap()
    }

    #[test]
    fn a_manifest_survives_a_round_trip() {
        let records = [record(1), record(2)];
        assert_eq!(decode(&encode(&records)), Some(records.into()));
        for other in ["file a b c", "result a", "result a b\nfile c d", "x"] {
            assert_eq!(decode(other), None, "{other}");
        }
    }

    #[test]
    fn the_latest_results_are_kept_and_each_once() {
        let mut records = Vec::new();
        for number in (0..20).chain([19]) {
            add(&mut records, record(number));
        }
        assert_eq!(records.len(), MOST);
        assert_eq!(records[0], record(19));
        assert_eq!(records[1], record(18));
    }

    #[test]
    fn a_path_of_two_lines_has_no_record() {
        let mut read = record(1).read;
        read[0].path = "a\nb".into();
        assert_eq!(Record::new("k", read, BTreeSet::new(), String::new()), None);
        let asked = BTreeSet::from(["a\rb".to_owned()]);
        assert_eq!(Record::new("k", Vec::new(), asked, String::new()), None);
    }
}
