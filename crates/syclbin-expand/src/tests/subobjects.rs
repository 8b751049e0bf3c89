// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names in conditions: what they read from the launch, what a report shows, and which mistakes are errors.

use proc_macro2::{Delimiter, Group, TokenTree};

use super::contracts::{code, errors, recorded};
use super::*;

const GRID: &str = "struct Grid { int pad; /* 0 */ short sizes[3]; /* 4 */ bool on; /* 10 */ } /* size 12, align 4 */";
const WORLD: &str = "struct World { float g; /* 0 */ Grid grids[2]; /* 4 */ int self; /* 28 */ int _; /* 32 */ } \
    /* size 36, align 4 */";

fn file() -> File {
    let kernel = "void k(int *x, World w, sycl::vec<short, 4> v, Mode m, bool b, float f, \
        sycl::accessor<int, 2, sycl::access_mode::read> a, sycl::sampler s, int n, int, int self, int range, \
        const void *in)";
    let (grid, world) = (GRID, WORLD);
    let mut file = recorded(
        &[kernel, "void none()"],
        &["enum Mode : unsigned char;", grid, world],
    );
    file.signatures.kernels[0].dimensions = Some(3);
    file
}

const BOUNDS: &str = "x.len() >= 4, a.size(0) >= 4, a.size(1) >= 4, in.len() > 0, in.align() > 1";

#[test]
fn names_are_reads_of_the_launch() {
    let file = file();
    for (condition, expected) in [
        ("n > 1", "given.number::<::core::primitive::i32>(8,0)>1i128"),
        (
            "arg9 > 1",
            "given.number::<::core::primitive::i32>(9,0)>1i128",
        ),
        (
            "self > 1",
            "given.number::<::core::primitive::i32>(10,0)>1i128",
        ),
        (
            "arg11 > 1",
            "given.number::<::core::primitive::i32>(11,0)>1i128",
        ),
        ("m > 1", "given.number::<::core::primitive::u8>(3,0)>1i128"),
        ("b", "given.bool(4,0);"),
        ("f > 0.5", "given.value::<::core::primitive::f32>(5,0)>0.5;"),
        (
            "v[2] > 1",
            "given.number::<::core::primitive::i16>(2,4)>1i128",
        ),
        (
            "w.grids[1].pad > 1",
            "given.number::<::core::primitive::i32>(1,16)>1i128",
        ),
        (
            "w.grids[1].sizes[2] > 1",
            "given.number::<::core::primitive::i16>(1,24)>1i128",
        ),
        ("w.grids[0].on", "given.bool(1,14);"),
        (
            "w.self > 1",
            "given.number::<::core::primitive::i32>(1,28)>1i128",
        ),
        (
            "w.field3 > 1",
            "given.number::<::core::primitive::i32>(1,32)>1i128",
        ),
        (
            "w.self.min(n) > 1",
            "given.number::<::core::primitive::i32>(1,28).min(given.number::<::core::primitive::i32>(8,0))>1i128",
        ),
        ("x.len() > 5", "given.memory(0,4).len()>5i128"),
        ("in.len() > 5", "given.memory(12,1).len()>5i128"),
        ("r#in.len() > 5", "given.memory(12,1).len()>5i128"),
        ("x.align() > 5", "given.memory(0,4).align()>5i128"),
        ("x.is_some()", "given.memory(0,4).is_some();"),
        ("a.len() > 5", "given.accessor(6,4).len()>5i128"),
        ("a.size(1) > 5", "given.accessor(6,4).size(1)>5i128"),
        ("range.items() > 5", "given.range().items()>5i128"),
        ("range[1] > 5", "given.range()[1]>5i128"),
        (
            "n > i8::MIN",
            "given.number::<::core::primitive::i32>(8,0)>i8::MIN;",
        ),
        (
            "n < 0xffff_ffff_ffff_ffff",
            "given.number::<::core::primitive::i32>(8,0)<18446744073709551615i128",
        ),
        ("n < 7u8", "given.number::<::core::primitive::i32>(8,0)<7u8"),
        (
            "n < 0 || !(n * 2 >= -m)",
            "given.number::<::core::primitive::i32>(8,0)<0i128||!(given.number::<::core::primitive::i32>(8,0)*2i128>=-given.number::<::core::primitive::u8>(3,0))",
        ),
        (
            "matches(n, crate::N)",
            "matches(given.number::<::core::primitive::i32>(8,0),crate::N);",
        ),
        ("crate::n::x > 1", "crate::n::x>1i128"),
        ("crate::TABLE[3] > 1", "crate::TABLE[3]>1i128"),
        (
            "(0..n).len() > 1",
            "(0i128..given.number::<::core::primitive::i32>(8,0)).len()>1i128",
        ),
    ] {
        let code = code(&format!("safe fn k where {condition}, {BOUNDS};"), &file);
        let expected = expected.trim_end_matches(';');
        assert!(
            code.contains(&format!(
                "letholds=(||->::core::primitive::bool{{return{expected}"
            )),
            "{condition}: {code}"
        );
    }
}

