// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of kernels without a C++ name: unnamed lambdas, and classes inside functions.

use super::*;
use crate::names::default_names::default_names;

/// Returns the default names of kernels with these symbols and locations, as written in items.
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
    // Neither the order in the file nor other lines matter.
    assert_eq!(
        names(&[
            (first, "a.cpp:110"),
            (second, "a.cpp:112"),
            (inner, "a.cpp:109")
        ]),
        ["main_1", "main_2", "main_0"]
    );
    // Without lines, the compiler's numbers decide.
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
    // Names contain only the parameters that distinguish them.
    assert_eq!(
        names(&[
            ("_ZTSZ5scalePdmiEUlvE_", ""),
            ("_ZTSZ5scalePdmfEUlvE_", ""),
            ("_ZTSZ5scalePdmEUlvE_", ""),
        ]),
        ["scale_int", "scale_float", "scale"]
    );
}

#[test]
fn same_names_are_numbered_around_others() {
    let lambda = "_ZTSZ5scalevEUlvE_";
    let taken = ["__sycl_kernel_scale", "__sycl_kernel_scale_0"];
    assert_eq!(
        names(&[(lambda, "a.cpp:3"), (taken[0], ""), (taken[1], "")]),
        ["scale_2", "scale_1", "scale_0"]
    );
    // Two sources define the same function in an anonymous namespace.
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
        ["K_float", "K_int", "Once"]
    );
    assert_eq!(
        names(&[
            ("_ZTSZ3addPiE1K", ""),
            ("_ZTSZ3mulPiE1K", ""),
            ("_ZTSZ3mulPfE1K", ""),
            ("_ZTSZN1a4copyERN4sycl3_V15queueEPiE1K", ""),
            ("_ZTSZN1b4copyERN4sycl3_V15queueEPiE1K", ""),
        ]),
        ["add_K", "mul_K_int_ptr", "mul_K_float_ptr", "a::K", "b::K"]
    );
}

#[test]
fn template_arguments_are_always_in_names() {
    for (symbol, name) in [
        (
            "_ZTSZZ7genericRN4sycl3_V15queueEPiENKUlT_S2_E_clISt17integral_constantIiLi32EEEEDaS4_S2_EUlNS0_2idILi1EEEE_",
            "generic_32",
        ),
        (
            "_ZTSZZL6binaryIXadL_ZL6op_mulffEEN4sycl3_V16detail9half_impl4halfEEvRNS1_5queueEPKT0_S9_PS7_mENKUlRNS1_7handlerEE_clESC_EUlNS1_2idILi1EEEE_",
            "binary_op_mul_half",
        ),
        (
            "_ZTSZN15BinaryBroadcastIXadL_ZL6op_mulffEEEclIN4sycl3_V16detail9half_impl4halfEfS6_EEvRNS3_5queueEPKT_PKT0_PT1_llEUlNS3_2idILi1EEEE_",
            "BinaryBroadcast_op_mul::call_half_float_half",
        ),
        (
            "_ZTSZL8for_eachIZL5scaleRN4sycl3_V15queueEPffmEUlmE_EvS3_mT_EUlNS1_2idILi1EEEE_",
            "for_each_scale_lambda",
        ),
        (
            "_ZTSZN6Solver4stepIZNS_3runERN4sycl3_V15queueEEUlfE0_EEvS4_T_EUlNS2_2idILi1EEEE_",
            "Solver::step_run_lambda_2",
        ),
        ("_ZTSZN2ns1fINS_4PairEEEvvEUlvE_", "ns::f_Pair"),
        ("_ZTSZN2ns1fIN5other4PairEEEvvEUlvE_", "ns::f_other_Pair"),
        ("_ZTSZ1fILin4ELf3fc00000EEvvEUlvE_", "f_minus_4_1_5"),
        // A class inside a lambda that takes a handler.
        (
            "_ZTS3FunIZZ4hostRN4sycl3_V15queueEPfENKUlRNS1_7handlerEE_clES6_E5InnerE",
            "Fun_host_Inner",
        ),
        // Queues and handlers are ignored, because every function that launches kernels has one.
        (
            "_ZTSZZ4mainENKUlRT_E_clIN4sycl3_V17handlerEEEDaS0_EUlvE_",
            "main",
        ),
    ] {
        assert_eq!(names(&[(symbol, "")]), [name], "{symbol}");
    }
}

#[test]
fn long_and_odd_names_are_identifiers() {
    let long = |count: usize, last: &str| {
        let own = "long".repeat(count);
        format!("_ZTSZ1fI{}{own}1{last}EvvEUlvE_", own.len())
    };
    let long = |last| {
        names(&[(
            &long(50, last)
                .replace(last, &format!("{last}E"))
                .replace("I200", "IN200"),
            "",
        )])
        .remove(0)
    };
    let (a, b) = (long("a"), long("b"));
    assert_eq!((a.len(), b.len()), (80, 80), "{a}");
    assert!(a != b && a[..71] == b[..71], "{a} {b}");
    for (symbol, name) in [
        ("__sycl_kernel_x\u{b2}", "_x_"),
        ("_ZTS4self", "self_"),
        ("_ZTS4move", "move"),
        ("_ZTSN4self1KE", "self_::K"),
        ("_ZTSZN1aI1bE5crateEvEUlvE_", "a_b::crate_"),
    ] {
        assert_eq!(names(&[(symbol, "")]), [name], "{symbol}");
    }
}

/// A thousand kernels in functions with the same name. Each list of parameters occurs ten times.
#[test]
fn every_kernel_of_a_thousand_has_a_name() {
    let symbols = (0..1_000).map(|n| match n % 10 {
        0..3 => format!("_ZTSZ1fPA{}_iEUlvE{n}_", n / 10),
        3 => format!("_ZTSZ1fPA{}_iE1f", n / 10),
        4 => format!("_Z15__sycl_kernel_fPA{}_i", n / 10),
        5 => format!("_ZTSZN1f1fEPA{}_iE1f_{}", n / 10, n % 7),
        6 => format!("_Z15__sycl_kernel_fILi{n}EEvv"),
        7 => format!("__sycl_kernel_f_{n}"),
        8 => format!("_ZTSZ1fPA{}_iEUlvE_$f", n / 10),
        _ => format!("_ZTS{}f{}", n + 1, "_".repeat(n)),
    });
    let kernels: Vec<KernelSignature> = symbols.map(|symbol| kernel(&symbol, &[])).collect();
    let names = default_names(&kernels).into_iter().flatten();
    let names: std::collections::BTreeSet<String> = names.map(|name| name.spelled()).collect();
    assert_eq!(names.len(), 1_000);
    assert!(names.iter().all(|name| name.len() < 90), "{names:?}");
    let (_, errors) = expand("mod kernels = \"a\";", &file_of(kernels));
    assert_eq!(errors, [""; 0]);
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
