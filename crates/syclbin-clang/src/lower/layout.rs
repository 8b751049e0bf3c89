// SPDX-License-Identifier: MIT OR Apache-2.0
//! Computes type sizes and member offsets by OpenCL's layout rules, because kernel SPIR-V does not record them.

use std::collections::{BTreeMap, BTreeSet};

use super::words::{DECORATION_CPACKED, Instruction, Module, op};

/// The maximum nesting depth of types.
const MAX_DEPTH: u32 = 64;
/// The size of a pointer in bytes. All targets use 64-bit addresses.
const POINTER: u64 = 8;

/// The layouts of a module's types by id, for all types that have a size in memory.
#[derive(Debug, Default)]
pub(super) struct Layouts(BTreeMap<u32, Layout>);

#[derive(Debug)]
pub(super) struct Layout {
    /// The size in bytes, padded to the alignment.
    pub(super) size: u64,
    pub(super) align: u64,
    pub(super) shape: Shape,
    depth: u32,
}

#[derive(Debug)]
pub(super) enum Shape {
    /// An 8-, 16-, 32- or 64-bit number.
    Number {
        /// Whether a literal narrower than a word is sign-extended.
        signed: bool,
    },
    Pointer,
    /// A vector or an array: `count` elements of type `of`, `stride` bytes apart.
    Many {
        of: u32,
        count: u64,
        stride: u64,
    },
    /// The members and their offsets.
    Struct(Vec<(u32, u64)>),
}

impl Layouts {
    /// Returns the layouts of all types. SPIR-V declares the parts of a type before the type, so a single pass is
    /// sufficient.
    pub(super) fn of(module: &Module) -> Self {
        let mut layouts = Self::default();
        let mut packed = BTreeSet::new();
        let mut numbers = BTreeMap::new();
        for instruction in &module.instructions {
            match (instruction.opcode, instruction.operands.as_slice()) {
                (op::DECORATE, [target, DECORATION_CPACKED]) => {
                    packed.insert(*target);
                }
                (op::CONSTANT, [_, id, low, high @ ..]) => {
                    let high = u64::from(high.first().copied().unwrap_or(0));
                    numbers.insert(*id, high << 32 | u64::from(*low));
                }
                (op::FUNCTION, _) => break,
                _ => {
                    let layout = layouts.layout(instruction, &packed, &numbers);
                    if let (Some(layout), Some(id)) = (layout, instruction.operand(0)) {
                        layouts.0.entry(id).or_insert(layout);
                    }
                }
            }
        }
        layouts
    }

    /// Returns the layout of the type, if it has a size in memory.
    pub(super) fn get(&self, ty: u32) -> Option<&Layout> {
        self.0.get(&ty)
    }

    fn layout(
        &self,
        instruction: &Instruction,
        packed: &BTreeSet<u32>,
        numbers: &BTreeMap<u32, u64>,
    ) -> Option<Layout> {
        let number = |bits: u32, signed| {
            let size = u64::from(bits / 8);
            matches!(bits, 8 | 16 | 32 | 64).then_some(Layout {
                size,
                align: size,
                shape: Shape::Number { signed },
                depth: 0,
            })
        };
        match (instruction.opcode, instruction.operands.as_slice()) {
            (op::TYPE_INT, [_, bits, signed]) => number(*bits, *signed != 0),
            (op::TYPE_FLOAT, [_, bits, ..]) if *bits != 8 => number(*bits, false),
            (op::TYPE_POINTER, [_, ..]) => Some(Layout {
                size: POINTER,
                align: POINTER,
                shape: Shape::Pointer,
                depth: 0,
            }),
            (op::TYPE_VECTOR, [_, of, count]) => {
                let element = self.get(*of)?;
                let count = u64::from(*count);
                // OpenCL gives a vector of three elements the size of a vector of four.
                let size = element
                    .size
                    .checked_mul(count.checked_next_power_of_two()?)?;
                let stride = element.size;
                self.many(*of, count, stride, size, size)
            }
            (op::TYPE_ARRAY, [_, of, length]) => {
                let element = self.get(*of)?;
                let count = *numbers.get(length)?;
                let size = element.size.checked_mul(count)?;
                self.many(*of, count, element.size, size, element.align)
            }
            (op::TYPE_STRUCT, [id, members @ ..]) => {
                let packed = packed.contains(id);
                let (mut size, mut align, mut depth) = (0u64, 1, 0);
                let mut fields = Vec::with_capacity(members.len());
                for member in members {
                    let layout = self.get(*member)?;
                    let own = if packed { 1 } else { layout.align };
                    let offset = size.checked_next_multiple_of(own)?;
                    fields.push((*member, offset));
                    size = offset.checked_add(layout.size)?;
                    (align, depth) = (align.max(own), depth.max(layout.depth + 1));
                }
                (depth <= MAX_DEPTH).then_some(Layout {
                    size: size.checked_next_multiple_of(align)?,
                    align,
                    shape: Shape::Struct(fields),
                    depth,
                })
            }
            _ => None,
        }
    }

    fn many(&self, of: u32, count: u64, stride: u64, size: u64, align: u64) -> Option<Layout> {
        let depth = self.get(of)?.depth + 1;
        (depth <= MAX_DEPTH && align > 0).then_some(Layout {
            size,
            align,
            shape: Shape::Many { of, count, stride },
            depth,
        })
    }
}

impl Layout {
    /// Returns the parts of a vector, array or struct, and their offsets.
    pub(super) fn parts(&self) -> Box<dyn Iterator<Item = (u32, u64)> + '_> {
        match &self.shape {
            Shape::Number { .. } | Shape::Pointer => Box::new(std::iter::empty()),
            Shape::Many { of, count, stride } => {
                Box::new((0..*count).map(move |i| (*of, i * stride)))
            }
            Shape::Struct(members) => Box::new(members.iter().copied()),
        }
    }

    pub(super) fn part_count(&self) -> u64 {
        match &self.shape {
            Shape::Number { .. } | Shape::Pointer => 0,
            Shape::Many { count, .. } => *count,
            Shape::Struct(members) => members.len() as u64,
        }
    }
}
