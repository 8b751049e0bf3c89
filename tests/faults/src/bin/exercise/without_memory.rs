// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device is out of memory: each call that needs some fails, and goes on failing.

use faults::Control;
use syclbin_rt::{
    Arg, Buffer, Device, DeviceArray, HostArray, Kernel, Launch, Queue, Result, SharedArray,
};

use crate::ledger::Ledger;
use crate::steps;

/// The calls that need memory, and the codes that they say so with.
const NEED_MEMORY: &[(&str, i32)] = &[
    ("clCreateBuffer", -4),
    ("clEnqueueFillBuffer", -4),
    ("clEnqueueWriteBuffer", -4),
    ("clDeviceMemAllocINTEL", -5),
    ("clHostMemAllocINTEL", -5),
    ("clSharedMemAllocINTEL", -5),
    ("clEnqueueMemFillINTEL", -5),
    ("clEnqueueMemcpyINTEL", -5),
];

/// Tries what needs memory, and then what does not.
pub(crate) fn all(ledger: &Ledger<'_>, control: &Control, device: &Device) -> Option<()> {
    let queue = ledger.step("make a queue", || device.queue())?;
    let module = ledger.step("load a module", || steps::load(&queue, steps::VECTOR_OPS))?;
    let scale: Result<Kernel> = Ok(ledger.step("make a kernel", || module.kernel(steps::SCALE))?);
    let mut data = ledger.step("fill a buffer", || queue.upload(&[1i32, 2, 3]))?;
    let mut expected = [1, 2, 3];
    for (call, code) in NEED_MEMORY {
        control.arm(&format!("{call} 1+ {code}")).expect("a plan");
        // Small buffers are created with their contents; larger ones are filled afterwards.
        let tried = [
            queue.upload(&[1u8; 1000]).map(drop),
            queue.zeroed::<u8>(1000).map(drop),
            queue.upload(&[1u8; 5000]).map(drop),
            queue.zeroed::<u8>(5000).map(drop),
            DeviceArray::upload(&queue, &[1u8; 5000]).map(drop),
            HostArray::<u8>::zeroed(&queue, 5000).map(drop),
            SharedArray::<u8>::zeroed(&queue, 5000).map(drop),
        ];
        let named = format!("{call} failed with ");
        let errors: Vec<String> = tried
            .into_iter()
            .filter_map(Result::err)
            .map(|e| e.to_string())
            .collect();
        if errors.is_empty() || !errors.iter().all(|error| error.starts_with(&named)) {
            ledger.fail::<()>(format!("without memory for {call}: {errors:?}"));
        }
        // What needs none still works, and the device is as it was.
        expected = expected.map(|number| number * 2);
        scales(&scale, &mut data)
            .map_err(|error| ledger.fail::<()>(format!("{call}: {error}")))
            .ok();
        control.disarm();
        let now = ledger.step("read a buffer", || queue.download(&data))?;
        if steps::executes() && now != expected {
            ledger.fail::<()>(format!(
                "without memory for {call}: {now:?}, not {expected:?}"
            ));
        }
        ledger.step("use memory again", || usable(&queue))?;
    }
    Some(())
}

fn scales(kernel: &Result<Kernel>, data: &mut Buffer<i32>) -> Result<()> {
    let args = [Arg::write(data), Arg::scalar(2i32)];
    // SAFETY: one work-item for each element.
    unsafe { Launch::new(kernel, &["data", "factor"], args).launch(3)? }.wait()
}

fn usable(queue: &Queue) -> Result<()> {
    let array = DeviceArray::upload(queue, &[7u8; 1000])?;
    assert_eq!(queue.download(&array)?, [7; 1000]);
    let buffer = queue.upload(&[7u8; 1000])?;
    assert_eq!(queue.download(&buffer)?, [7; 1000]);
    Ok(())
}
