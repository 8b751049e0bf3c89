// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the compiler library, and checks that it is the supported version.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use syclbin_toolchain::store::hex;
use syclbin_toolchain::{
    COMPILER_LIBRARY, Component, HOME_VARIABLE, Home, INSTALL_COMMAND, Installed,
};

use crate::{Result, own};

/// The DPC++ version of the library.
pub(crate) const VERSION: &str = "2026.2.0";

/// The library's size. Size and [`HEAD_SHA256`] identify [`VERSION`], because the library has neither a build ID nor a
/// version function. The hash covers the start of the file, which contains the symbol and relocation tables. These
/// tables differ between any two builds.
pub(super) const SIZE: u64 = if cfg!(windows) {
    196_540_032
} else {
    250_467_448
};
const HEAD: u64 = 64 * 1024;
pub(super) const HEAD_SHA256: &str = if cfg!(windows) {
    "8b861516d34c50d64445840a8af17741357b67504e6229aeaefc0922ad3146bf"
} else {
    "247a5963e83a2e34699151b49162339fadad6dceabe1215d0fa18bbb2b8a48a0"
};

/// Returns a file embedded in the library, after checking its hash.
pub(crate) fn embedded(library: &Path, offset: u64, size: u64, sha256: &str) -> Result<Vec<u8>> {
    check(library, SIZE, HEAD_SHA256)?;
    let read = || {
        let mut file = File::open(library)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut content = Vec::new();
        file.take(size).read_to_end(&mut content)?;
        std::io::Result::Ok(content)
    };
    let content =
        read().or_else(|error| own(format!("cannot read {}: {error}", library.display())))?;
    if hex(Sha256::digest(&content)) == sha256 {
        return Ok(content);
    }
    own(format!(
        "{} is damaged; run `{INSTALL_COMMAND} --force`",
        library.display()
    ))
}

/// Returns the library from the installation that contains this program, or otherwise from the newest installation.
pub(crate) fn find() -> Result<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|program| {
        let folder = program.parent()?.parent()?;
        Some(folder.join(COMPILER_LIBRARY))
    });
    if let Some(beside) = beside.filter(|path| path.is_file()) {
        return Ok(beside);
    }
    let explicit = std::env::var_os(HOME_VARIABLE);
    let home = Home::locate(explicit.as_deref()).or_else(|error| own(error.to_string()))?;
    match home.newest(Component::Compiler) {
        Some(installed) => Ok(installed.folder.join(COMPILER_LIBRARY)),
        None => own(format!(
            "the compiler library is not installed; run `{INSTALL_COMMAND}`"
        )),
    }
}

/// Returns the newest installation of a component. The home that contains this program takes precedence over the user's
/// home.
pub(crate) fn installed(component: Component) -> Option<Installed> {
    let program = std::env::current_exe().unwrap_or_default();
    let users = std::env::var_os(HOME_VARIABLE);
    let mut homes = Home::of_compiler(&program, users.as_deref());
    homes.find_map(|home| home.newest(component))
}

/// Rejects every file except the supported version of the library.
pub(super) fn check(path: &Path, size: u64, head_sha256: &str) -> Result<()> {
    let read = || {
        let file = File::open(path)?;
        let found = file.metadata()?.len();
        let mut head = Vec::new();
        file.take(HEAD).read_to_end(&mut head)?;
        std::io::Result::Ok((found, head))
    };
    let (found, head) =
        read().or_else(|error| own(format!("cannot read {}: {error}", path.display())))?;
    let digest = hex(Sha256::digest(&head));
    if (found, digest.as_str()) == (size, head_sha256) {
        return Ok(());
    }
    let difference = if found == size {
        "its first bytes differ".to_owned()
    } else {
        format!("it is {found} bytes long instead of {size}")
    };
    own(format!(
        "{} is not the compiler library of DPC++ {VERSION} ({difference}), so it is not used; run \
         `{INSTALL_COMMAND} --force`",
        path.display()
    ))
}
