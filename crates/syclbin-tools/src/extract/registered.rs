// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the device images that a linked program registers with the SYCL runtime, with their options and property
//! sets.
//!
//! Structs in the host code describe the images and point to one another. An initializer passes the first struct to
//! the runtime. A stripped file has no symbols for the structs, so this module finds them by their pointers to the
//! start and end of an image. Their layouts are versions 2 and 3 of `_sycl_device_binary_struct` in DPC++'s runtime.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use object::{
    Architecture, BinaryFormat, Endianness, Object as _, ObjectSegment as _, RelocationFlags, elf,
};

use super::{DeviceImage, OffloadKind};
use syclbin::offload::Strings;
use syclbin::property::{PropertySets, Value, key_problem};

// The sizes of the structs for a property set and for a property, in bytes.
const SET: u64 = 24;
const PROPERTY: u64 = 32;
/// The offload kind of SYCL images.
const SYCL: u8 = 4;
/// The maximum length of a name or an option list, in bytes.
const TEXT_LIMIT: u64 = 1 << 16;

pub(super) struct Registered<'a> {
    /// The offset in the file.
    pub(super) start: usize,
    pub(super) bytes: &'a [u8],
    /// The kind, triple, options and property sets. The options for the device compiler and linker are stored under the
    /// same keys as in an OffloadBinary.
    pub(super) image: DeviceImage<'static>,
}

/// Returns the images that a linked 64-bit program registers, ordered by position, or `None` for other files.
/// `sections` contain the images. Images with damaged structs are skipped.
pub(super) fn registered<'a>(bytes: &'a [u8], sections: &[&[u8]]) -> Option<Vec<Registered<'a>>> {
    let memory = Memory::of(bytes)?;
    let sections = sections.iter().filter(|section| !section.is_empty());
    let ranges = sections.filter_map(|section| {
        let at = (section.as_ptr() as usize).checked_sub(bytes.as_ptr() as usize)?;
        let start = memory.address(at as u64)?;
        Some((start, start.checked_add(section.len() as u64)?))
    });
    let mut ranges: Vec<(u64, u64)> = ranges.collect();
    ranges.sort_unstable();
    let range = |address: u64| {
        let after = ranges.partition_point(|(start, _)| *start <= address);
        let (_, end) = *ranges.get(after.checked_sub(1)?)?;
        (address < end).then_some(end)
    };
    let (memory, left) = (&memory, bytes.len() as u64);
    let mut reader = Reader { memory, left };
    let mut found = BTreeMap::new();
    for place in memory.pointers(|target| range(target).is_some()) {
        if let Some(image) = reader.image(place, range) {
            found.entry(image.start).or_insert(image);
        }
    }
    // Drop images that overlap others, because their bytes would be read more than once.
    let mut end = 0;
    let apart = found.into_values().filter(|one: &Registered<'_>| {
        let is_apart = one.start >= end;
        if is_apart {
            end = one.start + one.bytes.len();
        }
        is_apart
    });
    Some(apart.collect())
}

struct Segment {
    address: u64,
    offset: u64,
    size: u64,
}

/// The memory of a program that is loaded at the address for which it was linked.
struct Memory<'a> {
    bytes: &'a [u8],
    /// Sorted by address.
    segments: Vec<Segment>,
    /// The pointers that the loader writes, by address.
    relocated: BTreeMap<u64, u64>,
}

