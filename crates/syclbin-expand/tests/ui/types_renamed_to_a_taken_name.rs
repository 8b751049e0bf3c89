syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    types { Span as View, Particle as World }
}

fn main() {}
