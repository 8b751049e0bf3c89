syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    pub(super) fn saxpy;
}

fn main() {}
