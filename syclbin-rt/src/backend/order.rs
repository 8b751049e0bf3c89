// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds kernels whose results depend on the order of their work-groups. With `SYCLBIN_GUARD=races`, each launch runs
//! twice, the second time with reversed work-groups, and the contents of all buffers that it can reach are compared.

use std::collections::BTreeMap;
use std::ops::Range;
use std::ptr::with_exposed_provenance_mut;
use std::slice::from_raw_parts_mut;
use std::sync::Arc;

use syclbin::__private::spirv::REVERSING_BIT;

use crate::backend::Result;
use crate::backend::guard::{StrayAccess, buffer_at};
use crate::backend::kernel::{Argument, Arguments};
use crate::backend::memory::Memory;
use crate::backend::range::{AnyRange, Extent};

/// The buffers that each argument refers to, or `None` for memory that is not guarded.
#[derive(Default)]
pub(crate) struct Reach(BTreeMap<usize, Vec<Option<Range<usize>>>>);

impl<'a> Arguments<'a> for Reach {
    unsafe fn set(&mut self, position: usize, value: Argument<'a>) -> Result<()> {
        let buffers = match value {
            Argument::Memory(region, _) => vec![buffer_of(&region.memory)],
            Argument::Pointer(address) if address != 0 => vec![buffer_at(address)],
            Argument::Bytes(bytes) => pointed_to(bytes).map(Some).collect(),
            _ => Vec::new(),
        };
        self.0.insert(position, buffers);
        Ok(())
    }
}

/// Returns the range with reversed work-groups, for a program that supports that.
pub(crate) fn reversed(mut range: AnyRange) -> AnyRange {
    let first = range.offset.map_or([0; 3], |offset| offset.padded());
    let reversing = first.map(|id| id | 1 << REVERSING_BIT);
    range.offset = Some(Extent::from_driver(reversing, 3));
    range
}

fn buffer_of(memory: &Memory) -> Option<Range<usize>> {
    buffer_at(memory.known_address()?)
}

/// Returns the buffers whose addresses are among `bytes`.
fn pointed_to(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let words = bytes.as_chunks().0.iter();
    words.filter_map(|word| buffer_at(u64::from_ne_bytes(*word)))
}

/// Contents of all buffers that a kernel can reach.
pub(crate) struct Contents(Vec<(Range<usize>, Vec<u8>)>);

impl Contents {
    /// Copies the buffers that the arguments and the `variables` refer to, directly or through pointers in buffers.
    /// Returns `None` if some memory is not guarded. No command may be using the buffers.
    pub(crate) fn new(reach: &Reach, variables: &[Arc<Memory>]) -> Option<Self> {
        let variables = variables.iter().map(|memory| buffer_of(memory));
        let buffers = reach.0.values().flatten().cloned();
        let mut buffers: Vec<_> = buffers.chain(variables).collect::<Option<_>>()?;
        let mut contents: Vec<(Range<usize>, Vec<u8>)> = Vec::new();
        while let Some(buffer) = buffers.pop() {
            if contents.iter().all(|(known, _)| *known != buffer) {
                // SAFETY: the launch keeps the buffer alive, and no command is using it.
                let copy = unsafe { memory(&buffer) }.to_vec();
                buffers.extend(pointed_to(&copy));
                contents.push((buffer, copy));
            }
        }
        Some(Self(contents))
    }

    /// Exchanges the contents with those of the buffers, and returns the first byte that differs. Does not write bytes
    /// that are equal, because other threads may be reading them.
    pub(crate) fn exchange(&mut self) -> Option<StrayAccess> {
        let mut difference = None;
        for (buffer, copy) in &mut self.0 {
            // SAFETY: as in `new`.
            let memory = unsafe { memory(buffer) };
            if memory == copy {
                continue; // much faster than the loop
            }
            for (byte, (now, before)) in memory.iter_mut().zip(copy).enumerate() {
                if now != before {
                    std::mem::swap(now, before);
                    difference.get_or_insert(StrayAccess {
                        buffer: buffer.clone(),
                        byte: byte.cast_signed(),
                        is_write: None,
                    });
                }
            }
        }
        difference
    }
}

