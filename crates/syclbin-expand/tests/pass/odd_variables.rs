// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device globals and specialization constants with names that Rust or the generated code uses.
#![deny(warnings)]
#![allow(dead_code)]

use syclbin_rt::{Global, Queue, Result};

syclbin_rt::include_syclbin! { mod kernels = "odd_variables.syclbin"; }

fn calls(queue: &Queue) -> Result<()> {
    let builder = kernels::Module::builder(queue)
        .load_(1)
        .new(2)
        .value(3)
        .self_(4)
        .r#move(5);
    let kernels = builder
        .radius(6)
        .radius_(7)
        .drop(8)
        .specialization_constant(9)
        .load()?;
    let _: Global<i32> = kernels.load__()?;
    let _: Global<i32> = kernels.r#move()?;
    let _: Global<i32> = kernels.SYCLBIN()?;
    let _: Global<i32> = kernels.ns.ns()?;
    Ok(())
}

fn main() {}
