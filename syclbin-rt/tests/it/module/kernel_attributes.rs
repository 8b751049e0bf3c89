// SPDX-License-Identifier: MIT OR Apache-2.0
//! What drivers report about compiled kernels.

use syclbin_rt::Result;

use crate::common;

#[test]
fn driver_reports_sizes_of_kernels() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = common::load(&queue, &common::testfile("vector_ops.object.syclbin"))?;
    let info = module.kernel("saxpy")?.attributes()?;
    let device = queue.device();
    assert!((1..=device.max_work_group_size()).contains(&info.max_work_group_size));
    assert!(info.preferred_work_group_size_multiple >= 1);
    assert_eq!(info.local_memory_bytes, 0, "it uses none");
    assert_eq!(info.required_sub_group_size, None);
    if common::on_cuda() {
        assert!(info.registers.is_some_and(|count| count > 0), "{info:?}");
        assert_eq!(info.max_sub_group_size, Some(32));
    }
    if !device.sub_group_sizes().is_empty() {
        assert!(info.max_sub_group_size.is_some(), "{info:?}");
    }
    Ok(())
}

#[test]
fn required_work_group_size_bounds_info() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let bytes = common::testfile("work_group.object.syclbin");
    let module = common::load(&queue, &bytes)?;
    for name in module.kernel_names() {
        let kernel = module.kernel(name)?;
        let info = kernel.attributes()?;
        let required = kernel.required_local_size();
        let items = required.map_or(1, |sizes| sizes.iter().product());
        assert!(info.max_work_group_size >= items, "{name}: {info:?}");
    }
    Ok(())
}