/// Returns the contents of a buffer.
///
/// # Safety
///
/// The buffer must be alive, and no command may be using it.
unsafe fn memory<'m>(buffer: &Range<usize>) -> &'m mut [u8] {
    // SAFETY: the caller guarantees this.
    unsafe { from_raw_parts_mut(with_exposed_provenance_mut(buffer.start), buffer.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::guard::{Mode, Pages};

    /// A guarded buffer of two numbers.
    struct Numbers(Pages);

    impl Numbers {
        fn new(numbers: [u64; 2]) -> Self {
            let buffer = Self(Pages::new(16, Mode::Start).unwrap());
            buffer.write(numbers);
            buffer
        }

        fn address(&self) -> u64 {
            self.0.buffer().addr() as u64
        }

        fn write(&self, numbers: [u64; 2]) {
            // SAFETY: the buffer has room for two numbers, and is aligned to a page.
            unsafe { self.0.buffer().cast::<[u64; 2]>().write(numbers) }
        }

        fn read(&self) -> [u64; 2] {
            // SAFETY: as above.
            unsafe { self.0.buffer().cast::<[u64; 2]>().read() }
        }
    }

    fn reach(arguments: &[Argument<'_>]) -> Reach {
        let mut reach = Reach::default();
        for (position, argument) in arguments.iter().enumerate() {
            // SAFETY: the value is only noted.
            unsafe { reach.set(position, *argument) }.unwrap();
        }
        reach
    }

    #[test]
    fn buffers_behind_pointers_are_compared_and_restored() {
        let last = Numbers::new([1, 2]);
        let middle = Numbers::new([7, last.address()]);
        let other = Numbers::new([3, 4]);
        // A struct with a pointer, the same pointer twice, and a null pointer.
        let value = [9, middle.address()].map(u64::to_ne_bytes).concat();
        let reach = reach(&[
            Argument::Bytes(&value),
            Argument::Pointer(other.address()),
            Argument::Pointer(other.address() + 8),
            Argument::Pointer(0),
        ]);
        let mut contents = Contents::new(&reach, &[]).expect("all memory is guarded");
        assert_eq!(contents.0.len(), 3);

        // The first run.
        last.write([1, 5]);
        other.write([6, 4]);
        assert!(contents.exchange().is_some());
        assert_eq!((last.read(), other.read()), ([1, 2], [3, 4]));
        // The second run writes another value to one of them.
        last.write([1, 8]);
        other.write([6, 4]);
        let difference = contents.exchange().expect("a different value");
        assert_eq!(difference.buffer.start as u64, last.address());
        assert_eq!(difference.byte, 8);
        assert!(difference.depends_on_order());
        // The results are those of the first run.
        assert_eq!((last.read(), other.read()), ([1, 5], [6, 4]));
        assert_eq!(middle.read(), [7, last.address()]);
    }

    #[test]
    fn equal_runs_have_no_difference() {
        let buffer = Numbers::new([1, 2]);
        let reach = reach(&[Argument::Pointer(buffer.address())]);
        let mut contents = Contents::new(&reach, &[]).expect("all memory is guarded");
        buffer.write([3, 4]);
        contents.exchange();
        buffer.write([3, 4]);
        assert_eq!(contents.exchange(), None);
        assert_eq!(buffer.read(), [3, 4]);
    }

    #[test]
    fn unguarded_memory_cannot_be_compared() {
        let (guarded, unguarded) = (Numbers::new([1, 2]), [0u64; 2]);
        let reach = reach(&[
            Argument::Pointer(guarded.address()),
            Argument::Pointer(unguarded.as_ptr().addr() as u64),
        ]);
        assert!(Contents::new(&reach, &[]).is_none());
    }
}
