syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    types { Particle as P, Particle as Q }
}

fn main() {}
