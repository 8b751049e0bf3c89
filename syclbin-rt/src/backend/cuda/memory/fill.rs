// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fills: memory gets a pattern of any length from functions that fill with words of 1, 2 and 4 bytes.

/// The largest pattern, in bytes: the same as in other backends.
const LARGEST: usize = 128;

/// A call that fills with copies of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::backend::cuda) struct Step {
    pub(in crate::backend::cuda) address: u64,
    /// The distance between two words in bytes. The words are contiguous if it equals the width.
    pub(in crate::backend::cuda) pitch: usize,
    /// The size of the word in bytes: 1, 2 or 4.
    pub(in crate::backend::cuda) width: usize,
    pub(in crate::backend::cuda) value: u32,
    /// The number of words.
    pub(in crate::backend::cuda) count: usize,
}

/// Returns the steps that fill `size` bytes at `address` with copies of `pattern`. `None` if the pattern is
/// empty or too long, or its length does not divide the size.
pub(in crate::backend::cuda) fn steps(
    address: u64,
    size: usize,
    pattern: &[u8],
) -> Option<impl Iterator<Item = Step>> {
    if pattern.is_empty() || pattern.len() > LARGEST || !size.is_multiple_of(pattern.len()) {
        return None;
    }
    let pattern = shortest(pattern);
    // The widest words of which the pattern is made, and that lie where such words may lie.
    let fits = |width: &usize| {
        pattern.len().is_multiple_of(*width) && address.is_multiple_of(*width as u64)
    };
    let width = [4, 2].into_iter().find(fits).unwrap_or(1);
    let pitch = pattern.len();
    let words = pattern.chunks_exact(width).enumerate();
    let steps = words.map(move |(index, word)| {
        let mut bytes = [0; 4];
        bytes[..width].copy_from_slice(word);
        Step {
            address: address + (index * width) as u64,
            pitch,
            width,
            value: u32::from_le_bytes(bytes),
            count: size / pitch,
        }
    });
    Some(steps.filter(|step| step.count > 0))
}

/// Returns the shortest beginning of `pattern` whose repetition is the same.
fn shortest(pattern: &[u8]) -> &[u8] {
    let repeats = |len: &usize| {
        let (first, rest) = pattern.split_at(*len);
        pattern.len().is_multiple_of(*len) && rest.chunks(*len).all(|part| part == first)
    };
    let len = (1..pattern.len()).find(repeats);
    &pattern[..len.unwrap_or(pattern.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What memory that began at `address` holds after the steps.
    fn filled(address: u64, size: usize, pattern: &[u8]) -> Vec<u8> {
        let mut memory = vec![0xEE; size];
        for step in steps(address, size, pattern).unwrap() {
            assert!(step.address.is_multiple_of(step.width as u64), "{step:?}");
            for number in 0..step.count {
                let at = usize::try_from(step.address - address).unwrap() + number * step.pitch;
                memory[at..at + step.width]
                    .copy_from_slice(&step.value.to_le_bytes()[..step.width]);
            }
        }
        memory
    }

    #[test]
    fn every_pattern_fills_memory_at_every_address() {
        for len in 1..=LARGEST {
            let bytes = 0..u8::try_from(len).unwrap();
            let pattern: Vec<u8> = bytes.map(|byte| byte.wrapping_mul(37) ^ 0x5A).collect();
            for address in 4096..4104 {
                let memory = filled(address, len * 3, &pattern);
                assert_eq!(memory, pattern.repeat(3), "{len} bytes at {address}");
            }
        }
        assert_eq!(filled(4096, 0, &[1, 2]), Vec::<u8>::new());
    }

    #[test]
    fn repeated_patterns_are_filled_in_one_call() {
        let calls = |address, pattern: &[u8]| steps(address, 64, pattern).unwrap().count();
        assert_eq!(calls(4096, &[0; 64]), 1);
        assert_eq!(calls(4096, &[1, 2, 3, 4, 1, 2, 3, 4]), 1);
        assert_eq!(calls(4096, &[1, 2, 3, 4]), 1);
        assert_eq!(calls(4098, &[1, 2, 3, 4]), 2);
        assert_eq!(calls(4097, &[1, 2, 3, 4]), 4);
        assert_eq!(calls(4096, &[1, 2, 3, 4, 5, 6, 7, 8]), 2);
    }

    #[test]
    fn invalid_fill_patterns_are_refused() {
        assert!(steps(4096, 8, &[]).is_none());
        assert!(steps(4096, 129, &[1; 129]).is_none());
        assert!(steps(4096, 8, &[1, 2, 3]).is_none());
    }
}
