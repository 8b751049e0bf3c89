syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    safe fn rows where rows.len() >= n;
}

fn main() {}
