// SPDX-License-Identifier: MIT OR Apache-2.0
//! Specialization constants: their place in the blobs, worked out by hand from the rule of the
//! reference runtime.

use syclbin::metadata::{Leaf, Malformed, SpecConstantDescriptor, SpecializationConstants};
use syclbin::property::{PropertySets, set};

/// The id, the offset and the size of a part.
type Numbers = (u32, u32, u32);

fn constants(parts: &[(&str, &[Numbers])], defaults: usize) -> SpecializationConstants {
    let part = |&(id, offset, size): &Numbers| SpecConstantDescriptor { id, offset, size };
    SpecializationConstants {
        constants: parts
            .iter()
            .map(|(name, parts)| (*name, parts.iter().map(part).collect()))
            .collect(),
        defaults: Some((0..=u8::MAX).cycle().take(defaults).collect()),
        set_values: None,
    }
}

/// What a reader says of the sets these are written to.
fn written_and_read(constants: &SpecializationConstants) -> Result<(), Malformed> {
    let mut sets = PropertySets::default();
    constants.write(&mut sets);
    assert_eq!(&SpecializationConstants::read(&sets)?, constants);
    Ok(())
}

const PAD: u32 = SpecConstantDescriptor::PADDING;

#[test]
fn gaps_and_padding_are_not_leaves() {
    // struct { char; int; bool; } with its tail, a double, and an emulated int filled up to 8.
    let constants = constants(
        &[
            ("record", &[(0, 0, 1), (1, 4, 4), (2, 8, 1), (PAD, 9, 3)]),
            ("double", &[(3, 0, 8)]),
            ("emulated", &[(4, 0, 4), (PAD, 4, 4)]),
            ("late", &[(6, 4, 2)]),
        ],
        34,
    );
    let layout = constants.layout().unwrap();
    let spans = layout.iter().map(|(_, place)| (place.start, place.size));
    assert!(spans.eq([(0, 12), (12, 8), (20, 8), (28, 6)]));
    let leaf = |id, start, size| Leaf { id, start, size };
    let record = &layout.get("record").unwrap().leaves;
    assert_eq!(record[..], [leaf(0, 0, 1), leaf(1, 4, 4), leaf(2, 8, 1)]);
    assert_eq!(layout.get("double").unwrap().leaves, [leaf(3, 12, 8)]);
    assert_eq!(layout.get("emulated").unwrap().leaves, [leaf(4, 20, 4)]);
    assert_eq!(layout.get("late").unwrap().leaves, [leaf(6, 32, 2)]);
    // A value may omit the padding after an emulated constant, but not a gap before a part.
    let sizes = layout.iter().map(|(_, place)| place.value_sizes());
    assert!(sizes.eq([[12, 12], [8, 8], [8, 4], [6, 6]]));
    let double = constants.default_value("double").unwrap().unwrap();
    assert_eq!(double, [12, 13, 14, 15, 16, 17, 18, 19]);
    assert_eq!(constants.default_value("none"), Ok(None));
    written_and_read(&constants).unwrap();
}

#[test]
fn set_values_leave_the_defaults_alone() {
    let mut constants = constants(&[("a", &[(0, 0, 2)]), ("b", &[(1, 0, 1)])], 3);
    constants.set_values = Some(vec![7, 8, 9]);
    assert_eq!(constants.default_value("b"), Ok(Some(&[2][..])));
    written_and_read(&constants).unwrap();
}

#[test]
fn constant_order_replaces_an_older_order() {
    let ab = constants(&[("a", &[(0, 0, 2)]), ("b", &[(1, 0, 1)])], 3);
    let ba = constants(&[("b", &[(1, 0, 1)]), ("a", &[(0, 0, 2)])], 3);
    let mut sets = PropertySets::default();
    ab.write(&mut sets);
    ba.write(&mut sets);
    let keys = sets.set(set::SPECIALIZATION_CONSTANTS).unwrap().names();
    assert!(keys.eq(["b", "a"]));
    assert_eq!(SpecializationConstants::read(&sets), Ok(ba));
}

#[test]
fn a_blob_of_another_length_is_malformed() {
    for (length, found) in [(3, "3 bytes"), (5, "5 bytes"), (0, "0 bytes")] {
        let error = written_and_read(&constants(&[("a", &[(0, 0, 4)])], length)).unwrap_err();
        assert_eq!(
            (&*error.set, &*error.key),
            (set::SPECIALIZATION_DEFAULTS, "all")
        );
        assert_eq!(
            (&*error.expected, &*error.found),
            ("4 bytes, the total size of all constants", found)
        );
    }
    let mut set_values = constants(&[("a", &[(0, 0, 4)])], 4);
    set_values.set_values = Some(vec![0; 8]);
    let error = set_values.default_value("a").unwrap_err();
    assert_eq!(error.set, set::SPECIALIZATION_SET_VALUES);
    // Values of no constants at all.
    written_and_read(&constants(&[], 1)).unwrap_err();
}

#[test]
fn parts_that_overlap_or_go_back_are_malformed() {
    for parts in [
        [(0, 0, 4), (1, 2, 4)],
        [(0, 4, 4), (1, 0, 4)],
        [(0, 0, 4), (PAD, 3, 1)],
    ] {
        let error = written_and_read(&constants(&[("c", &parts)], 8)).unwrap_err();
        assert_eq!(
            (&*error.set, &*error.key),
            (set::SPECIALIZATION_CONSTANTS, "c")
        );
        assert_eq!(error.expected, "parts in ascending order without overlaps");
    }
}

#[test]
fn sizes_beyond_every_memory_are_only_counted() {
    let mut huge = constants(&[], 0);
    huge.defaults = None;
    for number in 0..1000 {
        let part = SpecConstantDescriptor {
            id: number,
            offset: u32::MAX,
            size: u32::MAX,
        };
        huge.constants.insert(format!("c{number}"), vec![part]);
    }
    // No blob contradicts it, so it is only large where numbers are 64 bits wide.
    let layout = huge.layout();
    assert_eq!(layout.is_ok(), cfg!(target_pointer_width = "64"));
    assert_eq!(huge.default_value("c1").ok().flatten(), None);
    huge.defaults = Some(vec![0; 16]);
    written_and_read(&huge).unwrap_err();
}
