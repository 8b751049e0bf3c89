// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels, parameters, types and variables with unusual names, or with names that Rust or the generated code uses
//! itself.

use super::Module;

pub(super) fn files() -> Vec<(&'static str, Vec<Module>)> {
    vec![
        ("odd_names.syclbin", vec![odd_names()]),
        ("odd_parameters.syclbin", vec![odd_parameters()]),
        ("odd_structs.syclbin", vec![odd_structs()]),
        ("odd_variables.syclbin", vec![odd_variables()]),
        ("long_names.syclbin", vec![long_names()]),
        ("foreign_names.syclbin", vec![foreign_names()]),
    ]
}

/// Kernels and namespaces.
fn odd_names() -> Module {
    Module::default().functions(&[
        "void move(int gen, int type, unsigned int self)",
        "void gen()",
        "void self(int None, int SYCLBIN, int Ok, int KERNELS)",
        "void load(const bool *module, bool kernel)",
        "void clone()",
        "void fmt(float *f)",
        "void drop(int value)",
        "void new()",
        "void builder()",
        "void default()",
        "void launch(float *launch)",
        "void module()",
        "void Some(int Some)",
        "void None()",
        "void FILE()",
        "void Ok(int Err)",
        "void Vec(int *Vec)",
        "void Option(int Option)",
        "void Clone()",
        "void Self()",
        "void crate()",
        "void _()",
        "void Builder(int *Builder)",
        "void Kernels()",
        "void left_out()",
        "void assert()",
        "void println()",
        "void u32(int u32)",
        "void f32::one(float value)",
        "void core::new(double value)",
        "void std::load()",
        "void syclbin_rt::Buffer(int Self)",
        "void Module::Kernels()",
        "void Module::Result::Ok()",
        "void left_out::left_out(Unknown left_out)",
        "void self::self()",
        "void super::super()",
        "void crate::crate()",
        "void a::a::a(int *a)",
        "void kernels::kernels(int *kernels)",
        "void Option::Some()",
        "void SYCLBIN::SYCLBIN()",
        "void String::str::char_()",
    ])
}

/// Parameters.
fn odd_parameters() -> Module {
    Module::default()
        .layouts(&["struct value { int value; /* 0 */ int given; /* 4 */ } /* size 8, align 4 */"])
        .functions(&[
            "void prelude(int Option, int Some, int None, int Vec, int Result, int Ok, int Err, int Clone, int drop, int *Box)",
            "void generated(float *module, float *Module, float *launch, int *given, int value, int kernel, int SYCLBIN, int syclbin_rt, int core, int left_out)",
            "void reserved(int *in, int *mut, int *ref, int *self, int *Self, int *super, int *crate, int _, int async, int box)",
            "void borrowed(const int *a, const int *b, int *q)",
            "void nameless(int, float *, value)",
            "void numbered(int arg1, int, float *arg0)",
            "void shapes(sycl::accessor<float, 2, sycl::access_mode::read_write> all, sycl::accessor<float, 1, sycl::access_mode::read_write> launch, sycl::local_accessor<int, 3> self)",
            "void whole(sycl::accessor<float, 1, sycl::access_mode::read_write> all)",
            "void structs(value value, value *given, const value *module)",
            "void ranges(const int *x, int range, float *items)",
            "void ranged(float *range, int n)",
            "void given(int given, float *self, value range, int items, int len)",
            "void condition(int Condition, int Relation, float *contract, int Into)",
        ])
}

