// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory maps: which bytes of a type hold scalars or pointers.
//!
//! Two descriptions of the same memory agree if each position holds a scalar of the same kind and size, or a pointer,
//! in both. Padding and unknown bytes match anything.

use super::types::{Element, Layouts, Scalar};
use crate::prelude::*;

/// The maximum number of steps to build a map. The limit bounds the work for hostile types, which may repeat nested
/// types many times. Beyond the limit, the rest of the type matches anything. Real kernels should stay below the limit,
/// because their arguments occupy at most four kilobytes, and an array of scalars takes two steps, whatever its length.
const MAX_STEPS: usize = 1024;
const MAX_DEPTH: usize = 32;

/// A run of consecutive scalars or pointers of the same kind and size.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The offset of the first byte, in bytes.
    start: u64,
    /// The offset after the last byte, in bytes.
    end: u64,
    /// The size of each scalar or pointer in bytes.
    size: u64,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Integer,
    Float,
    Pointer,
}

#[derive(Debug, Default)]
pub(super) struct MemoryMap {
    runs: Vec<Run>,
    pub(super) steps: usize,
    is_code: bool,
}

impl MemoryMap {
    /// Returns the memory map of an element, which comes from the compiled code if `is_code` is true, and from the C++
    /// declaration otherwise.
    pub(super) fn of(element: &Element, layouts: &Layouts, is_code: bool) -> Self {
        let mut map = Self {
            is_code,
            ..Self::default()
        };
        map.element(0, element, layouts, MAX_DEPTH);
        map
    }

    pub(super) fn scalar(&mut self, start: u64, scalar: Scalar) {
        let is_float = scalar.is_float();
        let kind = if is_float { Kind::Float } else { Kind::Integer };
        self.one(start, scalar.size(), kind);
    }

