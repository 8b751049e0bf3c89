// SPDX-License-Identifier: MIT OR Apache-2.0
//! Patterns: the elements that devices can fill memory with.

/// The largest pattern that all devices fill memory with (OpenCL 3.0, clEnqueueFillBuffer), in bytes.
const LARGEST_PATTERN: usize = 128;

/// Returns the pattern for devices to fill memory with this element, if they can. The pattern of an element
/// that repeats itself is shorter than the element.
pub(crate) fn pattern(element: &[u8]) -> Option<&[u8]> {
    match element {
        [first, rest @ ..] if rest.iter().all(|byte| byte == first) => element.get(..1),
        _ => {
            (element.len().is_power_of_two() && element.len() <= LARGEST_PATTERN).then_some(element)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_is_power_of_two_or_byte() {
        assert_eq!(pattern(&[1, 2, 3, 4]), Some(&[1, 2, 3, 4][..]));
        assert_eq!(pattern(&[1, 2, 3]), None);
        assert_eq!(pattern(&[7, 7, 7]), Some(&[7][..]));
        assert_eq!(pattern(&[]), None);
        let large: Vec<u8> = (0..=255).collect();
        assert_eq!(pattern(&large), None);
        assert_eq!(pattern(&large[..128]), Some(&large[..128]));
    }
}
