syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    safe fn within where out.len() >= range[0] * range[1];
}

fn main() {}
