syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    skip { saxpy }
    fn saxpy as axpy;
}

fn main() {}
