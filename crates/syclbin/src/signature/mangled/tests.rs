// SPDX-License-Identifier: MIT OR Apache-2.0
use alloc::string::ToString;

use super::*;

fn spelled(types: &[CppType]) -> String {
    let types: Vec<String> = types.iter().map(ToString::to_string).collect();
    types.join("; ")
}

#[test]
fn the_reference_compilers_symbols_are_read() {
    for (symbol, name, parameters) in [
        ("__sycl_kernel_saxpy", "saxpy", None),
        (
            "_Z18__sycl_kernel_ff_2Piii",
            "ff_2",
            Some("int *; int; int"),
        ),
        (
            "_ZN18__sycl_kernel_fill4iotaEfPfi",
            "fill::iota",
            Some("float; float *; int"),
        ),
        (
            "_Z19__sycl_kernel_scaleIiEvPT_S0_",
            "scale<int>",
            Some("int *; int"),
        ),
        (
            "_Z18__sycl_kernel_tmplIiEvT_PS0_",
            "tmpl<int>",
            Some("int; int *"),
        ),
        (
            "_Z15__sycl_kernel_fPKhS0_m",
            "f",
            Some("const unsigned char *; const unsigned char *; unsigned long"),
        ),
        (
            "_Z15__sycl_kernel_fIiLi4ELb1ELb0EEvPT_",
            "f<int, 4, true, false>",
            Some("int *"),
        ),
        ("_Z15__sycl_kernel_fv", "f", Some("")),
        (
            "_Z19__sycl_kernel_scaleITkSt14floating_pointfEvPT_",
            "scale<float>",
            Some("float *"),
        ),
        (
            "_Z15__sycl_kernel_fITkN2ns7FloatIsEfEvPT_NS0_1AE",
            "f<float>",
            Some("float *; ns::A"),
        ),
        // C's variadic `...` is not a pack.
        ("_Z3logPKcz", "log", Some("const char *; ...")),
        // A pack expansion is a substitution candidate.
        (
            "_Z15__sycl_kernel_kIJifEEv4ArgsIJDpT_EEPfPiS4_",
            "k<int, float>",
            Some("Args<int...>; float *; int *; float *"),
        ),
        (
            "_Z18__sycl_kernel_stepPViPfS0_PVKcS3_",
            "step",
            Some("int *; float *; int *; const char *; const char *"),
        ),
        (
            "_Z15__sycl_kernel_fPNSt3__17complexIfEENS_5arrayIS1_Lm2EEE",
            "f",
            Some("std::complex<float> *; std::array<std::complex<float>, 2>"),
        ),
        (
            "_ZN18__sycl_kernel_fill5scaleIiEEvPT_S1_",
            "fill::scale<int>",
            Some("int *; int"),
        ),
        (
            "_Z15__sycl_kernel_fN2ns4PairIiEEPfS2_",
            "f",
            Some("ns::Pair<int>; float *; float *"),
        ),
        (
            "_ZN16__sycl_kernel_ns4overEN4sycl3_V16detail9half_impl4halfENS1_3ext6oneapi8bfloat16EPS4_PvPKvNS1_3vecIfLi4EEENS6_12experimental17work_group_memoryIA64_iNSE_10propertiesINSE_6detail20properties_type_listIJEEEEEEENS1_14local_accessorIfLi1EEE",
            "ns::over",
            Some(
                "sycl::half; sycl::ext::oneapi::bfloat16; sycl::half *; void *; const void *; sycl::vec<float, 4>; sycl::ext::oneapi::experimental::work_group_memory<int[64]>; sycl::local_accessor<float, 1>",
            ),
        ),
        (
            "_ZN17__sycl_kernel_geo1fENS_4ModeE",
            "geo::f",
            Some("geo::Mode"),
        ),
        (
            "_ZN16__sycl_kernel_ns4tmplIiEEvPT_4PairIS1_Li2EE4Mode",
            "ns::tmpl<int>",
            Some("int *; Pair<int, 2>; Mode"),
        ),
        (
            "_Z15__sycl_kernel_f8ParticlePS_",
            "f",
            Some("Particle; Particle *"),
        ),
        ("_ZTS6AddOne", "AddOne", None),
        ("_ZTSN2zz3NK2E", "zz::NK2", None),
        ("_ZTSZ4hostvE3MyK", "MyK", None),
    ] {
        let parsed = parse(symbol).unwrap_or_else(|| panic!("{symbol}"));
        assert_eq!(parsed.qualified(), name, "{symbol}");
        let types = parsed.parameters.as_deref().map(spelled);
        assert_eq!(types.as_deref(), parameters, "{symbol}");
    }
}

