syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    safe fn saxpy where x.len() >= max(n, 3), y.len() >= n;
}

fn main() {}
