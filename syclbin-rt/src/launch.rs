//! Launches: a kernel with its arguments, checked before the driver sees them.

use std::marker::PhantomData;
use std::sync::Arc;

use syclbin::signature::spirv::ParameterType;

use crate::arg::Arg;
use crate::backend::opencl::Argument;
use crate::contract::{Broken, Given};
use crate::device::Device;
use crate::error::{Error, LaunchProblem, Result};
use crate::event::Event;
use crate::kernel::Kernel;
use crate::range::{Extent, NdRange};
use crate::work_group;

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
///
/// `R` is what it can be launched over: any [`NdRange`], or only a
/// [`GlobalRange`](crate::GlobalRange) where the kernel was compiled for one work-group size.
#[derive(Debug)]
#[must_use = "nothing runs before `launch`"]
pub struct Launch<'a, const N: usize, R = NdRange> {
    pub(crate) kernel: &'a Result<Kernel>,
    names: &'static [&'static str; N],
    args: [Arg<'a>; N],
    range: PhantomData<fn(R)>,
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
            range: PhantomData,
        }
    }

    /// The same launch, over an `R` only.
    ///
    /// ```no_run
    /// # use syclbin_rt::{Arg, Buffer, Event, GlobalRange, Kernel, Launch, Result};
    /// # fn coords(kernel: &Result<Kernel>, out: &mut Buffer<i32>) -> Result<Event> {
    /// let launch = Launch::new(kernel, &["out"], [Arg::write(out)]);
    /// let launch = launch.with_range::<GlobalRange<3>>();
    /// // SAFETY: `coords` writes an element for each work-item.
    /// unsafe { launch.launch([4, 8, 16]) }
    /// # }
    /// ```
    pub fn with_range<R: Into<NdRange>>(self) -> Launch<'a, N, R> {
        Launch {
            kernel: self.kernel,
            names: self.names,
            args: self.args,
            range: PhantomData,
        }
    }
}

