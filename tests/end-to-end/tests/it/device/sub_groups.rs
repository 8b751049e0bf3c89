// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that require sub-groups of one size.
#![allow(unsafe_code)] // a launch is unsafe

use syclbin_rt::NdRange;

use crate::common::{say_skipped, spirv_queue};

syclbin_rt::include_syclbin! { mod sub_groups = "sub_groups"; }

#[test]
fn required_sub_group_size_is_used_or_refused() {
    let Some(queue) = spirv_queue() else { return };
    let sizes = queue.device().sub_group_sizes();
    let kernels = match sub_groups::Module::load(&queue) {
        Ok(kernels) => kernels,
        Err(error) if sizes.is_empty() => {
            return say_skipped(&format!("cl_intel_required_subgroup_size: {error}"));
        }
        Err(error) => {
            let text = error.to_string();
            assert!(!sizes.contains(&16), "{text}");
            assert!(text.contains("it requires sub-groups of 16"), "{text}");
            return;
        }
    };
    let mut out = queue.zeroed::<u32>(64).unwrap();
    // SAFETY: `out` has an element for each work-item.
    unsafe { kernels.lanes(&mut out).launch(NdRange::new(64).local(32)) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [16; 64]);
}
