syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    types { World => crate::World }
    safe fn step where particles.len() >= world.count;
}

#[derive(Clone, Copy, syclbin_rt::bytemuck::Pod, syclbin_rt::bytemuck::Zeroable)]
#[bytemuck(crate = "syclbin_rt::bytemuck")]
#[repr(C)]
struct World {
    gravity: f32,
    count: i32,
    grid: kernels::ns::Pair_int_2,
}

fn main() {}
