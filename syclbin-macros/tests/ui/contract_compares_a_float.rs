syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    safe fn saxpy where a > 0, x.len() >= n, y.len() >= n;
}

fn main() {}
