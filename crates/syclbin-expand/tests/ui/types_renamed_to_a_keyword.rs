syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    types { Particle as struct }
}

fn main() {}
