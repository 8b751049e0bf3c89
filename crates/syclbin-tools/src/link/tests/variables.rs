// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use syclbin::__private::spirv::words::DECORATION_ALIGNMENT;
use syclbin::__private::spirv::{DECORATION_BUILT_IN, DECORATIONS_HOST_ACCESS};

#[test]
fn unused_variables_stay_if_host_names_them() {
    for (in_program, decoration, kept) in [
        (true, DECORATIONS_HOST_ACCESS[0], 1),
        (true, DECORATIONS_HOST_ACCESS[1], 1),
        (true, DECORATION_ALIGNMENT, 0),
        (false, DECORATIONS_HOST_ACCESS[0], 0),
        (false, DECORATION_ALIGNMENT, 0),
    ] {
        let (mut program, mut library) = (program(), library(LINKAGE_EXPORT, integers()));
        let code = if in_program {
            &mut program
        } else {
            &mut library
        };
        let ty = all(code, op::TYPE_POINTER)[0][0];
        let decorate = (op::DECORATE, vec![40, decoration, 4]);
        insert_after(code, op::DECORATE, &[decorate]);
        let variable = (op::VARIABLE, vec![ty, 40, GLOBAL]);
        insert_after(code, op::TYPE_POINTER, &[variable]);
        let code = linked(&module(&program), &[&module(&library)]).unwrap();
        let found = count(&code, op::VARIABLE);
        assert_eq!(found, kept, "{in_program} {decoration}");
    }
}

#[test]
fn equal_built_in_variables_are_merged() {
    for (decoration, [first, second], storage, variables) in [
        (DECORATION_BUILT_IN, [28, 28], STORAGE_INPUT, 1),
        (DECORATION_BUILT_IN, [28, 29], STORAGE_INPUT, 2),
        (DECORATION_BUILT_IN, [28, 28], GLOBAL, 2),
        (DECORATION_ALIGNMENT, [28, 28], STORAGE_INPUT, 2),
    ] {
        let with_variable = |mut code: Code, integer: u32, value: u32| {
            let decorate = (op::DECORATE, vec![51, decoration, value]);
            insert_after(&mut code, op::DECORATE, &[decorate]);
            let variable = [
                (op::TYPE_POINTER, vec![50, storage, integer]),
                (op::VARIABLE, vec![50, 51, storage]),
            ];
            insert_after(&mut code, op::TYPE_INT, &variable);
            insert_after(&mut code, op::LABEL, &[(op::LOAD, vec![integer, 52, 51])]);
            module(&code)
        };
        let library = library(LINKAGE_EXPORT, integers());
        let program = with_variable(program(), 2, first);
        let code = linked(&program, &[&with_variable(library, 3, second)]).unwrap();
        let found = count(&code, op::VARIABLE);
        assert_eq!(found, variables, "{decoration} {second} {storage}");
    }
}
