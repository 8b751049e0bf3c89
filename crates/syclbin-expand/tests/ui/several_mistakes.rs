syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    only { saxpi, saxpy, step }
    types { Partikel => crate::Particle }
    fn scale as scaled;
    unsafe extern "SYCL" {
        safe fn saxpy where x.len() >= m, range.dimensions() == 1;
    }
    fn step as match;
}

fn main() {}
