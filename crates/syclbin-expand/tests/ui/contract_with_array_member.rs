syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    unsafe extern "SYCL" {
        safe fn step where particles.len() >= world.grid.a, range.dimensions() == 1;
    }
}

fn main() {}
