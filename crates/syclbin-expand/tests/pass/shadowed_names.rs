// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names defined by the program do not affect the generated code.
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
const LIMIT: i64 = 2;
const fn check(count: i128) -> i128 {
    count
}
const fn holds(count: i128) -> i128 {
    count
}

::syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    unsafe extern "SYCL" {
        safe fn saxpy where x.len() >= n, y.len() >= n, range.dimensions() == 1;
        safe fn step where particles.len() >= world.count * LIMIT, particles.len() >= check(1),
            particles.len() >= holds(1), range.dimensions() == 1;
    }
}

fn main() {}
