// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contracts: what the generated closure reads, and which contracts are rejected.

use super::*;

/// Returns a file with these kernels and structs, as a build script records them.
pub(super) fn recorded(functions: &[&str], layouts: &[&str]) -> File {
    let mut module = AbstractModule::default();
    let mut declared = test_files::Declared::default().types(layouts);
    for text in functions {
        let symbol = format!("__sycl_kernel_{}", test_files::declaration(text).name);
        module.add_kernel_name(symbol.clone());
        declared = declared.kernel(&symbol, text);
    }
    declared.record(&mut module);
    let mut file = Syclbin::new(State::Executable);
    file.modules.push(module);
    let bytes = syclbin::write::to_vec(&file, syclbin::Container::default()).unwrap();
    let mut file = File::parse(quote!("a.syclbin"), "a.syclbin".into(), &bytes).unwrap();
    for kernel in &mut file.signatures.kernels {
        kernel.dimensions = Some(1);
    }
    file
}

/// Returns macro input with `items`, inside a contract block if they contain a contract.
pub(super) fn input(items: &str) -> String {
    if items.contains("safe fn") {
        format!("mod kernels = \"a\"; unsafe extern \"SYCL\" {{ {items} }}")
    } else {
        format!("mod kernels = \"a\"; {items}")
    }
}

pub(super) fn errors(items: &str, file: &File) -> Vec<String> {
    expand(&input(items), file).1
}

/// Returns the generated code for `items`, without whitespace.
#[track_caller]
pub(super) fn code(items: &str, file: &File) -> String {
    let (code, errors) = expand(&input(items), file);
    assert_eq!(errors, [""; 0], "{items}");
    code.to_string().split_whitespace().collect()
}

const GRID: &str =
    "struct Grid { unsigned int pad; /* 0 */ short sizes[3]; /* 4 */ } /* size 12, align 4 */";
const WORLD: &str =
    "struct World { float g; /* 0 */ Grid grids[2]; /* 4 */ } /* size 28, align 4 */";

#[test]
fn struct_numbers_use_cpp_offsets_and_types() {
    let file = recorded(&["void k(int *x, World w)"], &[GRID, WORLD]);
    let items = "types { World => crate::World } \
        safe fn k where x.len() >= w.grids[1].sizes[2], w.grids[0].pad > 0;";
    let code = code(items, &file);
    // The offset is the sum of 4 for `g`, 12 for the first grid, 4 for `pad`, and 4 for two sizes. The user's own type
    // does not matter.
    assert!(
        code.contains("given.number::<::core::primitive::i16>(1,24)"),
        "{code}"
    );
    assert!(
        code.contains("given.number::<::core::primitive::u32>(1,4)"),
        "{code}"
    );
}

#[test]
fn bool_in_struct_is_zero_or_one() {
    let flags = "struct Flags { int n; /* 0 */ bool on; /* 4 */ bool more[2]; /* 5 */ bool none[0]; /* 7 */ } \
        /* size 8, align 4 */";
    let file = recorded(&["void k(Flags f, bool plain, int *x)"], &[flags]);
    let code = code("safe fn k where x.len() >= 1;", &file);
    for (text, offset) in [("f.on", 4), ("f.more[0]", 5), ("f.more[1]", 6)] {
        assert!(code.contains(&format!("\"{text}<=1\"")), "{code}");
        assert!(
            code.contains(&format!(
                "given.number::<::core::primitive::u8>(0,{offset})"
            )),
            "{code}"
        );
    }
    // The code reads each number twice: in the check and in the report.
    assert_eq!(code.matches("given.number").count(), 6, "{code}");
}

#[test]
fn too_many_bools_are_a_fast_error() {
    let many = "struct Many { bool on[1099511627776]; /* 0 */ } /* size 1099511627776, align 1 */";
    let none = "struct None { bool on[0]; /* 0 */ } /* size 1, align 1 */";
    let nones = "struct Nones { None a[1099511627776]; /* 0 */ } /* size 1099511627776, align 1 */";
    let file = recorded(&["void k(Many m)", "void l(Nones n)"], &[many, none, nones]);
    let errors = errors("safe fn k; safe fn l;", &file);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].contains("`m` contains more `bool`s than"),
        "{errors:?}"
    );
}

