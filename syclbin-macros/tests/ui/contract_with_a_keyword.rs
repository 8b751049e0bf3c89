syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    safe fn widen where in.len() >= n;
}

fn main() {}