#[test]
fn the_reference_compilers_variables_are_read() {
    for (symbol, name) in [
        ("_Z5table", Some("table")),
        ("_ZN2ns4modeE", Some("ns::mode")),
        ("____ZL3loc", Some("loc")),
        ("____ZN12_GLOBAL__N_14anonE", Some("anon")),
        ("____ZN2ns12_GLOBAL__N_14flagE", Some("ns::flag")),
        ("uid0f9c8a7b6d5e4f32____ZL6radius", Some("radius")),
        ("_Z2tgIiE", Some("tg<int>")),
        ("radius", Some("radius")),
        ("_Z5tablev", None),
        ("_Z", None),
        ("", None),
        ("a-b____ZL3loc", None),
    ] {
        let found = variable(symbol).map(|name| name.qualified());
        assert_eq!(found.as_deref(), name, "{symbol}");
    }
}

#[test]
fn accessors_arrays_and_members_of_instances_are_types() {
    for (symbol, text) in [
        (
            "_ZTSN4sycl3_V18accessorIKiLi2ELNS0_6access4modeE1024ELNS3_6targetE2014ELNS3_11placeholderE0ENS0_3ext6oneapi22accessor_property_listIJEEEEE",
            "sycl::accessor<const int, 2, sycl::access_mode::read>",
        ),
        (
            "_ZTSN4sycl3_V18accessorINS0_3vecIfLi4EEELi2ELNS0_6access4modeE1024ELNS4_6targetE2017ELNS4_11placeholderE0EEE",
            "sycl::accessor<sycl::vec<float, 4>, 2, sycl::access_mode::read, sycl::target::image>",
        ),
        (
            "_ZTSN4sycl3_V18accessorINS0_3vecIiLi4EEELi1ELNS0_6access4modeE1025ELNS4_6targetE2020ELNS4_11placeholderE0EEE",
            "sycl::accessor<sycl::vec<int, 4>, 1, sycl::access_mode::write, sycl::target::image_array>",
        ),
        ("_ZTSA2_A8_i", "int[2][8]"),
        ("_ZTSA_f", "float[]"),
        ("_ZTSKi", "const int"),
        ("_ZTSPKi", "const int *"),
        ("_ZTSKPi", "int *const"),
        // Only an accessor of the device is spelled by its mode.
        ("_ZTS1fIiiLi1024ELi2014ELi0EE", "f<int, int, 1024, 2014, 0>"),
        (
            "_ZTSN4sycl3_V18accessorIiLi1ELNS0_6access4modeE1024ELNS3_6targetE2018ELNS3_11placeholderE0EEE",
            "sycl::accessor<int, 1, 1024, 2018, 0>",
        ),
        ("_ZTSN1aIiE1bE", "a<int>::b"),
        (
            "_ZTSSt4pairIiS_IffEE",
            "std::pair<int, std::pair<float, float>>",
        ),
    ] {
        assert_eq!(type_info(symbol).unwrap().to_string(), text, "{symbol}");
    }
}

#[test]
fn a_kernel_is_told_its_plain_function() {
    for (kernel, function) in [
        ("__sycl_kernel_saxpy", Some("saxpy")),
        (
            "_ZN18__sycl_kernel_fill4iotaEfPfi",
            Some("_ZN4fill4iotaEfPfi"),
        ),
        (
            "_Z19__sycl_kernel_scaleIiEvPT_S0_",
            Some("_Z5scaleIiEvPT_S0_"),
        ),
        ("_ZTS6AddOne", None),
        ("_Z3__sycl_kernel_f", None),
    ] {
        assert_eq!(plain_function(kernel).as_deref(), function);
    }
}

