syclbin_rt::include_syclbin! { mod kernels = "none.syclbin"; }

fn main() {}
