// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels of PTX that LLVM made: what they take, with a declaration and without.

use syclbin::property::set;
use syclbin::signature::{self, Element, Signatures, Type};
use syclbin::{AbstractModule, Image, IrType, State, Syclbin};
use test_files::Declared;

fn entries() -> &'static [u8] {
    test_files::bytes("made/entries.ptx")
}
const PARTICLE: &str = "struct Particle { float mass; /* 0 */ int id; /* 4 */ double position[3]; /* 8 */ } /* size \
    32, align 8 */";

/// A file of the kernels of `text`, with declarations of some.
fn file(text: &[u8], declarations: &[(&str, &str)], definitions: &[&str]) -> Syclbin<'static> {
    let mut module = AbstractModule::default();
    for line in String::from_utf8_lossy(text).lines() {
        if let Some(rest) = line.strip_prefix(".visible .entry ") {
            module.add_kernel_name(rest.split('(').next().unwrap().to_owned());
        }
    }
    let target = "nvptx64-nvidia-cuda";
    module
        .images
        .push(Image::ir(IrType::Ptx, target, text.to_vec()));
    let mut file = Syclbin::new(State::Object);
    file.modules.push(module);
    record(&mut file, declarations, definitions);
    file
}

/// Records a description, if there is any.
fn record(file: &mut Syclbin<'_>, declarations: &[(&str, &str)], definitions: &[&str]) {
    let mut declared = Declared::default().types(definitions);
    for (symbol, declaration) in declarations {
        declared = declared.kernel(&format!("__sycl_kernel_{symbol}"), declaration);
    }
    if !declarations.is_empty() || !definitions.is_empty() {
        declared.record(&mut file.modules[0]);
    }
}

fn read(text: &[u8], declarations: &[(&str, &str)]) -> Signatures {
    let file = file(text, declarations, &[PARTICLE]);
    signature::kernels(&file).unwrap()
}

/// The types of the parameters of a kernel, `?` where a sign is unknown, or the reason.
fn parameters(found: &Signatures, name: &str) -> Vec<String> {
    let mut kernels = found.kernels.iter();
    let kernel = kernels.find(|kernel| {
        let own = kernel.name.as_ref();
        own.is_some_and(|own| own.qualified() == name)
    });
    match &kernel.unwrap_or_else(|| panic!("no {name}")).parameters {
        Ok(parameters) => {
            let all = parameters.iter().map(|parameter| {
                let mark = if parameter.sign_known { "" } else { "?" };
                let name = parameter.name.as_deref().unwrap_or("_");
                match &parameter.ty {
                    Type::Value(Element::Struct(id)) => {
                        format!("{name}: {}{mark}", found.layouts.describe(*id))
                    }
                    Type::Value(value) => format!("{name}: {value:?}{mark}"),
                    ty => format!("{name}: {ty:?}{mark}"),
                }
            });
            all.collect()
        }
        Err(reason) => vec![reason.to_string()],
    }
}

const SAXPY: (&str, &str) = (
    "saxpy",
    "void saxpy(float a, const float *x, float *y, unsigned int n)",
);

