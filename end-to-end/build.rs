//! Compiles files of `testfiles/` and of the tests, as a user's build script would.

fn main() {
    syclbin_build::Build::new()
        .source("../testfiles/vector_ops.cpp")
        .compile("vector_ops");
    for name in ["functor", "kinds"] {
        let folder = if name == "kinds" {
            "tests"
        } else {
            "../testfiles"
        };
        syclbin_build::Build::new()
            .source(format!("{folder}/{name}.cpp"))
            .compile(name);
    }
}
