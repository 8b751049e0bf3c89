// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel objects, which store a kernel's arguments and enqueue the kernel.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Zeroable;

use super::*;

pub(crate) const LAUNCH: &str = "cuLaunchKernel";

/// The maximum number of arguments that a launch passes without allocating.
const FEW: usize = 48;

/// The size in bytes of the work-group memory that every kernel may use without opting in to more.
const DEFAULT_LOCAL_BYTES: usize = 48 << 10;

/// A kernel's handles and launch limits.
#[derive(Clone, Copy)]
pub(crate) struct Handles {
    pub(crate) plain: Raw<CUfunction>,
    /// The variant of the kernel that also takes the range offset, if the program contains one.
    pub(crate) offset_variant: Option<Raw<CUfunction>>,
    pub(crate) bounds: Bounds,
    /// The size in bytes of the work-group memory that the kernel itself declares.
    pub(crate) fixed_local: usize,
}

impl Handles {
    /// Divides a launch range into work-groups, and returns the function to launch and the offset to pass to it.
    ///
    /// # Errors
    ///
    /// Fails if the range or the offset exceeds the limits of the device.
    #[inline(always)]
    pub(crate) fn divide(&self, grid: &AnyRange) -> Result<(Blocks, CUfunction, Option<[u32; 3]>)> {
        let local = grid.local.as_ref().map(Extent::padded);
        let blocks = blocks(grid.global.padded(), local, &self.bounds)
            .ok_or(Failure::Rejected(Rejection::TooManyGroups))?;
        // Only a kernel with an offset variant reads the offset.
        Ok(match (self.offset_variant, grid.offset()) {
            (Some(variant), Some(offset)) => (blocks, variant.0, Some(small(offset)?)),
            _ => (blocks, self.plain.0, None),
        })
    }
}

pub(crate) struct KernelObject {
    pub(crate) context: Arc<Context>,
    pub(crate) handles: Handles,
    values: Values,
    /// Whether the kernel has already opted in to more work-group memory than the default.
    opted_in: AtomicBool,
    _program: Arc<Program>,
}

impl DriverKernelObject for KernelObject {}

impl<'a> Arguments<'a> for KernelObject {
    // Inlined into the launch loop for the most common kinds of arguments.
    #[inline(always)]
    unsafe fn set(&mut self, index: usize, value: Argument<'a>) -> Result<()> {
        match value {
            Argument::Bytes(bytes) => self.values.set(index, bytes),
            Argument::Memory(region, _) => match region.memory.raw.cuda() {
                Ok(memory) if Arc::ptr_eq(&memory.context, &self.context) => {
                    let address = memory.pointer + region.offset as u64;
                    self.values.set(index, &address.to_le_bytes())
                }
                _ => Err(Failure::FOREIGN),
            },
            _ => self.set_any(index, value),
        }
    }
}

impl KernelObject {
    /// Enqueues the kernel as [`AnyKernelObject::enqueue`] does.
    ///
    /// # Safety
    ///
    /// The requirements of [`AnyKernelObject::enqueue`] apply.
    #[inline]
    pub(crate) unsafe fn enqueue(
        &self,
        queue: &AnyQueue,
        grid: &AnyRange,
        after: &WaitList<'_>,
    ) -> Result<AnyEvent> {
        let queue = queue.cuda()?;
        // SAFETY: `submit` makes the queue's context current and passes the queue's stream; the caller guarantees the
        // rest.
        let put = |launch: &_| queue.submit(LAUNCH, after, unsafe { self.command(launch, grid) });
        self.prepare(queue, grid, put)
    }

