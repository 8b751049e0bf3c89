// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clippy accepts the generated code in a crate that denies `clippy::pedantic`.
#![deny(clippy::pedantic)]

syclbin_rt::include_syclbin! { pub mod constants = "../../tests/files/constants.object.syclbin"; }
syclbin_rt::include_syclbin! { pub mod functor = "../../tests/files/functor.object.syclbin"; }
syclbin_rt::include_syclbin! { pub mod globals = "../../tests/files/globals.object.syclbin"; }
syclbin_rt::include_syclbin! { pub mod structs = "../../tests/files/structs.object.syclbin"; }
syclbin_rt::include_syclbin! { pub mod vector_ops = "../../tests/files/vector_ops.object.syclbin"; }
syclbin_rt::include_syclbin! { pub mod work_group = "../../tests/files/work_group.object.syclbin"; }
