//! Names that Rust or the generated code uses itself.
#![deny(warnings)]
#![allow(dead_code)]

syclbin_rt::include_syclbin! { mod kernels = "odd_names.syclbin"; }

fn calls(queue: &syclbin_rt::Queue, bools: &syclbin_rt::Buffer<u8>) -> syclbin_rt::Result<()> {
    let kernels = kernels::Module::load(queue)?;
    let mut floats = queue.zeroed::<f32>(4)?;
    let _ = kernels.r#move(1, 2, 3u32);
    let _ = kernels.r#gen();
    let _ = kernels.self_(1, 2, 3);
    let _ = kernels.load_(bools, true);
    let _: syclbin_rt::Launch<'_, 0> = kernels.clone();
    let _ = kernels.fmt(&mut floats);
    let _ = kernels.f32.one(1.0f32);
    let _ = kernels.core.new_(1.0f64);
    let _ = kernels.syclbin_rt.Buffer(1);
    let _ = kernels.Module.Kernels();
    let _ = kernels.Module.Result.Ok();
    Ok(())
}

fn main() {}
