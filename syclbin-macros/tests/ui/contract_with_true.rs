syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    safe fn pairs where r#in.len() >= 1, mode == true;
}

fn main() {}
