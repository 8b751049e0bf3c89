// SPDX-License-Identifier: MIT OR Apache-2.0
//! Differences between the file of some stubs and another file, by what both record.

use syclbin::__private::mangled;
use syclbin::metadata::{
    DeviceGlobal, Property, SpecConstantDescriptor, SpecializationConstants, WorkGroupSize,
};
use syclbin::property::{key, set};
use syclbin::signature::{self, Signatures};
use syclbin::{AbstractModule, State, Syclbin};
use test_files::Declared;

use crate::variables::{module, spirv};

/// A module with a kernel.
fn kernel(symbol: &str, declaration: &str, definitions: &[&str]) -> AbstractModule<'static> {
    let mut module = AbstractModule::default();
    module.add_kernel_name(symbol.to_owned());
    let declared = Declared::default().kernel(symbol, declaration);
    declared.types(definitions).record(&mut module);
    module
}

/// A module with a kernel that has this declaration and is `extern "C"`.
fn c(declaration: &str, definitions: &[&str]) -> AbstractModule<'static> {
    let name = declaration.split_once('(').unwrap().0;
    let name = name.strip_prefix("void ").unwrap();
    let symbol = format!("{}{name}", mangled::KERNEL_PREFIX);
    kernel(&symbol, declaration, definitions)
}

fn file(modules: Vec<AbstractModule<'static>>) -> Signatures {
    let mut file = Syclbin::new(State::Executable);
    file.modules = modules;
    signature::kernels(&file).unwrap()
}

fn differences(stubs: &Signatures, file: &Signatures) -> Vec<String> {
    let found = stubs.differences(file).into_iter();
    found.map(|difference| difference.to_string()).collect()
}

/// What differs where a kernel has one declaration in the stubs and another in the file.
fn declared(stubs: &str, other: &str) -> Vec<String> {
    differences(&file(vec![c(stubs, &[])]), &file(vec![c(other, &[])]))
}

#[test]
fn every_difference_is_listed_kernel_by_kernel() {
    let stubs = file(vec![
        c("void scale(float *x, float factor, unsigned int n)", &[]),
        c("void fill(int *out)", &[]),
        c("void sum(const int *in)", &[]),
    ]);
    let other = file(vec![
        c("void sum(const int *in, int n)", &[]),
        c("void scale(float *x, double factor, int n)", &[]),
        c("void more(int n)", &[]),
    ]);
    assert_eq!(
        differences(&stubs, &other),
        [
            "kernel scale: parameter 1 `factor`: expected `float`, found `double`",
            "kernel scale: parameter 2 `n`: expected `unsigned int`, found `int`",
            "kernel fill is missing; expected `void fill(int *out)`",
            "kernel sum: expected `void sum(const int *in)`, found `void sum(const int *in, int n)`",
        ]
    );
    let none: &[&str] = &[];
    assert_eq!(differences(&stubs, &stubs), none);
}

#[test]
fn renamed_parameters_and_typedefs_are_allowed() {
    let none: &[&str] = &[];
    let found = declared("void f(float a, long n)", "void f(float b, long long m)");
    assert_eq!(found, none);
}

#[test]
fn kernel_may_write_only_through_mutable_stubs() {
    let none: &[&str] = &[];
    assert_eq!(declared("void f(float *x)", "void f(const float *x)"), none);
    assert_eq!(
        declared("void f(const float *x)", "void f(float *x)"),
        ["kernel f: parameter 0 `x`: expected read-only access, found write access"]
    );
}

#[test]
fn types_of_parameters_are_spelled() {
    for (stubs, other) in [
        ("sycl::vec<float, 4>", "sycl::vec<float, 2>"),
        ("float *", "double *"),
        ("void *", "float *"),
        ("bool", "signed char"),
        (
            "sycl::local_accessor<float, 1>",
            "sycl::local_accessor<float, 2>",
        ),
        ("sycl::sampler", "float"),
        (
            "sycl::accessor<sycl::vec<int, 4>, 2, sycl::access_mode::read, sycl::target::image>",
            "sycl::accessor<sycl::vec<int, 4>, 3, sycl::access_mode::read, sycl::target::image>",
        ),
        (
            "sycl::accessor<sycl::vec<int, 4>, 2, sycl::access_mode::write, sycl::target::image>",
            "sycl::accessor<sycl::vec<unsigned int, 4>, 2, sycl::access_mode::write, sycl::target::image>",
        ),
    ] {
        let parameter = |ty: &str| format!("void f({ty} x)");
        assert_eq!(
            declared(&parameter(stubs), &parameter(other)),
            [format!(
                "kernel f: parameter 0 `x`: expected `{stubs}`, found `{other}`"
            )]
        );
    }
}

