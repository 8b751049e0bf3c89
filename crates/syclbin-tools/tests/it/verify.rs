// SPDX-License-Identifier: MIT OR Apache-2.0
//! Verification: the reference writer's files are clean, and each fault has its finding.

use syclbin::offload::{self, Entry, ImageKind, OffloadKind};
use syclbin::property::{key, set};
use syclbin::{AbstractModule, Container, Image, IrType, State, Syclbin, Value, read, write};
use syclbin_tools::verify::{Finding, Severity, verify};

fn errors(findings: &[Finding]) -> Vec<String> {
    let errors = findings.iter().filter(|f| f.severity == Severity::Error);
    errors.map(ToString::to_string).collect()
}

/// The findings of `file`, which one of them must be.
fn must_say(file: &Syclbin<'_>, severity: Severity, expected: &str) {
    let bytes = write::to_vec(file, Container::default()).unwrap();
    bytes_must_say(&bytes, severity, expected);
}

fn bytes_must_say(bytes: &[u8], severity: Severity, expected: &str) {
    let findings = verify(bytes);
    let all: Vec<String> = findings.iter().map(ToString::to_string).collect();
    let start = format!("{severity}: ");
    let found = |text: &String| text.starts_with(&start) && text.contains(expected);
    assert!(all.iter().any(found), "{severity}: {expected}: {all:#?}");
    assert!(findings.iter().all(|f| f.offset <= bytes.len() as u64));
}

#[test]
fn reference_files_are_clean_in_every_container() {
    for name in ["vector_ops", "work_group", "structs", "globals", "functor"] {
        for state in ["object", "executable"] {
            let bytes = test_files::read(&format!("{name}.{state}.syclbin"));
            let file = read::parse(&bytes).unwrap();
            for container in Container::ALL {
                let bytes = write::to_vec(&file, container).unwrap();
                let findings = verify(&bytes);
                assert!(
                    findings.iter().all(|f| f.severity == Severity::Note),
                    "{name} {state} {container:?}: {findings:#?}"
                );
            }
        }
    }
    let default = write::to_vec(
        &read::parse(&test_files::read("vector_ops.object.syclbin")).unwrap(),
        Container::default(),
    );
    assert_eq!(verify(&default.unwrap()), []);
}

#[test]
fn constants_that_were_left_unlowered_are_an_error() {
    let found = errors(&verify(&test_files::read("constants.object.syclbin")));
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found[0].contains("reads a specialization constant"),
        "{found:?}"
    );
}

#[test]
fn import_is_an_error_only_in_executables() {
    let bytes = test_files::read("import_side.object.syclbin");
    let mut file = read::parse(&bytes).unwrap();
    must_say(
        &file,
        Severity::Note,
        "it imports `_Z5shapef`: link it with a module that defines the symbol",
    );
    file.global.insert(set::GLOBAL, key::STATE, 2u32);
    must_say(
        &file,
        Severity::Error,
        "it imports `_Z5shapef`: the state is executable",
    );
    file.global.insert(set::GLOBAL, key::STATE, 7u32);
    must_say(&file, Severity::Note, "it imports `_Z5shapef`: link it");
    file.global.insert(set::GLOBAL, key::STATE, 2u32);
    // With the other half in the same file, nothing is missing.
    let other = test_files::read("export_side.object.syclbin");
    file.modules.extend(read::parse(&other).unwrap().modules);
    let bytes = write::to_vec(&file, Container::default()).unwrap();
    assert_eq!(errors(&verify(&bytes)), Vec::<String>::new());
}

#[test]
fn findings_are_limited_per_severity() {
    let count = 5000u32;
    let mut bytes = vec![0; 56 + 32 * count as usize];
    bytes[..8].copy_from_slice(b"IBYS\x01\0\0\0");
    bytes[8..12].copy_from_slice(&count.to_le_bytes());
    let findings = verify(&bytes);
    let warnings = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Warning);
    assert_eq!(warnings.count(), 1001);
    bytes_must_say(
        &bytes,
        Severity::Warning,
        "4000 more findings of this severity",
    );
}

