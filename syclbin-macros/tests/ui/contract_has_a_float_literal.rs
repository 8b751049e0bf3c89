syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    safe fn saxpy where x.len() >= 1.5, y.len() >= n;
}

fn main() {}
