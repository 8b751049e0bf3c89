syclbin_rt::include_syclbin! { mod kernels = "declared.syclbin"; }

fn call(queue: &syclbin_rt::Queue) {
    let _ = kernels::Module::builder(queue).radius(0.5).load();
}

fn main() {}