#[test]
fn declared_parameters_are_those_of_the_declaration() {
    let declarations = [
        SAXPY,
        (
            "numbers",
            "void numbers(bool a, char b, unsigned short c, int d, double e)",
        ),
        (
            "structs",
            "void structs(Particle p, Span s, sycl::vec<float, 4> v, sycl::half h)",
        ),
        (
            "shared",
            "void shared(sycl::ext::oneapi::experimental::work_group_memory<int[64]> s, int *out)",
        ),
        ("wide", "void wide(long n)"),
    ];
    let found = read(entries(), &declarations);
    assert_eq!(
        parameters(&found, "saxpy"),
        [
            "a: Scalar(F32)",
            "x: Pointer { pointee: Element(Scalar(F32)), access: Read }",
            "y: Pointer { pointee: Element(Scalar(F32)), access: ReadWrite }",
            "n: Scalar(U32)",
        ]
    );
    assert_eq!(
        parameters(&found, "numbers"),
        [
            "a: Scalar(Bool)",
            "b: Scalar(I8)",
            "c: Scalar(U16)",
            "d: Scalar(I32)",
            "e: Scalar(F64)"
        ]
    );
    assert_eq!(
        parameters(&found, "structs"),
        [
            &format!("p: {PARTICLE}"),
            // No definition describes it.
            "s: struct Span { bytes _[16]; /* 0 */ } /* size 16, align 8 */",
            "v: Vector { of: F32, count: 4 }",
            "h: Scalar(F16)",
        ]
    );
    assert_eq!(
        parameters(&found, "shared")[0],
        "s: LocalMemory { element: Element(Scalar(I32)), size: Some(256) }"
    );
    assert_eq!(parameters(&found, "wide"), ["n: Scalar(I64)"]);
}

#[test]
fn a_mangled_name_declares_its_parameters() {
    let found = read(entries(), &[]);
    assert_eq!(
        parameters(&found, "scale"),
        [
            "_: Pointer { pointee: Element(Scalar(I32)), access: ReadWrite }",
            "_: Scalar(I64)",
        ]
    );
    assert_eq!(parameters(&found, "move")[0], format!("_: {PARTICLE}"));
}

#[test]
fn unknown_ptx_types_are_marked_or_refused() {
    let found = read(entries(), &[]);
    let pointer = "_: Pointer { pointee: Unknown(None), access: ReadWrite }";
    assert_eq!(
        parameters(&found, "saxpy"),
        ["_: Scalar(F32)", pointer, pointer, "_: Scalar(I32)?"]
    );
    assert_eq!(
        parameters(&found, "numbers"),
        [
            "_: Scalar(I8)?",
            "_: Scalar(I8)?",
            "_: Scalar(I16)?",
            "_: Scalar(I32)?",
            "_: Scalar(F64)"
        ]
    );
    assert_eq!(
        parameters(&found, "structs")[0],
        "_: struct  { bytes _[32]; /* 0 */ } /* size 32, align 8 */"
    );
    assert_eq!(
        parameters(&found, "shared"),
        [
            "_: LocalMemory { element: Unknown(None), size: None }",
            pointer
        ]
    );
    let either =
        "argument 0: `.u64` could be an integer or a pointer, and no declaration specifies which";
    assert_eq!(parameters(&found, "wide"), [either]);
}

/// Returns the type of the parameter of a one-parameter kernel, such as `.u32 x`.
fn one(parameter: &str, declaration: Option<&str>) -> String {
    let text = format!(".version 6.3\n.visible .entry __sycl_kernel_k(.param {parameter})\n{{}}");
    let declaration = declaration.map(|ty| format!("void k({ty} x)"));
    let declarations: Vec<_> = { declaration.iter() }.map(|text| ("k", &**text)).collect();
    parameters(&read(text.as_bytes(), &declarations), "k").concat()
}

#[test]
fn ptx_types_fit_some_declarations() {
    for (in_ptx, fitting, other) in [
        (
            ".u16 x",
            &["short", "sycl::half"][..],
            &["int", "char", "float", "bool"][..],
        ),
        (
            ".b16 x",
            &["unsigned short", "sycl::half"],
            &["int", "float"],
        ),
        (".f32 x", &["float"], &["int", "sycl::half"]),
        (
            ".u32 x",
            &["int", "unsigned int"],
            &["float", "float *", "long"],
        ),
        (".s32 x", &["int"], &["float", "float *"]),
        (".u64 x", &["long", "float *", "void *"], &["double", "int"]),
        (".b64 x", &["long", "double", "float *"], &["float"]),
        (".s64 x", &["long"], &["float *", "double"]),
        (".f64 x", &["double"], &["float *", "long"]),
        (
            ".align 2 .b8 x[2]",
            &["sycl::half"],
            &["short", "char", "float"],
        ),
        (
            ".align 4 .b8 x[4]",
            &["sycl::vec<char, 4>"],
            &["sycl::half", "float", "int"],
        ),
    ] {
        for ty in fitting {
            let found = one(in_ptx, Some(ty));
            assert!(found.starts_with("x: "), "{in_ptx} {ty}: {found}");
        }
        for ty in other {
            let found = one(in_ptx, Some(ty));
            let expected = format!("parameter x: it is declared as `{ty}`, but its PTX type is");
            assert!(found.starts_with(&expected), "{in_ptx} {ty}: {found}");
        }
    }
}

