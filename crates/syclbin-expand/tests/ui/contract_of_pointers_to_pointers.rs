syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    unsafe extern "SYCL" {
        safe fn rows where rows.len() >= n, range.dimensions() == 1;
    }
}

fn main() {}
