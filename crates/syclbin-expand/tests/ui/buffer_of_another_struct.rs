syclbin_rt::include_syclbin! { mod kernels = "declared.syclbin"; }

fn call(kernels: &kernels::Module, worlds: &mut syclbin_rt::Buffer<kernels::World>) {
    let _ = kernels.step(kernels::World::default(), worlds);
}

fn main() {}