#[test]
fn accessor_length_does_not_bound_its_rows() {
    let accessor = "void k(sycl::accessor<float, 2, sycl::access_mode::read> in, int w)";
    let file = recorded(&[accessor], &[]);
    let errors = |conditions: &str| errors(&format!("safe fn k where {conditions};"), &file);
    let first =
        "nothing bounds dimension 0 of `in`: add a condition such as `in.size(0) >= range[0]`";
    assert_eq!(errors("r#in.len() >= w"), [first]);
    let second = first.replace('0', "1");
    assert_eq!(errors("r#in.size(0) >= range[0]"), [second]);
    assert_eq!(errors("r#in.size(0) >= 4, r#in.size(1) >= w"), [""; 0]);
    assert_eq!(
        errors("r#in.size(2) >= 4").first().unwrap(),
        "expected a literal index below 2, because the accessor has 2 dimensions"
    );
}

#[test]
fn accessor_of_unknown_type_rules_out_safety() {
    let accessor = "void k(sycl::accessor<U, 1, sycl::access_mode::read_write> u)";
    let errors = errors(
        "safe fn k where u.len() >= range.items();",
        &recorded(&[accessor], &[]),
    );
    assert_eq!(
        errors,
        [
            "this kernel cannot be safe: the file does not record the element type of accessor `u`, so no condition \
             can bound its size in bytes; define the type in the source, or launch the kernel with `unsafe`"
        ]
    );
}

#[test]
fn bool_limit_of_a_launch_is_inclusive() {
    let flags = |count| {
        let layout =
            format!("struct Flags {{ bool on[{count}]; /* 0 */ }} /* size {count}, align 1 */");
        recorded(&["void k(Flags f)"], &[&layout])
    };
    assert_eq!(
        code("safe fn k;", &flags(64))
            .matches("given.number")
            .count(),
        2 * 64
    );
    assert_eq!(errors("safe fn k;", &flags(65)).len(), 1);
    assert_eq!(errors("safe fn k;", &flags(66)).len(), 1);
}

#[test]
fn a_kernel_that_takes_device_pointers_is_unsafe() {
    let span = "struct Span { float *data; /* 0 */ long n; /* 8 */ } /* size 16, align 8 */";
    let holder = "struct Holder { Span spans[2]; /* 0 */ } /* size 32, align 8 */";
    let empty = "struct Empty { float *none[0]; /* 0 */ int n; /* 0 */ } /* size 8, align 8 */";
    let file = recorded(
        &[
            "void a(Span p)",
            "void b(const Span *p)",
            "void c(Holder p)",
            "void d(float **p)",
            "void e(sycl::local_accessor<Span, 1> p)",
            "void f(sycl::ext::oneapi::experimental::work_group_memory<Span[4]> p)",
            "void g(Empty p)",
        ],
        &[span, holder, empty],
    );
    for kernel in ["a", "b", "c", "d", "e", "f"] {
        assert_eq!(
            errors(&format!("safe fn {kernel};"), &file),
            [
                "this kernel cannot be safe: `p` may contain device pointers, and nothing checks where they point"
            ],
            "{kernel}"
        );
    }
    assert_eq!(errors("safe fn g;", &file), [""; 0]);
}

#[test]
fn every_dimension_of_memory_needs_a_bound() {
    let file = recorded(
        &[
            "void a(sycl::local_accessor<float, 2> m)",
            "void b(sycl::local_accessor<float, 1> m)",
            "void c(sycl::ext::oneapi::experimental::work_group_memory<int[]> m)",
            "void d(sycl::ext::oneapi::experimental::work_group_memory<int[4]> m)",
            "void e(sycl::accessor<float, 3, sycl::access_mode::read> m)",
            "void f(int *m)",
            "void g(int m)",
        ],
        &[],
    );
    let one = "nothing bounds `m`: add a condition such as `m.len() >= range.items()`";
    let of = |dimension: u8| {
        format!(
            "nothing bounds dimension {dimension} of `m`: add a condition such as \
             `m.size({dimension}) >= range[{dimension}]`"
        )
    };
    for (item, expected) in [
        ("a", vec![of(0)]),
        ("a where m.size(0) >= 4", vec![of(1)]),
        ("a where m.len() >= 4", vec![of(0)]),
        ("a where m.size(0) >= 4, m.size(1) >= 4", vec![]),
        ("b", vec![one.into()]),
        ("b where m.len() >= 4", vec![]),
        ("b where m.size(0) >= 4", vec![]),
        ("c", vec![one.into()]),
        ("c where m.len() >= 4", vec![]),
        ("d", vec![]),
        ("e where m.size(0) >= 4, m.size(1) >= 4", vec![of(2)]),
        ("f", vec![one.into()]),
        ("g", vec![]),
    ] {
        assert_eq!(
            errors(&format!("safe fn {item};"), &file),
            expected,
            "{item}"
        );
    }
}

