#![deny(unused_must_use)]
#![allow(dead_code)]

syclbin_rt::include_syclbin! { mod kernels = "declared.syclbin"; }

fn call(queue: &syclbin_rt::Queue) {
    kernels::Module::builder(queue).radius(3);
}

fn main() {}
