// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `cargo syclbin toolchain` manages: pinned components, in the home directory.
//!
//! A component consists of wheels from PyPI, which are zip files. A wheel takes this path:
//!
//! ```text
//! pins ──pip, or --wheels──▶ wheel ──size, SHA-256──▶ members ──unpack──▶ HOME/.staging-*/compiler/
//!                                                                  │ MANIFEST, last
//!                                               HOME/compiler/2026.2.0/ ◀──one rename
//! ```
//!
//! An installation that ends early (a wrong hash, a full disk, `kill -9`) leaves at most a staging directory. That
//! never looks installed, and the next command that writes removes it.

pub mod driver;
mod headers;
pub mod install;
pub mod list;
pub mod machine;
pub mod manifest;
pub mod pins;
pub mod pip;
pub mod remove;
pub mod staging;
pub mod wheel;

use crate::error::{Error, Result};

/// Checks whether the pinned wheels suit a machine, given by the names of [`std::env::consts`].
///
/// # Errors
///
/// On every platform but x86-64 Linux. The error says what to do there instead.
pub fn supports(os: &str, arch: &str) -> Result<()> {
    if (os, arch) == ("linux", "x86_64") {
        return Ok(());
    }
    Err(Error::Platform {
        os: os.to_owned(),
        arch: arch.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_platform_is_told_the_other_way() {
        assert!(supports("linux", "x86_64").is_ok());
        for (os, arch) in [
            ("linux", "aarch64"),
            ("macos", "x86_64"),
            ("windows", "x86_64"),
        ] {
            let error = supports(os, arch).unwrap_err().to_string();
            assert!(error.contains(os) && error.contains(arch), "{error}");
            assert!(error.contains("SYCLBIN_CLANG"), "{error}");
        }
    }
}
