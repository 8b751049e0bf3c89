// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every SYCLBIN file in `tests/files`, written by the reference runtime, is read and understood.

use syclbin::signature::{Access, Argument, Element, Pointee, Scalar, Signatures, Type, kernels};
use syclbin::{Container, State, read, write};

#[test]
fn file_state_matches_its_name() {
    for (name, bytes) in test_files::reference() {
        let file = read::parse(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        let state = name.split('.').nth(1).and_then(State::from_name).unwrap();
        assert_eq!(file.state(), Some(state), "{name}");
        assert!(!file.modules.is_empty());
        let native = state == State::Executable;
        for image in file.modules.iter().flat_map(|module| &module.images) {
            assert_eq!(image.native, native, "{name}");
            let magic: &[u8] = if native { b"\x7fELF" } else { &[3, 2, 0x23, 7] };
            assert!(image.bytes.starts_with(magic), "{name}");
        }
    }
}

#[test]
fn every_file_survives_every_container() {
    for (name, bytes) in test_files::reference() {
        let file = read::parse(&bytes).unwrap();
        for container in Container::ALL {
            let written = write::to_vec(&file, container).unwrap();
            assert_eq!(read::File::parse(&written).unwrap().container(), container);
            assert_eq!(read::parse(&written).unwrap(), file, "{name}");
            assert_eq!(written, write::to_vec(&file, container).unwrap());
        }
    }
}

#[test]
fn reference_files_are_rewritten_byte_for_byte() {
    for (name, bytes) in test_files::reference() {
        let container = read::File::parse(&bytes).unwrap().container();
        assert_eq!(container, Container::OffloadBinary2);
        let written = write::to_vec(&read::parse(&bytes).unwrap(), container).unwrap();
        assert!(written == bytes, "{name}");
    }
}

#[test]
fn unrecorded_signatures_come_from_symbols_and_code() {
    let bytes = test_files::read("vector_ops.object.syclbin");
    let file = read::parse(&bytes).unwrap();
    let found = kernels(&file).unwrap().kernels;
    let texts: Vec<_> = found
        .iter()
        .map(|kernel| match &kernel.declaration {
            Some(declaration) => declaration.to_string(),
            None => kernel.name.as_ref().unwrap().qualified(),
        })
        .collect();
    assert_eq!(
        texts,
        [
            "saxpy",
            "void fill::iota(float, float *, int)",
            "void scale<int>(int *, int)",
            "void scale<double>(double *, double)",
        ]
    );
    let saxpy = found.iter().find(|k| k.symbol == "__sycl_kernel_saxpy");
    let parameters = saxpy.unwrap().parameters.as_ref().unwrap();
    let types: Vec<_> = parameters
        .iter()
        .map(|p| (p.ty.clone(), p.sign_known))
        .collect();
    let pointer = |access| Type::Pointer {
        pointee: Pointee::Element(Element::Scalar(Scalar::F32)),
        access,
    };
    assert_eq!(
        types,
        [
            (Type::Value(Element::Scalar(Scalar::F32)), true),
            (pointer(Access::Read), true),
            (pointer(Access::ReadWrite), true),
            // `unsigned n`: the code alone does not tell.
            (Type::Value(Element::Scalar(Scalar::I32)), false),
        ]
    );
}

/// The signatures of a file, and the parameters of one of its kernels as text.
fn parameters(file: &str, symbol: &str) -> (Signatures, Result<Vec<String>, String>) {
    let bytes = test_files::read(file);
    let found = kernels(&read::parse(&bytes).unwrap()).unwrap();
    let kernel = found.kernels.iter().find(|k| k.symbol == symbol).unwrap();
    let parameters = kernel.parameters.as_ref().map_err(ToString::to_string);
    let text = parameters.map(|parameters| {
        let text = |p: &syclbin::signature::Parameter| {
            let sign = if p.sign_known { "" } else { " (sign?)" };
            let arguments = p.arguments.iter().map(|argument| match argument {
                Argument::Passed => '+',
                Argument::Removed => '-',
            });
            format!("{:?}{sign} {}", p.ty, arguments.collect::<String>())
        };
        parameters.iter().map(text).collect()
    });
    (found, text)
}

#[test]
fn structs_have_the_layout_that_the_code_has() {
    let (found, kinetic) = parameters("structs.object.syclbin", "__sycl_kernel_kinetic");
    let expected = [
        "Value(Struct(StructId(0))) (sign?) +",
        "Pointer { pointee: Element(Struct(StructId(0))), access: Read } (sign?) +",
        "Pointer { pointee: Element(Scalar(F32)), access: ReadWrite } +",
        "Value(Scalar(I64)) (sign?) +",
    ];
    assert_eq!(kinetic.unwrap(), expected);
    let layouts: Vec<_> = found
        .layouts
        .iter()
        .map(|(id, _)| found.layouts.describe(id))
        .collect();
    assert_eq!(
        layouts[0],
        "struct Particle { float _; /* 0 */ int _; /* 4 */ double _[3]; /* 8 */ \
         float _[4]; /* 32 */ } /* size 48, align 16 */"
    );
    let (found, widen) = parameters("structs.object.syclbin", "__sycl_kernel_widen");
    assert_eq!(
        widen.unwrap(),
        [
            "Value(Struct(StructId(1))) (sign?) +",
            "Pointer { pointee: Element(Scalar(F16)), access: Read } +",
            "Value(Scalar(I32)) (sign?) +",
        ]
    );
    let span = found.layouts.iter().nth(1).unwrap().0;
    assert_eq!(
        found.layouts.describe(span),
        "struct Span { void * _; /* 0 */ int _; /* 8 */ } /* size 16, align 8 */"
    );
}

#[test]
fn a_functor_has_its_accessors_back() {
    // The mask is 6e 06: of 13 arguments, 7 are removed.
    let (_, triad) = parameters("functor.object.syclbin", "_ZTS5Triad");
    assert_eq!(
        triad.unwrap(),
        [
            "LocalAccessor { element: Element(Scalar(F32)), dimensions: None } +---",
            "Accessor { element: Element(Scalar(F32)), dimensions: 1, access: Read } +--+",
            "Accessor { element: Element(Scalar(F32)), dimensions: 1, access: ReadWrite } +--+",
            "Value(Scalar(F32)) +",
        ]
    );
    let (_, add_one) = parameters("functor.object.syclbin", "_ZTS6AddOne");
    assert_eq!(
        add_one.unwrap(),
        [
            "Pointer { pointee: Element(Scalar(I32)), access: ReadWrite } (sign?) +",
            "Value(Scalar(I32)) (sign?) +",
        ]
    );
}

#[test]
fn launch_sets_the_size_of_undeclared_local_memory() {
    let (_, block_sum) = parameters("work_group.object.syclbin", "__sycl_kernel_block_sum");
    assert_eq!(
        block_sum.unwrap()[2],
        "LocalMemory { element: Element(Scalar(I32)), size: None } (sign?) +"
    );
}

#[test]
fn a_kernel_handler_is_told_from_a_struct() {
    let (_, blur) = parameters("constants.object.syclbin", "__sycl_kernel_blur");
    assert_eq!(blur.unwrap()[3], "KernelHandler +");
}

#[test]
fn every_reference_kernel_has_a_signature() {
    const ROUNDED: &str =
        "_ZTSN4sycl3_V16detail18RoundedRangeKernelINS0_4itemILi1ELb1EEELi1E6AddOneEE";
    for (name, bytes) in test_files::reference() {
        let file = read::parse(&bytes).unwrap();
        let native = file.state() == Some(State::Executable);
        for kernel in kernels(&file).unwrap().kernels {
            let Err(reason) = &kernel.parameters else {
                continue;
            };
            let reason = reason.to_string();
            let expected = match kernel.symbol.as_str() {
                ROUNDED => "a variant that the SYCL runtime launches",
                "_Z5shapef" if native => continue,
                "_Z5shapef" => "it is an exported function, not a kernel",
                // Machine code does not tell, and these symbols have no types.
                _ if native => "neither a declaration nor SPIR-V",
                _ => panic!("{name}: {}: {reason}", kernel.symbol),
            };
            assert!(reason.contains(expected), "{}: {reason}", kernel.symbol);
        }
    }
}

#[test]
fn exported_function_is_not_a_kernel() {
    for state in ["object", "executable"] {
        let file = format!("export_side.{state}.syclbin");
        let (_, parameters) = parameters(&file, "_Z5shapef");
        let reason = parameters.unwrap_err();
        assert!(reason.contains("it is an exported function"), "{reason}");
    }
}

#[test]
fn something_else_is_named_as_such() {
    let cases: [(&[u8], &str); 4] = [
        (b"", "file: not a SYCLBIN file: it is empty"),
        (b"\x7fELF\x02\x01", "it begins with 7f 45 4c 46"),
        (
            b"\x10\xff\x10\xad",
            "OffloadBinary header: range 0x0+0x20 exceeds the file of 0x4 bytes",
        ),
        (b"IBYS\x02\0\0\0", "SYCLBIN file header: range"),
    ];
    for (bytes, expected) in cases {
        let error = read::parse(bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
