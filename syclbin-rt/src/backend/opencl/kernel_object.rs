// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel objects, which store a kernel's arguments and enqueue the kernel.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use opencl_sys::{
    CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
    CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL,
    CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL,
};
use opencl3::error_codes::CL_SUCCESS;
use opencl3::types::{CL_TRUE, cl_bool, cl_event, cl_kernel, cl_mem, cl_uint};

use super::*;
#[cfg(target_os = "linux")]
use crate::backend::{guard, order};

/// The value of an argument, in a form that is cheap to compare with the next value.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Current {
    /// The size of a small value in bytes, [`Memory::id`], or 0 if unknown.
    kind: u64,
    /// The bytes of a small value, or the address in unified shared memory.
    value: u64,
}

const UNKNOWN: Current = Current { kind: 0, value: 0 };

#[inline(always)]
fn small_value(bytes: &[u8]) -> Current {
    let value = match *bytes {
        [a] => u64::from(a),
        [a, b] => u16::from_ne_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => return UNKNOWN,
    };
    let kind = bytes.len() as u64;
    Current { kind, value }
}

const ENQUEUE: &str = "clEnqueueNDRangeKernel";

pub(crate) struct KernelObject {
    /// A copy of the device's pointer: between two launches, the driver evicts the original from the CPU cache.
    pub(crate) functions: &'static Functions,
    pub(crate) context: Arc<Context>,
    /// Arguments are set only through `&mut self` (see [`Raw`]).
    pub(crate) handle: Raw<cl_kernel>,
    /// The sub-buffers among the arguments, with their argument indices.
    parts: Vec<(usize, Memory)>,
    /// The current value of each argument. Empty if each launch must set all arguments.
    current: Vec<Current>,
    pub(crate) program: Arc<Program>,
    /// What the arguments refer to. Used only by launches that look for races.
    #[cfg(target_os = "linux")]
    pub(crate) reach: order::Reach,
}

impl KernelObject {
    pub(crate) fn new(program: &Arc<Program>, symbol: &CStr) -> Result<Self> {
        let functions = program.context.functions;
        // SAFETY: the program is built, and the name is NUL-terminated; the call writes only the status.
        let handle =
            unsafe { create!(functions => clCreateKernel(program.handle.0, symbol.as_ptr())) }?;
        // From here on, `Drop` releases the handle.
        let mut object = Self {
            functions,
            context: Arc::clone(&program.context),
            handle: Raw(handle),
            parts: Vec::new(),
            current: Vec::new(),
            program: Arc::clone(program),
            #[cfg(target_os = "linux")]
            reach: order::Reach::default(),
        };
        // The driver cannot detect pointers that are stored in variables or passed inside values. So declare that the
        // kernel may use any unified shared memory.
        if program.context.device.extensions.usm.is_some()
            && let Some(set) = functions.clSetKernelExecInfo
        {
            for name in [
                CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
                CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL,
                CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL,
            ] {
                let (size, value) = bytes_of::<cl_bool>(&CL_TRUE);
                // SAFETY: the device supports the extension that defines these names; the value is a `cl_bool`, which
                // the driver copies before it returns.
                let status = unsafe { (set.pass())(handle, name, size, value) };
                check("clSetKernelExecInfo", status)?;
            }
        }
        object.set_hidden_arguments()?;
        Ok(object)
    }

    /// Makes launches skip unchanged values among the first `arguments` arguments.
    pub(crate) fn reuse_arguments(&mut self, arguments: usize) {
        self.current = vec![UNKNOWN; arguments];
    }

    /// Returns the handle for use by other code, which may set arguments. From then on, launches set all arguments.
    pub(crate) fn share_handle(&mut self) -> cl_kernel {
        self.current = Vec::new();
        self.handle.0
    }

    #[inline(always)]
    fn is_current(&self, index: usize, value: Current) -> bool {
        value.kind != 0 && self.current.get(index) == Some(&value)
    }

    /// Records the value of an argument after an attempt to set it.
    #[inline(always)]
    fn note(&mut self, index: usize, value: Current, set: Result<()>) -> Result<()> {
        if let Some(current) = self.current.get_mut(index) {
            *current = if set.is_ok() { value } else { UNKNOWN };
        }
        set
    }