/// Structs and their members.
fn odd_structs() -> Module {
    Module::default()
        .layouts(&[
            "struct Module { int Module; /* 0 */ int load; /* 4 */ } /* size 8, align 4 */",
            "struct Kernels { int Kernels; /* 0 */ } /* size 4, align 4 */",
            "struct Builder { int radius; /* 0 */ } /* size 4, align 4 */",
            "struct left_out { int left_out; /* 0 */ } /* size 4, align 4 */",
            "struct SYCLBIN { int SYCLBIN; /* 0 */ } /* size 4, align 4 */",
            "struct Option { int Some; /* 0 */ char None; /* 4 */ } /* size 8, align 4 */",
            "struct Some { int x; /* 0 */ } /* size 4, align 4 */",
            "struct Vec { int *data; /* 0 */ Vec *next; /* 8 */ } /* size 16, align 8 */",
            "struct Result { int Ok; /* 0 */ int Err; /* 4 */ } /* size 8, align 4 */",
            "struct Clone { int clone; /* 0 */ } /* size 4, align 4 */",
            "struct Copy { int copy; /* 0 */ } /* size 4, align 4 */",
            "struct Debug { int debug; /* 0 */ } /* size 4, align 4 */",
            "struct Sized { int sized; /* 0 */ } /* size 4, align 4 */",
            "struct Sync { int sync; /* 0 */ } /* size 4, align 4 */",
            "struct AsRef { int as_ref; /* 0 */ } /* size 4, align 4 */",
            "struct PartialEq { int eq; /* 0 */ } /* size 4, align 4 */",
            "struct Pod { int pod; /* 0 */ } /* size 4, align 4 */",
            "struct Default { int default; /* 0 */ } /* size 4, align 4 */",
            "struct Zeroable { float zeroed; /* 0 */ } /* size 4, align 4 */",
            "struct Self { int Self; /* 0 */ } /* size 4, align 4 */",
            "struct self { int self; /* 0 */ int self_; /* 4 */ } /* size 8, align 4 */",
            "struct u8 { unsigned char u8; /* 0 */ int u32; /* 4 */ } /* size 8, align 4 */",
            "struct i32 { int i32; /* 0 */ } /* size 4, align 4 */",
            "struct f32 { float f32; /* 0 */ i32 i32; /* 4 */ float f64[3]; /* 8 */ } /* size 20, align 4 */",
            "struct usize { long usize; /* 0 */ } /* size 8, align 8 */",
            "struct str { int str; /* 0 */ } /* size 4, align 4 */",
            "struct core { int core; /* 0 */ } /* size 4, align 4 */",
            "struct std { int std; /* 0 */ } /* size 4, align 4 */",
            "struct syclbin_rt { int syclbin_rt; /* 0 */ } /* size 4, align 4 */",
            "struct match { int type; /* 0 */ int _padding4; /* 4 */ char field0; /* 8 */ int crate; /* 12 */ } /* size 16, align 4 */",
            "struct Padded { char a; /* 0 */ int _padding1; /* 4 */ char _padding; /* 8 */ } /* size 12, align 4 */",
            "struct Twice { int x; /* 0 */ int x; /* 4 */ int _; /* 8 */ int _; /* 12 */ } /* size 16, align 4 */",
            "struct SIZE { int SIZE; /* 0 */ } /* size 4, align 4 */",
            "struct T { int T; /* 0 */ } /* size 4, align 4 */",
            "struct a { int a; /* 0 */ } /* size 4, align 4 */",
            "struct Load::Load { int Load; /* 0 */ } /* size 4, align 4 */",
            "struct core::mem { int size_of; /* 0 */ } /* size 4, align 4 */",
            "struct Kernels::Kernels { int x; /* 0 */ } /* size 4, align 4 */",
        ])
        .functions(&[
            "void one(Module a, Kernels b, Builder c, left_out d, SYCLBIN e, Option f, Some g, Vec h, Result i)",
            "void two(Clone a, Copy b, Debug c, PartialEq d, Pod e, Default f, Zeroable g, Self h, self i)",
            "void three(u8 a, i32 b, f32 c, usize e, str f, core g, std h, syclbin_rt i, match j)",
            "void four(Padded a, Twice b, SIZE c, T d, a e)",
            "void five(Load::Load a, core::mem b, Kernels::Kernels c)",
            "void six(Option *Option, const u8 *u8, unsigned char *bytes, f32 *f32, sycl::local_accessor<i32, 1> i32)",
            "void Load::load(Load::Load load)",
            "void Kernels::module(Kernels::Kernels kernels, unsigned int u32)",
            "void seven(Sized a, Sync b, AsRef c)",
            "void lost(Unknown lost)",
        ])
        .constant("radius", "int", &3i32.to_le_bytes())
        .global("table", "Option", 8)
}

/// Device globals and specialization constants.
fn odd_variables() -> Module {
    let int = 3i32.to_le_bytes();
    let module = Module::default().functions(&[
        "void table(int *table)",
        "void load(Unknown x)",
        "void module()",
        "void ns::module()",
        "void both()",
    ]);
    let module = module.required(&super::symbol("both"), &[8]);
    let globals = [
        "table",
        "load",
        "new",
        "builder",
        "clone",
        "move",
        "self",
        "Self",
        "module",
        "Module",
        "SYCLBIN",
        "global",
        "ns::module",
        "ns::new",
        "ns::load",
        "ns::clone",
        "ns::ns",
        "drop",
        "value",
        "Option",
        "both",
        "BOTH_LOCAL_SIZE",
    ];
    let constants = [
        "load",
        "new",
        "value",
        "self",
        "move",
        "clone",
        "builder",
        "Builder",
        "radius",
        "radius_",
        "ns::radius",
        "ns_radius",
        "specialization_constant",
        "drop",
        "Module",
        "q",
        "SYCLBIN",
    ];
    let module = globals
        .into_iter()
        .fold(module, |m, name| m.global(name, "int", 4));
    constants
        .into_iter()
        .fold(module, |m, name| m.constant(name, "int", &int))
}

/// Names as long as those from code generators.
fn long_names() -> Module {
    let long = "x".repeat(3000);
    Module::default()
        .layouts(&[&format!(
            "struct S{long} {{ int m{long}; /* 0 */ }} /* size 4, align 4 */"
        )])
        .functions(&[
            &format!("void k{long}(int p{long}, S{long} s, S{long} *t)"),
            &format!("void n{long}::k(int p)"),
            &format!("void {0}::{0}::{0}(int p)", "deep".repeat(100)),
        ])
        .global(&format!("g{long}"), "int", 4)
        .constant(&format!("c{long}"), "int", &[0; 4])
}

/// Letters beyond ASCII, which C++ allows in names.
fn foreign_names() -> Module {
    Module::default()
        .layouts(&["struct Größe { int höhe; /* 0 */ double 幅; /* 8 */ } /* size 16, align 8 */"])
        .functions(&[
            "void größe(Größe größe, int *ausgabe_für_λ)",
            "void число::ядро(int *данные, int размер)",
            "void 核(float *値)",
        ])
        .global("tâche", "int", 4)
        .constant("θ", "double", &3.0f64.to_le_bytes())
}
