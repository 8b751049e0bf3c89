// SPDX-License-Identifier: MIT OR Apache-2.0
//! Items may choose names that are used elsewhere in the module.
#![deny(warnings)]
#![allow(dead_code)]

syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    types { Particle as fill, World as kernels }
    types { Span as Particle }
    fn saxpy as step;
    fn step as saxpy;
    fn widen as table;
    fn shared as module;
    fn nothing as r#match;
    fn coords as Module;
}

fn calls(module: &kernels::Module, out: &mut syclbin_rt::Buffer<f32>) {
    let _ = module.fill.iota(0.0, out, 3);
    let _ = module.table_();
    let _ = module.r#match();
    let _: kernels::fill = kernels::fill::default();
    let _: kernels::fill_::Kernels = module.fill.clone();
}

fn main() {}
