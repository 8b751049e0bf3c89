// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads and writes OffloadBinaries compressed with zlib or zstd. Decompression never uses more memory than the
//! caller allows.

use super::{Binary, Entry, binary};
use crate::error::{Error, ErrorKind};
use crate::prelude::*;
use crate::raw::offload_binary::{HEADER_SIZE_V3, Header};
use crate::raw::slice;
use crate::write;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::{deflate, inflate};
use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// The constant part of the decompression limit, in bytes.
const FLOOR: u64 = 16 << 20;
/// The part of the decompression limit that grows with the file, as a multiple of the file size. For comparison,
/// code for twenty GPUs of one family compresses by a factor of more than fifty.
const FACTOR: u64 = 128;

/// Returns the decompression limit, in bytes, for a file of `size` bytes.
pub fn allowance(size: usize) -> u64 {
    (size as u64).saturating_mul(FACTOR).saturating_add(FLOOR)
}

/// Subtracts `size` from `left`, the number of bytes that may still be decompressed.
///
/// # Errors
///
/// Returns an error if fewer than `size` bytes are left.
pub fn claim(left: &mut u64, size: u64) -> Result<(), ErrorKind> {
    let Some(rest) = left.checked_sub(size) else {
        return Err(damaged(format!(
            "it claims {size} bytes, but only {left} more are allowed; the total limit is {FACTOR} times the file size \
             plus 16 MiB"
        )));
    };
    *left = rest;
    Ok(())
}

fn damaged(problem: impl Into<Cow<'static, str>>) -> ErrorKind {
    ErrorKind::Compressed(problem.into())
}

/// Returns `bytes` with each compressed OffloadBinary decompressed. The result is borrowed if none is compressed,
/// or if `bytes` does not start with an OffloadBinary.
///
/// The total decompressed size is limited to 128 times the size of `bytes`, plus 16 MiB.
///
/// # Errors
///
/// Returns an error if a compressed OffloadBinary is malformed or cannot be decompressed. Error offsets count from the
/// start of `bytes`.
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

