// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records the inputs of a compilation, so that a tool can detect when a file stored next to its sources is stale.

use core::fmt::Write as _;

use super::value::{Malformed, describe};
use crate::prelude::*;
use crate::property::{PropertySets, set};

/// The inputs of the compilation that produced a SYCLBIN file. The file-level set [`SOURCES`](set::SOURCES) stores
/// them. This set is specific to this project.
///
/// ```
/// use syclbin::metadata::Sources;
/// use syclbin::{Container, State, Syclbin};
///
/// let mut sources = Sources::default();
/// sources.files.insert("kernels/saxpy.cpp".into(), [7; 32]);
/// sources.arguments = vec!["-O3".into(), "kernels/saxpy.cpp".into()];
/// let mut file = Syclbin::new(State::Executable);
/// sources.write(&mut file.global);
///
/// let bytes = syclbin::write::to_vec(&file, Container::default())?;
/// let read = syclbin::read::parse(&bytes)?;
/// assert_eq!(Sources::read(&read.global)?, Some(sources));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// The SHA-256 of each source and header. The key is the path relative to the package directory, with `/` as the
    /// separator. Line endings are hashed as `\n`, because version control may change them.
    pub files: BTreeMap<String, [u8; 32]>,
    /// The user's compiler arguments and the source paths, in order.
    pub arguments: Vec<String>,
    /// The version string that the compiler reports.
    pub compiler: String,
}

const FILES: &str = "files";
const ARGUMENTS: &str = "arguments";
const COMPILER: &str = "compiler";

impl Sources {
    /// Reads the set from a file's properties. Returns `None` if the file does not record its sources.
    ///
    /// # Errors
    ///
    /// Returns an error if a value is malformed.
    pub fn read(file: &PropertySets<'_>) -> Result<Option<Self>, Malformed> {
        if file.set(set::SOURCES).is_none() {
            return Ok(None);
        }
        let text = |key| Ok(file.read::<String>(set::SOURCES, key)?.unwrap_or_default());
        let files = text(FILES)?;
        let files: Option<_> = files.lines().map(hash_and_path).collect();
        let files = files.ok_or_else(|| {
            let found = file.get(set::SOURCES, FILES).map(describe);
            let expected = "lines with a SHA-256, two spaces and a path";
            Malformed::new(set::SOURCES, FILES, expected, found.unwrap_or_default())
        })?;
        Ok(Some(Self {
            files,
            arguments: text(ARGUMENTS)?.lines().map(str::to_owned).collect(),
            compiler: text(COMPILER)?,
        }))
    }

    /// Writes the set into a file's properties. The list of files uses the format of `sha256sum` output.
    ///
    /// Line breaks in paths and arguments become spaces.
    pub fn write(&self, file: &mut PropertySets<'_>) {
        let mut files = String::new();
        for (path, hash) in &self.files {
            for byte in hash {
                let _ = write!(files, "{byte:02x}");
            }
            let _ = writeln!(files, "  {}", one_line(path));
        }
        let arguments = self.arguments.iter();
        let arguments: String = arguments.map(|text| one_line(text) + "\n").collect();
        file.insert(set::SOURCES, FILES, files);
        file.insert(set::SOURCES, ARGUMENTS, arguments);
        file.insert(set::SOURCES, COMPILER, self.compiler.clone());
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

fn hash_and_path(line: &str) -> Option<(String, [u8; 32])> {
    let (hash, path) = line.split_once("  ")?;
    if hash.len() != 64 || !hash.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, digits) in bytes.iter_mut().zip(hash.as_bytes().chunks(2)) {
        let digits = core::str::from_utf8(digits).ok()?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some((path.to_owned(), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_container_keeps_what_is_recorded() {
        let mut sources = Sources::default();
        for name in ["kernels/a b.cpp", "../shared/\u{e4}.hpp", "k=1|2.hpp"] {
            sources.files.insert(name.into(), [0xab; 32]);
        }
        sources.arguments = ["-DTEXT=\"a b\"", "", "k.cpp"].map(String::from).into();
        sources.compiler = "clang version 22".into();
        let mut file = crate::Syclbin::new(crate::State::Executable);
        sources.write(&mut file.global);
        for container in [
            crate::Container::OffloadBinary1,
            crate::Container::OffloadBinary2,
            crate::Container::Bare,
            crate::Container::Version2,
        ] {
            let bytes = crate::write::to_vec(&file, container).unwrap();
            let read = crate::read::parse(&bytes).unwrap();
            assert_eq!(
                Sources::read(&read.global).unwrap().as_ref(),
                Some(&sources)
            );
        }
    }

    #[test]
    fn malformed_file_list_is_an_error() {
        let mut sets = PropertySets::default();
        assert_eq!(Sources::read(&sets).unwrap(), None);
        let [letters, signs] = ["g".repeat(64), "+f".repeat(32)].map(|hash| hash + "  k.cpp\n");
        for text in ["ab  k.cpp\n", "k.cpp\n", &letters, &signs] {
            sets.insert(set::SOURCES, FILES, text);
            let error = Sources::read(&sets).unwrap_err();
            assert!(error.expected.contains("SHA-256"), "{error}");
        }
        sets.insert(set::SOURCES, FILES, 3);
        assert!(Sources::read(&sets).is_err());
    }
}
