// SPDX-License-Identifier: MIT OR Apache-2.0
//! Described declarations and layouts: what they mean together, and what happens where they do not fit.

use syclbin::metadata::{ArgumentMask, Property};
use syclbin::property::set;
use syclbin::signature::{self, Argument, Element, Pointee, Scalar, Signatures, Type};
use syclbin::{AbstractModule, State, Syclbin, Value};
use test_files::Declared;

use crate::variables::{module, spirv};

/// A file of modules with a kernel each that takes what `declarations` says.
fn file(modules: &[(&str, &str, &[&str])]) -> Signatures {
    let mut file = Syclbin::new(State::Executable);
    for (symbol, declaration, definitions) in modules {
        let mut module = AbstractModule::default();
        module.add_kernel_name(*symbol);
        let declared = Declared::default().kernel(symbol, declaration);
        declared.types(definitions).record(&mut module);
        file.modules.push(module);
    }
    signature::kernels(&file).unwrap()
}

fn reason(file: &Signatures, kernel: usize) -> String {
    let parameters = &file.kernels[kernel].parameters;
    parameters.as_ref().unwrap_err().to_string()
}

#[test]
fn a_struct_holds_structs_and_enumerations() {
    let found = file(&[(
        "k",
        "void k(Outer a, const Outer *b)",
        &[
            "struct Outer { Inner in[2]; /* 0 */ Mode mode; /* 8 */ } /* size 12, align 4 */",
            "struct Inner { int a; /* 0 */ } /* size 4, align 4 */",
            "enum Mode : unsigned char;",
        ],
    )]);
    let parameters = found.kernels[0].parameters.as_ref().unwrap();
    let Type::Value(Element::Struct(outer)) = parameters[0].ty else {
        panic!("{:?}", parameters[0])
    };
    assert_eq!(parameters[1].ty.structure(), Some(outer));
    let fields = &found.layouts.get(outer).unwrap().fields;
    assert!(matches!(fields[0].ty, Element::Array { count: 2, .. }));
    assert!(matches!(fields[1].ty, Element::Enum(_)));
    assert_eq!(found.layouts.iter().count(), 2);
}

#[test]
fn only_runtimes_rounded_range_kernels_are_refused() {
    let [runtimes, users, other] = [
        "_ZTSN4sycl18RoundedRangeKernelE",
        "_ZTSN3foo18RoundedRangeKernelE",
        "_ZTSN4sycl6KernelE",
    ]
    .map(|symbol| file(&[(symbol, "void k(int n)", &[])]));
    assert!(reason(&runtimes, 0).starts_with("it is a variant that the SYCL runtime launches"));
    assert!(users.kernels[0].parameters.is_ok());
    assert!(other.kernels[0].parameters.is_ok());
}

#[test]
fn two_structs_of_one_name_are_both_shown() {
    let outer = "struct O { P p; /* 0 */ } /* size 4, align 4 */";
    let found = file(&[
        (
            "a",
            "void a(O o)",
            &[outer, "struct P { int x; /* 0 */ } /* size 4, align 4 */"],
        ),
        (
            "b",
            "void b(P *p)",
            &["struct P { float y; /* 0 */ } /* size 4, align 4 */"],
        ),
        ("c", "void c(int x)", &[]),
    ]);
    for kernel in [0, 1] {
        let reason = reason(&found, kernel);
        assert!(reason.contains("two structs are named `P`"), "{reason}");
        assert!(reason.contains("int x; /* 0 */"), "{reason}");
        assert!(reason.contains("float y; /* 0 */"), "{reason}");
    }
    assert!(found.kernels[2].parameters.is_ok());
    // All of sixteen members are shown, but not of seventeen.
    for count in [16, 17] {
        let [a, b] = ["int", "float"].map(|ty| {
            let members = (0..count).map(|n| format!("{ty} m{n}; /* {} */ ", 4 * n));
            let (members, size) = (members.collect::<String>(), 4 * count);
            format!("struct P {{ {members}}} /* size {size}, align 4 */")
        });
        let found = file(&[("a", "void a(P p)", &[&a]), ("b", "void b(P p)", &[&b])]);
        let reason = reason(&found, 0);
        let whole = format!("rename one in C++: `{a}` and `{b}`");
        assert_eq!(reason.contains(&whole), count == 16, "{reason}");
        assert_eq!(reason.contains("..."), count == 17, "{reason}");
    }
}

