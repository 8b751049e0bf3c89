// SPDX-License-Identifier: MIT OR Apache-2.0
//! Views of the host: memory that it has an address of, or a copy.

use std::ffi::c_void;

use crate::backend::cuda::memory::Memory;
use crate::backend::cuda::queue::Queue;
use crate::backend::failure::{Failure, NoView};

/// A host view of memory until it is ended.
pub(crate) enum HostView {
    /// The memory itself.
    Address(*mut u8),
    /// Memory that only the device reaches is copied, and what was written is copied back.
    Copy {
        units: Vec<Unit>,
        /// Where they are.
        pointer: *mut Unit,
        offset: usize,
        size: usize,
        writing: bool,
    },
}

/// The unit of copies, so that they are aligned for nearly all types.
#[repr(C, align(64))]
#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
pub(crate) struct Unit([u8; 64]);

impl HostView {
    /// Creates a view of `size` bytes of memory from byte `offset` on.
    pub(crate) fn new(
        queue: &Queue,
        memory: &Memory,
        offset: usize,
        size: usize,
        writing: bool,
    ) -> Result<Self, NoView> {
        if let Some(pointer) = memory.host_pointer() {
            // SAFETY: the region is inside of the memory.
            return Ok(Self::Address(unsafe { pointer.byte_add(offset) }));
        }
        if memory.is_out_of_reach() {
            return Err(NoView::OutOfReach);
        }
        let mut units = vec![Unit([0; 64]); size.div_ceil(size_of::<Unit>())];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut units);
        let bytes = bytes.get_mut(..size).unwrap_or_default();
        let read = queue.read(memory, offset, bytes);
        read.map_err(NoView::Failed)?;
        Ok(Self::Copy {
            pointer: units.as_mut_ptr(),
            units,
            offset,
            size,
            writing,
        })
    }

    /// Returns the view's address for the host.
    pub(crate) fn pointer(&self) -> *mut c_void {
        match self {
            Self::Address(pointer) => pointer.cast(),
            Self::Copy { pointer, .. } => pointer.cast(),
        }
    }

    /// Gives it back.
    pub(crate) fn end(self, queue: &Queue, memory: &Memory) -> Result<(), Failure> {
        match self {
            Self::Copy {
                units,
                offset,
                size,
                writing: true,
                ..
            } => {
                let bytes: &[u8] = bytemuck::cast_slice(&units);
                queue.write(memory, offset, bytes.get(..size).unwrap_or(bytes))
            }
            Self::Address(_) | Self::Copy { .. } => Ok(()),
        }
    }
}
