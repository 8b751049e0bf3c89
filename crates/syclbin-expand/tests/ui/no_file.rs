syclbin_rt::include_syclbin! { mod kernels; }

fn main() {}
