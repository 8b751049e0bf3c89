// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shares memory with other libraries through `DLPack`: wraps their tensors in buffers, and buffers in tensors,
//! without copying.
//!
//! The tensor types come from the crate [`dlpk`]. Buffers are dense: elements are in C (row-major) order, without gaps.
//!
//! | memory | tensor device | data pointer |
//! |---|---|---|
//! | buffer on CUDA | `kDLCUDA`, device number | address |
//! | buffer on OpenCL | `kDLOpenCL`, 0 | `cl_mem` |
//! | buffer over unified shared memory on OpenCL | `kDLOneAPI`, 0 | address |
//!
//! On CUDA, buffers can also wrap `kDLCUDAManaged` and `kDLCUDAHost` tensors.
#![allow(unsafe_code, reason = "tensors are foreign pointers")]

use std::ffi::c_void;
use std::ptr::NonNull;

use bytemuck::Pod;
use dlpk::sys::{DLDataType, DLManagedTensorVersioned, DLTensor};
use dlpk::{DLDevice, DLDeviceType, DLPackTensor, DLPackVersion, GetDLPackDataType};

pub use dlpk;

use crate::error::{Error, Result};
use crate::memory::buffer::Buffer;
use crate::memory::copy::elements;
use crate::native::{DeviceHandle, MemoryHandle};
use crate::queue::Queue;

