// SPDX-License-Identifier: MIT OR Apache-2.0
//! Portable SPIR-V: what compilers wrote, rewritten for drivers that take less.

use std::io::Write as _;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use syclbin::__private::spirv::portable::lift::{Global, Layout, Lifted, Slot, lift};
use syclbin::__private::spirv::portable::{DriverSupport, Version, has_debug_info, rewrite};
use syclbin::__private::spirv::words::{Instruction, instructions, op, put, string, words};
use syclbin::__private::spirv::{Module, ParameterType};
use syclbin::property::set;

const TABLE: &str = "_Z5table";
const BIAS: &str = "_Z4bias";
const GLOBALS: [Global<'_>; 2] = [
    Global {
        id: TABLE,
        holds_value: false,
    },
    Global {
        id: BIAS,
        holds_value: true,
    },
];

/// Returns the SPIR-V modules of a test file.
fn modules(name: &str) -> Vec<Vec<u8>> {
    let bytes = test_files::read(name);
    let file = syclbin::read::parse(&bytes).unwrap();
    let images = file.modules.iter().flat_map(|module| &module.images);
    images.map(|image| image.bytes.to_vec()).collect()
}

/// Lets `spirv-val` judge a module, where it is installed.
fn assert_valid(spirv: &[u8], version: &str) {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let file = std::env::temp_dir().join(format!("syclbin-portable-{process}-{number}"));
    std::fs::write(&file, spirv).unwrap();
    let mut judge = Command::new("spirv-val");
    let judged = judge.args(["--target-env", version]).arg(&file).output();
    std::fs::remove_file(&file).unwrap();
    match judged {
        Ok(judged) => {
            let said = String::from_utf8_lossy(&judged.stderr).into_owned();
            assert!(judged.status.success(), "{said}");
        }
        Err(error) => {
            let line = format!("skipped spirv-val: {error}\n");
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }
}

fn lifted(name: &str) -> (Vec<u8>, Layout) {
    let module = modules(name).remove(0);
    let mut lifted = lift(&[&module], &GLOBALS).unwrap().unwrap();
    (lifted.modules.remove(0), lifted.layout)
}

#[test]
fn variables_become_hidden_arguments() {
    let before = modules("globals.object.syclbin").remove(0);
    let (after, layout) = lifted("globals.object.syclbin");
    let slot = |offset, bytes| Slot { offset, bytes };
    assert_eq!(layout.slots.get(TABLE), Some(&slot(0, 24)));
    assert_eq!(layout.slots.get(BIAS), Some(&slot(128, 4)));
    assert_eq!(
        (layout.size, layout.buffers.as_slice()),
        (256, &[TABLE.to_owned()][..])
    );
    let (before, parsed) = (
        Module::parse(&before).unwrap(),
        Module::parse(&after).unwrap(),
    );
    for kernel in before.kernels() {
        let (old, new) = (
            before.parameters(kernel).unwrap(),
            parsed.parameters(kernel).unwrap(),
        );
        assert_eq!(new.len(), old.len() + layout.arguments());
        let hidden = |ty: &ParameterType| matches!(ty, ParameterType::GlobalPointer { .. });
        assert!(
            new[old.len()..]
                .iter()
                .all(|parameter| hidden(&parameter.ty))
        );
    }
    let setup = layout.setup_kernel(0);
    assert_eq!(parsed.parameters(&setup).unwrap().len(), layout.arguments());
    assert_valid(&after, "spv1.4");
}

#[test]
fn setup_lists_initial_values_since_version_1_4() {
    let bytes = test_files::bytes("made/initial.syclbin");
    let file = syclbin::read::parse(bytes).unwrap();
    let ids = file.modules[0].metadata.set(set::DEVICE_GLOBALS).unwrap();
    let global = |id| Global {
        id,
        holds_value: true,
    };
    let globals: Vec<_> = ids.names().map(global).collect();
    let mut module = modules("made/initial.syclbin").remove(0);
    for (minor, expected) in [(3, 0), (4, 7)] {
        module[5] = minor;
        assert_eq!(module[4..8], [0, minor, 1, 0]);
        let lifted = lift(&[&module], &globals).unwrap().unwrap();
        let words = words(&lifted.modules[0]).unwrap();
        let setup = lifted.layout.setup_kernel(0);
        let listed = instructions(&words)
            .map(Result::unwrap)
            .filter(|instruction| instruction.opcode == op::ENTRY_POINT)
            .map(|instruction| string(&instruction.operands[2..]))
            .find_map(|(name, listed)| (name == setup).then_some(listed.len()));
        assert_eq!(listed, Some(expected), "1.{minor}");
    }
}

#[test]
fn intels_extension_for_variables_is_stripped() {
    let (after, _) = lifted("globals.object.syclbin");
    let words = words(&after).unwrap();
    for instruction in instructions(&words) {
        let Instruction {
            opcode, operands, ..
        } = instruction.unwrap();
        assert!(opcode != op::CAPABILITY || operands[0] != 6146);
        assert!(opcode != op::DECORATE || operands[1] != 6147);
        assert!(opcode != op::EXTENSION || !string(operands).0.contains("global_variable"));
    }
}

#[test]
fn lifted_modules_have_no_debug_information() {
    let mut words = words(&modules("globals.object.syclbin").remove(0)).unwrap();
    let memory_model = instructions(&words)
        .map(Result::unwrap)
        .find(|instruction| instruction.opcode == op::MEMORY_MODEL)
        .unwrap()
        .at;
    // An import of the set of instructions, which makes it a module with debug information.
    let id = words[3];
    words[3] += 1;
    let name = b"NonSemantic.Shader.DebugInfo.200";
    let name = name
        .chunks(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()));
    let import = [0x000b_0000 | u32::from(op::EXT_INST_IMPORT), id].into_iter();
    words.splice(memory_model..memory_model, import.chain(name).chain([0]));
    let module: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    assert!(has_debug_info(&module));
    let lifted = lift(&[&module], &GLOBALS).unwrap().unwrap();
    assert!(!has_debug_info(&lifted.modules[0]));
    assert_valid(&lifted.modules[0], "spv1.4");
}

