// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions that only tell a host how to find variables. Some drivers refuse them.

use crate::signature::spirv::parse::DECORATIONS_HOST_ACCESS;
use crate::spirv::words::{Instruction, op, string};

/// Capabilities of Intel's extensions for variables. They change nothing for kernels.
const CAPABILITIES: [u32; 3] = [6146, 6187, 6189];
/// Their other decorations: `InitModeINTEL` and `ImplementInRegisterMapINTEL`, in both numberings.
const DECORATIONS: [u32; 4] = [6148, 6149, 6190, 6191];
const EXTENSIONS: [&str; 3] = [
    "SPV_INTEL_global_variable_decorations",
    "SPV_INTEL_global_variable_host_access",
    "SPV_INTEL_global_variable_fpga_decorations",
];

/// Returns whether an instruction only tells a host about variables.
pub(crate) fn only_tells_the_host(instruction: &Instruction<'_>) -> bool {
    let operand = |index: usize| instruction.operands.get(index);
    match instruction.opcode {
        op::CAPABILITY => operand(0).is_some_and(|number| CAPABILITIES.contains(number)),
        op::EXTENSION => EXTENSIONS.contains(&&*string(instruction.operands).0),
        op::DECORATE => operand(1).is_some_and(|number| {
            DECORATIONS_HOST_ACCESS.contains(number) || DECORATIONS.contains(number)
        }),
        _ => false,
    }
}
