syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    safe fn saxpy where z.len() >= n, x.len() >= n, y.len() >= n;
}

fn main() {}