#[test]
fn every_malformed_value_is_named() {
    let bytes = test_files::read("work_group.object.syclbin");
    let mut file = read::parse(&bytes).unwrap();
    let metadata = &mut file.modules[0].metadata;
    metadata.insert(set::DEVICE_REQUIREMENTS, key::ASPECTS, vec![1u8, 2, 3]);
    metadata.insert(set::KERNEL_PARAM_OPT, "k", 1u32);
    file.modules[1].images[0]
        .metadata
        .insert(set::IR_MODULE, key::TYPE, vec![0u8; 3]);
    must_say(
        &file,
        Severity::Error,
        "abstract module 0: set `SYCL/device requirements`, key `aspects`: expected",
    );
    must_say(
        &file,
        Severity::Error,
        "abstract module 0: set `SYCL/kernel param opt`, key `k`: expected",
    );
    must_say(
        &file,
        Severity::Error,
        "IR module 1: set `SYCLBIN/ir module metadata`, key `type`: expected",
    );
}

#[test]
fn kernels_and_code_must_agree() {
    let bytes = test_files::read("vector_ops.object.syclbin");
    let mut file = read::parse(&bytes).unwrap();
    file.modules[0].add_kernel_name("__sycl_kernel_ghost");
    must_say(
        &file,
        Severity::Error,
        "no image contains kernel `__sycl_kernel_ghost`",
    );
    file.modules[0].metadata.remove_set(set::KERNEL_NAMES);
    must_say(
        &file,
        Severity::Warning,
        "kernel `__sycl_kernel_saxpy` is not listed, so runtimes cannot find it",
    );
    let twice = file.modules[0].clone();
    file.modules.push(twice);
    must_say(&file, Severity::Warning, "is also in abstract module 0");
}

#[test]
fn ptx_kernels_are_compared_with_the_names_too() {
    let mut file = Syclbin::new(State::Executable);
    let mut module = AbstractModule::default();
    module.add_kernel_name("axpy");
    module.add_kernel_name("missing");
    let text = &b".version 6.3\n.target sm_75\n.visible .entry axpy(\n)\n{ ret; }\n"[..];
    module
        .images
        .push(Image::native("sm_75", "nvptx64-nvidia-cuda", text));
    file.modules.push(module);
    let bytes = write::to_vec(&file, Container::default()).unwrap();
    let found = errors(&verify(&bytes));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("no image contains kernel `missing`"),
        "{found:?}"
    );
}

#[test]
fn states_and_images_must_fit() {
    let elf = &b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0"[..];
    let mut module = AbstractModule::default();
    module.images.push(Image::native(
        "x86_64",
        "spir64_x86_64-unknown-unknown",
        elf,
    ));
    let mut file = Syclbin::new(State::Input);
    file.modules.push(module);
    must_say(
        &file,
        Severity::Error,
        "the module contains only native code",
    );
    must_say(
        &file,
        Severity::Warning,
        "no runtime accepts native code in that state",
    );
    file.global.insert(set::GLOBAL, key::STATE, 7u32);
    must_say(&file, Severity::Error, "invalid state 7; expected 0");
    file.global.remove_set(set::GLOBAL);
    must_say(&file, Severity::Error, "it has no state");
    file.modules[0].images.clear();
    must_say(
        &file,
        Severity::Warning,
        "abstract module 0: it has no image",
    );
    file.modules.clear();
    must_say(&file, Severity::Warning, "it has no abstract module");
}

#[test]
fn state_of_nonstandard_type_is_an_error() {
    let mut file = Syclbin::new(State::Object);
    file.global
        .insert(set::GLOBAL, key::STATE, vec![1u8, 0, 0, 0]);
    assert_eq!(file.state(), Some(State::Object));
    must_say(
        &file,
        Severity::Error,
        "SYCLBIN file header: its state is not stored as a number (type 1)",
    );
}

