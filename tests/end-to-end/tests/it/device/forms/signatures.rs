// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signatures of real kernels, one of each kind of parameter, held against the C++ source.

use syclbin::property::set;
use syclbin::signature::KernelName;
use syclbin::signature::{self, Argument, Element, Parameter, Signatures, Type};

const KINDS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/syclbin/kinds.syclbin"));
const VARIABLES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/syclbin/variables.syclbin"));
const IMAGES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/syclbin/images.syclbin"));
const FUNCTOR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/syclbin/functor.syclbin"));

fn read(bytes: &[u8]) -> Signatures {
    signature::kernels(&syclbin::read::parse(bytes).unwrap()).unwrap()
}

/// The same file without what was recorded.
fn unrecorded(bytes: &[u8]) -> Signatures {
    let mut file = syclbin::read::parse(bytes).unwrap();
    for module in &mut file.modules {
        for name in [set::KERNELS, set::VARIABLES] {
            module.metadata.remove_set(name);
        }
    }
    signature::kernels(&file).unwrap()
}

/// `name: type`, with `-` for each argument that was removed and `?` for an unknown sign.
fn text(parameter: &Parameter) -> String {
    let name = parameter.name.as_deref().unwrap_or("_");
    let mut text = match &parameter.ty {
        Type::Value(element) => format!("{name}: {element:?}"),
        ty => format!("{name}: {ty:?}"),
    };
    if parameter.arguments.len() > 1 || parameter.arguments[0] == Argument::Removed {
        text.push(' ');
        text.extend(parameter.arguments.iter().map(|argument| match argument {
            Argument::Passed => '+',
            Argument::Removed => '-',
        }));
    }
    if !parameter.sign_known {
        text.push('?');
    }
    text
}

fn parameters(file: &Signatures, name: &str) -> Vec<String> {
    let kernel = file.kernels.iter().find(|kernel| {
        let found = kernel
            .name
            .as_ref()
            .map(syclbin::signature::KernelName::qualified);
        found.as_deref() == Some(name)
    });
    let kernel = kernel.unwrap_or_else(|| panic!("no {name}"));
    match &kernel.parameters {
        Ok(parameters) => parameters.iter().map(text).collect(),
        Err(reason) => panic!("{name}: {reason}"),
    }
}

#[track_caller]
fn assert_parameters(file: &Signatures, name: &str, expected: &str) {
    let expected: Vec<_> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(parameters(file, name), expected, "{name}");
}

/// The struct of that name, with its offsets.
fn layout(file: &Signatures, name: &str) -> String {
    let mut layouts = file.layouts.iter();
    let id = layouts.find(|(_, layout)| layout.name == name).unwrap().0;
    file.layouts.describe(id)
}

