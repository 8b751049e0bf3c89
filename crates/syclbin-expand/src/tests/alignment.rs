// SPDX-License-Identifier: MIT OR Apache-2.0
//! Alignment of generated structs, and address requirements of safe launches.

use super::contracts::{code, recorded};
use super::formatted;

const WIDE: &str = "struct Wide { float x; /* 0 */ } /* size 128, align 128 */";

#[test]
fn void_pointer_has_the_devices_alignment() {
    let file = recorded(&["void k(void *v)"], &[]);
    let implied = code("safe fn k where v.len() >= 16;", &file);
    assert!(implied.contains("`v.align()>=device.align()`"), "{implied}");
    assert!(
        implied.contains("given.aligned(0,::core::option::Option::None)?;"),
        "{implied}"
    );
    let stated = code("safe fn k where v.len() >= 16, v.align() >= 16;", &file);
    assert!(!stated.contains("given.aligned"), "{stated}");
    assert!(
        stated.contains("given.memory(0,1).align()>=16i128"),
        "{stated}"
    );
    let mut file = file;
    file.signatures.kernels[0].parameters.as_mut().unwrap()[0].align = Some(32);
    let known = code("safe fn k where v.len() >= 16;", &file);
    assert!(known.contains("`v.align()>=32`"), "{known}");
}

#[test]
fn alignment_that_every_part_has_is_not_checked() {
    let vector = "struct V { sycl::vec<float, 4> v; /* 0 */ } /* size 16, align 16 */";
    let kernel = "void k(float *x, V *v, char *c, sycl::vec<double, 8> *d)";
    let file = recorded(&[kernel], &[vector]);
    let code = code(
        "safe fn k where x.len() >= 1, v.len() >= 1, c.len() >= 1, d.len() >= 1;",
        &file,
    );
    assert!(!code.contains("given.aligned"), "{code}");
}

#[test]
fn alignment_beyond_that_is_checked() {
    let mut file = recorded(&["void k(Wide *w, float *x)"], &[WIDE]);
    let parameters = file.signatures.kernels[0].parameters.as_mut().unwrap();
    parameters[1].align = Some(64);
    let code = code("safe fn k where w.len() >= 1, x.len() >= 1;", &file);
    for condition in ["`w.align()>=128`", "`x.align()>=64`"] {
        assert!(code.contains(condition), "{code}");
    }
    let check = "given.aligned(0,::core::option::Option::Some(128))?;";
    assert!(code.contains(check), "{code}");
}

#[test]
fn a_struct_has_the_alignment_of_alignas() {
    let holder = "struct Holder { int a; /* 0 */ Wide w; /* 128 */ } /* size 256, align 128 */";
    let code = formatted(&recorded(&["void k(Holder *h)"], &[WIDE, holder]));
    assert_eq!(code.matches("#[repr(C, align(128))]").count(), 1, "{code}");
    assert!(code.contains("128 bytes, aligned to 128 on the device."));
}

#[test]
fn a_packed_struct_holds_no_aligned_one() {
    let packed = "struct Packed { char a; /* 0 */ Wide w; /* 1 */ } /* size 129, align 1 */";
    let code = formatted(&recorded(&["void k(Packed *p)"], &[WIDE, packed]));
    assert!(!code.contains("align("), "{code}");
    let odd = "struct Odd { double x; /* 0 */ } /* size 12, align 64 */";
    let code = formatted(&recorded(&["void k(Odd *p)"], &[odd]));
    assert!(code.contains("#[repr(C, packed)]"), "{code}");
}

#[test]
fn unnamed_bytes_yield_to_named_members() {
    let bits =
        "struct Bits { bytes _[1]; /* 0 */ unsigned int field0; /* 1 */ } /* size 5, align 1 */";
    let code = formatted(&recorded(&["void k(Bits *p)"], &[bits]));
    assert!(code.contains("pub field0_: [u8; 1]"), "{code}");
    assert!(code.contains("pub field0: u32"), "{code}");
}
