// SPDX-License-Identifier: MIT OR Apache-2.0
//! A kernel that several threads can launch: arguments are set and the launch is enqueued under one lock.

use std::ffi::{CStr, CString, c_int};
use std::sync::{Arc, Mutex, PoisonError};

use crate::backend::cuda::blocks::Bounds;
use crate::backend::cuda::context::Context;
use crate::backend::cuda::device::WARP;
use crate::backend::cuda::errors::{INVALID_VALUE, NOT_FOUND, NOT_SUPPORTED};
use crate::backend::cuda::event::Event;
use crate::backend::cuda::invalid;
use crate::backend::cuda::kernel_object::{Handles, KernelObject};
use crate::backend::cuda::program::{Program, TWIN};
use crate::backend::cuda::queue::Queue;
use crate::backend::cuda::sys::{CUfunction, CUfunction_attribute as Attribute};
use crate::backend::event::WaitList;
use crate::backend::failure::{Code, Failure};
use crate::backend::gate::Passage;
use crate::backend::kernel::{DriverKernel, KernelObject as AnyKernelObject, Slot, Values};
use crate::backend::native::KernelHandle;
use crate::launch::range::Grid;
use crate::module::kernel_attributes::KernelAttributes;

/// A kernel that several threads can launch, with the driver's answers about it.
pub(crate) struct Kernel {
    object: Mutex<KernelObject>,
    program: Arc<Program>,
    handles: Handles,
    parameters: Vec<Slot>,
}

