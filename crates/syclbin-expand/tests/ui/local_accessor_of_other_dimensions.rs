syclbin_rt::include_syclbin! { mod kernels = "declared.syclbin"; }

fn call(kernels: &kernels::Module, x: &syclbin_rt::Buffer<f32>, y: &mut syclbin_rt::Buffer<f32>) {
    let _ = kernels.Rows((x, [4, 8]), 8, y);
}

fn main() {}
