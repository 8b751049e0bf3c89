syclbin_rt::include_syclbin! { mod kernels = "declared.syclbin"; }

fn call(kernels: &kernels::Module, x: &syclbin_rt::Buffer<f32>, y: &syclbin_rt::Buffer<f32>) {
    let _ = kernels.saxpy(2.0, x, y, 3);
}

fn main() {}