#[test]
fn ptx_numbers_without_definition_are_enumerations() {
    let mode = |of: &str, mark: &str| format!("x: Enum(Enum {{ name: \"Mode\", of: {of} }}){mark}");
    assert_eq!(one(".s32 x", Some("Mode")), mode("I32", ""));
    assert_eq!(one(".u32 x", Some("Mode")), mode("I32", "?"));
    assert_eq!(one(".u8 x", Some("Mode")), mode("I8", "?"));
    for unknown in [".f32 x", ".b32 x", ".u64 .ptr .global .align 4 x"] {
        let found = one(unknown, Some("Mode"));
        let reason = "does not determine its layout";
        assert!(found.contains(reason), "{unknown}: {found}");
    }
}

#[test]
fn signed_ptx_numbers_need_no_declaration() {
    for (in_ptx, expected) in [
        (".s8 x", "x: Scalar(I8)"),
        (".s32 x", "x: Scalar(I32)"),
        (".s64 x", "x: Scalar(I64)"),
        (".b8 x", "x: Scalar(I8)?"),
    ] {
        assert_eq!(one(in_ptx, None), expected);
    }
    for in_ptx in [".b16 x", ".b32 x"] {
        let found = one(in_ptx, None);
        let either = "could be an integer or a floating-point number";
        assert!(found.contains(either), "{in_ptx}: {found}");
    }
}

#[test]
fn parameters_of_symbols_have_names_in_code() {
    let text =
        ".version 6.3\n.visible .entry _Z15__sycl_kernel_fji(.param .u32 a, .param .u32 b)\n{}";
    let found = read(text.as_bytes(), &[]);
    assert_eq!(
        parameters(&found, "f"),
        ["a: Scalar(U32)", "b: Scalar(I32)"]
    );
    let declaration = found.kernels[0].declaration.as_ref().unwrap();
    assert_eq!(declaration.to_string(), "void f(unsigned int a, int b)");
    // The code has fewer parameters than the symbol.
    let text = text.replace(".param .u32 a, ", "");
    let found = read(text.as_bytes(), &[]);
    let reason = parameters(&found, "f").concat();
    let expected = "its declaration with 2 parameters requires 2 arguments,";
    assert!(reason.starts_with(expected), "{reason}");
    let declaration = found.kernels[0].declaration.as_ref().unwrap();
    assert_eq!(declaration.to_string(), "void f(unsigned int, int)");
}

#[test]
fn numbers_may_be_work_group_memory() {
    let text = |head: &str| {
        format!(
            ".version 6.3\n{head}\n.visible .entry __sycl_kernel_k(.param .u32 a, .param .f32 f)\n{{}}"
        )
    };
    let found = read(text("").as_bytes(), &[]);
    assert_eq!(
        parameters(&found, "k"),
        ["a: Scalar(I32)?", "f: Scalar(F32)"]
    );
    let text = text(".extern .shared .align 8 .b8 __sycl_kernel_k_shared_mem[];");
    let found = read(text.as_bytes(), &[]);
    let either = "argument 0: `.u32` could be a number or work-group memory, and no declaration specifies which";
    assert_eq!(parameters(&found, "k"), [either]);
    let declared = "void k(sycl::ext::oneapi::experimental::work_group_memory<int[8]> m, float f)";
    let found = read(text.as_bytes(), &[("k", declared)]);
    assert!(parameters(&found, "k")[0].contains("size: Some(32)"));
}

