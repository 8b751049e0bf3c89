//! Entries: a result as bytes, which are believed only if their hash is right.

use std::path::PathBuf;

use sha2::{Digest as _, Sha256};
use syclbin::{AbstractModule, Container, State, Syclbin};

use crate::compiled::Compiled;
use crate::headers::{local, portable};

const MAGIC: &[u8] = b"syclbin-entry 1\n";

/// `None` where something in it is no text, or does not fit the format.
pub(crate) fn encode(compiled: &Compiled) -> Option<Vec<u8>> {
    let mut file = Syclbin::new(State::Object);
    file.modules.clone_from(&compiled.modules);
    let mut bytes = Vec::new();
    field(&mut bytes, &[u8::from(compiled.is_of_use)]);
    field(&mut bytes, compiled.diagnostics.as_bytes());
    field(
        &mut bytes,
        &syclbin::write::to_vec(&file, Container::default()).ok()?,
    );
    for path in &compiled.files {
        field(&mut bytes, portable(path).to_str()?.as_bytes());
    }
    Some(bytes)
}

/// The fields with what tells that they are whole, and that they are those of `id`.
pub(crate) fn seal(id: &str, fields: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    field(&mut bytes, id.as_bytes());
    bytes.extend(fields);
    let hash = Sha256::digest(&bytes);
    bytes.extend(hash);
    bytes
}

/// `None` for what is not whole, or another's.
pub(crate) fn open(id: &str, bytes: &[u8]) -> Option<Compiled> {
    let (bytes, hash) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
    if Sha256::digest(bytes)[..] != *hash {
        return None;
    }
    let mut rest = bytes.strip_prefix(MAGIC)?;
    if take(&mut rest)? != id.as_bytes() {
        return None;
    }
    let is_of_use = take(&mut rest)? == [1];
    let diagnostics = String::from_utf8(take(&mut rest)?.to_vec()).ok()?;
    let file = syclbin::read::parse(take(&mut rest)?).ok()?;
    let modules = file.modules.into_iter().map(AbstractModule::into_owned);
    let modules = modules.collect();
    let mut files = Vec::new();
    while !rest.is_empty() {
        let path = std::str::from_utf8(take(&mut rest)?).ok()?;
        files.push(local(PathBuf::from(path)));
    }
    Some(Compiled {
        modules,
        files,
        diagnostics,
        is_of_use,
    })
}

fn field(bytes: &mut Vec<u8>, field: &[u8]) {
    bytes.extend((field.len() as u64).to_le_bytes());
    bytes.extend(field);
}

fn take<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, after) = rest.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (field, after) = after.split_at_checked(length)?;
    *rest = after;
    Some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled() -> Compiled {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../testfiles/vector_ops.object.syclbin"
        );
        let bytes = std::fs::read(path).unwrap();
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
        let sealed = seal("id", &encode(&compiled).unwrap());
        assert_eq!(open("id", &sealed), Some(compiled));
        assert_eq!(open("other", &sealed), None);
    }

    #[test]
    fn an_entry_with_any_damage_is_none() {
        let sealed = seal("id", &encode(&compiled()).unwrap());
        for length in (0..sealed.len()).step_by(97) {
            assert_eq!(open("id", &sealed[..length]), None, "{length} bytes");
        }
        for at in (0..sealed.len()).step_by(211) {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            assert_eq!(open("id", &damaged), None, "byte {at}");
        }
        let lies = seal("id", &u64::MAX.to_le_bytes());
        assert_eq!(open("id", &lies), None, "whole, and wrong");
    }
}
