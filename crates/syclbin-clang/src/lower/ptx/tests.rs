// SPDX-License-Identifier: MIT OR Apache-2.0
use std::path::PathBuf;
use std::process::Command;

use syclbin::ptx::Module;

use super::super::lower;
use super::*;

// Output of the compiler library 2026.2.0 for NVIDIA GPUs. The source of `TEXT` is `tests/files/constants.cpp`. The
// sources of the other files are next to them.
const TEXT: &str = include_str!("constants.ptx");
/// Constants of every type, in three kernels.
const MANY: &str = include_str!("many.ptx");
/// Code compiled with `-O0`.
const UNOPTIMIZED: &str = include_str!("unoptimized.ptx");

fn lowered(text: &str) -> (String, SpecializationConstants) {
    let lowered = lower_ptx(text).unwrap().unwrap();
    (String::from_utf8(lowered.code).unwrap(), lowered.constants)
}

/// Returns the constants with their sizes and default values.
fn shown(constants: &SpecializationConstants) -> Vec<(String, Vec<u8>)> {
    let names = constants.constants.iter().map(|(name, _)| name);
    names
        .map(|name| {
            let value = constants.default_value(name).unwrap().unwrap();
            (name.to_owned(), value.to_vec())
        })
        .collect()
}

fn refusal(text: &str) -> String {
    match lower_ptx(text) {
        Ok(found) => panic!("lowered: {}", found.is_some()),
        Err(refusal) => refusal.to_string(),
    }
}

#[test]
fn lowered_constants_are_exported_variables() {
    let (text, constants) = lowered(TEXT);
    let module = Module::parse(text.as_bytes()).unwrap();
    assert_eq!(module.imports, [""; 0]);
    let mut variables = module.variables.iter();
    for (symbol, size, align) in [
        ("____ZL7stencil", 16, 4),
        ("____ZL4gain", 8, 8),
        ("____ZL6offset", 4, 4),
    ] {
        let name = format!("__syclbin_constant_{symbol}");
        assert_eq!(variables.next(), Some(&name));
        let declaration = format!(".align {align} .b8 {name}[{size}]");
        assert!(text.contains(&declaration), "{text}");
    }
    assert_eq!(variables.next(), None);
    let stencil = [0.25f32, 0.5, 0.25].map(f32::to_le_bytes).concat();
    let stencil = [&stencil[..], &1i32.to_le_bytes()].concat();
    assert_eq!(
        shown(&constants),
        [
            ("____ZL7stencil".to_owned(), stencil),
            ("____ZL4gain".to_owned(), 2.5f64.to_le_bytes().to_vec()),
            ("____ZL6offset".to_owned(), 7i32.to_le_bytes().to_vec()),
        ]
    );
    // The old names are gone, even in the variant with an offset.
    for old in ["_ZL7stencil", "_ZL4gain", "_ZL6offset"] {
        assert!(!text.split(|c| !text::is_name(c)).any(|word| word == old));
    }
    assert_eq!(
        text.matches("mov.b64 \t%rd").count(),
        TEXT.matches("mov.b64 \t%rd").count()
    );
}

#[test]
fn spirv_constants_serve_the_ptx() {
    let bytes = test_files::read("constants.object.syclbin");
    let file = syclbin::read::parse(&bytes).unwrap();
    let spirv = lower(&file.modules[0].images[0].bytes).unwrap().unwrap();
    let (_, mut constants) = lowered(TEXT);
    assert!(serves(&spirv.constants, &constants));
    assert!(serves(
        &spirv.constants,
        &SpecializationConstants::default()
    ));
    assert!(!serves(&SpecializationConstants::default(), &constants));
    let defaults = constants.defaults.as_mut().unwrap();
    defaults[0] ^= 1;
    assert!(!serves(&spirv.constants, &constants));
}

