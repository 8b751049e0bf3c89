syclbin_rt::include_syclbin! { mod kernels = "declared.syclbin"; }

fn call(kernels: &kernels::Module, out: &mut syclbin_rt::Buffer<i32>) {
    // SAFETY: it does not compile.
    let _ = unsafe { kernels.coords(out).launch([4, 8]) };
}

fn main() {}