#[test]
fn a_removed_parameter_is_not_checked() {
    let mut file = recorded(&["void k(void *v, double *x)"], &[]);
    for parameter in file.signatures.kernels[0].parameters.as_mut().unwrap() {
        parameter.align = Some(128);
        parameter.arguments = vec![Argument::Removed];
    }
    let code = code("safe fn k;", &file);
    assert!(!code.contains("given."), "{code}");
}

#[test]
fn conditions_on_compiled_in_captures_are_refused() {
    let mut file = recorded(&["void k(int n, double *x)"], &[]);
    let kernel = &mut file.signatures.kernels[0];
    kernel.parameters.as_mut().unwrap()[0].arguments = vec![Argument::Removed];
    assert_eq!(errors("safe fn k where x.len() >= n;", &file), [""; 0]);
    // A lambda: C++ may have compiled in the value of a capture.
    file.signatures.kernels[0].symbol = "_ZTSZ4fillE1k".into();
    let errors = errors("safe fn k where x.len() >= n;", &file);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].starts_with("a condition on `n` has no effect"),
        "{errors:?}"
    );
}

#[test]
fn pointers_of_a_device_global_rule_out_safety() {
    let mut file = recorded(&["void k(int n)", "void l(int n)"], &[]);
    let global = |ty| syclbin::signature::DeviceGlobal {
        id: "_Z5table".into(),
        name: mangled::parse("_Z5table"),
        ty: Ok(ty),
        sign_known: true,
    };
    let pointer = Element::Pointer(Box::new(Pointee::Void));
    file.signatures
        .globals
        .push(global(Element::Scalar(Scalar::I32)));
    assert_eq!(errors("safe fn k;", &file), [""; 0]);
    file.signatures.globals.push(global(pointer));
    let errors = errors("safe fn k;", &file);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].starts_with("no kernel of this file can be safe: device global"));
}

#[test]
fn only_unsafe_blocks_have_contracts() {
    let file = recorded(&["void k(int n)"], &[]);
    let errors = |items: &str| expand(&format!("mod kernels = \"a\"; {items}"), &file).1;
    let remedy = "contracts belong in `unsafe extern \"SYCL\" { .. }`";
    for (items, expected) in [
        (
            "safe fn k;",
            "nothing checks that a kernel obeys its contract",
        ),
        (
            "safe fn k where n > 0;",
            "nothing checks that a kernel obeys its contract",
        ),
        ("extern \"SYCL\" { safe fn k; }", remedy),
        ("unsafe extern \"C\" { safe fn k; }", remedy),
        ("unsafe extern { safe fn k; }", remedy),
        ("unsafe { safe fn k; }", remedy),
    ] {
        let errors = errors(items);
        assert_eq!(errors.len(), 1, "{items}: {errors:?}");
        assert!(errors[0].starts_with(expected), "{items}: {errors:?}");
    }
    for items in [
        "unsafe extern \"SYCL\" { safe fn k; }",
        "unsafe extern \"SYCL\" { fn k as l; }",
        "unsafe extern \"SYCL\" { pub(crate) safe fn k as l where n > 0, n < 9; } skip {k2}",
    ] {
        let wrong = errors(items)
            .into_iter()
            .filter(|error| !error.contains("k2"));
        assert_eq!(wrong.collect::<Vec<_>>(), [""; 0], "{items}");
    }
}

#[test]
fn conditions_stand_outside_of_unsafe_blocks() {
    let file = recorded(&["void k(int *x, int n)"], &[]);
    let code = code("safe fn k where x.len() >= n;", &file);
    let check = code.find("mod__contract{").unwrap();
    let launch =
        code.find("unsafe{::syclbin_rt::SafeLaunch::with_contract(launch,__contract::__check)}");
    assert!(check < launch.unwrap(), "{code}");
}

