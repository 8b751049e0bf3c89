// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structs and members with names that Rust or the generated code uses.
#![deny(warnings)]
#![allow(dead_code)]

syclbin_rt::include_syclbin! { mod kernels = "odd_structs.syclbin"; }

fn calls(queue: &syclbin_rt::Queue) -> syclbin_rt::Result<()> {
    let kernels: kernels::Module = kernels::Module::builder(queue).radius(1).load()?;
    let option = kernels::Option {
        Some: 1,
        None: 2,
        ..Default::default()
    };
    let vec = kernels::Vec::default();
    let _ = kernels.one(
        kernels::Module_ { Module: 1, load: 2 },
        kernels::Kernels_ { Kernels: 1 },
        kernels::Builder_ { radius: 1 },
        kernels::left_out_ { left_out: 1 },
        kernels::SYCLBIN { SYCLBIN: 1 },
        option,
        kernels::Some { x: 1 },
        vec,
        kernels::Result { Ok: 1, Err: 2 },
    );
    let _ = kernels::r#match {
        r#type: 1,
        crate_: 2,
        ..Default::default()
    };
    let _ = kernels::self_ {
        self_: 1,
        self__: 2,
    };
    let _ = kernels::u8_ {
        u8: 1u8,
        u32: 2i32,
        ..Default::default()
    };
    let _ = kernels::f32_ {
        f32: 1.0,
        i32: kernels::i32_ { i32: 2 },
        f64: [0.0f32; 3],
    };
    let _ = kernels.seven(
        kernels::Sized { sized: 1 },
        kernels::Sync { sync: 1 },
        kernels::AsRef { as_ref: 1 },
    );
    let _ = kernels::Load::Load { Load: 1 } == kernels::Load::Load::default();
    kernels.table()?.write(&option)
}

fn main() {}
