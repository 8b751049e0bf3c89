fn main() {
    syclbin_build::Build::new()
        .source("kernels/NAME.cpp")
        .compile("NAME");
}
