// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of kernels that have none in C++: unnamed lambdas, and classes in functions.

use super::*;
use crate::names::default_names::default_names;

/// Returns the default names of kernels with these symbols and locations, as items write them.
fn names(kernels: &[(&str, &str)]) -> Vec<String> {
    let kernels = kernels.iter().map(|(symbol, location)| {
        let mut kernel = kernel(symbol, &[]);
        kernel.location = Some((*location).to_owned()).filter(|text| !text.is_empty());
        kernel
    });
    let kernels: Vec<KernelSignature> = kernels.collect();
    let names = default_names(&kernels).into_iter();
    names.map(|name| name.unwrap().spelled()).collect()
}

#[test]
fn lambda_is_named_after_its_function() {
    for (symbol, name) in [
        ("_ZTSZ4hostvEUlvE_", "host"),
        ("_ZTSZN5bench5inner5scaleEPdEUlvE_", "bench::inner::scale"),
        ("_ZTSZ5multiIfLi3EEvPT_EUlvE_", "multi_float_3"),
        ("_ZTSZN6HolderIiE2In2goEPiEUlvE_", "Holder_int::In::go"),
        ("_ZTSZNK6SolverclEvEUlvE_", "Solver::call"),
        ("_ZTSZN6SolverD1EvEUlvE_", "Solver::drop_Solver"),
        ("_ZTSZN1VpLERKS_EUlvE_", "V::add_assign"),
        ("_ZTSUlvE_", "lambda"),
    ] {
        assert_eq!(names(&[(symbol, "")]), [name], "{symbol}");
    }
}

#[test]
fn lambdas_of_a_function_are_numbered_by_line() {
    let [first, second, inner] = [
        "_ZTSZ4mainEUlvE_",
        "_ZTSZ4mainEUlvE0_",
        "_ZTSZZ4mainENKUliE_clEiEUlvE_",
    ];
    assert_eq!(
        names(&[
            (second, "a.cpp:12"),
            (inner, "a.cpp:9"),
            (first, "a.cpp:10")
        ]),
        ["main_2", "main_0", "main_1"]
    );
    // The order of the file does not matter, nor do other lines.
    assert_eq!(
        names(&[
            (first, "a.cpp:110"),
            (second, "a.cpp:112"),
            (inner, "a.cpp:109")
        ]),
        ["main_1", "main_2", "main_0"]
    );
    // Without lines, the numbers of the compiler count.
    assert_eq!(names(&[(second, ""), (first, "")]), ["main_1", "main_0"]);
}

#[test]
fn other_functions_rename_no_lambda() {
    let own = ("_ZTSZ5scalePdEUlvE_", "a.cpp:3");
    for other in ["_ZTSZ5shiftPdEUlvE_", "_ZTS5Scale", "__sycl_kernel_saxpy"] {
        assert_eq!(names(&[own, (other, "")])[0], "scale");
        assert_eq!(names(&[(other, ""), own])[1], "scale");
    }
}

#[test]
fn overloads_add_their_own_parameters() {
    assert_eq!(
        names(&[
            ("_ZTSZ5scaleRN4sycl3_V15queueEPdEUlvE_", ""),
            ("_ZTSZ5scaleRN4sycl3_V15queueEPfEUlvE_", ""),
            ("_ZTSZ5scaleRN4sycl3_V15queueEPfEUlvE0_", ""),
        ]),
        ["scale_double_ptr", "scale_float_ptr_0", "scale_float_ptr_1"]
    );
}

#[test]
fn lambda_yields_to_a_kernel_of_its_name() {
    let lambda = "_ZTSZ5scalevEUlvE_";
    assert_eq!(
        names(&[(lambda, ""), ("__sycl_kernel_scale", "")]),
        ["scale_0", "scale"]
    );
    let taken = ["__sycl_kernel_scale", "__sycl_kernel_scale_0"];
    assert_eq!(
        names(&[(lambda, ""), (taken[0], ""), (taken[1], "")]),
        ["scale_1", "scale", "scale_0"]
    );
    // The same function in two sources that both hide it.
    let hidden = "_ZTSZN12_GLOBAL__N_15scaleEvEUlvE_";
    assert_eq!(
        names(&[(hidden, "b.cpp:1"), (lambda, "a.cpp:1")]),
        ["scale_1", "scale_0"]
    );
}