    /// Returns the driver call that enqueues `launch`, which was prepared for `grid`.
    ///
    /// # Safety
    ///
    /// The kernel's context must be current during the call and own the stream. Running the kernel on its arguments
    /// must be sound.
    #[inline(always)]
    pub(crate) unsafe fn command(
        &self,
        launch: &CUDA_KERNEL_NODE_PARAMS,
        grid: &AnyRange,
    ) -> impl FnOnce(&'static Functions, CUstream) -> Result<()> {
        move |functions, stream| {
            if grid.root_sync {
                // SAFETY: as below.
                return unsafe {
                    call!(entered functions, self.context => cuLaunchCooperativeKernel(
                        launch.func, launch.gridDimX, launch.gridDimY, launch.gridDimZ, launch.blockDimX,
                        launch.blockDimY, launch.blockDimZ, launch.sharedMemBytes, stream, launch.kernelParams
                    ))
                };
            }
            // SAFETY: the kernel is alive. There is one pointer per parameter, valid for the parameter's size, and the
            // driver copies the bytes before it returns. The caller guarantees the rest.
            unsafe {
                call!(entered functions, self.context => cuLaunchKernel(
                    launch.func, launch.gridDimX, launch.gridDimY, launch.gridDimZ,
                    launch.blockDimX, launch.blockDimY, launch.blockDimZ,
                    launch.sharedMemBytes, stream, launch.kernelParams, launch.extra
                ))
            }
        }
    }

    /// Sets an argument of a less common kind, as [`Arguments::set`] does.
    #[inline(never)]
    fn set_any(&mut self, index: usize, value: Argument<'_>) -> Result<()> {
        match value {
            Argument::Pointer(address) => self.values.set(index, &address.to_le_bytes()),
            Argument::Local(bytes) => self.values.set_local(index, bytes),
            // A pointer, or a struct that contains only a pointer.
            Argument::Null => self.values.bytes_of(index).map(|bytes| bytes.fill(0)),
            // `set` handles bytes and memory. This backend supports neither samplers nor images.
            _ => Err(Failure::FOREIGN),
        }
    }

    pub(crate) fn new(program: &Arc<Program>, handles: Handles, parameters: Vec<Slot>) -> Self {
        Self {
            context: Arc::clone(&program.context),
            handles,
            values: Values::new(parameters),
            opted_in: AtomicBool::new(false),
            _program: Arc::clone(program),
        }
    }

    /// Calls `use_it` with the launch in the driver's form: the kernel, the range, and one pointer per parameter.
    ///
    /// # Errors
    ///
    /// Fails if `queue` belongs to another context, or if the range or the arguments exceed the limits of the device.
    #[inline(always)]
    pub(crate) fn prepare<T>(
        &self,
        queue: &Queue,
        grid: &AnyRange,
        use_it: impl FnOnce(&CUDA_KERNEL_NODE_PARAMS) -> Result<T>,
    ) -> Result<T> {
        same_context(&self.context, &queue.stream.context)?;
        let (blocks, function, offset) = self.handles.divide(grid)?;
        let local_bytes = self.values.local_bytes;
        if local_bytes > 0
            && local_bytes.saturating_add(self.handles.fixed_local) > DEFAULT_LOCAL_BYTES
        {
            self.opt_in_to_max_local()?;
        }
        let last = offset.as_ref().map(|offset| offset.as_ptr().cast::<u8>());
        let count = self.values.parameters.len() + usize::from(last.is_some());
        let pointers = self.values.pointers().chain(last);
        let (mut few, mut many);
        let list: &mut [*mut c_void] = if count <= FEW {
            few = [std::ptr::null_mut(); FEW];
            &mut few[..count]
        } else {
            many = vec![std::ptr::null_mut(); count];
            &mut many
        };
        for (place, pointer) in list.iter_mut().zip(pointers) {
            *place = pointer.cast_mut().cast();
        }
        let ([x, y, z], [items_x, items_y, items_z]) = (blocks.groups, blocks.items);
        use_it(&CUDA_KERNEL_NODE_PARAMS {
            func: function,
            gridDimX: x,
            gridDimY: y,
            gridDimZ: z,
            blockDimX: items_x,
            blockDimY: items_y,
            blockDimZ: items_z,
            sharedMemBytes: c_uint::try_from(local_bytes).map_err(|_| REFUSED)?,
            kernelParams: list.as_mut_ptr(),
            ..Zeroable::zeroed()
        })
    }

