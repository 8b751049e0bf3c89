syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    unsafe extern "SYCL" {
        safe fn saxpy where x.len() >= n, y.len() >= n;
    }
}

fn main() {}
