syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    only { fil::* }
}

fn main() {}
