syclbin_rt::include_syclbin! { mod kernels = "declared.syclbin"; }

fn call(kernels: &kernels::Module, world: kernels::World, particles: &mut syclbin_rt::Buffer<kernels::Particle>) {
    let _ = kernels.step(&world, particles);
}

fn main() {}
