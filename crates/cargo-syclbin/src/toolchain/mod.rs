//! What `cargo syclbin toolchain` manages: pinned components, in the home folder.
//!
//! A component is made of wheels from PyPI, which are zip files. One goes this way:
//!
//! ```text
//! pins ──pip, or --wheels──▶ wheel ──size, SHA-256──▶ members ──unpack──▶ HOME/.staging-*/compiler/
//!                                                                  │ MANIFEST, last
//!                                               HOME/compiler/2026.2.0/ ◀──one rename
//! ```
//!
//! Whatever ends an installation early (a wrong hash, a full disk, `kill -9`) leaves at most a
//! staging folder, which never looks installed and which the next command that writes removes.

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

/// Whether the pinned wheels suit a machine, given as [`std::env::consts`] names it.
///
/// # Errors
///
/// On every platform but x86-64 Linux, with what to do there instead.
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
