syclbin_rt::include_syclbin! { mod kernels = "truncated.syclbin"; }

fn main() {}
