// SPDX-License-Identifier: MIT OR Apache-2.0
//! DPC++'s own base64: bits lowest first, no padding.
//!
//! The bytes are one long little-endian number, and character `i` is its bits `6i..6i+6`. So this is not the
//! base64 of RFC 4648, although the alphabet is the same.

use alloc::string::String;
use alloc::vec::Vec;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes `bytes` as text: 4 characters for 3 bytes, 3 for 2, 2 for 1.
#[must_use]
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity((bytes.len() * 4).div_ceil(3));
    for group in bytes.chunks(3) {
        let mut bits = 0u32;
        for (index, byte) in group.iter().enumerate() {
            bits |= u32::from(*byte) << (8 * index);
        }
        for index in 0..=group.len() {
            text.push(char::from(ALPHABET[(bits >> (6 * index) & 0x3f) as usize]));
        }
    }
    text
}

/// Decodes `text`. Returns `None` if it has a character outside the alphabet, or a length that no encoding
/// has (4n + 1).
#[must_use]
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    if text.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for group in text.as_bytes().chunks(4) {
        let mut bits = 0u32;
        for (index, character) in group.iter().enumerate() {
            bits |= u32::from(digit(*character)?) << (6 * index);
        }
        bytes.extend_from_slice(&bits.to_le_bytes()[..group.len() * 6 / 8]);
    }
    Some(bytes)
}

const fn digit(character: u8) -> Option<u8> {
    match character {
        b'A'..=b'Z' => Some(character - b'A'),
        b'a'..=b'z' => Some(character - b'a' + 26),
        b'0'..=b'9' => Some(character - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    // The constants are what the reference compiler writes for an empty array and for a mask of
    // eight zero bits.
    #[test]
    fn constants_of_the_reference_compiler_decode() {
        assert_eq!(decode("AAAAAAAAAAA"), Some(vec![0; 8]));
        assert_eq!(
            decode("IAAAAAAAAAAA"),
            Some(vec![8, 0, 0, 0, 0, 0, 0, 0, 0])
        );
    }

    #[test]
    fn every_length_survives_a_round_trip() {
        let bytes: Vec<u8> = (0..=255).collect();
        for length in 0..=bytes.len() {
            let text = encode(&bytes[..length]);
            assert_eq!(decode(&text).as_deref(), Some(&bytes[..length]));
        }
    }

    #[test]
    fn invalid_characters_and_lengths_are_rejected() {
        for text in ["A", "AAAAA", "AA=A", "ÄA", "A A"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
