// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels: functions of a loaded module, and the driver's answers about them.

use std::ffi::CString;
use std::fmt;
use std::sync::Arc;

use syclbin::__private::mangled::{self, KERNEL_PREFIX};
use syclbin::metadata::{Dimensions, IdRange, KernelSizes};

use crate::backend::kernel::Slot;
use crate::backend::{self, Program};
use crate::device::Device;
use crate::error::{Error, ErrorKind, Result};
use crate::launch::parameter_kinds::{Kinds, Takes};
use crate::launch::range::Extent;
use crate::launch::work_group::Limits;
use crate::load::requirements;
use crate::module::constants_buffer::ConstantsBuffer;
use crate::module::kernel_attributes::KernelAttributes;
use crate::queue::Queue;
use crate::queue::asserts::Asserting;

/// A kernel of a [`Module`](crate::Module), ready to be launched. A clone is the same kernel.
///
/// Several threads may launch a kernel at the same time. OpenCL does not let two threads set arguments of the
/// same kernel object at once, so each launch waits while another launch of the kernel is enqueued.
#[derive(Clone)]
pub struct Kernel(Arc<Inner>);

struct Inner {
    symbol: Symbol,
    /// The kernel's name in messages.
    name: String,
    checked: Checked,
    /// In SYCL's order.
    required_local: Option<Vec<usize>>,
    queue: Queue,
    raw: backend::Kernel,
    /// Set if kernels of its program have asserts.
    asserting: Option<Arc<Asserting>>,
}

/// The data that each launch reads. It is contiguous because the driver evicts much of the processor's cache
/// between two launches.
struct Checked {
    /// The allowed kinds of each device argument, without the removed arguments.
    kinds: Vec<Kinds>,
    /// `true` for each argument that the compiler removed; empty if it removed none.
    eliminated: Vec<bool>,
    arguments: usize,
    /// The argument for its `kernel_handler`, where the code reads specialization constants from memory.
    constants: Option<ConstantsBuffer>,
    local_memory: u64,
    /// The driver's queue of `queue`.
    raw_queue: backend::Queue,
    limits: Limits,
}

/// A kernel, as the file describes it.
#[derive(Clone, Default)]
pub(crate) struct Symbol {
    pub(crate) name: String,
    /// `true` for each argument that the compiler removed.
    pub(crate) eliminated: Vec<bool>,
    /// The types of the parameters, without the removed parameters; empty where the code does not contain them.
    pub(crate) parameters: Vec<Takes>,
    /// Whether the last argument is scratch memory that is not a parameter of the code, as in PTX.
    pub(crate) scratch: bool,
    /// Whether the last argument is scratch memory, which may be a parameter of the code.
    pub(crate) last_is_local: bool,
    /// The positions of its parameters, where the code contains them.
    pub(crate) slots: Option<Vec<Slot>>,
    pub(crate) sizes: KernelSizes,
    /// The size of the work-item ids that the code counts with.
    pub(crate) id_range: Option<IdRange>,
    /// Why it does not run, although the driver builds it.
    pub(crate) unfit: Option<String>,
}

