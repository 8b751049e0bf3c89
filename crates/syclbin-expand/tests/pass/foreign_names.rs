// SPDX-License-Identifier: MIT OR Apache-2.0
//! Letters beyond ASCII.
#![deny(warnings)]
#![allow(dead_code)]

syclbin_rt::include_syclbin! {
    mod kernels = "foreign_names.syclbin";
    types { Größe as Size }
    unsafe extern "SYCL" {
        safe fn größe where ausgabe_für_λ.len() >= größe.höhe, range.dimensions() == 1;
    }
    fn число::ядро as kernel;
}

fn calls(queue: &syclbin_rt::Queue, ints: &mut syclbin_rt::Buffer<i32>) -> syclbin_rt::Result<()> {
    let kernels = kernels::Module::builder(queue).θ(0.5).load()?;
    let size = kernels::Size {
        höhe: 3,
        幅: 0.5,
        ..Default::default()
    };
    kernels.größe(size, ints).launch(3)?;
    let _ = kernels.число.kernel(ints, 3);
    let _ = kernels.核(&mut queue.zeroed(1)?);
    let _: i32 = kernels.tâche()?.read()?;
    Ok(())
}

fn main() {}
