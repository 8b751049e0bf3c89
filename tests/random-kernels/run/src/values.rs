// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random values, and the bytes of them in the order in which they were drawn, without padding.

use syclbin_rt::bytemuck::{self, Pod};

use random_kernels::Random;

use crate::Outcome;

/// Draws values and notes their bytes.
#[derive(Clone, Debug)]
pub struct Values {
    random: Random,
    log: Vec<u8>,
}

/// Returns for kernel `number` what it sends back, what it is given to write, and what it does not look at.
#[must_use]
pub fn values(number: u64) -> [Values; 3] {
    [0, 1, 2].map(|kind| Values {
        random: Random::new(kind, number),
        log: Vec::new(),
    })
}

impl Values {
    /// Returns a value of random bytes.
    pub fn value<T: Pod>(&mut self) -> T {
        self.draw(|byte| byte)
    }

    /// Returns a value whose bytes are all 0 or 1.
    pub fn truths<T: Pod>(&mut self) -> T {
        self.draw(|byte| byte & 1)
    }

    /// Returns a `bool`.
    pub fn truth(&mut self) -> bool {
        self.truths::<u8>() == 1
    }

    /// Returns a vector of three, which has the size of four.
    pub fn three<T: Pod>(&mut self) -> [T; 4] {
        let [a, b, c] = self.value::<[T; 3]>();
        [a, b, c, T::zeroed()]
    }

    /// Sets the bits of a bit-field in `bytes`; its type has `size` bytes.
    pub fn bits(
        &mut self,
        bytes: &mut [u8],
        offset: usize,
        width: usize,
        size: usize,
        signed: bool,
    ) {
        let mask = u64::MAX >> (64 - width);
        let value = self.random.next() & mask;
        for bit in 0..width {
            let at = offset + bit;
            if value >> bit & 1 == 1 {
                bytes[at / 8] |= 1 << (at % 8);
            }
        }
        let extended = if signed && value >> (width - 1) & 1 == 1 {
            value | !mask
        } else {
            value
        };
        self.log.extend(&extended.to_le_bytes()[..size]);
    }

    /// Notes what the kernel says of the size of a struct.
    pub fn size_of<T>(&mut self) {
        let size = u32::try_from(size_of::<T>()).unwrap_or(0);
        self.log.extend(size.to_le_bytes());
    }

    /// Notes again what `other` has noted from `start` on.
    pub fn repeat(&mut self, other: &Self, start: usize) {
        self.log.extend(&other.log[start..]);
    }

    /// Returns the number of bytes that were noted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.log.len()
    }

    /// Returns whether nothing was noted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.log.is_empty()
    }

    /// Returns the bytes that were noted, and one more, as a buffer cannot be empty.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.log.clone();
        bytes.push(0);
        bytes
    }

    /// Returns memory for the bytes, with other bytes in it, and some behind.
    #[must_use]
    pub fn place(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.log.iter().map(|byte| !byte).collect();
        bytes.extend(BEHIND);
        bytes
    }

    /// Compares the bytes with those that a kernel wrote to [`Self::place`].
    ///
    /// # Errors
    ///
    /// Where the first difference is.
    pub fn check(&self, written: &[u8]) -> Outcome {
        let (own, behind) = written.split_at_checked(self.log.len()).unwrap_or_default();
        compare("what the kernel sent", own, &self.log)?;
        compare("what is behind that", behind, &BEHIND)
    }

    fn draw<T: Pod>(&mut self, map: fn(u8) -> u8) -> T {
        let mut value = T::zeroed();
        for chunk in bytemuck::bytes_of_mut(&mut value).chunks_mut(8) {
            let random = self.random.next().to_le_bytes();
            chunk.copy_from_slice(&random[..chunk.len()]);
            chunk.iter_mut().for_each(|byte| *byte = map(*byte));
        }
        self.log.extend(bytemuck::bytes_of(&value));
        value
    }
}

/// What stands behind the bytes that a kernel writes.
const BEHIND: [u8; 16] = [0xa5; 16];

/// Compares the elements that a kernel wrote, byte for byte.
///
/// # Errors
///
/// Where the first difference is.
pub fn same<T: Pod>(name: &str, written: &[T], expected: &[T]) -> Outcome {
    let name = format!("parameter `{name}`");
    compare(
        &name,
        bytemuck::cast_slice(written),
        bytemuck::cast_slice(expected),
    )
}

fn compare(what: &str, written: &[u8], expected: &[u8]) -> Outcome {
    if written == expected {
        return Ok(());
    }
    let mut pairs = written.iter().zip(expected);
    let at = pairs
        .position(|(one, other)| one != other)
        .unwrap_or(written.len().min(expected.len()));
    let part = |bytes: &[u8]| format!("{:02x?}", &bytes[at..bytes.len().min(at + 8)]);
    let (is, must) = (part(written), part(expected));
    Err(format!("{what}: byte {at} and what follows is {is}, must be {must}").into())
}
