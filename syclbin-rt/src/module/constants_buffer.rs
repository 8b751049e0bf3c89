// SPDX-License-Identifier: MIT OR Apache-2.0
//! Emulated specialization constants: values in device memory, whose address kernels take as an argument.

use std::sync::Arc;

use crate::backend::failure::Failure;
use crate::backend::kernel::Argument;
use crate::backend::{Memory, UsmKind};
use crate::launch::parameter_kinds::Takes;
use crate::queue::Queue;

/// The values of a module's specialization constants in device memory. A clone is the same memory.
#[derive(Clone)]
pub(crate) struct ConstantsBuffer {
    address: [u8; 8],
    /// Keeps the values.
    _memory: Arc<Memory>,
}

impl ConstantsBuffer {
    /// Uploads `values`, which have the layout that the file describes.
    pub(crate) fn new(queue: &Queue, values: &[u8]) -> Result<Self, Failure> {
        let queue = queue.raw();
        let memory = queue.zeroed(Some(UsmKind::Device), values.len())?;
        queue.write(&memory, 0, values)?;
        let address = memory.address().unwrap_or_default();
        Ok(Self {
            address: address.to_ne_bytes(),
            _memory: memory,
        })
    }

    /// Returns the argument for a `kernel_handler`: the address, or a struct that consists of the address.
    pub(crate) fn argument(&self, takes: Option<Takes>) -> Argument<'_> {
        match takes {
            Some(Takes::Struct(_)) => Argument::Bytes(&self.address),
            _ => Argument::Pointer(u64::from_ne_bytes(self.address)),
        }
    }
}
