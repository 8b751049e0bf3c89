syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    safe fn widen where r#in.len() >= n;
}

fn main() {}
