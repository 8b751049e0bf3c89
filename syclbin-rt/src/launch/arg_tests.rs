// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

fn bytes(arg: &Arg<'_>) -> Vec<u8> {
    match arg.raw(0) {
        Argument::Bytes(bytes) => bytes.to_vec(),
        _ => unreachable!("a value is bytes"),
    }
}

#[test]
fn scalars_keep_their_size_and_bytes() {
    assert_eq!(bytes(&Arg::scalar(-2i8)), [0xfe]);
    assert_eq!(bytes(&Arg::scalar(1.5f32)), 1.5f32.to_ne_bytes());
    assert_eq!(bytes(&Arg::scalar(u64::MAX)), [0xff; 8]);
}

#[test]
fn a_bool_is_one_byte() {
    assert_eq!(bytes(&Arg::bool(true)), [1]);
    assert_eq!(bytes(&Arg::bool(false)), [0]);
}

#[test]
fn an_argument_is_small() {
    // Every launch moves its arguments in memory.
    assert!(size_of::<Arg<'_>>() <= 112, "{}", size_of::<Arg<'_>>());
}

#[test]
fn a_value_of_any_size_keeps_its_bytes() {
    assert_eq!(bytes(&Arg::value([7u8; 3])), [7; 3]);
    assert_eq!(bytes(&Arg::value([7u8; WORD])), [7; WORD]);
    assert_eq!(bytes(&Arg::value([7u8; WORD + 1])), [7; WORD + 1]);
    assert_eq!(bytes(&Arg::value([7u8; INLINE])), [7; INLINE]);
    assert_eq!(bytes(&Arg::value([7u8; INLINE + 1])), [7; INLINE + 1]);
    let large = [1u16, 2, 3];
    let arg = Arg::value_ref(&large);
    let Argument::Bytes(bytes) = arg.raw(0) else {
        unreachable!("a value is bytes");
    };
    assert_eq!(bytes.as_ptr(), large.as_ptr().cast(), "not copied");
    assert_eq!(bytes.len(), 6);
}

#[test]
fn only_large_values_are_outside_the_argument() {
    let is_inside = |arg: &Arg<'_>| {
        let Argument::Bytes(bytes) = arg.raw(0) else {
            unreachable!("a value is bytes");
        };
        let arg = std::ptr::from_ref(arg).addr();
        (arg..arg + size_of::<Arg<'_>>()).contains(&bytes.as_ptr().addr())
    };
    assert!(is_inside(&Arg::value([7u8; WORD])));
    assert!(is_inside(&Arg::value([7u8; INLINE])));
    assert!(!is_inside(&Arg::value([7u8; INLINE + 1])));
}

#[test]
fn local_accessor_is_size_and_three_ranges() {
    let arg = Arg::local_accessor::<u16>([2, 3]);
    assert_eq!(arg.lowered(), 4);
    assert!(matches!(arg.raw(0), Argument::Local(12)));
    let ids = [1, 2, 3].map(|part| match arg.raw(part) {
        Argument::Bytes(bytes) => bytemuck::pod_collect_to_vec::<u8, u64>(bytes),
        _ => unreachable!("ranges are values"),
    });
    assert_eq!(ids, [[2, 3], [2, 3], [0, 0]]);
}
