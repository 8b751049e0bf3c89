// SPDX-License-Identifier: MIT OR Apache-2.0
use super::inline;

/// Returns a text with a kernel that has `body`, and with `functions` after it.
fn text(body: &str, functions: &str) -> String {
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n\n.visible .entry kernel(\n\t.param .u64 \
         kernel_param_0\n)\n{{\n\t.reg .b32 \t%r<3>;\n\t.reg .b64 \t%rd<2>;\n\n{body}\tret;\n\n}}\n{functions}"
    )
}

/// Returns a call of `name` with a 32-bit number that returns a 32-bit number.
fn call(name: &str, argument: &str) -> String {
    format!(
        "\t{{ // callseq 0, 0\n\t.param .b32 \tparam0;\n\t.param .b32 \tretval0;\n\tst.param.b32 \t[param0], \
         {argument};\n\tcall.uni (retval0), {name}, (param0);\n\tld.param.b32 \t%r1, [retval0];\n\t}} // callseq 0\n"
    )
}

fn function(name: &str, body: &str) -> String {
    let head =
        format!(".func  (.param .b32 func_retval0) {name}(\n\t.param .b32 {name}_param_0\n)\n");
    format!("{head}{{\n\t.reg .pred \t%p<2>;\n\t.reg .b32 \t%r<3>;\n\n{body}\n}}\n")
}

const DOUBLE: &str = "\tld.param.b32 \t%r1, [twice_param_0];\n\tadd.s32 \t%r2, %r1, %r1;\n\tst.param.b32 \
                      \t[func_retval0], %r2;\n\tret;\n";

/// Returns the lines of the kernel, without surrounding white space.
fn kernel(text: &str) -> Vec<&str> {
    let start = text.find(".entry kernel").expect("a kernel");
    let body = &text[start..];
    let body = &body[body.find('{').unwrap() + 1..body.find("\n}").unwrap()];
    let lines = body.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with(".reg"))
        .collect()
}

#[test]
fn call_is_replaced_by_the_function_body() {
    let whole = inline(&text(&call("twice", "%r2"), &function("twice", DOUBLE)));
    assert_eq!(
        kernel(&whole),
        [
            "mov.b32 \t%r3, %r2;",
            "mov.b32 \t%r6, %r3;",
            "add.s32 \t%r7, %r6, %r6;",
            "mov.b32 \t%r4, %r7;",
            "mov.b32 \t%r1, %r4;",
            "ret;",
        ]
    );
    assert!(whole.contains("\t.reg .b32 \t%r<8>;\n"), "{whole}");
    assert!(
        !whole.contains("twice"),
        "nothing calls it any more: {whole}"
    );
}

#[test]
fn functions_that_others_see_or_name_stay() {
    let visible = format!(".visible {}", function("twice", DOUBLE));
    let whole = inline(&text(&call("twice", "%r2"), &visible));
    assert!(
        !whole.contains("call.uni") && whole.contains(".visible .func"),
        "{whole}"
    );
    let address = format!("{}\tmov.b64 \t%rd1, twice;\n", call("twice", "%r2"));
    let whole = inline(&text(&address, &function("twice", DOUBLE)));
    assert!(
        !whole.contains("call.uni") && whole.contains("\n.func "),
        "{whole}"
    );
}

#[test]
fn what_another_module_may_replace_is_called() {
    let weak = format!(".weak {}", function("twice", DOUBLE));
    let before = text(&call("twice", "%r2"), &weak);
    assert_eq!(inline(&before), before);
}

#[test]
fn inlined_returns_become_branches_to_new_labels() {
    let body = "\tld.param.b32 \t%r1, [early_param_0];\n\tsetp.eq.b32 \t%p1, %r1, 7;\n\t@%p1 bra \
                \t$L__BB1_2;\n\tst.param.b32 \t[func_retval0], 1;\n\tret;\n$L__BB1_2:\n\tst.param.b32 \
                \t[func_retval0], 2;\n\tret;\n";
    let twice = call("early", "%r2").repeat(2);
    let whole = inline(&text(&twice, &function("early", body)));
    let lines = kernel(&whole);
    let labels: Vec<_> = lines.iter().filter(|line| line.ends_with(':')).collect();
    assert_eq!(
        labels,
        [
            &"$L__inlined_1:",
            &"$L__inlined_2:",
            &"$L__inlined_3:",
            &"$L__inlined_4:"
        ]
    );
    let branches = |to: &str| {
        lines
            .iter()
            .filter(|line| line.ends_with(&format!("\t{to};")))
            .count()
    };
    for label in 1..=4 {
        assert_eq!(branches(&format!("$L__inlined_{label}")), 1, "{whole}");
    }
    assert_eq!(lines.iter().filter(|line| line.contains("ret;")).count(), 1);
}

