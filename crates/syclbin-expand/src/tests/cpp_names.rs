// SPDX-License-Identifier: MIT OR Apache-2.0
//! C++ names in items: which kernels they match, and which name matches a single kernel.

use super::*;
use crate::names::cpp_name::{CppName, called};
use crate::names::default_names::default_names;

fn kernels() -> Vec<KernelSignature> {
    let mut kernels: Vec<KernelSignature> = [
        "_Z15__sycl_kernel_fPfi",
        "_Z15__sycl_kernel_fi",
        "_Z19__sycl_kernel_scaleIiEvPT_S0_",
        "_Z19__sycl_kernel_scaleIdEvPT_S0_",
        "_ZN18__sycl_kernel_fill4iotaEv",
        "_ZN16__sycl_kernel_ns5inner1kEv",
        "_ZN17__sycl_kernel_ns21kEv",
    ]
    .map(declared)
    .into();
    kernels.push(kernel("__sycl_kernel_saxpy", &[]));
    kernels.push(kernel("_ZTSZ4hostvEUlvE_", &[]));
    kernels
}

fn among(name: &str, kernels: &[KernelSignature]) -> Vec<usize> {
    let tokens: TokenStream = name.parse().unwrap();
    let tokens: Vec<_> = tokens.into_iter().collect();
    let name = CppName::parse(&tokens, &tokens[0], "kernel").unwrap();
    name.among(kernels, &default_names(kernels))
}

#[test]
fn names_mean_kernels() {
    let kernels = kernels();
    for (name, expected) in [
        ("f", &[0, 1][..]),
        ("f(float *, int)", &[0]),
        ("f(int)", &[1]),
        ("scale", &[2, 3]),
        ("scale<int>", &[2]),
        ("scale<double>", &[3]),
        ("scale<double>(double *, double)", &[3]),
        ("fill::iota", &[4]),
        ("r#fill::iota", &[4]),
        ("iota", &[]),
        ("ns::*", &[5]),
        ("ns::inner::*", &[5]),
        ("inner::*", &[]),
        ("ns2::*", &[6]),
        ("saxpy", &[7]),
        ("\"saxpy\"", &[7]),
        ("\"__sycl_kernel_saxpy\"", &[7]),
        ("\"_Z15__sycl_kernel_fi\"", &[1]),
        ("\"_ZTSZ4hostvEUlvE_\"", &[8]),
        ("host", &[8]),
        ("host()", &[8]),
        ("f_int", &[1]),
        ("scale_double", &[3]),
        ("nothing", &[]),
    ] {
        assert_eq!(among(name, &kernels), expected, "{name}");
    }
}

#[test]
fn template_arguments_in_paths_may_have_spaces() {
    let kernels = [kernel("_ZTSN6SolverIfLi2EE4StepE", &[])];
    for name in ["Solver<float, 2>::*", "Solver<float,2>::Step"] {
        assert_eq!(among(name, &kernels), [0], "{name}");
    }
}

#[test]
fn a_kernel_goes_before_instances_of_a_template() {
    let mut kernels = kernels();
    kernels.push(declared("_Z19__sycl_kernel_scalei"));
    assert_eq!(among("scale", &kernels), [9]);
}

#[test]
fn messages_name_kernels_by_their_functions() {
    let mut kernels = kernels();
    kernels.push(kernel("a-b", &[]));
    let names = default_names(&kernels);
    let called: Vec<String> = kernels
        .iter()
        .zip(&names)
        .map(|(kernel, name)| called(kernel, name.as_ref()))
        .collect();
    assert_eq!(
        called,
        [
            "f_float_ptr",
            "f_int",
            "scale_int",
            "scale_double",
            "fill::iota",
            "ns::inner::k",
            "ns2::k",
            "saxpy",
            "host",
            "\"a-b\"",
        ]
    );
    for (index, called) in called.iter().enumerate() {
        assert_eq!(among(called, &kernels), [index], "{called}");
    }
}

#[test]
fn functions_around_classes_are_in_their_names() {
    let kernels = ["a", "b"]
        .map(|space| kernel(&format!("_ZTSZN1{space}4copyERN4sycl3_V15queueEPiE1K"), &[]));
    for (name, expected) in [("K", &[0, 1][..]), ("a::copy::K", &[0]), ("b::K", &[1])] {
        assert_eq!(among(name, &kernels), expected, "{name}");
    }
}

#[test]
fn long_names_end_in_a_stable_hash() {
    let name = |length| crate::names::rust(&"x".repeat(length));
    assert_eq!(name(80), "x".repeat(80));
    assert_eq!(name(81), "x".repeat(71) + "_c6915fc7");
}
