syclbin_rt::include_syclbin! { mod kernels = "vector_ops.object.syclbin"; }

fn call(kernels: &kernels::Module, data: &mut syclbin_rt::Buffer<f32>) {
    let _ = kernels.scale_int(data, 2);
}

fn main() {}