#[test]
fn functions_within_functions_are_inlined_from_the_innermost() {
    let outer = format!(
        "\tld.param.b32 \t%r2, [outer_param_0];\n{}\tst.param.b32 \t[func_retval0], %r1;\n\tret;\n",
        call("twice", "%r2")
    );
    let functions = function("outer", &outer) + &function("twice", DOUBLE);
    let whole = inline(&text(&call("outer", "5"), &functions));
    assert!(
        !whole.contains("call") && !whole.contains(".func"),
        "{whole}"
    );
}

#[test]
fn functions_that_call_themselves_stay_calls() {
    let body = |callee: &str, name: &str| {
        format!(
            "\tld.param.b32 \t%r2, [{name}_param_0];\n{}\tst.param.b32 \t[func_retval0], %r1;\n\tret;\n",
            call(callee, "%r2")
        )
    };
    let functions =
        function("ping", &body("pong", "ping")) + &function("pong", &body("ping", "pong"));
    let before = text(&call("ping", "1"), &functions);
    assert_eq!(inline(&before), before);
}

#[test]
fn known_switch_drops_other_branches() {
    let body = "\tld.param.b32 \t%r1, [order_param_0];\n\tcvt.u64.u32 \t%rd1, %r1;\n\tand.b64 \t%rd2, %rd1, \
                3;\n\tmov.b64 \t%rd3, switch_$_table_$_order;\n\tadd.s64 \t%rd4, %rd3, %rd2;\n\tld.global.nc.b8 \
                \t%rs1, [%rd4];\n\tcvt.u32.u16 \t%r2, %rs1;\n\tsetp.gt.u32 \t%p1, %r2, 1;\n\t@%p1 bra \
                \t$L__BB1_4;\n\t$L_brx_0: .branchtargets\n\t\t$L__BB1_2,\n\t\t$L__BB1_3;\n\tbrx.idx \t%r2, \
                $L_brx_0;\n$L__BB1_2:\n\tfence.sc.gpu;\n\tbra.uni \t$L__BB1_4;\n$L__BB1_3:\n\tfence.sc.cta;\n\
                $L__BB1_4:\n\tret;\n";
    let order = format!(
        ".func order(\n\t.param .b32 order_param_0\n)\n{{\n\t.reg .pred \t%p<2>;\n\t.reg .b16 \t%rs<2>;\n\t.reg .b32 \
         \t%r<3>;\n\t.reg .b64 \t%rd<5>;\n{body}\n}}\n"
    );
    let table = ".global .align 1 .b8 switch_$_table_$_order[3] = {9, 0, 1};\n";
    let with = |argument: &str| {
        let call = format!(
            "\t{{ // callseq 0, 0\n\t.param .b32 \tparam0;\n\tst.param.b32 \t[param0], {argument};\n\tcall.uni \
             order, (param0);\n\t}} // callseq 0\n"
        );
        inline(&text(&call, &(table.to_owned() + &order)))
    };
    let kept = |argument: &str| -> Vec<String> {
        let whole = with(argument);
        let lines = kernel(&whole)
            .into_iter()
            .filter(|line| !line.starts_with("mov.b32"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(kept("2"), ["fence.sc.cta;", "ret;"]);
    assert_eq!(kept("5"), ["fence.sc.gpu;", "ret;"]);
    assert_eq!(kept("0"), ["ret;"]);
    let unknown = with("%r2");
    assert!(unknown.contains("fence.sc.cta") && unknown.contains("fence.sc.gpu"));
    assert!(
        unknown.contains(": .branchtargets $L__inlined_"),
        "{unknown}"
    );
}

/// Returns a function that takes a struct of two numbers, and a call of it with `passed`.
fn structs(passed: &str, body: &str) -> String {
    let call = format!(
        "\t{{ // callseq 0, 0\n\t.param .align 8 .b8 \tparam0[8];\n\t.param .b32 \tretval0;\n{passed}\tcall.uni \
         (retval0), sum, (param0);\n\tld.param.b32 \t%r1, [retval0];\n\t}} // callseq 0\n"
    );
    let head = ".func  (.param .b32 func_retval0) sum(\n\t.param .align 8 .b8 sum_param_0[8]\n)\n";
    let registers = "\t.reg .b32 \t%r<3>;\n\t.reg .b64 \t%rd<2>;\n";
    let function =
        format!("{head}{{\n{registers}{body}\tst.param.b32 \t[func_retval0], %r2;\n\tret;\n\n}}\n");
    inline(&text(&call, &function))
}

#[test]
fn parts_of_structs_become_registers() {
    let passed = "\tst.param.v2.b32 \t[param0], {%r1, 7};\n";
    let body = "\tld.param.b32 \t%r1, [sum_param_0+4];\n\tadd.s32 \t%r2, %r1, 1;\n";
    let whole = structs(passed, body);
    let lines = kernel(&whole);
    assert_eq!(
        lines[..4],
        [
            "mov.b32 \t%r3, %r1;",
            "mov.b32 \t%r4, 7;",
            "mov.b32 \t%r7, %r4;",
            "add.s32 \t%r8, %r7, 1;"
        ][..],
        "{whole}"
    );
    assert!(!whole.contains(".local"));
}

#[test]
fn structs_read_by_address_go_to_memory() {
    let passed = "\tst.param.b64 \t[param0], %rd1;\n";
    let body = "\tld.param.b32 \t%r1, [sum_param_0+4];\n\tadd.s32 \t%r2, %r1, 1;\n";
    let whole = structs(passed, body);
    assert!(
        whole.contains("\t.local .align 8 .b8 \t__inlined_memory_1[8];\n"),
        "{whole}"
    );
    let lines = kernel(&whole);
    assert!(
        lines.contains(&"st.local.b64 \t[__inlined_memory_1+0], %rd1;"),
        "{whole}"
    );
    assert!(
        lines.contains(&"ld.local.b32 \t%r5, [__inlined_memory_1+4];"),
        "{whole}"
    );
    let passed = "\tst.param.v2.b32 \t[param0], {%r1, 7};\n";
    let body = "\tmov.b64 \t%rd1, sum_param_0;\n\tld.local.b32 \t%r2, [%rd1+4];\n";
    let whole = structs(passed, body);
    let lines = kernel(&whole);
    let stored = "st.local.v2.b32 \t[__inlined_memory_1+0], {%r1, 7};";
    assert!(lines.contains(&stored), "{whole}");
    assert!(
        lines.contains(&"mov.b64 \t%rd3, __inlined_memory_1;"),
        "{whole}"
    );
}

#[test]
fn small_integers_are_truncated_and_extended() {
    let call = "\t{ // callseq 0, 0\n\t.param .b32 \tparam0;\n\t.param .b32 \tretval0;\n\tst.param.b8 \t[param0], \
                %r2;\n\tcall.uni (retval0), twice, (param0);\n\tld.param.s8 \t%r1, [retval0];\n\t} // callseq 0\n";
    let body = "\tld.param.b8 \t%r1, [twice_param_0];\n\tadd.s32 \t%r2, %r1, %r1;\n\tst.param.b8 \
                \t[func_retval0], %r2;\n\tret;\n";
    let whole = inline(&text(call, &function("twice", body)));
    assert_eq!(
        kernel(&whole),
        [
            "cvt.u16.u32 \t%rs1, %r2;",
            "cvt.u32.u8 \t%r4, %rs1;",
            "add.s32 \t%r5, %r4, %r4;",
            "cvt.u16.u32 \t%rs2, %r5;",
            "cvt.s32.s8 \t%r1, %rs2;",
            "ret;",
        ],
        "{whole}"
    );
}

#[test]
fn inlined_functions_keep_thread_memory_and_special_registers() {
    let body = "\tmov.b64 \t%SPL, __local_depot1;\n\tcvta.local.u64 \t%SP, %SPL;\n\tmov.u32 \t%r1, \
                %tid.x;\n\tst.local.b32 \t[%SPL+4], %r1;\n\tld.b32 \t%r2, [%SP+4];\n\tst.param.b32 \
                \t[func_retval0], %r2;\n\tret;\n";
    let head = ".func  (.param .b32 func_retval0) depot(\n\t.param .b32 depot_param_0\n)\n{\n";
    let memory = "\t.local .align 8 .b8 \t__local_depot1[16];\n\t.reg .b64 \t%SP, %SPL;\n\t.reg .b32 \
                  \t%r<3>;\n";
    let function = format!("{head}{memory}{body}\n}}\n");
    let whole = inline(&text(&call("depot", "1").repeat(2), &function));
    assert_eq!(
        whole
            .matches(".local .align 8 .b8 \t__local_depot1[16];")
            .count(),
        1,
        "{whole}"
    );
    assert!(
        whole.contains("%tid.x;") && !whole.contains("%SP"),
        "{whole}"
    );
}

#[test]
fn unknown_code_is_left_unchanged() {
    let odd = [
        "\t{\n\t.reg .b32 t;\n\tmov.b32 t, %r1;\n\t}\n",
        "\t{\n\t@%p1 bra \t$L__BB1_2;\n\t}\n",
        "\t}\n",
        "\tmov.b32 %r1, 1; mov.b32 %r2, 2;\n",
        "\t.shared .align 4 .b8 tile[16];\n",
        "\tmov.b64 \t%r2, func_retval0;\n",
        "\tld.param.b32 \t%r2, [func_retval0];\n",
    ];
    for odd in odd {
        let before = text(
            &call("twice", "%r2"),
            &function("twice", &format!("{odd}{DOUBLE}")),
        );
        assert_eq!(inline(&before), before, "{odd}");
    }
    let calls = [
        // the callee is only known when the kernel runs
        "\t{ // callseq 0, 0\n\t.param .b32 \tparam0;\n\tst.param.b32 \t[param0], 1;\n\tprototype_0 : .callprototype \
         _ (.param .b32 _);\n\tcall %rd1, (param0), prototype_0;\n\t} // callseq 0\n",
        // fewer arguments than parameters
        "\t{ // callseq 0, 0\n\tcall.uni twice, ();\n\t} // callseq 0\n",
        // the callee is defined elsewhere
        &call("another", "%r2"),
    ];
    for call in calls {
        let before = text(call, &function("twice", DOUBLE));
        assert_eq!(inline(&before), before, "{call}");
    }
    for before in [
        "",
        "no PTX",
        ".func x(\n",
        ".visible .entry kernel()\n{\n\tret;\n",
    ] {
        assert_eq!(inline(before), before);
    }
    let debugged =
        text(&call("twice", "%r2"), &function("twice", DOUBLE)) + "\t.section\t.debug_loc\t{\t}\n";
    assert_eq!(inline(&debugged), debugged);
}

#[test]
fn large_functions_are_inlined_if_called_once() {
    let body = "\tadd.s32 \t%r1, %r1, 1;\n".repeat(300);
    let large = function("twice", &format!("{body}{DOUBLE}"));
    let once = inline(&text(&call("twice", "%r2"), &large));
    assert!(!once.contains("call"));
    let before = text(&call("twice", "%r2").repeat(2), &large);
    assert_eq!(inline(&before), before);
}

#[test]
fn a_text_that_is_inlined_is_inlined_already() {
    let once = inline(&text(&call("twice", "%r2"), &function("twice", DOUBLE)));
    assert_eq!(inline(&once), once);
}

#[test]
fn inline_assembly_keeps_its_carries() {
    let body = "\tld.param.b32 \t%r1, [twice_param_0];\n\t// begin inline asm\n\t{\n\tadd.cc.u32 %r2, %r1, \
                -1;\n\taddc.u32 %r1, %r1, 0;\n\t}\n\t// end inline asm\n\tst.param.b32 \t[func_retval0], %r1;\n\tret;\n";
    let whole = inline(&text(&call("twice", "3"), &function("twice", body)));
    let lines = kernel(&whole);
    assert!(lines.contains(&"add.cc.u32 %r7, %r6, -1;"), "{whole}");
    assert!(lines.contains(&"addc.u32 %r6, %r6, 0;"), "{whole}");
}

#[test]
fn accesses_to_known_memory_name_its_state_space() {
    let call = "\tcvta.shared.u64 \t%rd1, %rd0;\n\t{ // callseq 0, 0\n\t.param .b64 \tparam0;\n\tst.param.b64 \
                \t[param0], %rd1;\n\tcall.uni touch, (param0);\n\t} // callseq 0\n";
    let head = ".func touch(\n\t.param .b64 touch_param_0\n)\n{\n\t.reg .b32 \t%r<4>;\n\t.reg .b64 \t%rd<5>;\n";
    let body = "\tld.param.b64 \t%rd1, [touch_param_0];\n\tadd.s64 \t%rd2, %rd1, 8;\n\tatom.relaxed.cta.add.u32 \
                \t%r1, [%rd2], 1;\n\tld.v2.b32 \t{%r2, %r3}, [%rd1+16];\n\tadd.s64 \t%rd3, %rd1, \
                %rd4;\n\tst.b32 \t[%rd3], %r2;\n\tld.global.b32 \t%r3, [%rd1];\n\tret;\n\n}\n";
    let whole = inline(&text(call, &format!("{head}{body}")));
    let lines = kernel(&whole);
    let has = |line: &str| assert!(lines.contains(&line), "{line} {whole}");
    has("cvta.to.shared.u64 \t%rd8, %rd5;");
    has("atom.relaxed.cta.shared.add.u32 \t%r4, [%rd8], 1;");
    has("ld.shared.v2.b32 \t{%r5, %r6}, [%rd9+16];");
    // A sum of two registers may point to another object, so its access stays generic. An access with an explicit
    // memory space stays too.
    has("st.b32 \t[%rd6], %r5;");
    has("ld.global.b32 \t%r6, [%rd4];");
}

#[test]
fn a_function_is_declared_before_it_is_called() {
    use super::sweep::is_declared;
    let (g, k) = (
        ".func g()\n{\n\tret;\n}\n",
        ".entry k()\n{\n\tcall.uni g, ();\n\tret;\n}\n",
    );
    assert!(is_declared(&format!("{g}{k}")));
    assert!(is_declared(&format!(".func g\n()\n;\n{k}{g}")));
    assert!(!is_declared(&format!("{k}{g}")));
}
