syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    unsafe extern "SYCL" {
        safe fn saxpy where x.len() >= n, y.len() >= n, range.dimensions() == 1, unchecked();
    }
}

unsafe fn unchecked() -> bool {
    true
}

fn main() {}