/// Decompresses OffloadBinaries like [`unpack`], but to at most `left` bytes in total. Subtracts the number of
/// decompressed bytes from `left`.
///
/// # Errors
///
/// Returns an error if the content is damaged or exceeds the limit.
pub fn unpack_within<'a>(bytes: &'a [u8], left: &mut u64) -> Result<Cow<'a, [u8]>, Error> {
    let mut out = Vec::new();
    // The bytes between `copied` and `start` are not compressed.
    let (mut copied, mut start) = (0, 0);
    while let Some(zeros) = bytes[start..].iter().position(|byte| *byte != 0) {
        start += zeros;
        let rest = &bytes[start..];
        let fail = |error: Error| error.moved(start as u64);
        // Reading the result will report this error.
        let Ok(header) = Header::read(rest) else {
            break;
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

/// Decompresses the OffloadBinary at the start of `bytes`. Also returns the offset at which its compressed form ends.
fn inflate(bytes: &[u8], header: &Header, left: &mut u64) -> Result<(Vec<u8>, usize), Error> {
    const RECORD: &str = "compressed OffloadBinary";
    let fail = |kind| Error::new(RECORD, 0, kind);
    let whole = slice(bytes, (0, header.size), "file", || RECORD.into(), 8)?;
    let entries = usize::try_from(header.entry_offset).unwrap_or(usize::MAX);
    let Some(packed) = whole.get(entries..).filter(|_| entries >= HEADER_SIZE_V3) else {
        let problem = format!(
            "the compressed content starts at {entries:#x}, inside the header or outside the file"
        );
        return Err(Error::inconsistent(RECORD, 16, problem));
    };
    let Some(size) = header.inflated_size.checked_sub(header.entry_offset) else {
        let kind = damaged("its unpacked size is smaller than its header");
        return Err(Error::new(RECORD, 32, kind));
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

/// Writes one compressed OffloadBinary of version 3 with these entries. Only LLVM versions after 23 read version 3.
/// The output is deterministic.
///
/// # Errors
///
/// Returns an error if a key contains NUL, which would terminate the key.
pub fn write_compressed(
    entries: &[Entry<'_>],
    method: Compression,
) -> Result<Vec<u8>, write::Error> {
    let plain = binary::write(3, entries)?;
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
    // The size in the header excludes this padding, which aligns the next OffloadBinary in a section to 8 bytes.
    out.resize(out.len().next_multiple_of(8), 0);
    Ok(out)
}

pub(crate) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The window size that every zstd decoder should support, in bytes (RFC 8878, section 3.1.1.1.2).
const WINDOW: u64 = 8 << 20;
/// The number of bytes to decode in each step.
const STEP: usize = 1 << 20;

/// The compression method of a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// zlib (RFC 1950).
    Zlib,
    /// zstd (RFC 8878), which clang prefers.
    #[default]
    Zstd,
}

impl Compression {
    /// All methods.
    pub const ALL: [Self; 2] = [Self::Zlib, Self::Zstd];

    /// Returns the name that commands accept.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }

    /// Returns the method with this [name](Self::name).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Compresses `bytes`. The output is deterministic.
    #[doc(hidden)]
    pub fn pack(self, bytes: &[u8]) -> Vec<u8> {
        /// The default level of zlib.
        const LEVEL: u8 = 6;
        match self {
            Self::Zlib => deflate::compress_to_vec_zlib(bytes, LEVEL),
            Self::Zstd => compress_to_vec(bytes, CompressionLevel::Fastest),
        }
    }

    /// Decompresses `bytes` to exactly `size` bytes. Trailing bytes are ignored. Memory use grows with the actual
    /// output, up to `size` plus the decoder's window.
    #[doc(hidden)]
    pub fn unpack(self, bytes: &[u8], size: u64) -> Result<Vec<u8>, ErrorKind> {
        let limit = usize::try_from(size).unwrap_or(usize::MAX);
        let unpacked = match self {
            Self::Zlib => {
                inflate::decompress_to_vec_zlib_with_limit(bytes, limit).map_err(|error| {
                    match error.status {
                        TINFLStatus::HasMoreOutput => more(size),
                        TINFLStatus::FailedCannotMakeProgress => {
                            damaged("the zlib stream is truncated")
                        }
                        _ => damaged("the zlib stream is malformed"),
                    }
                })?
            }
            Self::Zstd => unzstd(bytes, limit)?,
        };
        match unpacked.len() {
            found if found < limit => Err(damaged(format!(
                "it unpacks to {found} bytes, but the header records {size}"
            ))),
            _ => Ok(unpacked),
        }
    }
}

/// Decompresses a zstd frame to at most `left` bytes, and subtracts their number from `left`.
///
/// # Errors
///
/// Returns an error if the frame is damaged or exceeds the limit.
pub fn unpack_frame(bytes: &[u8], left: &mut u64) -> Result<Vec<u8>, ErrorKind> {
    let unpacked = unzstd(bytes, usize::try_from(*left).unwrap_or(usize::MAX))?;
    claim(left, unpacked.len() as u64)?;
    Ok(unpacked)
}

fn more(size: u64) -> ErrorKind {
    damaged(format!(
        "it unpacks to more than the {size} bytes allowed by its header, or by the limit for the whole file ({FACTOR} \
         times its size plus 16 MiB)"
    ))
}

fn unzstd(mut bytes: &[u8], limit: usize) -> Result<Vec<u8>, ErrorKind> {
    let malformed = |error: FrameDecoderError| damaged(format!("zstd: {error}"));
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(WINDOW.max(limit as u64));
    decoder.init(&mut bytes).map_err(malformed)?;
    let mut unpacked = Vec::new();
    while !decoder.is_finished() {
        let step = BlockDecodingStrategy::UptoBytes(STEP);
        decoder.decode_blocks(&mut bytes, step).map_err(malformed)?;
        let part = decoder.collect().unwrap_or_default();
        if part.len() > limit - unpacked.len() {
            return Err(more(limit as u64));
        }
        unpacked.extend_from_slice(&part);
    }
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    fn problem(method: Compression, bytes: &[u8], size: u64) -> alloc::string::String {
        method.unpack(bytes, size).unwrap_err().to_string()
    }

    #[test]
    fn packed_bytes_unpack_to_themselves() {
        let long: Vec<u8> = (0..300_000u32)
            .flat_map(|n| (n.wrapping_mul(n) % 251).to_le_bytes())
            .collect();
        for method in Compression::ALL {
            for bytes in [&[][..], b"x", &[0; 5000], &long] {
                let packed = method.pack(bytes);
                assert_eq!(method.unpack(&packed, bytes.len() as u64).unwrap(), bytes);
            }
            assert_eq!(Compression::from_name(method.name()), Some(method));
        }
    }

    #[test]
    fn wrong_sizes_are_refused() {
        for method in Compression::ALL {
            let packed = method.pack(&vec![7; 100_000]);
            let text = problem(method, &packed, 99_999);
            assert!(text.contains("more than the 99999 bytes"), "{text}");
            let text = problem(method, &packed, 100_001);
            assert!(
                text.contains("it unpacks to 100000 bytes, but the header records 100001"),
                "{text}"
            );
            // More than one step exceeds the size only in its sum.
            let packed = method.pack(&vec![7; 5 * STEP / 2]);
            let text = problem(method, &packed, (2 * STEP) as u64);
            assert!(text.contains("more than the 2097152 bytes"), "{text}");
        }
    }

    #[test]
    fn compressed_parts_are_found_between_others() {
        let entry = |name: &'static str| Entry {
            image: name.as_bytes().into(),
            ..Entry::default()
        };
        let entries = ["zlib", "plain", "zstd"].map(entry);
        let [zlib, plain, zstd] = entries.each_ref().map(core::slice::from_ref);
        let bytes = [
            vec![0; 16],
            write_compressed(zlib, Compression::Zlib).unwrap(),
            vec![0; 8],
            binary::write(2, plain).unwrap(),
            vec![0; 24],
            write_compressed(zstd, Compression::Zstd).unwrap(),
            vec![0; 8],
        ]
        .concat();
        let unpacked = unpack(&bytes).unwrap();
        let read = super::super::read(&unpacked);
        assert_eq!(read.as_deref(), Ok(&entries[..]));
        assert!(matches!(unpack(&unpacked), Ok(Cow::Borrowed(_))));
        // The content starts in the header.
        let mut damaged = write_compressed(&[], Compression::Zlib).unwrap();
        damaged[16] -= 8;
        let error = unpack(&damaged).unwrap_err();
        assert_eq!(error.offset(), 16);
        assert!(error.to_string().contains("inside the header"), "{error}");
    }

    #[test]
    fn truncated_streams_are_refused() {
        for method in Compression::ALL {
            let packed = method.pack(b"some words, some more words");
            for end in 0..packed.len() {
                let text = problem(method, &packed[..end], 27);
                assert!(text.starts_with("cannot decompress the content"), "{text}");
            }
        }
        let packed = Compression::Zlib.pack(b"some words");
        let text = problem(Compression::Zlib, &packed[..packed.len() - 5], 10);
        assert!(text.contains("the zlib stream is truncated"), "{text}");
        let text = problem(Compression::Zlib, b"some words", 10);
        assert!(text.contains("the zlib stream is malformed"), "{text}");
    }
}