#[test]
fn damaged_symbols_have_no_name() {
    for symbol in [
        "_Z",
        "_Z99f",
        "_ZN4fill",
        "_ZTS",
        "_Z0v",
        "_Z5evil\x1bv",
        "_Z7a\u{202e}bcdv",
        "_Z1fILiabcEEvv",
        "_ZN1a1bS_Ev",
        // Rust has no name for a part without a name, nor for an operator.
        "_ZTSN1aUt_1bE",
        "_ZN1aclEv",
        // This is not a lambda.
        "_ZTS3UlaX",
        "a-b",
        "",
    ] {
        assert_eq!(parse(symbol), None, "{symbol}");
    }
    let deep = format!("_ZTSZN{}cvT_EvEUlvE_", "1a".repeat(70));
    assert_eq!(parse(&deep), None);
}

#[test]
fn unsupported_parts_keep_the_function_name() {
    for (symbol, name) in [
        ("_Z15__sycl_kernel_fM1Ai", "f"),
        // Template arguments: a literal of a class type, and a requirement.
        ("_Z15__sycl_kernel_fIXtl5PointLi1EEEEvPi", "f"),
        (
            "_ZN16__sycl_kernel_ns1fIiQsr3stdE8integralIT_EEEvPS1_",
            "ns::f",
        ),
        // The number of elements of a pack.
        ("_Z15__sycl_kernel_fIJifEEvDpT_", "f<int, float>"),
        ("_Z15__sycl_kernel_fIJfEEvDpPT_", "f<float>"),
    ] {
        let parsed = parse(symbol).unwrap_or_else(|| panic!("{symbol}"));
        assert_eq!((&*parsed.qualified(), parsed.parameters), (name, None));
    }
}

#[test]
fn exponentially_growing_symbol_is_refused() {
    // Each parameter names the one before twice: a<int>, a<a<int>, a<int>>, ... The candidates
    // for substitution are a name and a whole type in turn, so the last whole is number 2n - 1.
    let digit = |n: u32| char::from_digit(n, 36).unwrap().to_ascii_uppercase();
    let doubling = |count: u32| {
        let mut symbol = String::from("_Z1f1aIiE");
        for n in 1..count {
            let last = digit(2 * (n - 1));
            symbol.push_str(&format!("1aIS{last}_S{last}_E"));
        }
        parse(&symbol).unwrap().parameters
    };
    assert_eq!(
        doubling(3).unwrap()[2].to_string().matches("int").count(),
        4
    );
    assert_eq!(doubling(18), None);
    let copies = format!("_Z1f{}i{}", "P".repeat(60), "S1_".repeat(100_000));
    assert_eq!(parse(&copies).unwrap().parameters, None);
    // One character means eighteen, and a whole parameter.
    let built_in = format!("_Z1f{}", "y".repeat(100_000));
    assert_eq!(parse(&built_in).unwrap().parameters, None);
}

#[test]
fn nothing_nests_deeper_than_a_stack() {
    let deep = format!("_Z1f{}i", "P".repeat(100_000));
    assert_eq!(parse(&deep).unwrap().parameters, None);
    let packs = format!("_Z1f{}i", "Dp".repeat(100_000));
    assert_eq!(parse(&packs).unwrap().parameters, None);
    let nested = format!("_ZN{}Ev", "1a".repeat(2_000));
    assert_eq!(parse(&nested), None);
    for argument in ["L1aI", "Tk1aI"] {
        let nested = format!("_Z1fI{}", argument.repeat(100_000));
        assert_eq!(parse(&nested), None);
    }
}