#[test]
fn every_type_is_read_from_memory_layout() {
    let (text, constants) = lowered(MANY);
    let found: Vec<_> = shown(&constants)
        .into_iter()
        .map(|(name, value)| (name, value.len(), value.first().copied()))
        .collect();
    let found: Vec<_> = found
        .iter()
        .map(|(name, size, first)| (name.as_str(), *size, first.unwrap()))
        .collect();
    assert_eq!(
        found,
        [
            ("____ZL4flag", 1, 1),
            ("____ZL2c8", 1, 251),
            ("____ZL2u8", 1, 250),
            ("____ZL3s16", 2, 212),
            ("____ZL3u16", 2, 232),
            ("____ZL3u32", 4, 7),
            ("____ZL3s64", 8, 247),
            ("____ZL3f32", 4, 0),
            ("____ZL3f64", 8, 0),
            ("____ZL4zero", 4, 0),
            ("____ZL4mode", 4, 200),
            ("____ZN2n2L5innerE", 4, 77),
            ("____ZL3big", 32, 0),
            ("____ZL4tiny", 4, 1),
            ("____ZL3one", 4, 3),
            // All bytes are zero, so the PTX contains no initializer.
            ("____ZL4zbig", 32, 0),
            ("____ZL3h16", 2, 0),
        ]
    );
    // The instruction depends on the type: bool, char, unsigned char, short, unsigned short.
    for expected in ["ld.u8 %word", "ld.s8 %word", "ld.s16 %word", "ld.u16 %word"] {
        assert!(text.contains(expected), "{expected}");
    }
    // Numbers and structs are copied in parts as large as their alignment.
    for expected in [
        "ld.b16 %half, [%address+0];\n\tst.param.b16 [func_retval0+0], %half;",
        "ld.b32 %word, [%address+0];\n\tst.param.b32 [func_retval0+0], %word;",
        "ld.b64 %long, [%address+0];\n\tst.param.b64 [func_retval0+0], %long;",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    // Two kernels read it through one function.
    let reads = text
        .matches("mov.b64 \t%rd33, __syclbin_constant_____ZL3s64;")
        .count();
    assert_eq!(reads, 1);
    assert_eq!(text.matches("__syclbin_constant_____ZL3s64").count(), 3);
    assert_eq!(Module::parse(text.as_bytes()).unwrap().imports, [""; 0]);
}

#[test]
fn addresses_that_go_through_the_stack_are_followed() {
    let (text, constants) = lowered(UNOPTIMIZED);
    let expected: Vec<_> = shown(&lowered(TEXT).1).into_iter().take(2).collect();
    assert_eq!(shown(&constants), expected);
    assert_eq!(Module::parse(text.as_bytes()).unwrap().imports, [""; 0]);
}

#[test]
fn a_text_without_constants_is_left_alone() {
    assert!(lower_ptx("").unwrap().is_none());
    let text = ".version 6.3\n.target sm_75\n.visible .entry k()\n{\n\tret;\n}\n";
    assert!(lower_ptx(text).unwrap().is_none());
    // A declaration without calls stays unchanged.
    let declared = TEXT.split(".visible .entry").next().unwrap();
    let (text, constants) = lowered(declared);
    assert!(shown(&constants).is_empty());
    assert_eq!(
        text.replace(char::is_whitespace, ""),
        declared.replace(char::is_whitespace, "")
    );
}

#[test]
fn untraceable_read_is_refused_with_its_kernel() {
    let changed = |from: &str, to: &str| {
        assert!(TEXT.contains(from), "{from}");
        refusal(&TEXT.replacen(from, to, 1))
    };
    for (found, expected) in [
        (
            changed(
                "mov.b64 \t%rd14, _ZL4gain;",
                "selp.b64 \t%rd14, _ZL4gain, _ZL7stencil, %p1;",
            ),
            "specialization constant gain (read by blur) cannot be compiled: its default value is known only when \
             the kernel runs; pass",
        ),
        (
            changed(
                "mov.b64 \t%rd16, __usid_str1;",
                "add.s64 \t%rd16, %rd16, 1;",
            ),
            "a specialization constant (read by blur) cannot be compiled: the kernel chooses",
        ),
        (
            changed(
                "_ZL4gain[8] = {0, 0, 0, 0, 0, 0, 4, 64};",
                "_ZL4gain[8] = {generic(x)};",
            ),
            "constant gain (read by blur) cannot be compiled: its default value contains an address",
        ),
        (
            changed(
                "_ZL4gain[8] = {0, 0, 0, 0, 0, 0, 4, 64};",
                "_ZL4gain[4] = {0, 0, 4, 64};",
            ),
            "the function that reads it has an unexpected return type or number of parameters",
        ),
        (
            changed(
                ".align 4 .b8 func_retval0[16]",
                ".align 8 .b8 func_retval0[16]",
            ),
            "the function that reads it has an unexpected return type or number of parameters",
        ),
        (
            changed(
                ".align 4 .b8 func_retval0[16]",
                ".align 3 .b8 func_retval0[16]",
            ),
            "the function that reads it has an unexpected return type or number of parameters",
        ),
        (
            changed(
                ".align 4 .b8 func_retval0[16]",
                ".align 4 .b8 func_retval0[12]",
            ),
            "the function that reads it has an unexpected return type or number of parameters",
        ),
        (
            changed(
                "\t.param .b64 _Z37__sycl_getScalar2020SpecConstantValueIdET_PKcPKvS4__param_0,\n",
                "",
            ),
            "the function that reads it has an unexpected return type or number of parameters",
        ),
        (
            changed(
                "call.uni (retval0), _Z37__sycl_getScalar2020SpecConstantValueIdET_PKcPKvS4_, (param0, param1, \
                 param2);",
                "mov.b64 %rd17, _Z37__sycl_getScalar2020SpecConstantValueIdET_PKcPKvS4_;",
            ),
            "a specialization constant (read by blur) cannot be compiled: it is not read by a plain call; read it with \
             `kernel_handler::get_specialization_constant`",
        ),
        (
            changed(
                "__usid_str2[14] = {95, 95, 95, 95, 90, 76, 54, 111, 102, 102, 115, 101, 116};",
                "__usid_str2[14] = {95, 95, 95, 95, 90, 76, 52, 103, 97, 105, 110};",
            ),
            "it is read with different default values",
        ),
        (
            refusal(&MANY.replace("SpecConstantValueIhE", "SpecConstantValueI4SizeE")),
            "the signedness of its 8-bit or 16-bit type is unknown (as for an enumeration); give it a 32-bit type (`: \
             int`)",
        ),
        (
            // Two paths with different constants lead to this call.
            changed(
                "cvta.global.u64 \t%rd15, %rd14;",
                "cvta.global.u64 \t%rd15, %rd14;\n\tbra.uni \t$L1;\n\tmov.b64 \t%rd15, 0;\n$L1:",
            ),
            "constant gain (read by blur) cannot be compiled: its default value is known only when the kernel runs",
        ),
    ] {
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn inline_assembly_does_not_end_a_body() {
    let assembly = "// begin inline asm\n{\nmov.u32 %r1, 1;\n}\n\t// end inline asm\n";
    let (head, rest) = TEXT.split_once("// callseq 1, 0").unwrap();
    let at = head.rfind('\t').unwrap();
    let text = format!(
        "{}\t{assembly}{}// callseq 1, 0{rest}",
        &head[..at],
        &head[at..]
    );
    let lowered = lower_ptx(&text).unwrap().unwrap();
    let plain = lower_ptx(TEXT).unwrap().unwrap();
    assert_eq!(lowered.constants, plain.constants);
    // If a body seems to end early, the reads after its end are an error.
    let cut = TEXT.replacen("\t{ // callseq 1, 0", "}\n\t{ // callseq 1, 0", 1);
    let message = refusal(&cut);
    assert!(message.contains("in an unsupported place"), "{message}");
}

#[test]
fn an_instruction_is_no_variable_of_its_name() {
    let names = [("ret", "constant".to_owned())].into();
    let renamed = |line| {
        let mut written = String::new();
        text::rename(line, &names, &mut written);
        written
    };
    assert_eq!(renamed("\tret;"), "\tret;");
    assert_eq!(renamed("\t@%p1 ret;"), "\t@%p1 ret;");
    assert_eq!(
        renamed("\tmov.b64 \t%rd1, ret;"),
        "\tmov.b64 \t%rd1, constant;"
    );
    assert_eq!(
        renamed(".global .align 1 .b8 ret[1];"),
        ".global .align 1 .b8 constant[1];"
    );
}

/// Returns NVIDIA's assembler, if it is installed.
fn ptxas() -> Option<PathBuf> {
    let named = std::env::var_os("SYCLBIN_PTXAS").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("ptxas"));
    named.into_iter().chain(on_path).find(|file| file.is_file())
}

#[test]
fn nvidias_assembler_takes_what_was_lowered() {
    let Some(ptxas) = ptxas() else {
        use std::io::Write as _;
        // Bypasses the test harness, which hides the output of a passing test.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: no ptxas in SYCLBIN_PTXAS or on PATH"
        );
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for text in [TEXT, MANY, UNOPTIMIZED] {
        let file = folder.path().join("lowered.ptx");
        std::fs::write(&file, lowered(text).0).unwrap();
        for target in ["sm_80", "sm_90"] {
            let output = Command::new(&ptxas)
                .args(["-o", "/dev/null", "-arch", target])
                .arg(&file)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success() && said.is_empty(),
                "{target}: {said}"
            );
        }
    }
}

#[test]
fn static_device_globals_are_exported() {
    let text = ".global .align 8 .b8 _ZL5small[16];\n\
                .global .align 8 .b8 _ZL5large[131080];\n\
                .global .align 8 .u64 other[2] = {_ZL5small, 0};\n\
                .visible .global .align 4 .b8 shown[4];\n";
    let names = ["_ZL5small", "_ZL5large", "shown"].map(str::to_owned);
    let exported = export_variables(text.as_bytes(), names.iter());
    let expected = text.replace(".global .align 8 .b8", ".visible .global .align 8 .b8");
    assert_eq!(String::from_utf8(exported).unwrap(), expected);
}
