// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the whole way: sources are compiled by the build script of this crate, embedded here,
//! and run by `tests/it`.

syclbin_rt::include_syclbin! {
    /// tests/files/vector_ops.cpp
    pub mod vector_ops = "vector_ops";
}

syclbin_rt::include_syclbin! {
    /// tests/files/work_group.cpp
    pub mod work_group = "work_group";
}

syclbin_rt::include_syclbin! {
    /// tests/files/functor.cpp
    pub mod functor = "functor";
}

syclbin_rt::include_syclbin! {
    /// tests/kernels/numbers.cpp
    pub mod numbers = "numbers";
}

syclbin_rt::include_syclbin! {
    /// tests/kernels/structs.cpp
    pub mod structs = "structs";
}

syclbin_rt::include_syclbin! {
    /// tests/files/constants.cpp
    pub mod constants = "constants";
}

syclbin_rt::include_syclbin! {
    /// tests/kernels/specialized.cpp
    pub mod specialized = "specialized";
}

syclbin_rt::include_syclbin! {
    /// tests/kernels/slim.cpp
    pub mod slim = "slim";
}
