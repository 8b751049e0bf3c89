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
//! | `text` | what of a text the compiler sees |
//! | `setting` | all that decides but for headers: compiler, arguments, environment |
//! | `arguments` | what arguments tell of files |
//! | `condition` | what has to be as it was for a result to hold |
//! | `system` | what headers of the system mean for those that use them |
//! | `manifest` | the results of one source and setting |
//! | `entry` | a result as bytes |
//! | `store` | the folder: whole files, a lock, a bound |
//!
//! Whatever goes wrong here, the build goes on without.

mod arguments;
mod condition;
mod entry;
mod manifest;
mod setting;
mod store;
mod system;
pub(crate) mod text;

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
use condition::{Condition, Files, Mode};
use manifest::Record;
pub use setting::CACHE_VARIABLE;
use setting::Setting;
pub use store::{SIZE_VARIABLE, Store, folder};
use text::{Hash, Text};

/// The cache as one build uses it.
pub(crate) struct Cache {
    store: Store,
    setting: Setting,
    /// The texts of the sources and headers as they were before anything was compiled.
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
    source: Text,
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
        let text = self.before.text(source).cloned();
        let Some(text) = text.filter(|text| text.unfit.is_none()) else {
            return Known::Never;
        };
        let key = self.setting.key(source, &text);
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
                source: text,
                started: SystemTime::now(),
            })),
        }
    }

    /// Keeps what compiling `source` made, unless something changed meanwhile or depends on more than
    /// texts.
    pub(crate) fn keep(&self, slot: &Slot, source: &Path, compiled: &Compiled, after: &mut Files) {
        if after.text(source) != Some(&slot.source) {
            return;
        }
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
        if !self.before.hold(&record.conditions) {
            return false;
        }
        let files = record.conditions.iter().map(Condition::file);
        let (own, system): (Vec<_>, Vec<_>) = files.partition(|(_, is_text)| *is_text);
        let paths = |files: Vec<(_, bool)>| files.into_iter().map(|(path, _)| path).collect();
        let (own, system): (Vec<&Path>, Vec<&Path>) = (paths(own), paths(system));
        hash_of(&self.setting.found(&own, &system, &mut self.before)) == record.found
    }

    /// What has to be as it is for `compiled` to hold; `None` where that cannot be known.
    fn record(
        &self,
        slot: &Slot,
        source: &Path,
        compiled: &Compiled,
        after: &mut Files,
    ) -> Option<Record> {
        let mut all: Vec<PathBuf> = vec![source.to_owned()];
        all.extend(
            compiled
                .files
                .iter()
                .filter(|path| *path != source)
                .cloned(),
        );
        let (own, system): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|path| !self.setting.is_of_system(path));
        // Warnings name lines, and are told again as they were.
        let mut mode = match self.setting.needs_lines() || !compiled.diagnostics.is_empty() {
            true => Mode::Raw,
            false => Mode::Folded,
        };
        for path in own.iter().chain(&system) {
            after.is_older(path, slot.started).then_some(())?;
        }
        for path in &own {
            let text = after.text(path)?;
            if text.unfit.is_some() {
                return None;
            }
            if text.needs_lines {
                mode = Mode::Raw;
            }
        }
        let of_system = after.system(&system);
        if of_system.has_time {
            return None;
        }
        let mut own_texts = own.iter();
        if of_system.needs_lines || own_texts.any(|path| after.uses(path, &of_system.words)) {
            mode = Mode::Raw;
        }
        let found = {
            let own: Vec<&Path> = own.iter().map(PathBuf::as_path).collect();
            let system: Vec<&Path> = system.iter().map(PathBuf::as_path).collect();
            self.setting.found(&own, &system, after)
        };
        // One that came while the compiler ran may have been passed over.
        if !found.iter().all(|path| after.is_older(path, slot.started)) {
            return None;
        }
        let own = own.into_iter().map(|path| after.condition(path, mode));
        let mut conditions: Vec<Condition> = own.collect::<Option<_>>()?;
        let system = system.into_iter().map(Condition::unchanged);
        conditions.extend(system.collect::<Option<Vec<_>>>()?);
        Some(Record::new(&slot.key, conditions, hash_of(&found)))
    }

    /// The files as they are once all is compiled.
    pub(crate) fn after() -> Files {
        Files::default()
    }
}

fn hash_of(paths: &BTreeSet<PathBuf>) -> Hash {
    let mut hash = Sha256::new();
    // In an order that is the same wherever our own headers lie.
    let paths: BTreeSet<_> = paths.iter().map(|path| headers::portable(path)).collect();
    for path in paths {
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update([0]);
    }
    hash.finalize().into()
}
