syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    fn f as g;
}

fn main() {}