#[test]
fn images_must_hold_what_their_metadata_says() {
    let elf = &b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0"[..];
    let spirv = &[
        3u8, 2, 0x23, 7, 0, 4, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
    ][..];
    let spir64 = "spir64-unknown-unknown";
    let ptx = &b".version 6.3\n.target sm_75\n"[..];
    let later = &b".version 6.3\n.target sm_80\n"[..];
    let cubin = test_files::bytes("nvidia/export_side.sm_80.cubin");
    let fat = test_files::bytes("nvidia/plain.fatbin");
    let family = test_files::bytes("nvidia/family.fatbin");
    let cuda = "nvptx64-nvidia-cuda";
    for (image, severity, expected) in [
        (
            Image::ir(IrType::SpirV, spir64, ptx),
            Severity::Error,
            "its type is SPIR-V, but it contains PTX",
        ),
        (
            Image::ir(IrType::Ptx, "nvptx64-nvidia-cuda", spirv),
            Severity::Error,
            "its type is PTX, but it contains SPIR-V",
        ),
        (
            Image::ir(IrType::Ptx, "nvptx64-nvidia-cuda", ptx),
            Severity::Warning,
            "treats the first IR module as SPIR-V, and therefore rejects the whole file",
        ),
        (
            Image::ir(IrType::Ptx, spir64, ptx),
            Severity::Error,
            "it is PTX, but its target is `spir64-unknown-unknown`",
        ),
        (
            Image::ir(IrType::Ptx, cuda, &b".version 6.3\n"[..]),
            Severity::Error,
            "the PTX is malformed: it has no `.target`",
        ),
        (
            Image::ir(IrType::Ptx, cuda, later),
            Severity::Error,
            "sm_80 requires PTX 7.0, but the code is PTX 6.3",
        ),
        (
            Image::ir(IrType::Ptx, cuda, &b".version 9.9\n.target sm_199\n"[..]),
            Severity::Note,
            "its target sm_199 is unknown",
        ),
        (
            Image::native("sm_70", cuda, ptx),
            Severity::Error,
            "its architecture is sm_70, but its PTX is for sm_75 and newer",
        ),
        (
            Image::native("sm_90", cuda, cubin),
            Severity::Error,
            "its architecture is sm_90, but its code is for sm_80",
        ),
        (
            Image::native("pvc", cuda, cubin),
            Severity::Warning,
            "its architecture `pvc` is not an NVIDIA architecture",
        ),
        (
            Image::native("sm_80", cuda, &cubin[..40]),
            Severity::Error,
            "the CUDA code is malformed: its header is truncated",
        ),
        (
            Image::native("sm_70", cuda, fat),
            Severity::Error,
            "its architecture is sm_70, but it contains code for sm_75, sm_80",
        ),
        (
            Image::native("sm_90", cuda, family),
            Severity::Error,
            "its architecture is sm_90, but it contains code for sm_100f",
        ),
        (
            Image::native("sm_80", cuda, &fat[..200]),
            Severity::Error,
            "exceeds the fat binary",
        ),
        (
            Image::ir(IrType::SpirV, "spir64_x86_64-unknown-unknown", elf),
            Severity::Warning,
            "it is stored as SPIR-V but contains ELF for x86-64 for `spir64_x86_64-unknown-unknown`",
        ),
        (
            Image::ir(IrType::Other(9), spir64, elf),
            Severity::Warning,
            "its type 9 is not supported",
        ),
        (
            Image::ir(IrType::SpirV, spir64, &b""[..]),
            Severity::Error,
            "it is empty",
        ),
        (
            Image::ir(IrType::SpirV, spir64, &spirv[..18]),
            Severity::Error,
            "the SPIR-V is malformed",
        ),
        (
            Image::native("sm_90", "nvptx64-nvidia-cuda", spirv),
            Severity::Error,
            "requires a CUDA fat binary, ELF for CUDA or PTX, but it contains SPIR-V",
        ),
        (
            Image::native("gfx90a", "amdgcn-amd-amdhsa", elf),
            Severity::Error,
            "requires an offload bundle or ELF for AMD GPUs",
        ),
        (
            Image::native("corei7", "spir64_x86_64-unknown-unknown", spirv),
            Severity::Error,
            "requires ELF, but it contains SPIR-V",
        ),
        (
            Image::native("x86_64", "", elf),
            Severity::Warning,
            "it has no target",
        ),
        (
            Image::native("", "spir64_x86_64", elf),
            Severity::Note,
            "it has no architecture",
        ),
    ] {
        let mut file = Syclbin::new(State::Executable);
        let mut module = AbstractModule::default();
        module.images.push(image);
        file.modules.push(module);
        must_say(&file, severity, expected);
    }
}

