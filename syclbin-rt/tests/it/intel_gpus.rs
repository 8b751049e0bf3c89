// SPDX-License-Identifier: MIT OR Apache-2.0
//! What Intel's GPUs have and other devices do not: native code for exactly one, registers that spill, sub-groups of
//! several sizes, explicit SIMD, tiles, buffers of more than 4 GB.
#![allow(unsafe_code, reason = "launching a kernel is unsafe")]

use syclbin::property::set;
use syclbin_rt::{
    Affinity, Arg, Aspect, Device, DeviceKind, Launch, Module, NdRange, Partition, Queue, Result,
};

use crate::common;

/// Kernels as SPIR-V, and as native code of the ahead-of-time compiler for two GPUs.
const FILE: &str = "intel/gpus.syclbin";
const GPUS: [&str; 2] = ["intel_gpu_bmg_g21", "intel_gpu_pvc"];

/// Kernels that these drivers compile for sub-groups of 8, and for the large register file.
const BUILT: &str = "intel/built.syclbin";

pub(crate) fn is_intel_gpu(device: &Device) -> bool {
    device.kind() == DeviceKind::Gpu && device.platform().starts_with("Intel")
}

/// A queue of an Intel GPU.
fn queue() -> Option<Queue> {
    let queue = common::queue()?;
    if !is_intel_gpu(queue.device()) {
        common::say_skipped("not an Intel GPU");
        return None;
    }
    Some(queue)
}

/// The file on an Intel GPU.
fn module() -> Result<Option<(Queue, Module)>> {
    let Some(queue) = queue() else {
        return Ok(None);
    };
    let module = common::load(&queue, &common::testfile(FILE))?;
    Ok(Some((queue, module)))
}

fn architecture(device: &Device) -> Option<&'static str> {
    device.architecture()?.name()
}

#[test]
fn gpus_have_identifiers_and_addresses() {
    let Some(queue) = queue() else { return };
    let device = queue.device();
    assert!(device.uuid().is_some_and(|uuid| uuid != [0; 16]));
    let address = device.pci_address().expect("an address");
    assert!(
        address.starts_with("0000:") && address.len() == 12,
        "{address}"
    );
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
    let has_few = queue.device().architecture() < syclbin_rt::Architecture::from_name("ptl_h");
    assert!(
        !has_few || attributes.spill_memory_bytes > Some(1000),
        "{attributes:?}"
    );
    Ok(())
}

#[test]
fn sub_groups_of_eight_are_taken_or_refused() -> Result<()> {
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    let sizes = queue.device().sub_group_sizes();
    let kernel = common::kernel(&queue, BUILT, "eight");
    if sizes.contains(&8) {
        let size = kernel?.attributes()?.required_sub_group_size;
        // PoCL does not report it.
        let is_reported = queue.device().platform().starts_with("Intel");
        assert!(
            size == Some(8) || size.is_none() && !is_reported,
            "{size:?}"
        );
    } else if !sizes.is_empty() {
        let error = kernel.expect_err("no such size");
        let expected =
            format!("it requires sub-groups of 8, but the device only supports sizes {sizes:?}");
        assert!(error.to_string().contains(&expected), "{error}");
        assert_eq!(error.driver_code(), None, "{error}");
    }
    Ok(())
}

#[test]
fn the_large_register_file_holds_what_spilled() -> Result<()> {
    let Some((queue, module)) = module()? else {
        return Ok(());
    };
    let large = common::kernel(&queue, BUILT, "large_file")?.attributes()?;
    let small = module.kernel("many")?.attributes()?;
    let (spilled, before) = (large.spill_memory_bytes, small.spill_memory_bytes);
    assert!(
        spilled < before || before == Some(0),
        "{large:?}, {small:?}"
    );
    // With twice the registers, a core has half the threads.
    assert!(
        large.max_work_group_size <= small.max_work_group_size,
        "{large:?}, {small:?}"
    );
    Ok(())
}

#[test]
fn features_are_taken_or_named() -> Result<()> {
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    let device = queue.device();
    let module = common::load(&queue, &common::testfile("intel/features.syclbin"));
    if device.sub_group_sizes().is_empty() {
        let error = module.expect_err("all kernels need a feature").to_string();
        assert!(error.contains("it requires sub-groups of 16"), "{error}");
        return Ok(());
    }
    let module = module?;
    for (name, aspect, lacks) in [
        (
            "explicit_simd",
            Aspect::EXT_INTEL_ESIMD,
            "aspect ext_intel_esimd",
        ),
        (
            "joint_matrix",
            Aspect::EXT_INTEL_MATRIX,
            "no matrix instructions",
        ),
    ] {
        let kernel = module.kernel(name);
        if !device.has(aspect) {
            let error = kernel.expect_err("the device lacks it");
            assert!(error.to_string().contains(lacks), "{error}");
            assert_eq!(error.driver_code(), None, "{error}");
        } else if device.kind() == DeviceKind::Cpu {
            // Not every processor with matrix instructions has some for half precision.
            if let Err(error) = kernel {
                let lacks = format!("{lacks} for half precision");
                assert!(error.to_string().contains(&lacks), "{error}");
                assert_eq!(error.driver_code(), None, "{error}");
            }
        } else if name == "joint_matrix" && device.sub_group_sizes().contains(&8) {
            // A770 multiplies other sizes, on which its compiler gives up.
            let error = kernel.expect_err("other sizes");
            assert!(
                error.to_string().contains("clBuildProgram failed"),
                "{error}"
            );
        } else {
            kernel?;
        }
    }
    // Intel's CPU driver takes it, too, and ignores instructions that it does not know.
    if device.platform().starts_with("Intel") {
        module.kernel("assembly")?;
    }
    Ok(())
}

