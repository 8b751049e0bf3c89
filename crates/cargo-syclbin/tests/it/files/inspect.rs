// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin inspect`.

use syclbin::property::set;
use syclbin::{AbstractModule, Container, Image, IrType, State, Syclbin, Value, write};

use test_files::Declared;

use super::{all, answer, command, complaint, run, run_with, stderr, stdout};

/// Compares an answer with a golden file, or makes that one with BLESS=1.
fn golden(name: &str, text: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/files/golden");
    let path = format!("{folder}/{name}.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, expected, "{path}; BLESS=1 takes the new text");
}

#[test]
fn the_text_is_the_golden_one() {
    for name in [
        "functor.object",
        "vector_ops.object",
        "work_group.executable",
        "globals.object",
    ] {
        golden(name, &answer(&["inspect", &format!("{name}.syclbin")]));
    }
}

#[test]
fn statistics_and_json_are_the_golden_ones() {
    golden(
        "gpus.native",
        &answer(&["inspect", "intel/gpus.syclbin", "--native"]),
    );
    for name in ["structs.object", "work_group.executable"] {
        let file = format!("{name}.syclbin");
        let json = answer(&["inspect", &file, "--format", "json"]);
        golden(&format!("{name}.json"), &json);
    }
    let json = run_with(&["inspect", "-", "--format", "json"], &everything());
    golden("everything.json", &stdout(&json));
}

#[test]
fn each_container_is_named() {
    for (container, expected) in [
        (Container::Bare, "version 1, without a wrapper (v1-bare)"),
        (
            Container::OffloadBinary1,
            "version 1 in a version 1 OffloadBinary (v1)",
        ),
        (
            Container::OffloadBinary2,
            "version 1 in a version 2 OffloadBinary (v1-offload2)",
        ),
        (
            Container::Version2,
            "version 2, an OffloadBinary with an entry for each part (v2)",
        ),
    ] {
        let mut file = Syclbin::new(State::Object);
        let bytes = write::to_vec(&file, container).unwrap();
        let text = stdout(&run_with(&["inspect", "-"], &bytes));
        assert!(
            text.contains(&format!("container   {expected}\n")),
            "{text}"
        );
        let size = format!("size        {} bytes\n", bytes.len());
        assert!(text.contains(&size), "{text}");
        // From 1000 bytes, the size is both rounded and exact.
        let mut module = AbstractModule::default();
        module
            .images
            .push(Image::ir(IrType::SpirV, "", vec![0; 1000]));
        file.modules.push(module);
        let bytes = write::to_vec(&file, container).unwrap();
        let text = stdout(&run_with(&["inspect", "-"], &bytes));
        let size = format!(" kB ({} bytes)\n", bytes.len());
        assert!(text.contains(&size), "{text}");
    }
}

/// All that a report can show, which no compiler puts into one file.
pub(crate) fn everything() -> Vec<u8> {
    let mut module = AbstractModule::default();
    module.add_kernel_name("__sycl_kernel_saxpy");
    let words = |words: &[u32]| {
        Value::from(
            words
                .iter()
                .flat_map(|w| w.to_le_bytes())
                .collect::<Vec<u8>>(),
        )
    };
    for (set, key, value) in [
        (set::DEVICE_REQUIREMENTS, "aspects", words(&[6, 5, 4_000])),
        (
            set::DEVICE_REQUIREMENTS,
            "reqd_sub_group_size",
            Value::U32(16),
        ),
        (
            set::DEVICE_REQUIREMENTS,
            "compile_target",
            Value::from("intel_gpu_pvc"),
        ),
        (
            set::DEVICE_REQUIREMENTS,
            "joint_matrix",
            Value::from("matrix_type::fp32,use::a,8,16"),
        ),
        (set::DEVICE_REQUIREMENTS, "fixed_target", words(&[1, 2])),
        (
            set::DEVICE_REQUIREMENTS,
            "work_group_num_dim",
            Value::U32(2),
        ),
        (set::MISC_PROPERTIES, "sanUsed", Value::from("asan")),
        (set::HOST_PIPES, "_ZN4pipeE", words(&[4])),
        (
            set::VIRTUAL_FUNCTIONS,
            "uses-virtual-functions-set",
            Value::from("_ZTS5Shape"),
        ),
        (
            set::VIRTUAL_FUNCTIONS,
            "virtual-functions-set",
            Value::from("_ZTS6Colour"),
        ),
        (set::SPECIALIZATION_CONSTANTS, "radius", words(&[7, 0, 4])),
        (set::SPECIALIZATION_DEFAULTS, "all", words(&[5])),
        (set::IMPORTED_SYMBOLS, "_Z5shapef", Value::U32(1)),
        (set::MISC_PROPERTIES, "sycl-grf-size", Value::U32(256)),
        (set::BUILD_OPTIONS, "compile", Value::from("-g -cl-x")),
        (set::BUILD_OPTIONS, "link", Value::from("-cl-y")),
        (set::DEVICE_GLOBALS, "bad", Value::U32(3)),
        (
            "SYCL/of tomorrow",
            "key",
            Value::Other {
                ty: 9,
                text: "x".into(),
            },
        ),
    ] {
        module.metadata.insert(set, key, value);
    }
    let saxpy =
        "void saxpy(unsigned int n, sycl::ext::oneapi::experimental::work_group_memory<int[64]> m)";
    let declared = Declared::default().kernel("__sycl_kernel_saxpy", saxpy);
    declared.record(&mut module);
    // Compilers file x86-64 code as SPIR-V; its target gives it away.
    let mut elf = b"\x7fELF\x02\x01".to_vec();
    elf.resize(18, 0);
    elf.extend([62, 0]);
    let target = "spir64_x86_64-unknown-unknown";
    module.images.push(Image::ir(IrType::SpirV, target, elf));
    module
        .images
        .push(Image::ir(IrType::Other(7), "", b"?".to_vec()));
    module.images.push(Image::native(
        "sm_90",
        "nvptx64-nvidia-cuda",
        b"//\n// Generated by LLVM NVPTX Back-End\n.version 8.0\n.target sm_90\n".to_vec(),
    ));
    module.images.push(Image::native(
        "pac_a10",
        "spir64_fpga-unknown-unknown",
        b"\x7fELF aocx".to_vec(),
    ));
    module.strings.push(("note".into(), b"kept".into()));
    let mut file = Syclbin::new(State::Other(7));
    file.modules.push(module);
    write::to_vec(&file, Container::Version2).unwrap()
}

#[test]
fn all_that_a_report_can_show_is_shown() {
    let output = run_with(&["inspect", "-"], &everything());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    golden("everything", &stdout(&output));
}

#[test]
fn code_for_nvidia_gpus_tells_its_targets() {
    let text = answer(&["inspect", "nvidia/vector_ops.cubin.syclbin"]);
    for expected in [
        "IR          SPIR-V for spir64-unknown-unknown, ",
        "IR          PTX for nvptx64-nvidia-cuda, ",
        "; PTX 6.3 for sm_75\n",
        "native      sm_90 for nvptx64-nvidia-cuda, ",
        "; contains ELF for CUDA: native code for sm_90\n",
    ] {
        assert_eq!(text.matches(expected).count(), 2, "{expected}: {text}");
    }
    let text = answer(&["inspect", "nvidia/vector_ops.fatbin.syclbin"]);
    let expected = "contains CUDA fat binary: native code for sm_90 (zstd), PTX for sm_75 (zstd)\n";
    assert_eq!(text.matches(expected).count(), 2, "{text}");
}

#[test]
fn no_colour_goes_into_a_pipe() {
    for name in all() {
        assert!(!answer(&["inspect", &name]).contains('\u{1b}'), "{name}");
    }
}

#[test]
fn colour_can_be_forced_and_forbidden() {
    let run = |variables: &[&str]| {
        let mut command = command(&["inspect", "vector_ops.object.syclbin"]);
        command.envs(variables.iter().map(|variable| (variable, "1")));
        stdout(&command.output().unwrap())
    };
    let forced = run(&["CLICOLOR_FORCE"]);
    assert!(forced.contains("\u{1b}[1m4 kernels\u{1b}[0m"), "{forced:?}");
    assert!(!run(&["CLICOLOR_FORCE", "NO_COLOR"]).contains('\u{1b}'));
}

#[test]
fn standard_input_is_a_file_too() {
    let bytes = test_files::read("globals.object.syclbin");
    let piped = stdout(&run_with(&["inspect", "-"], &bytes));
    let named = answer(&["inspect", "globals.object.syclbin"]);
    assert_eq!(piped, named.replace("globals.object.syclbin", "-"));
}

#[test]
fn control_characters_in_names_are_escaped() {
    let mut module = AbstractModule::default();
    let name = "\u{1b}]0;owned\u{7}\u{202e}evil\r";
    module.add_kernel_name(name);
    module
        .metadata
        .insert(set::IMPORTED_SYMBOLS, name, Value::U32(1));
    module
        .metadata
        .insert(format!("{name}set"), name, Value::from(name));
    let declared = Declared::default().kernel(name, &format!("void f(int {name})"));
    declared.record(&mut module);
    module.images.push(Image::native(name, name, b"x".to_vec()));
    module.strings.push((name.into(), name.as_bytes().into()));
    let mut file = Syclbin::new(State::Executable);
    file.modules.push(module);
    let bytes = write::to_vec(&file, Container::Version2).unwrap();
    for words in [["inspect", "-"], ["verify", "-"]] {
        let output = run_with(&words, &bytes);
        let text = stdout(&output) + &stderr(&output);
        let plain = |c: char| c == '\n' || !c.is_control() && c != '\u{202e}';
        assert!(text.chars().all(plain), "{text:?}");
    }
    let text = stdout(&run_with(&["inspect", "-"], &bytes));
    assert!(
        text.contains("\\u{1b}]0;owned\\u{7}\\u{202e}evil\\u{d}"),
        "{text}"
    );
}

#[test]
fn long_names_and_lists_are_cut() {
    let mut module = AbstractModule::default();
    module.add_kernel_name("k".repeat(50_000));
    for index in 0..100 {
        let name = format!("symbol{index}");
        module
            .metadata
            .insert(set::EXPORTED_SYMBOLS, name, Value::U32(1));
    }
    for index in 0..10 {
        let name = format!("import{index}");
        module
            .metadata
            .insert(set::IMPORTED_SYMBOLS, name, Value::U32(1));
    }
    let mut file = Syclbin::new(State::Object);
    file.modules.push(module);
    let bytes = write::to_vec(&file, Container::Bare).unwrap();
    let text = stdout(&run_with(&["inspect", "-"], &bytes));
    assert!(text.contains("kkk... (50.0 kB)"), "{text}");
    assert!(text.contains("symbol9 and 90 more\n"), "{text}");
    assert!(text.contains("import9\n"), "{text}");
    assert!(text.len() < 2_000, "{}", text.len());
}

#[test]
fn unreadable_spirv_is_shown_as_missing_signature() {
    let mut module = AbstractModule::default();
    module.add_kernel_name("__sycl_kernel_saxpy");
    module.images.push(Image::ir(
        IrType::SpirV,
        "spir64-unknown-unknown",
        b"junk".to_vec(),
    ));
    let mut file = Syclbin::new(State::Object);
    file.modules.push(module);
    let bytes = write::to_vec(&file, Container::default()).unwrap();
    let output = run_with(&["inspect", "-"], &bytes);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    assert!(
        text.contains("saxpy  no signature: abstract module 0: SPIR-V: "),
        "{text}"
    );
    let json = stdout(&run_with(&["inspect", "-", "--format", "json"], &bytes));
    let kernel = "\"symbol\": \"__sycl_kernel_saxpy\"";
    assert!(json.contains(kernel), "{json}");
    assert!(json.contains("\"name\": \"saxpy\""), "{json}");
}

#[test]
fn truncated_file_names_offset_and_remedy() {
    let bytes = test_files::read("vector_ops.object.syclbin");
    for end in [4, 40, 200, bytes.len() / 2, bytes.len() - 1] {
        let output = run_with(&["inspect", "-"], &bytes[..end]);
        assert_eq!(
            (output.status.code(), stdout(&output).as_str()),
            (Some(1), "")
        );
        let text = stderr(&output);
        assert!(
            text.starts_with("error: -: OffloadBinary header: "),
            "{text}"
        );
        assert!(text.contains("(at offset 0x"), "{text}");
        assert!(text.contains("cargo syclbin verify -"), "{text}");
        assert!(!text.contains("extract"), "{text}");
    }
}

#[test]
fn other_file_formats_are_recognized() {
    let text = complaint(&["inspect", "extract/mixed.offload"]);
    assert!(
        text.contains("run `cargo syclbin extract extract/mixed.offload`"),
        "{text}"
    );
    assert!(!text.contains("verify"), "{text}");
    let text = complaint(&["inspect", "structs.cpp"]);
    assert!(
        text.contains("not a SYCLBIN file: it begins with "),
        "{text}"
    );
    // This test itself is an executable.
    let own = std::env::current_exe().unwrap();
    let output = run(&["inspect", own.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("cargo syclbin extract"),
        "{}",
        stderr(&output)
    );
    let output = run_with(&["inspect", "-"], b"");
    assert!(
        stderr(&output).contains("it is empty"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_guide_shows_the_real_text() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let guide = std::fs::read_to_string(format!("{root}/book/src/files.md")).unwrap();
    let command_line = "$ cargo syclbin inspect tests/files/work_group.object.syclbin\n";
    let (_, shown) = guide.split_once(command_line).unwrap();
    let (shown, _) = shown.split_once("...\n").unwrap();
    let mut command = command(&["inspect", "tests/files/work_group.object.syclbin"]);
    let text = stdout(&command.current_dir(root).output().unwrap());
    assert!(text.starts_with(shown), "{text}");
}

#[test]
fn upstream_images_are_shown_like_syclbin() {
    let text = answer(&["inspect", "extract/upstream.offload"]);
    for expected in [
        "void scale(float *, float)",
        "bare device images from LLVM's own SYCL compiler (images)",
        "  state       executable\n",
        "SPIR-V for spirv64-unknown-unknown, ",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn sizes_outside_of_program_metadata_are_shown() {
    let bytes = test_files::bytes("work_group.object.syclbin");
    let mut file = syclbin::read::parse(bytes).unwrap();
    let sets = &mut file.modules[0].metadata;
    sets.remove_set(set::PROGRAM_METADATA).unwrap();
    let bytes = write::to_vec(&file, Container::default()).unwrap();
    let output = run_with(&["inspect", "-", "--format", "json"], &bytes);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let kernels = report["kernels"].as_array().unwrap();
    let is_sum = |kernel: &&serde_json::Value| kernel["symbol"] == "__sycl_kernel_block_sum";
    let kernel = kernels.iter().find(is_sum).unwrap();
    assert_eq!(kernel["required_work_group_size"], serde_json::json!([64]));
    assert_eq!(kernel["work_group_dimensions"], 1);
}
