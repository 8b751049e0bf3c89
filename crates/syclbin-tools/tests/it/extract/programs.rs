// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that register their images with structs, built in memory: valid, at the limits, and malformed.

use super::*;

const IMAGE: &[u8] = b"code for a device";
const SECTION: &str = "__CLANG_OFFLOAD_BUNDLE__sycl-spir64_gen";

/// A program that is loaded at the address `base`.
struct Program {
    base: u64,
    bytes: Vec<u8>,
    section: [u64; 2],
    /// The address, the offset and the size of each segment. If there are none, one segment spans the file.
    segments: Vec<[u64; 3]>,
    /// The type, the address, the size and the linked section of each further section. The first is section 3.
    further: Vec<[u64; 4]>,
    machine: u16,
    big_endian: bool,
}

impl Program {
    /// Starts a program with these images, behind headers and padding of `before` bytes.
    fn new(before: usize, images: &[u8]) -> Self {
        let start = before as u64;
        Self {
            base: 0x100_0000,
            bytes: [&vec![0; before], images].concat(),
            section: [start, images.len() as u64],
            segments: Vec::new(),
            further: Vec::new(),
            machine: object::elf::EM_X86_64.0,
            big_endian: false,
        }
    }

    /// Returns the address of an image, or of its end.
    fn image(&self, offset: u64) -> u64 {
        self.base + self.section[0] + offset
    }

    fn put(&mut self, content: &[u8]) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let address = self.base + self.bytes.len() as u64;
        self.bytes.extend(content);
        address
    }

    fn words(&mut self, words: &[u64]) -> u64 {
        self.put(
            words
                .iter()
                .map(|word| word.to_le_bytes())
                .collect::<Vec<_>>()
                .as_flattened(),
        )
    }

    fn text(&mut self, text: &[u8]) -> u64 {
        self.put(&[text, b"\0"].concat())
    }

    /// Adds properties, each with its name, value, type and size, and returns the words of their set.
    fn set(&mut self, name: &[u8], properties: &[[u64; 4]]) -> [u64; 3] {
        let start = self.words(properties.as_flattened());
        [self.text(name), start, start + 32 * properties.len() as u64]
    }

    /// Registers the image between two addresses. `texts` are the triple and the options.
    /// Returns the address of the struct.
    fn register(
        &mut self,
        version: u64,
        texts: [u64; 3],
        image: [u64; 2],
        sets: &[[u64; 3]],
    ) -> u64 {
        let start = self.words(sets.as_flattened());
        let manifest: &[u64] = if version == 2 { &[0, 0] } else { &[] };
        let header = [version | 4 << 16];
        let rest = [0, 0, start, start + 24 * sets.len() as u64];
        self.words(&[&header, &texts[..], manifest, &image, &rest].concat())
    }

    /// Returns the program as an ELF file with one section of images.
    fn finish(mut self) -> Vec<u8> {
        let size = self.bytes.len() as u64;
        if self.segments.is_empty() {
            self.segments.push([self.base, 0, size]);
        }
        let big = self.big_endian;
        let number = |number: u64, size: usize| {
            if big {
                number.to_be_bytes()[8 - size..].to_vec()
            } else {
                number.to_le_bytes()[..size].to_vec()
            }
        };
        let names = [b"\0", SECTION.as_bytes(), b"\0.shstrtab\0"].concat();
        let names_at = self.put(&names) - self.base;
        let mut headers = vec![0; 64];
        let tail = SECTION.len() as u64 + 2;
        let mut sections = vec![
            (1, [1, self.section[0], self.section[1], 0]),
            (tail, [3, names_at, names.len() as u64, 0]),
        ];
        let further = self.further.iter();
        sections
            .extend(further.map(|[ty, at, size, link]| (0, [*ty, at - self.base, *size, *link])));
        for (name, [ty, at, size, link]) in &sections {
            for (value, size) in [
                (*name, 4),
                (*ty, 4),
                (0, 8),
                (0, 8),
                (*at, 8),
                (*size, 8),
                (*link, 4),
                (0, 4),
                (0, 8),
                (24, 8),
            ] {
                headers.extend(number(value, size));
            }
        }
        let section_count = sections.len() as u64 + 1;
        let headers_at = self.put(&headers) - self.base;
        let mut start = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        start[5] += u8::from(big);
        let count = self.segments.len() as u64;
        for (value, size) in [
            (3, 2),
            (self.machine.into(), 2),
            (1, 4),
            (0, 8),
            (64, 8),
            (headers_at, 8),
            (0, 4),
            (64, 2),
            (56, 2),
            (count, 2),
            (64, 2),
            (section_count, 2),
            (2, 2),
        ] {
            start.extend(number(value, size));
        }
        for [address, offset, size] in self.segments {
            let fields = [offset, address, address, size, size, 8];
            start.extend([number(1, 4), number(4, 4)].concat());
            start.extend(fields.iter().flat_map(|field| number(*field, 8)));
        }
        self.bytes[..start.len()].copy_from_slice(&start);
        self.bytes
    }
}

