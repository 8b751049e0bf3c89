syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    fn scale<float> as scale_floats;
}

fn main() {}