impl Kernel {
    pub(crate) fn new(
        queue: &Queue,
        program: &Program,
        symbol: &Symbol,
        constants: Option<&ConstantsBuffer>,
    ) -> Result<Self> {
        if let Some(reason) = &symbol.unfit {
            return Err(unavailable(symbol, queue.device(), reason.clone()));
        }
        // A name with a NUL inside cannot be a symbol of a program.
        let name = CString::new(symbol.name.as_str()).map_err(|_| ErrorKind::NoKernel {
            name: symbol.name.clone(),
            available: program.kernel_names().unwrap_or_default(),
        })?;
        let raw = Arc::clone(program).kernel(name, symbol.slots.clone());
        let mut raw = raw.map_err(|failure| {
            let action = format!("making kernel {}", symbol.name);
            Error::driver(failure, action, queue.device())
        })?;
        let bounds = raw.bounds();
        let sizes = &symbol.sizes;
        let driver_order = |xyz: [u32; 3]| xyz.map(|size| size as usize);
        let declared = sizes.required.map(|size| driver_order(size.xyz()));
        let max_linear = sizes.maximum_linear.map_or(usize::MAX, |max| max as usize);
        if let Some(size) = sizes.required_sub_group {
            check_sub_group(symbol, size as usize, queue.device())?;
        }
        let limits = Limits {
            max_range: max_range(symbol.id_range),
            dimensions: sizes.dimensions.map(Dimensions::get),
            required: bounds.required_local.or(declared),
            max_declared: sizes.maximum.map(|size| driver_order(size.xyz())),
            max_items: bounds.max_local.min(max_linear),
            max_sizes: queue.device().facts().max_work_item_sizes,
        };
        raw.restrict(limits.max_items, limits.max_declared);
        let required_local = limits.required.map(|required| {
            // The driver fills up to three dimensions; the file knows how many there were.
            let dimensions = match (sizes.dimensions, sizes.required) {
                (Some(dimensions), _) => dimensions.get(),
                (None, Some(_)) => required.len(),
                (None, None) => Extent::used(required),
            };
            Extent::from_driver(required, dimensions).sycl_order()
        });
        Ok(Self(Arc::new(Inner {
            symbol: symbol.clone(),
            name: mangled::parse(&symbol.name)
                .map_or_else(|| symbol.name.clone(), |name| name.qualified()),
            checked: Checked {
                kinds: symbol.parameters.iter().copied().map(Kinds::of).collect(),
                eliminated: if symbol.eliminated.contains(&true) {
                    symbol.eliminated.clone()
                } else {
                    Vec::new()
                },
                arguments: bounds.arguments + usize::from(symbol.scratch),
                constants: constants.cloned(),
                local_memory: bounds.local_memory,
                raw_queue: queue.raw().clone(),
                limits,
            },
            required_local,
            queue: queue.clone(),
            raw,
            asserting: queue.asserts_of(program),
        })))
    }

    /// Returns the kernel's symbol, such as `__sycl_kernel_saxpy`.
    #[must_use]
    pub fn symbol(&self) -> &str {
        &self.0.symbol.name
    }