/// A program with one image that has one property set.
fn with_set(name: &[u8], property: impl FnOnce(&mut Program) -> [u64; 4]) -> Vec<u8> {
    let mut program = Program::new(0x200, IMAGE);
    let property = property(&mut program);
    let set = program.set(name, &[property]);
    let image = [program.image(0), program.image(IMAGE.len() as u64)];
    let triple = program.text(b"spir64_gen");
    program.register(3, [triple, 0, 0], image, &[set]);
    program.finish()
}

fn number(program: &mut Program) -> [u64; 4] {
    [program.text(b"key"), 0, 1, 7]
}

/// Returns whether the image of a program has properties.
fn is_registered(bytes: &[u8]) -> bool {
    let found = images(bytes).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].bytes, IMAGE);
    found[0].properties.is_some()
}

#[test]
fn structs_of_both_versions_are_read() {
    for version in [2, 3] {
        for (options, link) in [("-a", ""), ("", "-b"), ("-a", "-b")] {
            let mut program = Program::new(0x200, IMAGE);
            let texts = ["triple", options, link].map(|text| program.text(text.as_bytes()));
            let bits = program.put(&[9, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
            let properties = [
                [program.text(b"number"), 0, 1 | 5 << 32, u64::from(u32::MAX)],
                [program.text(b"bytes"), bits, 2, 10],
                [program.text(b"a=b"), 0, 1, 1],
            ];
            let sets = [program.set(b"one", &properties), program.set(b"two", &[])];
            let image = [program.image(0), program.image(IMAGE.len() as u64)];
            program.register(version, texts, image, &sets);
            let bytes = program.finish();
            let found = images(&bytes).unwrap();
            let [image] = &found[..] else {
                panic!("{} images", found.len());
            };
            assert_eq!((&*image.triple, image.offset), ("triple", 0x200));
            assert_eq!(image.bytes, IMAGE);
            let mut expected = PropertySets::default();
            expected.insert("one", "number", u32::MAX);
            let data = vec![1, 2];
            expected.insert("one", "bytes", Value::Bytes { bits: 9, data });
            expected.insert_set("two");
            assert_eq!(image.properties, Some(expected));
            let expected = [("compile-opts", options), ("link-opts", link)];
            let expected = expected.into_iter().filter(|(_, text)| !text.is_empty());
            let strings = image.strings.iter();
            let strings = strings.map(|(key, text)| (&**key, str::from_utf8(text).unwrap()));
            assert!(strings.eq(expected), "{:?}", image.strings);
        }
    }
}

#[test]
fn sets_with_unwritable_names_are_skipped() {
    for (name, expected) in [
        (&b"set"[..], true),
        (b"", false),
        (b"a]b", false),
        (b"a\nb", false),
        (b"\xff", false),
    ] {
        assert_eq!(is_registered(&with_set(name, number)), expected, "{name:?}");
    }
}

#[test]
fn values_must_fit_their_types() {
    let bytes = |bits: u8, size: u64| {
        with_set(b"set", |program| {
            let at = program.put(&[bits, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3]);
            [program.text(b"key"), at, 2, size]
        })
    };
    for (bits, size, expected) in [
        (16, 10, true),
        (9, 10, true),
        (17, 10, false),
        (8, 10, false),
        (0, 8, true),
        (0, 7, false),
    ] {
        assert_eq!(is_registered(&bytes(bits, size)), expected, "{bits} {size}");
    }
    for (ty, value, expected) in [
        (1, 1 << 32, false),
        (0, 1, false),
        (3, 1, false),
        (1, 1, true),
    ] {
        let bytes = with_set(b"set", |program| [program.text(b"key"), 0, ty, value]);
        assert_eq!(is_registered(&bytes), expected, "{ty} {value}");
    }
}

#[test]
fn images_outside_their_section_are_ignored() {
    let whole = IMAGE.len() as u64;
    for (version, [start, end], expected) in [
        (3, [0, whole], Some(IMAGE)),
        (3, [5, 8], Some(b"for")),
        (3, [0, whole + 1], None),
        (3, [5, 5], None),
        (3, [8, 5], None),
        (1, [0, whole], None),
    ] {
        let mut program = Program::new(0x200, IMAGE);
        let image = [program.image(start), program.image(end)];
        program.register(version, [0; 3], image, &[]);
        let bytes = program.finish();
        let found = images(&bytes).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].bytes, expected.unwrap_or(IMAGE), "{start} {end}");
        assert_eq!(found[0].properties.is_some(), expected.is_some());
        assert_eq!(found[0].triple, "spir64_gen");
    }
}

