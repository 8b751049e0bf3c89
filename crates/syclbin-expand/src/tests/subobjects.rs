// SPDX-License-Identifier: MIT OR Apache-2.0
//! Terms of conditions: which number of the launch they read, and which mistakes are reported.

use super::contracts::{code, errors, recorded};
use super::*;

const GRID: &str = "struct Grid { int pad; /* 0 */ short sizes[3]; /* 4 */ bool on; /* 10 */ } /* size 12, align 4 */";
const WORLD: &str = "struct World { float g; /* 0 */ Grid grids[2]; /* 4 */ int _; /* 28 */ } /* size 32, align 4 */";

fn file() -> File {
    let kernel = "void k(int *x, World w, sycl::vec<short, 4> v, Mode m, bool b, float f, \
        sycl::accessor<int, 2, sycl::access_mode::read> a, sycl::sampler s, int n, int)";
    let (grid, world) = (GRID, WORLD);
    recorded(
        &[kernel, "void none()"],
        &["enum Mode : unsigned char;", grid, world],
    )
}

const BOUNDS: &str = "x.len() >= 4, a.size(0) >= 4, a.size(1) >= 4";

#[test]
fn terms_read_numbers_of_the_launch() {
    let file = file();
    for (condition, expected) in [
        ("n > 1", "given.number::<i32>(8,0),1i128"),
        ("arg9 > 1", "given.number::<i32>(9,0),1i128"),
        ("m > 1", "given.number::<u8>(3,0),1i128"),
        ("v[2] > 1", "given.number::<i16>(2,4),1i128"),
        ("w.grids[1].pad > 1", "given.number::<i32>(1,16),1i128"),
        ("w.grids[1].sizes[2] > 1", "given.number::<i16>(1,24),1i128"),
        (
            "(w.grids)[0].sizes[0] > 1",
            "given.number::<i16>(1,8),1i128",
        ),
        ("w.field2 > 1", "given.number::<i32>(1,28),1i128"),
        ("x.len() > 5", "given.len::<i32>(0),5i128"),
        ("x.align() > 5", "given.align(0),5i128"),
        ("a.len() > 5", "given.len::<i32>(6),5i128"),
        ("a.align() > 5", "given.align(6),5i128"),
        ("a.size(1) > 5", "given.extent(6,1),5i128"),
        ("range.items() > 5", "given.items(),5i128"),
        ("range.dimensions() > 1", "given.dimensions(),1i128"),
        ("range[1] > 5", "given.size(1),5i128"),
        ("n > i8::MIN", "given.number::<i32>(8,0),-128i128"),
    ] {
        let code = code(&format!("safe fn k where {condition}, {BOUNDS};"), &file);
        assert!(code.contains(expected), "{condition}: {code}");
    }
}

#[test]
fn arithmetic_is_done_on_numbers() {
    let file = file();
    let number = |text: &str| format!("::syclbin_rt::__private::Number::from({text})");
    let n = number("given.number::<i32>(8,0)");
    let (two, zero) = (number("2i128"), number("0i128"));
    for (side, expected) in [
        ("n + 2", format!("{n}+{two}")),
        ("n - 2", format!("{n}-{two}")),
        ("n * 2", format!("{n}*{two}")),
        ("n / 2", format!("{n}/{two}")),
        ("n % 2", format!("{n}%{two}")),
        ("-n", format!("({zero}-{n})")),
        ("2 * (n + 2)", format!("{two}*({n}+{two})")),
        ("2 - -n", format!("{two}-({zero}-{n})")),
        ("(n) + 2", format!("{n}+{two}")),
    ] {
        let code = code(&format!("safe fn k where 7 > {side}, {BOUNDS};"), &file);
        assert!(
            code.contains(&format!(",7i128,{expected},)")),
            "{side}: {code}"
        );
    }
}

#[test]
fn relations_are_those_of_the_condition() {
    let file = file();
    for (relation, expected) in [
        ("<", "Less"),
        ("<=", "LessOrEqual"),
        ("==", "Equal"),
        ("!=", "NotEqual"),
        (">=", "GreaterOrEqual"),
        (">", "Greater"),
    ] {
        let items = format!("safe fn k where n {relation} 7 && {BOUNDS};");
        let found = errors(&items, &file);
        assert_eq!(found, [""; 0], "{items}");
        let code = code(&items, &file);
        let check = format!(
            "{{text:\"n{relation}7\",argument:::core::option::Option::Some(8),left:\"n\",\
             relation:::syclbin_rt::__private::Relation::{expected},right:\"7\",}}"
        );
        assert!(code.contains(&check), "{relation}: {code}");
    }
}

