syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    only { saxpi, saxpy, step }
    types { Partikel => crate::Particle }
    fn scale as scaled;
    safe fn saxpy where x.len() >= m;
    fn step as match;
}

fn main() {}
