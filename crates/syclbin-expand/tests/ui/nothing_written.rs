syclbin_rt::include_syclbin! {  }

fn main() {}
