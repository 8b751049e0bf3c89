// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin expand`.

use super::{answer, complaint};

#[test]
fn code_matches_the_macro_with_its_items() {
    let code = answer(&[
        "expand",
        "vector_ops.object.syclbin",
        "--module",
        "ops",
        "--items",
        "only { fill::iota } unsafe extern \"SYCL\" { safe fn fill::iota as numbers where arg1.len() >= arg2, \
         range.dimensions() == 1; }",
    ]);
    for expected in [
        "pub mod ops {\n",
        "8, \"vector_ops.object.syclbin\"",
        "pub fn numbers<'a>(",
        "arg1: &'a mut ::syclbin_rt::DeviceSlice<f32>,",
        "-> ::syclbin_rt::SafeLaunch<'a, 3, ::syclbin_rt::NdRange<1>> {",
        "/// - `arg1.len() >= arg2`",
    ] {
        assert!(code.contains(expected), "{expected}: {code}");
    }
    assert!(!code.contains("saxpy"), "it is not selected: {code}");
}

#[test]
fn every_mistake_in_the_items_is_told() {
    let items = "fn saxpy as match; types { P => P } only { saxpi }";
    let complaint = complaint(&["expand", "vector_ops.object.syclbin", "--items", items]);
    for expected in [
        "`match` is a keyword of Rust; write `r#match`, or another name",
        "begin its path with `crate::`",
        "has no kernel `saxpi`; it has `fill::iota`, `saxpy`, `scale_double`, `scale_int`",
    ] {
        assert!(complaint.contains(expected), "{expected}: {complaint}");
    }
}

#[test]
fn invalid_module_name_is_refused() {
    let complaint = complaint(&["expand", "vector_ops.object.syclbin", "--module", "a b"]);
    assert!(
        complaint.contains("`a b` is not a valid name for a Rust module"),
        "{complaint}"
    );
}

#[test]
fn other_file_formats_are_refused() {
    let complaint = complaint(&["expand", "vector_ops.cpp"]);
    assert!(complaint.contains("vector_ops.cpp"), "{complaint}");
    assert!(complaint.contains("SYCLBIN"), "{complaint}");
}
