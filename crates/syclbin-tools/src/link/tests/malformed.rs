// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

#[test]
fn damage_errors_name_module_and_problem() {
    let with = |opcode: u16, new: &[(u16, Vec<u32>)]| {
        let mut code = program();
        insert_after(&mut code, opcode, new);
        module(&code)
    };
    let call = |argument: u32| (op::FUNCTION_CALL, vec![1, 20, 11, argument]);
    let mut without_end = program();
    without_end.pop();
    let mut without_model = module(&program());
    without_model.drain(44..56);
    let other = module(&library(LINKAGE_EXPORT, integers()));
    for (damaged, problem) in [
        (module(&without_end), "a function has no end"),
        (without_model, "it has no memory model"),
        (
            with(op::LABEL, &[(op::FUNCTION, vec![1, 20, 0, 4])]),
            "a function is nested in another",
        ),
        (
            with(op::LABEL, &[call(100_000)]),
            "an id is not less than the bound",
        ),
        (
            with(op::LABEL, &[(op::LABEL, vec![13])]),
            "two instructions have the same result id",
        ),
        (
            with(op::TYPE_POINTER, &[(op::VARIABLE, vec![3, 40, 5, 77])]),
            "a declaration uses an id that is not declared",
        ),
        (
            with(op::TYPE_POINTER, &[(op::VARIABLE, vec![3, 40, 5, 12])]),
            "a declaration uses an id that is not declared",
        ),
        (
            with(op::TYPE_POINTER, &[(op::VARIABLE, vec![3, 40, 5, 0])]),
            "a declaration uses an id that is not declared",
        ),
        (
            with(op::LABEL, &[call(77)]),
            "an instruction uses an undefined id",
        ),
        (
            with(op::LABEL, &[call(12)]),
            "a function uses a value from another function",
        ),
    ] {
        let text = refused(&damaged, &[&other]);
        assert!(text.starts_with("a.cpp is damaged: "), "{text}");
        assert!(text.contains(problem), "{problem}: {text}");
        let text = refused(&other, &[&damaged]);
        assert!(text.starts_with("b.cpp is damaged: "), "{text}");
        assert!(text.contains(problem), "{problem}: {text}");
    }
}

#[test]
fn imports_precede_functions_with_code() {
    let mut code = program();
    let start = code.iter().position(|i| i.0 == op::FUNCTION).unwrap();
    // The import, which has three instructions, is declared last.
    code[start..].rotate_left(3);
    let code = linked(&module(&code), &[]).unwrap();
    let order = code
        .iter()
        .filter(|i| [op::FUNCTION, op::LABEL].contains(&i.0));
    let order: Vec<_> = order.map(|i| i.0).collect();
    assert_eq!(order, [op::FUNCTION, op::FUNCTION, op::LABEL]);
}
