// SPDX-License-Identifier: MIT OR Apache-2.0
//! The generated code depends on no name that the program has.
#![deny(warnings)]
#![allow(dead_code, non_camel_case_types)]

mod core {}
mod std {}
mod bytemuck {}
struct Option;
struct Result;
struct Some;
struct Copy;
struct u32;
struct f32;
struct usize;

::syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    safe fn saxpy where x.len() >= n, y.len() >= n;
    safe fn step where particles.len() >= world.count;
}

fn main() {}
