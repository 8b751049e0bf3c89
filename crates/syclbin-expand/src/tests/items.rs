// SPDX-License-Identifier: MIT OR Apache-2.0
//! Items: the input that the macro accepts after the module, and the errors for everything else.

use super::contracts::{code, errors, input, recorded};
use super::*;

fn file() -> File {
    let particle = "struct Particle { float mass; /* 0 */ } /* size 4, align 4 */";
    let pair = "struct Pair<int, 2> { int a; /* 0 */ } /* size 4, align 4 */";
    recorded(
        &[
            "void k(int n)",
            "void l(int n)",
            "void p(Particle *x, Pair<int, 2> y)",
        ],
        &[particle, pair],
    )
}

#[track_caller]
fn assert_heads_with(items: &str, expected: &[&str]) {
    let (tokens, errors) = expand(&input(items), &file());
    assert_eq!(errors, [""; 0], "{items}");
    let parsed = syn::parse2::<syn::File>(tokens).unwrap();
    let code = prettyplease::unparse(&parsed);
    let heads = heads(&code);
    let heads: Vec<&str> = heads
        .iter()
        .filter_map(|h| h.split(['(', '<']).next())
        .collect();
    assert_eq!(heads, expected, "{items}");
}

#[test]
fn items_rename_and_select_kernels() {
    for (items, expected) in [
        ("", &["k", "l", "p"][..]),
        (";", &["k", "l", "p"]),
        ("fn k as other;", &["other", "l", "p"]),
        ("fn k as r#in;", &["r#in", "l", "p"]),
        ("safe fn k as where_;", &["where_", "l", "p"]),
        (
            "safe fn k as positive where n > 0;",
            &["positive", "l", "p"],
        ),
        ("fn k as l; fn l as k;", &["l", "k", "p"]),
        ("only { l }", &["l"]),
        ("only { k, l };", &["k", "l"]),
        ("skip { k }", &["l", "p"]),
        ("skip { k, } fn l as m;", &["m", "p"]),
    ] {
        assert_heads_with(items, expected);
    }
}

#[test]
fn items_choose_the_visibility() {
    for (item, expected) in [
        ("pub fn k;", "pubfnk("),
        ("pub(crate) fn k;", "pub(crate)fnk("),
        ("pub(crate) safe fn k;", "pub(crate)fnk("),
    ] {
        let code = code(item, &file());
        assert!(code.contains(expected), "{item}: {code}");
    }
}

#[test]
fn items_with_mistakes_are_errors() {
    const FORMS: &str = "expected `types { .. }`, `only { .. }`, ";
    const TYPE: &str = "expected `CppName => crate::RustType`, or `CppName as NewName`";
    const VISIBLE: &str = "expected `pub` or `pub(crate)`; other visibilities";
    const TWO_MODULES: &str = "an `include_syclbin!` generates a single module";
    const ONE_NAME: &str = "expected one Rust name";
    for (items, expected) in [
        ("skp { k }", FORMS),
        ("k;", FORMS),
        (",", FORMS),
        ("; ,", FORMS),
        ("what fn k as m;", FORMS),
        ("crate fn k as m;", FORMS),
        ("mod other = \"b\";", TWO_MODULES),
        ("pub mod other = \"b\";", TWO_MODULES),
        (
            "only { k } only { l }",
            "only one `only` or `skip` block is allowed",
        ),
        (
            "skip { k } skip { l }",
            "only one `only` or `skip` block is allowed",
        ),
        (
            "only {}",
            "name kernels between the braces, or remove `only`",
        ),
        (
            "skip { , }",
            "name kernels between the braces, or remove `skip`",
        ),
        (
            "only { k } fn l as m;",
            "`only` or `skip` excludes this kernel",
        ),
        (
            "skip { k } fn k as m;",
            "`only` or `skip` excludes this kernel",
        ),
        ("fn k;", "this item has no effect"),
        ("fn k as m", "expected `;` after this"),
        ("fn;", "expected the C++ name of a kernel"),
        ("fn k as;", "expected a Rust name after this"),
        ("fn k as a b;", ONE_NAME),
        ("fn k as 1;", ONE_NAME),
        (
            "fn k as in;",
            "`in` is a Rust keyword; write `r#in` or choose another name",
        ),
        (
            "fn k as self;",
            "`self` is not a valid Rust name; `self_` is",
        ),
        (
            "fn k as m; fn k as o;",
            "this kernel is already named in an item above",
        ),
        (
            "fn k as load;",
            "the generated module already defines `load`",
        ),
        (
            "fn k as r#load;",
            "the generated module already defines `load`",
        ),
        (
            "fn k as r#l;",
            "the kernels `k` and `l` would both be called `l`",
        ),
        (
            "fn k as FILE;",
            "the generated module already defines `FILE`",
        ),
        (
            "fn k as l;",
            "the kernels `k` and `l` would both be called `l`",
        ),
        (
            "fn z as m;",
            "`a.syclbin` has no kernel `z`; it has `k`, `l`, `p`",
        ),
        (
            "only { z }",
            "`a.syclbin` has no kernel `z`; it has `k`, `l`, `p`",
        ),
        ("pub(super) fn k;", VISIBLE),
        ("pub(self) fn k;", VISIBLE),
        ("pub(in crate::a) fn k;", VISIBLE),
        (
            "fn k where n > 0;",
            "only a `safe` kernel can have conditions; write `safe fn`",
        ),
        ("safe fn k where;", "expected conditions after `where`"),
        ("types { Particle }", TYPE),
        ("types { Particle => }", TYPE),
        ("types { Particle > Other }", TYPE),
        (
            "types { => crate::Particle }",
            "expected the C++ name of a struct",
        ),
        ("types { as Body }", "expected the C++ name of a struct"),
        ("types { Particle as }", "expected a Rust name after this"),
        (
            "types { Particle => Particle }",
            "the generated module uses this path",
        ),
        (
            "types { Particle => self::Particle }",
            "the generated module uses this path",
        ),
        (
            "types { Particle as Module }",
            "the generated module uses the name `Module`",
        ),
        (
            "types { Particle as A, Particle as B }",
            "this struct was already assigned a type above",
        ),
        (
            "types { Other as A }",
            "no kernel of this file has a parameter of this struct; the structs are `Pair<int, 2>`, `Particle`",
        ),
    ] {
        let errors = errors(items, &file());
        assert_eq!(errors.len(), 1, "{items}: {errors:?}");
        assert!(errors[0].starts_with(expected), "{items}: {errors:?}");
    }
}

