syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    unsafe extern "SYCL" {
        safe fn block_sum where r#in.len() >= range.items(), out.len() >= range.items();
    }
}

fn call(kernels: &kernels::Module, input: &syclbin_rt::Buffer<i32>, out: &mut syclbin_rt::Buffer<i32>) {
    let range = syclbin_rt::NdRange::new(128).local(32);
    let _ = kernels.block_sum(input, out).launch(range);
}

fn main() {}
