syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    types { Partikel => crate::Particle }
}

fn main() {}
