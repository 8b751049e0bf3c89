// SPDX-License-Identifier: MIT OR Apache-2.0
//! The methods take the parameters of the kernels.
#![deny(warnings, missing_docs, unreachable_pub, rust_2018_idioms, unused_qualifications)]

use syclbin_rt::{Buffer, Device, Launch, Queue, Result};

syclbin_rt::include_syclbin! {
    /// The kernels of vector_ops.cpp.
    pub mod kernels = "vector_ops.object.syclbin";
}

syclbin_rt::include_syclbin! { mod hidden = "vector_ops.object.syclbin"; }

/// Passes an argument of each type. A launch keeps its buffers borrowed.
pub fn calls(queue: &Queue, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    let kernels = kernels::Module::load(queue)?;
    let mut ints = queue.zeroed::<i32>(4)?;
    let mut doubles = queue.zeroed::<f64>(4)?;
    let saxpy: Launch<'_, 4> = kernels.saxpy(2.0, x, y, 3);
    drop(saxpy);
    let _ = kernels.fill.iota(0.0, y, 3);
    let _ = kernels.scale_int(&mut ints, 2);
    let _ = kernels.scale_double(&mut doubles, 0.5);
    let fill: kernels::fill::Kernels = kernels.clone().fill;
    println!("{fill:?}");
    let _ = hidden::Module::load(queue)?;
    Ok(())
}

fn main() {
    assert_eq!(kernels::SYCLBIN.as_ptr().align_offset(8), 0);
    let _ = Device::best;
}
