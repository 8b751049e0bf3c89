syclbin_rt::include_syclbin! { mod kernels = "declared.syclbin"; }

fn call(kernels: &kernels::Module, data: &mut syclbin_rt::Buffer<i32>) {
    let _ = kernels.scale_int(data);
}

fn main() {}
