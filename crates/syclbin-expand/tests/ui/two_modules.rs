syclbin_rt::include_syclbin! { mod a = "vector_ops.object.syclbin"; mod b = "globals.object.syclbin"; }

fn main() {}
