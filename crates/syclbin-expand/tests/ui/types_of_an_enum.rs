syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    types { ns::Mode => crate::Mode }
}

fn main() {}