#[test]
fn all_overlapping_and_outside_tables_are_found() {
    let bytes = test_files::read("work_group.object.syclbin");
    let file = read::parse(&bytes).unwrap();
    let mut bytes = write::to_vec(&file, Container::Bare).unwrap();
    let modules = file.modules.len();
    assert!(modules >= 2);
    let image = 56 + 32 * modules;
    // The first image's metadata moves onto the global metadata, the second's code out of the file.
    bytes[image..image + 8].copy_from_slice(&0u64.to_le_bytes());
    bytes[image + 32 + 16..image + 32 + 24].copy_from_slice(&u64::MAX.to_le_bytes());
    bytes_must_say(&bytes, Severity::Error, "it overlaps global metadata");
    bytes_must_say(
        &bytes,
        Severity::Error,
        "IR module 1: range 0xffffffffffffffff+",
    );
    bytes_must_say(
        &bytes,
        Severity::Note,
        "images, kernels and metadata were not checked for consistency",
    );
}

#[test]
fn missing_library_functions_are_errors_in_executables() {
    let bytes = test_files::read("export_side.object.syclbin");
    let mut file = read::parse(&bytes).unwrap();
    file.global.insert(set::GLOBAL, key::STATE, 2u32);
    let imports = &mut file.modules[0].metadata;
    imports.insert(set::IMPORTED_SYMBOLS, "__devicelib_cosf", 1u32);
    let missing = "it needs the device library's `__devicelib_cosf`: the state is executable";
    must_say(&file, Severity::Error, missing);
    let imports = &mut file.modules[0].metadata;
    imports.insert(set::IMPORTED_SYMBOLS, "__devicelib_assert_fail", 1u32);
    must_say(
        &file,
        Severity::Note,
        "a failed `assert` terminates the process",
    );
}

#[test]
fn the_longest_claim_so_far_is_compared() {
    let bytes = test_files::read("work_group.object.syclbin");
    let file = read::parse(&bytes).unwrap();
    let mut bytes = write::to_vec(&file, Container::Bare).unwrap();
    // The second of three modules claims two images, and so the image of the third.
    bytes[56 + 32 + 16..56 + 32 + 20].copy_from_slice(&2u32.to_le_bytes());
    bytes_must_say(
        &bytes,
        Severity::Error,
        "abstract module 2: it claims IR modules that abstract module 1 also claims",
    );
}

#[test]
fn unclaimed_images_are_found_where_the_file_starts() {
    let bytes = test_files::read("work_group.object.syclbin");
    let file = read::parse(&bytes).unwrap();
    let bare = write::to_vec(&file, Container::Bare).unwrap();
    let mut bytes = write::to_vec(&file, Container::OffloadBinary1).unwrap();
    let start = bytes.windows(4).position(|at| at == &bare[..4]).unwrap();
    assert!(start > 0);
    bytes[start + 56 + 32 + 16..start + 56 + 32 + 20].copy_from_slice(&0u32.to_le_bytes());
    let findings = verify(&bytes);
    let unclaimed = |found: &&Finding| found.to_string().contains("belong to no abstract module");
    let found = findings.iter().find(unclaimed).unwrap();
    assert_eq!(found.offset, start as u64);
}

#[test]
fn shared_and_unclaimed_images_are_found() {
    let bytes = test_files::read("work_group.object.syclbin");
    let file = read::parse(&bytes).unwrap();
    let mut bytes = write::to_vec(&file, Container::Bare).unwrap();
    // The second module claims the image of the first, and no module the second one.
    bytes[56 + 32 + 20..56 + 32 + 24].copy_from_slice(&0u32.to_le_bytes());
    bytes_must_say(
        &bytes,
        Severity::Error,
        "abstract module 1: it claims IR modules that abstract module 0 also claims",
    );
    bytes[56 + 32 + 16..56 + 32 + 20].copy_from_slice(&0u32.to_le_bytes());
    bytes_must_say(
        &bytes,
        Severity::Warning,
        "1 of 3 IR modules belong to no abstract module",
    );
}

