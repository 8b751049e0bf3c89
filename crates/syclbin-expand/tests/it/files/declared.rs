// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels as a build script records them: with parameter names and struct layouts.

use super::Module;

pub(super) fn files() -> Vec<(&'static str, Vec<Module>)> {
    vec![
        ("declared.syclbin", vec![declared()]),
        ("two_layouts.syclbin", two_layouts()),
        ("one_name_twice.syclbin", vec![one_name_twice()]),
    ]
}

/// Kernels of every kind.
fn declared() -> Module {
    Module::default()
        .layouts(&[
            "struct Particle { float mass; /* 0 */ int id; /* 4 */ double position[3]; /* 8 */ } /* size 32, align 8 */",
            "struct Span { float *data; /* 0 */ int count; /* 8 */ } /* size 16, align 8 */",
            "struct World { float gravity; /* 0 */ unsigned int count; /* 4 */ ns::Pair<int, 2> grid; /* 8 */ } /* size 20, align 4 */",
            "struct ns::Pair<int, 2> { int a[2]; /* 0 */ int b; /* 8 */ } /* size 12, align 4 */",
            "enum ns::Mode : unsigned char;",
        ])
        .functions(&[
            "void saxpy(float a, const float *x, float *y, unsigned int n)",
            "void step(World world, Particle *particles)",
            "void widen(Span out, const float *in, int n)",
            "void fill::iota(float start, float *out, int count)",
            "void block_sum(const int *in, int *out)",
            "void coords(int *out)",
            "void pairs(ns::Mode mode, const ns::Pair<int, 2> *in, bool flag)",
            "void raw(const void *from, void *to, unsigned long bytes)",
            "void shared(sycl::ext::oneapi::experimental::work_group_memory<int[]> scratch, int *out)",
            "void Rows(sycl::accessor<float, 2, sycl::access_mode::read> in, sycl::local_accessor<float, 2> tile, float *out)",
            "void within(sycl::range<2> range, float *out)",
            "void rows(float **rows, int n)",
            "void nothing()",
            "void lost(Unknown what)",
        ])
        .required("__sycl_kernel_block_sum", &[64])
        .required("__sycl_kernel_coords", &[2, 4, 8])
        .kernel("_Z19__sycl_kernel_scaleIiEvPT_S0_", "void scale<int>(int *data, int factor)")
        .kernel("_Z19__sycl_kernel_scaleIdEvPT_S0_", "void scale<double>(double *data, double factor)")
        .kernel("_Z15__sycl_kernel_fPfi", "void f(float *data, int n)")
        .kernel("_Z15__sycl_kernel_fi", "void f(int n)")
        .kernel("_ZTSZ4hostvEUlvE_", "void host::lambda(int *out)")
        .global("table", "int[4]", 16)
        .global("ns::bias", "float", 4)
        .constant("radius", "int", &3i32.to_le_bytes())
        .constant("ns::gain", "double", &0.5f64.to_le_bytes())
}

/// Two sources that define the same struct with different layouts.
fn two_layouts() -> Vec<Module> {
    let source = |kernel, layout| {
        let module = Module::default().layouts(&[layout]);
        module.functions(&[kernel, "void other(int n)"])
    };
    vec![
        source(
            "void first(Item item)",
            "struct Item { int id; /* 0 */ } /* size 4, align 4 */",
        ),
        source(
            "void second(Item *items)",
            "struct Item { float weight; /* 0 */ int id; /* 4 */ } /* size 8, align 4 */",
        ),
    ]
}

/// Two kernels that would get the same Rust name.
fn one_name_twice() -> Module {
    Module::default()
        .kernel(
            "_Z19__sycl_kernel_scaleIiEvPT_S0_",
            "void scale<int>(int *data, int factor)",
        )
        .functions(&["void scale_int(int *data)", "void other(int n)"])
}
