// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decodes the record that a failed `assert` in device code leaves for the host. The device code in `syclbin-build`'s
//! header `syclbin_assert.hpp` writes the record.

use crate::prelude::*;
use crate::raw::Fields;

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
        let mut fields = Fields::<32>::new(record, "failed assert", 0).ok()?;
        let (failed, line) = (fields.u32(), fields.u32());
        if failed == 0 {
            return None;
        }
        let work_item = [fields.u64(), fields.u64(), fields.u64()];
        let mut rest = &record[32..];
        let [condition, file, function] = [256, 256, 512].map(|size| {
            let text = rest.split_off(..size).unwrap_or_default();
            let text = text.split(|byte| *byte == 0).next();
            String::from_utf8_lossy(text.unwrap_or_default()).into_owned()
        });
        Some(Self {
            condition,
            file,
            line,
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