#[test]
fn wrappers_are_looked_at() {
    let bytes = test_files::read("vector_ops.object.syclbin");
    let file = read::parse(&bytes).unwrap();
    let good = write::to_vec(&file, Container::OffloadBinary1).unwrap();

    let mut bytes = good.clone();
    bytes.extend_from_slice(b"more");
    bytes_must_say(&bytes, Severity::Warning, "4 trailing bytes");

    let mut bytes = good.clone();
    bytes[32] = 6;
    bytes_must_say(
        &bytes,
        Severity::Warning,
        "image kind 6 is from DPC++ before mid-2025",
    );

    let mut bytes = good.clone();
    bytes[34] = 4;
    bytes_must_say(&bytes, Severity::Note, "offload kind 4 is not 8");

    // The image one byte further: it is another one, at a place no reader wants.
    let mut bytes = good.clone();
    bytes.splice(72..72, [0]);
    bytes.extend_from_slice(&[0; 7]);
    let size = bytes.len() as u64;
    bytes[8..16].copy_from_slice(&size.to_le_bytes());
    bytes[56] += 1;
    bytes_must_say(&bytes, Severity::Error, "not at a multiple of 8");

    // The image onto the header.
    let mut bytes = good.clone();
    bytes[56..64].copy_from_slice(&0u64.to_le_bytes());
    assert!(!errors(&verify(&bytes)).is_empty());
    assert_eq!(errors(&verify(&good)), Vec::<String>::new());
}

#[test]
fn unreadable_metadata_is_error_and_duplicate_warns() {
    let mut bytes = write::to_vec(&Syclbin::new(State::Object), Container::Bare).unwrap();
    let at = bytes.windows(5).position(|w| w == b"state").unwrap();
    bytes[at + 5] = b'?';
    bytes_must_say(&bytes, Severity::Error, "metadata: line 2: missing `=`");

    let text = b"[SYCLBIN/global metadata]\nstate=1|2\nstate=1|1\n";
    let mut bytes = vec![0; 56];
    bytes[..8].copy_from_slice(b"IBYS\x01\0\0\0");
    bytes[24] = u8::try_from(text.len()).unwrap();
    bytes[48] = bytes[24];
    bytes.extend_from_slice(text);
    bytes_must_say(&bytes, Severity::Warning, "a set or a key occurs twice");
}

#[test]
fn every_set_of_a_module_is_looked_at() {
    for (set, key) in [
        (set::KERNEL_NAMES, "k"),
        (set::EXPORTED_SYMBOLS, "s"),
        (set::IMPORTED_SYMBOLS, "s"),
        (set::ASSERT_USED, "k"),
        (set::DYNAMIC_LOCAL_MEMORY, "k"),
        (set::IMPLICIT_LOCAL_ARG, "k"),
        (set::KERNEL_PARAM_OPT, "k"),
        (set::REGISTERED_KERNELS, "k"),
        (set::PROGRAM_METADATA, "k@reqd_work_group_size"),
        (set::SPECIALIZATION_CONSTANTS, "c"),
        (set::DEVICE_GLOBALS, "g"),
        (set::HOST_PIPES, "p"),
        (set::VIRTUAL_FUNCTIONS, key::VIRTUAL_FUNCTIONS_SET),
        (set::DEVICELIB_REQ_MASK, key::DEVICELIB_REQ_MASK),
        (set::MISC_PROPERTIES, key::OPT_LEVEL),
        (set::DEVICE_REQUIREMENTS, key::ASPECTS),
    ] {
        let mut file = Syclbin::new(State::Object);
        let mut module = AbstractModule::default();
        let text = String::from("x");
        module
            .metadata
            .insert(set, key, Value::Other { ty: 9, text });
        file.modules.push(module);
        let expected = format!("abstract module 0: set `{set}`, key `{key}`: expected");
        must_say(&file, Severity::Error, &expected);
    }
}

#[test]
fn what_is_legal_and_odd_is_told() {
    let bytes = test_files::read("vector_ops.object.syclbin");
    let mut file = read::parse(&bytes).unwrap();
    let module = &mut file.modules[0];
    module
        .metadata
        .insert(set::KERNEL_PARAM_OPT, "ghost", vec![0u8]);
    let mut silent = module.images[0].clone();
    silent.metadata.remove_set(set::IR_MODULE);
    module.images.push(silent);
    let spirv = module.images[0].bytes.clone();
    let target = "spir64_gen-unknown-unknown";
    module.images.push(Image::native("pvc", target, spirv));
    for (severity, expected) in [
        (Severity::Note, "lists `ghost`, which is not a kernel"),
        (Severity::Warning, "it has no type"),
        (Severity::Warning, "it has 2 IR modules"),
        (
            Severity::Error,
            "requires output of Intel's offline compiler, but it contains SPIR-V",
        ),
    ] {
        must_say(&file, severity, expected);
    }
}

