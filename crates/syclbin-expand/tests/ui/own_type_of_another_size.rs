syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    types { Particle => crate::Particle }
}

#[derive(Clone, Copy, syclbin_rt::bytemuck::Pod, syclbin_rt::bytemuck::Zeroable)]
#[bytemuck(crate = "syclbin_rt::bytemuck")]
#[repr(C)]
struct Particle {
    mass: f32,
    id: i32,
    position: [f64; 2],
}

fn main() {}
