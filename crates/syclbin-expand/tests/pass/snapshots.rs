// SPDX-License-Identifier: MIT OR Apache-2.0
//! The snapshots of the generated code compile as part of a program.
#![deny(warnings)]

#[path = "../snapshots/constants_object.rs"]
mod constants_object;
#[path = "../snapshots/export_side_executable.rs"]
mod export_side_executable;
#[path = "../snapshots/export_side_object.rs"]
mod export_side_object;
#[path = "../snapshots/functor_executable.rs"]
mod functor_executable;
#[path = "../snapshots/functor_object.rs"]
mod functor_object;
#[path = "../snapshots/globals_executable.rs"]
mod globals_executable;
#[path = "../snapshots/globals_object.rs"]
mod globals_object;
#[path = "../snapshots/import_side_object.rs"]
mod import_side_object;
#[path = "../snapshots/structs_executable.rs"]
mod structs_executable;
#[path = "../snapshots/structs_object.rs"]
mod structs_object;
#[path = "../snapshots/upstream_offload.rs"]
mod upstream_offload;
#[path = "../snapshots/vector_ops_executable.rs"]
mod vector_ops_executable;
#[path = "../snapshots/vector_ops_object.rs"]
mod vector_ops_object;
#[path = "../snapshots/work_group_executable.rs"]
mod work_group_executable;
#[path = "../snapshots/work_group_object.rs"]
mod work_group_object;

fn main() {
    assert!(!constants_object::kernels::SYCLBIN.is_empty());
    assert!(!export_side_executable::kernels::SYCLBIN.is_empty());
    assert!(!export_side_object::kernels::SYCLBIN.is_empty());
    assert!(!functor_executable::kernels::SYCLBIN.is_empty());
    assert!(!functor_object::kernels::SYCLBIN.is_empty());
    assert!(!globals_executable::kernels::SYCLBIN.is_empty());
    assert!(!globals_object::kernels::SYCLBIN.is_empty());
    assert!(!import_side_object::kernels::SYCLBIN.is_empty());
    assert!(!structs_executable::kernels::SYCLBIN.is_empty());
    assert!(!structs_object::kernels::SYCLBIN.is_empty());
    assert!(!upstream_offload::kernels::SYCLBIN.is_empty());
    assert!(!vector_ops_executable::kernels::SYCLBIN.is_empty());
    assert!(!vector_ops_object::kernels::SYCLBIN.is_empty());
    assert!(!work_group_executable::kernels::SYCLBIN.is_empty());
    assert!(!work_group_object::kernels::SYCLBIN.is_empty());
}
