//! Where the cache is, and how large it may become.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use syclbin_toolchain::Home;

/// Names the directory of the cache, or is `off`.
pub const CACHE_VARIABLE: &str = "SYCLBIN_CACHE";

/// How large the cache may become: bytes, or with K, M or G behind.
pub const SIZE_VARIABLE: &str = "SYCLBIN_CACHE_SIZE";

/// How large the cache may become by default.
pub const LIMIT: u64 = 1 << 30;

/// Where the cache is: in the folder that [`SYCLBIN_CACHE`](CACHE_VARIABLE) names, else in that of the
/// toolchain; `None` where there is none.
///
/// # Errors
///
/// When the variable names a folder that would be another for each package.
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

/// The bound that a value of [`SIZE_VARIABLE`] names.
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
            format!("{SIZE_VARIABLE}={text} is no size, so 1G is taken; write it as 500M or 2G")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_the_named_one_or_that_of_the_toolchain() {
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