#[test]
fn modules_without_variables_are_not_lifted() {
    for module in modules("vector_ops.object.syclbin") {
        assert_eq!(lift(&[&module], &GLOBALS), Ok(None));
    }
}

#[test]
fn functions_of_linked_modules_take_the_arguments() {
    let files = ["globals", "import_side", "export_side"];
    let modules: Vec<Vec<u8>> = files
        .iter()
        .map(|name| modules(&format!("{name}.object.syclbin")).remove(0))
        .collect();
    let borrowed: Vec<&[u8]> = modules.iter().map(Vec::as_slice).collect();
    let Lifted { modules, layout } = lift(&borrowed, &GLOBALS).unwrap().unwrap();
    assert_eq!(layout.modules, 3);
    for (number, module) in (0..).zip(&modules) {
        let parsed = Module::parse(module).unwrap();
        assert!(
            parsed
                .kernels()
                .any(|kernel| kernel == layout.setup_kernel(number))
        );
        assert_valid(module, "spv1.4");
    }
}

#[test]
fn layouts_survive_as_text() {
    let (_, layout) = lifted("globals.object.syclbin");
    let text = layout.to_text();
    assert_eq!(Layout::of_text(&text), Some(layout.clone()));
    let mut other = layout.clone();
    other.size += 1;
    assert_ne!(other.setup_kernel(0), layout.setup_kernel(0));
    for malformed in ["", "1", "8 0\n", "8 1\n8 4 beyond\n", "8 1\n\nunknown\n"] {
        assert_eq!(Layout::of_text(malformed), None, "{malformed:?}");
    }
    // The last slot may end where the arena ends.
    let whole = Layout::of_text("8 1\n0 8 whole\n\nwhole\n").unwrap();
    let slot = Slot {
        offset: 0,
        bytes: 8,
    };
    assert_eq!(whole.slots.get("whole"), Some(&slot));
    assert_eq!(whole.buffers, ["whole"]);
}

