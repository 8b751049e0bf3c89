syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    unsafe extern "SYCL" {
        safe fn saxpy where x.len() >= range, y.len() >= n, range.dimensions() == 1;
    }
}

fn main() {}
