// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels: functions of a loaded module, and what the driver reports about them.

use std::ffi::CString;
use std::fmt;
use std::sync::Arc;

use syclbin::__private::mangled::{self, KERNEL_PREFIX};
use syclbin::metadata::{Dimensions, IdRange, KernelSizes};

use crate::backend::{
    self, Argument, Declared, Extent, Failure, KernelAttributes, Memory, Program, Rejection, Slot,
    UsmKind,
};
use crate::device::Device;
use crate::error::{Error, ErrorKind, Result, join};
use crate::launch::Launch;
use crate::launch::arg::Arg;
use crate::launch::work_group::Limits;
use crate::load::code::KnownType;
use crate::load::requirements;
use crate::queue::event::Command;
use crate::queue::{Asserting, Queue};

/// A kernel of a [`Module`](crate::Module), ready to be launched. Clones refer to the same kernel.
///
/// Several threads may launch the same kernel. OpenCL does not let two threads set arguments of the same kernel object
/// at once, so each launch waits while another launch of the kernel is being enqueued.
#[derive(Clone)]
pub struct Kernel(Arc<Inner>);

struct Inner {
    symbol: String,
    name: String,
    checked: Checked,
    /// Whether the last argument is scratch memory, declared as a parameter or not.
    last_is_local: bool,
    /// The required work-group size, in SYCL's order.
    required_local: Option<Vec<usize>>,
    queue: Queue,
    raw: backend::Kernel,
    /// Present if the kernel's program contains asserts.
    asserting: Option<Arc<Asserting>>,
}

/// The data that each launch reads. Contiguous, because the driver evicts much of the CPU cache between launches.
pub(crate) struct Checked {
    /// The type of each device argument, excluding removed arguments; `None` if the code does not contain the types.
    pub(crate) parameters: Vec<Option<KnownType>>,
    /// `true` for each argument that the compiler removed; empty if it removed none.
    eliminated: Vec<bool>,
    /// The specialization constants in device memory, if the code reads them from there.
    pub(crate) constants: Option<ConstantsBuffer>,
    /// The work-group memory that the kernel uses, in bytes, excluding work-group memory that is passed as an argument.
    pub(crate) local_memory: u64,
    /// The backend's handle for the kernel's queue.
    pub(crate) raw_queue: backend::Queue,
    pub(crate) limits: Limits,
}

/// Metadata that a file records about a kernel.
pub(crate) struct Symbol {
    pub(crate) name: String,
    /// `true` for each argument that the compiler removed; empty if it removed none.
    pub(crate) eliminated: Vec<bool>,
    /// The types of the parameters, excluding removed ones; empty if the code does not contain the types.
    pub(crate) parameters: Vec<KnownType>,
    /// Whether the last argument is scratch memory that the code does not declare as a parameter, as in PTX.
    pub(crate) scratch: bool,
    /// Whether the last argument is scratch memory, declared as a parameter or not.
    pub(crate) last_is_local: bool,
    /// The offsets and sizes of the parameters, if the code contains them.
    pub(crate) slots: Option<Vec<Slot>>,
    pub(crate) sizes: KernelSizes,
    /// The range of work-item ids that the code supports.
    pub(crate) id_range: Option<IdRange>,
    /// The reason why the kernel must not run even if the driver can build it.
    pub(crate) unfit: Option<String>,
}

