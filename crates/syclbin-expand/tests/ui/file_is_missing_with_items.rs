syclbin_rt::include_syclbin! {
    mod kernels = "none.syclbin";
    unsafe extern "SYCL" {
        safe fn saxpy where x.len() >= n, range.dimensions() == 1;
    }
    types { Particle => crate::Particle }
}

fn call(queue: &syclbin_rt::Queue) {
    let kernels = kernels::Module::load(queue).unwrap();
    kernels.saxpy(1);
}

fn main() {}
