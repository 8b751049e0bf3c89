// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels or structs of the same name do not reject the file: parameters distinguish the kernels, and unrelated
//! kernels keep their functions.

use syclbin_rt::include_syclbin;

include_syclbin! { mod kernels = "one_name_twice.syclbin"; }
include_syclbin! { mod layouts = "two_layouts.syclbin"; }

fn main() {
    let _ = |module: kernels::Module, data: &mut syclbin_rt::DeviceSlice<i32>| {
        let _ = module.scale_int_int(data, 2);
        let _ = module.scale_int(data);
        let _ = module.other(3);
    };
    let _ = |module: layouts::Module| {
        let _ = module.other(3);
    };
}
