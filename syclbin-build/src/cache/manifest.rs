//! Manifests: the results of one source and setting, each with the conditions under which it holds.

use std::fmt::Write as _;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use super::condition::{Condition, Mode};
use super::text::Hash;
use crate::headers::{local, portable};
use crate::search::hex;

/// Beyond this many, the oldest goes: a header that has had as many states is being worked on.
const MOST: usize = 16;

/// One result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The name of its entry.
    pub(crate) id: String,
    pub(crate) conditions: Vec<Condition>,
    /// Of the paths of all files that headers could be taken from by their names.
    pub(crate) found: Hash,
}

impl Record {
    /// The id is a hash of all that decides.
    pub(crate) fn new(key: &str, conditions: Vec<Condition>, found: Hash) -> Self {
        let mut hash = Sha256::new();
        hash.update(key);
        hash.update(found);
        for line in conditions.iter().filter_map(line) {
            hash.update(line);
        }
        Self {
            id: hex(&hash.finalize()),
            conditions,
            found,
        }
    }
}

/// The results of one source and setting, the latest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) records: Vec<Record>,
}

impl Manifest {
    pub(crate) fn add(&mut self, record: Record) {
        self.records.retain(|other| other.id != record.id);
        self.records.insert(0, record);
        self.records.truncate(MOST);
    }

    /// Its text; a record whose paths are no text is left out.
    pub(crate) fn encode(&self, key: &str) -> String {
        let mut text = format!("manifest {key}\n");
        for record in &self.records {
            let lines: Option<Vec<String>> = record.conditions.iter().map(line).collect();
            if let Some(lines) = lines {
                let _ = writeln!(text, "result {} {}", record.id, hex(&record.found));
                text.extend(lines);
            }
        }
        let end = hex(&Sha256::digest(&text));
        let _ = writeln!(text, "end {end}");
        text
    }

    /// `None` for what is not whole, or another's.
    pub(crate) fn decode(text: &str, key: &str) -> Option<Self> {
        let (body, end) = text.strip_suffix('\n')?.rsplit_once("end ")?;
        if hex(&Sha256::digest(body)) != end {
            return None;
        }
        let mut lines = body.lines();
        if lines.next()?.strip_prefix("manifest ")? != key {
            return None;
        }
        let mut manifest = Self::default();
        for line in lines {
            let (kind, rest) = line.split_once(' ')?;
            let (first, second) = rest.split_once(' ')?;
            if kind == "result" {
                manifest.records.push(Record {
                    id: first.to_owned(),
                    conditions: Vec::new(),
                    found: from_hex(second)?,
                });
                continue;
            }
            let (hash, path) = (from_hex(first)?, local(PathBuf::from(second)));
            let condition = match kind {
                "raw" => Condition::Text(Mode::Raw, path, hash),
                "folded" => Condition::Text(Mode::Folded, path, hash),
                "unchanged" => Condition::Unchanged(path, hash),
                _ => return None,
            };
            manifest.records.last_mut()?.conditions.push(condition);
        }
        Some(manifest)
    }
}

/// A condition as a line; `None` where its path is no text of one line.
fn line(condition: &Condition) -> Option<String> {
    let (start, path) = match condition {
        Condition::Text(Mode::Raw, path, hash) => (format!("raw {}", hex(hash)), path),
        Condition::Text(Mode::Folded, path, hash) => (format!("folded {}", hex(hash)), path),
        Condition::Unchanged(path, hash) => (format!("unchanged {}", hex(hash)), path),
    };
    let path = portable(path);
    let path = path.to_str()?;
    (!path.contains(['\n', '\r'])).then(|| format!("{start} {path}\n"))
}

fn from_hex(text: &str) -> Option<Hash> {
    let mut hash = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (index, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u8) -> Record {
        let conditions = vec![
            Condition::Text(Mode::Folded, "kernels/a b.cpp".into(), [number; 32]),
            Condition::Text(Mode::Raw, "end ".into(), [2; 32]),
            Condition::Unchanged("/usr/include/x".into(), [0xab; 32]),
            Condition::Unchanged("inc/gr\u{fc}n.hpp".into(), [0; 32]),
        ];
        Record::new("key", conditions, [number; 32])
    }

    #[test]
    fn a_manifest_survives_a_round_trip_and_no_damage() {
        let mut manifest = Manifest::default();
        manifest.add(record(1));
        manifest.add(record(2));
        let text = manifest.encode("key");
        assert_eq!(Manifest::decode(&text, "key"), Some(manifest));
        assert_eq!(Manifest::decode(&text, "other"), None);
        for length in (0..text.len()).filter(|length| text.is_char_boundary(*length)) {
            assert_eq!(Manifest::decode(&text[..length], "key"), None, "{length}");
        }
        for (from, to) in [
            ("a b.cpp", "a c.cpp"),
            ("unchanged", "uncharged"),
            ("01", "02"),
        ] {
            assert_eq!(Manifest::decode(&text.replacen(from, to, 1), "key"), None);
        }
    }

    #[test]
    fn the_latest_results_are_kept_and_each_once() {
        let mut manifest = Manifest::default();
        for number in (0..20).chain([19]) {
            manifest.add(record(number));
        }
        assert_eq!(manifest.records.len(), MOST);
        assert_eq!(manifest.records[0], record(19));
        assert_eq!(manifest.records[1], record(18));
    }

    #[test]
    fn a_path_that_is_no_line_leaves_its_record_out() {
        let mut manifest = Manifest::default();
        let condition = Condition::Unchanged("a\nb".into(), [0; 32]);
        manifest.add(Record::new("k", vec![condition], [0; 32]));
        let decoded = Manifest::decode(&manifest.encode("k"), "k");
        assert_eq!(decoded, Some(Manifest::default()));
    }
}
