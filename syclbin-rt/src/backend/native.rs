// SPDX-License-Identifier: MIT OR Apache-2.0
//! Native driver handles for this crate's objects.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

/// A native device handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceHandle {
    /// An OpenCL `cl_device_id`.
    OpenCl(*mut c_void),
    /// A CUDA `CUdevice`.
    Cuda(i32),
}

/// The native handles of a queue and its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueueHandle {
    /// OpenCL handles.
    OpenCl {
        /// The `cl_command_queue`.
        queue: *mut c_void,
        /// The queue's `cl_context`.
        context: *mut c_void,
    },
    /// CUDA handles.
    Cuda {
        /// The `CUstream`.
        stream: *mut c_void,
        /// The stream's `CUcontext`, which is the device's primary context.
        context: *mut c_void,
    },
}

/// The native handle or the address of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryHandle {
    /// An OpenCL buffer object.
    OpenCl {
        /// The `cl_mem` handle.
        memory: *mut c_void,
        /// The byte offset of the elements within the buffer object.
        offset: usize,
    },
    /// An address: OpenCL unified shared memory, or a CUDA `CUdeviceptr`.
    Address(u64),
}

/// The native handles of a kernel and its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KernelHandle {
    /// OpenCL handles.
    OpenCl {
        /// The `cl_kernel`. Every launch through this crate overwrites the kernel's arguments.
        kernel: *mut c_void,
        /// The `cl_program`, from which you can create separate kernel objects.
        program: *mut c_void,
    },
    /// CUDA handles.
    Cuda {
        /// The `CUfunction`.
        function: *mut c_void,
        /// The `CUmodule`.
        module: *mut c_void,
    },
}

/// A native event handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventHandle {
    /// An OpenCL `cl_event`.
    OpenCl(*mut c_void),
    /// A CUDA `CUevent`.
    Cuda(*mut c_void),
}

/// A value that keeps foreign memory alive. It is dropped once no command uses the memory.
pub(crate) type Owner = Box<dyn Any + Send + Sync>;

/// A driver event that completes when a command finishes, or later. Returned by
/// [`Event::native`](crate::Event::native).
pub struct NativeEvent {
    handle: EventHandle,
    _keeps: Arc<dyn Send + Sync>,
}

impl NativeEvent {
    pub(crate) fn new(handle: EventHandle, _keeps: Arc<dyn Send + Sync>) -> Self {
        Self { handle, _keeps }
    }

    /// Returns the handle, which is valid while this value is alive.
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