#[test]
fn classes_of_one_name_add_their_function() {
    assert_eq!(
        names(&[
            ("_ZTSZ3runIfEvPT_E1K", ""),
            ("_ZTSZ3runIiEvPT_E1K", ""),
            ("_ZTSZ4mainE4Once", ""),
        ]),
        ["run_float_K", "run_int_K", "Once"]
    );
}

#[test]
fn documentation_shows_function_line_and_captures() {
    let mut lambda = kernel(
        "_ZTSZ5scaleRN4sycl3_V15queueEPdEUlNS0_2idILi1EEEE_",
        &["data"],
    );
    lambda.location = Some("scale.cpp:7".into());
    lambda.declaration = Some(test_files::declaration("void scale(double *data)"));
    let code = expanded(vec![lambda]);
    for line in [
        "/// // in scale(sycl::queue &, double *), scale.cpp:7",
        "/// [double *data](sycl::id<1>)",
    ] {
        assert!(code.contains(line), "{code}");
    }
}

#[test]
fn parts_of_the_runtime_are_left_out() {
    let rounded =
        "_ZTSN4sycl3_V16detail18RoundedRangeKernelINS0_4itemILi1ELb1EEELi1EZ4mainEUlS4_E_EE";
    let wrapped = "_ZTSN4sycl3_V16detail19__pf_kernel_wrapperI1KEE";
    let reduction = "_ZTSZN4sycl3_V16detail16NDRangeReductionILi1EE3runEvEUlvE_";
    let code = expanded(
        [rounded, wrapped, reduction, reduction]
            .map(declared)
            .into(),
    );
    assert_eq!(heads(&code), [""; 0]);
    assert_eq!(code.matches("/// - `").count(), 1, "{code}");
    assert!(code.contains("it is a step of `sycl::reduction`"), "{code}");
}

#[test]
fn kernels_are_listed_as_data() {
    let mut scale = declared("_ZN16__sycl_kernel_ns5scaleEPKfi");
    scale.required_local_size = Some(vec![4, 8]);
    let mut file = file_of(vec![scale]);
    file.aspects
        .insert("_ZN16__sycl_kernel_ns5scaleEPKfi".into(), vec!["fp64"]);
    let code = formatted(&file).split_whitespace().collect::<String>();
    for part in [
        "pubconstKERNELS:&[::syclbin_rt::KernelInfo]=&[",
        "name:\"ns::scale\"",
        "declaration:\"voidns::scale(constfloat*,int)\"",
        "kind:::syclbin_rt::ParameterKind::Value,ty:\"int\",size:::core::option::Option::Some(4)",
        "work_group_size:&[4,8]",
        "aspects:&[\"fp64\"]",
    ] {
        assert!(code.contains(part), "{part}: {code}");
    }
}

#[test]
fn same_functions_of_several_sources_have_their_source() {
    assert_eq!(
        names(&[
            ("_ZTSZ4mainEUlvE_$heat", "heat.cpp:10"),
            ("_ZTSZ4mainEUlvE0_$heat", "heat.cpp:12"),
            ("_ZTSZ4mainEUlvE_$nbody", "nbody.cpp:4"),
            ("_ZTSZN2ns4initERN4sycl3_V15queueEPfEUlvE_$heat", ""),
            ("_ZTSZN2ns4initERN4sycl3_V15queueEPiEUlvE_$nbody", ""),
            ("_ZTS3Add$heat", ""),
            ("_ZTS3Add$nbody", ""),
        ]),
        [
            "heat::main_0",
            "heat::main_1",
            "nbody::main",
            "heat::ns::init",
            "nbody::ns::init",
            "heat::Add",
            "nbody::Add"
        ]
    );
}