    /// Returns the memory and its buffer object if the region covers an entire buffer of this context.
    #[inline(always)]
    fn object_of<'p>(&self, region: &'p Region) -> Option<(&'p Memory, &'p cl_mem)> {
        let memory = region.memory.raw.opencl().ok()?;
        match &memory.handle {
            Handle::Object(object)
                if region.bytes() >= memory.size && Arc::ptr_eq(&memory.context, &self.context) =>
            {
                Some((memory, object))
            }
            _ => None,
        }
    }
}

/// A kernel object on a thread that has passed the gate. Passing once per launch rather than once per argument saves
/// one to two percent of the launch time.
pub(crate) struct GuardedObject<'a> {
    pub(crate) object: &'a mut KernelObject,
    pub(crate) guard: &'a CallGuard,
}

impl<'a> Arguments<'a> for GuardedObject<'_> {
    // Inlined into the launch loop for the most common kinds of arguments.
    #[inline(always)]
    unsafe fn set(&mut self, index: usize, value: Argument<'a>) -> Result<()> {
        let (size, pointer, current) = match value {
            Argument::Bytes(bytes) => (bytes.len(), bytes.as_ptr().cast(), small_value(bytes)),
            Argument::Memory(region, _) => match self.object.object_of(region) {
                Some((memory, object)) => {
                    let ((size, pointer), kind) = (bytes_of(object), memory.id);
                    (size, pointer, Current { kind, value: 0 })
                }
                // SAFETY: the caller guarantees this.
                None => return unsafe { self.set_any(index, value) },
            },
            // SAFETY: the caller guarantees this.
            _ => return unsafe { self.set_any(index, value) },
        };
        if self.object.is_current(index, current) {
            return Ok(());
        }
        // SAFETY: the pointer is valid for `size` bytes; the caller guarantees the rest.
        unsafe { self.give(index, size, pointer, current) }
    }
}

