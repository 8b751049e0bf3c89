//! Kernels and all they take, called like something in Rust or in the generated code.

use super::Module;

pub(super) fn files() -> Vec<(&'static str, Vec<Module>)> {
    vec![("odd_names.syclbin", vec![odd_names()])]
}

/// Kernels and parameters that are called like something in Rust or in the generated code.
fn odd_names() -> Module {
    Module::default().functions(&[
        "void move(int gen, int type, unsigned int self)",
        "void gen()",
        "void self(int None, int SYCLBIN, int Ok)",
        "void load(const bool *module, bool kernel)",
        "void clone()",
        "void fmt(float *f)",
        "void f32::one(float value)",
        "void core::new(double value)",
        "void syclbin_rt::Buffer(int Self)",
        "void Module::Kernels()",
        "void Module::Result::Ok()",
    ])
}
