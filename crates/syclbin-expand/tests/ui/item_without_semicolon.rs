syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    fn saxpy as axpy
    fn step as go;
}

fn main() {}