#[test]
fn sizes_of_work_group_memory_are_compared() {
    let of = |count| {
        format!("void f(sycl::ext::oneapi::experimental::work_group_memory<int[{count}]> x)")
    };
    let text = "kernel f: parameter 0 `x`: expected `work_group_memory<int[4]>`, found `work_group_memory<int[8]>`";
    assert_eq!(declared(&of(4), &of(8)), [text]);
    let none: &[&str] = &[];
    assert_eq!(declared(&of(4), &of(4)), none);
}

#[test]
fn equal_objects_do_not_differ() {
    let none: &[&str] = &[];
    for ty in [
        "sycl::accessor<sycl::vec<int, 4>, 2, sycl::access_mode::read, sycl::target::image>",
        "sycl::accessor<int, 2, sycl::access_mode::read>",
        "sycl::local_accessor<int, 0>",
        "sycl::sampler",
    ] {
        let text = format!("void f({ty} x)");
        assert_eq!(declared(&text, &text), none);
    }
}

#[test]
fn unknown_signs_fit_integers_of_one_size() {
    let of = |ty: &str, sign_known: bool| {
        let mut found = file(vec![c(&format!("void f({ty} x)"), &[])]);
        let parameters = found.kernels[0].parameters.as_mut().unwrap();
        parameters[0].sign_known = sign_known;
        found
    };
    for (ty, fits) in [
        ("unsigned int", true),
        ("float", false),
        ("unsigned short", false),
    ] {
        for known in [false, true] {
            let found = differences(&of("int", known), &of(ty, !known));
            assert_eq!(found.is_empty(), fits, "{found:?}");
            let found = differences(&of(ty, !known), &of("int", known));
            assert_eq!(found.is_empty(), fits, "{found:?}");
        }
    }
    assert_eq!(
        differences(&of("int", true), &of("unsigned int", true)).len(),
        1
    );
    // Variables are compared alike.
    let mut stubs = variables("int", "short[2]");
    stubs.constants[0].sign_known = false;
    let none: &[&str] = &[];
    let other = variables("unsigned int", "short[2]");
    assert_eq!(differences(&stubs, &other), none);
    assert_eq!(differences(&other, &stubs), none);
}

#[test]
fn members_of_structs_are_compared() {
    let of = |definition: &str| file(vec![c("void f(S *x)", &[definition])]);
    let own = "struct S { int a; /* 0 */ int b; /* 4 */ } /* size 12, align 4 */";
    for (from, to) in [
        (" int b; /* 4 */", ""),
        ("int b; /* 4 */", "int b; /* 4 */ int c; /* 8 */"),
        ("size 12", "size 16"),
        ("int b", "int c"),
        ("int b; /* 4 */", "int b; /* 8 */"),
        ("int b", "float b"),
    ] {
        let other = own.replace(from, to);
        let expected = format!("kernel f: parameter 0 `x`: expected `{own}`, found `{other}`");
        assert_eq!(differences(&of(own), &of(&other)), [expected]);
    }
    let none: &[&str] = &[];
    assert_eq!(differences(&of(own), &of(own)), none);
}

/// Code does not tell whether a member has a sign.
#[test]
fn signs_of_members_may_be_unknown() {
    let name: Vec<u8> = b"struct.S".iter().copied().chain([0; 4]).collect();
    let name = name.as_chunks().0.iter();
    let name = name.map(|word| u32::from_le_bytes(*word));
    let name = [vec![5, 30], name.collect()].concat();
    let code = spirv(&[
        &name,
        &[21, 20, 32, 0],
        &[30, 30, 20],
        &[32, 2, 5, 30],
        &[54, 1, 99, 0, 8],
        &[55, 2, 10],
    ]);
    let code = file(vec![module(Some(code))]);
    for (member, fits) in [("unsigned int", true), ("int", true), ("float", false)] {
        let text = format!("struct S {{ {member} _; /* 0 */ }} /* size 4, align 4 */");
        let declared = file(vec![kernel("k", "void k(S *x)", &[&text])]);
        let found = differences(&declared, &code);
        assert_eq!(found.is_empty(), fits, "{found:?}");
        let found = differences(&code, &declared);
        assert_eq!(found.is_empty(), fits, "{found:?}");
    }
}

