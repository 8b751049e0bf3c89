// SPDX-License-Identifier: MIT OR Apache-2.0
//! What code says of the parameters of kernels, with and without their declarations.

use syclbin::metadata::{ArgumentMask, Property};
use syclbin::property::set;
use syclbin::signature::{self, Argument, Element, Pointee, Scalar, Signatures, Type};
use syclbin::{State, Syclbin};
use test_files::Declared;

use crate::signatures::{file, reason};
use crate::variables::{module, spirv};

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
fn only_declarations_fix_sizes_of_work_group_memory() {
    let pointer = pointer(4);
    let memory = |name: &[u32], declared: Option<&str>| {
        let mut all = vec![LONG, INT, &[43, 23, 40, 8, 0], &[28, 30, 20, 40], &pointer];
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
    // `int[][8]` and an array of structs that begin with `int[8]` have the same type.
    assert_eq!(memory(&[], None), Ok(None));
    assert_eq!(memory(&[], Some("Unknown[8]")), Ok(None));
    for declared in ["int[8]", "int[9]"] {
        let size = if declared == "int[8]" { 32 } else { 36 };
        assert_eq!(memory(&[], Some(declared)), Ok(Some(size)));
    }
    let reason = memory(&[], Some("int[7]")).unwrap_err();
    let expected = "int[7]>` (28 bytes), but the code expects 32 bytes";
    assert!(reason.contains(expected), "{reason}");
    // Also for a member of a functor, which has a name.
    for name in [Vec::new(), name(10, "tile")] {
        assert_eq!(memory(&name, Some("int[][8]")), Ok(None));
    }
}

#[test]
fn local_accessors_of_arrays_may_lack_ranges() {
    let (length, array, pointer) = ([43, 23, 40, 4, 0], [28, 30, 21, 40], pointer(4));
    let types = [LONG, FLOAT, &length, &array, &pointer];
    let all = [&types[..], &[&[54, 1, 99, 0, 8], &[55, 2, 10]]].concat();
    let mut module = module(Some(spirv(&all)));
    let mask = ArgumentMask {
        removed: vec![false, true, true, true],
    };
    let value = mask.to_value();
    module.metadata.insert(set::KERNEL_PARAM_OPT, "k", value);
    let mut file = Syclbin::new(State::Executable);
    file.modules.push(module);
    let kernel = signature::kernels(&file).unwrap().kernels.remove(0);
    let parameters = kernel.parameters.unwrap().into_iter();
    let types: Vec<Type> = parameters.map(|parameter| parameter.ty).collect();
    let of = Box::new(Element::Scalar(Scalar::F32));
    let accessor = Type::LocalAccessor {
        element: Pointee::Element(Element::Array { of, count: 4 }),
        dimensions: None,
    };
    assert_eq!(types, [accessor]);
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
fn encodings_of_floating_point_numbers_are_distinguished() {
    let scalar = |scalar| Ok((Type::Value(Element::Scalar(scalar)), true));
    let (half, bfloat, other) = ([22, 2, 16], [22, 2, 16, 0], [22, 2, 16, 4214]);
    assert_eq!(parameter(&half, None), scalar(Scalar::F16));
    assert_eq!(parameter(&bfloat, None), scalar(Scalar::BF16));
    assert_eq!(
        parameter(&bfloat, Some("void k(__bf16 x)")),
        scalar(Scalar::BF16)
    );
    assert!(parameter(&bfloat, Some("void k(sycl::half x)")).is_err());
    assert!(parameter(&half, Some("void k(__bf16 x)")).is_err());
    assert!(parameter(&other, None).is_err());
}

#[test]
fn parameters_of_bool_enumerations_are_refused() {
    for (definition, expected) in [
        (
            "enum Switch : bool;",
            "`Switch` is an enumeration of `bool`",
        ),
        ("enum Switch : int;", "the code expects a different type"),
    ] {
        let code = spirv(&[&[20, 2], &[54, 1, 99, 0, 8], &[55, 2, 10]]);
        let mut module = module(Some(code));
        let declared = Declared::default().kernel("k", "void k(Switch on)");
        declared.types(&[definition]).record(&mut module);
        let mut kernels = Syclbin::new(State::Executable);
        kernels.modules.push(module);
        let reason = reason(&signature::kernels(&kernels).unwrap(), 0);
        assert!(reason.contains(expected), "{reason}");
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
