syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    safe fn lost where what > 0;
}

fn main() {}
