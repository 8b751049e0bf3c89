// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin expand` and `cargo syclbin stubs`.

use super::{answer, complaint, run, stderr, stdout};

#[test]
fn code_matches_the_macro_with_its_items() {
    let code = answer(&[
        "expand",
        "vector_ops.object.syclbin",
        "--items",
        "only { fill::iota } unsafe extern \"SYCL\" { safe fn fill::iota as numbers where arg1.len() >= arg2, \
         range.dimensions() == 1; }",
    ]);
    for expected in [
        "pub mod kernels {\n",
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
        "`match` is a Rust keyword; write `r#match` or choose another name",
        "start it with `crate::`",
        "has no kernel `saxpi`; it has `saxpy`, `fill::iota`, `scale_double`, `scale_int`",
    ] {
        assert!(complaint.contains(expected), "{expected}: {complaint}");
    }
}

#[test]
fn other_file_formats_are_refused() {
    let complaint = complaint(&["expand", "vector_ops.cpp"]);
    assert!(complaint.contains("vector_ops.cpp"), "{complaint}");
    assert!(complaint.contains("SYCLBIN"), "{complaint}");
}

#[test]
fn stubs_are_signatures_on_one_line_each() {
    let lines = answer(&["stubs", "vector_ops.object.syclbin"]);
    let expected = "\
fn saxpy<'a>(&'a self, arg0: f32, arg1: &'a DeviceSlice<f32>, arg2: &'a mut DeviceSlice<f32>, arg3: i32) -> Launch<'a, 4>
fn scale_int<'a>(&'a self, arg0: &'a mut DeviceSlice<i32>, arg1: i32) -> Launch<'a, 2>
fn scale_double<'a>(&'a self, arg0: &'a mut DeviceSlice<f64>, arg1: f64) -> Launch<'a, 2>
fn fill::iota<'a>(&'a self, arg0: f32, arg1: &'a mut DeviceSlice<f32>, arg2: i32) -> Launch<'a, 3>
";
    assert_eq!(lines, expected);
}

#[test]
fn stubs_show_structs_and_follow_the_items() {
    let lines = stdout(&run(&["stubs", "described/described.syclbin"]));
    for expected in [
        "\nstruct Two { field0: Base, field1: geo::Inner, field2: f32 }\n",
        "\nstruct geo::Inner { field0: i16, field1: [i8; 3] }\n",
    ] {
        assert!(lines.contains(expected), "{expected}: {lines}");
    }
    assert!(!lines.contains("_padding"), "it is hidden: {lines}");
    let items = "only { scale_int } fn scale_int as twice;";
    let lines = answer(&["stubs", "vector_ops.object.syclbin", "--items", items]);
    assert!(
        lines.starts_with("fn twice<'a>(") && lines.lines().count() == 1,
        "{lines}"
    );
}

#[test]
fn kernels_without_a_stub_are_counted() {
    let run = run(&["stubs", "structs.executable.syclbin"]);
    assert!(run.status.success() && run.stdout.is_empty(), "{run:?}");
    let told = stderr(&run);
    assert!(
        told.contains("`cargo syclbin inspect structs.executable.syclbin` shows why"),
        "{told}"
    );
}