impl GuardedObject<'_> {
    /// Sets an argument other than bytes or an entire buffer object, as [`Arguments::set`] does.
    ///
    /// # Safety
    ///
    /// The requirements of [`Arguments::set`] apply.
    #[inline(never)]
    unsafe fn set_any(&mut self, index: usize, value: Argument<'_>) -> Result<()> {
        let (kernel, context) = (self.object.handle.0, &self.object.context);
        let number = cl_uint::try_from(index).unwrap_or(cl_uint::MAX);
        let set_address = |address: *const c_void| {
            let usm = context.usm("clSetKernelArgMemPointerINTEL")?;
            // SAFETY: `&mut self` ensures that nothing else uses the object. The code that launches the kernel
            // guarantees that accesses through the address are sound.
            unsafe { call!(usm => clSetKernelArgMemPointerINTEL(kernel, number, address)) }
        };
        // Declared here, because `pointer` may point to this variable.
        let handle;
        let (size, pointer) = match value {
            Argument::Memory(region, _) => {
                region.memory.check(context.address(), 0, 0)?;
                let memory = region.memory.raw.opencl()?;
                handle = match memory.handle {
                    Handle::Address { pointer, .. } => {
                        let address = pointer.wrapping_byte_add(region.offset);
                        let (kind, value) = (memory.id, address as u64);
                        let current = Current { kind, value };
                        if self.object.is_current(index, current) {
                            return Ok(());
                        }
                        let set = set_address(address);
                        return self.object.note(index, current, set);
                    }
                    // An empty sub-buffer cannot exist, so the kernel gets the whole buffer.
                    Handle::Object(object) if region.bytes() == 0 => object,
                    // SAFETY: the caller guarantees this.
                    Handle::Object(_) => return unsafe { self.set_part(index, region) },
                };
                bytes_of(&handle)
            }
            // A null pointer works even without unified shared memory: drivers read its bytes as a struct or as a null
            // buffer handle, depending on the parameter.
            Argument::Pointer(0) | Argument::Null => bytes_of(&NULL),
            Argument::Pointer(address) => {
                let address = usize::try_from(address).map_err(|_| Failure::UNSUITABLE)?;
                let set = set_address(std::ptr::without_provenance(address));
                return self.object.note(index, UNKNOWN, set);
            }
            // SYCL programs may request 0 bytes, but OpenCL rejects that (OpenCL 3.0, clSetKernelArg).
            Argument::Local(bytes) => (bytes.max(1), std::ptr::null()),
            Argument::Sampler(sampler) if Arc::ptr_eq(&sampler.context, context) => {
                bytes_of(&sampler.handle.0)
            }
            Argument::Image(image, _) if Arc::ptr_eq(&image.context, context) => {
                bytes_of(&image.handle.0)
            }
            // `set` handles bytes.
            Argument::Sampler(_) | Argument::Image(..) | Argument::Bytes(_) => {
                return Err(Failure::FOREIGN);
            }
        };
        // SAFETY: the pointer is valid for `size` bytes, or null for work-group memory. The caller guarantees that the
        // value matches the parameter.
        unsafe { self.give(index, size, pointer, UNKNOWN) }
    }

    /// Sets argument `index` to the `size` bytes at `pointer`, and records `current` as its value.
    ///
    /// # Safety
    ///
    /// `pointer` must point to `size` bytes, or be null for work-group memory, and must match the parameter's kind.
    #[inline(always)]
    unsafe fn give(
        &mut self,
        index: usize,
        size: usize,
        pointer: *const c_void,
        current: Current,
    ) -> Result<()> {
        let number = cl_uint::try_from(index).unwrap_or(cl_uint::MAX);
        let set_argument = self.object.functions.clSetKernelArg.within(self.guard);
        // SAFETY: `&mut self` ensures that nothing else uses the object; the driver copies the bytes before it returns
        // (OpenCL 3.0, clSetKernelArg); the caller guarantees the rest.
        let status = unsafe { set_argument(self.object.handle.0, number, size, pointer) };
        let set = check("clSetKernelArg", status);
        self.object.note(index, current, set)?;
        if !self.object.parts.is_empty() {
            self.object.parts.retain(|(of, _)| *of != index);
        }
        Ok(())
    }

    /// Sets argument `index` to a new sub-buffer, which the object keeps alive.
    ///
    /// # Safety
    ///
    /// The requirements of [`Arguments::set`] apply.
    #[cold]
    unsafe fn set_part(&mut self, index: usize, region: &Region) -> Result<()> {
        let memory = region.memory.raw.opencl()?;
        let (part, object) = memory.part(region.offset, region.bytes())?;
        let (size, pointer) = bytes_of(&object);
        // SAFETY: the caller guarantees this; the sub-buffer lives until the argument is set again.
        unsafe { self.give(index, size, pointer, UNKNOWN) }?;
        self.object.parts.push((index, part));
        Ok(())
    }
}

impl KernelObject {
    /// Releases the sub-buffers of a launch. The next launch sets these arguments again.
    pub(crate) fn drop_parts(&mut self) {
        if !self.parts.is_empty() {
            self.parts.clear();
        }
    }

    /// Enqueues the kernel as [`AnyKernelObject::enqueue`] does, on a thread that has passed the gate.
    ///
    /// # Safety
    ///
    /// The requirements of [`AnyKernelObject::enqueue`] apply.
    #[inline(always)]
    pub(crate) unsafe fn enqueue_within(
        &self,
        guard: &CallGuard,
        queue: &Queue,
        grid: &AnyRange,
        after: &WaitList<'_>,
    ) -> Result<Event> {
        let mut event = std::ptr::null_mut();
        // SAFETY: the pointer to `event` is valid for writing; the caller guarantees the rest.
        unsafe { self.put(guard, queue, grid, after, &raw mut event) }?;
        // SAFETY: the driver returned this reference, which nothing else owns.
        unsafe { Event::enqueued(self.functions, ENQUEUE, event, CL_SUCCESS) }
    }

