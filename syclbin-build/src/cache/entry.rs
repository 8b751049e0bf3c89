// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entries: a result as bytes. The store verifies them.

use std::path::PathBuf;

use syclbin::{AbstractModule, Container, State, Syclbin};

use crate::compiler::output::Compiled;

/// Encodes a result without the files that were read, which manifests hold. Returns `None` if the modules do
/// not fit the format.
pub(crate) fn encode(compiled: &Compiled) -> Option<Vec<u8>> {
    let mut file = Syclbin::new(State::Object);
    file.modules.clone_from(&compiled.modules);
    let diagnostics = compiled.diagnostics.as_bytes();
    let mut bytes = vec![u8::from(compiled.is_of_use)];
    bytes.extend((diagnostics.len() as u64).to_le_bytes());
    bytes.extend(diagnostics);
    bytes.extend(syclbin::write::to_vec(&file, Container::default()).ok()?);
    Some(bytes)
}

/// Decodes the result in an entry, for which `files` were read.
pub(crate) fn decode(bytes: &[u8], files: Vec<PathBuf>) -> Option<Compiled> {
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
        let bytes = encode(&compiled).unwrap();
        let files = compiled.files.clone();
        assert_eq!(decode(&bytes, files), Some(compiled));
        for length in (0..bytes.len()).step_by(97) {
            assert_eq!(decode(&bytes[..length], Vec::new()), None, "{length} bytes");
        }
    }
}
