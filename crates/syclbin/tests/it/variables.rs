// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device globals and specialization constants: their types, by the code and by what is described.

use syclbin::metadata::{DeviceGlobal, SpecConstantDescriptor, SpecializationConstants};
use syclbin::property::set;
use syclbin::signature::{self, Signatures};
use syclbin::{AbstractModule, Image, IrType, State, Syclbin};
use test_files::Declared;

fn read(bytes: &[u8]) -> Signatures {
    signature::kernels(&syclbin::read::parse(bytes).unwrap()).unwrap()
}

/// `ns::name: type`, `?` for an unknown sign, or the reason.
fn text(
    file: &Signatures,
    name: Option<&signature::KernelName>,
    ty: &Result<signature::Element, signature::Unsupported>,
    sign_known: bool,
) -> String {
    let name = name.map_or("-".into(), signature::KernelName::qualified);
    match ty {
        Ok(signature::Element::Struct(id)) => format!("{name}: {}", file.layouts.describe(*id)),
        Ok(ty) => {
            let mark = if sign_known { "" } else { "?" };
            format!("{name}: {}{mark}", file.layouts.spell(ty))
        }
        Err(reason) => format!("{name}: {reason}"),
    }
}

fn globals(file: &Signatures) -> Vec<String> {
    let all = file.globals.iter();
    all.map(|global| text(file, global.name.as_ref(), &global.ty, global.sign_known))
        .collect()
}

fn constants(file: &Signatures) -> Vec<String> {
    let all = file.constants.iter();
    all.map(|found| text(file, found.name.as_ref(), &found.ty, found.sign_known))
        .collect()
}

