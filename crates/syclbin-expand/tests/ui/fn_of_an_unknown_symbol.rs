syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    fn "_Z4nonev" as none;
}

fn main() {}
