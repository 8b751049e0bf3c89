syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    struct Foo;
}

fn main() {}
