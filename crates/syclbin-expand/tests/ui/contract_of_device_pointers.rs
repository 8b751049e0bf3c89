syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    unsafe extern "SYCL" {
        safe fn widen where r#in.len() >= n, range.dimensions() == 1;
    }
}

fn main() {}
