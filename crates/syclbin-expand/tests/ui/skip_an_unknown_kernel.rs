syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    skip { saxpi }
}

fn main() {}
