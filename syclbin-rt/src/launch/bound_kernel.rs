// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels with fixed arguments: the building blocks of prepared launches and recordings.

use std::sync::Arc;

use crate::backend::kernel::Argument;
use crate::backend::{Image, KernelObject, MemoryUse, Sampler};
use crate::error::launch_problem::LaunchProblem;
use crate::error::{Error, Result};
use crate::launch::invocation::{Contract, Invocation};
use crate::launch::range::{AnyRange, Grid};
use crate::module::kernel::Kernel;

/// A separate kernel object whose arguments are set, with everything that it keeps alive.
pub(crate) struct BoundKernel {
    pub(crate) kernel: Kernel,
    pub(crate) object: KernelObject,
    /// The value of each argument, in the order of the device.
    values: Vec<Kept>,
    pub(crate) grid: Grid,
    /// Whether all arguments are set.
    complete: bool,
}

/// The stored value of an argument.
enum Kept {
    /// No value yet, or a value that the driver refused.
    Unset,
    Bytes(Vec<u8>),
    Memory {
        memory_use: MemoryUse,
        offset: usize,
        bytes: usize,
        written: bool,
    },
    Local(usize),
    Sampler(Arc<Sampler>),
    Image(Arc<Image>),
    Pointer(u64),
    Null,
}

impl BoundKernel {
    /// Binds `call` over `range`, if it is right and `contract` holds.
    pub(crate) fn new(
        call: &Invocation<'_>,
        range: &AnyRange,
        contract: Option<Contract>,
    ) -> Result<Self> {
        let (kernel, grid) = (call.kernel, checked(call, range, contract)?);
        let object = kernel.raw().object().map_err(|failure| {
            let action = format!("making kernel {}", kernel.name());
            Error::driver(failure, action, kernel.queue().device())
        })?;
        let mut fixed = Self {
            kernel: kernel.clone(),
            object,
            values: call.passed().map(|_| Kept::Unset).collect(),
            grid,
            complete: false,
        };
        fixed.set(call)?;
        Ok(fixed)
    }

    /// Changes to `call` over `range`, if that is right and of the same kernel, and `contract` holds. Only the
    /// arguments that differ are set.
    ///
    /// # Errors
    ///
    /// The kernel is unchanged, unless the driver refuses an argument: then it is not
    /// [complete](BoundKernel::check_complete).
    pub(crate) fn change(
        &mut self,
        call: &Invocation<'_>,
        range: &AnyRange,
        contract: Option<Contract>,
    ) -> Result<()> {
        let (kernel, grid) = (call.kernel, checked(call, range, contract)?);
        if !kernel.is(&self.kernel) {
            let problem = LaunchProblem::OtherKernel {
                prepared: self.kernel.name().to_owned(),
            };
            return Err(Error::launch(kernel.name(), problem));
        }
        self.set(call)?;
        self.grid = grid;
        Ok(())
    }

    #[allow(
        unsafe_code,
        reason = "kinds of arguments are checked before; where the code does not state them, the author of the \
                  launch or of its contract guarantees them"
    )]
    fn set(&mut self, call: &Invocation<'_>) -> Result<()> {
        self.complete = false;
        let Self { object, values, .. } = self;
        let passed = call.passed().enumerate();
        for ((position, (_, value)), kept) in passed.zip(values) {
            if kept.is(value) {
                continue;
            }
            // The old value is released only when the driver has the new value.
            let old = std::mem::replace(kept, Kept::Unset);
            // SAFETY: `checked` has seen that the kernel takes such an argument, as far as its code
            // tells; of the rest only unsafe functions and contracts get here.
            let set = unsafe { object.set(position, value) };
            set.map_err(|failure| call.refused(position, failure))?;
            *kept = Kept::new(value);
            drop(old);
        }
        self.complete = true;
        Ok(())
    }

    /// # Errors
    ///
    /// When an argument is not set, because the driver refused it.
    pub(crate) fn check_complete(&self) -> Result<()> {
        if self.complete {
            return Ok(());
        }
        Err(Error::launch(self.kernel.name(), LaunchProblem::Incomplete))
    }
}

fn checked(call: &Invocation<'_>, range: &AnyRange, contract: Option<Contract>) -> Result<Grid> {
    let grid = call.checked(range, contract)?;
    if call.after.is_empty() {
        return Ok(grid);
    }
    Err(Error::launch(
        call.kernel.name(),
        LaunchProblem::PreparedAfterEvents,
    ))
}

impl Kept {
    fn new(value: Argument<'_>) -> Self {
        match value {
            Argument::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
            Argument::Memory(region, written) => Self::Memory {
                memory_use: MemoryUse::new(&region.memory, written),
                offset: region.offset,
                bytes: region.bytes(),
                written,
            },
            Argument::Local(bytes) => Self::Local(bytes),
            Argument::Sampler(sampler) => Self::Sampler(Arc::clone(sampler)),
            Argument::Image(image, _) => Self::Image(Arc::clone(image)),
            Argument::Pointer(address) => Self::Pointer(address),
            Argument::Null => Self::Null,
        }
    }

    fn is(&self, value: Argument<'_>) -> bool {
        match (self, value) {
            (Self::Bytes(kept), Argument::Bytes(bytes)) => kept == bytes,
            (
                Self::Memory {
                    memory_use,
                    offset,
                    bytes,
                    written,
                },
                Argument::Memory(region, writes),
            ) => {
                Arc::ptr_eq(memory_use.memory(), &region.memory)
                    && (*offset, *bytes, *written) == (region.offset, region.bytes(), writes)
            }
            (Self::Local(kept), Argument::Local(bytes)) => *kept == bytes,
            (Self::Sampler(kept), Argument::Sampler(sampler)) => Arc::ptr_eq(kept, sampler),
            (Self::Image(kept), Argument::Image(image, _)) => Arc::ptr_eq(kept, image),
            (Self::Pointer(kept), Argument::Pointer(address)) => *kept == address,
            (Self::Null, Argument::Null) => true,
            _ => false,
        }
    }
}
