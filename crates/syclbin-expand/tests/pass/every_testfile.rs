// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every test file expands to a module that compiles, even if kernels are left out.
#![deny(warnings)]
#![allow(dead_code)]

use syclbin_rt::include_syclbin;

include_syclbin! { mod constants = "constants.object.syclbin"; }
include_syclbin! { mod export_side = "export_side.object.syclbin"; }
include_syclbin! { mod functor = "functor.object.syclbin"; }
include_syclbin! { mod globals = "globals.object.syclbin"; }
include_syclbin! { mod import_side = "import_side.object.syclbin"; }
include_syclbin! { mod structs = "structs.object.syclbin"; }
include_syclbin! { mod vector_ops = "vector_ops.object.syclbin"; }
include_syclbin! { mod work_group = "work_group.object.syclbin"; }
include_syclbin! { mod native = "vector_ops.executable.syclbin"; }

fn main() {}
