syclbin_rt::include_syclbin! { mod kernels = "declared.syclbin"; }

fn call(kernels: &kernels::Module, y: &mut syclbin_rt::Buffer<f32>) {
    let x = vec![1.0f32; 4];
    let _ = kernels.saxpy(2.0, &x, y, 3);
}

fn main() {}
