syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    fn scale as scaled;
}

fn main() {}
