// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses handwritten and compiler-generated PTX.

use super::*;
use alloc::format;
use alloc::string::ToString;

const TEXT: &[u8] = b"//\n// .entry no\n/* .entry no */\n.version 6.3\n.target sm_75\n\
    .visible .entry axpy(\n.param .u64 a\n)\n{ ret; }\n\
    .visible .entry axpy_with_offset(.param .u64 b, .param .align 4 .b8 c[12])\n{}\n.entry $weird_with_offset()\n{}";

fn kernels(bytes: &[u8]) -> Vec<String> {
    let kernels = Module::read(bytes).0.kernels;
    kernels.into_iter().map(|kernel| kernel.name).collect()
}

#[test]
fn ptx_kernels_are_entries_without_offset_variants() {
    assert!(is_ptx(TEXT));
    assert_eq!(kernels(TEXT), ["axpy", "$weird_with_offset"]);
}

#[test]
fn mentioned_version_does_not_make_text_ptx() {
    for text in [&b"x .version 1"[..], b"/* .version", b"= .version", b""] {
        assert!(!is_ptx(text));
    }
}

fn parameters(list: &str) -> Vec<Passed> {
    let text = format!(".version 6.3\n.entry k{list} {{ }}");
    let module = Module::read(text.as_bytes()).0;
    let all = module.kernel("k").unwrap().parameters.iter();
    all.map(|parameter| parameter.ty).collect()
}

#[test]
fn parameters_have_sizes_spaces_and_alignments() {
    let number = |kind, bits| Passed::Number { kind, bits };
    let pointer = |space, bits| Passed::Pointer { space, bits };
    for (list, expected) in [
        ("(.param .u32 a)", number(Kind::Unsigned, 32)),
        ("(.param .s16 a)", number(Kind::Signed, 16)),
        ("(.param .f64 a)", number(Kind::Float, 64)),
        ("(.param .b8 a)", number(Kind::Bits, 8)),
        ("(.param .u64 .ptr .align 1 a)", pointer(None, 64)),
        (
            "(.param .u64 .ptr .global .align 4 a)",
            pointer(Some(Space::Global), 64),
        ),
        (
            "(.param .u32 .ptr .shared a)",
            pointer(Some(Space::Shared), 32),
        ),
        (
            "(.param .align 8 .b8 a[32])",
            Passed::Bytes { size: 32, align: 8 },
        ),
        ("(.param .b32 a[3])", Passed::Bytes { size: 12, align: 4 }),
    ] {
        assert_eq!(parameters(list), [expected], "{list}");
    }
    assert_eq!(parameters(""), []);
    assert_eq!(parameters("()"), []);
    assert_eq!(parameters("(.param .u8 a, .param .u8 b)").len(), 2);
}

#[test]
fn unknown_parameters_keep_their_position() {
    let long = format!("(.param {} .u32 a)", ".align 4 ".repeat(100));
    for list in [
        "(.param .u128 a)",
        "(.param .f8 a)",
        "(.param a)",
        "(.param .u32)",
        "(.reg .u32 a)",
        "(.param .u8 .ptr a)",
        "(.param .b8 a[99999999999999999999])",
        "(.param .b64 a[4611686018427387904])",
        "(.param .b8 a[-1])",
        "(.param .b8 a[2][3])",
        "(.param .align 3 .b8 a[2])",
        "(.param .samplerref a)",
        // Only pointers and variables in functions have a space.
        "(.param .u64 .global a)",
        "(.param .b8 .global a[4])",
        &long,
    ] {
        assert_eq!(parameters(list), [Passed::Other], "{list}");
    }
    // A declaration may have 64 words.
    let padded = |end: &str| format!("(.param {} {end})", ".align 4 ".repeat(30));
    let pointer = Passed::Pointer {
        space: None,
        bits: 64,
    };
    assert_eq!(parameters(&padded(".u64 .ptr a")), [pointer]);
    assert_eq!(parameters(&padded(".u64 .ptr a x")), [Passed::Other]);
    let all = parameters("(, .param .u8 b)");
    assert_eq!((all.len(), all[0]), (2, Passed::Other));
}