#[test]
fn names_of_enumerations_and_array_counts_are_compared() {
    let enums = &["enum Mode : int;", "enum Kind : int;"];
    let of = |ty: &str| file(vec![c(&format!("void f({ty} x)"), enums)]);
    for (own, other) in [
        ("Mode", "Kind"),
        ("Mode *", "Kind *"),
        ("sycl::marray<float, 2>", "sycl::marray<float, 3>"),
    ] {
        let expected = format!("kernel f: parameter 0 `x`: expected `{own}`, found `{other}`");
        assert_eq!(differences(&of(own), &of(other)), [expected]);
        let none: &[&str] = &[];
        assert_eq!(differences(&of(own), &of(own)), none);
    }
}

#[test]
fn lambdas_are_found_by_their_lines() {
    let of = |symbol: &str, declaration: &str, line: &str| {
        let mut found = file(vec![kernel(symbol, declaration, &[])]);
        found.kernels[0].location = Some(line.into());
        found
    };
    let [first, second] = [0, 1].map(|n| format!("_ZTSZ4mainEUlvE{n}_"));
    let stubs = of(&first, "void main(int x)", "a.cpp:3");
    assert_eq!(
        differences(&stubs, &of(&second, "void main(int x)", "a.cpp:3")),
        [format!(
            "kernel main (a.cpp:3): expected `{first}`, found `{second}`"
        )]
    );
    assert_eq!(
        differences(&stubs, &of(&second, "void main(int x)", "a.cpp:4")),
        ["kernel main (a.cpp:3) is missing; expected `void main(int x)`"]
    );
    // The line of a function may change.
    let [stubs, moved] = ["a.cpp:3", "a.cpp:4"].map(|line| {
        let symbol = if line == "a.cpp:3" { "_Z1fi" } else { "_Z1fj" };
        of(symbol, "void f(int x)", line)
    });
    assert_eq!(
        differences(&stubs, &moved),
        ["kernel f: expected `_Z1fi`, found `_Z1fj`"]
    );
}

#[test]
fn unreadable_kernel_has_its_reason() {
    let found = declared("void f(float x)", "void f(Unknown x)");
    assert_eq!(
        found,
        [
            "kernel f: expected `void f(float x)`, found an unreadable declaration (parameter x: the layout \
             of `Unknown` is unknown)"
        ]
    );
    // Nor has it a stub.
    let none: &[&str] = &[];
    assert_eq!(declared("void f(Unknown x)", "void f(float x)"), none);
}

#[test]
fn innermost_definition_that_differs_is_shown() {
    const OUTER: &str =
        "struct Outer { Inner in[2]; /* 0 */ Mode mode; /* 16 */ } /* size 20, align 4 */";
    const INNER: &str = "struct Inner { int a; /* 0 */ float b; /* 4 */ } /* size 8, align 4 */";
    const MOVED: &str = "struct Inner { float b; /* 0 */ int a; /* 4 */ } /* size 8, align 4 */";
    const MODE: &str = "enum Mode : unsigned char;";
    const WIDE: &str = "enum Mode : short;";
    let of = |inner, mode| {
        let definitions = &[OUTER, inner, mode];
        file(vec![
            c("void f(Outer o)", definitions),
            c("void g(const Outer *o)", definitions),
        ])
    };
    let stubs = of(INNER, MODE);
    let lines = |other: &str, own: &str| {
        ["f", "g"].map(|kernel| {
            format!("kernel {kernel}: parameter 0 `o`: expected `{own}`, found `{other}`")
        })
    };
    assert_eq!(differences(&stubs, &of(MOVED, MODE)), lines(MOVED, INNER));
    let enums = ["enum Mode : short", "enum Mode : unsigned char"];
    assert_eq!(
        differences(&stubs, &of(INNER, WIDE)),
        lines(enums[0], enums[1])
    );
}

#[test]
fn pointee_without_definition_is_no_match() {
    let stubs = &["struct P { int a; /* 0 */ } /* size 4, align 4 */"];
    let stubs = file(vec![c("void f(P *x)", stubs)]);
    let other = file(vec![c("void f(P *x)", &[])]);
    assert_eq!(
        differences(&stubs, &other),
        ["kernel f: parameter 0 `x`: expected `P *`, found `P * /* definition unknown */`"]
    );
}