#[test]
fn all_that_nests_is_limited_in_depth() {
    let parameters = |ty: &str| parse(&format!("_Z1f1a{ty}")).unwrap().parameters;
    let pointer = |depth| parameters(&format!("{}i", "P".repeat(depth)));
    assert!(pointer(MAX_DEPTH).is_some());
    assert_eq!(pointer(MAX_DEPTH + 1), None);
    // What comes before and after a nested type.
    for (before, after) in [
        ("V", ""),
        ("R", ""),
        ("O", ""),
        ("K", ""),
        ("A2_", ""),
        ("F", "vE"),
        ("1bIJ", "EE"),
        ("1bI", "E"),
        ("1bITn", "Li0EE"),
        ("1bIL", "0EE"),
        ("1bIXadL", "0EEE"),
        ("S_I", "E"),
        ("N1b1cI", "EE"),
        ("N1b1cI", "E1dE"),
        ("N1bC1I", "EE"),
        ("Z1gvE1bI", "E"),
    ] {
        let nested = |depth| {
            let (before, after) = (before.repeat(depth), after.repeat(depth));
            parameters(&format!("{before}1c{after}"))
        };
        assert!(nested(5).is_some(), "{before}");
        let depth = if before.len() < 4 { 66 } else { 25 };
        assert_eq!(nested(depth), None, "{before}");
    }
    let packs = |depth| parameters(&format!("1bI{}i{}E", "J".repeat(depth), "E".repeat(depth)));
    assert!(packs(5).is_some());
    assert_eq!(packs(70), None);
    let values = |depth: usize| {
        let (before, after) = ("L_Z1gI".repeat(depth), "EvvE".repeat(depth));
        parameters(&format!("1bI{before}i{after}E"))
    };
    assert!(values(5).is_some());
    assert_eq!(values(25), None);
    // Functions in functions, and classes in functions in turn.
    let functions = |depth| parameters(&format!("{}1gv{}", "Z".repeat(depth), "E1a".repeat(depth)));
    assert!(functions(5).is_some());
    assert_eq!(functions(40), None);
    let classes = |depth| parameters(&format!("{}1a", "Z1gvE".repeat(depth)));
    assert!(classes(5).is_some());
    assert_eq!(classes(40), None);
}

#[test]
fn functions_are_types_of_parameters() {
    let found = parse("_Z1fPFivEdPFvidES2_").unwrap().parameters.unwrap();
    assert_eq!(found.len(), 4);
    assert_eq!(found[1].to_string(), "double");
    assert_eq!(found[2], found[3]);
    assert_ne!(found[0], found[2]);
}

/// The function around a lambda, its parameters, and the lambdas with their numbers.
fn lambda(symbol: &str) -> (String, Option<String>, String) {
    let name = parse(symbol).unwrap_or_else(|| panic!("{symbol}"));
    let lambdas = name.lambdas.iter();
    let lambdas: Vec<String> = lambdas
        .map(|lambda| format!("({}){}", list(&lambda.parameters), lambda.index))
        .collect();
    let types = name.parameters.as_deref().map(spelled);
    (name.qualified(), types, lambdas.join(" "))
}

