// SPDX-License-Identifier: MIT OR Apache-2.0
//! The types that a SPIR-V module declares, with their sizes, and the parameters of its kernels.
//!
//! SPIR-V declares a type before its use, except behind a pointer. Sizes are computed as types are declared,
//! from earlier declarations, so a type that contains itself does not get a size.

use crate::prelude::*;
use crate::spirv::words::op;

/// The encoding `BFloat16KHR` of a floating-point type (`SPV_KHR_bfloat16`).
const ENCODING_BFLOAT16: u32 = 0;

/// Identifies a type in a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypeId(pub(crate) u32);

#[derive(Debug)]
pub(crate) enum Record {
    /// A `bool`, which has no size in memory. Variables contain a byte instead.
    Bool,
    Int(u32),
    Float {
        bits: u32,
        bfloat: bool,
    },
    Vector {
        of: u32,
        count: u32,
    },
    Array {
        of: u32,
        count: Option<u64>,
    },
    Struct {
        members: Vec<u32>,
        packed: bool,
    },
    Pointer {
        storage: u32,
        pointee: u32,
    },
    Sampler,
    /// An image. `Some` if the image can belong to a SYCL accessor: the number of dimensions, and whether kernels write
    /// rather than read the image. `None` for other images, such as depth images and images that kernels both read and
    /// write.
    Image(Option<(u8, bool)>),
}

fn image(operands: &[u32]) -> Option<(u8, bool)> {
    let [_, dimension @ 0..=2, 0, 0, 0, 0, _, access @ 0..=1] = *operands else {
        return None;
    };
    Some((u8::try_from(dimension + 1).ok()?, access == 1))
}

/// A type, with properties derived from its parts.
#[derive(Debug)]
struct TypeEntry {
    record: Record,
    /// The size and alignment in bytes.
    size: Option<(u64, u64)>,
    /// If the type contains an integer wider than any C++ integer, the width of that integer in bits.
    wide: Option<u32>,
    /// The natural alignment in bytes, even if the type is packed.
    wanted: u64,
    /// Whether the type is, contains or points to a packed struct with a misaligned member.
    is_unaligned: bool,
}

#[derive(Debug, Default)]
pub(crate) struct TypeTable {
    entries: BTreeMap<u32, TypeEntry>,
    /// The C++ alignments by type id. Type declarations do not record them.
    alignments: BTreeMap<u32, u64>,
}

impl TypeTable {
    /// Adds the type that an instruction declares, if any. `constants` contains array lengths. Returns `None` if the
    /// instruction has too few operands.
    pub(crate) fn declare(
        &mut self,
        opcode: u16,
        operands: &[u32],
        constants: &BTreeMap<u32, u64>,
        packed: &BTreeSet<u32>,
    ) -> Option<()> {
        let record = match (opcode, operands.get(1..).unwrap_or_default()) {
            (op::TYPE_BOOL, _) => Record::Bool,
            (op::TYPE_INT, &[bits, ..]) => Record::Int(bits),
            (op::TYPE_FLOAT, &[bits]) => Record::Float {
                bits,
                bfloat: false,
            },
            (op::TYPE_FLOAT, &[bits, ENCODING_BFLOAT16]) => Record::Float { bits, bfloat: true },
            // Other encodings, such as 8-bit numbers.
            (op::TYPE_FLOAT, &[_, _, ..]) => return Some(()),
            (op::TYPE_POINTER, &[storage, pointee, ..]) => Record::Pointer { storage, pointee },
            (op::TYPE_IMAGE, operands) => Record::Image(image(operands)),
            (op::TYPE_SAMPLER, _) => Record::Sampler,
            (op::TYPE_VECTOR, &[of, count, ..]) => Record::Vector { of, count },
            (op::TYPE_ARRAY, &[of, ref count, ..]) => {
                let count = constants.get(count).copied();
                Record::Array { of, count }
            }
            (op::TYPE_STRUCT, members) => Record::Struct {
                members: members.to_vec(),
                packed: packed.contains(operands.first()?),
            },
            (
                op::TYPE_INT | op::TYPE_FLOAT | op::TYPE_POINTER | op::TYPE_VECTOR | op::TYPE_ARRAY,
                _,
            ) => return None,
            _ => return Some(()),
        };
        let id = *operands.first()?;
        // If several types have the same id, the first one wins.
        if self.entries.contains_key(&id) {
            return Some(());
        }
        let (wanted, is_unaligned) = self.alignment_of_parts(&record);
        let entry = TypeEntry {
            size: self.measure(&record),
            wide: self.find_wide(&record),
            wanted,
            is_unaligned,
            record,
        };
        self.entries.insert(id, entry);
        Some(())
    }

    /// Returns the natural alignment of a type, and whether one of its parts is misaligned.
    fn alignment_of_parts(&self, record: &Record) -> (u64, bool) {
        let wanted = |id: &u32| self.entries.get(id).map_or(1, |entry| entry.wanted);
        match record {
            Record::Array { of, .. } => (wanted(of), self.is_unaligned(*of)),
            Record::Pointer { pointee, .. } => (8, self.is_unaligned(*pointee)),
            Record::Struct { members, packed } => {
                let (mut end, mut is_unaligned) = (0u64, false);
                for member in members {
                    is_unaligned |= self.is_unaligned(*member)
                        || *packed && !end.is_multiple_of(wanted(member));
                    let size = self.size(*member).map_or(0, |(size, _)| size);
                    end = end.saturating_add(size);
                }
                let strictest = members.iter().map(wanted).max();
                (strictest.unwrap_or(1), is_unaligned)
            }
            record => (self.measure(record).map_or(1, |(_, align)| align), false),
        }
    }