#[test]
fn types_beside_a_mistake_count() {
    let items = "types { Particle, Pair<int, 2> as Two, Particle as }";
    let (code, errors) = expand(&format!("mod kernels = \"a\"; {items}"), &file());
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(code.to_string().contains("y : Two"), "{code}");
}

#[test]
fn types_are_replaced_or_renamed() {
    for (items, expected, other) in [
        ("", "DeviceSlice<Particle>", "y:Pair_int_2"),
        (
            "types { Particle => crate::Body }",
            "DeviceSlice<crate::Body>",
            "y:Pair_int_2",
        ),
        (
            "types { Particle => ::a::Body }",
            "DeviceSlice<::a::Body>",
            "y:Pair_int_2",
        ),
        (
            "types { Particle as Body }",
            "DeviceSlice<Body>",
            "y:Pair_int_2",
        ),
        (
            "types { Pair<int, 2> => crate::Pair, Particle as Body }",
            "DeviceSlice<Body>",
            "y:crate::Pair",
        ),
    ] {
        let code = code(items, &file());
        assert!(code.contains(expected), "{items}: {code}");
        assert!(code.contains(other), "{items}: {code}");
    }
}

#[test]
fn size_constants_yield_to_other_items() {
    let kernels = ["void sum(int n)", "void SUM_LOCAL_SIZE(Unknown x)"];
    let mut file = recorded(&kernels, &[]);
    file.signatures.kernels[0].required_local_size = Some(vec![64]);
    let code = code("", &file);
    assert!(code.contains("pubfnSUM_LOCAL_SIZE<T0>("), "{code}");
    assert!(code.contains("pubconstSUM_LOCAL_SIZE_:[usize;1]"), "{code}");
}

#[test]
fn a_file_without_kernels_or_structs_says_so() {
    let file = file_of(Vec::new());
    for (items, expected) in [
        (
            "fn k as m;",
            "`a.syclbin` has no kernel `k`; it contains no kernels: in its C++ source, write SYCLBIN_KERNEL(1) before \
             a function",
        ),
        (
            "types { A as B }",
            "no kernel of this file has a struct parameter",
        ),
    ] {
        assert_eq!(errors(items, &file), [expected]);
    }
}

#[test]
fn an_arrow_does_not_end_template_arguments() {
    let file = file_of(Vec::new());
    let errors = errors("only { f<&A::operator->, 2>, g }", &file);
    assert_eq!(errors.len(), 2, "{errors:?}");
}

#[test]
fn errors_about_items_precede_those_about_the_selection() {
    let errors = errors("only { z, k } fn l; fn y as m;", &file());
    let expected = [
        "this item has no effect",
        "`a.syclbin` has no kernel `y`",
        "`a.syclbin` has no kernel `z`",
        "`only` or `skip` excludes this kernel",
    ];
    assert_eq!(errors.len(), expected.len(), "{errors:?}");
    for (error, start) in errors.iter().zip(expected) {
        assert!(error.starts_with(start), "{errors:?}");
    }
}
