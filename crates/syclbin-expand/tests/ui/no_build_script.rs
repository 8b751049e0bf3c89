syclbin_rt::include_syclbin! { mod kernels = "saxpy"; }

fn main() {}
