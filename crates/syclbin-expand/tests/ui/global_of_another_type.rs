syclbin_rt::include_syclbin! { mod kernels = "declared.syclbin"; }

fn call(kernels: &kernels::Module) {
    let _ = kernels.table().map(|table| table.write(&[1.0; 4]));
}

fn main() {}
