// SPDX-License-Identifier: MIT OR Apache-2.0
//! zlib and zstd. What is unpacked never takes more memory than its caller allows.

use alloc::format;
use alloc::vec::Vec;

use miniz_oxide::{deflate, inflate};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::error::ErrorKind;

/// The first bytes of a zstd frame.
pub(crate) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A window that every decoder of zstd should support (RFC 8878, section 3.1.1.1.2).
const WINDOW: u64 = 8 << 20;
/// Bytes that are decoded before they are moved to the result.
const STEP: usize = 1 << 20;

/// How the content of a container is compressed.
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

    /// Returns `bytes` compressed. The same bytes always give the same result.
    #[doc(hidden)]
    pub fn pack(self, bytes: &[u8]) -> Vec<u8> {
        /// What zlib itself takes unless told otherwise.
        const LEVEL: u8 = 6;
        match self {
            Self::Zlib => deflate::compress_to_vec_zlib(bytes, LEVEL),
            Self::Zstd => compress_to_vec(bytes, CompressionLevel::Fastest),
        }
    }

    /// Returns what `bytes` unpack to, which must be `size` bytes. Bytes after the compressed ones are ignored.
    /// Memory grows with the result, up to `size` and the decoder's window.
    #[doc(hidden)]
    pub fn unpack(self, bytes: &[u8], size: u64) -> Result<Vec<u8>, ErrorKind> {
        let limit = usize::try_from(size).unwrap_or(usize::MAX);
        let unpacked = match self {
            Self::Zlib => {
                inflate::decompress_to_vec_zlib_with_limit(bytes, limit).map_err(|error| {
                    match error.status {
                        inflate::TINFLStatus::HasMoreOutput => more(size),
                        inflate::TINFLStatus::FailedCannotMakeProgress => {
                            ErrorKind::Compressed("the zlib stream is cut off".into())
                        }
                        _ => ErrorKind::Compressed("the zlib stream is malformed".into()),
                    }
                })?
            }
            Self::Zstd => unzstd(bytes, limit)?,
        };
        if unpacked.len() < limit {
            let found = unpacked.len();
            let problem = format!("it has {found} bytes, and the header says {size}");
            return Err(ErrorKind::Compressed(problem.into()));
        }
        Ok(unpacked)
    }
}

fn more(size: u64) -> ErrorKind {
    let problem = format!("it has more than the {size} bytes that the header says");
    ErrorKind::Compressed(problem.into())
}

fn unzstd(mut bytes: &[u8], limit: usize) -> Result<Vec<u8>, ErrorKind> {
    let malformed = |error: ruzstd::decoding::errors::FrameDecoderError| {
        ErrorKind::Compressed(format!("zstd: {error}").into())
    };
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
                text.contains("it has 100000 bytes, and the header says 100001"),
                "{text}"
            );
        }
    }

    #[test]
    fn truncated_streams_are_refused() {
        for method in Compression::ALL {
            let packed = method.pack(b"some words, some more words");
            for end in 0..packed.len() {
                let text = problem(method, &packed[..end], 27);
                assert!(
                    text.starts_with("the compressed content cannot be unpacked"),
                    "{text}"
                );
            }
        }
    }
}
