//! Tests of the whole way: sources are compiled by the build script of this crate, embedded here,
//! and run by `tests/`.

syclbin_rt::include_syclbin! {
    /// testfiles/vector_ops.cpp
    pub mod vector_ops = "vector_ops";
}
