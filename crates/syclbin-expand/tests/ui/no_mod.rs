syclbin_rt::include_syclbin! { pub kernels = "vector_ops.object.syclbin"; }

fn main() {}