    /// Opts the kernel in to all of the device's work-group memory, once.
    #[cold]
    pub(crate) fn opt_in_to_max_local(&self) -> Result<()> {
        if self.opted_in.load(Ordering::Relaxed) {
            return Ok(());
        }
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let most = self.context.device.facts.local_memory_bytes;
        let most = most.saturating_sub(self.handles.fixed_local as u64);
        let most = c_int::try_from(most).unwrap_or(c_int::MAX);
        for function in std::iter::once(self.handles.plain).chain(self.handles.offset_variant) {
            // SAFETY: the kernel is alive. The request is always for the same size, so it never lowers the limit
            // below the needs of another launch.
            unsafe { call!(self.context => cuFuncSetAttribute(function.0, attribute, most)) }?;
        }
        self.opted_in.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// Converts an offset to the 32-bit numbers that kernels expect.
fn small(offset: &[usize]) -> Result<[u32; 3]> {
    let mut small = [0; 3];
    for (small, offset) in small.iter_mut().zip(offset) {
        *small =
            u32::try_from(*offset).map_err(|_| Failure::Rejected(Rejection::OffsetTooLarge))?;
    }
    Ok(small)
}

/// The largest alignment that work-group memory needs: SYCL's largest type is a vector of 16 doubles.
const LARGEST_ALIGNMENT: usize = 128;

struct Values {
    parameters: Vec<Slot>,
    bytes: Vec<u8>,
    /// The size of each parameter's work-group memory in bytes; `None` if the parameter is not a local accessor.
    local: Vec<Option<usize>>,
    /// The size in bytes of the scratch memory, which precedes the memory of all parameters.
    scratch: usize,
    /// The total size of the work-group memory in bytes.
    local_bytes: usize,
}

impl Values {
    /// Creates values for `parameters`, with all bytes zeroed.
    fn new(parameters: Vec<Slot>) -> Self {
        let end = |parameter: &Slot| parameter.offset.saturating_add(parameter.size);
        let size = parameters.iter().map(end).max().unwrap_or_default();
        Self {
            bytes: vec![0; size],
            local: vec![None; parameters.len()],
            parameters,
            scratch: 0,
            local_bytes: 0,
        }
    }

    /// Sets the bytes of parameter `index`.
    ///
    /// # Errors
    ///
    /// Fails if the parameter does not exist or its size differs.
    #[inline]
    fn set(&mut self, index: usize, value: &[u8]) -> Result<()> {
        let bytes = self.bytes_of(index)?;
        if bytes.len() != value.len() {
            return Err(REFUSED);
        }
        bytes.copy_from_slice(value);
        Ok(())
    }

    /// Returns the bytes of parameter `index`, and removes the parameter's work-group memory.
    ///
    /// # Errors
    ///
    /// Fails if the parameter does not exist.
    #[inline]
    fn bytes_of(&mut self, index: usize) -> Result<&mut [u8]> {
        let Slot { offset, size } = *self.parameters.get(index).ok_or(REFUSED)?;
        if self.local[index].take().is_some() {
            self.lay_out();
        }
        Ok(&mut self.bytes[offset..offset + size])
    }

    /// Sets the work-group memory size for parameter `index`. The index after the last parameter stands for the
    /// kernel's scratch memory, which has no parameter.
    fn set_local(&mut self, index: usize, bytes: usize) -> Result<()> {
        match self.parameters.get(index) {
            Some(Slot { size: 4 | 8, .. }) => self.local[index] = Some(bytes),
            None if index == self.parameters.len() => self.scratch = bytes,
            _ => return Err(REFUSED),
        }
        self.lay_out();
        Ok(())
    }

    /// Assigns offsets to the work-group memory: the scratch memory comes first, then the parameters in order.
    fn lay_out(&mut self) {
        let mut end = self.scratch;
        for (parameter, local) in self.parameters.iter().zip(&self.local) {
            let Some(bytes) = *local else {
                continue;
            };
            // The element type is unknown, but its alignment is a power of two no larger than the total size. So
            // aligning to the next power of two suffices.
            let alignment = match bytes {
                0 => 1,
                bytes => LARGEST_ALIGNMENT.min(bytes.checked_next_power_of_two().unwrap_or(1)),
            };
            let offset = end.next_multiple_of(alignment);
            end = offset.saturating_add(bytes);
            let place = parameter.offset..parameter.offset + parameter.size;
            // Four bytes suffice for an offset in the work-group memory of any device.
            let offset = (offset as u64).to_le_bytes();
            self.bytes[place].copy_from_slice(&offset[..parameter.size]);
        }
        self.local_bytes = end;
    }

    /// Returns the address of each argument, in parameter order. Each address is valid for reads of the parameter's
    /// size while `self` is borrowed.
    #[inline]
    fn pointers(&self) -> impl Iterator<Item = *const u8> {
        let bytes = &self.bytes;
        let parameters = self.parameters.iter();
        parameters.map(move |parameter| bytes[parameter.offset..].as_ptr())
    }
}

/// The failure for an argument that matches no parameter, for example because its size differs.
const REFUSED: Failure = invalid(LAUNCH);

#[cfg(test)]
mod tests {
    use super::*;

    /// A pointer, two local accessors, and an `int`.
    fn values() -> Values {
        let parameter = |offset, size| Slot { offset, size };
        Values::new(vec![
            parameter(0, 8),
            parameter(8, 4),
            parameter(16, 8),
            parameter(24, 4),
        ])
    }

    #[test]
    fn arguments_lie_where_the_kernel_has_them() {
        let mut values = values();
        values
            .set(0, &0x1122_3344_5566_7788u64.to_le_bytes())
            .unwrap();
        values.set(3, &7i32.to_le_bytes()).unwrap();
        assert_eq!(values.bytes[..8], 0x1122_3344_5566_7788u64.to_le_bytes());
        assert_eq!(values.bytes[24..], 7i32.to_le_bytes());
        values.bytes_of(0).unwrap().fill(0);
        assert_eq!(values.bytes[..8], [0; 8]);
        let base = values.bytes.as_ptr();
        let places: Vec<usize> = values
            .pointers()
            .map(|pointer| pointer.addr() - base.addr())
            .collect();
        assert_eq!(places, [0, 8, 16, 24]);
    }

    #[test]
    fn a_value_of_another_size_is_refused() {
        let mut values = values();
        assert_eq!(values.set(0, &[0; 4]), Err(REFUSED));
        assert_eq!(values.set(3, &[0; 8]), Err(REFUSED));
        assert_eq!(values.set(4, &[0; 8]), Err(REFUSED));
        assert_eq!(values.bytes_of(4), Err(REFUSED));
        assert_eq!(values.set_local(5, 16), Err(REFUSED));
        assert_eq!(Values::new(Vec::new()).set(0, &[]), Err(REFUSED));
    }

    #[test]
    fn local_memory_is_aligned_after_scratch_memory() {
        let mut values = values();
        let offsets = |values: &Values| {
            let first = u32::from_le_bytes(values.bytes[8..12].try_into().unwrap());
            let second = u64::from_le_bytes(values.bytes[16..24].try_into().unwrap());
            (first, second)
        };
        values.set_local(1, 12).unwrap();
        values.set_local(2, 1000).unwrap();
        assert_eq!((offsets(&values), values.local_bytes), ((0, 128), 1128));
        values.set_local(4, 20).unwrap();
        assert_eq!((offsets(&values), values.local_bytes), ((32, 128), 1128));
        values.set_local(1, 0).unwrap();
        assert_eq!((offsets(&values), values.local_bytes), ((20, 128), 1128));
        // The argument at index 2 is no longer a local accessor.
        values.set(2, &[0; 8]).unwrap();
        assert_eq!(values.local_bytes, 20);
    }
}