    /// Returns the offset of the first byte at which `self` and `other` disagree.
    pub(super) fn difference(&self, other: &Self) -> Option<u64> {
        let (mut left, mut right) = (self.runs.iter().peekable(), other.runs.iter().peekable());
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            let overlap = a.start < b.end && b.start < a.end;
            // Code stores 16-bit floats in integers if the device does not support them.
            let same = a.kind == b.kind
                || (a.size == 2 && a.kind != Kind::Pointer && b.kind != Kind::Pointer);
            let same = same && a.size == b.size && a.start.abs_diff(b.start).is_multiple_of(a.size);
            if overlap && !same {
                return Some(a.start.max(b.start));
            }
            if a.end <= b.end {
                left.next()
            } else {
                right.next()
            };
        }
        None
    }

    fn one(&mut self, start: u64, size: u64, kind: Kind) {
        if let Some(end) = start.checked_add(size).filter(|end| *end > start) {
            self.runs.push(Run {
                start,
                end,
                size,
                kind,
            });
        }
    }

    /// Repeats an element of `size` bytes at `start`, whose runs begin at index `from`, until there are `count`
    /// elements.
    fn repeat(&mut self, from: usize, start: u64, size: u64, count: u64) {
        if count == 0 {
            return self.runs.truncate(from);
        }
        match &mut self.runs[from..] {
            [] => {}
            [run] if run.start == start && run.end - start == size => {
                run.end = start.saturating_add(size.saturating_mul(count));
            }
            own => {
                let own = own.to_vec();
                for index in 1..count {
                    for run in &own {
                        let by = |place: u64| place.checked_add(index.checked_mul(size)?);
                        let (Some(start), Some(end), Some(_)) =
                            (by(run.start), by(run.end), self.step(1))
                        else {
                            return;
                        };
                        self.runs.push(Run { start, end, ..*run });
                    }
                }
            }
        }
    }

    fn step(&mut self, depth: usize) -> Option<usize> {
        if self.steps >= MAX_STEPS {
            return None;
        }
        self.steps += 1;
        depth.checked_sub(1)
    }

    fn element(&mut self, start: u64, element: &Element, layouts: &Layouts, depth: usize) {
        let Some(depth) = self.step(depth) else {
            return;
        };
        match element {
            Element::Scalar(scalar) => self.scalar(start, *scalar),
            Element::Enum(of) => self.scalar(start, of.of),
            Element::Pointer(_) => self.one(start, 8, Kind::Pointer),
            Element::Bytes(_) => {}
            Element::Vector { of, count } => {
                let from = self.runs.len();
                self.scalar(start, *of);
                self.repeat(from, start, of.size(), u64::from(*count));
            }
            // In code, arrays of bytes are compiler-generated padding.
            Element::Array { of, .. } if self.is_code && **of == Element::Scalar(Scalar::I8) => {}
            Element::Array { of, count } => {
                let from = self.runs.len();
                self.element(start, of, layouts, depth);
                let size = layouts.size(of).unwrap_or(0);
                self.repeat(from, start, size, *count);
            }
            Element::Struct(id) => {
                for field in layouts.fields(*id) {
                    if self.steps >= MAX_STEPS {
                        return;
                    }
                    if let Some(start) = start.checked_add(field.offset) {
                        self.element(start, &field.ty, layouts, depth);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::types::{Field, Layout};
    use alloc::boxed::Box;
    use alloc::string::String;
    use alloc::vec;

    fn array(of: Element, count: u64) -> Element {
        let of = Box::new(of);
        Element::Array { of, count }
    }

    fn pair(first: Element, second: Element, at: u64, layouts: &mut Layouts) -> Element {
        let field = |ty, offset| Field {
            name: None,
            offset,
            ty,
            sign_known: true,
        };
        Element::Struct(layouts.insert(Layout {
            name: String::new(),
            size: at * 2,
            align: 4,
            fields: vec![field(first, 0), field(second, at)],
            described: true,
        }))
    }

    const INT: Element = Element::Scalar(Scalar::I32);
    const FLOAT: Element = Element::Scalar(Scalar::F32);

    #[test]
    fn arrays_compare_whole_except_arrays_of_structs() {
        let mut layouts = Layouts::default();
        let mixed = pair(INT, FLOAT, 4, &mut layouts);
        let memory = |element| MemoryMap::of(&element, &layouts, false);
        let ints = memory(array(INT, 1 << 60));
        assert_eq!(ints.runs.len(), 1);
        assert_eq!(ints.difference(&memory(array(array(INT, 5), 7))), None);
        assert_eq!(ints.difference(&memory(array(FLOAT, 1))), Some(0));
        assert_eq!(ints.difference(&memory(array(mixed.clone(), 3))), Some(4));
        let all = memory(array(mixed.clone(), 3));
        assert_eq!(all.difference(&memory(array(mixed, 2))), None);
        assert_eq!(all.runs.len(), 6);
    }

    #[test]
    fn comparison_steps_of_nested_arrays_are_bounded() {
        let mut layouts = Layouts::default();
        let leaves = [INT, Element::Bytes(4)];
        // With 30, the structs nest so deep that they have no runs.
        for (leaf, depth) in leaves
            .into_iter()
            .flat_map(|leaf| [20, 30].map(|n| (leaf.clone(), n)))
        {
            let (mut nested, mut size) = (pair(leaf, FLOAT, 4, &mut layouts), 8);
            for _ in 0..depth {
                nested = pair(nested.clone(), nested, size, &mut layouts);
                size *= 2;
            }
            let memory = MemoryMap::of(&array(nested, u64::MAX), &layouts, false);
            assert!(memory.steps <= MAX_STEPS && memory.runs.len() <= MAX_STEPS);
            assert_eq!(memory.difference(&memory), None);
        }
    }

    #[test]
    fn gaps_and_padding_match_anything() {
        let mut layouts = Layouts::default();
        let gap = Element::Bytes(4);
        let first = pair(INT, gap.clone(), 4, &mut layouts);
        let second = pair(gap.clone(), FLOAT, 4, &mut layouts);
        let late = pair(INT, array(INT, 2000), 4, &mut layouts);
        let memory = |element: &Element, is_code| MemoryMap::of(element, &layouts, is_code);
        let [firsts, seconds] = [first, second].map(|of| memory(&array(of, 3), false));
        assert_eq!([firsts.runs.len(), seconds.runs.len()], [3, 3]);
        assert_eq!(firsts.difference(&seconds), None);
        assert_eq!(seconds.difference(&firsts), None);
        let ints = memory(&array(INT, 6), false);
        assert_eq!(firsts.difference(&ints), None);
        assert_eq!(seconds.difference(&ints), Some(4));
        // The length of an array does not matter.
        assert_eq!(memory(&late, false).runs.len(), 2);
        // Compilers pad with arrays of bytes, which C++ declares as numbers.
        let chars = array(Element::Scalar(Scalar::I8), 4);
        let float = memory(&FLOAT, false);
        assert_eq!(float.difference(&memory(&chars, true)), None);
        assert_eq!(float.difference(&memory(&chars, false)), Some(0));
    }

    #[test]
    fn floats_of_16_bits_may_be_integers() {
        let layouts = Layouts::default();
        let memory = |of| MemoryMap::of(&Element::Scalar(of), &layouts, false);
        let differ = |a, b| memory(a).difference(&memory(b)).is_some();
        assert!(!differ(Scalar::F16, Scalar::I16) && !differ(Scalar::I16, Scalar::BF16));
        assert!(differ(Scalar::F32, Scalar::I32) && differ(Scalar::F16, Scalar::I8));
    }
}