impl<'a> Memory<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let file = object::File::parse(bytes).ok()?;
        if !(file.is_64() && file.is_little_endian()) {
            return None;
        }
        let relative = match (file.format(), file.architecture()) {
            (BinaryFormat::Elf, Architecture::X86_64) => Some(elf::R_X86_64_RELATIVE),
            (BinaryFormat::Elf, Architecture::Aarch64) => Some(elf::R_AARCH64_RELATIVE),
            // PE files store pointers for the preferred address, so relocations are not needed.
            (BinaryFormat::Pe, _) => None,
            _ => return None,
        };
        let segment = |segment: object::Segment<'_, '_>| Segment {
            address: segment.address(),
            offset: segment.file_range().0,
            size: segment.file_range().1,
        };
        // Programs have about a dozen. The offset of each section is searched in all of them.
        let mut segments: Vec<_> = file.segments().take(1024).map(segment).collect();
        segments.sort_unstable_by_key(|segment| segment.address);
        // Several sections may claim the same bytes, so the number of relocations is limited by the file size.
        let limit = bytes.len() / size_of::<elf::Rela64<Endianness>>();
        let relocations = file.dynamic_relocations().into_iter().flatten().take(limit);
        let relocated = relocations.filter_map(|(address, relocation)| match relocation.flags() {
            RelocationFlags::Elf { r_type } if Some(r_type) == relative => {
                Some((address, relocation.addend().cast_unsigned()))
            }
            _ => None,
        });
        Some(Self {
            bytes,
            segments,
            relocated: relocated.collect(),
        })
    }

    /// Returns the address of the byte at an offset in the file.
    fn address(&self, offset: u64) -> Option<u64> {
        self.segments.iter().find_map(|segment| {
            let at = offset.checked_sub(segment.offset)?;
            (at < segment.size).then(|| segment.address.checked_add(at))
        })?
    }

    /// Returns the file offset of `size` bytes at an address, and the bytes.
    fn at(&self, address: u64, size: u64) -> Option<(usize, &'a [u8])> {
        let after = (self.segments).partition_point(|segment| segment.address <= address);
        let segment = self.segments.get(after.checked_sub(1)?)?;
        let at = address - segment.address;
        if at.checked_add(size)? > segment.size {
            return None;
        }
        let start = usize::try_from(segment.offset.checked_add(at)?).ok()?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        Some((start, self.bytes.get(start..end)?))
    }

    fn bytes(&self, address: u64, size: u64) -> Option<&'a [u8]> {
        Some(self.at(address, size)?.1)
    }

    fn word(&self, address: u64) -> Option<u64> {
        let bytes = self.bytes(address, 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    fn pointer(&self, address: u64) -> Option<u64> {
        let relocated = self.relocated.get(&address).copied();
        relocated.or_else(|| self.word(address))
    }

    /// Returns the addresses of the pointers whose targets `wanted` accepts, whether stored in the file or written
    /// by the loader.
    fn pointers(&self, wanted: impl Fn(u64) -> bool) -> BTreeSet<u64> {
        let relocated = self.relocated.iter();
        let relocated = relocated.filter(|(_, target)| wanted(**target));
        let mut found: BTreeSet<u64> = relocated.map(|(place, _)| *place).collect();
        // Segments may overlap, so limit the total to the size of the file.
        let mut left = self.bytes.len() as u64;
        for segment in &self.segments {
            let Some(bytes) = self.bytes(segment.address, segment.size.min(left)) else {
                continue;
            };
            left -= bytes.len() as u64;
            let skipped = segment.address.wrapping_neg() % 8;
            let aligned = bytes.get(skipped as usize..).unwrap_or_default();
            for (index, word) in aligned.as_chunks::<8>().0.iter().enumerate() {
                if wanted(u64::from_le_bytes(*word)) {
                    let at = skipped + index as u64 * 8;
                    found.insert(segment.address.saturating_add(at));
                }
            }
        }
        found
    }
}

/// Reads structs. The total size of all reads is limited to the size of the file.
struct Reader<'m, 'a> {
    memory: &'m Memory<'a>,
    left: u64,
}

impl<'a> Reader<'_, 'a> {
    /// Reads the struct whose pointer to the image is at `place`. `range` returns the end of the section that
    /// contains an address.
    fn image(&mut self, place: u64, range: impl Fn(u64) -> Option<u64>) -> Option<Registered<'a>> {
        let memory = self.memory;
        let field = |offset: u64| memory.pointer(place.checked_add(offset)?);
        let (start, end) = (field(0)?, field(8)?);
        let size = end.checked_sub(start).filter(|size| *size > 0)?;
        if end > range(start)? {
            return None;
        }
        // Version 2 stores two manifest pointers before the image pointers; version 3 does not.
        let mut versions = [(3, 32), (2, 48)].into_iter();
        let texts = versions.find_map(|(version, before)| {
            let start = place.checked_sub(before)?;
            let header = memory.bytes(start, 4)?;
            (header[..3] == [version, 0, SYCL]).then_some(start + 8)
        })?;
        let triple = self.text(texts)?.into();
        let mut strings = Strings::new();
        for (key, at) in [("compile-opts", texts + 8), ("link-opts", texts + 16)] {
            let options = self.text(at)?;
            if !options.is_empty() {
                strings.push((Cow::Borrowed(key), Cow::Owned(options.into_bytes())));
            }
        }
        let properties = Some(self.sets(field(32)?, field(40)?)?);
        let (start, bytes) = memory.at(start, size)?;
        Some(Registered {
            start,
            bytes,
            image: DeviceImage {
                offload_kind: OffloadKind::Sycl,
                triple,
                strings,
                properties,
                ..DeviceImage::default()
            },
        })
    }

    fn sets(&mut self, mut set: u64, end: u64) -> Option<PropertySets<'static>> {
        let mut sets = PropertySets::default();
        while set < end {
            self.spend(SET)?;
            let name = self.text(set)?;
            let mut property = self.memory.pointer(set.checked_add(8)?)?;
            let last = self.memory.pointer(set.checked_add(16)?)?;
            // The text form of property sets cannot represent these names, and no compiler emits them.
            if name.is_empty() || name.contains([']', '\n']) {
                return None;
            }
            sets.insert_set(name.clone());
            while property < last {
                self.spend(PROPERTY)?;
                let key = self.text(property)?;
                let value = self.value(property)?;
                if key_problem(&key).is_none() {
                    sets.insert(name.clone(), key, value);
                }
                property = property.checked_add(PROPERTY)?;
            }
            set = set.checked_add(SET)?;
        }
        Some(sets)
    }

    fn value(&mut self, property: u64) -> Option<Value> {
        let at = self.memory.pointer(property.checked_add(8)?)?;
        let ty = self.memory.word(property.checked_add(16)?)?;
        let size = self.memory.word(property.checked_add(24)?)?;
        // The type is a 32-bit number, followed by four bytes of padding.
        match ty & 0xffff_ffff {
            // For a number, the size field holds the value.
            1 => Some(Value::U32(u32::try_from(size).ok()?)),
            2 => {
                self.spend(size)?;
                let (bits, data) = self.memory.bytes(at, size)?.split_first_chunk()?;
                let bits = u64::from_le_bytes(*bits);
                let data = data.to_vec();
                (bits.div_ceil(8) == data.len() as u64).then_some(Value::Bytes { bits, data })
            }
            _ => None,
        }
    }

    /// Reads the string behind the pointer at this address. Returns an empty string for a null pointer.
    fn text(&mut self, place: u64) -> Option<String> {
        let at = self.memory.pointer(place)?;
        if at == 0 {
            return Some(String::new());
        }
        let (start, _) = self.memory.at(at, 1)?;
        let limit = usize::try_from(TEXT_LIMIT.min(self.left)).ok()?;
        let rest = self.memory.bytes.get(start..)?;
        let rest = &rest[..rest.len().min(limit)];
        let end = rest.iter().position(|byte| *byte == 0)?;
        self.spend(end as u64)?;
        String::from_utf8(rest[..end].to_vec()).ok()
    }

    fn spend(&mut self, size: u64) -> Option<()> {
        self.left = self.left.checked_sub(size)?;
        Some(())
    }
}