#[test]
fn overlapping_images_are_dropped() {
    for (ranges, expected) in [
        ([[0, 4], [4, 8]], &[&b"code"[..], b" for"][..]),
        ([[0, 8], [5, 17]], &[b"code for"]),
        ([[9, 17], [12, 13]], &[b"a device"]),
    ] {
        let mut program = Program::new(0x200, IMAGE);
        for range in ranges {
            let image = range.map(|offset| program.image(offset));
            program.register(3, [0; 3], image, &[]);
        }
        let bytes = program.finish();
        let found = images(&bytes).unwrap();
        let found: Vec<_> = found.iter().map(|image| &*image.bytes).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn texts_and_reads_have_limits() {
    // A name that several properties share is read for each of them.
    let shared = |length: usize, count: usize| {
        let mut program = Program::new(0x200, IMAGE);
        let key = program.text(&vec![b'x'; length]);
        let set = program.set(b"set", &vec![[key, 0, 1, 7]; count]);
        let image = [program.image(0), program.image(IMAGE.len() as u64)];
        program.register(3, [0; 3], image, &[set]);
        is_registered(&program.finish())
    };
    for (length, count, expected) in [
        (4000, 1, true),
        (4000, 2, false),
        (0xffff, 1, true),
        (0x1_0000, 1, false),
        (10, 8, true),
    ] {
        assert_eq!(shared(length, count), expected, "{count} times {length}");
    }
}

#[test]
fn only_programs_with_known_layouts_are_read() {
    let (x86, arm, riscv) = (
        object::elf::EM_X86_64.0,
        object::elf::EM_AARCH64.0,
        object::elf::EM_RISCV.0,
    );
    for (machine, big_endian, expected) in [
        (x86, false, true),
        (arm, false, true),
        (arm, true, false),
        (riscv, false, false),
    ] {
        let mut program = Program::new(0x200, IMAGE);
        (program.machine, program.big_endian) = (machine, big_endian);
        let image = [program.image(0), program.image(IMAGE.len() as u64)];
        program.register(3, [0; 3], image, &[]);
        let found = is_registered(&program.finish());
        assert_eq!(found, expected, "{machine} {big_endian}");
    }
}

#[test]
fn addresses_come_from_the_right_segment() {
    for (before, others, expected) in [
        // The first segment ends where the image starts.
        (0x200, &[[0x1000, 0, 0x200]][..], true),
        // Overlapping segments are searched only until their total length reaches the file's.
        (0x1000, &[[0x1000, 0, 0x1000]], true),
        (0x1000, &[[0x1000, 0, 0x1000], [0x4000, 0, 0x1000]], false),
    ] {
        let mut program = Program::new(before, IMAGE);
        let image = [program.image(0), program.image(IMAGE.len() as u64)];
        program.register(3, [0; 3], image, &[]);
        let (start, end) = (before as u64, program.bytes.len() as u64);
        program.segments = others.to_vec();
        program
            .segments
            .push([program.base + start, start, end - start]);
        assert_eq!(is_registered(&program.finish()), expected, "{others:x?}");
    }
}

#[test]
fn only_relative_relocations_are_applied() {
    const X86: (u16, u32) = (62, 8);
    const ARM: (u16, u32) = (183, 1027);
    let program = test_files::read("extract/registered.so");
    let plain = images(&program).unwrap();
    let file = object::File::parse(&*program).unwrap();
    let table = object::Object::section_by_name(&file, ".rela.dyn").unwrap();
    let (start, size) = object::ObjectSection::file_range(&table).unwrap();
    let range = usize::try_from(start).unwrap()..usize::try_from(start + size).unwrap();
    for ((machine, ty), expected) in [
        (X86, true),
        (ARM, true),
        ((X86.0, 1), false),
        ((X86.0, ARM.1), false),
        ((ARM.0, X86.1), false),
    ] {
        let mut bytes = program.clone();
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        for relocation in bytes[range.clone()].chunks_mut(24) {
            assert_eq!(relocation[8..12], X86.1.to_le_bytes());
            relocation[8..12].copy_from_slice(&ty.to_le_bytes());
        }
        let found = images(&bytes).unwrap();
        let has_properties = found.iter().all(|image| image.properties.is_some());
        assert_eq!(has_properties, expected, "{machine} {ty}");
        assert_eq!(found == plain, expected, "{machine} {ty}");
    }
}

#[test]
fn relocations_have_a_limit() {
    const DYNAMIC_SYMBOLS: u64 = 11;
    const RELOCATIONS: u64 = 4;
    // Several sections have the same relocations of type 0.
    for (sections, expected) in [(0, true), (1, true), (3, false)] {
        let mut program = Program::new(0x200, IMAGE);
        let image = [program.image(0), program.image(IMAGE.len() as u64)];
        let start = program.register(3, [0; 3], [0; 2], &[]) + 32;
        let table = program.words(&[start, 8, image[0], start + 8, 8, image[1]]);
        let symbols = program.words(&[0; 3]);
        let shared = program.words(&[0; 3 * 100]);
        program.further.push([DYNAMIC_SYMBOLS, symbols, 24, 2]);
        program
            .further
            .extend(vec![[RELOCATIONS, shared, 2400, 3]; sections]);
        program.further.push([RELOCATIONS, table, 48, 3]);
        assert_eq!(is_registered(&program.finish()), expected, "{sections}");
    }
}
