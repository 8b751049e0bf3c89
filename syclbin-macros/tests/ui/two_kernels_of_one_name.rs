syclbin_rt::include_syclbin! {
    mod kernels = "one_name_twice.syclbin";
}

fn main() {}
