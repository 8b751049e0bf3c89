// SPDX-License-Identifier: MIT OR Apache-2.0
//! The directory of the cache, and its size limit.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use syclbin_toolchain::Home;

/// The variable that names the directory of the cache, or is `off`.
pub const CACHE_VARIABLE: &str = "SYCLBIN_CACHE";

/// The variable with the size limit: bytes, or a number followed by K, M or G.
pub const SIZE_VARIABLE: &str = "SYCLBIN_CACHE_SIZE";

/// The default size limit in bytes.
pub const LIMIT: u64 = 1 << 30;

/// Returns the directory of the cache: the directory in [`SYCLBIN_CACHE`](CACHE_VARIABLE), else a directory
/// of the toolchain. Returns `None` without a cache.
///
/// # Errors
///
/// Fails if the variable names a relative path, which would mean another directory for each package.
pub fn folder(named: Option<&OsStr>, home: Option<&Home>) -> Result<Option<PathBuf>, String> {
    match named {
        Some(off) if off.eq_ignore_ascii_case("off") => Ok(None),
        Some(folder) if Path::new(folder).is_absolute() => Ok(Some(PathBuf::from(folder))),
        Some(folder) => Err(format!(
            "{CACHE_VARIABLE}={} is relative, so nothing is cached; set it to an absolute path, or to off",
            folder.display()
        )),
        None => Ok(home.map(|home| home.path().join("kernels"))),
    }
}

/// Returns the size limit in a value of [`SIZE_VARIABLE`].
pub(crate) fn limit(value: Option<&OsStr>) -> Result<u64, String> {
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
    number
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(|| {
            format!("{SIZE_VARIABLE}={text} is not a valid size, so the limit is 1G; use a size such as 500M or 2G")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_is_configured_or_the_default() {
        let home = Home::locate(Some(OsStr::new("/home"))).unwrap();
        let of = |named: Option<&str>| folder(named.map(OsStr::new), Some(&home));
        assert_eq!(of(None), Ok(Some(PathBuf::from("/home/kernels"))));
        assert_eq!(
            of(Some("/else where")),
            Ok(Some(PathBuf::from("/else where")))
        );
        assert_eq!(of(Some("off")), Ok(None));
        assert_eq!(of(Some("OFF")), Ok(None));
        assert!(
            of(Some("here"))
                .unwrap_err()
                .contains("SYCLBIN_CACHE=here is relative")
        );
        assert_eq!(folder(None, None), Ok(None));
    }

    #[test]
    fn sizes_have_units() {
        let of = |text: &str| limit(Some(OsStr::new(text)));
        assert_eq!(limit(None), Ok(1 << 30));
        assert_eq!(of("1000"), Ok(1000));
        assert_eq!(of("5k"), Ok(5 << 10));
        assert_eq!(of(" 500 M "), Ok(500 << 20));
        assert_eq!(of("2G"), Ok(2 << 30));
        for nonsense in ["", "G", "-1", "1T", "99999999999999G", "1.5G"] {
            assert!(of(nonsense).is_err(), "{nonsense}");
        }
    }
}
