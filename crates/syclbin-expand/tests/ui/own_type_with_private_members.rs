syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    types { Particle => crate::inner::Particle }
}

mod inner {
    #[derive(Clone, Copy, syclbin_rt::bytemuck::Pod, syclbin_rt::bytemuck::Zeroable)]
    #[bytemuck(crate = "syclbin_rt::bytemuck")]
    #[repr(C)]
    pub(crate) struct Particle {
        mass: f32,
        id: i32,
        position: [f64; 3],
    }
}

fn main() {}
