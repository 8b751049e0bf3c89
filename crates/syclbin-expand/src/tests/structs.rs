// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generated structs: their representation, padding and documentation.

use super::contracts::{code, recorded};
use super::*;

/// Returns the code for a kernel that takes `S`, the last of these structs.
#[track_caller]
fn code_of(layouts: &[&str]) -> String {
    formatted(&recorded(&["void k(S *s)"], layouts))
}

#[test]
fn structs_are_laid_out_as_in_cpp() {
    for (layout, expected) in [
        ("float x; /* 0 */ } /* size 4, align 4 */", "#[repr(C)]"),
        (
            "float x; /* 0 */ } /* size 8, align 8 */",
            "#[repr(C, align(8))]",
        ),
        ("float x; /* 0 */ } /* size 12, align 8 */", "#[repr(C)]"),
        (
            "int x; /* 1 */ } /* size 5, align 1 */",
            "#[repr(C, packed)]",
        ),
        (
            "int x; /* 1 */ } /* size 8, align 8 */",
            "#[repr(C, packed)]",
        ),
        (
            "int x; /* 0 */ } /* size 5, align 1 */",
            "#[repr(C, packed)]",
        ),
        ("double x; /* 0 */ } /* size 8, align 4 */", "#[repr(C)]"),
        (
            "sycl::vec<float, 4> x; /* 0 */ } /* size 16, align 16 */",
            "#[repr(C)]",
        ),
        (
            "sycl::vec<float, 4> x; /* 0 */ } /* size 32, align 32 */",
            "#[repr(C, align(32))]",
        ),
        (
            "char x; /* 0 */ } /* size 536870912, align 536870912 */",
            "#[repr(C, align(536870912))]",
        ),
        (
            "char x; /* 0 */ } /* size 1073741824, align 1073741824 */",
            "#[repr(C)]",
        ),
    ] {
        let code = code_of(&[&format!("struct S {{ {layout}")]);
        assert!(code.contains(expected), "{layout}: {code}");
    }
}

#[test]
fn padding_has_members_of_its_own() {
    let code = code_of(&[
        "struct S { char a; /* 0 */ int _padding1; /* 4 */ int b; /* 8 */ char c; /* 12 */ } /* size 16, align 4 */",
    ]);
    assert!(
        code.contains("pub _padding1_: ::syclbin_rt::Padding<3>"),
        "{code}"
    );
    assert!(
        code.contains("pub _padding13: ::syclbin_rt::Padding<3>"),
        "{code}"
    );
    assert_eq!(code.matches("::syclbin_rt::Padding<").count(), 2, "{code}");
    let dense = code_of(&["struct S { int a; /* 0 */ int b; /* 4 */ } /* size 8, align 4 */"]);
    assert!(!dense.contains("Padding"), "{dense}");
}

#[test]
fn members_say_what_their_types_do_not() {
    let inner = "struct Inner { int a; /* 0 */ } /* size 4, align 4 */";
    for (member, expected) in [
        ("bool m;", "/// A `bool`: 0 or 1."),
        ("bool m[2][3];", "/// A `bool`: 0 or 1."),
        ("Mode m;", "/// A value of the enumeration `Mode`."),
        (
            "sycl::vec<float, 3> m;",
            "/// A vector of three elements is as large as one of four",
        ),
        ("sycl::vec<float, 4> m;", "/// `m` at byte 8."),
        ("bytes m[4];", "/// Opaque bytes: a union or bit-fields."),
        ("float *m;", "/// `float *`."),
        ("void *m;", "/// Points to anything."),
        ("Other *m;", "/// Points to `Other`."),
        ("int m;", "/// `m` at byte 8."),
        ("Inner m;", "/// `m` at byte 8."),
        ("bytes _[4];", "/// Opaque bytes"),
        ("int _;", "/// At byte 8."),
    ] {
        let layout =
            format!("struct S {{ int a; /* 0 */ {member} /* 8 */ }} /* size 64, align 4 */");
        let code = code_of(&["enum Mode : int;", inner, &layout]);
        assert!(code.contains(expected), "{member}: {code}");
    }
}

#[test]
fn a_struct_shows_its_definition_in_cpp() {
    let code = code_of(&["struct S { int a; /* 0 */ int b[2]; /* 4 */ } /* size 12, align 4 */"]);
    for line in [
        "/// struct S {",
        "///     int a; /* 0 */",
        "///     int b[2]; /* 4 */",
        "/// };",
        "/// 12 bytes, aligned to 4 on the device.",
    ] {
        assert!(code.contains(&format!("{line}\n")), "{line}: {code}");
    }
    assert!(!code.contains("///      */"), "{code}");
}

#[test]
fn structs_inside_of_others_are_generated() {
    let inner = "struct Inner { int a; /* 0 */ } /* size 4, align 4 */";
    let outer = "struct S { Inner of[2]; /* 0 */ Inner one; /* 8 */ } /* size 12, align 4 */";
    let file = recorded(&["void k(S *s)"], &[inner, outer]);
    assert!(code("", &file).contains("pubstructInner{"));
    let replaced = code("types { S => crate::S }", &file);
    assert!(!replaced.contains("pubstructInner{"), "{replaced}");
    assert!(!replaced.contains("pubstructS{"), "{replaced}");
    assert!(replaced.contains("structS{{Innerof[2];"), "{replaced}");
}

#[test]
fn a_vector_of_three_has_four_elements() {
    for (count, expected) in [(2, 2), (3, 4), (4, 4), (16, 16)] {
        let kernel = format!("void k(sycl::vec<short, {count}> v)");
        let code = code("", &recorded(&[&kernel], &[]));
        assert!(code.contains(&format!("v:[i16;{expected}]")), "{code}");
    }
}

#[test]
fn structs_of_namespaces_are_named_from_outside() {
    let layout = "struct ns::S { int a; /* 0 */ } /* size 4, align 4 */";
    let mut file = recorded(&["void k(ns::S *s)"], &[layout]);
    assert!(code("", &file).contains("DeviceSlice<ns::S>"));
    for (symbol, path) in [
        ("_ZN15__sycl_kernel_a1kEv", "super::ns::S"),
        ("_ZN15__sycl_kernel_a1b1kEv", "super::super::ns::S"),
    ] {
        file.signatures.kernels[0].name = mangled::parse(symbol);
        let code = code("", &file);
        assert!(code.contains(&format!("DeviceSlice<{path}>")), "{code}");
        assert!(code.contains("pubmodns{"), "{code}");
        assert!(!code.contains("pubns:"), "{code}");
    }
}

#[test]
fn members_may_begin_with_an_underscore() {
    let layout = "struct S { int _a; /* 0 */ } /* size 4, align 4 */";
    let code = code("", &recorded(&["void k(S s)"], &[layout]));
    assert!(code.contains("pub_a:i32"), "{code}");
    // In a public module, `clippy::pedantic` warns about such members.
    assert!(code.contains("clippy::pub_underscore_fields"), "{code}");
}

#[test]
fn proofs_name_both_types() {
    let layouts = ["struct ns::P { float x; /* 0 */ } /* size 4, align 4 */"];
    let file = super::contracts::recorded(&["void k(ns::P p)"], &layouts);
    let (code, errors) = expand(
        "mod kernels = \"a\"; types { ns::P => crate :: data::P }",
        &file,
    );
    assert!(errors.is_empty(), "{errors:?}");
    let code = code.to_string();
    let expected = "`crate::data::P` must be 4 bytes long, like `ns::P` in C++: ";
    assert!(code.contains(expected), "{code}");
}
