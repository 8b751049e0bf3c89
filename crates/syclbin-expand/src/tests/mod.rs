// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generated code, as text and as parsed by `syn`. The integration tests compile it.

use proc_macro2::TokenStream;
use quote::quote;
use syclbin::__private::mangled;
use syclbin::signature::{
    Access, Argument, Declaration, Element, KernelSignature, Parameter, Pointee, Scalar,
    Signatures, Type,
};
use syclbin::{AbstractModule, State, Syclbin};

use crate::file::File;
use crate::input::Input;
use crate::module;

mod alignment;
mod contracts;
mod cpp_names;
mod files;
mod items;
mod lambdas;
mod limits;
mod structs;
mod stubs;
mod subobjects;
mod variables;

/// Returns the formatted code for these kernels. Panics if the code is not valid Rust.
fn expanded(kernels: Vec<KernelSignature>) -> String {
    formatted(&file_of(kernels))
}

fn file_of(kernels: Vec<KernelSignature>) -> File {
    let mut signatures = Signatures::default();
    signatures.kernels = kernels;
    File {
        path: Some(quote!("a.syclbin")),
        name: "a.syclbin".into(),
        size: 0,
        signatures,
        aspects: std::collections::BTreeMap::new(),
    }
}

fn formatted(file: &File) -> String {
    let (tokens, errors) = expand("pub mod kernels = \"a\";", file);
    assert!(errors.is_empty(), "{errors:?}");
    let parsed = syn::parse2::<syn::File>(tokens.clone());
    prettyplease::unparse(&parsed.unwrap_or_else(|error| panic!("{error}: {tokens}")))
}

/// Returns the generated code for `input`, and the errors.
fn expand(input: &str, file: &File) -> (TokenStream, Vec<String>) {
    let (input, mut errors) = Input::parse(input.parse().unwrap()).unwrap();
    let code = module::expand(&input, file, &mut errors);
    let errors = errors.into_iter().flatten();
    (code, errors.map(|error| error.to_string()).collect())
}

/// Returns a kernel with this symbol, whose parameters have these names and the type `int`.
fn kernel(symbol: &str, parameters: &[&str]) -> KernelSignature {
    let parameters = parameters.iter().map(|name| {
        let mut parameter = Parameter::new(Type::Value(Element::Scalar(Scalar::I32)));
        parameter.name = Some((*name).to_owned()).filter(|name| !name.is_empty());
        parameter
    });
    let mut kernel = KernelSignature::new(symbol, Ok(parameters.collect()));
    kernel.dimensions = Some(1);
    kernel
}

/// Returns a kernel whose declaration comes from its mangled symbol.
fn declared(symbol: &str) -> KernelSignature {
    let mut module = AbstractModule::default();
    module.add_kernel_name(symbol);
    let mut kernels = of_module(module);
    kernels.remove(0)
}

fn of_module(module: AbstractModule<'_>) -> Vec<KernelSignature> {
    let mut file = Syclbin::new(State::Executable);
    file.modules.push(module);
    let bytes = syclbin::write::to_vec(&file, syclbin::Container::default()).unwrap();
    let file = File::parse(quote!("a"), "a.syclbin".into(), &bytes);
    file.unwrap().signatures.kernels
}