impl<const N: usize, R: Into<NdRange>> Launch<'_, N, R> {
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
    /// - each argument has the type of the kernel's parameter ([`Arg`] has a table of them), with
    ///   elements and structs laid out like those the kernel sees;
    /// - pointers, also those inside of values, buffers and device globals, are of memory on this
    ///   device that lives until the kernel has finished; a [`DeviceArray`](crate::DeviceArray) sees
    ///   to that on its own queue;
    /// - work-group memory and accessors reach as far as the kernel does;
    /// - the kernel stays inside the buffers, with these arguments, over this range;
    /// - buffers passed with [`Arg::read`] are only read;
    /// - the work-items do not race with each other, and nothing on another queue uses a buffer
    ///   that this kernel writes, nor writes one that it reads, until it has finished.
    #[allow(
        unsafe_code,
        reason = "what a kernel does is beyond every check; the duty is the caller's"
    )]
    pub unsafe fn launch(self, range: impl Into<R>) -> Result<Event> {
        // SAFETY: the duties are the same.
        unsafe { self.launch_if(range.into().into(), |_| Ok(())) }
    }

    /// The same if `contract` holds, which is asked last, of arguments and a range that were
    /// checked.
    ///
    /// # Safety
    ///
    /// As of [`Launch::launch`], where `contract` holds.
    #[allow(unsafe_code, reason = "as of `launch`")]
    pub(crate) unsafe fn launch_if(
        &self,
        range: NdRange,
        contract: impl FnOnce(&Given<'_>) -> Result<(), Broken>,
    ) -> Result<Event> {
        let kernel = self.kernel.as_ref().map_err(Error::clone)?;
        let local = self
            .check(kernel)
            .and_then(|()| work_group::choose(&range, kernel.limits(), kernel.queue().device()))
            .and_then(|local| match contract(&Given::new(&self.args, &range)) {
                Ok(()) => Ok(local),
                Err(broken) => Err(LaunchProblem::contract(broken, self.names)),
            })
            .map_err(|problem| Error::launch(kernel.name(), problem))?;

        let values = self.passed(kernel).map(|(_, value)| value);
        let global = range.global_extent();
        let local = local.as_ref().map(Extent::driver_order);
        // SAFETY: `choose` gives as many dimensions as the range has; the rest is what the caller
        // vouches for.
        let launched = unsafe {
            kernel
                .raw()
                .launch(kernel.queue().raw(), values, global.driver_order(), local)
        };
        match launched {
            Ok(event) => Ok(Event::new(kernel, event)),
            Err((argument, failure)) => {
                let action = match argument.and_then(|position| self.passed(kernel).nth(position)) {
                    Some((index, _)) => {
                        let name = self.names[index];
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

    /// What the device gets, in its order: the index of the argument it comes from, and the value.
    pub(crate) fn passed(&self, kernel: &Kernel) -> impl Iterator<Item = (usize, Argument<'_>)> {
        let args = self.args.iter().enumerate();
        let lowered = args
            .flat_map(|(index, arg)| (0..arg.lowered()).map(move |part| (index, arg.raw(part))));
        // The compiler removes parts of arguments as well as whole ones.
        let numbered = lowered.enumerate();
        let passed = numbered.filter(|(number, _)| !kernel.is_eliminated(*number));
        passed.map(|(_, value)| value)
    }

    /// Checks number, kinds, sizes and whereabouts of the arguments.
    pub(crate) fn check(&self, kernel: &Kernel) -> Result<(), LaunchProblem> {
        // The mask of removed arguments may be longer than the list; only what stands in the list
        // counts.
        if self.passed(kernel).count() != kernel.raw().arguments() {
            return Err(LaunchProblem::ArgumentCount {
                takes: kernel.takes(),
                given: self.args.iter().map(Arg::lowered).sum(),
                names: self.names,
            });
        }
        for (index, (arg, name)) in self.args.iter().zip(self.names).enumerate() {
            if let Some((range, elements)) = arg.accessor_range() {
                range
                    .check(elements)
                    .map_err(|problem| LaunchProblem::Accessor {
                        index,
                        name,
                        problem,
                    })?;
            }
        }
        let context = kernel.queue().raw().context();
        let mut local = kernel.raw().local_memory();
        for (position, (index, value)) in self.passed(kernel).enumerate() {
            let name = self.names[index];
            if let Some(takes) = kernel.parameter(position) {
                check_kind(index, name, value, takes)?;
            }
            let lies_in = match value {
                Argument::Memory(memory) => memory.context(),
                Argument::Sampler(sampler) => sampler.context(),
                Argument::Local(bytes) => {
                    local = check_local(kernel, index, name, bytes, local)?;
                    continue;
                }
                Argument::Bytes(_) | Argument::Pointer(_) | Argument::Null => continue,
            };
            if !Arc::ptr_eq(lies_in, context) {
                return Err(LaunchProblem::ArgumentDevice {
                    index,
                    name,
                    buffer: Device::new(lies_in.device()).to_string(),
                    queue: kernel.queue().device().to_string(),
                });
            }
        }
        Ok(())
    }
}

/// Checks that the kernel takes such an argument at all: a driver reads the bytes of a number as a
/// handle where it expects one. The size of a value is checked by the driver.
fn check_kind(
    index: usize,
    name: &'static str,
    value: Argument<'_>,
    takes: &ParameterType,
) -> Result<(), LaunchProblem> {
    let fits = match (value, takes) {
        (Argument::Local(_), takes) => matches!(takes, ParameterType::LocalPointer { .. }),
        (Argument::Sampler(_), takes) => *takes == ParameterType::Sampler,
        // What is not known may be anything else.
        (_, ParameterType::Other) => true,
        (Argument::Memory(_) | Argument::Pointer(_), takes) => {
            matches!(takes, ParameterType::GlobalPointer { .. })
        }
        (Argument::Bytes(_), takes) => matches!(
            takes,
            ParameterType::Int { .. } | ParameterType::Float { .. } | ParameterType::ByValue { .. }
        ),
        // Free functions take a handler as a struct; lambdas and functors take the pointer in it.
        (Argument::Null, takes) => matches!(
            takes,
            ParameterType::ByValue { .. } | ParameterType::GlobalPointer { .. }
        ),
    };
    if fits {
        return Ok(());
    }
    Err(LaunchProblem::ArgumentKind {
        index,
        name,
        given: match value {
            Argument::Local(_) => "work-group memory",
            Argument::Memory(_) => "a buffer",
            Argument::Bytes(_) => "a value",
            Argument::Sampler(_) => "a sampler",
            Argument::Pointer(_) => "a pointer",
            Argument::Null => "a kernel handler",
        },
        takes: match takes {
            ParameterType::Int { .. } | ParameterType::Float { .. } => "a number",
            ParameterType::GlobalPointer { .. } => "a buffer",
            ParameterType::LocalPointer { .. } => "work-group memory",
            ParameterType::ByValue { .. } => "a struct by value",
            ParameterType::Sampler => "a sampler",
            ParameterType::Other => "something else",
        },
    })
}

/// How much work-group memory is in use with `bytes` more.
fn check_local(
    kernel: &Kernel,
    index: usize,
    name: &'static str,
    bytes: usize,
    used: u64,
) -> Result<u64, LaunchProblem> {
    let device = kernel.queue().device();
    let max = device.local_memory_bytes();
    let requested = bytes as u64;
    let total = used.saturating_add(requested);
    if total <= max {
        return Ok(total);
    }
    Err(LaunchProblem::LocalMemory {
        index,
        name,
        requested,
        used,
        max,
        device: device.to_string(),
    })
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