#[test]
fn dimensions_are_the_range_of_the_launch() {
    let mut file = recorded(&["void k(int *x)"], &[]);
    let mut of = |dimensions, size: Option<Vec<u32>>, items: &str| {
        file.signatures.kernels[0].dimensions = dimensions;
        file.signatures.kernels[0].required_local_size = size;
        let code = code(items, &file);
        let launch = code.split("pubfnk<'a>(&'aself,").nth(1).unwrap();
        let ty = launch.split("->::syclbin_rt::").nth(1).unwrap();
        ty.split('{').next().unwrap().to_owned()
    };
    let safe = "safe fn k where x.len() >= 1;";
    assert_eq!(of(Some(0), None, ""), "Launch<'a,1,()>");
    assert_eq!(of(Some(0), None, safe), "SafeLaunch<'a,1,()>");
    for dimensions in 1..=3u8 {
        let range = format!("<'a,1,::syclbin_rt::NdRange<{dimensions}>>");
        assert_eq!(of(Some(dimensions), None, ""), format!("Launch{range}"));
        assert_eq!(
            of(Some(dimensions), None, safe),
            format!("SafeLaunch{range}")
        );
        let stated = format!("safe fn k where range.dimensions() == {dimensions}, x.len() >= 1;");
        assert_eq!(of(None, None, &stated), format!("SafeLaunch{range}"));
        assert_eq!(
            of(Some(dimensions), None, &stated),
            format!("SafeLaunch{range}")
        );
    }
    let task = "safe fn k where x.len() >= 1, range.dimensions() == 0;";
    assert_eq!(of(None, None, task), "SafeLaunch<'a,1,()>");
    let size = || Some(vec![4, 8]);
    assert_eq!(of(None, size(), ""), "Launch<'a,1,::syclbin_rt::Range<2>>");
    assert_eq!(
        of(Some(2), size(), safe),
        "SafeLaunch<'a,1,::syclbin_rt::Range<2>>"
    );
    // Without the file's dimensions, the code always records three sizes.
    assert_eq!(
        of(Some(1), Some(vec![64, 1, 1]), ""),
        "Launch<'a,1,::syclbin_rt::Range<1>>"
    );
    assert_eq!(of(None, None, ""), "Launch<'a,1>");
}

#[test]
fn contract_needs_the_kernels_dimensions() {
    let mut file = recorded(&["void k(int *x)"], &[]);
    let mut errors = |dimensions, conditions: &str| {
        file.signatures.kernels[0].dimensions = dimensions;
        errors(
            &format!("safe fn k where x.len() >= 4, {conditions};"),
            &file,
        )
    };
    let other = "its contract states 2 dimensions, but the kernel has 1";
    assert_eq!(errors(Some(1), "range.dimensions() == 2"), [other]);
    let unknown = "the file does not record how many dimensions this kernel has; ";
    for conditions in [
        "range[0] > 1",
        "range.dimensions() >= 1",
        "2 == range.dimensions()",
    ] {
        let found = errors(None, conditions);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(unknown), "{found:?}");
    }
    let beyond = |count: u8, s: &str| {
        format!(
            "expected a literal index below {count}, because the range has {count} dimension{s}"
        )
    };
    assert_eq!(errors(Some(1), "range[1] > 1"), [beyond(1, "")]);
    assert_eq!(
        errors(Some(2), "range[2] > 1, range[1] > 1"),
        [beyond(2, "s")]
    );
    assert_eq!(
        errors(None, "range[2] > 1, range.dimensions() == 2"),
        [beyond(2, "s")]
    );
    assert_eq!(errors(Some(0), "range[0] == 1"), [""; 0]);
}

#[test]
fn parameter_called_range_is_named_by_its_index() {
    let file = recorded(&["void fill(int *range, int n)"], &[]);
    let advice = "nothing bounds `arg0`: add a condition such as `arg0.len() >= range.items()`";
    assert_eq!(errors("safe fn fill;", &file), [advice]);
    let followed = "safe fn fill where arg0.len() >= range.items();";
    assert_eq!(errors(followed, &file), [""; 0]);
}

#[test]
fn optional_pointers_are_options() {
    let file = recorded(
        &["void k(const float *mask, float *x, int n, void *v)"],
        &[],
    );
    let code = code("fn k where mask: Option, x: Option, v: Option;", &file);
    for expected in [
        "mask:::core::option::Option<&'a::syclbin_rt::DeviceSlice<f32>>",
        "x:::core::option::Option<&'amut::syclbin_rt::DeviceSlice<f32>>",
        "v:::core::option::Option<&'amut::syclbin_rt::DeviceSlice<impl::syclbin_rt::Pod>>",
        "Arg::read_or_null(mask),::syclbin_rt::Arg::write_or_null(x)",
    ] {
        assert!(code.contains(expected), "{expected}: {code}");
    }
    let wrong = "only a pointer parameter can be an `Option`";
    assert_eq!(
        errors("fn k where n: Option, z: Option;", &file),
        [wrong, wrong]
    );
    let safe = "safe fn k where mask: Option, mask.is_none() || mask.len() >= n, x.len() >= n, v.len() > 0;";
    assert_eq!(errors(safe, &file), [""; 0]);
    assert_eq!(
        errors(
            "safe fn k where mask: Option, x.len() >= n, v.len() > 0;",
            &file
        ),
        ["nothing bounds `mask`: add a condition such as `mask.len() >= range.items()`"]
    );
}
