// SPDX-License-Identifier: MIT OR Apache-2.0
//! Native handles: what the drivers call the objects of this crate.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

/// A device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceHandle {
    /// A `cl_device_id` of OpenCL.
    OpenCl(*mut c_void),
    /// A `CUdevice` of CUDA.
    Cuda(i32),
}

/// A queue and its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueueHandle {
    /// Handles of OpenCL.
    OpenCl {
        /// The `cl_command_queue`.
        queue: *mut c_void,
        /// The `cl_context` of the queue.
        context: *mut c_void,
    },
    /// Handles of CUDA.
    Cuda {
        /// The `CUstream`.
        stream: *mut c_void,
        /// The `CUcontext` of the stream: the primary context of the device.
        context: *mut c_void,
    },
}

/// Memory on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryHandle {
    /// A buffer object of OpenCL.
    OpenCl {
        /// The `cl_mem`.
        memory: *mut c_void,
        /// The byte of the buffer object where the elements begin.
        offset: usize,
    },
    /// An address: unified shared memory of OpenCL, or a `CUdeviceptr` of CUDA.
    Address(u64),
}

/// A kernel and its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KernelHandle {
    /// Handles of OpenCL.
    OpenCl {
        /// The `cl_kernel`. Each launch through this crate sets its arguments.
        kernel: *mut c_void,
        /// The `cl_program`, for kernel objects of your own.
        program: *mut c_void,
    },
    /// Handles of CUDA.
    Cuda {
        /// The `CUfunction`.
        function: *mut c_void,
        /// The `CUmodule`.
        module: *mut c_void,
    },
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventHandle {
    /// A `cl_event` of OpenCL.
    OpenCl(*mut c_void),
    /// A `CUevent` of CUDA.
    Cuda(*mut c_void),
}

/// What keeps foreign memory alive. It is dropped when no command uses the memory any more.
pub(crate) type Owner = Box<dyn Any + Send + Sync>;

/// An event of the driver at the end of a command. Returned by [`Event::native`](crate::Event::native).
pub struct NativeEvent {
    handle: EventHandle,
    _keeps: Arc<dyn Send + Sync>,
}

impl NativeEvent {
    pub(crate) fn new(handle: EventHandle, keeps: Arc<dyn Send + Sync>) -> Self {
        let _keeps = keeps;
        Self { handle, _keeps }
    }

    /// Returns the handle, which is valid as long as this value.
    #[must_use]
    pub fn handle(&self) -> EventHandle {
        self.handle
    }
}

impl fmt::Debug for NativeEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NativeEvent({:?})", self.handle)
    }
}
