syclbin_rt::include_syclbin! { mod kernels = "declared.syclbin"; }

fn call(kernels: &kernels::Module, input: &syclbin_rt::Buffer<i32>, out: &mut syclbin_rt::Buffer<i32>) {
    let range = syclbin_rt::NdRange::new(128).local(32);
    // SAFETY: it does not compile.
    let _ = unsafe { kernels.block_sum(input, out).launch(range) };
}

fn main() {}
