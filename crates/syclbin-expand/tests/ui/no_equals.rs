syclbin_rt::include_syclbin! { mod kernels: "vector_ops.object.syclbin"; }

fn main() {}
