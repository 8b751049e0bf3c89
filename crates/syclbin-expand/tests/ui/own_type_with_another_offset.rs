syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    types { Particle => crate::Particle }
}

#[derive(Clone, Copy, syclbin_rt::bytemuck::Pod, syclbin_rt::bytemuck::Zeroable)]
#[bytemuck(crate = "syclbin_rt::bytemuck")]
#[repr(C)]
struct Particle {
    position: [f64; 3],
    mass: f32,
    id: i32,
}

fn main() {}