impl Kernel {
    /// Finds the kernel called `symbol`. The driver is asked for the parameters where they are not known.
    pub(crate) fn new(
        program: Arc<Program>,
        symbol: &CStr,
        parameters: Option<Vec<Slot>>,
    ) -> Result<Self, Failure> {
        let context = &program.context;
        let plain = find(&program, symbol)?;
        let twin = [symbol.to_bytes(), TWIN.as_bytes()].concat();
        let twin = match CString::new(twin) {
            Ok(twin) => match find(&program, &twin) {
                Err(failure) if failure.code() == Some(Code::Cuda(NOT_FOUND)) => None,
                found => Some(found?).filter(|twin| is_twin(context, plain, *twin)),
            },
            // No name has a zero byte in it.
            Err(_) => None,
        };
        let parameters = agreed(reported_parameters(context, plain), parameters)?;
        let number = |attribute| attribute_of(context, plain, attribute);
        let facts = &context.device.facts;
        let handles = Handles {
            plain,
            twin,
            bounds: Bounds {
                groups: context.device.max_grid,
                items: facts.max_work_item_sizes,
                all_items: number(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            },
            fixed_local: number(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            max_local: usize::try_from(facts.local_memory_bytes).unwrap_or(usize::MAX),
        };
        let object = KernelObject::new(&program, handles, parameters.clone());
        Ok(Self {
            object: Mutex::new(object),
            program,
            handles,
            parameters,
        })
    }

    /// Restricts the work-group size of launches without a size to the limits in the file. The code does not contain
    /// these limits.
    pub(crate) fn restrict(&mut self, all_items: usize, items: Option<[usize; 3]>) {
        let bounds = &mut self.handles.bounds;
        bounds.all_items = bounds.all_items.min(all_items);
        for (most, declared) in bounds
            .items
            .iter_mut()
            .zip(items.unwrap_or([usize::MAX; 3]))
        {
            *most = declared.min(*most);
        }
        let object = self
            .object
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        object.handles.bounds = self.handles.bounds;
    }

    /// Sets all arguments and enqueues the kernel, to start when all of `after` has finished.
    ///
    /// # Errors
    ///
    /// Contains the index of the argument, if it cannot be set.
    ///
    /// # Safety
    ///
    /// As for [`Kernel::launch`](crate::backend::kernel::Kernel::launch).
    pub(crate) unsafe fn launch(
        &self,
        queue: &Queue,
        values: &impl Values,
        grid: &Grid,
        after: &WaitList<'_>,
    ) -> Result<Event, (Option<usize>, Failure)> {
        let _passage = Passage::new();
        let mut object = self.object.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as the caller says.
        let given = unsafe { values.give(&mut *object) };
        given.map_err(|(index, failure)| (Some(index), failure))?;
        // SAFETY: as the caller says.
        let launched = unsafe { object.launch(queue, grid, after) };
        launched.map_err(|failure| (None, failure))
    }
}

impl DriverKernel for Kernel {
    fn native(&self) -> KernelHandle {
        KernelHandle::Cuda {
            function: self.handles.plain.cast(),
            module: self.program.handle.cast(),
        }
    }

    fn object(&self) -> Result<AnyKernelObject, Failure> {
        let parameters = self.parameters.clone();
        Ok(Box::new(KernelObject::new(
            &self.program,
            self.handles,
            parameters,
        )))
    }

    fn arguments(&self) -> usize {
        self.parameters.len()
    }

    fn max_local(&self) -> usize {
        self.handles.bounds.all_items
    }

    fn local_memory(&self) -> u64 {
        self.handles.fixed_local as u64
    }

    fn preferred_multiple(&self) -> Result<usize, Failure> {
        Ok(WARP)
    }

    fn attributes(&self) -> Result<KernelAttributes, Failure> {
        let number = |attribute| attribute_of(&self.program.context, self.handles.plain, attribute);
        let private = number(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?;
        let registers = number(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?;
        Ok(KernelAttributes {
            max_work_group_size: self.max_local(),
            preferred_work_group_size_multiple: WARP,
            local_memory_bytes: self.local_memory(),
            private_memory_bytes: Some(private as u64),
            spill_memory_bytes: None,
            registers: u32::try_from(registers).ok(),
            max_sub_group_size: Some(WARP),
            required_sub_group_size: None,
        })
    }
}

/// Finds the kernel called `symbol`.
fn find(program: &Program, symbol: &CStr) -> Result<CUfunction, Failure> {
    let mut function = std::ptr::null_mut();
    // SAFETY: the module is loaded, the name NUL-terminated; one handle is written.
    unsafe {
        let (found, name) = (&raw mut function, symbol.as_ptr());
        call!(
            program.context,
            cuModuleGetFunction(found, program.handle, name)
        )
    }?;
    Ok(function)
}

/// Returns the driver's answer about a kernel.
fn attribute_of(
    context: &Context,
    function: CUfunction,
    attribute: Attribute,
) -> Result<usize, Failure> {
    let mut value: c_int = 0;
    // SAFETY: the kernel is alive; one number is written.
    unsafe {
        call!(
            context,
            cuFuncGetAttribute(&raw mut value, attribute, function)
        )
    }?;
    usize::try_from(value).map_err(|_| invalid("cuFuncGetAttribute"))
}

/// The most bytes that parameters of a kernel have together (PTX ISA, "Kernel function parameters").
const MAX_PARAMETER_BYTES: usize = 32_764;

/// Returns the parameters of a kernel according to the driver, which reads them, compared with the PTX beside
/// the code. Where the driver does not report them, it returns the PTX's parameters.
fn agreed(
    reported: Result<Vec<Slot>, Failure>,
    known: Option<Vec<Slot>>,
) -> Result<Vec<Slot>, Failure> {
    let refused = invalid("cuFuncGetParamInfo");
    let sizes = |slots: &[Slot]| -> Vec<usize> { slots.iter().map(|slot| slot.size).collect() };
    match (reported, known) {
        (Ok(reported), Some(known)) if sizes(&reported) != sizes(&known) => Err(refused),
        (Ok(reported), _) => Ok(reported),
        (Err(failure), Some(known)) if is_unsupported(failure) => {
            let mut ends = known.iter().map(|slot| slot.offset.checked_add(slot.size));
            let fit = ends.all(|end| end.is_some_and(|end| end <= MAX_PARAMETER_BYTES));
            fit.then_some(known).ok_or(refused)
        }
        (Err(failure), _) => Err(failure),
    }
}

/// Returns whether a kernel takes the parameters of another kernel, and an offset. If the driver does not
/// report them, there is assumed to be no unrelated kernel of that name.
fn is_twin(context: &Context, plain: CUfunction, twin: CUfunction) -> bool {
    match (
        reported_parameters(context, plain),
        reported_parameters(context, twin),
    ) {
        (Ok(plain), Ok(twin)) => match twin.split_last() {
            Some((last, rest)) => last.size == 12 && rest == plain,
            None => false,
        },
        (Err(failure), _) => is_unsupported(failure),
        _ => false,
    }
}

/// Returns whether a driver does not report parameters.
fn is_unsupported(failure: Failure) -> bool {
    matches!(failure, Failure::Missing { .. }) || failure.code() == Some(Code::Cuda(NOT_SUPPORTED))
}

/// Returns the parameters of a kernel according to the driver. Drivers before CUDA 12.4 do not report them.
fn reported_parameters(context: &Context, function: CUfunction) -> Result<Vec<Slot>, Failure> {
    let call = "cuFuncGetParamInfo";
    let functions = context.enter()?;
    let ask = functions.cuFuncGetParamInfo.ok_or(Failure::Missing {
        function: call,
        needs: "a driver of CUDA 12.4",
    })?;
    let mut parameters = Vec::new();
    loop {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the kernel is alive; two numbers are written.
        let code =
            unsafe { (ask.pass())(function, parameters.len(), &raw mut offset, &raw mut size) };
        match context.check(call, code) {
            Ok(()) => parameters.push(Slot { offset, size }),
            // There are no more.
            Err(failure) if failure.code() == Some(Code::Cuda(INVALID_VALUE)) => {
                return Ok(parameters);
            }
            Err(failure) => return Err(failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_in_ptx_count_where_drivers_report_none() {
        let slots = |size| vec![Slot { offset: 0, size }];
        let failed = |code| Failure::cuda("cuFuncGetParamInfo", code);
        let [invalid, unsupported] = [INVALID_VALUE, NOT_SUPPORTED].map(failed);
        let agreed = |reported, size| agreed(reported, Some(slots(size)));
        assert_eq!(
            agreed(Err(unsupported), MAX_PARAMETER_BYTES),
            Ok(slots(MAX_PARAMETER_BYTES))
        );
        assert_eq!(
            agreed(Err(unsupported), MAX_PARAMETER_BYTES + 1),
            Err(invalid)
        );
        assert_eq!(agreed(Err(invalid), 4), Err(invalid));
        assert_eq!(agreed(Ok(slots(4)), 4), Ok(slots(4)));
        assert_eq!(agreed(Ok(slots(4)), 8), Err(invalid));
    }
}
