syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    only { saxpy }
    skip { step }
}

fn main() {}
