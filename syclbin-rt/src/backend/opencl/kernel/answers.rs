// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a driver reports about a kernel that it compiled.

use bytemuck::AnyBitPattern;
use opencl_sys::{
    CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE,
    CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, CL_KERNEL_PRIVATE_MEM_SIZE,
    CL_KERNEL_SPILL_MEM_SIZE_INTEL,
};
use opencl3::types::{cl_uint, cl_ulong};

use crate::backend::failure::Failure;
use crate::backend::opencl::device::version_at_least;
use crate::backend::opencl::driver::info;
use crate::backend::opencl::kernel::Kernel;
use crate::backend::opencl::kernel::object::KernelObject;
use crate::module::kernel_attributes::KernelAttributes;

/// The query of `cl_intel_maximum_registers`.
const REGISTER_COUNT: cl_uint = 0x425B;

/// The extension for sub-groups of a required size, and its query of spilled registers.
const SUB_GROUP_SIZE: &str = "cl_intel_required_subgroup_size";

impl Kernel {
    /// Returns a number that should divide the number of work-items in a work-group.
    pub(crate) fn preferred_multiple(&self) -> Result<usize, Failure> {
        let name = CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE;
        self.work_group_info(&self.object()?, name)
    }

    /// Returns the driver's answers about the compiled code.
    ///
    /// The object that is asked has no arguments: some drivers add arguments to the memory of a kernel.
    pub(crate) fn attributes(&self) -> Result<KernelAttributes, Failure> {
        let object = &self.object()?;
        let has = |extension| self.context().device().facts().has(extension);
        let sizes_sub_groups = has(SUB_GROUP_SIZE);
        let multiple = CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE;
        let private: Result<cl_ulong, _> = self.work_group_info(object, CL_KERNEL_PRIVATE_MEM_SIZE);
        let spilled = sizes_sub_groups
            .then(|| self.work_group_info::<cl_ulong>(object, CL_KERNEL_SPILL_MEM_SIZE_INTEL));
        let registers = has("cl_intel_maximum_registers")
            .then(|| self.work_group_info::<cl_uint>(object, REGISTER_COUNT));
        let required = sizes_sub_groups
            .then(|| self.sub_group_info(object, CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL))
            .flatten();
        Ok(KernelAttributes {
            max_work_group_size: self.max_local,
            preferred_work_group_size_multiple: self.work_group_info(object, multiple)?,
            local_memory_bytes: self.local_memory,
            private_memory_bytes: private.ok(),
            // Devices other than GPUs may have the extension without this query.
            spill_memory_bytes: spilled.and_then(Result::ok),
            registers: registers.and_then(Result::ok),
            max_sub_group_size: self
                .sub_group_info(object, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE),
            required_sub_group_size: required,
        })
    }

    fn work_group_info<T: AnyBitPattern>(
        &self,
        object: &KernelObject,
        name: cl_uint,
    ) -> Result<T, Failure> {
        let device = self.context().device().id;
        let query = self.context().functions().clGetKernelWorkGroupInfo;
        info::value("clGetKernelWorkGroupInfo", &|size, value, returned| {
            // SAFETY: the kernel was built for `device`; `value` is null or holds `size` bytes.
            unsafe { (query.pass())(object.handle, device, name, size, value, returned) }
        })
    }

    /// Returns a number about the sub-groups of the largest work-group; `None` where the device has no
    /// sub-groups, and where the number is 0, which stands for none.
    fn sub_group_info(&self, object: &KernelObject, name: cl_uint) -> Option<usize> {
        let device = self.context().device();
        let query = self.context().functions().clGetKernelSubGroupInfo?;
        // A loader may have this function for drivers that lack it.
        if !version_at_least(&device.facts().version, (2, 1)) {
            return None;
        }
        let local = self.required_local.unwrap_or([self.max_local, 1, 1]);
        let number: usize = info::value("clGetKernelSubGroupInfo", &|size, value, returned| {
            let (input, input_size) = (local.as_ptr().cast(), size_of_val(&local));
            let (kernel, device) = (object.handle, device.id);
            // SAFETY: the kernel was built for `device`. The input is the sizes of a work-group, which
            // queries without an input ignore. `value` is null or holds `size` bytes.
            unsafe {
                (query.pass())(
                    kernel, device, name, input_size, input, size, value, returned,
                )
            }
        })
        .ok()?;
        (number > 0).then_some(number)
    }
}
