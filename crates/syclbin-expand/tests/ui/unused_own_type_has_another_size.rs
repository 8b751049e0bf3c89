syclbin_rt::include_syclbin! {
    mod kernels = "structs.object.syclbin";
    only { widen }
    types { Particle => crate::Particle }
}

type Particle = [u8; 40];

fn main() {}