/// SPIR-V of a kernel `k` and `instructions`.
pub(crate) fn spirv(instructions: &[&[u32]]) -> Vec<u8> {
    let mut words = vec![0x0723_0203, 0x0001_0000, 0, 100, 0];
    words.extend([4 << 16 | 15, 6, 99, u32::from_le_bytes(*b"k\0\0\0")]);
    for instruction in instructions {
        let count = u32::try_from(instruction.len()).unwrap();
        words.push(count << 16 | instruction[0]);
        words.extend(&instruction[1..]);
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// A file of a module with that code, or without any.
pub(crate) fn module(code: Option<Vec<u8>>) -> AbstractModule<'static> {
    let mut module = AbstractModule::default();
    module.add_kernel_name("k");
    let target = "spir64-unknown-unknown";
    module
        .images
        .extend(code.map(|code| Image::ir(IrType::SpirV, target, code)));
    module
}

fn signatures(modules: Vec<AbstractModule<'static>>) -> Signatures {
    let mut file = Syclbin::new(State::Executable);
    file.modules = modules;
    signature::kernels(&file).unwrap()
}

const INT: &[u32] = &[21, 1, 32, 0];
const BOOL: &[u32] = &[20, 2];
const DOUBLE: &[u32] = &[22, 3, 64];
const FLOAT: &[u32] = &[22, 4, 32];

/// Code with constants of these types, whose ids count from 0.
fn constants_of(types: &[u32]) -> Vec<u8> {
    let mut instructions = Vec::new();
    for (id, _) in (0..).zip(types) {
        instructions.push(vec![71, 50 + id, 1, id]); // SpecId
    }
    instructions.extend([INT, BOOL, DOUBLE, FLOAT].map(<[u32]>::to_vec));
    for (id, ty) in (0..).zip(types) {
        instructions.push(match ty {
            2 => vec![48, 2, 50 + id], // true
            ty => vec![50, *ty, 50 + id, 7],
        });
    }
    let instructions: Vec<_> = instructions.iter().map(Vec::as_slice).collect();
    spirv(&instructions)
}

/// A constant and the id, offset and size of its parts.
type Constant<'a> = (&'a str, &'a [(u32, u32, u32)]);

fn with_constants(
    mut module: AbstractModule<'static>,
    all: &[Constant<'_>],
    defaults: Option<Vec<u8>>,
) -> AbstractModule<'static> {
    let mut constants = SpecializationConstants::default();
    for (name, parts) in all {
        let part =
            |&(id, offset, size): &(u32, u32, u32)| SpecConstantDescriptor { id, offset, size };
        let parts = parts.iter().map(part).collect();
        constants.constants.insert(*name, parts);
    }
    constants.defaults = defaults;
    constants.write(&mut module.metadata);
    module
}

#[test]
fn reference_globals_have_the_types_in_code() {
    let file = read(test_files::bytes("globals.object.syclbin"));
    assert_eq!(globals(&file), ["bias: float", "table: int[4]?"]);
    let ids: Vec<_> = file.globals.iter().map(|global| &*global.id).collect();
    assert_eq!(ids, ["_Z4bias", "_Z5table"]);
    let executable = globals(&read(test_files::bytes("globals.executable.syclbin")));
    assert_eq!(executable.len(), 2);
    let unknown = "bias: neither a declaration nor the code specifies its type";
    assert_eq!(executable[0], unknown);
}

#[test]
fn recorded_type_gives_sign_and_checks_size() {
    for (recorded, expected) in [
        ("unsigned int[4]", "table: unsigned int[4]"),
        (
            "unsigned int[5]",
            "table: the size of `unsigned int[5]` is 20 bytes, but the file records 16",
        ),
        // What no definition describes, the code may.
        ("Node", "table: int[4]?"),
    ] {
        let mut file = syclbin::read::parse(test_files::bytes("globals.object.syclbin")).unwrap();
        let declared = Declared::default().variable("_Z5table", recorded);
        declared.record(&mut file.modules[0]);
        let found = globals(&signature::kernels(&file).unwrap());
        assert_eq!(found[1], expected);
    }
}

#[test]
fn global_size_that_contradicts_code_is_refused() {
    let mut file = syclbin::read::parse(test_files::bytes("globals.object.syclbin")).unwrap();
    let sets = &mut file.modules[0].metadata;
    let global = DeviceGlobal {
        size: 20,
        image_scope: false,
    };
    let value = syclbin::metadata::Property::to_value(&global);
    sets.insert(set::DEVICE_GLOBALS, "rtc_0$_Z5table", value);
    let found = globals(&signature::kernels(&file).unwrap());
    let reason = "table: the file records a size of 20 bytes, but the size in the code differs";
    assert_eq!(found[1], reason);
}

#[test]
fn constants_of_one_part_are_numbers() {
    let all: &[Constant<'_>] = &[
        ("_ZL6radius", &[(0, 0, 4)]),
        ("uid0123456789abcdef____ZN12_GLOBAL__N_12onE", &[(1, 0, 1)]),
        ("_ZN2ns4gainE", &[(2, 0, 8)]),
        ("_ZN2ns6unreadE", &[(9, 0, 4)]),
        ("plain", &[(3, 0, 8)]),
    ];
    let defaults = (0..25).collect::<Vec<u8>>();
    let module = module(Some(constants_of(&[1, 2, 3, 4])));
    let file = signatures(vec![with_constants(module, all, Some(defaults))]);
    assert_eq!(
        constants(&file),
        [
            "radius: int?",
            "on: bool",
            "ns::gain: double",
            "ns::unread: its type is unknown, because the code does not read it",
            "plain: its type in the code does not match the 8-byte part at byte offset 0",
        ]
    );
    let default = |index: usize| file.constants[index].default.clone().unwrap();
    assert_eq!(default(0), [0, 1, 2, 3]);
    assert_eq!(default(1), [4]);
    assert_eq!(default(2), (5..13).collect::<Vec<u8>>());
    assert_eq!(file.constants[0].symbol, "_ZL6radius");
}

#[test]
fn equal_parts_are_arrays_and_others_structs() {
    const PADDING: u32 = SpecConstantDescriptor::PADDING;
    let all: &[Constant<'_>] = &[
        ("three", &[(0, 0, 4), (1, 4, 4), (2, 8, 4)]),
        (
            "mixed",
            &[(3, 0, 4), (4, 8, 8), (9, 16, 2), (PADDING, 18, 6)],
        ),
        ("gap", &[(0, 0, 4), (1, 8, 4)]),
        ("packed", &[(3, 0, 4), (4, 4, 8)]),
        ("odd", &[(3, 0, 4), (4, 4, 8), (0, 12, 4)]),
    ];
    let module = module(Some(constants_of(&[4, 4, 4, 1, 3])));
    let file = signatures(vec![with_constants(module, all, None)]);
    assert_eq!(
        constants(&file),
        [
            "three: float[3]",
            "mixed: struct  { int _; /* 0 */ double _; /* 8 */ bytes _[2]; /* 16 */ } /* size 24, align 8 */",
            "gap: struct  { float _; /* 0 */ float _; /* 8 */ } /* size 12, align 4 */",
            "packed: struct  { int _; /* 0 */ double _; /* 4 */ } /* size 12, align 1 */",
            "odd: struct  { int _; /* 0 */ double _; /* 4 */ float _; /* 12 */ } /* size 16, align 1 */",
        ]
    );
    assert!(file.constants.iter().all(|found| found.default.is_none()));
}

#[test]
fn a_recorded_struct_describes_a_constant() {
    let text =
        "struct S { float weight; /* 0 */ unsigned int radius; /* 4 */ } /* size 8, align 4 */";
    let module = module(Some(constants_of(&[4, 1])));
    let all: &[Constant<'_>] = &[("_ZL1s", &[(0, 0, 4), (1, 4, 4)])];
    let mut module = with_constants(module, all, None);
    let declared = Declared::default().types(&[text]).variable("_ZL1s", "S");
    declared.record(&mut module);
    let file = signatures(vec![module]);
    assert_eq!(constants(&file), [format!("s: {text}")]);
    assert!(file.constants[0].sign_known);
}

/// The same in a file, for those who damage files; `BLESS=1` writes it anew.
#[test]
fn stored_constants_file_is_up_to_date() {
    let module = module(Some(constants_of(&[1, 2, 3, 4, 4, 1])));
    let text =
        "struct S { float weight; /* 0 */ unsigned int radius; /* 4 */ } /* size 8, align 4 */";
    let all: &[Constant<'_>] = &[
        ("uid0123456789abcdef____ZL6radius", &[(0, 0, 4)]),
        ("_ZN2ns2onE", &[(1, 0, 1)]),
        (
            "_Z5mixed",
            &[
                (2, 0, 8),
                (3, 8, 4),
                (SpecConstantDescriptor::PADDING, 12, 4),
            ],
        ),
        ("_ZL1s", &[(4, 0, 4), (5, 4, 4)]),
    ];
    let mut file = Syclbin::new(State::Object);
    let defaults = Some((0..29).collect());
    let mut module = with_constants(module, all, defaults);
    let declared = Declared::default().types(&[text]).variable("_ZL1s", "S");
    declared.record(&mut module);
    file.modules.push(module);
    let bytes = syclbin::write::to_vec(&file, syclbin::Container::default()).unwrap();
    let path = &test_files::path("made/constants.syclbin");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &bytes).unwrap();
    }
    assert!(
        std::fs::read(path).unwrap() == bytes,
        "{}; BLESS=1 writes it",
        path.display()
    );
    let found = read(&bytes);
    let expected = [
        "radius: int?".to_owned(),
        "ns::on: bool".to_owned(),
        "mixed: struct  { double _; /* 0 */ float _; /* 8 */ } /* size 16, align 8 */".to_owned(),
        format!("s: {text}"),
    ];
    assert_eq!(constants(&found), expected);
}

