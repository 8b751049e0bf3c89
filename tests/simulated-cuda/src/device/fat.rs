// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fat binaries: several images, of which the device takes the best. And the device that a binary
//! is for.

use super::image::{Image, Refused};
use crate::call::Code;
use crate::settings::Settings;

/// An image inside.
struct Entry<'a> {
    text: bool,
    sm: u32,
    compressed: bool,
    bytes: &'a [u8],
}

const TEXT: u16 = 1;
const BINARY: u16 = 2;
/// Flags of the two ways in which an image may be compressed.
const COMPRESSED: u64 = 0x2000 | 0x8000;

/// The binary for the device that a text stands for, or else the text for the newest device that is
/// not newer than this one.
pub(super) fn choose(bytes: &[u8]) -> Result<Image, Refused> {
    let wrong = || Refused::from(Code::CUDA_ERROR_INVALID_IMAGE);
    let header = usize::from(u16::from_le_bytes(field(bytes, 6).ok_or_else(wrong)?));
    let mut rest = bytes.get(header..).ok_or_else(wrong)?;
    let mut texts = Vec::new();
    while let Some((entry, after)) = entry(rest) {
        rest = after;
        if entry.compressed {
            return Err(Refused {
                code: Code::CUDA_ERROR_NO_BINARY_FOR_GPU,
                what: "the simulation reads no compressed images".to_owned(),
            });
        }
        if entry.text {
            texts.push(entry);
        } else if let Ok(image) = Image::parse(entry.bytes) {
            return Ok(image);
        }
    }
    texts.retain(|entry| entry.sm <= Settings::get().sm);
    match texts.iter().max_by_key(|entry| entry.sm) {
        Some(entry) => Image::parse(entry.bytes),
        None => Err(Refused {
            code: Code::CUDA_ERROR_NO_BINARY_FOR_GPU,
            what: "no image in the fat binary is for this device".to_owned(),
        }),
    }
}

fn entry(bytes: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    let kind = u16::from_le_bytes(field(bytes, 0)?);
    let header = usize::try_from(u32::from_le_bytes(field(bytes, 4)?)).ok()?;
    let size = usize::try_from(u64::from_le_bytes(field(bytes, 8)?)).ok()?;
    let sm = u32::from_le_bytes(field(bytes, 28)?);
    let flags = u64::from_le_bytes(field(bytes, 40)?);
    let end = header.checked_add(size)?;
    let entry = Entry {
        text: kind == TEXT,
        sm,
        compressed: flags & COMPRESSED != 0,
        bytes: bytes.get(header..end)?,
    };
    matches!(kind, TEXT | BINARY).then_some((entry, &bytes[end..]))
}

/// The device that a binary is for, such as 80.
pub(super) fn binary_target(bytes: &[u8]) -> Option<u32> {
    let flags = u32::from_le_bytes(field(bytes, 0x30)?);
    // The version of the interface moved the number.
    let shift = if bytes.get(8).is_some_and(|version| *version >= 8) {
        8
    } else {
        0
    };
    Some(flags >> shift & 0xff)
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(kind: u16, sm: u32, flags: u64, content: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(kind.to_le_bytes());
        bytes.extend(0x101u16.to_le_bytes());
        bytes.extend(64u32.to_le_bytes());
        bytes.extend((content.len() as u64).to_le_bytes());
        bytes.extend([0; 12]);
        bytes.extend(sm.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(flags.to_le_bytes());
        bytes.resize(64, 0);
        bytes.extend(content);
        bytes
    }

    fn fat(entries: &[Vec<u8>]) -> Vec<u8> {
        let content = entries.concat();
        let mut bytes = 0xba55_ed50u32.to_le_bytes().to_vec();
        bytes.extend([1, 0, 16, 0]);
        bytes.extend((content.len() as u64).to_le_bytes());
        bytes.extend(content);
        bytes
    }

    #[test]
    fn newest_suitable_ptx_is_chosen() {
        let text = |sm: u32| format!(".version 6.3 .target sm_{sm}");
        let entry = |sm| packed(1, sm, 0x11, text(sm).as_bytes());
        let binary = packed(2, 90, 0x11, b"\x7fELF");
        let image = choose(&fat(&[binary, entry(75), entry(80), entry(100)]));
        assert_eq!(image.expect("there is one").texts, [text(80)]);
        let error = choose(&fat(&[entry(100)])).expect_err("it is too new");
        assert_eq!(error.code, Code::CUDA_ERROR_NO_BINARY_FOR_GPU);
        let error = choose(&fat(&[packed(1, 75, 0x2011, b"")])).expect_err("it is compressed");
        assert!(error.what.contains("compressed"));
    }

    #[test]
    fn binaries_say_what_they_are_for() {
        let mut binary = b"\x7fELF\x02\x01\x01A\x08".to_vec();
        binary.resize(0x30, 0);
        binary.extend(0x0600_5a04u32.to_le_bytes());
        assert_eq!(binary_target(&binary), Some(90));
        binary[8] = 7;
        binary[0x30..].copy_from_slice(&0x0055_0550u32.to_le_bytes());
        assert_eq!(binary_target(&binary), Some(80));
    }
}
