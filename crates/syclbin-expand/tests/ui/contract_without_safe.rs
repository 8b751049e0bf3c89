syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    fn saxpy where x.len() >= n, y.len() >= n;
}

fn main() {}