#[test]
fn declaration_that_contradicts_ptx_is_refused() {
    for (name, declaration, expected) in [
        (
            "saxpy",
            "void saxpy(float a)",
            "its declaration with 1 parameter requires 1 argument,",
        ),
        (
            "saxpy",
            "void saxpy(int a, const float *x, float *y, int n)",
            "parameter a: it is declared as `int`, but its PTX type is `.f32`",
        ),
        (
            "saxpy",
            "void saxpy(float a, long x, float *y, int n)",
            "parameter x: it is declared as `long`, but its PTX type is `.ptr`",
        ),
        (
            "saxpy",
            "void saxpy(float a, const float *x, float *y, long n)",
            "parameter n: it is declared as `long`, but its PTX type is `.u32`",
        ),
        (
            "structs",
            "void structs(Particle p, Particle s, sycl::vec<float, 4> v, sycl::half h)",
            "parameter s: it is declared as `Particle`, but its PTX type is `.b8[16]`",
        ),
        (
            "shared",
            "void shared(int *s, int *out)",
            "parameter s: it is declared as `int *`, but its PTX type is `.ptr .shared`",
        ),
        (
            "saxpy",
            "void saxpy(sycl::ext::oneapi::experimental::work_group_memory<int[8]> a, float *x, float *y, int n)",
            "parameter a: it is declared as `sycl::ext::oneapi::experimental::work_group_memory<int[8]>`, but its PTX \
             type is `.f32`",
        ),
        (
            "wide",
            "void wide(sycl::accessor<int, 1, sycl::access_mode::read> a)",
            "its declaration with 1 parameter requires 4 arguments,",
        ),
    ] {
        let found = read(entries(), &[(name, declaration)]);
        let reason = parameters(&found, name).concat();
        assert!(reason.starts_with(expected), "{declaration}: {reason}");
    }
}

#[test]
fn ptx_pointers_to_device_memory_have_alignments() {
    let text = ".version 6.3\n.visible .entry __sycl_kernel_k(.param .u64 .ptr .global .align 16 x, \
        .param .u64 .ptr .shared .align 16 s)\n{}";
    let found = read(text.as_bytes(), &[]);
    let parameters = found.kernels[0].parameters.as_ref().unwrap().iter();
    let aligns: Vec<_> = parameters.map(|parameter| parameter.align).collect();
    assert_eq!(aligns, [Some(16), None]);
}

#[test]
fn ptx_accessor_is_pointer_and_three_ranges() {
    let text = |range: u32| {
        let range = format!(".param .align 8 .b8 k[{range}]");
        let all = format!(".param .u64 .ptr .global .align 4 p, {range}, {range}, {range}");
        format!(".version 6.3\n.visible .entry __sycl_kernel_k({all})\n{{}}")
    };
    let declared = [(
        "k",
        "void k(sycl::accessor<int, 2, sycl::access_mode::read> a)",
    )];
    let found = read(text(16).as_bytes(), &declared);
    let accessor = "a: Accessor { element: Element(Scalar(I32)), dimensions: 2, access: Read }";
    assert_eq!(parameters(&found, "k"), [accessor]);
    let found = read(text(8).as_bytes(), &declared);
    assert!(parameters(&found, "k")[0].contains("its PTX type is `.b8[8]`"));
}

#[test]
fn only_uncompressed_fatbinary_ptx_gives_signatures() {
    let fat = |flags: u64| {
        let size = entries().len() as u64;
        let entry = [1 | 64 << 32, size, size, 75 << 32, 0, flags, 0, size];
        let header = [0xba55_ed50 | 0x10_0001 << 32, 64 + size];
        let words = header.iter().chain(&entry);
        let bytes: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
        [&bytes, entries()].concat()
    };
    let mut file = file(entries(), &[], &[]);
    let expected = parameters(&signature::kernels(&file).unwrap(), "move");
    for (flags, is_read) in [(0x11, true), (0x8011, false)] {
        let image = Image::native("sm_75", "nvptx64-nvidia-cuda", fat(flags));
        file.modules[0].images = vec![image];
        let found = parameters(&signature::kernels(&file).unwrap(), "move");
        assert_eq!(found == expected, is_read, "{found:?}");
    }
}