    /// Returns the queue on which the kernel is launched.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.0.queue
    }

    /// Returns the only work-group size that the kernel was compiled for, in SYCL's order. In C++ it is
    /// `work_group_size<2, 4, 8>` or `reqd_work_group_size(2, 4, 8)`.
    ///
    /// A launch without a size uses it, and a launch with another size is refused.
    #[must_use]
    pub fn required_local_size(&self) -> Option<&[usize]> {
        self.0.required_local.as_deref()
    }

    /// Asks the driver about the compiled kernel: its registers, memory and sub-groups.
    ///
    /// ```no_run
    /// # let bytes = std::fs::read("saxpy.syclbin").unwrap();
    /// # let queue = syclbin_rt::Device::best_for(&bytes)?.queue()?;
    /// # // SAFETY: a compiler made the file.
    /// # let module = unsafe { syclbin_rt::Module::load(&queue, &bytes)? };
    /// let info = module.kernel("saxpy")?.attributes()?;
    /// if info.spill_memory_bytes.is_some_and(|bytes| bytes > 0) {
    ///     eprintln!("saxpy needs more registers than the device has");
    /// }
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the driver does not answer a query that every driver must answer.
    pub fn attributes(&self) -> Result<KernelAttributes> {
        let info = self.raw().attributes().map_err(|failure| {
            let action = format!("asking about kernel {}", self.name());
            Error::driver(failure, action, self.queue().device())
        })?;
        Ok(KernelAttributes {
            max_work_group_size: self.limits().max_items,
            ..info
        })
    }

    /// Returns the name for messages: the C++ name, or the symbol if it cannot be demangled.
    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns whether the compiler removed device argument `index`, which then must not be passed.
    #[inline]
    pub(crate) fn is_eliminated(&self, index: usize) -> bool {
        let eliminated = self.0.checked.eliminated.get(index);
        eliminated.copied().unwrap_or(false)
    }

    /// Returns how many device arguments the kernel takes, without the removed arguments.
    pub(crate) fn arguments(&self) -> usize {
        self.0.checked.arguments
    }

    /// Returns the specialization constants that the kernel reads from memory, if its module has such.
    #[inline]
    pub(crate) fn constants(&self) -> Option<&ConstantsBuffer> {
        self.0.checked.constants.as_ref()
    }

    /// Returns whether the last argument may be specialization constants without being a parameter in C++. Lambdas and
    /// functors have such an argument, and free functions declare a `kernel_handler`.
    pub(crate) fn may_hide_constants(&self) -> bool {
        let symbol = &self.0.symbol;
        !symbol.name.contains(KERNEL_PREFIX) && !symbol.last_is_local
    }

    /// Returns how much work-group memory the kernel uses beside its arguments, in bytes.
    pub(crate) fn local_memory(&self) -> u64 {
        self.0.checked.local_memory
    }

    /// Has the next wait look for failed asserts of this kernel, which was launched.
    #[inline]
    pub(crate) fn note_launch(&self) {
        if let Some(asserting) = &self.0.asserting {
            asserting.note_launch();
        }
    }

    /// Returns the driver's queue on which the kernel is launched.
    pub(crate) fn raw_queue(&self) -> &backend::Queue {
        &self.0.checked.raw_queue
    }

    /// Returns how many device arguments the kernel has, including the removed arguments.
    pub(crate) fn takes(&self) -> usize {
        let removed = self.0.symbol.eliminated.iter().filter(|removed| **removed);
        self.arguments() + removed.count()
    }

    /// Returns the allowed kinds of each argument, as far as the code contains them. Removed arguments do not
    /// count.
    pub(crate) fn kinds(&self) -> &[Kinds] {
        &self.0.checked.kinds
    }

    /// Returns the type of parameter `position`, if the code contains it. Removed arguments do not count.
    pub(crate) fn parameter(&self, position: usize) -> Option<Takes> {
        self.0.symbol.parameters.get(position).copied()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.checked.limits
    }

    /// Returns whether both are the same kernel of the same module.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn raw(&self) -> &backend::Kernel {
        &self.0.raw
    }
}

/// Checks that the device has sub-groups of the size that a kernel was compiled for.
fn check_sub_group(symbol: &Symbol, size: usize, device: &Device) -> Result<()> {
    let checked = requirements::check_sub_group(size, device.sub_group_sizes());
    checked.map_err(|problem| {
        let reason = format!("it needs sub-groups of {size} (reqd_sub_group_size), {problem}");
        unavailable(symbol, device, reason)
    })
}

fn unavailable(symbol: &Symbol, device: &Device, reason: String) -> Error {
    let kind = ErrorKind::KernelUnavailable {
        kernel: symbol.name.clone(),
        device: device.to_string(),
        reasons: vec![reason],
    };
    kind.into()
}

/// Returns the largest number of work-items that code can count. DPC++ lets code assume that every id and size,
/// and their total over all dimensions, is at most that number (`-fsycl-id-queries-range`).
pub(crate) fn max_range(ids: Option<IdRange>) -> usize {
    const INT: usize = i32::MAX as usize;
    match ids {
        Some(IdRange::Size) => usize::MAX,
        Some(IdRange::UnsignedInt) => u32::MAX as usize,
        // Compilers leave `Int` out. For values of later compilers, this is the safe reading.
        None | Some(IdRange::Int | IdRange::Other(_)) => INT,
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({} on {})", self.symbol(), self.queue().device())
    }
}