/// Returns the signatures of all generated functions, except for those that every module has.
fn heads(code: &str) -> Vec<String> {
    let code = code.replace('\n', " ");
    let mut heads: Vec<String> = code
        .split("pub fn ")
        .skip(1)
        .filter_map(|rest| rest.split_once(" -> ").map(|(head, _)| head))
        .filter(|head| {
            let own = [
                "best_device(",
                "build(",
                "build_kernels<",
                "builder(",
                "link(",
                "load(",
                "new(",
            ];
            !own.iter().any(|own| head.starts_with(own))
        })
        .map(|head| head.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for head in &mut heads {
        *head = head.replace("( ", "(").replace(", )", ")");
    }
    heads
}

#[track_caller]
fn assert_heads(kernels: Vec<KernelSignature>, expected: &[&str]) {
    let code = expanded(kernels);
    assert_eq!(heads(&code), expected, "{code}");
}

#[test]
fn every_testfile_expands_to_rust() {
    for (_, bytes) in test_files::reference() {
        formatted(&File::parse(quote!("a"), "a".into(), &bytes).unwrap());
    }
}

#[test]
fn size_of_the_file_is_checked() {
    for (_, bytes) in test_files::reference() {
        let file = File::parse(quote!("a"), "a".into(), &bytes).unwrap();
        let expected = format!("const BYTES: &[u8; {}]", bytes.len());
        assert!(formatted(&file).contains(&expected), "{expected}");
    }
}

#[test]
fn file_without_kernels_makes_module_without_methods() {
    assert_heads(Vec::new(), &[]);
}

#[test]
fn summaries_name_launches_and_structs() {
    let bytes = test_files::bytes("structs.object.syclbin");
    let outline = crate::outline(bytes, "structs.syclbin", "").unwrap();
    assert_eq!(outline.len(), 4);
    assert_eq!(
        outline[1..3],
        [
            "fn widen<'a>(&'a self, arg0: Span, arg1: &'a DeviceSlice<half::f16>, arg2: i32) -> Launch<'a, 3>",
            "struct Particle { field0: f32, field1: i32, field2: [f64; 3], field3: [f32; 4] }"
        ]
    );
    let stubs = crate::stubs(bytes).unwrap().into_iter();
    let stubs: Vec<_> = stubs.map(|stub| (stub.symbol, stub.function)).collect();
    let stub = |name: &str| (format!("__sycl_kernel_{name}"), Ok(name.to_owned()));
    assert_eq!(stubs, ["kinetic", "widen"].map(stub));
    let launches = crate::launches(bytes).unwrap();
    assert_eq!(launches.len(), 2);
    let expected = "/*\nlet arg0 = kernels::Particle {\n    field0: 0.0f32,\n    field1: 0i32,\n    field2: [0.0f64; 3],\n    \
        field3: [0.0f32; 4],\n    ..Default::default()\n};\nlet arg1 = queue.zeroed::<kernels::Particle>(1024)?;\n\
        let mut arg2 = queue.zeroed::<f32>(1024)?;\nlet arg3 = 0i64;\n\
        unsafe { kernels.kinetic(arg0, &arg1, &mut arg2, arg3).launch(1024)? };\n*/\n";
    assert_eq!(launches[0], expected);
}

/// `syclbin-build` writes such a file on docs.rs.
#[test]
fn items_may_name_what_was_not_compiled() {
    let mut file = syclbin::Syclbin::new(syclbin::State::Executable);
    let items = "types { Particle => crate::Particle } only { saxpy } \
        unsafe extern \"SYCL\" { safe fn saxpy where x.len() >= n; }";
    let source = |file: &syclbin::Syclbin<'_>| {
        let bytes = syclbin::write::to_vec(file, syclbin::Container::default()).unwrap();
        crate::source(&bytes, "saxpy.syclbin", items)
    };
    assert_eq!(source(&file).unwrap_err().len(), 3);
    let placeholder = syclbin::property::set::PLACEHOLDER;
    file.global.insert(placeholder, "reason", "a test");
    let code = source(&file).unwrap();
    assert!(code.contains("pub struct Module"), "{code}");
}

#[test]
fn a_kernel_without_parameters_takes_nothing() {
    assert_heads(vec![kernel("__sycl_kernel_store", &[])], &["store(&self)"]);
}

#[test]
fn keywords_are_raw_or_get_an_underscore() {
    assert_heads(
        vec![
            kernel("__sycl_kernel_move", &["fn", "gen", "type"]),
            kernel("__sycl_kernel_self", &["self", "Self", "crate", "_"]),
        ],
        &[
            "r#move(&self, r#fn: i32, r#gen: i32, r#type: i32)",
            "self_(&self, self_: i32, Self_: i32, crate_: i32, __: i32)",
        ],
    );
}

#[test]
fn kernels_do_not_hide_generated_names() {
    assert_heads(
        vec![
            kernel("__sycl_kernel_load", &[]),
            kernel("_ZN18__sycl_kernel_load3newEv", &[]),
            kernel("_ZN20__sycl_kernel_Module7KernelsEv", &[]),
            kernel("_ZN20__sycl_kernel_Module7Kernels1kEv", &[]),
        ],
        &["load_(&self)", "Kernels(&self)", "k(&self)", "new_(&self)"],
    );
}

#[test]
fn details_do_not_make_a_generated_name() {
    let of = |function: &str| {
        let length = function.len();
        kernel(&format!("_ZTSZ{length}{function}vE7kernels"), &["n"])
    };
    assert_heads(
        vec![of("build"), of("run")],
        &[
            "build_kernels_(&self, n: i32)",
            "run_kernels(&self, n: i32)",
        ],
    );
    let overload = |ty| declared(&format!("_Z18__sycl_kernel_load{ty}"));
    assert_heads(
        ["i", "f"].map(overload).to_vec(),
        &["load_int(&self, arg0: i32)", "load_float(&self, arg0: f32)"],
    );
}

