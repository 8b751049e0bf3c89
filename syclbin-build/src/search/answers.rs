// SPDX-License-Identifier: MIT OR Apache-2.0
//! Answers of compilers, cached in a directory, so an unchanged compiler is not probed again.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use hmac_sha256::Hash as Sha256;
use syclbin_toolchain::store::hex;

use super::Candidate;
use super::probe::{Answer, Problem, Support};
use crate::file;

/// The prefix of the names of the files.
pub(crate) const PREFIX: &str = ".compiler-";

/// The version of the questions: increase it when they change.
const QUESTIONS: &str = "syclbin-build 2";

/// A directory of answers, or no cache.
#[derive(Clone, Debug, Default)]
pub struct Answers(Option<PathBuf>);

impl Answers {
    /// Caches answers in a directory.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self(Some(folder.to_owned()))
    }

    /// Returns the cached answer of `candidate` if its files still have the same size and time. Otherwise
    /// asks the candidate.
    pub(super) fn recall_or(
        &self,
        candidate: &Candidate,
        ask: impl FnOnce() -> Result<Answer, Problem>,
    ) -> Result<Answer, Problem> {
        let Some(folder) = &self.0 else { return ask() };
        let Some((name, key)) = identity(candidate) else {
            return ask();
        };
        let path = folder.join(format!("{PREFIX}{name}"));
        let kept = syclbin_toolchain::file::read(&path).ok();
        let kept = kept.and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(answer) = kept.and_then(|text| decode(&text, &key)) {
            return Ok(answer);
        }
        let answer = ask()?;
        // If the answer cannot be cached, the candidate is asked again next time.
        let _ = file::replace(&path, encode(&answer, &key).as_bytes());
        Ok(answer)
    }
}

/// Returns a name for the program, and a key that changes when the program changes.
fn identity(candidate: &Candidate) -> Option<(String, String)> {
    let mut name = Sha256::new();
    let words = std::iter::once(candidate.program.as_os_str())
        .chain(candidate.leading.iter().map(std::ffi::OsString::as_os_str));
    for word in words {
        name.update(word.as_encoded_bytes());
        name.update([0]);
    }
    let mut key = name;
    key.update(QUESTIONS);
    for file in candidate.files() {
        let metadata = file.metadata().ok()?;
        let time = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        key.update(file.as_os_str().as_encoded_bytes());
        key.update(metadata.len().to_le_bytes());
        key.update(time.as_nanos().to_le_bytes());
    }
    let mut name = hex(name.finalize());
    name.truncate(16);
    Some((name, hex(key.finalize())))
}

fn encode(answer: &Answer, key: &str) -> String {
    let support = match answer.support {
        Support::Full => "full",
        Support::TooOld => "too old",
        Support::NotDpcpp => "not DPC++",
    };
    format!("{key}\n{support}\n{}\n", answer.version)
}

/// Returns `None` for a damaged answer too: the candidate is then asked again.
fn decode(text: &str, expected: &str) -> Option<Answer> {
    let (key, rest) = text.split_once('\n')?;
    let (support, version) = rest.split_once('\n')?;
    let version = version.strip_suffix('\n')?;
    if key != expected || version.is_empty() || version.contains('\n') {
        return None;
    }
    Some(Answer {
        version: version.to_owned(),
        support: match support {
            "full" => Support::Full,
            "too old" => Support::TooOld,
            "not DPC++" => Support::NotDpcpp,
            _ => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Origin;

    fn answer(version: &str) -> Answer {
        Answer {
            version: version.to_owned(),
            support: Support::Full,
        }
    }

    #[test]
    fn changed_program_is_queried_again() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("icpx");
        std::fs::write(&program, "one").unwrap();
        let candidate = Candidate::program(Origin::Path, program.clone());
        let answers = Answers::in_folder(folder.path());
        let ask = |version| answers.recall_or(&candidate, || Ok(answer(version)));
        assert_eq!(ask("first").unwrap().version, "first");
        assert_eq!(ask("second").unwrap().version, "first");
        std::fs::write(&program, "other").unwrap();
        assert_eq!(ask("third").unwrap().version, "third");
        assert_eq!(ask("fourth").unwrap().version, "third");
    }

    #[test]
    fn a_damaged_answer_is_no_answer() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("icpx");
        std::fs::write(&program, "one").unwrap();
        let candidate = Candidate::program(Origin::Path, program);
        let answers = Answers::in_folder(folder.path());
        let ask = |version| answers.recall_or(&candidate, || Ok(answer(version)));
        ask("first").unwrap();
        let entries = std::fs::read_dir(folder.path()).unwrap().flatten();
        let kept = entries
            .map(|entry| entry.path())
            .find(|path| !path.ends_with("icpx"))
            .unwrap();
        let text = std::fs::read_to_string(&kept).unwrap();
        for length in 0..text.len() {
            std::fs::write(&kept, &text[..length]).unwrap();
            let again = ask("again").unwrap().version;
            assert_eq!(again, "again", "{length} of {} bytes", text.len());
        }
    }

    #[test]
    fn what_is_no_answer_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("icpx");
        std::fs::write(&program, "one").unwrap();
        let candidate = Candidate::program(Origin::Path, program);
        let answers = Answers::in_folder(folder.path());
        assert!(
            answers
                .recall_or(&candidate, || Err(Problem::NoVersion))
                .is_err()
        );
        let later = answers.recall_or(&candidate, || Ok(answer("later")));
        assert_eq!(later.unwrap().version, "later");
    }
}
