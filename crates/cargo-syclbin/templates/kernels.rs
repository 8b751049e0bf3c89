//! The SYCL kernels that the build script compiles.

syclbin_rt::include_syclbin! {
    pub mod NAME = "NAME";
    // SAFETY: work-item i reads x[i] and y[i] and writes y[i], for i < n. Each launch checks the lengths.
    unsafe extern "SYCL" {
        safe fn saxpy where x.len() >= n, y.len() >= n;
    }
}
