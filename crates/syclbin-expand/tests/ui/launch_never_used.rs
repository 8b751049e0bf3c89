#![deny(unused_must_use)]
#![allow(dead_code)]

syclbin_rt::include_syclbin! { mod kernels = "declared.syclbin"; }

fn call(kernels: &kernels::Module, data: &mut syclbin_rt::Buffer<i32>) {
    kernels.scale_int(data, 2);
}

fn main() {}
