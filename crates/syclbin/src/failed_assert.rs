// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decodes the record that a failed `assert` in device code leaves for the host. The device code in `syclbin-build`'s
//! header `syclbin_assert.hpp` writes the record.

use alloc::string::String;

/// The unique identifier of the device global whose value is the record. Each image contains the value itself, not a
/// pointer to it.
pub const VARIABLE: &str = "_ZN7syclbin13failed_assertE";

/// The size of the record in bytes. All bytes are zero until an assert fails.
pub const SIZE: usize = 1056;

/// A failed `assert`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedAssert {
    /// The condition, truncated to 255 bytes.
    pub condition: String,
    /// The path of the source file, truncated to 255 bytes.
    pub file: String,
    /// The line in the source file.
    pub line: u32,
    /// The declaration of the function, truncated to 511 bytes.
    pub function: String,
    /// The global id of the work-item, fastest-varying dimension first.
    pub work_item: [u64; 3],
}

impl FailedAssert {
    /// Decodes a record. Returns `None` if no assert has failed.
    #[must_use]
    pub fn read(record: &[u8; SIZE]) -> Option<Self> {
        let (failed, rest) = record.split_first_chunk()?;
        let (line, mut rest) = rest.split_first_chunk()?;
        if u32::from_le_bytes(*failed) == 0 {
            return None;
        }
        let mut work_item = [0; 3];
        for id in &mut work_item {
            let (bytes, others) = rest.split_first_chunk()?;
            *id = u64::from_le_bytes(*bytes);
            rest = others;
        }
        let [condition, file, function] = [256, 256, 512].map(|size| {
            let text = rest.split_off(..size).unwrap_or_default();
            let text = text.split(|byte| *byte == 0).next();
            String::from_utf8_lossy(text.unwrap_or_default()).into_owned()
        });
        Some(Self {
            condition,
            file,
            line: u32::from_le_bytes(*line),
            function,
            work_item,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_is_read_field_by_field() {
        let mut record = [0; SIZE];
        assert_eq!(FailedAssert::read(&record), None);
        record[..8].copy_from_slice(&[1, 0, 0, 0, 0x2c, 1, 0, 0]);
        record[8] = 7;
        record[25] = 1;
        record[32..37].copy_from_slice(b"x > 0");
        record[288..291].copy_from_slice(b"a.c");
        record[544..].fill(b'f');
        let read = FailedAssert::read(&record).unwrap();
        assert_eq!((read.line, read.work_item), (300, [7, 0, 256]));
        assert_eq!((&*read.condition, &*read.file), ("x > 0", "a.c"));
        assert_eq!(read.function, "f".repeat(512));
    }
}