#[test]
fn spirv_is_preferred_to_ptx_for_signatures() {
    let bytes = test_files::bytes("vector_ops.object.syclbin");
    let spirv = syclbin::read::parse(bytes).unwrap();
    let mut file = file(entries(), &[], &[]);
    file.modules.extend(spirv.into_owned().modules);
    let found = signature::kernels(&file).unwrap();
    assert_eq!(
        parameters(&found, "saxpy")[1],
        "_: Pointer { pointee: Element(Scalar(F32)), access: Read }"
    );
}

#[test]
fn scratch_memory_is_not_a_ptx_argument() {
    let text = ".version 6.3\n.extern .shared .align 128 .b8 __sycl_dynamicLocalMemoryPlaceholder_GV[];\n\
        .visible .entry __sycl_kernel_k(.param .u64 .ptr .global .align 4 x)\n\
        { mov.b64 %rd7, __sycl_dynamicLocalMemoryPlaceholder_GV; }";
    let declared = [("k", "void k(float *x)")];
    let expected = [
        "x: Pointer { pointee: Element(Scalar(F32)), access: ReadWrite }",
        "work_group_scratch_memory: LocalMemory { element: Element(Scalar(U8)), size: None }",
    ];
    let mut file = file(text.as_bytes(), &[], &[]);
    let kernel = "__sycl_kernel_k";
    let metadata = &mut file.modules[0].metadata;
    metadata.insert(set::DYNAMIC_LOCAL_MEMORY, kernel, 1u32);
    record(&mut file, &declared, &[]);
    assert_eq!(
        parameters(&signature::kernels(&file).unwrap(), "k"),
        expected
    );
    // As it is where the module has SPIR-V as well, in which it is an argument.
    let metadata = &mut file.modules[0].metadata;
    metadata.insert(set::IMPLICIT_LOCAL_ARG, kernel, 1u32);
    record(&mut file, &declared, &[]);
    assert_eq!(
        parameters(&signature::kernels(&file).unwrap(), "k"),
        expected
    );
    // And where there is native code alone.
    let module = &mut file.modules[0];
    module.images = vec![Image::native("sm_90", "nvptx64-nvidia-cuda", vec![0])];
    record(&mut file, &declared, &[]);
    assert_eq!(
        parameters(&signature::kernels(&file).unwrap(), "k"),
        expected
    );
}

#[test]
fn many_types_and_commas_are_read_quickly() {
    let types = ".u8 ".repeat(100_000);
    let commas = ",".repeat(500_000);
    let text = format!(".version 6.3\n.target sm_75\n.visible .global {types} x{commas} y;");
    let module = syclbin::ptx::Module::parse(text.as_bytes()).unwrap();
    assert_eq!(module.variables, ["x", "y"]);
}

/// A file for those who damage files; `BLESS=1` writes it anew.
#[test]
fn stored_ptx_file_is_up_to_date() {
    let structs = "void structs(Particle p, Span s, sycl::vec<float, 4> v, sycl::half h)";
    let file = file(entries(), &[SAXPY, ("structs", structs)], &[PARTICLE]);
    let bytes = syclbin::write::to_vec(&file, syclbin::Container::default()).unwrap();
    let path = &test_files::path("made/entries.syclbin");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &bytes).unwrap();
    }
    assert!(
        std::fs::read(path).unwrap() == bytes,
        "{}; BLESS=1 writes it",
        path.display()
    );
    assert_eq!(syclbin::read::parse(&bytes).unwrap(), file);
}