/// A tensor that owns foreign memory and may be dropped on any thread.
struct Owner(#[allow(dead_code, reason = "stored only to be dropped")] DLPackTensor);

// SAFETY: the caller of `buffer_from_dlpack` guarantees that the tensor may be dropped on any thread, which is its only
// use.
unsafe impl Send for Owner {}
// SAFETY: as for `Send`.
unsafe impl Sync for Owner {}

struct Exported<T: Pod> {
    tensor: DLManagedTensorVersioned,
    shape: Vec<i64>,
    strides: Vec<i64>,
    _buffer: Buffer<T>,
}

/// Sharing memory through `DLPack`.
impl Queue {
    /// Wraps a tensor's memory in a buffer without copying, and returns the buffer and the tensor's shape. The buffer
    /// owns the tensor.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) if the element types differ, if the `DLPack` type does not have the size
    /// of `T`, if `T` is zero-sized, or if the tensor is on another device, has gaps, or is read-only. Also fails for
    /// the same reasons as [`Queue::buffer_from_native`].
    ///
    /// # Safety
    ///
    /// - The requirements of [`Queue::buffer_from_native`] apply. A `cl_mem` must belong to the context of this queue.
    /// - It must be sound to drop the tensor on any thread.
    /// - All work that writes the tensor must have finished, or this queue must wait for it.
    pub unsafe fn buffer_from_dlpack<T: Pod + GetDLPackDataType>(
        &self,
        tensor: DLPackTensor,
    ) -> Result<(Buffer<T>, Vec<usize>)> {
        let (handle, shape) = checked::<T>(self, &tensor).map_err(unshareable)?;
        let len = elements(&shape).unwrap_or(usize::MAX);
        // SAFETY: guaranteed by the caller; the length comes from the tensor.
        let buffer = unsafe { self.buffer_from_native(handle, len, Owner(tensor)) }?;
        Ok((buffer, shape))
    }
}

/// Sharing memory through `DLPack`.
impl<T: Pod + GetDLPackDataType> Buffer<T> {
    /// Converts the buffer into a tensor of `shape`, without copying. The tensor owns the buffer.
    ///
    /// Waits for all queues on the device, so that the tensor can be read immediately. A library must wait for all work
    /// that uses the tensor before it drops it.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) if `shape` and the buffer have different numbers of elements, if the
    /// `DLPack` type does not have the size of `T`, or if `T` is zero-sized. Returns [`ErrorKind::MemoryInUse`](crate::ErrorKind::MemoryInUse) if a
    /// prepared launch, a recording or a forgotten view ([`Queue::map`]) uses the buffer. Also fails if a command on
    /// the device failed. An error drops the buffer.
    pub fn into_dlpack(self, shape: &[usize]) -> Result<DLPackTensor> {
        let signed: Option<Vec<i64>> = shape.iter().map(|&n| i64::try_from(n).ok()).collect();
        let signed = signed.unwrap_or_default();
        let device = self.device();
        if elements(shape) != Some(self.len()) || signed.len() != shape.len() {
            let len = self.len();
            let problem = format!("a tensor of shape {shape:?} does not have {len} elements");
            return Err(unshareable(problem));
        }
        let dtype = data_type::<T>().map_err(unshareable)?;
        let memory = &self.region().memory;
        if memory.prepared.some(true) {
            return Err(Error::in_use());
        }
        if memory.mapped.some(true) {
            return Err(Error::mapped());
        }
        let finished = self.region().memory.context().finish_all();
        finished.map_err(device.failed("waiting for all queues"))?;
        let (device_type, device_id, data, offset) = match (self.native(), device.native()) {
            (MemoryHandle::OpenCl { memory, offset }, _) => {
                (DLDeviceType::kDLOpenCL, 0, memory, offset as u64)
            }
            (MemoryHandle::Address(address), DeviceHandle::Cuda(number)) => {
                (DLDeviceType::kDLCUDA, number, pointer(address), 0)
            }
            (MemoryHandle::Address(address), DeviceHandle::OpenCl(_)) => {
                (DLDeviceType::kDLOneAPI, 0, pointer(address), 0)
            }
        };
        let strides = dense(&signed);
        let exported = Box::new(Exported {
            tensor: DLManagedTensorVersioned {
                version: DLPackVersion::current(),
                manager_ctx: std::ptr::null_mut(),
                deleter: Some(release::<T>),
                flags: 0,
                dl_tensor: DLTensor {
                    data,
                    device: DLDevice {
                        device_type,
                        device_id,
                    },
                    ndim: i32::try_from(signed.len()).unwrap_or(i32::MAX),
                    dtype,
                    shape: std::ptr::null_mut(),
                    strides: std::ptr::null_mut(),
                    byte_offset: offset,
                },
            },
            shape: signed,
            strides,
            _buffer: self,
        });
        let raw = Box::into_raw(exported);
        // SAFETY: the box was just leaked, and `release` reclaims it. Nothing reallocates its vectors before that.
        unsafe {
            (*raw).tensor.manager_ctx = raw.cast();
            (*raw).tensor.dl_tensor.shape = (*raw).shape.as_mut_ptr();
            (*raw).tensor.dl_tensor.strides = (*raw).strides.as_mut_ptr();
            let tensor = NonNull::new_unchecked(&raw mut (*raw).tensor);
            Ok(DLPackTensor::from_raw(tensor))
        }
    }
}

/// Returns the `DLPack` type of `T`. Any crate can implement the trait, so fails with the reason if the type does not
/// have the size of `T`.
fn data_type<T: Pod + GetDLPackDataType>() -> Result<DLDataType, String> {
    let found = T::get_dlpack_data_type();
    let bits = usize::from(found.bits) * usize::from(found.lanes);
    if bits == 0 || bits != size_of::<T>().saturating_mul(8) {
        let (name, bytes) = (std::any::type_name::<T>(), size_of::<T>());
        return Err(format!(
            "elements of DLPack type {found} have {bits} bits, but {name} has {bytes} bytes"
        ));
    }
    Ok(found)
}

fn unshareable(problem: String) -> Error {
    Error::invalid(format_args!("cannot share a tensor's memory: {problem}"))
}

/// Drops an exported tensor.
///
/// # Safety
///
/// `tensor` must have been created by `into_dlpack` for the same `T`, and must not be used afterwards.
unsafe extern "C" fn release<T: Pod>(tensor: *mut DLManagedTensorVersioned) {
    // SAFETY: the caller guarantees that the tensor's context is the leaked box.
    drop(unsafe { Box::from_raw((*tensor).manager_ctx.cast::<Exported<T>>()) });
}

/// Returns the memory handle and the shape of a tensor. Fails with the reason if no buffer on `queue` can share the
/// tensor's memory.
fn checked<T: Pod + GetDLPackDataType>(
    queue: &Queue,
    tensor: &DLPackTensor,
) -> Result<(MemoryHandle, Vec<usize>), String> {
    let expected = data_type::<T>()?;
    if tensor.dtype() != expected {
        let found = tensor.dtype();
        return Err(format!("its elements are {found}, not {expected}"));
    }
    if tensor.is_read_only() {
        return Err("it is read-only; copy it first".to_owned());
    }
    let raw = tensor.as_ref();
    let data = raw.raw.data;
    let offset = raw.byte_offset();
    let address = || MemoryHandle::Address((data.expose_provenance() + offset) as u64);
    let device = tensor.device();
    let handle = match (device.device_type, queue.device().native()) {
        (DLDeviceType::kDLOpenCL, DeviceHandle::OpenCl(_)) => MemoryHandle::OpenCl {
            memory: data,
            offset,
        },
        (DLDeviceType::kDLCUDA, DeviceHandle::Cuda(number)) if number == device.device_id => {
            address()
        }
        (DLDeviceType::kDLOneAPI, DeviceHandle::OpenCl(_))
        | (DLDeviceType::kDLCUDAManaged | DLDeviceType::kDLCUDAHost, DeviceHandle::Cuda(_)) => {
            address()
        }
        _ => {
            let ours = queue.device();
            return Err(format!(
                "it is on device {device}, but the queue is on {ours}"
            ));
        }
    };
    let shape = tensor.shape();
    let sizes: Option<Vec<usize>> = shape.iter().map(|&n| usize::try_from(n).ok()).collect();
    let sizes = sizes.filter(|sizes| elements(sizes).is_some());
    let sizes = sizes.ok_or_else(|| {
        format!("its shape {shape:?} has a negative size, or more elements than the address space can hold")
    })?;
    if let Some(strides) = tensor.strides()
        && elements(&sizes) != Some(0)
        && !is_dense(shape, strides)
    {
        return Err(format!(
            "it is not dense: strides {strides:?} do not match shape {shape:?}"
        ));
    }
    Ok((handle, sizes))
}

fn pointer(address: u64) -> *mut c_void {
    // Device addresses fit into host pointers (unified addressing).
    std::ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or_default())
}

/// Returns the strides of a dense tensor in C (row-major) order.
fn dense(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; shape.len()];
    for index in (1..shape.len()).rev() {
        strides[index - 1] = strides[index].saturating_mul(shape[index]);
    }
    strides
}

/// Returns whether the strides describe a dense tensor. The stride of a dimension of size 1 does not matter.
fn is_dense(shape: &[i64], strides: &[i64]) -> bool {
    let mut all = shape.iter().zip(strides).zip(dense(shape));
    all.all(|((&n, &stride), dense)| n == 1 || stride == dense)
}
