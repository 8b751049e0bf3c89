// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices of CUDA: what happens there and nowhere else.
#![allow(unsafe_code, reason = "loading code and launching kernels are unsafe")]

use std::collections::HashSet;

use syclbin::{AbstractModule, Container, Image, IrType, State, Syclbin};
use syclbin_rt::{Arg, Device, DevicePointer, Launch, Module, Queue, Result};

use crate::common;

/// Says to a child that it is one.
const CHILD: &str = "SYCLBIN_RT_TEST_CHILD";

/// A kernel that writes 7 to where it is told.
const PTX: &str = "
.version 6.3
.target sm_75
.address_size 64

.visible .entry put(
	.param .u64 .ptr .global .align 4 put_param_0
)
{
	.reg .b32 	%r<2>;
	.reg .b64 	%rd<3>;

	ld.param.b64 	%rd1, [put_param_0];
	cvta.to.global.u64 	%rd2, %rd1;
	mov.b32 	%r1, 7;
	st.global.b32 	[%rd2], %r1;
	ret;
}
";

fn load(queue: &Queue) -> Result<Module> {
    let mut module = AbstractModule::default();
    module.add_kernel_name("put");
    let image = Image::ir(IrType::Ptx, "nvptx64-nvidia-cuda", PTX.as_bytes());
    module.images.push(image);
    let mut file = Syclbin::new(State::Object);
    file.modules.push(module);
    let bytes = syclbin::write::to_vec(&file, Container::default()).expect("it can be written");
    common::load(queue, &bytes)
}

fn put(module: &Module, queue: &Queue) -> Result<Vec<i32>> {
    let kernel = module.kernel("put");
    let mut out = queue.zeroed::<i32>(1)?;
    // SAFETY: there is one number.
    unsafe { Launch::new(&kernel, &["out"], [Arg::write(&mut out)]).launch(1)? };
    queue.download(&out)
}

#[test]
fn every_gpu_has_an_identifier_and_an_address() {
    if !common::on_cuda() {
        return common::say_skipped("not a CUDA device");
    }
    let gpus = Device::all().expect("there are devices");
    let gpus: Vec<_> = gpus.iter().filter(|device| device.takes_ptx()).collect();
    let uuids: HashSet<_> = gpus
        .iter()
        .map(|gpu| gpu.uuid().expect("an identifier"))
        .collect();
    let addresses = gpus
        .iter()
        .map(|gpu| gpu.pci_address().expect("an address"));
    let addresses: HashSet<_> = addresses.collect();
    assert_eq!((uuids.len(), addresses.len()), (gpus.len(), gpus.len()));
    for address in addresses {
        let separators: String = address.chars().filter(|c| !c.is_ascii_hexdigit()).collect();
        assert_eq!(
            (separators.as_str(), address.len()),
            ("::.", 12),
            "{address}"
        );
    }
}

#[test]
fn driver_without_gpus_is_named_in_simulation() {
    if std::env::var_os(CHILD).is_some() {
        // The rest of the message depends on the other drivers of this machine.
        let error = Device::select("cuda:gpu").unwrap_err().to_string();
        assert!(error.contains("NVIDIA's driver: no devices"), "{error}");
        return;
    }
    let Some(queue) = common::queue().filter(|_| common::on_cuda()) else {
        return common::say_skipped("not a CUDA device");
    };
    if !queue.device().name().starts_with("Simulated") {
        return common::say_skipped("only the simulated driver can lack devices");
    }
    let mut child = common::child(module_path!(), "driver_without_gpus_is_named_in_simulation");
    child
        .env(CHILD, "1")
        .env("SYCLBIN_SIMULATED_CUDA", "devices=0");
    common::assert_passes(&mut child);
}

#[test]
fn new_queue_works_after_a_kernel_fault() {
    if !common::on_cuda() {
        return common::say_skipped("not a CUDA device");
    }
    let mut child = common::child(module_path!(), "a_child_faults");
    common::assert_passes(child.env(CHILD, "1"));
}

#[test]
fn a_child_faults() -> Result<()> {
    if std::env::var_os(CHILD).is_none() {
        return Ok(()); // it is there for the others
    }
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = load(&queue)?;
    assert_eq!(put(&module, &queue)?, [7]);
    let kept = queue.upload(&[1, 2, 3])?;
    let kernel = module.kernel("put");
    let launch = Launch::new(
        &kernel,
        &["out"],
        [Arg::pointer(DevicePointer::<i32>::null())],
    );
    // SAFETY: none. It is to fail.
    let event = unsafe { launch.launch(1)? };
    let message = event.wait().unwrap_err().to_string();
    assert!(
        message.starts_with(
            "cuLaunchKernel failed with CUDA_ERROR_ILLEGAL_ADDRESS (700) while running kernel put"
        ),
        "{message}"
    );
    // All that was made before tells the same.
    let lost = [
        queue.download(&kept).map(drop),
        queue.upload(&[1]).map(drop),
        put(&module, &queue).map(drop),
        queue.barrier(&[]).map(drop),
        event.is_complete().map(drop),
    ];
    for answer in lost {
        let message = answer.unwrap_err().to_string();
        assert!(message.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{message}");
    }
    let device = queue.device().clone();
    drop((event, kernel, module, queue, kept));
    let message = device.queue().unwrap_err().to_string();
    assert!(message.ends_with("restart the program"), "{message}");
    Ok(())
}

#[test]
fn range_with_too_many_groups_is_refused() -> Result<()> {
    if !common::on_cuda() {
        common::say_skipped("not a CUDA device");
        return Ok(());
    }
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = load(&queue)?.kernel("put");
    let mut out = queue.zeroed::<i32>(1)?;
    let mut recorder = queue.record();
    // The size is prime, so each work-item would be a group of its own.
    let range = [65_537, 1];
    let launch = Launch::new(&kernel, &["out"], [Arg::write(&mut out)]);
    // SAFETY: it is not launched.
    let recorded = unsafe { launch.record(&mut recorder, range) };
    let recorded = recorded.map(drop);
    let launch = Launch::new(&kernel, &["out"], [Arg::write(&mut out)]);
    let prepared = launch.prepare(range).map(drop);
    for refused in [recorded, prepared] {
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("launching kernel put"), "{message}");
        assert!(message.contains("too many work-groups"), "{message}");
    }
    // The recorder remains usable.
    recorder.finish()?.replay()?.wait()
}

#[test]
fn ptx_module_knows_its_parameter_types() -> Result<()> {
    if !common::on_cuda() {
        common::say_skipped("not a CUDA device");
        return Ok(());
    }
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = load(&queue)?;
    let kernel = module.kernel("put");
    // SAFETY: refused before the driver sees it.
    let launched = unsafe { Launch::new(&kernel, &["out"], [Arg::scalar(1u32)]).launch(1) };
    let message = launched.unwrap_err().to_string();
    assert!(message.contains("argument 0 (out)"), "{message}");
    assert_eq!(put(&module, &queue)?, [7]);
    Ok(())
}
