// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameters with names that Rust or the generated code uses, and contracts that mention them.
#![deny(warnings)]

use syclbin_rt::{NdRange, Queue, Result, SafeLaunch};

syclbin_rt::include_syclbin! {
    mod kernels = "odd_parameters.syclbin";
    unsafe extern "SYCL" {
        safe fn generated where
            module.len() >= value, Module.len() >= core, launch.len() > syclbin_rt, given.len() != 0, range.dimensions() == 1;
        safe fn reserved where
            r#in.len() > 1, r#mut.len() > 1, r#ref.len() > 1, self.len() > 1, Self.len() > 1,
            super.len() > 1, crate.len() >= r#async, in.len() > 0, range.dimensions() == 1;
        safe fn ranges where x.len() >= arg1, items.len() >= range.items(), range[0] < arg1, range.dimensions() == 1;
        safe fn ranged where arg0.len() >= n, range.items() > 0, range.dimensions() == 1;
        safe fn structs where given.len() >= value.value + value.given, module.len() >= 1, range.dimensions() == 1;
        safe fn given where self.len() >= given * items - len + arg2.value, range.items() > 1, range[0] > 1, range.dimensions() == 1;
        safe fn nameless where arg1.len() >= arg0 + arg2.value, range.dimensions() == 1;
    }
}

fn call<'a>(
    kernels: &'a kernels::Module,
    floats: &'a mut syclbin_rt::Buffer<f32>,
) -> SafeLaunch<'a, 5, NdRange<1>> {
    kernels.given(1, floats, kernels::value { value: 1, given: 2 }, 3, 4)
}

/// Launches the kernel.
pub fn calls(queue: &Queue) -> Result<()> {
    let kernels = kernels::Module::load(queue)?;
    call(&kernels, &mut queue.zeroed(4)?).launch(1)?;
    Ok(())
}

fn main() {}