#[test]
fn missing_file_matters_only_with_its_module() {
    let input = "#[cfg(feature = \"gpu\")] mod kernels = \"/nowhere.syclbin\";";
    let code = crate::include(input.parse().unwrap()).to_string();
    let code = code.replace(' ', "");
    let condition = "#[cfg(feature=\"gpu\")]";
    let start = format!("{condition}::core::compile_error!");
    assert!(code.starts_with(&start), "{code}");
    assert_eq!(code.matches("compile_error!").count(), 1, "{code}");
}

#[test]
fn namespace_does_not_hide_a_rust_type() {
    let code = expanded(vec![kernel("_ZN17__sycl_kernel_f323oneEi", &["a"])]);
    assert!(code.contains("pub f32: f32_::Kernels"), "{code}");
}

#[test]
fn namespace_does_not_hide_a_crate() {
    let code = expanded(vec![kernel("_ZN17__sycl_kernel_std3oneEi", &["a"])]);
    assert!(code.contains("pub std: std_::Kernels"), "{code}");
}

#[test]
fn parameters_do_not_shadow_constants_in_scope() {
    assert_heads(
        vec![kernel(
            "__sycl_kernel_k",
            &["SYCLBIN", "None", "Some", "Ok", "Err"],
        )],
        &["k(&self, SYCLBIN_: i32, None_: i32, Some_: i32, Ok_: i32, Err_: i32)"],
    );
}

