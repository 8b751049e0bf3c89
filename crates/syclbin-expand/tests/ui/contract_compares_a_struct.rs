syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    unsafe extern "SYCL" {
        safe fn step where particles.len() >= world, range.dimensions() == 1;
    }
}

fn main() {}
