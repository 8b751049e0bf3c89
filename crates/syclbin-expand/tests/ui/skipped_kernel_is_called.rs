syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    skip { nothing }
}

fn call(kernels: &kernels::Module) {
    kernels.nothing();
}

fn main() {}