#[test]
fn sound_nvidia_files_have_no_findings() {
    for name in ["vector_ops.cubin.syclbin", "vector_ops.fatbin.syclbin"] {
        let found = verify(&test_files::read(&format!("nvidia/{name}")));
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

#[test]
fn spirv_and_ptx_must_have_equal_names() {
    let read = |name: &str| {
        let bytes = test_files::read(&format!("nvidia/{name}.object.syclbin"));
        read::parse(&bytes).unwrap().into_owned()
    };
    let mut file = read("vector_ops");
    let other = file.modules[1].images[1].clone();
    file.modules[0].images[1] = other;
    let missing = "kernel `__sycl_kernel_saxpy` is in the SPIR-V, but not in the PTX";
    must_say(&file, Severity::Error, missing);
    let added = "kernel `_Z19__sycl_kernel_scaleIdEvPT_S0_` is in the PTX, but not in the SPIR-V";
    must_say(&file, Severity::Error, added);

    let whole = write::to_vec(&read("globals"), Container::default()).unwrap();
    let unreachable = |found: &Finding| {
        found
            .to_string()
            .contains("the host cannot access it there")
    };
    assert!(!verify(&whole).iter().any(unreachable));
    let mut file = read("globals");
    let sets = &mut file.modules[0].metadata;
    sets.retain(set::PROGRAM_METADATA, |_| false);
    let missing = "device global `_Z5table` is not in the PTX under the name that";
    must_say(&file, Severity::Warning, missing);

    let mut file = read("constants");
    let text = file.modules[0].images[1].bytes.to_vec();
    let text = String::from_utf8(text).unwrap();
    let text = text.replace("__syclbin_constant_", "__other_");
    file.modules[0].images[1].bytes = text.into_bytes().into();
    let missing = "specialization constant `____ZL4gain` has no variable in the PTX";
    must_say(&file, Severity::Warning, missing);
}

#[test]
fn containers_that_runtimes_do_not_load_are_told() {
    let mut file = read::parse(&test_files::read("vector_ops.object.syclbin"))
        .unwrap()
        .into_owned();
    for (container, expected) in [
        (Container::Bare, "it is not wrapped in an OffloadBinary"),
        (Container::OffloadBinary2, "runtimes before 2026.2 load"),
        (Container::Version2, "SYCLBIN version 2 is a draft"),
    ] {
        let bytes = write::to_vec(&file, container).unwrap();
        bytes_must_say(&bytes, Severity::Note, expected);
    }

    let tomorrow = |role: &'static [u8]| Entry {
        image_kind: ImageKind::SYCLBIN,
        offload_kind: OffloadKind::SYCL,
        strings: vec![
            ("sycl_format_version".into(), b"2".into()),
            ("role".into(), role.into()),
        ],
        ..Entry::default()
    };
    file.strings.push(("producer".into(), b"x".into()));
    file.foreign.push(tomorrow(b"host_pipes"));
    let bytes = write::to_vec(&file, Container::Version2).unwrap();
    let expected = "version 2 does not define string `producer`";
    bytes_must_say(&bytes, Severity::Note, expected);
    bytes_must_say(&bytes, Severity::Warning, "unknown role `host_pipes`");
    let bytes = write::to_vec(&file, Container::OffloadBinary2).unwrap();
    bytes_must_say(
        &bytes,
        Severity::Warning,
        "OffloadBinary entry 1: it is not part of the SYCLBIN file",
    );
}

#[test]
fn odd_wrapper_sizes_and_versions_are_reported() {
    let file = Syclbin::new(State::Object);
    let mut bytes = write::to_vec(&file, Container::OffloadBinary1).unwrap();
    bytes.push(0);
    let size = bytes.len() as u64;
    bytes[8..16].copy_from_slice(&size.to_le_bytes());
    bytes_must_say(&bytes, Severity::Error, "is not a multiple of 8");

    // The header of version 3 has 8 bytes more, so the entry and the image lie further on.
    let mut entry = offload::read(&write::to_vec(&file, Container::OffloadBinary2).unwrap())
        .unwrap()
        .remove(0)
        .into_owned();
    entry.strings.clear();
    let mut bytes = offload::write(&[entry]).unwrap();
    bytes.splice(32..32, [0; 8]);
    bytes[4] = 3;
    for at in [8, 16, 40 + 24] {
        let number = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) + 8;
        bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
    }
    bytes_must_say(
        &bytes,
        Severity::Warning,
        "version 3: the reference runtime loads only versions 1 and 2",
    );
}
