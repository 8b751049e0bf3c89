// SPDX-License-Identifier: MIT OR Apache-2.0
//! What compilers recorded about the kernels in native code.

use super::kernel::qualified;
use super::report::NativeKernel;
use crate::ui::{ATTENTION, Shown, Size};

/// Returns the kernels in native code for GPUs.
pub(super) fn kernels(bytes: &[u8]) -> Vec<NativeKernel> {
    let kernels = syclbin_tools::native::kernels(bytes).into_iter();
    let kernels = kernels.map(|kernel| NativeKernel {
        symbol: kernel.symbol,
        device: kernel.device,
        simd_width: kernel.simd_width,
        registers: kernel.registers,
        spill_size: kernel.spill_size,
        private_size: kernel.private_size,
        local_size: kernel.local_size,
        barriers: kernel.barriers,
        stack_calls: kernel.stack_calls,
    });
    kernels.collect()
}

/// Describes a kernel on one line. Spills stand out, because they cost time.
pub(super) fn line(kernel: &NativeKernel) -> String {
    let mut facts = Vec::new();
    let device = kernel.device.as_deref();
    facts.extend(device.map(|device| format!("GPU {}", Shown(device))));
    facts.extend(kernel.simd_width.map(|width| format!("SIMD {width}")));
    facts.extend(kernel.registers.map(|count| format!("{count} registers")));
    let size = |size: Option<u64>| size.filter(|size| *size > 0).map(Size);
    facts.extend(
        size(kernel.spill_size).map(|size| format!("{ATTENTION}{size} of spills{ATTENTION:#}")),
    );
    facts.extend(size(kernel.private_size).map(|size| format!("{size} of private memory")));
    facts.extend(size(kernel.local_size).map(|size| format!("{size} of local memory")));
    facts.extend(match kernel.barriers {
        None | Some(0) => None,
        Some(1) => Some("1 barrier".to_owned()),
        Some(count) => Some(format!("{count} barriers")),
    });
    facts.extend((kernel.stack_calls == Some(true)).then(|| "calls by a stack".to_owned()));
    format!("{}: {}", qualified(&kernel.symbol), facts.join(", "))
}