    /// Enqueues the kernel without an event, as one of several commands before a flush.
    ///
    /// # Safety
    ///
    /// The requirements of [`AnyKernelObject::enqueue`] apply.
    #[inline]
    pub(crate) unsafe fn enqueue_without_event(
        &self,
        queue: &AnyQueue,
        grid: &AnyRange,
        after: &WaitList<'_>,
    ) -> Result<()> {
        let (queue, guard) = (queue.opencl()?, CallGuard::new());
        // SAFETY: a null event is allowed; the caller guarantees the rest.
        unsafe { self.put(&guard, queue, grid, after, std::ptr::null_mut()) }?;
        queue.flush_between();
        Ok(())
    }

    /// Enqueues the kernel, and writes its event to `event` unless `event` is null.
    ///
    /// # Safety
    ///
    /// The requirements of [`AnyKernelObject::enqueue`] apply; `event` must be null or valid for writing.
    #[inline(always)]
    unsafe fn put(
        &self,
        guard: &CallGuard,
        queue: &Queue,
        grid: &AnyRange,
        after: &WaitList<'_>,
        event: *mut cl_event,
    ) -> Result<()> {
        same_context(&self.context, &queue.context)?;
        let handles;
        let (count, list) = if after.is_empty() {
            (0, std::ptr::null())
        } else {
            handles = Handles::new(after)?;
            handles.raw()
        };
        let dimensions = cl_uint::try_from(grid.global().len()).unwrap_or(cl_uint::MAX);
        // SAFETY: the kernel and the queue share a context. Every slice has `dimensions` elements, and the list has
        // `count`. Before the driver returns, it retains the kernel and the memory of its arguments, and copies the
        // values. The caller guarantees that running the kernel is sound.
        let enqueue = |grid: &AnyRange, event| unsafe {
            (self.functions.clEnqueueNDRangeKernel.within(guard))(
                queue.handle.0,
                self.handle.0,
                dimensions,
                grid.offset().map_or(std::ptr::null(), <[usize]>::as_ptr),
                grid.global().as_ptr(),
                grid.local().map_or(std::ptr::null(), <[usize]>::as_ptr),
                count,
                list,
                event,
            )
        };
        #[cfg(target_os = "linux")]
        if queue.guarded {
            // SAFETY: the caller guarantees this.
            return unsafe { self.put_watched(queue, grid, event, enqueue) };
        }
        check(ENQUEUE, enqueue(grid, event))
    }

    /// Enqueues a kernel on guarded buffers by calling `enqueue`, which writes `event`, and waits for the kernel. Looks
    /// for races by running the kernel a second time, if the program can reverse the order of its work-groups.
    ///
    /// # Safety
    ///
    /// `event` must be null or valid.
    #[cfg(target_os = "linux")]
    #[cold]
    unsafe fn put_watched(
        &self,
        queue: &Queue,
        grid: &AnyRange,
        event: *mut cl_event,
        enqueue: impl Fn(&AnyRange, *mut cl_event) -> i32,
    ) -> Result<()> {
        let watched = guard::watch(|| {
            let contents = self.program.reversible.then(|| {
                let _ = self.context.finish_all();
                order::Contents::new(&self.reach, &self.program.memory.lock().ok()?)
            });
            check(ENQUEUE, enqueue(grid, event))?;
            // The event or the next wait reports a failure of the kernel.
            let finished = queue.finish();
            let Some(mut contents) = contents.flatten().filter(|_| finished.is_ok()) else {
                return Ok(None);
            };
            // The second run starts from the same contents as the first.
            contents.exchange();
            let again = check(
                ENQUEUE,
                enqueue(&order::reversed(*grid), std::ptr::null_mut()),
            );
            let again = again.and_then(|()| queue.finish());
            // Restores the results of the first run, even if the second run failed.
            let race = contents.exchange();
            again.map(|()| race)
        });
        // SAFETY: the caller guarantees this.
        if let (Err(_), Some(event)) = (&watched, unsafe { event.as_mut() }) {
            // SAFETY: the event is null or a reference that the driver returned; the caller ignores it after a failure.
            drop(unsafe { Event::enqueued(self.functions, ENQUEUE, *event, CL_SUCCESS) });
        }
        watched
    }
}

