syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    fn widen as wider;
    fn saxpy as step;
}

fn main() {}
