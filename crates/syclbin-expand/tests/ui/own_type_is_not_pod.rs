syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    types { Particle => crate::Particle }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Particle {
    mass: f32,
    id: i32,
    position: [f64; 3],
}

fn main() {}
