syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    safe fn saxpy where x.len() >= n.len(), y.len() >= n;
}

fn main() {}