#[test]
fn recorded_type_that_contradicts_constant_is_refused() {
    let module = module(Some(constants_of(&[4, 1])));
    let all: &[Constant<'_>] = &[("s", &[(0, 0, 4), (1, 4, 4)])];
    let mut module = with_constants(module, all, None);
    let declared = Declared::default().variable("s", "float[2]");
    declared.record(&mut module);
    let file = signatures(vec![module]);
    let reason = "s: it is declared as `float[2]`, but the constants in the code have a different layout at byte \
                  offset 4";
    assert_eq!(constants(&file), [reason]);
}

#[test]
fn recorded_type_of_another_size_is_refused() {
    let mut module = with_constants(module(None), &[("c", &[(0, 0, 4)])], None);
    Declared::default().variable("c", "int").record(&mut module);
    module.metadata.remove_set(set::SPECIALIZATION_CONSTANTS);
    let module = with_constants(module, &[("c", &[(0, 0, 8)])], None);
    let file = signatures(vec![module]);
    let reason = "c: its recorded description has the wrong size; build the file again";
    assert_eq!(constants(&file), [reason]);
}

#[test]
fn globals_follow_a_pointer_unless_images_have_them() {
    // `OpDecorate` of %10 with the name `g`.
    let host = [71, 10, 6147, 2, u32::from(b'g')];
    let pointer = [32, 20, 5, 21];
    let variable = [59, 20, 10, 5];
    let found = |types: &[&[u32]], size, image_scope| {
        let all = [&[&host, INT, FLOAT][..], types, &[&pointer, &variable]].concat();
        let mut module = module(Some(spirv(&all)));
        let value = DeviceGlobal { size, image_scope };
        let value = syclbin::metadata::Property::to_value(&value);
        module.metadata.insert(set::DEVICE_GLOBALS, "g", value);
        globals(&signatures(vec![module])).remove(0)
    };
    let float: &[&[u32]] = &[&[22, 21, 32]];
    let pair: &[&[u32]] = &[&[30, 21, 4, 1]];
    let address: &[&[u32]] = &[&[32, 22, 5, 1], &[30, 21, 22, 4]];
    for (types, size, image_scope, expected) in [
        (float, 4, true, Some("g: float")),
        (float, 8, true, None),
        (float, 4, false, None),
        (float, 8, false, None),
        (pair, 4, true, Some("g: float")),
        (pair, 4, false, None),
        (address, 4, false, Some("g: float")),
        (address, 8, false, None),
    ] {
        let reason =
            format!("g: the file records a size of {size} bytes, but the size in the code differs");
        let expected = expected.unwrap_or(&reason);
        assert_eq!(found(types, size, image_scope), expected, "{types:?}");
    }
}

#[test]
fn malformed_constants_are_reasons_and_no_error() {
    let all: &[Constant<'_>] = &[("a", &[(0, 4, 4), (1, 0, 4)]), ("b", &[(0, 0, 4)])];
    let file = signatures(vec![with_constants(module(None), all, None)]);
    let found = constants(&file);
    assert_eq!(found.len(), 2);
    assert!(found[0].starts_with("a: "), "{found:?}");
    assert!(
        found[0].contains("parts in ascending order without overlaps"),
        "{found:?}"
    );
}

#[test]
fn first_typed_module_describes_the_variable() {
    let all = |size| [("c", [(0, 0, size)])];
    let constant = |code: Option<Vec<u8>>, size| {
        let all = all(size);
        with_constants(module(code), &[(all[0].0, &all[0].1)], None)
    };
    let code = || Some(constants_of(&[4]));
    let file = signatures(vec![constant(None, 4), constant(code(), 4)]);
    assert_eq!(constants(&file), ["c: float"]);
    let file = signatures(vec![
        constant(code(), 4),
        constant(None, 8),
        constant(code(), 4),
    ]);
    let reason = "c: its size is 4 bytes in one module and 8 in another";
    assert_eq!(constants(&file), [reason]);
}

#[test]
fn modules_must_agree_on_types_of_constants() {
    let declared = |ty: &str| {
        let mut module = with_constants(module(None), &[("c", &[(0, 0, 4)])], None);
        Declared::default().variable("c", ty).record(&mut module);
        module
    };
    let file = signatures(vec![declared("int"), declared("float"), declared("int")]);
    let reason = "c: its type differs between modules; rename one of the variables in C++";
    assert_eq!(constants(&file), [reason]);
    let file = signatures(vec![declared("int"), declared("unsigned int")]);
    assert_eq!(constants(&file), [reason]);
    let file = signatures(vec![declared("int"), declared("int")]);
    assert_eq!(constants(&file), ["c: int"]);
    // Code does not say whether an integer has a sign.
    let inferred = with_constants(
        module(Some(constants_of(&[1]))),
        &[("c", &[(0, 0, 4)])],
        None,
    );
    let file = signatures(vec![declared("unsigned int"), inferred]);
    assert_eq!(constants(&file), ["c: unsigned int"]);
}

#[test]
fn padding_of_emulated_constant_is_dropped() {
    const PADDING: u32 = SpecConstantDescriptor::PADDING;
    let with = |code, parts: &[(u32, u32, u32)], defaults: &[u8]| {
        with_constants(module(code), &[("c", parts)], Some(defaults.into()))
    };
    let native = || with(Some(constants_of(&[2])), &[(0, 0, 1)], &[1]);
    let padded = || with(None, &[(0, 0, 1), (PADDING, 1, 3)], &[1, 9, 9, 9]);
    let mut declared = padded();
    Declared::default()
        .variable("c", "bool")
        .record(&mut declared);
    for modules in [
        vec![native(), padded()],
        vec![padded(), native()],
        vec![declared],
    ] {
        let file = signatures(modules);
        assert_eq!(constants(&file), ["c: bool"]);
        assert_eq!(file.constants[0].default, Some(vec![1]));
    }
}

/// Forty kernels that take a struct with that many members under different names, A10 to A49.
fn under_many_names(members: usize) -> Signatures {
    const KERNELS: u32 = 40;
    let symbols: Vec<_> = (10..10 + KERNELS)
        .map(|n| format!("_Z15__sycl_kernel_f3A{n}"))
        .collect();
    let mut instructions = Vec::new();
    for (n, symbol) in (0..).zip(&symbols) {
        let bytes: Vec<u8> = symbol.bytes().chain([0; 4]).collect();
        let words = bytes.as_chunks().0.iter();
        let words = words.map(|word| u32::from_le_bytes(*word));
        instructions.push([vec![15, 6, 1000 + n], words.collect()].concat());
        instructions.push(vec![71, 2000 + n, 38, 2]); // ByVal
    }
    instructions.push(INT.to_vec());
    instructions.push([vec![30, 6], vec![1; members]].concat());
    instructions.extend([vec![32, 7, 7, 6], vec![19, 8], vec![33, 9, 8, 7]]);
    for n in 0..KERNELS {
        instructions.push(vec![54, 8, 1000 + n, 0, 9]);
        instructions.push(vec![55, 7, 2000 + n]);
        instructions.push(vec![56]);
    }
    let instructions: Vec<_> = instructions.iter().map(Vec::as_slice).collect();
    let mut module = module(Some(spirv(&instructions)));
    for symbol in &symbols {
        module.add_kernel_name(symbol.clone());
    }
    signatures(vec![module])
}

/// A struct with tens of thousands of members, that kernels take under different names.
#[test]
fn large_struct_under_many_names_is_refused() {
    let file = under_many_names(60_000);
    let mut kernels = file.kernels.iter().filter(|kernel| kernel.symbol != "k");
    assert_eq!(kernels.clone().count(), 40);
    assert!(kernels.next().unwrap().parameters.is_ok());
    let reason = kernels
        .next_back()
        .unwrap()
        .parameters
        .as_ref()
        .unwrap_err();
    assert!(
        reason
            .to_string()
            .contains("too many structs without a definition, such as `A49`"),
        "{reason}"
    );
    assert!(file.layouts.iter().count() < 20);
    // 32 such structs reach the member limit of a file.
    let file = under_many_names(1 << 15);
    let readable = |name: u32| {
        let symbol = format!("_Z15__sycl_kernel_f3A{name}");
        let mut kernels = file.kernels.iter();
        let kernel = kernels.find(|kernel| kernel.symbol == symbol);
        kernel.unwrap().parameters.is_ok()
    };
    let found: Vec<_> = (10..50).filter(|name| readable(*name)).collect();
    assert_eq!(found, (10..42).collect::<Vec<_>>());
}

/// Structs with tens of thousands of members, which as many variables have.
#[test]
fn many_variables_of_large_struct_end() {
    const COUNT: u32 = 60_000;
    let mut instructions = Vec::new();
    let names: Vec<_> = (0..COUNT).map(|n| format!("g{n:06}")).collect();
    for (n, name) in (0..).zip(&names) {
        let bytes: Vec<u8> = name.bytes().chain([0]).collect();
        let words = bytes
            .as_chunks()
            .0
            .iter()
            .map(|word| u32::from_le_bytes(*word));
        instructions.push([vec![71, 1000 + n, 6147, 2], words.collect()].concat());
    }
    instructions.push(INT.to_vec());
    instructions.push(vec![32, 5, 5, 1]);
    instructions.push([vec![30, 6, 5], vec![1; COUNT as usize]].concat());
    instructions.push(vec![32, 7, 5, 6]);
    instructions.extend((0..COUNT).map(|n| vec![59, 7, 1000 + n, 5]));
    let instructions: Vec<_> = instructions.iter().map(Vec::as_slice).collect();
    let mut module = module(Some(spirv(&instructions)));
    for name in &names {
        let global = DeviceGlobal {
            size: 12,
            image_scope: false,
        };
        let value = syclbin::metadata::Property::to_value(&global);
        module
            .metadata
            .insert(set::DEVICE_GLOBALS, name.clone(), value);
    }
    let file = signatures(vec![module]);
    let reason = "the file records a size of 12 bytes, but the size in the code differs";
    let mut reasons = file
        .globals
        .iter()
        .map(|global| global.ty.as_ref().unwrap_err());
    assert!(
        reasons.all(|found| found.to_string() == reason),
        "{:?}",
        file.globals[0]
    );
}