#[test]
fn kernel_directives_and_real_names_are_read() {
    let text = b".version 6.3\n\
        .visible .entry k(.param .u32 k_param_0, .param .u32 count)\n.maxntid 64\n.minnctapersm 2\n\
        .maxnreg 32\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n.pragma \"a\", \"b\";\n.reqntid 8, 4\n{ }\n\
        .visible .entry declared(); .reqntid 8\n\
        .entry cut(.param .u32 a, .param";
    let module = Module::read(text).0;
    let kernel = module.kernel("k").unwrap();
    let names = kernel
        .parameters
        .iter()
        .map(|parameter| parameter.name.as_deref());
    assert!(names.eq([None, Some("count")]));
    assert_eq!(kernel.required_local_size, Some([8, 4, 1]));
    assert_eq!(module.kernel("declared").unwrap().required_local_size, None);
    assert_eq!(module.kernel("cut").unwrap().parameters.len(), 1);
    // At most 65 words of directives are read.
    for (count, expected) in [(31, Some([8, 1, 1])), (32, None), (33, None)] {
        let others = ".maxnreg 32 ".repeat(count);
        let text = format!(".version 6.3\n.entry k() {others} .reqntid 8 {{ }}");
        let module = Module::read(text.as_bytes()).0;
        let size = module.kernel("k").unwrap().required_local_size;
        assert_eq!(size, expected, "{count}");
    }
}

#[test]
fn parameters_lie_one_after_the_other_each_aligned() {
    let text = ".version 6.3\n.entry k(.param .u8 a, .param .f32 b, .param .align 16 .b8 c[20], \
        .param .u64 .ptr .global d, .param .samplerref e, .param .u8 f) { }";
    let module = Module::read(text.as_bytes()).0;
    let kernel = module.kernel("k").unwrap();
    let places = kernel.parameters.iter().map(|parameter| parameter.layout);
    let places: Vec<_> = places
        .map(|place| place.map(|place| (place.offset, place.size, place.align)))
        .collect();
    let expected = [(0, 1, 1), (4, 4, 4), (16, 20, 16), (40, 8, 8)].map(Some);
    assert_eq!(places, [&expected[..], &[None, None]].concat());
}