#[test]
fn lambdas_are_named_after_their_function() {
    for (symbol, name, parameters, lambdas) in [
        ("_ZTSZ4hostvEUlvE0_", "host", Some(""), "()1"),
        ("_ZTSZ4mainEUliE0_", "main", None, "(int)1"),
        (
            "_ZTSZN5bench5inner5scaleERN4sycl3_V15queueEPdmEUlNS2_2idILi1EEEE_",
            "bench::inner::scale",
            Some("sycl::queue &; double *; unsigned long"),
            "(sycl::id<1>)0",
        ),
        (
            "_ZTSZN12_GLOBAL__N_16hiddenERN4sycl3_V15queueEPiEUlvE_",
            "hidden",
            Some("sycl::queue &; int *"),
            "()0",
        ),
        (
            "_ZTSZL4statRN4sycl3_V15queueEPiEUlvE_",
            "stat",
            Some("sycl::queue &; int *"),
            "()0",
        ),
        (
            "_ZTSZZ5multiIfLi3EEvRN4sycl3_V15queueEPT_mENKUlRNS1_7handlerEE_clES7_EUlNS1_4itemILi1ELb1EEEE_",
            "multi<float, 3>",
            Some("sycl::queue &; float *; unsigned long"),
            "(sycl::handler &)0 (sycl::item<1, true>)0",
        ),
        (
            "_ZTSZZN6Solver4stepERN4sycl3_V15queueEmENKUlRNS1_7handlerEE_clES5_EUlNS1_7nd_itemILi1EEEE_",
            "Solver::step",
            Some("sycl::queue &; unsigned long"),
            "(sycl::handler &)0 (sycl::nd_item<1>)0",
        ),
        (
            "_ZTSZNK6SolverclERN4sycl3_V15queueEEUlvE_",
            "Solver::operator()",
            Some("sycl::queue &"),
            "()0",
        ),
        (
            "_ZTSZN6SolverC1ERN4sycl3_V15queueEEUlvE_",
            "Solver::Solver",
            Some("sycl::queue &"),
            "()0",
        ),
        (
            "_ZTSZN6HolderIiE2In2goEPiEUlvE_",
            "Holder<int>::In::go",
            Some("int *"),
            "()0",
        ),
        ("_ZTSZZ4mainENKUliE_clEiEUlvE_", "main", None, "(int)0 ()0"),
        (
            "_ZTSZ1fSt6vectorIiSaIiEESsEUlT_E_",
            "f",
            Some("std::vector<int, std::allocator<int>>; std::string"),
            "(auto)0",
        ),
        ("_ZTSUlvE_", "lambda", None, "()0"),
        ("_ZTSN6Solver4dataMUlvE_E", "Solver::data", None, "()0"),
        ("_ZTSZNK1a1bMUlvE_clEvEUlvE_", "a::b", None, "()0 ()0"),
        // What follows the name is not readable.
        ("_ZTSZ1fIfEvDTcl1gEEEUlvE_", "f<float>", None, "(...)0"),
        (
            "_ZTSZ5scaleIfENSt9enable_ifIXsr3stdE19is_floating_point_vIT_EEvE4typeERN4sycl3_V15queueEPS1_mEUlNS3_2idILi1EEEE_",
            "scale<float>",
            None,
            "(...)0",
        ),
        ("_ZTSZ4fillDv4_fPU3AS1fEUlmE2_", "fill", None, "(...)0"),
        ("_ZTSZ4fillDv4_fPU3AS1fEUlmE1_", "fill", None, "(...)0"),
    ] {
        let (found, types, own) = lambda(symbol);
        assert_eq!(
            (&*found, types.as_deref(), &*own),
            (name, parameters, lambdas),
            "{symbol}"
        );
    }
}

#[test]
fn local_classes_keep_their_function() {
    for (symbol, name, function) in [
        ("_ZTSZ4hostvE3MyK", "MyK", "host"),
        (
            "_ZTSZZ4mainENKUlRN4sycl3_V17handlerEE_clES2_E10vector_add",
            "vector_add",
            "main",
        ),
        (
            "_ZTSZZ3runIfEvPT_ENKUlRN4sycl3_V17handlerEE_clES5_E1K",
            "K",
            "run<float>",
        ),
        ("_ZTSZ4mainEN5Local3OneE", "Local::One", "main"),
        // What follows the name of the function is not readable.
        (
            "_ZTSZ5scaleIfENSt9enable_ifIXsr3stdE19is_floating_point_vIT_EEvE4typeEPS1_E5Scale",
            "Scale",
            "scale<float>",
        ),
        ("_ZTSZ4fillDv4_fE9UltraE2ab", "UltraE2ab", "fill"),
        ("_ZTSZ9fillUltraDv4_fE6SCALE_", "SCALE_", "fillUltra"),
    ] {
        let found = parse(symbol).unwrap_or_else(|| panic!("{symbol}"));
        assert_eq!(found.qualified(), name, "{symbol}");
        assert!(found.lambdas.is_empty(), "{symbol}");
        assert_eq!(found.function.unwrap().qualified(), function, "{symbol}");
    }
    let inside = parse("_ZTSZZ4mainEN5Local3runEvEUlvE_").unwrap();
    assert_eq!(
        (&*inside.qualified(), inside.lambdas.len()),
        ("Local::run", 1)
    );
}