#[test]
fn reasons_for_conflicts_stay_short() {
    let members: String = (0..2000)
        .map(|n| format!("int m{n}; /* {} */ ", 4 * n))
        .collect();
    let large = format!("struct P {{ {members}}} /* size 8000, align 4 */");
    let long = format!(
        "struct P {{ int {}; /* 0 */ }} /* size 4, align 4 */",
        "m".repeat(5000)
    );
    let small = "struct P { float y; /* 0 */ } /* size 4, align 4 */";
    let found = file(&[
        ("a", "void a(P p)", &[&large]),
        ("b", "void b(P p)", &[&long]),
        ("c", "void c(P p)", &[small]),
        ("d", "void d(P p)", &[&large]),
    ]);
    for kernel in 0..4 {
        let reason = reason(&found, kernel);
        assert!(reason.contains("int m15; /* 60 */ ... }"), "{reason}");
        assert!(reason.len() < 3000, "{reason}");
    }
    // The reason is shared, and a long name is cut.
    let name = "P".repeat(1 << 20);
    let [one, two] = ["int x", "float x"]
        .map(|member| format!("struct {name} {{ {member}; /* 0 */ }} /* size 4, align 4 */"));
    let mut structs = vec![two];
    structs.extend(
        (0..5000).map(|n| format!("struct O{n} {{ {name} p; /* 0 */ }} /* size 4, align 4 */")),
    );
    let structs: Vec<&str> = structs.iter().map(String::as_str).collect();
    let found = file(&[
        ("a", &format!("void a({name} p)"), &[&one]),
        ("b", "void b(O7 o)", &structs),
    ]);
    assert!(reason(&found, 1).len() < 4000);
}

#[test]
fn conflicts_inside_of_arrays_are_shown() {
    let outer = "struct O { P p[2]; /* 0 */ } /* size 8, align 4 */";
    let found = file(&[
        (
            "a",
            "void a(O *o)",
            &[outer, "struct P { int x; /* 0 */ } /* size 4, align 4 */"],
        ),
        (
            "b",
            "void b(P *p)",
            &["struct P { float y; /* 0 */ } /* size 4, align 4 */"],
        ),
    ]);
    for kernel in [0, 1] {
        let reason = reason(&found, kernel);
        assert!(reason.contains("two structs are named `P`"), "{reason}");
    }
}

#[test]
fn struct_pointers_name_their_target_without_recursion() {
    let found = file(&[(
        "k",
        "void k(Node n)",
        &[
            "struct Node { Node *next; /* 0 */ const float *data; /* 8 */ void *any; /* 16 */ Mode *mode; /* 24 */ \
             sycl::vec<int, 3> *v; /* 32 */ float **deep; /* 40 */ } /* size 48, align 8 */",
            "enum Mode : unsigned char;",
        ],
    )]);
    let parameters = found.kernels[0].parameters.as_ref().unwrap();
    let layout = found.layouts.get(parameters[0].ty.structure().unwrap());
    let pointees = layout.unwrap().fields.iter().map(|field| match &field.ty {
        Element::Pointer(pointee) => &**pointee,
        other => panic!("{other:?}"),
    });
    let mode = signature::Enum {
        name: "Mode".into(),
        of: Scalar::U8,
    };
    let vector = Element::Vector {
        of: Scalar::I32,
        count: 3,
    };
    let expected = [
        Pointee::Unknown(Some("Node".into())),
        Pointee::Element(Element::Scalar(Scalar::F32)),
        Pointee::Void,
        Pointee::Element(Element::Enum(mode)),
        Pointee::Element(vector),
        Pointee::Unknown(None),
    ];
    assert!(pointees.eq(&expected));
    assert!(
        found
            .layouts
            .describe(parameters[0].ty.structure().unwrap())
            .contains("float * data; /* 8 */")
    );
}

