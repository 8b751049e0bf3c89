syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    types { Particle crate::Particle }
}

fn main() {}
