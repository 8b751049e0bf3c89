// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contracts: what the generated closure reads, and which contracts are errors.

use proc_macro2::{Group, TokenStream, TokenTree};

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
    File::parse(quote!("a.syclbin"), "a.syclbin".into(), &bytes).unwrap()
}

pub(super) fn errors(items: &str, file: &File) -> Vec<String> {
    expand(&format!("mod kernels = \"a\"; {items}"), file).1
}

/// Returns the generated code for `items`, without white space.
#[track_caller]
pub(super) fn code(items: &str, file: &File) -> String {
    let (code, errors) = expand(&format!("mod kernels = \"a\"; {items}"), file);
    assert_eq!(errors, [""; 0]);
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
    // The offset is 4 for `g`, 12 for the first grid, 4 for `pad`, 4 for two sizes. The user's type does not
    // matter.
    assert!(code.contains("given.number::<i16>(1,24)"), "{code}");
    assert!(code.contains("given.number::<u32>(1,4)"), "{code}");
}

#[test]
fn macro_expression_in_condition_stays_one_operand() {
    let file = recorded(&["void k(int *x, int n)"], &[]);
    let difference: TokenStream = "10 - n".parse().unwrap();
    let group = TokenTree::from(Group::new(proc_macro2::Delimiter::None, difference));
    let input = quote!(mod kernels = "a"; safe fn k where x.len() >= 100 - #group;);
    let (input, mut errors) = Input::parse(input).unwrap();
    let code = module::expand(&input, &file, &mut errors).to_string();
    assert!(errors.is_empty());
    assert!(code.contains("x.len() >= 100 - (10 - n)"), "{code}");
    let code: String = code.split_whitespace().collect();
    assert!(
        code.contains("Number::from(100i128)-(::syclbin_rt::__private::Number::from(10i128)-"),
        "{code}"
    );
}

#[test]
fn number_of_unknown_sign_fits_both_readings() {
    let mut file = recorded(&["void k(int *x, int n, unsigned int m)"], &[]);
    let parameters = file.signatures.kernels[0].parameters.as_mut().unwrap();
    parameters[1].sign_known = false;
    let code = code(
        "safe fn k where x.len() >= n, x.len() >= n * 2, x.len() >= m;",
        &file,
    );
    // Each appears once in the documentation and once in the check.
    assert_eq!(code.matches("n>=0").count(), 2, "{code}");
    assert_eq!(code.matches("m>=0").count(), 0, "{code}");
    let unsure = code.find("\"n>=0\"").unwrap();
    assert!(unsure < code.find("\"x.len()>=n\"").unwrap(), "{code}");
}

#[test]
fn implied_and_written_condition_is_checked_once() {
    let mut file = recorded(&["void k(int n)"], &[]);
    file.signatures.kernels[0].parameters.as_mut().unwrap()[0].sign_known = false;
    assert_eq!(
        code("safe fn k where n >= 0;", &file)
            .matches("\"n>=0\"")
            .count(),
        1
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
            code.contains(&format!("given.number::<u8>(0,{offset})")),
            "{code}"
        );
    }
    assert_eq!(code.matches("given.number").count(), 3, "{code}");
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
        errors[0].contains("`m` holds more `bool`s than"),
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
        "the accessor has 2 dimensions, counted from 0"
    );
    assert_eq!(
        errors("w.size(0) >= 4").first().unwrap(),
        "this has no sizes: it is not an accessor"
    );
}

#[test]
fn dimension_beyond_work_group_is_an_error() {
    let mut file = recorded(&["void k(int *x)"], &[]);
    file.signatures.kernels[0].required_local_size = Some(vec![4, 8]);
    let errors = |conditions: &str| errors(&format!("safe fn k where {conditions};"), &file);
    assert_eq!(errors("x.len() >= range[1]"), [""; 0]);
    assert_eq!(
        errors("x.len() >= range[2]"),
        ["no dimension 2: this kernel is compiled for work-groups of 2, counted from 0"]
    );
}

#[test]
fn condition_takes_numbers_as_large_as_kernels() {
    let file = recorded(&["void k(unsigned long n)"], &[]);
    let code = code(
        "safe fn k where n != 0xffff_ffff_ffff_ffff, n != -1;",
        &file,
    );
    assert!(code.contains("18446744073709551615i128"), "{code}");
}

#[test]
fn the_highest_dimension_named_is_the_last() {
    let file = recorded(&["void k(int *x, sycl::vec<int, 4> v)"], &[]);
    for (conditions, expected) in [
        ("x.len() >= range[0]", &[1][..]),
        ("x.len() >= 4 * range[1]", &[2]),
        ("x.len() >= range[0], range[2] > 1", &[3]),
        ("x.len() >= range[2], range[0] > 1", &[3]),
        ("x.len() >= -range[1], x.len() >= 4", &[2]),
        ("x.len() >= (range)[1]", &[2]),
        ("x.len() >= range[1] * range.items()", &[2]),
        ("x.len() >= range[1], range.dimensions() == 3", &[3]),
        ("x.len() >= range.items()", &[]),
        ("x.len() >= v[2], v[0] >= 0, v[2] >= 0", &[]),
    ] {
        let code = code(&format!("safe fn k where {conditions};"), &file);
        let text = |count: &usize| code.contains(&format!("\"range.dimensions()=={count}\""));
        let found: Vec<usize> = (1..=4).filter(text).collect();
        assert_eq!(found, expected, "{conditions}: {code}");
    }
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
        64
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
                "this kernel cannot be safe: `p` holds device pointers, and nothing checks where they point"
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
    assert!(!code.contains("given"), "{code}");
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
