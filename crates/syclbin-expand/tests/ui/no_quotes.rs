syclbin_rt::include_syclbin! { mod kernels = vector_ops; }

fn main() {}
