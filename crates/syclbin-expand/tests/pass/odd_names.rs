// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names that Rust or the generated code uses itself.
#![deny(warnings)]
#![allow(dead_code)]

syclbin_rt::include_syclbin! { mod kernels = "odd_names.syclbin"; }

fn calls(queue: &syclbin_rt::Queue, bools: &syclbin_rt::Buffer<u8>) -> syclbin_rt::Result<()> {
    let kernels = kernels::Module::load(queue)?;
    let mut floats = queue.zeroed::<f32>(4)?;
    let _ = kernels.r#move(1, 2, 3u32);
    let _ = kernels.r#gen();
    let _ = kernels.self_(1, 2, 3, 4);
    let _ = kernels.load_(bools, true);
    let _: syclbin_rt::Launch<'_, 0> = kernels.clone();
    let _ = kernels.fmt(&mut floats);
    let _ = kernels.drop(1);
    let _ = kernels.new_();
    let _ = kernels.builder_();
    let _ = kernels.default();
    let _ = kernels.launch(&mut floats);
    let _ = kernels.Some(1);
    let _ = kernels.Ok(1);
    let _ = kernels.Self_();
    let _ = kernels.crate_();
    let _ = kernels.__();
    let _ = kernels.f32.one(1.0f32);
    let _ = kernels.core.new_(1.0f64);
    let _ = kernels.syclbin_rt.Buffer(1);
    let _ = kernels.Module.Kernels();
    let _ = kernels.Module.Result.Ok();
    let _ = kernels.std.load_();
    let _ = kernels.SYCLBIN.SYCLBIN();
    let _ = kernels.String.str.char_();
    let _: kernels::self_::Kernels = kernels.self__.clone();
    let _ = kernels.self__.self_();
    let _ = kernels.crate__.crate_();
    Ok(())
}

fn main() {}
