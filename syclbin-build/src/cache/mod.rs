// SPDX-License-Identifier: MIT OR Apache-2.0
//! Caches compilation results, so that a source is compiled only once for all packages, profiles and target
//! directories.
//!
//! The cache is a [`Store`] with two kinds of entries:
//!
//! | entry | |
//! |---|---|
//! | `KEY.manifest` | the results for a source and setting, each with its input files |
//! | `ID.result` | a result: code, kernel descriptions and warnings |
//!
//! | module | purpose |
//! |---|---|
//! | `files` | a snapshot of files: hashes, and the names in `__has_include` |
//! | `candidates` | the files that an `#include` could resolve to |
//! | `setting` | every input except files: compiler, arguments, environment |
//! | `arguments` | the directories and headers that compiler arguments name |
//! | `manifest` | encodes results, and the list of results for a source and setting |
//!
//! If the cache fails, the build continues without it.

mod arguments;
mod candidates;
mod files;
mod manifest;
mod setting;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hmac_sha256::Hash as Sha256;
use syclbin_toolchain::store::{self, CACHE_VARIABLE, Store, hex};
use syclbin_toolchain::{HOME_VARIABLE, Home, trust};

use crate::cargo;
use crate::compiler::Compiler;
use crate::compiler::output::Compiled;
pub(crate) use arguments::named_files;
pub(crate) use files::Files;
pub use files::asked;
use manifest::{Record, decode_result, encode_result};
use setting::Setting;

/// The environment variable for the size limit of the cache: a number of bytes, or a number followed by K, M or G.
pub const SIZE_VARIABLE: &str = "SYCLBIN_CACHE_SIZE";

/// The name of the cache, for [`store::directory`].
pub const NAME: &str = "kernels";

/// The default size limit of the cache, in bytes.
pub const LIMIT: u64 = 1 << 30;

/// Decodes a manifest of the cache and encodes it again, so that fuzzers reach both.
pub fn recode(text: &str) -> Option<String> {
    manifest::decode(text).map(|records| manifest::encode(&records))
}

fn size_limit(value: Option<&OsStr>) -> Result<u64, String> {
    let Some(value) = value else {
        return Ok(LIMIT);
    };
    let text = value.to_string_lossy();
    let text = text.trim();
    let (number, unit) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1u64 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let number = number.trim().parse::<u64>().ok();
    let size = number.and_then(|number| number.checked_mul(unit));
    size.ok_or_else(|| {
        format!("{SIZE_VARIABLE}={text} is not a valid size, so the limit is 1G; use a size such as 500M or 2G")
    })
}

/// The cache for one build.
pub(crate) struct Cache {
    store: Store,
    setting: Setting,
    /// The files as they were before anything was compiled.
    before: Files,
}

/// A source that must be compiled, and the key for its result.
pub(crate) struct Pending {
    key: String,
    /// The hash of the source.
    source: String,
    started: SystemTime,
}

impl Cache {
    /// Opens the cache for sources that `compiler` compiles with `flags`. Returns `None` if the cache is disabled or
    /// unusable, or if the results depend on inputs that this crate cannot track.
    pub(crate) fn open(compiler: &Compiler, flags: &[OsString]) -> Option<Self> {
        // Cargo tracks this variable, so the script runs again when the cache is turned off.
        let named = cargo::env(CACHE_VARIABLE);
        let home = Home::locate(cargo::env_again(HOME_VARIABLE).as_deref());
        let folder = store::directory(named.as_deref(), home.ok().as_ref(), NAME);
        let folder = folder
            .inspect_err(|problem| cargo::warning(problem))
            .ok()??;
        if folder.exists() && !trust::is_private(&folder) {
            cargo::warning(&format!(
                "the cache {} is not used, because it belongs to another user, or other users can write to it; make it \
                 private (chown, chmod 700), or set {CACHE_VARIABLE} to another directory, or to off",
                folder.display()
            ));
            return None;
        }
        let limit = size_limit(cargo::env_again(SIZE_VARIABLE).as_deref());
        let limit = limit.inspect_err(|problem| cargo::warning(problem));
        Some(Self {
            store: Store::new(folder, limit.unwrap_or(LIMIT)),
            setting: Setting::new(compiler, flags)?,
            before: Files::default(),
        })
    }

