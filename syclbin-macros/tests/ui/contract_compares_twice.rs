syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    safe fn saxpy where 0 < n <= x.len(), y.len() >= n;
}

fn main() {}
