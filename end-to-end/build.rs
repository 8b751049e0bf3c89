//! Compiles a file of `testfiles/`, as a user's build script would.

fn main() {
    syclbin_build::Build::new()
        .source("../testfiles/vector_ops.cpp")
        .compile("vector_ops");
}
