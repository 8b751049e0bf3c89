syclbin_rt::include_syclbin! { mod = "vector_ops.object.syclbin"; }

fn main() {}
