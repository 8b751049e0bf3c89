// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long an image is that comes without its length.

/// All bytes of an image.
///
/// # Safety
/// There are so many bytes; or, without a length, as many as their own header says, or a zero at
/// their end.
pub(super) unsafe fn whole<'a>(from: *const u8, length: Option<usize>) -> &'a [u8] {
    let length = length.unwrap_or_else(|| {
        // SAFETY: each is read only after the bytes before it said that there is more.
        unsafe { measure(from) }
    });
    // SAFETY: by the contract.
    unsafe { std::slice::from_raw_parts(from, length) }
}

/// # Safety
/// As for [`whole`] without a length.
unsafe fn measure(from: *const u8) -> usize {
    let starts = |with: &[u8]| {
        // A text has a zero at its end, which is in none of these, so nothing behind that is read.
        // SAFETY: all bytes before this one were not that zero.
        (0..with.len()).all(|at| unsafe { from.add(at).read() } == with[at])
    };
    let number = |at: usize, bytes: usize| {
        // SAFETY: a header of one of the kinds below is at least so long.
        let byte = |at: usize| unsafe { from.add(at).read() };
        (0..bytes)
            .rev()
            .fold(0usize, |all, by| all << 8 | usize::from(byte(at + by)))
    };
    if starts(b"\x7fELF") {
        // Sections are last in binaries for devices, or the headers of segments are.
        let sections = number(0x28, 8) + number(0x3a, 2) * number(0x3c, 2);
        let segments = number(0x20, 8) + number(0x36, 2) * number(0x38, 2);
        return sections.max(segments);
    }
    if starts(&0xba55_ed50u32.to_le_bytes()) {
        return number(6, 2) + number(8, 8);
    }
    let mut at = 0;
    // SAFETY: a text ends with a zero.
    while unsafe { from.add(at).read() } != 0 {
        at += 1;
    }
    at
}
