syclbin_rt::include_syclbin! {
    mod kernels = "corrupt.syclbin";
}

fn main() {}
