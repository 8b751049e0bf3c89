// SPDX-License-Identifier: MIT OR Apache-2.0
use syn::Expr;

use super::value::{limit, literal};

#[test]
fn limits_are_those_of_rust() {
    for (text, expected) in [
        ("i8::MIN", Some(i8::MIN.into())),
        ("i8::MAX", Some(i8::MAX.into())),
        ("u8::MIN", Some(0)),
        ("u8::MAX", Some(u8::MAX.into())),
        ("i16::MIN", Some(i16::MIN.into())),
        ("u16::MAX", Some(u16::MAX.into())),
        ("i32::MAX", Some(i32::MAX.into())),
        ("u32::MIN", Some(0)),
        ("u32::MAX", Some(u32::MAX.into())),
        ("i64::MIN", Some(i64::MIN.into())),
        ("i64::MAX", Some(i64::MAX.into())),
        ("u64::MAX", Some(u64::MAX.into())),
        ("i32::BITS", None),
        ("f32::MAX", None),
        ("i7::MAX", None),
        ("i128::MAX", None),
        ("usize::MAX", None),
    ] {
        assert_eq!(limit(&syn::parse_str(text).unwrap()), expected, "{text}");
    }
}

#[test]
fn literals_are_whole_numbers() {
    for (text, expected) in [
        ("0", Some(0)),
        ("(7)", Some(7)),
        ("0x10", Some(16)),
        ("1.5", None),
        ("n", None),
        ("-1", None),
    ] {
        let expression: Expr = syn::parse_str(text).unwrap();
        assert_eq!(literal(&expression).unwrap(), expected, "{text}");
    }
}