#[test]
fn compilers_modules_become_valid_earlier_ones() {
    let takes = |minor: u8| [Version::new(1, minor)];
    for name in [
        "globals",
        "vector_ops",
        "work_group",
        "functor",
        "structs",
        "export_side",
    ] {
        for mut module in modules(&format!("{name}.object.syclbin")) {
            if let Ok(Some(mut lifted)) = lift(&[&module], &GLOBALS) {
                module = lifted.modules.remove(0);
            }
            for minor in [0, 2, 3] {
                let versions = takes(minor);
                let reader = DriverSupport {
                    versions: &versions,
                    ..DriverSupport::default()
                };
                let rewritten = rewrite(&module, &reader).unwrap();
                let rewritten = rewritten.unwrap_or_else(|| module.clone());
                assert_valid(&rewritten, &format!("spv1.{minor}"));
            }
        }
    }
}

#[test]
fn damaged_modules_are_errors_or_lifted() {
    let whole = modules("globals.object.syclbin").remove(0);
    for at in (0..whole.len()).step_by(3) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xff;
        let _ = lift(&[&damaged], &GLOBALS);
        let _ = lift(&[&whole[..at]], &GLOBALS);
    }
}

/// Returns a module of functions that negate: numbers of 16, 32 and 64 bits, and vectors of them.
fn negating() -> Vec<u8> {
    const FAST_MATH: u32 = 40;
    let mut code = vec![0x0723_0203, 0x0001_0400, 0, 110, 0];
    let add = |code: &mut Vec<u32>, opcode, operands: &[u32]| put(code, opcode, &[operands]);
    // Addresses, Linkage, Kernel, Float16, Float64, Vector16.
    for capability in [4, 5, 6, 9, 10, 7] {
        add(&mut code, op::CAPABILITY, &[capability]);
    }
    add(&mut code, op::MEMORY_MODEL, &[2, 2]);
    // Numbers have the types 1 to 3, and vectors 11 to 13.
    let types = [1, 2, 3, 11, 12, 13];
    let ids = |ty: u32| [20, 40, 60, 80].map(|base| base + ty);
    for ty in types {
        let [.., result] = ids(ty);
        add(&mut code, op::DECORATE, &[result, FAST_MATH, 16]);
    }
    for (ty, width) in [(1, 16), (2, 32), (3, 64)] {
        add(&mut code, op::TYPE_FLOAT, &[ty, width]);
    }
    // Of 32 bits, the integers are there.
    add(&mut code, op::TYPE_INT, &[4, 32, 0]);
    add(&mut code, op::TYPE_VECTOR, &[5, 4, 4]);
    for (ty, component, length) in [(11, 1, 2), (12, 2, 4), (13, 3, 16)] {
        add(&mut code, op::TYPE_VECTOR, &[ty, component, length]);
    }
    for ty in types {
        let [signature, ..] = ids(ty);
        add(&mut code, op::TYPE_FUNCTION, &[signature, ty, ty]);
    }
    for ty in types {
        let [signature, parameter, function, result] = ids(ty);
        add(&mut code, op::FUNCTION, &[ty, function, 0, signature]);
        add(&mut code, op::FUNCTION_PARAMETER, &[ty, parameter]);
        add(&mut code, op::LABEL, &[result + 7]);
        add(&mut code, op::F_NEGATE, &[ty, result, parameter]);
        add(&mut code, 254, &[result]);
        add(&mut code, op::FUNCTION_END, &[]);
    }
    code.into_iter().flat_map(u32::to_le_bytes).collect()
}

#[test]
fn negations_become_valid_integer_arithmetic() {
    let module = negating();
    assert_valid(&module, "spv1.4");
    let reader = DriverSupport {
        debug_info: true,
        loses_negations: true,
        ..DriverSupport::default()
    };
    let rewritten = rewrite(&module, &reader).unwrap().unwrap();
    assert_valid(&rewritten, "spv1.4");
    let words = words(&rewritten).unwrap();
    let count = |opcode| {
        let all = instructions(&words).map(Result::unwrap);
        all.filter(|instruction| instruction.opcode == opcode)
            .count()
    };
    let (scalars, all) = (3, 6);
    assert_eq!((count(op::F_NEGATE), count(op::DECORATE)), (0, 0));
    assert_eq!(count(op::BITWISE_XOR), all);
    assert_eq!(count(op::EXT_INST), 2 * all);
    assert_eq!(
        (count(op::TYPE_INT), count(op::TYPE_VECTOR)),
        (3, 3 + scalars)
    );
    assert_eq!(rewrite(&rewritten, &reader), Ok(None));
}
