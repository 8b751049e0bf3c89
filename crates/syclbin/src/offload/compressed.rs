// SPDX-License-Identifier: MIT OR Apache-2.0
//! OffloadBinaries of version 3 whose content after the header is compressed.

use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;

use super::encode::{self, Outgoing};
use super::{Binary, Entry};
use crate::compression::{Compression, ZSTD_MAGIC};
use crate::error::{Error, ErrorKind};
use crate::raw::offload_binary::{HEADER_SIZE_V3, Header};
use crate::raw::slice;
use crate::write;

/// The most that small files may unpack to.
const FLOOR: u64 = 16 << 20;
/// The most that large files may unpack to, as a multiple of their size. Code for twenty GPUs of one family
/// compresses to less than a fiftieth.
const FACTOR: u64 = 128;

/// Returns how many bytes may come out of compressed containers in a file of `size` bytes.
pub fn allowance(size: usize) -> u64 {
    (size as u64).saturating_mul(FACTOR).saturating_add(FLOOR)
}

/// Takes `size` from the bytes that may still be unpacked.
///
/// # Errors
///
/// When fewer are left.
pub fn claim(left: &mut u64, size: u64) -> Result<(), ErrorKind> {
    *left = left.checked_sub(size).ok_or_else(|| {
        let problem = format!(
            "it claims {size} bytes and {left} are allowed, which is {FACTOR} times the file and 16 MiB in all"
        );
        ErrorKind::Compressed(problem.into())
    })?;
    Ok(())
}

/// Returns `bytes` with each compressed OffloadBinary unpacked. They are borrowed where none is compressed, or
/// where they do not start with an OffloadBinary.
///
/// All unpacked bytes together may be 128 times `bytes`, and 16 MiB more.
///
/// # Errors
///
/// When an OffloadBinary does not hold together, or cannot be unpacked. Offsets count from the start of `bytes`.
///
/// ```
/// use syclbin::offload::{self, Compression, Entry};
///
/// let entry = Entry { image: b"code".into(), ..Entry::default() };
/// let bytes = offload::write_compressed(&[entry.clone()], Compression::Zstd)?;
/// assert_eq!(offload::read(&offload::unpack(&bytes)?)?, [entry]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn unpack(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Error> {
    unpack_within(bytes, &mut allowance(bytes.len()))
}

/// Unpacks no more than `left` bytes, and takes them off.
///
/// # Errors
///
/// When the content is damaged, or larger.
pub fn unpack_within<'a>(bytes: &'a [u8], left: &mut u64) -> Result<Cow<'a, [u8]>, Error> {
    let mut out = Vec::new();
    // What lies between here and `start` is not compressed.
    let (mut copied, mut start) = (0, 0);
    while let Some(zeros) = bytes[start..].iter().position(|byte| *byte != 0) {
        start += zeros;
        let rest = &bytes[start..];
        let fail = |error: Error| error.moved(start as u64);
        let header = match Header::read(rest) {
            Ok(header) => header,
            // The reader reports the error.
            Err(_) => break,
        };
        if header.inflated_size == 0 {
            let Ok(binary) = Binary::parse(rest) else {
                break;
            };
            start += binary.bytes.len();
            continue;
        }
        out.extend_from_slice(&bytes[copied..start]);
        let (body, end) = inflate(rest, &header, left).map_err(fail)?;
        out.extend_from_slice(&body);
        out.resize(out.len().next_multiple_of(8), 0);
        start += end;
        copied = start;
    }
    if copied == 0 {
        return Ok(Cow::Borrowed(bytes));
    }
    out.extend_from_slice(&bytes[copied..]);
    Ok(Cow::Owned(out))
}

/// Returns the OffloadBinary that the compressed one at the start of `bytes` stands for, and where that ends.
fn inflate(bytes: &[u8], header: &Header, left: &mut u64) -> Result<(Vec<u8>, usize), Error> {
    const RECORD: &str = "compressed OffloadBinary";
    let fail = |kind| Error::new(RECORD, 0, kind);
    let whole = slice(bytes, (0, header.size), "file", || RECORD.into(), 8)?;
    let entries = usize::try_from(header.entry_offset).unwrap_or(usize::MAX);
    let Some(packed) = whole.get(entries..).filter(|_| entries >= HEADER_SIZE_V3) else {
        let problem = format!("the compressed content starts at {entries:#x}, outside of it");
        return Err(Error::new(RECORD, 16, ErrorKind::Record(problem.into())));
    };
    let Some(size) = header.inflated_size.checked_sub(header.entry_offset) else {
        let problem = "it is smaller unpacked than its header";
        return Err(Error::new(
            RECORD,
            32,
            ErrorKind::Compressed(problem.into()),
        ));
    };
    claim(left, size).map_err(fail)?;
    let method = if packed.starts_with(&ZSTD_MAGIC) {
        Compression::Zstd
    } else {
        Compression::Zlib
    };
    let body = method.unpack(packed, size).map_err(fail)?;
    let mut out = Vec::with_capacity(entries + body.len());
    Header {
        size: header.inflated_size,
        inflated_size: 0,
        ..*header
    }
    .write(&mut out);
    out.extend_from_slice(&whole[HEADER_SIZE_V3..entries]);
    out.extend_from_slice(&body);
    Ok((out, whole.len()))
}

/// Writes one OffloadBinary of version 3 with these entries, compressed. LLVM reads these since after
/// version 23. The same entries always give the same bytes.
///
/// # Errors
///
/// When a key has a NUL, which would end it.
pub fn write_compressed(
    entries: &[Entry<'_>],
    method: Compression,
) -> Result<Vec<u8>, write::Error> {
    let entries: Vec<_> = entries.iter().map(Outgoing::of).collect();
    let plain = encode::version_3(&entries)?;
    let packed = method.pack(&plain[HEADER_SIZE_V3..]);
    let size = HEADER_SIZE_V3 + packed.len();
    let mut out = Vec::with_capacity(size.next_multiple_of(8));
    Header {
        version: 3,
        size: size as u64,
        entry_offset: HEADER_SIZE_V3 as u64,
        entry_size_or_count: entries.len() as u64,
        inflated_size: plain.len() as u64,
    }
    .write(&mut out);
    out.extend_from_slice(&packed);
    // Not part of the size: the next OffloadBinary of a section starts at a multiple of 8.
    out.resize(out.len().next_multiple_of(8), 0);
    Ok(out)
}
