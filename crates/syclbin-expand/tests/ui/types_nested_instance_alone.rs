syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    types { Pair => crate::Pair }
}

fn main() {}
