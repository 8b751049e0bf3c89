syclbin_rt::include_syclbin! { mod kernels = "vector_ops.object.syclbin"; }

fn call(kernels: &kernels::Module, mut data: syclbin_rt::Buffer<i32>) {
    let launch = kernels.scale_int(&mut data, 2);
    drop(data);
    drop(launch);
}

fn main() {}