    /// Returns whether a type is, contains or points to a packed struct with a misaligned member.
    pub(crate) fn is_unaligned(&self, id: u32) -> bool {
        let entry = self.entries.get(&id);
        entry.is_some_and(|entry| entry.is_unaligned)
    }

    fn find_wide(&self, record: &Record) -> Option<u32> {
        match record {
            Record::Int(bits @ 65..) => Some(*bits),
            Record::Array { of, .. } => self.wide_integer(*of),
            Record::Struct { members, .. } => {
                members.iter().find_map(|member| self.wide_integer(*member))
            }
            _ => None,
        }
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Record> {
        self.entries.get(&id).map(|entry| &entry.record)
    }

    /// Records that C++ aligns the type `id` to `align` bytes.
    pub(crate) fn align(&mut self, id: u32, align: u32) {
        let align = u64::from(align);
        if align.is_power_of_two() {
            let known = self.alignments.entry(id).or_insert(align);
            *known = align.max(*known);
        }
    }

    /// Returns the C++ alignment of the type `id` in bytes, if it is known.
    pub(crate) fn alignment(&self, id: u32) -> Option<u64> {
        self.alignments.get(&id).copied()
    }

    /// Returns the size and alignment of the type `id`, in bytes.
    pub(crate) fn size(&self, id: u32) -> Option<(u64, u64)> {
        self.entries.get(&id)?.size
    }

    /// If the type `id` contains an integer wider than any C++ integer, returns the width of that integer in bits.
    pub(crate) fn wide_integer(&self, id: u32) -> Option<u32> {
        self.entries.get(&id)?.wide
    }

    fn measure(&self, record: &Record) -> Option<(u64, u64)> {
        let number = |bits: u32| {
            let size = u64::from(bits / 8);
            matches!(bits, 8 | 16 | 32 | 64).then_some((size, size))
        };
        match record {
            Record::Int(bits) | Record::Float { bits, .. } => number(*bits),
            Record::Vector { of, count } => {
                let room = u64::from(count.checked_next_power_of_two()?);
                let size = self.size(*of)?.0.checked_mul(room)?;
                Some((size, size.max(1)))
            }
            Record::Array { of, count } => {
                let (size, align) = self.size(*of)?;
                Some((size.checked_mul((*count)?)?, align))
            }
            Record::Struct { members, packed } => {
                let (mut end, mut whole) = (0u64, 1);
                for member in members {
                    let (size, align) = self.size(*member)?;
                    let align = if *packed { 1 } else { align };
                    whole = whole.max(align);
                    end = end.checked_next_multiple_of(align)?.checked_add(size)?;
                }
                Some((end.checked_next_multiple_of(whole)?, whole))
            }
            Record::Pointer { .. } => Some((8, 8)),
            Record::Bool | Record::Sampler | Record::Image(_) => None,
        }
    }
}

/// The prefixes that DPC++ adds to kernel parameter names: one for functions, one for functors.
const PARAMETER_PREFIXES: [&str; 2] = ["__arg_", "_arg_"];

/// A parameter of a kernel, as the module declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name, if the compiler preserved it, without DPC++'s prefixes.
    pub name: Option<String>,
    /// The type.
    pub ty: ParameterType,
    /// The required alignment of a pointer, or of a value passed by address: the alignment of the C++ type. `None`
    /// unless the compiler records an alignment greater than 1.
    pub align: Option<u32>,
}

/// The type of a kernel parameter. Kernel SPIR-V does not distinguish signed from unsigned integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterType {
    /// A `bool`, in code from older compilers. Current compilers pass a byte.
    Bool,
    /// An integer. The signedness is known only if the parameter is marked as sign-extended or zero-extended.
    Int {
        /// The width in bits: 8, 16, 32 or 64.
        bits: u32,
        /// `Some(true)` for a sign-extended integer, `Some(false)` for a zero-extended integer.
        signed: Option<bool>,
    },
    /// A floating-point number.
    Float {
        /// The width in bits: 16, 32 or 64.
        bits: u32,
        /// Whether this is a `bfloat16`.
        bfloat: bool,
    },
    /// A pointer to global memory.
    GlobalPointer {
        /// The pointee type, or a byte type if the kernel does not use the pointer.
        pointee: TypeId,
        /// Whether the kernel never writes through the pointer.
        no_write: bool,
    },
    /// A pointer to work-group memory, which may be larger than the pointee.
    LocalPointer {
        /// The pointee type.
        pointee: TypeId,
    },
    /// A struct, passed by value.
    ByValue {
        /// The type of the struct.
        ty: TypeId,
    },
    /// A sampler.
    Sampler,
    /// An image.
    Image {
        /// The number of dimensions, 1 to 3.
        dimensions: u8,
        /// Whether the kernel writes the image rather than reads it.
        written: bool,
    },
    /// Any other type.
    Other,
}

/// Returns the C++ name of a parameter, given its name in the code. The compiler adds a prefix, and a suffix for a
/// `bool`, which is passed as a byte.
pub(crate) fn parameter_name(name: &str) -> String {
    let mut prefixes = PARAMETER_PREFIXES.iter();
    let rest = prefixes.find_map(|prefix| name.strip_prefix(prefix));
    let name = rest.unwrap_or(name);
    name.strip_suffix(".coerce").unwrap_or(name).into()
}