#[test]
fn parameters_without_name_are_numbered() {
    let code = expanded(vec![kernel("__sycl_kernel_k", &["", "n", ""])]);
    assert_eq!(heads(&code), ["k(&self, arg0: i32, n: i32, arg2: i32)"]);
    assert!(code.contains(r#"&["arg0", "n", "arg2"]"#), "{code}");
}

#[test]
fn parameters_of_one_name_are_told_apart() {
    assert_heads(
        vec![kernel("__sycl_kernel_k", &["arg1", "", "x", "x"])],
        &["k(&self, arg1: i32, arg1_: i32, x: i32, x_: i32)"],
    );
}

#[test]
fn overloads_are_named_after_their_parameters() {
    assert_heads(
        vec![
            declared("_Z15__sycl_kernel_fPfi"),
            declared("_Z15__sycl_kernel_fPKhm"),
            declared("_Z15__sycl_kernel_gd"),
        ],
        &[
            "f_float_ptr<'a>(&'a self, arg0: &'a mut ::syclbin_rt::DeviceSlice<f32>, arg1: i32)",
            "f_const_unsigned_char_ptr<'a>(&'a self, arg0: &'a ::syclbin_rt::DeviceSlice<u8>, arg1: u64)",
            "g(&self, arg0: f64)",
        ],
    );
}

#[test]
fn instances_of_templates_are_named_after_their_arguments() {
    assert_heads(
        vec![
            declared("_Z19__sycl_kernel_scaleIiEvPT_S0_"),
            declared("_Z15__sycl_kernel_fIiLin4ELb1EEvT_"),
        ],
        &[
            "scale_int<'a>(&'a self, arg0: &'a mut ::syclbin_rt::DeviceSlice<i32>, arg1: i32)",
            "f_int_minus_4_true(&self, arg0: i32)",
        ],
    );
}

#[test]
fn kernel_without_readable_name_is_left_out() {
    let unreadable = "_ZTSZ4hostvE";
    let code = expanded(vec![
        kernel(unreadable, &[]),
        kernel("__sycl_kernel_9a", &[]),
    ]);
    assert_eq!(heads(&code), ["_9a(&self)"]);
    for expected in [
        "# Omitted",
        "`\"_ZTSZ4hostvE\"`: its symbol contains no valid Rust name",
    ] {
        assert!(code.contains(expected), "{code}");
    }
}

#[test]
fn kernel_with_unsupported_parameter_is_left_out() {
    let code = expanded(vec![declared("_Z15__sycl_kernel_f8ParticlePS_")]);
    assert!(
        code.contains("- `f`: parameter 0: the layout of `Particle` is unknown"),
        "{code}"
    );
}

#[test]
fn half_and_pointers_to_anything_are_passed() {
    assert_heads(
        vec![declared("_Z15__sycl_kernel_fPvPKvb")],
        &[
            "f<'a>(&'a self, arg0: &'a mut ::syclbin_rt::DeviceSlice<impl ::syclbin_rt::Pod>, \
           arg1: &'a ::syclbin_rt::DeviceSlice<impl ::syclbin_rt::Pod>, arg2: bool)",
        ],
    );
}

#[test]
fn deep_namespaces_are_nested_modules() {
    let nested = || {
        let symbol = format!("_ZN15__sycl_kernel_a{}1kEv", "1a".repeat(63));
        let code = expanded(vec![kernel(&symbol, &["n"])]);
        assert_eq!(code.matches("pub mod a {").count(), 64);
        assert_eq!(heads(&code), ["k(&self, n: i32)"]);
    };
    // rustc gives macros a stack of this size. The default for tests is too small for an unoptimized parser, which
    // parses the code again.
    let rustcs = std::thread::Builder::new().stack_size(8 << 20);
    rustcs.spawn(nested).unwrap().join().unwrap();
}

#[test]
fn odd_text_stays_inside_documentation() {
    let mut odd = kernel("__sycl_kernel_k", &["n"]);
    odd.declaration = Some(Declaration {
        name: "k\n```\n\"*/ }".into(),
        parameters: Vec::new(),
    });
    assert_heads(vec![odd, kernel("a\"b\n`", &[])], &["k(&self, n: i32)"]);
}

#[test]
fn names_outside_of_ascii_are_kept() {
    assert_heads(
        vec![kernel("__sycl_kernel_gr\u{f6}\u{df}e", &["\u{3b1}"])],
        &["gr\u{f6}\u{df}e(&self, \u{3b1}: i32)"],
    );
}

#[test]
fn a_recorded_declaration_tells_unsigned_from_signed() {
    let symbol = "__sycl_kernel_saxpy";
    let mut module = AbstractModule::default();
    module.add_kernel_name(symbol);
    let text = "void saxpy(float a, const float *x, float *y, unsigned int n)";
    let declared = test_files::Declared::default().kernel(symbol, text);
    declared.record(&mut module);
    let code = expanded(of_module(module));
    let expected = "saxpy<'a>(&'a self, a: f32, x: &'a ::syclbin_rt::DeviceSlice<f32>, \
        y: &'a mut ::syclbin_rt::DeviceSlice<f32>, n: u32)";
    assert_eq!(heads(&code), [expected]);
    assert!(code.contains(text), "the documentation shows it: {code}");
    assert!(!code.contains("taken for signed"), "{code}");
}

#[test]
fn a_sign_that_is_not_known_is_said() {
    let mut unsure = kernel("__sycl_kernel_k", &["n", ""]);
    for parameter in unsure.parameters.as_mut().unwrap() {
        parameter.sign_known = false;
    }
    let code = expanded(vec![unsure]);
    let text = code.replace("\n", " ").replace("        /// ", "");
    assert!(text.contains("treated as signed: `n`, `arg1`"), "{code}");
}

#[test]
fn every_type_has_a_rust_type() {
    let types = [
        (Scalar::Bool, "bool", "u8"),
        (Scalar::I8, "i8", "i8"),
        (Scalar::U8, "u8", "u8"),
        (Scalar::I16, "i16", "i16"),
        (Scalar::U16, "u16", "u16"),
        (Scalar::I32, "i32", "i32"),
        (Scalar::U32, "u32", "u32"),
        (Scalar::I64, "i64", "i64"),
        (Scalar::U64, "u64", "u64"),
        (Scalar::F32, "f32", "f32"),
        (Scalar::F64, "f64", "f64"),
    ];
    for (scalar, value, element) in types {
        let mut one = kernel("__sycl_kernel_k", &["v", "r", "w"]);
        let parameters = one.parameters.as_mut().unwrap();
        parameters[0].ty = Type::Value(Element::Scalar(scalar));
        for (index, access) in [(1, Access::Read), (2, Access::ReadWrite)] {
            let pointee = scalar;
            parameters[index].ty = Type::Pointer {
                pointee: Pointee::Element(Element::Scalar(pointee)),
                access,
            };
        }
        let expected = format!(
            "k<'a>(&'a self, v: {value}, r: &'a ::syclbin_rt::DeviceSlice<{element}>, \
             w: &'a mut ::syclbin_rt::DeviceSlice<{element}>)"
        );
        assert_heads(vec![one], &[&expected]);
    }
}

#[test]
fn the_users_documentation_stands_alone() {
    let file = file_of(Vec::new());
    for (attribute, summary) in [("/// Mine.", false), ("#[cfg(any())]", true), ("", true)] {
        let input = format!("{attribute}\nmod kernels = \"a\";");
        let code = expand(&input, &file).0.to_string();
        let head = code.split("mod kernels").next().unwrap();
        assert_eq!(
            head.contains("The kernels of `a.syclbin`."),
            summary,
            "{head}"
        );
    }
}
