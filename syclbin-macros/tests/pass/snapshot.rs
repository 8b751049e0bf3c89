//! The snapshot of the generated code is a program's code.
#![deny(warnings)]
#![allow(dead_code)]

#[path = "../snapshots/vector_ops.rs"]
mod snapshot;

fn main() {
    assert!(!snapshot::kernels::SYCLBIN.is_empty());
}
