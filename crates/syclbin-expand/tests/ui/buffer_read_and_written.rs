syclbin_rt::include_syclbin! { mod kernels = "vector_ops.object.syclbin"; }

fn call(kernels: &kernels::Module, x: &mut syclbin_rt::Buffer<f32>) {
    let _ = kernels.saxpy(2.0, x, x, 3);
}

fn main() {}
