// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names of kernels that LLVM's own SYCL compiler lists beside an image.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The key of the list.
pub const KEY: &str = "symbols";

/// Returns the names in the string `symbols` that LLVM's `clang-sycl-linker` gives each image, or `None` if
/// it follows no known form.
///
/// Until LLVM 22 these are the names, with line feeds between them. Since April 2026 they are a table. It
/// begins with the number of names, then the start (from the start of the table) and the length of each name.
/// All these are 32-bit numbers. The names follow, each closed by a zero.
#[must_use]
pub fn listed(symbols: &[u8]) -> Option<Vec<String>> {
    table(symbols).or_else(|| {
        let text = core::str::from_utf8(symbols).ok()?;
        let names: Vec<_> = text.lines().filter(|name| !name.is_empty()).collect();
        let plain = |name: &&str| name.chars().all(|c| !c.is_control());
        names
            .iter()
            .all(plain)
            .then(|| names.into_iter().map(String::from).collect())
    })
}

fn table(bytes: &[u8]) -> Option<Vec<String>> {
    let number = |at: usize| {
        let number = bytes.get(at..at.checked_add(4)?)?;
        usize::try_from(u32::from_le_bytes(number.try_into().ok()?)).ok()
    };
    let count = number(0)?;
    let first_name = count.checked_mul(8)?.checked_add(4)?;
    // Names that overlap could make a small table mean a huge list.
    let mut left = bytes.len().checked_sub(first_name)?;
    (0..count)
        .map(|index| {
            let (start, size) = (number(4 + index * 8)?, number(8 + index * 8)?);
            left = left.checked_sub(size.checked_add(1)?)?;
            let name = bytes.get(start..start.checked_add(size)?)?;
            let closed = start >= first_name && bytes.get(start + size) == Some(&0);
            let name = core::str::from_utf8(name).ok().filter(|_| closed)?;
            Some(name.to_string())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_symbol_list_forms_are_read() {
        let mut bytes = Vec::new();
        for number in [2u32, 20, 1, 22, 2] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(b"a\0bc\0");
        let expected = ["a".to_string(), "bc".to_string()];
        assert_eq!(listed(&bytes).as_deref(), Some(&expected[..]));
        assert_eq!(listed(b"a\nbc").as_deref(), Some(&expected[..]));
        assert_eq!(listed(b""), Some(Vec::new()));
    }

    #[test]
    fn a_table_whose_names_overlap_is_no_list() {
        let mut bytes = Vec::new();
        for number in [2u32, 20, 2, 20, 2] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(b"bc\0");
        assert_eq!(listed(&bytes), None);
    }
}
