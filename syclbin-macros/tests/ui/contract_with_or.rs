syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    safe fn saxpy where x.len() >= n || n == 0, y.len() >= n;
}

fn main() {}
