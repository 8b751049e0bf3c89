syclbin_rt::include_syclbin! {
    mod kernels = "two_layouts.syclbin";
}

fn main() {}
