syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    safe fn saxpy where x.len() >= n, y.len() >= n, range.dimensions() == 1;
    extern "SYCL" {
        safe fn nothing where range.dimensions() == 1;
    }
}

fn main() {}
