syclbin_rt::include_syclbin! { mod kernels = "not.syclbin"; }

fn main() {}
