// SPDX-License-Identifier: MIT OR Apache-2.0
//! Described declarations and layouts: what they mean together, and what happens where they do not fit.

use syclbin::property::set;
use syclbin::signature::{self, Element, Pointee, Scalar, Signatures, Type};
use syclbin::{AbstractModule, State, Syclbin, Value};
use test_files::Declared;

/// A file of modules with a kernel each that takes what `declarations` says.
pub(crate) fn file(modules: &[(&str, &str, &[&str])]) -> Signatures {
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

pub(crate) fn reason(file: &Signatures, kernel: usize) -> String {
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
fn unreadable_lambda_parameters_imply_no_dimensions() {
    for (symbol, dimensions) in [
        ("_ZTSZ4fillPfEUlmE_", Some(1)),
        ("_ZTSZ4fillPfEUlvE_", Some(0)),
        ("_ZTSZ4fillPU3AS1fEUlmE_", None),
    ] {
        let found = file(&[(symbol, "void k(float *x)", &[])]);
        assert_eq!(found.kernels[0].dimensions, dimensions, "{symbol}");
    }
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
    let name = "P".repeat(1 << 18);
    let [one, two] = ["int x", "float x"]
        .map(|member| format!("struct {name} {{ {member}; /* 0 */ }} /* size 4, align 4 */"));
    let mut structs = vec![two];
    structs.extend(
        (0..500).map(|n| format!("struct O{n} {{ {name} p; /* 0 */ }} /* size 4, align 4 */")),
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
        .names()
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