    /// Returns the cached result for `source`. If there is none, the error contains the key under which to cache the
    /// new result, or `None` if that result cannot be cached.
    pub(crate) fn look_up(&mut self, source: &Path) -> Result<Compiled, Option<Pending>> {
        let contents = self.before.contents(source);
        let contents = contents.filter(|contents| contents.asked.is_some());
        let hash = contents.ok_or(None)?.hash.clone();
        let key = self.setting.key(source, &hash);
        let manifest = self.store.read(&manifest_name(&key)).and_then(decoded);
        let found = manifest.and_then(|records| {
            let record = records.into_iter().find(|record| self.holds(record))?;
            let bytes = self.store.read(&result_name(&record.id))?;
            let files = record.read.into_iter().map(|read| read.path);
            decode_result(&bytes, files.collect())
        });
        found.ok_or_else(|| {
            Some(Pending {
                key,
                source: hash,
                started: SystemTime::now(),
            })
        })
    }

    /// Caches the result of compiling `source`. Returns `None` if an input changed during compilation, or if the inputs
    /// cannot be determined, for example because a source uses `__TIME__`.
    pub(crate) fn keep(
        &self,
        pending: &Pending,
        source: &Path,
        compiled: &Compiled,
        after: &mut Files,
    ) -> Option<()> {
        let headers = compiled.files.iter().filter(|path| *path != source);
        let mut read = Vec::new();
        let mut asked = BTreeSet::new();
        for path in std::iter::once(source).chain(headers.map(PathBuf::as_path)) {
            asked.extend(after.contents(path)?.asked.clone()?);
            read.push(after.read(path.to_owned())?);
        }
        let candidates = self.setting.candidates(&read, &asked, after);
        // If a file changed or appeared while the compiler ran, the compiler may have read either version, so the
        // result is not cached.
        let read_paths = read.iter().map(|read| &read.path);
        let mut all = read_paths.chain(&candidates);
        let is_settled = all.all(|path| after.is_older(path, pending.started));
        let record = (is_settled && read[0].hash == pending.source)
            .then(|| Record::new(&pending.key, read, asked, hash_of(&candidates)))??;
        let bytes = encode_result(compiled)?;
        // The result is written before the manifest that lists it, so that the manifest never lists a missing result.
        self.store.write(&result_name(&record.id), &bytes);
        self.store.update(&manifest_name(&pending.key), |old| {
            let mut records = old.and_then(decoded).unwrap_or_default();
            manifest::add(&mut records, record);
            manifest::encode(&records).into_bytes()
        });
        Some(())
    }

    /// Returns whether all inputs of a result are unchanged.
    fn holds(&mut self, record: &Record) -> bool {
        let (read, asked) = (&record.read, &record.asked);
        self.before.hold(read)
            && hash_of(&self.setting.candidates(read, asked, &mut self.before)) == record.candidates
    }
}

fn decoded(bytes: Vec<u8>) -> Option<Vec<Record>> {
    manifest::decode(&String::from_utf8(bytes).ok()?)
}

fn manifest_name(key: &str) -> String {
    format!("{key}.manifest")
}

fn result_name(id: &str) -> String {
    format!("{id}.result")
}

fn hash_of(paths: &BTreeSet<PathBuf>) -> String {
    let mut hash = Sha256::new();
    for path in paths {
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update([0]);
    }
    hex(hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let of = |text: &str| size_limit(Some(OsStr::new(text)));
        assert_eq!(size_limit(None), Ok(1 << 30));
        assert_eq!(of("1000"), Ok(1000));
        assert_eq!(of("5k"), Ok(5 << 10));
        assert_eq!(of(" 500 M "), Ok(500 << 20));
        assert_eq!(of("2G"), Ok(2 << 30));
        for nonsense in ["", "G", "-1", "1T", "99999999999999G", "1.5G"] {
            assert!(of(nonsense).is_err(), "{nonsense}");
        }
    }
}
