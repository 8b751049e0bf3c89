//! Launches: a kernel with its arguments, checked before the driver sees them.

use std::sync::Arc;

use crate::arg::Arg;
use crate::device::Device;
use crate::error::{Error, LaunchProblem, Result};
use crate::event::Event;
use crate::kernel::Kernel;
use crate::range::{Extent, NdRange};
use crate::work_group::{self, Limits};

/// A kernel and its arguments, to be launched over a range.
///
/// Generated stubs return this; by hand it is made like this:
///
/// ```no_run
/// use syclbin_rt::{Arg, Device, Launch, Module};
///
/// let queue = Device::best()?.queue()?;
/// // SAFETY: a compiler made the file.
/// let module = unsafe { Module::load(&queue, &std::fs::read("fill.syclbin").unwrap())? };
/// let iota = module.kernel("iota");
/// let mut out = queue.zeroed::<f32>(16)?;
/// let args = [Arg::scalar(3.0f32), Arg::write(&mut out), Arg::scalar(16i32)];
/// // SAFETY: `iota` writes 16 elements.
/// unsafe { Launch::new(&iota, &["start", "out", "count"], args).launch(1)? };
/// # Ok::<(), syclbin_rt::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing runs before `launch`"]
pub struct Launch<'a, const N: usize> {
    kernel: &'a Result<Kernel>,
    names: &'static [&'static str; N],
    args: [Arg<'a>; N],
}

impl<'a, const N: usize> Launch<'a, N> {
    /// Names `kernel` and the `args` it gets. The `names` of the arguments are for messages.
    ///
    /// `kernel` may be an error: a kernel that does not fit the device only fails when it is
    /// launched, with a copy of that error.
    pub fn new(
        kernel: &'a Result<Kernel>,
        names: &'static [&'static str; N],
        args: [Arg<'a>; N],
    ) -> Self {
        Self {
            kernel,
            names,
            args,
        }
    }

    /// Puts the kernel into the queue of its module, and returns without waiting for it.
    ///
    /// It starts after everything that was put into that queue before. The path to the driver
    /// allocates nothing.
    ///
    /// # Errors
    ///
    /// When the kernel does not fit the device; when the number of arguments, the device of a
    /// buffer or the range cannot be right ([`LaunchProblem`]); and when the driver refuses.
    ///
    /// # Safety
    ///
    /// Rust sees nothing of what the kernel does. The caller vouches that
    ///
    /// - each argument has the type of the kernel's parameter: a buffer for a pointer, of elements
    ///   laid out like those the kernel sees, and a scalar of the same type for everything else;
    /// - the kernel stays inside the buffers, with these arguments, over this range;
    /// - buffers passed with [`Arg::read`] are only read;
    /// - the work-items do not race with each other, and nothing on another queue uses a buffer
    ///   that this kernel writes, nor writes one that it reads, until it has finished.
    #[allow(
        unsafe_code,
        reason = "what a kernel does is beyond every check; the duty is the caller's"
    )]
    pub unsafe fn launch(self, range: impl Into<NdRange>) -> Result<Event> {
        let kernel = self.kernel.as_ref().map_err(Error::clone)?;
        let range = range.into();
        let raw = kernel.raw();
        let limits = Limits {
            required: raw.required_local(),
            max_items: raw.max_local(),
            max_sizes: kernel.queue().device().facts().max_work_item_sizes,
        };
        let local = self
            .check(kernel)
            .and_then(|()| work_group::choose(&range, &limits, kernel.queue().device()))
            .map_err(|problem| Error::launch(kernel.name(), problem))?;

        let passed = self.args.iter().enumerate();
        let passed = passed.filter(|(index, _)| !kernel.is_eliminated(*index));
        let values = passed.map(|(_, arg)| arg.raw());
        let global = range.global_extent();
        let local = local.as_ref().map(Extent::driver_order);
        // SAFETY: `choose` gives as many dimensions as the range has; the rest is what the caller
        // vouches for.
        let launched =
            unsafe { raw.launch(kernel.queue().raw(), values, global.driver_order(), local) };
        match launched {
            Ok(event) => Ok(Event::new(kernel, event)),
            Err((argument, failure)) => {
                let action = match argument.and_then(|position| self.passed(kernel, position)) {
                    Some((index, name)) => {
                        format!(
                            "setting argument {index} ({name}) of kernel {}",
                            kernel.name()
                        )
                    }
                    None => format!("launching kernel {}", kernel.name()),
                };
                Err(Error::driver(failure, action, kernel.queue().device()))
            }
        }
    }

    /// Checks number and whereabouts of the arguments.
    fn check(&self, kernel: &Kernel) -> Result<(), LaunchProblem> {
        // The mask of removed arguments may be longer than the list; only what stands in the list
        // counts.
        let passed = (0..N).filter(|index| !kernel.is_eliminated(*index));
        if passed.count() != kernel.raw().arguments() {
            return Err(LaunchProblem::ArgumentCount {
                takes: kernel.takes(),
                given: N,
                names: self.names,
            });
        }
        let context = kernel.queue().raw().context();
        for (index, (arg, name)) in self.args.iter().zip(self.names).enumerate() {
            let Some(memory) = arg.memory() else { continue };
            if !Arc::ptr_eq(memory.context(), context) {
                return Err(LaunchProblem::ArgumentDevice {
                    index,
                    name,
                    buffer: Device::new(memory.context().device()).to_string(),
                    queue: kernel.queue().device().to_string(),
                });
            }
        }
        Ok(())
    }

    /// Index and name of the argument that the driver knows as number `position`.
    fn passed(&self, kernel: &Kernel, position: usize) -> Option<(usize, &'static str)> {
        let names = self.names.iter().copied().enumerate();
        let mut passed = names.filter(|(index, _)| !kernel.is_eliminated(*index));
        passed.nth(position)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::backend::opencl::Context;
    use crate::common;
    use crate::queue::Queue;

    /// A public queue shares the context of its device; this one stands for another device.
    fn foreign_queue(device: &Device) -> Queue {
        let context = Context::new(device.found()).unwrap();
        Queue::in_context(device, Arc::new(context)).unwrap()
    }

    #[test]
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    fn a_buffer_of_another_context_is_refused_by_name() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let kernel = common::kernel(&queue, "vector_ops.object.syclbin", "saxpy");
        let foreign = foreign_queue(queue.device()).upload(&[1.0f32])?;
        let mut y = queue.upload(&[1.0f32])?;
        let args = [
            Arg::scalar(1.0f32),
            Arg::read(&foreign),
            Arg::write(&mut y),
            Arg::scalar(1u32),
        ];
        // SAFETY: refused before the driver sees it.
        let launched = unsafe { Launch::new(&kernel, &["a", "x", "y", "n"], args).launch(1) };
        let device = queue.device();
        assert_eq!(
            launched.unwrap_err().to_string(),
            format!("kernel saxpy: argument 1 (x) is on {device}, queue is on {device}")
        );
        assert_eq!(queue.download(&y)?, [1.0]);
        Ok(())
    }

    #[test]
    fn a_copy_from_another_context_is_refused() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let foreign = foreign_queue(queue.device()).upload(&[1.0f32])?;
        let message = queue.download(&foreign).unwrap_err().to_string();
        assert!(message.starts_with("the buffer is on "), "{message}");
        Ok(())
    }
}
