syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    types { ns::Pair<float, 2> => crate::Pair }
}

fn main() {}