#[test]
fn only_structs_of_one_name_are_a_conflict() {
    let found = file(&[
        (
            "a",
            "void a(P p)",
            &["struct P { int x; /* 0 */ } /* size 4, align 4 */"],
        ),
        (
            "b",
            "void b(P p)",
            &["struct P { float x; /* 0 */ } /* size 4, align 4 */"],
        ),
        ("c", "void c(Q q)", &[]),
    ]);
    let conflicts = found.kernels.iter().map(|kernel| {
        kernel
            .left_out()
            .unwrap()
            .to_string()
            .contains("two structs are named `P`")
    });
    assert_eq!(conflicts.collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn recorded_reason_leaves_a_kernel_out() {
    let bytes = test_files::bytes("vector_ops.object.syclbin");
    let mut file = syclbin::read::parse(bytes).unwrap();
    let symbol = file.modules[0].kernel_names().next().unwrap().to_owned();
    syclbin::__private::leave_out(&mut file.modules[0], &symbol, "two sources have it");
    let kernels = signature::kernels(&file).unwrap().kernels;
    assert!(kernels.len() > 1);
    for kernel in kernels {
        let reason = kernel.left_out().map(|reason| reason.to_string());
        let expected = (kernel.symbol == symbol).then_some("two sources have it");
        assert_eq!(reason.as_deref(), expected, "{}", kernel.symbol);
    }
}

#[test]
fn runtime_kernels_and_exported_functions_are_no_kernels() {
    let mut module = AbstractModule::default();
    for (symbol, _) in OF_RUNTIME {
        module.add_kernel_name(symbol);
    }
    let mut file = Syclbin::new(State::Executable);
    file.modules.push(module);
    let bytes = test_files::bytes("export_side.object.syclbin");
    let exporting = syclbin::read::parse(bytes).unwrap();
    file.modules.extend(exporting.modules);
    let kernels = signature::kernels(&file).unwrap().kernels;
    let found = kernels.iter().map(|kernel| {
        let is_no_kernel = kernel.left_out().unwrap().is_no_kernel();
        (&*kernel.symbol, is_no_kernel)
    });
    let expected = OF_RUNTIME.into_iter().chain([("_Z5shapef", true)]);
    assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

/// Kernels, and whether the runtime launches them for its own functions.
const OF_RUNTIME: [(&str, bool); 4] = [
    ("_ZTSN4sycl3_V16detail18RoundedRangeKernelI1KEE", true),
    ("_ZTSN4sycl3_V16detail8FillInstIiEE", true),
    (
        "_ZTSZN4sycl3_V16detail16NDRangeReductionILi1EE3runEvEUlvE_",
        false,
    ),
    // Nothing describes its parameters.
    ("_ZTS1K", false),
];

#[test]
fn scratch_memory_must_be_the_last_argument() {
    let bytes = test_files::bytes("work_group.object.syclbin");
    let mut file = syclbin::read::parse(bytes).unwrap();
    let mut parameters = |argument: u32| {
        let (sets, symbol) = (&mut file.modules[0].metadata, "__sycl_kernel_block_sum");
        sets.insert(set::IMPLICIT_LOCAL_ARG, symbol, argument);
        let mut kernels = signature::kernels(&file).unwrap().kernels.into_iter();
        let kernel = kernels.find(|kernel| kernel.symbol == symbol);
        kernel.unwrap().parameters
    };
    let last = parameters(2).unwrap().pop().unwrap();
    assert_eq!(last.name.as_deref(), Some("work_group_scratch_memory"));
    let reason = parameters(1).unwrap_err().to_string();
    let expected = "does not record its work-group scratch memory as the last argument";
    assert!(reason.contains(expected), "{reason}");
}

#[test]
fn required_sizes_follow_sycl_order_and_dimensions() {
    let bytes = test_files::bytes("work_group.object.syclbin");
    let mut file = syclbin::read::parse(bytes).unwrap();
    let size = |found: &Signatures, name: &str| {
        let mut kernels = found.kernels.iter();
        let kernel = kernels.find(|kernel| kernel.symbol == format!("__sycl_kernel_{name}"));
        let kernel = kernel.unwrap();
        (
            kernel.required_local_size.clone(),
            kernel.parameters.clone().map(|_| ()),
        )
    };
    let found = signature::kernels(&file).unwrap();
    assert_eq!(size(&found, "block_sum"), (Some(vec![64]), Ok(())));
    assert_eq!(size(&found, "coords"), (Some(vec![2, 4, 8]), Ok(())));
    assert_eq!(size(&found, "histogram"), (None, Ok(())));
    // The code records the same size, and the device requirements record the number of dimensions, as in files from
    // DPC++.
    let sets = &mut file.modules[0].metadata;
    let all = sets.remove_set(set::PROGRAM_METADATA).unwrap();
    let found = signature::kernels(&file).unwrap();
    assert_eq!(size(&found, "block_sum"), (Some(vec![64]), Ok(())));
    let key = all
        .keys()
        .find(|key| key.ends_with("block_sum@reqd_work_group_size"));
    let value = Value::from([32u32, 1, 1].map(u32::to_le_bytes).concat());
    let sets = &mut file.modules[0].metadata;
    sets.insert(set::PROGRAM_METADATA, key.unwrap().to_owned(), value);
    let found = signature::kernels(&file).unwrap();
    let reason = size(&found, "block_sum").1.unwrap_err().to_string();
    assert!(
        reason.contains(
            "its required work-group size as [32, 1, 1], but the code specifies [64, 1, 1]"
        ),
        "{reason}"
    );
}

#[test]
fn recorded_layout_that_contradicts_code_is_refused() {
    let bytes = test_files::bytes("structs.object.syclbin");
    let particle = "struct Particle { float mass; /* 0 */ int id; /* 4 */ double position[3]; /* 8 */ \
        sycl::vec<float, 4> velocity; /* 32 */ } /* size 48, align 16 */";
    let kinetic = |particle: &str| {
        let mut file = syclbin::read::parse(bytes).unwrap();
        let declaration =
            "void kinetic(Particle proto, const Particle *in, float *out, unsigned long count)";
        let declared = Declared::default().kernel("__sycl_kernel_kinetic", declaration);
        declared.types(&[particle]).record(&mut file.modules[0]);
        let found = signature::kernels(&file).unwrap();
        let mut kernels = found.kernels.into_iter();
        let kernel = kernels.find(|kernel| kernel.symbol == "__sycl_kernel_kinetic");
        kernel
            .unwrap()
            .parameters
            .map_err(|reason| reason.to_string())
    };
    assert_eq!(kinetic(particle).map(|all| all.len()), Ok(4));
    // What is not known agrees with everything: bytes, a sign, a gap, the fourth of three.
    for (from, to) in [
        ("double position[3]", "bytes position[24]"),
        ("int id", "unsigned int id"),
        (" int id; /* 4 */", ""),
        ("sycl::vec<float, 4>", "sycl::vec<float, 3>"),
        ("sycl::vec<float, 4> velocity", "float velocity[2][2]"),
    ] {
        assert!(particle.contains(from));
        let corrupt = particle.replace(from, to);
        assert!(kinetic(&corrupt).is_ok(), "{to}: {:?}", kinetic(&corrupt));
    }
    for (from, to, at) in [
        ("float mass", "int mass", 0),
        ("int id", "float id", 4),
        ("int id", "short id", 4),
        ("int id; /* 4 */", "char id; /* 5 */", 5),
        ("double position[3]", "float position[6]", 8),
        ("double position[3]", "long position[3]", 8),
        ("double position[3]", "float *position[3]", 8),
        (
            "double position[3]; /* 8 */",
            "double position[2]; /* 12 */",
            12,
        ),
        ("sycl::vec<float, 4>", "sycl::vec<int, 4>", 32),
        ("sycl::vec<float, 4> velocity", "double velocity[2]", 32),
    ] {
        assert!(particle.contains(from));
        let reason = kinetic(&particle.replace(from, to)).unwrap_err();
        let expected = format!(
            "parameter proto: it is declared as `Particle`, but the type in the code has a different layout at byte \
             offset {at}"
        );
        assert!(reason.starts_with(&expected), "{to}: {reason}");
    }
    let reason = kinetic(&particle.replace("size 48", "size 64")).unwrap_err();
    assert!(
        reason.contains("(64 bytes), but the code expects 48 bytes"),
        "{reason}"
    );
}

/// A file of a kernel whose parameter has the type that `instructions` declare as %2.
fn taking(instructions: &[&[u32]], declaration: Option<&str>) -> Signatures {
    let all = [instructions, &[&[54, 1, 99, 0, 8], &[55, 2, 10]]].concat();
    let mut module = module(Some(spirv(&all)));
    if let Some(declaration) = declaration {
        Declared::default()
            .kernel("k", declaration)
            .record(&mut module);
    }
    let mut file = Syclbin::new(State::Executable);
    file.modules.push(module);
    signature::kernels(&file).unwrap()
}

/// What that kernel takes, and whether a sign is known.
fn taken(instructions: &[&[u32]], declaration: Option<&str>) -> Result<(Type, bool), String> {
    let kernel = taking(instructions, declaration).kernels.remove(0);
    let parameters = kernel.parameters.map_err(|reason| reason.to_string())?;
    Ok((parameters[0].ty.clone(), parameters[0].sign_known))
}

/// What a kernel takes whose parameter has the type that `instruction` declares as %2.
fn parameter(instruction: &[u32], declaration: Option<&str>) -> Result<(Type, bool), String> {
    taken(&[instruction], declaration)
}

/// The spelled type, or the reason.
fn spelled(instructions: &[&[u32]], declaration: Option<&str>) -> String {
    let found = taking(instructions, declaration);
    match &found.kernels[0].parameters {
        Ok(parameters) => {
            let parameter = &parameters[0];
            let layouts = &found.layouts;
            layouts.spell_type(&parameter.ty, parameter.sign_known)
        }
        Err(reason) => reason.to_string(),
    }
}

const BY_VALUE: &[u32] = &[71, 10, 38, 2];
const NO_WRITE: &[u32] = &[71, 10, 38, 6];
const INT: &[u32] = &[21, 20, 32, 0];
const FLOAT: &[u32] = &[22, 21, 32];
const CHAR: &[u32] = &[21, 22, 8, 0];
const LONG: &[u32] = &[21, 23, 64, 0];

/// `OpTypePointer` of %2 to %30.
const fn pointer(storage: u32) -> [u32; 4] {
    [32, 2, storage, 30]
}

/// `OpName`.
fn name(id: u32, name: &str) -> Vec<u32> {
    let bytes: Vec<u8> = name.bytes().chain([0; 4]).collect();
    let words = bytes.as_chunks().0.iter();
    let words = words.map(|word| u32::from_le_bytes(*word));
    [vec![5, id], words.collect()].concat()
}

#[test]
fn images_in_code_fit_their_declarations() {
    let image = |dimension, access| [25, 2, 8, dimension, 0, 0, 0, 0, 0, access];
    let declared = |dimensions, mode| {
        format!(
            "sycl::accessor<sycl::vec<float, 4>, {dimensions}, sycl::access_mode::{mode}, sycl::target::image>"
        )
    };
    for (dimension, mode) in [(1, "read"), (1, "write"), (2, "read"), (0, "write")] {
        let in_code = image(dimension, u32::from(mode == "write"));
        let found = spelled(&[&in_code], None);
        let expected = declared(dimension + 1, mode).replace("sycl::vec<float, 4>", "pixel");
        assert_eq!(found, expected);
        for dimensions in 1..4 {
            for other in ["read", "write"] {
                let declared = declared(dimensions, other);
                let found = spelled(&[&in_code], Some(&format!("void k({declared} x)")));
                let fits = dimensions == dimension + 1 && mode == other;
                assert_eq!(found == declared, fits, "{found}");
                let reason = "but the code expects a different type";
                assert_eq!(found.contains(reason), !fits, "{found}");
            }
        }
    }
}

#[test]
fn code_tells_sizes_of_work_group_memory() {
    let pointer = pointer(4);
    let memory = |count: u32, name: &[u32], declared: Option<&str>| {
        let count = [43, 23, 40, count, 0];
        let mut all = vec![LONG, INT, &count, &[28, 30, 20, 40], &pointer];
        if !name.is_empty() {
            all.insert(0, name);
        }
        let declared = declared.map(|of| {
            format!("void k(sycl::ext::oneapi::experimental::work_group_memory<{of}> x)")
        });
        match taken(&all, declared.as_deref()) {
            Ok((Type::LocalMemory { size, .. }, _)) => Ok(size),
            Ok(other) => panic!("{other:?}"),
            Err(reason) => Err(reason),
        }
    };
    assert_eq!(memory(2, &[], None), Ok(Some(8)));
    // Arrays of unknown size have this type as well.
    assert_eq!(memory(1, &[], None), Ok(None));
    for declared in ["int[8]", "int[9]"] {
        let size = if declared == "int[8]" { 32 } else { 36 };
        assert_eq!(memory(8, &[], Some(declared)), Ok(Some(size)));
    }
    let reason = memory(8, &[], Some("int[7]")).unwrap_err();
    let expected = "int[7]>` (28 bytes), but the code expects 32 bytes";
    assert!(reason.contains(expected), "{reason}");
    assert_eq!(memory(8, &[], Some("int[]")), Ok(None));
    // A member of a functor.
    let named = name(10, "tile");
    assert_eq!(memory(8, &named, Some("int[]")), Ok(Some(32)));
    assert_eq!(memory(8, &[], Some("Unknown")), Ok(Some(32)));
}

#[test]
fn pointers_in_code_tell_their_pointees() {
    let device = pointer(5);
    let named = name(30, "struct.ns::Node.3");
    // What comes before the types, and the type.
    for (before, pointee, expected) in [
        (None, &[23, 30, 21, 4][..], "sycl::vec<float, 4> *"),
        (None, &[23, 30, 20, 2], "sycl::vec<int, 2> *"),
        // A vector of three elements, or of four.
        (None, &[23, 30, 21, 3], "bytes[16] *"),
        (None, &[30, 30, 20, 21], "void *"),
        (Some(&named[..]), &[30, 30, 20, 21], "ns::Node *"),
        (Some(NO_WRITE), &[22, 30, 64], "const double *"),
    ] {
        let before: Vec<&[u32]> = before.into_iter().collect();
        let all = [&before[..], &[INT, FLOAT, pointee, &device]].concat();
        assert_eq!(spelled(&all, None), expected);
    }
}

#[test]
fn members_in_code_are_described() {
    let named = name(30, "struct.S");
    let node = name(31, "struct.ns::Node.3");
    let by_value = pointer(7);
    let all = [
        BY_VALUE,
        &named,
        &node,
        INT,
        FLOAT,
        CHAR,
        &[30, 31, 20],
        &[30, 32, 20],
        &[32, 33, 4, 31],
        &[32, 34, 4, 32],
        &[32, 35, 4, 21],
        &[32, 36, 4, 22],
        &[30, 30, 33, 34, 35, 36, 20],
        &by_value,
    ];
    let found = taking(&all, None);
    let parameters = found.kernels[0].parameters.as_ref().unwrap();
    let id = parameters[0].ty.structure().unwrap();
    assert_eq!(
        found.layouts.describe(id),
        "struct S { ns::Node * _; /* 0 */ void * _; /* 8 */ float * _; /* 16 */ void * _; /* 24 */ int _; /* 32 */ } \
         /* size 40, align 8 */"
    );
    assert_eq!(spelled(&all, None), "S");
    let unnamed: Vec<&[u32]> = all.into_iter().filter(|own| *own != named).collect();
    assert_eq!(spelled(&unnamed, None), "struct");
}

/// A device whose `size_t` has 32 bits.
#[test]
fn ranges_have_the_numbers_in_code() {
    let range = name(30, "class.sycl::_V1::range");
    let by_value = pointer(7);
    let of = |number: u32| {
        let all = [
            BY_VALUE,
            &range,
            INT,
            LONG,
            &[43, 23, 40, 2, 0],
            &[28, 31, number, 40],
            &[30, 30, 31],
            &by_value,
        ];
        taken(&all, None).unwrap()
    };
    let array = |scalar| {
        let of = Box::new(Element::Scalar(scalar));
        Type::Value(Element::Array { of, count: 2 })
    };
    assert_eq!(of(23), (array(Scalar::U64), true));
    assert_eq!(of(20), (array(Scalar::I32), false));
}

#[test]
fn values_beyond_the_address_space_are_refused() {
    let by_value = pointer(7);
    let all = [BY_VALUE, INT, &[30, 30, 20], &by_value];
    let declared = "void k(sycl::marray<double, 4611686018427387904> x)";
    let reason = spelled(&all, Some(declared));
    assert!(
        reason.contains("is larger than the address space"),
        "{reason}"
    );
}

#[test]
fn removed_arguments_keep_their_places() {
    let mut module = module(Some(spirv(&[FLOAT, &[54, 1, 99, 0, 8], &[55, 21, 10]])));
    let mask = ArgumentMask {
        removed: vec![true, false, true],
    };
    let value = mask.to_value();
    module.metadata.insert(set::KERNEL_PARAM_OPT, "k", value);
    let mut other = module.clone();
    let declared = Declared::default().kernel("k", "void k(Unknown a, float b, int c)");
    declared.record(&mut other);
    for module in [module, other] {
        let mut file = Syclbin::new(State::Executable);
        file.modules.push(module);
        let kernel = signature::kernels(&file).unwrap().kernels.remove(0);
        let parameters = kernel.parameters.unwrap();
        let float = Type::Value(Element::Scalar(Scalar::F32));
        assert_eq!(
            [&parameters[0].ty, &parameters[1].ty],
            [&Type::Unused, &float]
        );
        let arguments: Vec<_> = parameters.into_iter().flat_map(|of| of.arguments).collect();
        let (removed, passed) = (Argument::Removed, Argument::Passed);
        assert_eq!(arguments, [removed, passed, removed]);
    }
}

#[test]
fn objects_without_members_are_not_passed() {
    let found = file(&[(
        "k",
        "void k(E e, int n)",
        &["struct E { } /* size 1, align 1 */"],
    )]);
    let parameters = found.kernels[0].parameters.as_ref().unwrap();
    assert_eq!(parameters[0].ty, Type::Unused);
    assert_eq!(parameters[1].ty, Type::Value(Element::Scalar(Scalar::I32)));
}

#[test]
fn first_module_describes_a_kernel() {
    let found = file(&[("k", "void k(int a)", &[]), ("k", "void k(int b)", &[])]);
    let parameters = found.kernels[0].parameters.as_ref().unwrap();
    assert_eq!(parameters[0].name.as_deref(), Some("a"));
    assert_eq!(found.kernels.len(), 1);
    assert!(!found.kernels[0].is_rounded_range());
}

#[test]
fn unsupported_objects_come_with_advice() {
    for (ty, expected) in [
        (
            "sycl::stream",
            "`sycl::stream` is not supported; print with `sycl::ext",
        ),
        (
            "sycl::unsampled_image_accessor<sycl::vec<float, 4>, 2>",
            "is not supported: DPC++ compiles it, but",
        ),
        ("int &", "parameter x: `int &` is not supported"),
    ] {
        let found = file(&[("k", &format!("void k({ty} x)"), &[])]);
        let reason = reason(&found, 0);
        assert!(reason.contains(expected), "{reason}");
        assert_eq!(reason.ends_with("is not supported"), ty == "int &");
    }
}

#[test]
fn types_of_parameters_are_spelled_in_cpp() {
    let found = file(&[(
        "k",
        "void k(const float *a, float *b, sycl::marray<int, 2> c, sycl::ext::oneapi::experimental::work_group_memory<\
         int[8]> d, sycl::local_accessor<float, 2> e, sycl::accessor<const int, 3, sycl::access_mode::read> f, char g)",
        &[],
    )]);
    let parameters = found.kernels[0].parameters.as_ref().unwrap();
    let types: Vec<_> = parameters
        .iter()
        .map(|parameter| found.layouts.spell_type(&parameter.ty, true))
        .collect();
    let expected = [
        "const float *",
        "float *",
        "sycl::marray<int, 2>",
        "work_group_memory<int[8]>",
        "sycl::local_accessor<float, 2>",
        "sycl::accessor<const int, 3>",
        "signed char",
    ];
    assert_eq!(types, expected);
    // A byte without a sign.
    let char = found.layouts.spell_type(&parameters[6].ty, false);
    assert_eq!(char, "char");
}

#[test]
fn numbers_of_another_kind_or_size_are_refused() {
    let (int, float) = ([21, 2, 32, 0], [22, 2, 32]);
    for (in_code, agrees, contradicts) in [
        (&int[..], "unsigned int", ["float", "short"]),
        (&float, "float", ["int", "double"]),
    ] {
        let found = |ty| parameter(in_code, Some(&format!("void k({ty} x)")));
        assert!(found(agrees).is_ok(), "{agrees}");
        for ty in contradicts {
            let reason = found(ty).unwrap_err();
            let expected = format!("declared as `{ty}`, but the code expects a different type");
            assert!(reason.contains(&expected), "{reason}");
        }
    }
}

#[test]
fn older_compilers_pass_a_bool_as_such() {
    let found = |declaration| parameter(&[20, 2], declaration);
    let bool = Type::Value(Element::Scalar(Scalar::Bool));
    assert_eq!(found(None), Ok((bool.clone(), true)));
    assert_eq!(found(Some("void k(bool on)")), Ok((bool, true)));
    let reason: String = found(Some("void k(char on)")).unwrap_err();
    assert!(
        reason.contains("the code expects a different type"),
        "{reason}"
    );
}

#[test]
fn a_struct_has_its_strictest_alignment() {
    // Only a kernel that takes a struct, or points to it, tells of `alignas`.
    let outer = "struct O { P p; /* 0 */ } /* size 64, align 4 */";
    let loose = "struct P { int x; /* 0 */ } /* size 64, align 4 */";
    let strict = "struct P { int x; /* 0 */ } /* size 64, align 64 */";
    let found = file(&[
        ("a", "void a(O *o)", &[outer, loose]),
        ("b", "void b(P *p)", &[strict]),
    ]);
    let parameters = found.kernels[1].parameters.as_ref().unwrap();
    let p = parameters[0].ty.structure().unwrap();
    assert_eq!(found.layouts.get(p).unwrap().align, 64);
    assert!(found.kernels[0].parameters.is_ok());
    assert_eq!(found.layouts.iter().count(), 2);
}
