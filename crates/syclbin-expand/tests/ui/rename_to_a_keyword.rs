syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    fn saxpy as match;
}

fn main() {}
