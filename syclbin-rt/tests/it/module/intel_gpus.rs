// SPDX-License-Identifier: MIT OR Apache-2.0
//! What Intel's GPUs have and other devices do not: native code for exactly one, registers that spill, sub-groups of
//! several sizes.

use syclbin_rt::{Aspect, Device, DeviceKind, Module, Queue, Result};

use crate::common;

/// Kernels as SPIR-V, and as native code of the ahead-of-time compiler for two GPUs.
const FILE: &str = "intel/gpus.syclbin";
const GPUS: [&str; 2] = ["intel_gpu_bmg_g21", "intel_gpu_pvc"];

/// The file on an Intel GPU.
fn module() -> Result<Option<(Queue, Module)>> {
    let Some(queue) = common::queue() else {
        return Ok(None);
    };
    let device = queue.device();
    if device.kind() != DeviceKind::Gpu || !device.platform().starts_with("Intel") {
        common::say_skipped("not an Intel GPU");
        return Ok(None);
    }
    let module = common::load(&queue, &common::testfile(FILE))?;
    Ok(Some((queue, module)))
}

fn architecture(device: &Device) -> Option<&'static str> {
    device.architecture()?.name()
}

#[test]
fn native_code_of_exactly_this_gpu_is_taken() -> Result<()> {
    let Some((queue, module)) = module()? else {
        return Ok(());
    };
    let own = architecture(queue.device());
    let choices = common::choices(&module);
    for choice in &choices {
        let text = choice.to_string();
        let taken = text.contains("the driver accepts this native code");
        let is_own = own.is_some_and(|own| {
            let short = own.trim_start_matches("intel_gpu_");
            text.contains(&format!("native {short},"))
        });
        assert_eq!(taken, is_own, "{own:?}: {text}");
    }
    let has_native = own.is_some_and(|own| GPUS.contains(&own));
    let native = choices
        .iter()
        .filter(|choice| choice.to_string().contains("native code"));
    assert_eq!(native.count() > 0, has_native);
    Ok(())
}

#[test]
fn doubles_are_refused_before_the_driver_sees_them() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    if queue.device().has(Aspect::FP64) {
        common::say_skipped("the device has double precision");
        return Ok(());
    }
    let module = common::load(&queue, &common::testfile("vector_ops.object.syclbin"))?;
    let names: Vec<&str> = module.kernel_names().collect();
    let doubles = names.iter().filter(|name| name.contains("scaleIdE"));
    for name in doubles {
        let error = module.kernel(name).expect_err("it computes with doubles");
        assert!(error.to_string().contains("fp64"), "{error}");
        assert_eq!(error.driver_code(), None, "{error}");
    }
    module.kernel("saxpy").map(drop)
}

#[test]
fn spills_and_sub_groups_of_kernels_are_reported() -> Result<()> {
    let Some((queue, module)) = module()? else {
        return Ok(());
    };
    let sizes = queue.device().sub_group_sizes();
    for (name, size) in [("sixteen", 16), ("thirty_two", 32)] {
        assert!(sizes.contains(&size), "{sizes:?}");
        let attributes = module.kernel(name)?.attributes()?;
        assert_eq!(
            attributes.required_sub_group_size,
            Some(size),
            "{attributes:?}"
        );
        assert_eq!(attributes.spill_memory_bytes, Some(0), "{attributes:?}");
    }
    let attributes = module.kernel("many")?.attributes()?;
    // From Panther Lake on, a kernel gets as many registers as it needs.
    let has_few = queue.device().architecture() < "ptl_h".parse().ok();
    assert!(
        !has_few || attributes.spill_memory_bytes > Some(1000),
        "{attributes:?}"
    );
    Ok(())
}