#[test]
fn symbol_that_contains_the_types_is_found() {
    let of = |symbol: &str, declaration: &str| file(vec![kernel(symbol, declaration, &[])]);
    let stubs = of("_ZN16__sycl_kernel_ns1fEf", "void ns::f(float x)");
    assert_eq!(
        differences(
            &stubs,
            &of("_ZN16__sycl_kernel_ns1fEd", "void ns::f(double x)")
        ),
        ["kernel ns::f: parameter 0 `x`: expected `float`, found `double`"]
    );
    let (long, longer) = ("_ZN16__sycl_kernel_ns1fEl", "_ZN16__sycl_kernel_ns1fEx");
    assert_eq!(
        differences(
            &of(long, "void ns::f(long x)"),
            &of(longer, "void ns::f(long long x)")
        ),
        [format!("kernel ns::f: expected `{long}`, found `{longer}`")]
    );
}

#[test]
fn work_group_sizes_are_compared() {
    let of = |size: Option<[u32; 2]>| {
        let mut module = c("void f()", &[]);
        if let Some(size) = size {
            let value = WorkGroupSize::from_xyz(&size).unwrap().to_value();
            let name = format!("__sycl_kernel_f@{}", key::REQD_WORK_GROUP_SIZE);
            module.metadata.insert(set::PROGRAM_METADATA, name, value);
        }
        let declared = Declared::default().kernel("__sycl_kernel_f", "void f()");
        declared.record(&mut module);
        file(vec![module])
    };
    let [eight, four, any] = [Some([8, 2]), Some([4, 2]), None].map(of);
    assert_eq!(
        differences(&eight, &four),
        ["kernel f: expected work-groups of 2 x 8, found work-groups of 2 x 4"]
    );
    assert_eq!(
        differences(&any, &four),
        ["kernel f: expected work-groups of any size, found work-groups of 2 x 4"]
    );
}

#[test]
fn dimensions_are_compared_where_both_are_known() {
    let of = |dimensions| {
        let mut found = file(vec![c("void f()", &[])]);
        found.kernels[0].dimensions = dimensions;
        found
    };
    let [one, two, unknown] = [Some(1), Some(2), None].map(of);
    assert_eq!(
        differences(&one, &two),
        ["kernel f: expected 1 dimension, found 2 dimensions"]
    );
    let none: &[&str] = &[];
    assert_eq!(differences(&one, &unknown), none);
    assert_eq!(differences(&unknown, &two), none);
}

/// A file with a constant and a device global of four bytes, of these types.
fn variables(constant: &str, global: &str) -> Signatures {
    let mut module = AbstractModule::default();
    let mut constants = SpecializationConstants::default();
    let part = SpecConstantDescriptor {
        id: 0,
        offset: 0,
        size: 4,
    };
    constants.constants.insert("_ZN2ns6radiusE", vec![part]);
    constants.write(&mut module.metadata);
    let size = DeviceGlobal {
        size: 4,
        image_scope: false,
    };
    let sets = &mut module.metadata;
    sets.insert(set::DEVICE_GLOBALS, "_Z5table", size.to_value());
    let declared = Declared::default().variable("_ZN2ns6radiusE", constant);
    declared.variable("_Z5table", global).record(&mut module);
    file(vec![module])
}

#[test]
fn constants_and_globals_are_compared() {
    let stubs = variables("int", "short[2]");
    assert_eq!(
        differences(&stubs, &variables("float", "short[3]")),
        [
            "specialization constant ns::radius: expected `int`, found `float`",
            "device global table: expected `short[2]`, found an unreadable declaration (the size of `short[3]` is 6 \
             bytes, but the file records 4)",
        ]
    );
    assert_eq!(
        differences(&stubs, &file(Vec::new())),
        [
            "specialization constant ns::radius is missing; expected `int`",
            "device global table is missing; expected `short[2]`",
        ]
    );
    let none: &[&str] = &[];
    assert_eq!(differences(&stubs, &stubs), none);
}

#[test]
fn code_without_declarations_fits_its_declared_self() {
    let read = |bytes: &'static [u8]| syclbin::read::parse(bytes).unwrap();
    let recorded = read(test_files::bytes("vector_ops.object.syclbin"));
    let code = signature::kernels(&recorded).unwrap();
    let mut declared = recorded.clone();
    let saxpy = "void saxpy(float a, const float *x, float *y, unsigned int n)";
    let described = Declared::default().kernel("__sycl_kernel_saxpy", saxpy);
    described.record(&mut declared.modules[0]);
    let declared = signature::kernels(&declared).unwrap();
    let none: &[&str] = &[];
    assert_eq!(differences(&code, &declared), none);
    assert_eq!(differences(&declared, &code), none);
}