#[test]
fn wrong_work_groups_never_reach_the_driver() -> Result<()> {
    let Some(queue) = queue() else {
        return Ok(());
    };
    let bytes = common::testfile("work_group.object.syclbin");
    let mut silent = syclbin::read::parse(&bytes).expect("a good file");
    for module in &mut silent.modules {
        module.metadata.remove_set(set::PROGRAM_METADATA);
    }
    let limit = queue.device().max_work_group_size();
    // The driver knows the size, too.
    for bytes in [bytes.clone(), common::written(&silent)] {
        let module = common::load(&queue, &bytes)?;
        let coords = module.kernel("coords");
        let mut out = queue.zeroed::<i32>(4 * limit)?;
        let mut launch = |range| {
            // SAFETY: it writes as many numbers as there are work-items.
            unsafe { Launch::new(&coords, &["out"], [Arg::write(&mut out)]).launch(range) }
        };
        launch(NdRange::new([2, 4, 8]).local([2, 4, 8]))?.wait()?;
        let error = launch(NdRange::new([2, 4, 8]).local([2, 2, 8])).expect_err("another size");
        assert_eq!(error.driver_code(), None, "{error}");
        let error =
            launch(NdRange::new([2, 4, limit]).local([1, 4, limit])).expect_err("too large");
        assert_eq!(error.driver_code(), None, "{error}");
        launch(NdRange::new([2, 4, 8]).local([2, 4, 8]))?.wait()?;
    }
    Ok(())
}

#[test]
fn buffers_may_exceed_four_gigabytes() -> Result<()> {
    const BYTES: usize = (4 << 30) + 4096;
    let Some(queue) = queue() else {
        return Ok(());
    };
    if queue.device().memory_bytes() < 2 * BYTES as u64 {
        common::say_skipped("the device has less than 8 GB of memory");
        return Ok(());
    }
    let mut buffer = queue.zeroed::<u8>(BYTES)?;
    queue.write(&mut buffer.slice_mut(BYTES - 4..)?, &[1, 2, 3, 4])?;
    queue.write(&mut buffer.slice_mut(..4)?, &[5, 6, 7, 8])?;
    assert_eq!(queue.download(&buffer.slice(BYTES - 4..)?)?, [1, 2, 3, 4]);
    assert_eq!(queue.download(&buffer.slice(..4)?)?, [5, 6, 7, 8]);
    Ok(())
}

/// Set in a child: this test program again, told to run one test.
const CHILD: &str = "SYCLBIN_RT_TEST_CHILD";

/// The tiles of a GPU are devices of their own, or its parts where the user says so.
#[test]
fn tiles_are_devices_or_parts() -> Result<()> {
    const TEST: &str = "tiles_are_devices_or_parts";
    const HIERARCHY: &str = "ZE_FLAT_DEVICE_HIERARCHY";
    let Some(queue) = queue() else {
        return Ok(());
    };
    let name = queue.device().name();
    if !name.contains("Max 1550") {
        common::say_skipped("the device has one tile");
        return Ok(());
    }
    if std::env::var_os(CHILD).is_none() {
        let tiles = Device::all()?;
        assert_eq!(tiles.iter().filter(|tile| tile.name() == name).count(), 2);
        let mut child = common::child(module_path!(), TEST);
        let output = child.env(CHILD, "1").env(HIERARCHY, "COMPOSITE").output();
        let output = output.expect("the test program runs");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{printed}");
        return Ok(());
    }
    let tiles = queue
        .device()
        .partition(Partition::Affinity(Affinity::Next))?;
    assert_eq!(tiles.len(), 2);
    assert_eq!(Device::select("gpu:0.1")?, tiles[1]);
    for tile in &tiles {
        assert_eq!(tile.compute_units(), queue.device().compute_units() / 2);
        let queue = tile.queue()?;
        let kernel = common::kernel(&queue, FILE, "sixteen");
        let mut out = queue.upload(&[1u32, 2, 3])?;
        assert_eq!(queue.download(&out)?, [1, 2, 3]);
        // SAFETY: a work-item for each element.
        unsafe { Launch::new(&kernel, &["out"], [Arg::write(&mut out)]).launch(3)? }.wait()?;
    }
    Ok(())
}
