syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    safe fn step where particles.len() >= world;
}

fn main() {}