#[test]
fn number_of_unknown_sign_fits_both_readings() {
    let mut file = recorded(&["void k(int *x, int n, unsigned int m)"], &[]);
    let parameters = file.signatures.kernels[0].parameters.as_mut().unwrap();
    parameters[1].sign_known = false;
    let code = code("safe fn k where x.len() >= n, x.len() >= m;", &file);
    assert!(
        code.contains("len()>=given.unsure::<::core::primitive::i32>(1,0)"),
        "{code}"
    );
    assert!(
        code.contains("len()>=given.number::<::core::primitive::u32>(2,0)"),
        "{code}"
    );
}

#[test]
fn report_names_each_number_once() {
    let file = file();
    for (condition, argument, values) in [
        ("n < x.len() && n > 2", "Some(0)", &["n", "x.len()"][..]),
        ("n < m", "Some(8)", &["n", "m"]),
        ("range[0] < m", "Some(3)", &["range[0]", "m"]),
        ("range.items() < 7", "None", &["range.items()"]),
        (
            "w.grids[1].pad * 2 > a.size(1)",
            "Some(6)",
            &["w.grids[1].pad", "a.size(1)"],
        ),
        ("w.self.min(3) > 2", "Some(1)", &["w.self"]),
    ] {
        let code = code(&format!("safe fn k where {condition}, {BOUNDS};"), &file);
        let text: String = condition.split_whitespace().collect();
        let report = format!("given.broken(\"{text}\",::core::option::Option::{argument},&[");
        let report = code
            .split(&report)
            .nth(1)
            .unwrap_or_else(|| panic!("{condition}: {code}"));
        let report = report.split("]));").next().unwrap();
        let shown: Vec<&str> = report.split('"').skip(1).step_by(2).collect();
        assert_eq!(shown, values, "{condition}");
    }
}

#[test]
fn names_of_the_user_are_in_scope() {
    let file = file();
    let plain = code(&format!("safe fn k where n > 1, {BOUNDS};"), &file);
    assert!(!plain.contains("usesuper"), "{plain}");
    let named = code(&format!("safe fn k where n > LIMIT, {BOUNDS};"), &file);
    assert!(named.contains("usesuper::super::*;"), "{named}");
}

#[test]
fn macro_expression_in_condition_stays_one_operand() {
    let file = recorded(&["void k(int *x, int n)"], &[]);
    let group = |text: &str| TokenTree::from(Group::new(Delimiter::None, text.parse().unwrap()));
    let (difference, x) = (group("10 - n"), group("x"));
    let input = quote! {
        mod kernels = "a";
        unsafe extern "SYCL" { safe fn k where #x.len() >= 100 - #difference; }
    };
    let mut file = file;
    file.signatures.kernels[0].dimensions = Some(1);
    let (input, mut errors) = Input::parse(input).unwrap();
    let code = module::expand(&input, &file, &mut errors).to_string();
    assert!(errors.is_empty(), "{errors:?}");
    assert!(code.contains("x.len() >= 100 - (10 - n)"), "{code}");
}

#[test]
fn wrong_conditions_are_reported() {
    const FORM: &str = "expected a Rust expression that is true or false";
    const RANGE: &str = "expected `range.items()`";
    let file = file();
    for (condition, expected) in [
        ("w.grids[0].nope > 0", "no member `nope` in `struct Grid {"),
        ("n.x > 0", "cannot access `.x`: `int` is not a struct"),
        ("n[0] > 0", "this is not an array"),
        ("v[4] > 0", "expected an index below 4"),
        ("w.grids[2].pad > 0", "expected an index below 2"),
        ("v['a'] > 0", "expected an index below 4"),
        ("v[n] > 0", "expected an index below 4"),
        ("w.grids > 0", "expected a number, found `Grid[2]`"),
        ("w > 0", "expected a number, found `World`"),
        ("s > 0", "a contract cannot read `s`"),
        ("range > 0", RANGE),
        ("range.len > 0", RANGE),
        (
            "range[3] > 0",
            "expected a literal index below 3, because the range has 3 dimensions",
        ),
        (
            "range[n] > 0",
            "expected a literal index below 3, because the range has 3 dimensions",
        ),
        (
            "a.size(2) > 0",
            "expected a literal index below 2, because the accessor has 2 dimensions",
        ),
        (
            "a.size(n) > 0",
            "expected a literal index below 2, because the accessor has 2 dimensions",
        ),
        ("n >", FORM),
        ("n > 0; n > 1", "expected `types { .. }`"),
        ("n > 0 n", FORM),
        (
            "n > 340282366920938463463374607431768211456",
            "number too large",
        ),
    ] {
        let errors = errors(&format!("safe fn k where {BOUNDS}, {condition};"), &file);
        assert_eq!(errors.len(), 1, "{condition}: {errors:?}");
        assert!(errors[0].starts_with(expected), "{condition}: {errors:?}");
    }
}

#[test]
fn all_mistakes_of_a_contract_are_reported() {
    let found = errors(
        "safe fn k where n.x > 1, s > 1, in.len() > 0, x.len() >= 1;",
        &file(),
    );
    // Two unknown names, and no bound for `a`.
    assert_eq!(found.len(), 3, "{found:?}");
}