impl Kernel {
    pub(crate) fn new(
        queue: &Queue,
        program: &Program,
        symbol: Symbol,
        constants: Option<ConstantsBuffer>,
    ) -> Result<Self> {
        let device = queue.device();
        if let Some(reason) = symbol.unfit {
            return Err(unavailable(&symbol.name, device, vec![reason]));
        }
        // A name that contains a NUL cannot be a symbol.
        let name = CString::new(symbol.name.as_str())
            .map_err(|_| no_kernel(&symbol.name, std::iter::empty::<&str>()))?;
        let sizes = symbol.sizes;
        let driver_order = |xyz: [u32; 3]| xyz.map(|size| size as usize);
        let max_declared = sizes.maximum.map(|size| driver_order(size.xyz()));
        let max_linear = sizes.maximum_linear.map_or(usize::MAX, |max| max as usize);
        let declared = Declared {
            slots: symbol.slots,
            max_items: max_linear,
            max_sizes: max_declared.unwrap_or([usize::MAX; 3]),
        };
        let raw = Arc::clone(program).kernel(name, declared);
        let raw = raw.map_err(device.failed(format_args!("creating kernel {}", symbol.name)))?;
        let bounds = raw.bounds();
        let is_limited = max_declared.is_some() || sizes.maximum_linear.is_some();
        let chosen_here = if is_limited && !bounds.keeps_declared {
            let multiple = raw.preferred_multiple();
            let multiple = multiple.map_err(device.failed("querying a work-group size"))?;
            Some((multiple, device.compute_units() as usize))
        } else {
            None
        };
        let declared = sizes.required.map(|size| driver_order(size.xyz()));
        if let Some(size) = sizes.required_sub_group {
            let checked = requirements::check_sub_group(size as usize, device.sub_group_sizes());
            checked.map_err(|problem| {
                let reason =
                    format!("it requires sub-groups of {size} (reqd_sub_group_size), {problem}");
                unavailable(&symbol.name, device, vec![reason])
            })?;
        }
        let limits = Limits {
            max_range: max_range(symbol.id_range),
            dimensions: sizes.dimensions.map(Dimensions::get),
            required: bounds.required_local.or(declared),
            max_declared,
            chosen_here,
            max_items: bounds.max_local.min(max_linear),
            max_sizes: device.max_work_item_sizes(),
        };
        let required_local = limits.required.map(|required| {
            // The driver pads the size to three dimensions; the file records the actual number of dimensions.
            let dimensions = match (sizes.dimensions, sizes.required) {
                (Some(dimensions), _) => dimensions.get(),
                (None, Some(_)) => required.len(),
                (None, None) => Extent::used(required),
            };
            Extent::from_driver(required, dimensions).sycl_order()
        });
        let mut parameters: Vec<_> = symbol.parameters.into_iter().map(Some).collect();
        parameters.resize(bounds.arguments + usize::from(symbol.scratch), None);
        Ok(Self(Arc::new(Inner {
            name: mangled::parse(&symbol.name)
                .map_or_else(|| symbol.name.clone(), |name| name.qualified()),
            symbol: symbol.name,
            last_is_local: symbol.last_is_local,
            checked: Checked {
                parameters,
                eliminated: symbol.eliminated,
                constants,
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

    /// Creates a launch of the kernel with `args`, for kernels whose names are known only at run time.
    ///
    /// ```no_run
    /// use syclbin_rt::{Arg, Device, Module};
    ///
    /// let file = std::fs::read("fill.syclbin").unwrap();
    /// let queue = Device::best_for(&file)?.queue()?;
    /// // SAFETY: the file is compiler output.
    /// let module = unsafe { Module::load(&queue, &file)? };
    /// let iota = module.kernel("iota")?;
    /// let mut out = queue.zeroed::<f32>(16)?;
    /// let args = [Arg::scalar(3.0f32), Arg::write(&mut out), Arg::scalar(16i32)];
    /// // SAFETY: `iota` writes 16 elements, and `out` has 16.
    /// unsafe { iota.launch(args).launch(1)? };
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    pub fn launch<'a, const N: usize>(&'a self, args: [Arg<'a>; N]) -> Launch<'a, N> {
        Launch::of(Ok(self), &[], args)
    }

    /// Returns the kernel's symbol, such as `__sycl_kernel_saxpy`.
    #[must_use]
    pub fn symbol(&self) -> &str {
        &self.0.symbol
    }

    /// Returns the queue on which the kernel is launched.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.0.queue
    }

    /// Returns the required work-group size, in SYCL's order. C++ sets it with `work_group_size<2, 4, 8>` or
    /// `reqd_work_group_size(2, 4, 8)`.
    ///
    /// A launch without a work-group size uses it, and a launch with another size fails.
    #[must_use]
    pub fn required_local_size(&self) -> Option<&[usize]> {
        self.0.required_local.as_deref()
    }

    /// Queries the driver for the register use, memory use and work-group properties of the compiled kernel.
    ///
    /// ```no_run
    /// # let bytes = std::fs::read("saxpy.syclbin").unwrap();
    /// # let queue = syclbin_rt::Device::best_for(&bytes)?.queue()?;
    /// # // SAFETY: the file is compiler output.
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
    /// Fails if the driver rejects a query that every driver must support.
    pub fn attributes(&self) -> Result<KernelAttributes> {
        let attributes = self.raw().attributes();
        let mut attributes = attributes.map_err(|failure| self.failed("querying", failure))?;
        attributes.max_work_group_size = self.0.checked.limits.max_items;
        Ok(attributes)
    }

    #[inline]
    pub(crate) fn checked(&self) -> &Checked {
        &self.0.checked
    }

    /// Returns the name for messages: the C++ name, or the symbol if it cannot be demangled.
    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns whether the compiler removed device argument `index`. A removed argument must not be passed.
    #[inline]
    pub(crate) fn is_eliminated(&self, index: usize) -> bool {
        self.checked().eliminated.get(index) == Some(&true)
    }

    /// Returns the specialization constants, if the kernel may expect their address as argument `number`, after the
    /// launch's arguments. Lambdas and functors have this hidden argument; free functions declare a `kernel_handler`
    /// instead.
    pub(crate) fn constants_behind(&self, number: usize) -> Option<&ConstantsBuffer> {
        let may = !self.symbol().contains(KERNEL_PREFIX)
            && !self.0.last_is_local
            && !self.is_eliminated(number);
        self.checked().constants.as_ref().filter(|_| may)
    }

    /// Returns whether the code contains the types of all arguments, so that the checks are complete. If not, a driver
    /// could interpret the bytes of a number as a handle.
    pub(crate) fn types_are_known(&self) -> bool {
        use KnownType::{Anything, Number, Struct, Unknown};
        let mut parameters = self.checked().parameters.iter();
        let is_unknown = |ty: &_| {
            matches!(
                ty,
                None | Some(Unknown | Anything | Number(None) | Struct(None))
            )
        };
        !parameters.any(is_unknown)
    }

    /// Creates the error for an invalid launch of this kernel.
    #[cold]
    pub(crate) fn refused(&self, problem: impl fmt::Display) -> Error {
        Error::launch(self.name(), problem)
    }

    /// Creates the error for an `action`, such as "launching", that failed in the driver.
    #[cold]
    pub(crate) fn failed(&self, action: &str, failure: Failure) -> Error {
        if matches!(failure, Failure::Rejected(Rejection::Strayed(_))) {
            // The kernel ran, so an assert may have failed too.
            self.command().note_launch();
        }
        let action = format_args!("{action} kernel {}", self.name());
        Error::driver(failure, action, self.queue().device())
    }

    #[inline]
    pub(crate) fn command(&self) -> Arc<dyn Command> {
        Arc::clone(&self.0) as Arc<dyn Command>
    }

    /// Returns the number of device arguments, including the removed ones.
    pub(crate) fn takes(&self) -> usize {
        let removed = self.checked().eliminated.iter().filter(|removed| **removed);
        self.checked().parameters.len() + removed.count()
    }

    /// Returns whether both handles refer to the same kernel of the same module.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn raw(&self) -> &backend::Kernel {
        &self.0.raw
    }
}

impl Command for Inner {
    fn name(&self) -> &str {
        &self.name
    }

    fn queue(&self) -> &Queue {
        &self.queue
    }

    fn note_launch(&self) {
        if let Some(asserting) = &self.asserting {
            asserting.note_launch();
        }
    }
}

pub(crate) fn no_kernel(
    name: &str,
    available: impl IntoIterator<Item = impl fmt::Display>,
) -> Error {
    let mut available = available.into_iter().peekable();
    let message = match available.peek() {
        Some(_) => format!("available kernels: {}", join(available)),
        None => "it lists none: it only exports functions, or comes from a DPC++ before June 2025"
            .into(),
    };
    let message = format_args!("no kernel {name} in this SYCLBIN file; {message}");
    Error::new(ErrorKind::NotFound, message)
}

pub(crate) fn unavailable(kernel: &str, device: &Device, reasons: Vec<String>) -> Error {
    let message = format_args!("kernel {kernel} does not run on {device}");
    Error::listing(ErrorKind::Unavailable, message, reasons)
}

/// Returns the largest number of work-items that the code supports. DPC++ assumes that no id, size or total number
/// of work-items exceeds this limit (`-fsycl-id-queries-range`).
pub(crate) fn max_range(ids: Option<IdRange>) -> usize {
    match ids {
        Some(IdRange::Size) => usize::MAX,
        Some(IdRange::UnsignedInt) => u32::MAX as usize,
        // A missing value means `Int`, which is also the safe choice for unknown values from later compilers.
        None | Some(IdRange::Int | IdRange::Other(_)) => i32::MAX as usize,
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({} on {})", self.symbol(), self.queue().device())
    }
}

/// The values of a module's specialization constants in device memory. Clones share the memory.
#[derive(Clone)]
pub(crate) struct ConstantsBuffer {
    address: [u8; 8],
    _memory: Arc<Memory>,
}

impl ConstantsBuffer {
    /// Uploads `values`, which must have the layout described in the file.
    pub(crate) fn new(queue: &Queue, values: &[u8]) -> Result<Self, Failure> {
        let queue = queue.raw();
        let memory = queue.zeroed(Some(UsmKind::Device), values.len())?;
        queue.write(&memory, 0, values)?;
        let address = memory.address().unwrap_or_default();
        Ok(Self {
            address: address.to_ne_bytes(),
            _memory: memory,
        })
    }

    /// Returns the argument for a `kernel_handler`: the address, or a struct that contains only the address.
    pub(crate) fn argument(&self, takes: Option<KnownType>) -> Argument<'_> {
        match takes {
            Some(KnownType::Struct(_)) => Argument::Bytes(&self.address),
            _ => Argument::Pointer(u64::from_ne_bytes(self.address)),
        }
    }
}
