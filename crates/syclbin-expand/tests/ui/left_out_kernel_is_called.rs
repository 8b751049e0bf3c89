syclbin_rt::include_syclbin! { mod kernels = "declared.syclbin"; }

fn call(kernels: &kernels::Module) {
    kernels.lost(1);
}

fn main() {}
