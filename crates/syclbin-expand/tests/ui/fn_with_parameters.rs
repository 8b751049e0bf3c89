syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    fn saxpy(a: f32);
}

fn main() {}
