//! The cache: what was compiled once is not compiled again, whatever package, profile or folder asks.
//!
//! ```text
//! FOLDER/                   kernels/ in the home of the toolchain, or SYCLBIN_CACHE
//!   lock                    held by whoever writes or removes
//!   size                    about how many bytes there are
//!   manifests/KEY           for a source and the way it is compiled: results, each with what it was made of
//!   entries/ID              a result: code with declarations, files that were read, warnings
//! ```
//!
//! | module | noun |
//! |---|---|
//! | `text` | the hash of a file, and what it asks for beside files that were read |
//! | `files` | files as they are at one moment |
//! | `candidates` | the files that a compiler could take for the names of headers |
//! | `setting` | all that decides but for files: compiler, arguments, environment |
//! | `arguments` | what arguments tell of files |
//! | `manifest` | the results of one source and setting |
//! | `entry` | a result as bytes |
//! | `store` | the folder: whole files, a lock, a bound |
//!
//! Whatever goes wrong here, the build goes on without.

mod arguments;
mod candidates;
mod entry;
mod files;
mod manifest;
mod setting;
mod store;
mod text;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};
use syclbin_toolchain::{HOME_VARIABLE, Home, trust};

use crate::cargo;
use crate::compiled::Compiled;
use crate::compiler::Compiler;
use crate::headers;
use crate::search::hex;
use files::Files;
use manifest::Record;
pub use setting::CACHE_VARIABLE;
use setting::Setting;
pub use store::{SIZE_VARIABLE, Store, folder};

/// The cache as one build uses it.
pub(crate) struct Cache {
    store: Store,
    setting: Setting,
    /// The sources and headers as they were before anything was compiled.
    before: Files,
}

/// What is known of a source.
pub(crate) enum Known {
    /// What compiling it would make.
    Compiled(Compiled),
    /// Where it belongs once it is compiled.
    NotYet(Box<Slot>),
    /// What is made of it cannot be kept.
    Never,
}

/// A source that is to be compiled, and where the result belongs.
pub(crate) struct Slot {
    key: String,
    /// The hash of the source.
    source: String,
    started: SystemTime,
}

impl Cache {
    /// The cache for sources that `compiler` compiles with `flags`; `None` where there is none, or
    /// where the outcome depends on more than can be seen here.
    pub(crate) fn open(compiler: &Compiler, flags: &[OsString]) -> Option<Self> {
        // A build that is to do without compiles, so Cargo is told.
        let named = cargo::env(CACHE_VARIABLE);
        let home = Home::locate(cargo::env_again(HOME_VARIABLE).as_deref());
        let folder = match store::folder(named.as_deref(), home.ok().as_ref()) {
            Ok(folder) => folder?,
            Err(problem) => {
                cargo::warning(&problem);
                return None;
            }
        };
        if folder.exists() && !trust::is_private(&folder) {
            cargo::warning(&format!(
                "the cache {} is not used, as others can write to it; give it to yourself alone \
                 (chmod 700), or set {CACHE_VARIABLE} to another folder, or to off",
                folder.display()
            ));
            return None;
        }
        let size = cargo::env_again(SIZE_VARIABLE);
        let limit = match store::limit(size.as_deref()) {
            Ok(limit) => limit,
            Err(problem) => {
                cargo::warning(&problem);
                store::LIMIT
            }
        };
        Some(Self {
            store: Store::new(folder, limit),
            setting: Setting::new(compiler, flags)?,
            before: Files::default(),
        })
    }

    /// What compiling `source` would make, if that is known.
    pub(crate) fn look_up(&mut self, source: &Path) -> Known {
        let text = self.before.text(source);
        let Some(text) = text.filter(|text| text.asked.is_some()) else {
            return Known::Never;
        };
        let content = text.hash.clone();
        let key = self.setting.key(source, &content);
        let manifest = self.store.manifest(&key);
        let found = manifest.and_then(|manifest| {
            let mut records = manifest.records.iter();
            let record = records.find(|record| self.holds(record))?;
            let compiled = self.store.entry(&record.id)?;
            self.store.touch(&key, &record.id);
            Some(compiled)
        });
        match found {
            Some(compiled) => Known::Compiled(compiled),
            None => Known::NotYet(Box::new(Slot {
                key,
                source: content,
                started: SystemTime::now(),
            })),
        }
    }

    /// Keeps what compiling `source` made, unless something changed meanwhile or depends on more than
    /// files.
    pub(crate) fn keep(&self, slot: &Slot, source: &Path, compiled: &Compiled, after: &mut Files) {
        let Some(record) = self.record(slot, source, compiled, after) else {
            return;
        };
        let Some(bytes) = entry::encode(compiled) else {
            return;
        };
        self.store.put(&slot.key, record, &bytes);
    }

    /// Whether all that a result was made of is as it was.
    fn holds(&mut self, record: &Record) -> bool {
        self.before.hold(&record.read) && {
            let (read, asked) = (&record.read, &record.asked);
            let candidates = self.setting.candidates(read, asked, &mut self.before);
            hash_of(&candidates) == record.candidates
        }
    }

    /// What has to be as it is for `compiled` to hold; `None` where that cannot be known.
    fn record(
        &self,
        slot: &Slot,
        source: &Path,
        compiled: &Compiled,
        after: &mut Files,
    ) -> Option<Record> {
        let headers = compiled.files.iter().filter(|path| *path != source);
        let mut read = Vec::new();
        let mut asked = BTreeSet::new();
        for path in std::iter::once(source).chain(headers.map(PathBuf::as_path)) {
            asked.extend(after.text(path)?.asked.clone()?);
            read.push(after.read(path.to_owned())?);
        }
        let candidates = self.setting.candidates(&read, &asked, after);
        // A file that changed or came while the compiler ran may have been read before or after.
        let read_paths = read.iter().map(|read| &read.path);
        let mut all = read_paths.chain(&candidates);
        let is_settled = all.all(|path| after.is_older(path, slot.started));
        (is_settled && read[0].hash == slot.source)
            .then(|| Record::new(&slot.key, read, asked, hash_of(&candidates)))?
    }

    /// The files as they are once all is compiled.
    pub(crate) fn after() -> Files {
        Files::default()
    }
}

fn hash_of(paths: &BTreeSet<PathBuf>) -> String {
    let mut hash = Sha256::new();
    // In an order that is the same wherever our own headers lie.
    let paths: BTreeSet<_> = paths.iter().map(|path| headers::portable(path)).collect();
    for path in paths {
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update([0]);
    }
    hex(&hash.finalize())
}