#[test]
fn numbers_and_enumerations_are_those_of_the_source() {
    let file = read(KINDS);
    let types = "Bool I8 U8 I16 U16 I32 U32 I64 U64 F32 F64 F16 BF16 U64 U32";
    let mut expected: Vec<_> = ('a'..)
        .zip(types.split(' '))
        .map(|(name, ty)| format!("{name}: Scalar({ty})"))
        .collect();
    expected.push("out: Pointer { pointee: Element(Scalar(F32)), access: ReadWrite }".into());
    assert_eq!(parameters(&file, "scalars"), expected);
    assert_parameters(
        &file,
        "enums",
        "m: Enum(Enum { name: \"geo::Mode\", of: U8 })
         o: Enum(Enum { name: \"Old\", of: I32 })
         to: Pointer { pointee: Element(Enum(Enum { name: \"geo::Mode\", of: U8 })), access: ReadWrite }",
    );
}

#[test]
fn pointers_say_what_they_point_to() {
    let file = read(KINDS);
    let found = parameters(&file, "pointers");
    let pointee = |text: &String| text.split_once("pointee: ").unwrap().1.replace(" }", "");
    let id = |name| {
        let mut layouts = file.layouts.iter();
        layouts.find(|(_, layout)| layout.name == name).unwrap().0
    };
    assert_eq!(
        found.iter().map(pointee).collect::<Vec<_>>(),
        [
            &format!("Element(Struct({:?})), access: ReadWrite", id("Particle")),
            &format!("Element(Struct({:?})), access: Read", id("geo::Inner")),
            "Element(Scalar(F16)), access: ReadWrite",
            "Element(Scalar(Bool)), access: ReadWrite",
            // It only reads the pointer it points to.
            "Element(Pointer(Element(Scalar(I32)))), access: Read",
            "Element(Vector { of: F32, count: 4), access: ReadWrite",
            "Void, access: ReadWrite",
            "Void, access: Read",
            "Unknown(Some(\"Opaque\")), access: Read",
        ]
    );
}

#[test]
fn structs_have_the_offsets_of_the_source() {
    let file = read(KINDS);
    for (name, expected) in [
        (
            "Particle",
            "float mass; /* 0 */ int id; /* 4 */ double position[3]; /* 8 */ \
             sycl::vec<float, 4> velocity; /* 32 */ } /* size 48, align 16 */",
        ),
        (
            "Deep",
            "geo::Inner in[2]; /* 0 */ geo::Mode mode; /* 12 */ sycl::vec<float, 3> v3; /* 16 */ \
             float * ptr; /* 32 */ float grid[2][3]; /* 40 */ bool flag; /* 64 */ \
             sycl::half h; /* 66 */ sycl::ext::oneapi::bfloat16 b; /* 68 */ bytes _[1]; /* 70 */ } \
             /* size 80, align 16 */",
        ),
        (
            "Pair<float, 4>",
            "float a[4]; /* 0 */ float b; /* 16 */ } /* size 20, align 4 */",
        ),
        (
            "Derived",
            "Base Base; /* 0 */ float more; /* 4 */ } /* size 8, align 4 */",
        ),
    ] {
        let expected = format!("struct {name} {{ {expected}");
        assert_eq!(layout(&file, name), expected);
    }
    let by_value = parameters(&file, "by_value");
    assert_eq!(
        by_value[3..7],
        [
            "v4: Vector { of: F32, count: 4 }",
            "v3: Vector { of: I32, count: 3 }",
            "id: Array { of: Scalar(U64), count: 2 }",
            "r: Array { of: Scalar(U64), count: 1 }",
        ]
    );
}

#[test]
fn unrecorded_code_has_equal_sizes_and_alignments() {
    let (recorded, code) = (read(KINDS), unrecorded(KINDS));
    for name in ["Particle", "Deep", "Derived"] {
        let size = |file: &Signatures| {
            let same = file
                .layouts
                .iter()
                .filter(|(_, layout)| layout.name == name);
            let same = same.map(|(_, layout)| (layout.size, layout.align));
            same.max().unwrap()
        };
        assert_eq!(size(&recorded), size(&code), "{name}");
    }
    let of = |file: &Signatures, kernel| parameters(file, kernel).len();
    for kernel in [
        "by_value",
        "local",
        "accessors",
        "handled",
        "sampled",
        "pointers",
    ] {
        assert_eq!(of(&recorded, kernel), of(&code, kernel), "{kernel}");
    }
    // The compiler removed a member, and only the recorded description tells its type.
    let functor = code
        .kernels
        .iter()
        .find(|k| k.symbol == "_ZTS7Functor")
        .unwrap();
    assert_eq!(functor.parameters.as_ref().unwrap()[2].ty, Type::Unused);
}

#[test]
fn local_memory_size_is_fixed_or_open() {
    let file = read(KINDS);
    let sizes = |file: &Signatures, kernel: &str| -> Vec<String> {
        let found = parameters(file, kernel);
        let memory = found.iter().filter(|text| text.contains("LocalMemory"));
        let name = |text: &str| text.split(':').next().unwrap().to_owned();
        let size = |text: &str| text.split_once("size: ").unwrap().1.replace([' ', '}'], "");
        memory
            .map(|text| format!("{} {}", name(text), size(text)))
            .collect()
    };
    assert_eq!(
        sizes(&file, "local"),
        [
            "fixed Some(256)",
            "one Some(4)",
            "open None",
            "particles Some(192)",
            "two Some(64)",
            "dynamic None",
        ]
    );
    assert_eq!(sizes(&file, "Captures"), ["w Some(64)"]);
    // An array in the code may be the memory, or its first element.
    let code: Vec<_> = sizes(&unrecorded(KINDS), "local");
    assert_eq!(
        code,
        [
            "_ None?", "_ None", "_ None", "_ None?", "_ None?", "_ None"
        ]
    );
}

#[test]
fn accessors_samplers_and_handlers_are_one_parameter_each() {
    let file = read(KINDS);
    assert_parameters(
        &file,
        "Functor",
        &format!(
            "pair: Struct({:?})
             out: Pointer {{ pointee: Element(Scalar(F32)), access: ReadWrite }}
             unused: Scalar(U32) -
             h: Scalar(F16)
             tile: LocalAccessor {{ element: Element(Scalar(I32)), dimensions: Some(2) }} +---",
            file.layouts
                .iter()
                .find(|(_, layout)| layout.name == "Pair<int, 2>")
                .unwrap()
                .0
        ),
    );
    assert_eq!(
        parameters(&file, "accessors")[2..],
        [
            "out: Accessor { element: Element(Scalar(F32)), dimensions: 1, access: ReadWrite } ++++",
            "in: Accessor { element: Element(Scalar(I32)), dimensions: 2, access: Read } ++++",
        ]
    );
    assert_eq!(parameters(&file, "handled")[1], "h: KernelHandler");
    assert_eq!(parameters(&file, "sampled")[0], "s: Sampler");
    // The mask is 6e 06: of 13 arguments, 7 are removed.
    assert_parameters(
        &read(FUNCTOR),
        "Triad",
        "tile: LocalAccessor { element: Element(Scalar(F32)), dimensions: Some(1) } +---
         in: Accessor { element: Element(Scalar(F32)), dimensions: 1, access: Read } +--+
         out: Accessor { element: Element(Scalar(F32)), dimensions: 1, access: ReadWrite } +--+
         k: Scalar(F32)",
    );
}

#[test]
fn images_have_components_where_declared() {
    let image = |name: &str, element: &str, dimensions: u8, access: &str| {
        format!(
            "{name}: Image {{ element: {element}, dimensions: {dimensions}, access: {access} }}"
        )
    };
    let file = read(IMAGES);
    let first = |kernel: &str| parameters(&file, kernel)[0].clone();
    assert_eq!(first("sample2"), image("in", "Some(F32)", 2, "Read"));
    assert_eq!(first("twice1"), image("in", "Some(I32)", 1, "Read"));
    assert_eq!(
        parameters(&file, "twice2")[1],
        image("out", "Some(U32)", 2, "ReadWrite")
    );
    assert_eq!(first("layer"), image("in", "Some(I32)", 3, "Read"));
    assert_eq!(first("Functor"), image("in", "Some(I32)", 1, "Read"));
    assert_eq!(
        parameters(&unrecorded(IMAGES), "sample3")[0],
        image("_", "None", 3, "Read")
    );
}

#[test]
fn image_accessors_of_sycl_2020_are_explained() {
    let file = read(IMAGES);
    let mut reasons = file
        .kernels
        .iter()
        .filter_map(|kernel| kernel.parameters.as_ref().err());
    let reason = reasons.next().unwrap().to_string();
    assert_eq!(
        reason,
        "parameter in: `sycl::sampled_image_accessor<sycl::vec<float, 4>, 2, 0>` is not supported: DPC++ compiles it, \
         but the code does not access the image; use `sycl::accessor<sycl::float4, 2, sycl::access_mode::read, \
         sycl::target::image>`, and a `sycl::sampler`"
    );
    assert_eq!(reasons.next(), None);
}

/// `ns::name: type`, `?` for an unknown sign.
fn globals(file: &Signatures) -> Vec<String> {
    let all = file.globals.iter().map(|global| {
        let name = global.name.as_ref().map(KernelName::qualified);
        let ty = match &global.ty {
            Ok(Element::Struct(id)) => file.layouts.describe(*id),
            Ok(ty) => file.layouts.spell(ty),
            Err(reason) => reason.to_string(),
        };
        let mark = if global.sign_known { "" } else { "?" };
        format!("{}: {ty}{mark}", name.unwrap_or_default())
    });
    all.collect()
}

#[test]
fn device_globals_have_the_types_of_the_source() {
    let file = read(VARIABLES);
    assert_eq!(
        globals(&file),
        [
            "count: unsigned int",
            "cell: struct Cell { float mass; /* 0 */ unsigned short kind; /* 4 */ int at[3]; /* 8 */ } /* size 20, \
             align 4 */",
            "cells: Cell[2]",
            "grid: sycl::half[2][3]",
            "pointer: float *",
            "three: sycl::vec<float, 3>",
            "ns::mode: Mode",
            "local: long",
            "flag: bool",
            "of_template<int>: int",
        ]
    );
    let kernel = file
        .kernels
        .iter()
        .find(|kernel| kernel.symbol == "__sycl_kernel_sum");
    assert_eq!(kernel.unwrap().required_local_size, Some(vec![2, 16]));
}

#[test]
fn unrecorded_device_globals_have_sizes_from_code() {
    let file = unrecorded(VARIABLES);
    assert_eq!(
        globals(&file),
        [
            "count: int?",
            "cell: struct Cell { float _; /* 0 */ short _; /* 4 */ int _[3]; /* 8 */ } /* size 20, align 4 */?",
            "cells: Cell[2]?",
            "grid: sycl::half[2][3]",
            "pointer: void *",
            // A type of the header that the code has lost the name of.
            "three: struct  { float _[4]; /* 0 */ } /* size 16, align 4 */",
            "ns::mode: signed char?",
            "local: long?",
            "flag: signed char?",
            "of_template<int>: int?",
        ]
    );
}