impl DriverKernelObject for KernelObject {
    fn suggested_local(&self, queue: &AnyQueue, global: &[usize]) -> Result<Option<[usize; 3]>> {
        let queue = queue.opencl()?;
        same_context(&self.context, &queue.context)?;
        let Some(suggestions) = &self.context.device.extensions.suggestions else {
            return Ok(None);
        };
        let (offset, mut local) = ([0; 3], [1; 3]);
        let dimensions = global.len().min(local.len());
        let dimensions = cl_uint::try_from(dimensions).unwrap_or(cl_uint::MAX);
        // SAFETY: the queue and the kernel share a context and are alive. All arrays have at least `dimensions`
        // elements. A null offset would be equivalent, but rusticl (25.0) rejects it.
        unsafe {
            let (offset, global, local) = (offset.as_ptr(), global.as_ptr(), local.as_mut_ptr());
            call!(suggestions => clGetKernelSuggestedLocalWorkSizeKHR(
                queue.handle.0, self.handle.0, dimensions, offset, global, local
            ))
        }?;
        Ok(Some(local))
    }
}

impl Drop for KernelObject {
    fn drop(&mut self) {
        // SAFETY: the handle is owned; enqueued launches hold references of their own.
        unsafe { (self.functions.clReleaseKernel.pass())(self.handle.0) };
    }
}

/// Returns the size and address of a value, as `clSetKernelArg` expects them.
#[inline(always)]
pub(crate) fn bytes_of<T>(value: &T) -> (usize, *const c_void) {
    (size_of_val(value), std::ptr::from_ref(value).cast())
}

/// The bytes of a null pointer.
static NULL: u64 = 0;

#[cfg(test)]
mod tests {
    use std::ptr::NonNull;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use opencl3::types::{cl_command_queue, cl_int};

    use super::*;
    use crate::{Arg, Launch, common, device};

    /// The number of arguments that the driver was given.
    static GIVEN: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn count_argument(
        _kernel: cl_kernel,
        _index: cl_uint,
        _size: usize,
        _value: *const c_void,
    ) -> cl_int {
        GIVEN.fetch_add(1, Ordering::SeqCst);
        CL_SUCCESS
    }

    #[test]
    fn unchanged_arguments_are_given_once() -> crate::Result<()> {
        let Some(queue) = common::opencl_queue() else {
            return Ok(());
        };
        let device = queue.raw().opencl().unwrap().context.device;
        let replace = |name: &str| {
            let address = NonNull::new(count_argument as *mut c_void);
            address.filter(|_| name == "clSetKernelArg")
        };
        // SAFETY: the function has the type of the one that it replaces.
        let device = unsafe { device.with_functions(replace) };
        let queue = device::Device::new(device).queue()?;
        let kernel = common::kernel(&queue, "vector_ops.object.syclbin", "saxpy")?;
        let AnyKernelObject::OpenCl(mut object) = kernel.raw().object().unwrap() else {
            panic!("not a kernel of OpenCL");
        };
        let (ones, twos) = ([1u8; 8], [2u8; 8]);
        let [x, y] = [queue.upload(&[1.0f32; 8])?, queue.upload(&[2.0f32; 8])?];
        let mut given = |value| {
            let before = GIVEN.load(Ordering::SeqCst);
            let (object, guard) = (&mut object, &CallGuard::new());
            // SAFETY: the replaced function takes every value, and the kernel is not enqueued.
            unsafe { GuardedObject { object, guard }.set(1, value) }.unwrap();
            GIVEN.load(Ordering::SeqCst) - before
        };
        for size in [1, 2, 4, 8] {
            let [one, two] = [&ones, &twos].map(|bytes| Argument::Bytes(&bytes[..size]));
            assert_eq!([one, one, two, two, one].map(&mut given), [1, 0, 1, 0, 1]);
        }
        // A whole buffer is passed as itself.
        let [x, y] = [&x, &y].map(|buffer| Argument::Memory(buffer.region(), false));
        assert_eq!([x, x, y, y, x].map(&mut given), [1, 0, 1, 0, 1]);
        Ok(())
    }

