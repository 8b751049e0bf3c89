syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    fn saxpi as axpy;
}

fn main() {}