#[test]
fn source_is_no_part_of_a_name() {
    let with_source = |symbol: &str| {
        let name = parse(symbol).unwrap();
        (name.qualified(), name.lambdas.len(), name.source)
    };
    let heat = Some(String::from("heat"));
    let main = (String::from("main"), 1, heat.clone());
    assert_eq!(with_source("_ZTSZ4mainEUlvE_$heat"), main);
    let add = (String::from("ns::Add"), 0, heat);
    assert_eq!(with_source("_ZTSN2ns3AddE$heat"), add);
    assert_eq!(with_source("_ZTS3Add").2, None);
    let numbered = with_source("_ZTS3Add$heat_2").2;
    assert_eq!(numbered.as_deref(), Some("heat_2"));
    // Names of C++ with the mark.
    assert_eq!(parse("_ZTS5A$b_c"), None);
    assert_eq!(parse("a$b"), None);
    let function = parse("_ZN18__sycl_kernel_fill4iotaEfPfi$heat").unwrap();
    assert_eq!(function.qualified(), "fill::iota");
    assert_eq!(function.source.as_deref(), Some("heat"));
    assert_eq!(parse("__sycl_kernel_f$a").unwrap().base, "f");
    assert_eq!(
        parse("_ZTSZ4mainEUlvE_$heat"),
        parse(&crate::signature::mangled::with_source(
            "_ZTSZ4mainEUlvE_",
            "heat"
        ))
    );
}

#[test]
fn functions_and_values_are_template_arguments() {
    for (symbol, name, lambda) in [
        (
            "_ZTSZZL6binaryIXadL_ZL6op_mulffEEN4sycl3_V16detail9half_impl4halfEEvRNS1_5queueEPKT0_S9_PS7_mENKUlRNS1_7handlerEE_clESC_EUlNS1_2idILi1EEEE_",
            "binary<&op_mul, sycl::half>",
            "",
        ),
        (
            "_ZTSZN6ScalesIN2q45BlockEXadL_ZNS0_3getERKS1_EEE5storeERN4sycl3_V15queueEPS2_PfmEUlNS6_2idILi1EEEE_",
            "Scales<q4::Block, &q4::get>::store",
            "",
        ),
        (
            "_ZTSZ5storeITnDaXadL_ZN6Tensor5countEEEEvRN4sycl3_V15queueEPKS0_PlEUlvE_",
            "store<&Tensor::count>",
            "",
        ),
        (
            "_ZTSZ1fIL_Z3addiiELf3fc00000ELd4000000000000000ELDnEEvvEUlvE_",
            "f<add, 1.5, 2, nullptr>",
            "",
        ),
        ("_ZTSZ1fIJXadL_Z3addiiEELi1EEEvvEUlvE_", "f<&add, 1>", ""),
        (
            "_ZTSZZ7genericRN4sycl3_V15queueEPiENKUlT_S2_E_clISt17integral_constantIiLi32EEEEDaS4_S2_EUlNS0_2idILi1EEEE_",
            "generic",
            "std::integral_constant<int, 32>",
        ),
        // An argument that is not readable leaves the names before it.
        ("_ZTSZN1a1bIXsrNS_1cE1dEEEvvEUlvE_", "a::b", ""),
    ] {
        let found = parse(symbol).unwrap_or_else(|| panic!("{symbol}"));
        let arguments = found
            .lambdas
            .iter()
            .flat_map(|lambda| &lambda.template_arguments);
        let arguments: Vec<CppType> = arguments.cloned().collect();
        assert_eq!(
            (&*found.qualified(), &*spelled(&arguments)),
            (name, lambda),
            "{symbol}"
        );
    }
}

#[test]
fn repeated_template_arguments_are_bounded() {
    let name = "x".repeat(1000);
    let repeated = |count| {
        parse(&format!(
            "_ZTSZ1fI1000{name}EvvE3MyKI{}E",
            "XT_E".repeat(count)
        ))
    };
    assert_eq!(repeated(20).unwrap().template_arguments.len(), 20);
    assert_eq!(repeated(5000), None);
    // A short symbol may expand less.
    let short = |count| parse(&format!("_Z1f200{}{}", &name[..200], "S_".repeat(count)));
    assert_eq!(short(100).unwrap().parameters.unwrap().len(), 101);
    assert_eq!(short(300).unwrap().parameters, None);
}