    static DEVICE: OnceLock<&DriverDevice> = OnceLock::new();
    /// The number of memory objects that the driver was told to release.
    static RELEASED: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn release_memory(object: cl_mem) -> cl_int {
        RELEASED.fetch_add(1, Ordering::SeqCst);
        let device = DEVICE.get().expect("the test has set it");
        // SAFETY: the argument is that of the caller.
        unsafe { (device.functions.clReleaseMemObject.pass())(object) }
    }

    unsafe extern "C" fn ignore_argument(
        _kernel: cl_kernel,
        _index: cl_uint,
        _size: usize,
        _value: *const c_void,
    ) -> cl_int {
        CL_SUCCESS
    }

    #[test]
    fn unused_parts_of_buffers_are_released() -> crate::Result<()> {
        let Some(queue) = common::opencl_queue() else {
            return Ok(());
        };
        let device = queue.raw().opencl().unwrap().context.device;
        let device = *DEVICE.get_or_init(|| device);
        let replace = |name: &str| match name {
            "clSetKernelArg" => NonNull::new(ignore_argument as *mut c_void),
            "clReleaseMemObject" => NonNull::new(release_memory as *mut c_void),
            _ => None,
        };
        // SAFETY: the functions have the types of those that they replace.
        let device = unsafe { device.with_functions(replace) };
        let queue = device::Device::new(device).queue()?;
        let kernel = common::kernel(&queue, "vector_ops.object.syclbin", "saxpy")?;
        let AnyKernelObject::OpenCl(mut object) = kernel.raw().object().unwrap() else {
            panic!("not a kernel of OpenCL");
        };
        let buffer = queue.upload(&[1.0f32; 8])?;
        let part = buffer.slice(..4)?;
        let released = || RELEASED.swap(0, Ordering::SeqCst);
        let set = |object: &mut KernelObject, index, region| {
            let (value, guard) = (Argument::Memory(region, false), &CallGuard::new());
            // SAFETY: the replaced function takes every value, and the kernel is not enqueued.
            unsafe { GuardedObject { object, guard }.set(index, value) }.unwrap();
            released()
        };
        released();
        // Another value of the same argument replaces a part.
        assert_eq!(set(&mut object, 1, part.region()), 0);
        assert_eq!(set(&mut object, 2, part.region()), 0);
        assert_eq!(set(&mut object, 1, part.region()), 1);
        assert_eq!(set(&mut object, 1, buffer.region()), 1);
        // After a launch, none is used.
        assert_eq!(set(&mut object, 1, part.region()), 0);
        object.drop_parts();
        assert_eq!(released(), 2);
        object.drop_parts();
        assert_eq!(released(), 0);
        Ok(())
    }

    /// The work-group size that the driver suggests.
    static SUGGESTED: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn suggest(
        _queue: cl_command_queue,
        _kernel: cl_kernel,
        _dimensions: cl_uint,
        _offset: *const usize,
        _global: *const usize,
        local: *mut usize,
    ) -> cl_int {
        // SAFETY: there is at least one dimension.
        unsafe { local.write(SUGGESTED.load(Ordering::SeqCst)) };
        CL_SUCCESS
    }

    #[test]
    fn launches_get_suggestions_of_the_driver() -> crate::Result<()> {
        let Some(queue) = common::opencl_queue() else {
            return Ok(());
        };
        let device = queue.raw().opencl().unwrap().context.device;
        let device = device.changed(|device| {
            device.extensions.suggestions = Some(Suggestions {
                clGetKernelSuggestedLocalWorkSizeKHR: Gated::new(suggest),
            });
        });
        let queue = device::Device::new(device).queue()?;
        let kernel = common::kernel(&queue, "functor.object.syclbin", "_ZTS6AddOne");
        let mut data = queue.zeroed::<i32>(12)?;
        let args = [Arg::write(&mut data), Arg::scalar(3i32)];
        let launch = Launch::new(&kernel, &["data", "amount"], args);
        let suggested = |size| {
            SUGGESTED.store(size, Ordering::SeqCst);
            launch.suggested_local_size(12)
        };
        assert_eq!(suggested(3)?, [3]);
        assert_eq!(suggested(2)?, [2]);
        // No launch takes a size that does not divide the range.
        assert_ne!(suggested(5)?, [5]);
        Ok(())
    }
}
