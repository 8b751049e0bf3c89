fn main() {
    syclbin_build::Build::new()
        .source("kernels/saxpy.cpp")
        .compile("saxpy");
}