#[test]
fn version_and_target_are_read_or_errors() {
    let module = Module::parse(b"// made\n.version 8.0\n.target sm_90a, debug\n.address_size 64");
    let module = module.unwrap();
    assert_eq!(module.version, Version::new(8, 0));
    assert_eq!(module.target.to_string(), "sm_90a");
    for (text, offset, reason) in [
        (&b""[..], 0, "it does not begin with `.version`"),
        (b".target sm_80", 0, "it does not begin with `.version`"),
        (
            b".version eight\n.target sm_80",
            0,
            "its `.version` is not a version; expected a number such as 8.4",
        ),
        (
            b".version 8.0\n.target gfx9",
            12,
            "its `.target` is not an NVIDIA architecture; expected a name such as sm_80",
        ),
        (b".version 8.0\n", 13, "it has no `.target`"),
    ] {
        let error = Module::parse(text).unwrap_err();
        assert_eq!(error.offset(), offset, "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn offset_variant_must_also_take_the_offset() {
    let offset = ".param .align 4 .b8 o[12]";
    let text = format!(
        ".version 6.3\n.entry a(.param .u32 x) {{}}\n.entry a_with_offset(.param .u32 x, {offset}) {{}}\n\
        .entry b(.param .u32 x) {{}}\n.entry b_with_offset(.param .f32 x, {offset}) {{}}"
    );
    let kernels = Module::read(text.as_bytes()).0.kernels;
    let found = kernels.iter().map(|kernel| kernel.name.as_str());
    assert!(found.eq(["a", "b", "b_with_offset"]));
}

#[test]
fn missing_functions_are_imports_if_called() {
    let text = b".version 6.3\n.target sm_75\n\
        .extern .func (.param .b32 r) gone(.param .b64 x);\n\
        .extern .func unused();\n\
        .extern .func (.param .b32 r) vprintf(.param .b64 x, .param .b64 y);\n\
        .func (.param .b32 r) own(.param .b64 x);\n\
        .visible .func (.param .b32 r) given(.param .b64 x) .noreturn { ret; }\n\
        .visible .func declared();\n.weak .func weakly_declared();\n\
        .weak .func weakly_given() { ret; }\n\
        .visible .entry k() { call gone, (p); call own, (p); call (r), vprintf, (a, b); }\n\
        .func (.param .b32 r) own(.param .b64 x) { ret; }";
    let module = Module::parse(text).unwrap();
    assert_eq!(module.imports, ["gone"]);
    assert_eq!(module.exports, ["given", "weakly_given"]);
    assert_eq!(module.weak_exports, ["weakly_given"]);
}

#[test]
fn linkage_ends_with_its_declaration() {
    let text = b".version 6.3\n.target sm_75\n.visible .texref t;\n.func own() { ret; }\n\
        .visible .func given(.param .b64 x) .abi_preserve 8 { ret; }";
    let module = Module::parse(text).unwrap();
    assert_eq!(module.exports, ["given"]);
}

#[test]
fn first_of_equal_ptx_kernels_counts() {
    let text = b".version 6.3\n.target sm_75\n.entry k(.param .u32 a) { }\n.entry k() { }\n.entry";
    let module = Module::parse(text).unwrap();
    assert_eq!(module.kernels.len(), 1);
    assert_eq!(module.kernels[0].parameters.len(), 1);
}

#[test]
fn nested_blocks_belong_to_the_body() {
    let text = b".version 6.3\n.target sm_75\n.extern .func gone();\n\
        .entry k() { { { ret; } call l; } .entry no() { } call gone; }\n.entry l() { }";
    let module = Module::parse(text).unwrap();
    assert_eq!(kernels(text), ["k", "l"]);
    assert_eq!(module.imports, ["gone"]);
}

#[test]
fn dynamic_shared_memory_is_found_through_calls() {
    let text = b".version 6.3\n.extern .shared .align 4 .b8 mine_shared_mem[];\n\
        .extern .shared .align 16 .b8 scratch[];\n.shared .align 4 .b8 fixed[64];\n\
        .func inner() { mov.b64 %rd1, scratch; }\n.func outer() { call inner; }\n\
        .entry plain() { mov.b64 %rd1, fixed; }\n.entry direct() { mov.b64 %rd1, scratch; }\n\
        .entry through() { call outer; }\n.entry mine() { }";
    let kernels = Module::read(text).0.kernels;
    let found = kernels
        .iter()
        .map(|kernel| (kernel.name.as_str(), kernel.uses_dynamic_shared_memory));
    let expected = [
        ("plain", false),
        ("direct", true),
        ("through", true),
        ("mine", true),
    ];
    assert!(found.eq(expected));
    assert!(kernels.iter().all(|kernel| !kernel.uses_scratch_memory));
    let text = ".version 6.3\n.extern .shared .align 128 .b8 __sycl_dynamicLocalMemoryPlaceholder_GV[];\n\
        .func inner() { mov.b64 %rd1, __sycl_dynamicLocalMemoryPlaceholder_GV; }\n\
        .entry through() { call inner; }\n.entry plain() { }";
    let kernels = Module::read(text.as_bytes()).0.kernels;
    let found = kernels.iter().map(|kernel| {
        (
            kernel.uses_scratch_memory,
            kernel.uses_dynamic_shared_memory,
        )
    });
    assert!(found.eq([(true, true), (false, false)]));
}

#[test]
fn visible_variables_are_found_by_name() {
    let text = b".version 6.3\n.visible .global .align 8 .b8 table[24];\n\
        .weak .const .u32 a = 7, b = 8;\n.global .align 1 .b8 own[3] = {1, 2};\n\
        .visible .global .v4 .f32 grid[2][3] = {{0}, {1}};\n.extern .global .b8 other[];\n\
        .visible .global .align 8 .u64 pointer = generic(own)+8;\n\
        .visible .global .attribute(.managed) .align 4 .b8 managed[1];\n\
        .visible .global .align 8 .u64 addresses[2] = {table, own};";
    let variables = Module::read(text).0.variables;
    let expected = ["table", "a", "b", "grid", "pointer", "managed", "addresses"];
    assert_eq!(variables, expected);
}

#[test]
fn texts_and_sections_between_the_kernels_say_nothing() {
    let text = b".version 6.3\n.target sm_75\n.file 1 \"// .entry no.cpp\"\n\
        .section .debug_info { .b8 1 .entry }\n.entry k() { .pragma \"{\"; ret; }\n.entry l() {}";
    assert_eq!(kernels(text), ["k", "l"]);
}

#[test]
fn no_two_constants_have_one_variable() {
    let keys = ["a", "a.b", "a$2eb", "a$b", "a b", ""];
    let names: BTreeSet<String> = keys.iter().map(|key| constant_variable(key)).collect();
    assert_eq!(names.len(), keys.len());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_$".contains(&byte);
    assert!(names.iter().all(|name| name.bytes().all(plain)));
}