#[test]
fn a_buffer_is_blamed_before_a_number() {
    let file = file();
    for (condition, expected) in [
        ("n < x.len()", "Some(0)"),
        ("n < x.align()", "Some(0)"),
        ("n < a.size(0)", "Some(6)"),
        ("n < m", "Some(8)"),
        ("range[0] < m", "Some(3)"),
        ("range[0] < 7", "None"),
    ] {
        let code = code(&format!("safe fn k where {condition}, {BOUNDS};"), &file);
        let text: String = condition.split_whitespace().collect();
        let expected = format!("text:\"{text}\",argument:::core::option::Option::{expected},");
        assert!(code.contains(&expected), "{condition}: {code}");
    }
}

#[test]
fn wrong_conditions_are_reported() {
    const TERMS: &str = "a contract knows integer parameters";
    const FORM: &str = "expected a comparison of integers";
    const NAMES: &str = "the kernel has no parameter of this name; it has `x`, `w`, `v`, `m`, `b`, \
        `f`, `a`, `s`, `n`, `arg9`";
    let file = file();
    for (condition, expected) in [
        ("w.grids[0].nope > 0", "no member `nope`: struct Grid {"),
        ("n.x > 0", "`.x` needs a struct, and this is not one"),
        ("n[0] > 0", "this is not an array"),
        ("v[4] > 0", "there are 4 elements, counted from 0"),
        ("w.grids[2].pad > 0", "there are 2 elements, counted from 0"),
        (
            "v['a'] > 0",
            "an element is named by its number, counted from 0",
        ),
        ("v[n] > 0", TERMS),
        ("w.0 > 0", TERMS),
        ("w.grids > 0", "this is not an integer: it is `Grid[2]`"),
        ("b > 0", "this is a `bool`; contracts compare integers"),
        (
            "w.grids[0].on > 0",
            "this is a `bool`; contracts compare integers",
        ),
        ("f > 0", "this is a `f32`; contracts compare integers"),
        (
            "x > 0",
            "`x` is a buffer; what it holds is not known at launch",
        ),
        (
            "a > 0",
            "`a` is a buffer; what it holds is not known at launch",
        ),
        ("s > 0", "`s` is not an integer"),
        ("z > 0", NAMES),
        ("z.len() > 0", NAMES),
        ("z.align() > 0", NAMES),
        ("z.size(0) > 0", NAMES),
        ("arg8 > 0", NAMES),
        ("range > 0", "the range of the launch is `range.items()`"),
        ("n.len() > 0", "this has no length: it is not a buffer"),
        ("n.align() > 0", "this has no alignment: it is not a buffer"),
        ("x.size(0) > 0", "this has no sizes: it is not an accessor"),
        (
            "a.size(2) > 0",
            "the accessor has 2 dimensions, counted from 0",
        ),
        ("a.size(n) > 0", TERMS),
        (
            "range[3] > 0",
            "a range has three dimensions at most: 0, 1 and 2",
        ),
        ("range[n] > 0", TERMS),
        ("x.len(1) > 0", TERMS),
        ("x.len::<u8>() > 0", TERMS),
        ("x.items() > 0", TERMS),
        ("x.dimensions() > 0", TERMS),
        ("f(n) > 0", TERMS),
        ("!n > 0", TERMS),
        ("(n & 1) > 0", TERMS),
        ("1.5 > n", TERMS),
        ("i32::BITS > n", TERMS),
        ("a::b::c > n", TERMS),
        ("n", FORM),
        ("n = 1", FORM),
        ("n + 1", FORM),
        ("n > 0 || n < 0", FORM),
        ("n > 0 && n", FORM),
        ("n >", FORM),
        ("in > 0", "`in` is a keyword of Rust; write `r#in`"),
    ] {
        let errors = errors(&format!("safe fn k where {condition}, {BOUNDS};"), &file);
        assert_eq!(errors.len(), 1, "{condition}: {errors:?}");
        assert!(errors[0].starts_with(expected), "{condition}: {errors:?}");
    }
    let none = errors("safe fn none where n > 0;", &file);
    assert_eq!(none, ["the kernel has no parameters"]);
}

#[test]
fn all_mistakes_of_a_contract_are_reported() {
    let found = errors("safe fn k where n, m, z > y, x.len() >= 1;", &file());
    assert_eq!(found.len(), 2, "{found:?}");
    let found = errors("safe fn k where z > y;", &file());
    // The errors are about the names `z` and `y`, and about missing bounds on `x` and `a`.
    assert_eq!(found.len(), 4, "{found:?}");
}
