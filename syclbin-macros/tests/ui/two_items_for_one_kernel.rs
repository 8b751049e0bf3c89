syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    fn saxpy as axpy;
    safe fn saxpy where x.len() >= n, y.len() >= n;
}

fn main() {}
