//! Compiles files of `testfiles/` and of the tests, as a user's build script would.

fn main() {
    syclbin_build::Build::new()
        .source("../testfiles/vector_ops.cpp")
        .compile("vector_ops");
    for (folder, name) in [
        ("../testfiles", "functor"),
        ("../testfiles", "work_group"),
        ("../testfiles", "constants"),
        ("tests", "kinds"),
        ("tests", "numbers"),
        ("tests", "rest"),
        ("tests", "variables"),
        ("tests", "structs"),
        ("tests", "specialized"),
        ("tests", "slim"),
    ] {
        syclbin_build::Build::new()
            .source(format!("{folder}/{name}.cpp"))
            .compile(name);
    }
}
