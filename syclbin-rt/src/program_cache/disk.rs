// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cache of native code from drivers, which a [`Store`] preserves between runs of programs.
//!
//! It is in `$SYCLBIN_CACHE/programs`, else in `programs` in the home directory of the toolchain.

use std::env;
use std::path::PathBuf;

use syclbin_toolchain::store::{Store, hex};
use syclbin_toolchain::{HOME_VARIABLE, Home};

/// `off`, or another directory.
const VARIABLE: &str = "SYCLBIN_CACHE";
const DIRECTORY: &str = "programs";
/// The maximum size of all entries together, in bytes.
const LIMIT: u64 = 256 << 20;

/// The inputs that determine the code that a driver makes, as a hash.
pub(crate) type Key = [u8; 32];

/// Native code by the keys of programs.
#[derive(Debug)]
pub(crate) struct Cache(Store);

impl Cache {
    /// Returns the cache that the environment requests, unless it disables the cache.
    pub(crate) fn of_environment() -> Option<Self> {
        let directory = match env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
            Some(off) if off == "off" => return None,
            // A relative path would name another directory in each program.
            Some(directory) => Some(PathBuf::from(directory)).filter(|path| path.is_absolute())?,
            None => {
                let home = Home::locate(env::var_os(HOME_VARIABLE).as_deref());
                home.ok()?.path().to_owned()
            }
        };
        Some(Self::in_directory(directory.join(DIRECTORY)))
    }

    pub(crate) fn in_directory(directory: PathBuf) -> Self {
        Self(Store::new(directory, LIMIT))
    }

    pub(crate) fn read(&self, key: &Key) -> Option<Vec<u8>> {
        self.0.read(&name(key))
    }

    pub(crate) fn remove(&self, key: &Key) {
        self.0.remove(&name(key));
    }

    pub(crate) fn write(&self, key: &Key, code: &[u8]) {
        self.0.write(&name(key), code);
    }
}

fn name(key: &Key) -> String {
    let digits = hex(*key);
    digits + ".program"
}
