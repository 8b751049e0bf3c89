// SPDX-License-Identifier: MIT OR Apache-2.0
//! OpenCL libraries and their devices. Each library is loaded once and never unloaded; device properties are read once.

use std::env::consts::{ARCH, OS};
use std::ffi::OsStr;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError};

use opencl_sys as cl;
use opencl3::device::{
    CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU,
};
use opencl3::error_codes::{CL_DEVICE_NOT_FOUND, CL_PLATFORM_NOT_FOUND_KHR};
use opencl3::types::{cl_bitfield, cl_device_id, cl_platform_id, cl_uint, cl_ulong};

use syclbin::__private::spirv::portable::Version;
use syclbin::architecture::Architecture;

use super::*;

/// An OpenCL loader or driver.
pub(crate) struct Library {
    name: String,
    functions: Functions,
    devices: Devices<DriverDevice>,
}

static LOADED: Mutex<Vec<&'static Library>> = Mutex::new(Vec::new());

impl Library {
    /// Loads the library `name`, which is a path or a file name that the system looks up.
    ///
    /// # Errors
    ///
    /// Fails if the library cannot be loaded or is not an OpenCL library. A failure is not cached, because the
    /// library may be installed later.
    pub(crate) fn load(name: &OsStr) -> Result<&'static Self, LibraryError> {
        let display = name.to_string_lossy();
        let _guard = CallGuard::new();
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = loaded.iter().find(|library| library.name == display) {
            return Ok(library);
        }
        // SAFETY: loading runs the library's initializers, and its OpenCL functions must have the types declared in the
        // OpenCL headers. Both are trusted, because the name comes from the system, the user's environment, or an
        // installed component.
        let library = unsafe { load_library(name) }?;
        // SAFETY: as above.
        let functions = unsafe { Functions::load(|function| find_function(library, function)) };
        let functions =
            functions.map_err(|error| LibraryError::NotOpenCl(loader_reason(name, &error)))?;
        gate::close_at_exit(&raw const *library, Stage::Loaded);
        let library = Box::leak(Box::new(Self {
            name: display.into_owned(),
            functions,
            devices: Devices::new(),
        }));
        loaded.push(library);
        Ok(library)
    }
}

/// A device of a loaded library. Both live until the process ends.
pub(crate) struct DriverDevice {
    pub(crate) functions: &'static Functions,
    pub(crate) platform: cl_platform_id,
    pub(crate) id: cl_device_id,
    pub(crate) facts: Facts,
    pub(crate) extensions: Extensions,
    pub(crate) part: Option<PartPosition>,
}

// SAFETY: both handles stay valid, because the library is never unloaded and sub-devices are never released. OpenCL
// functions are thread-safe, except those that set kernel arguments (OpenCL 3.0, appendix A.2, "Multiple Host
// Threads").
unsafe impl Send for DriverDevice {}
// SAFETY: as for `Send`.
unsafe impl Sync for DriverDevice {}

impl crate::backend::device::DriverDevice for DriverDevice {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn native(&self) -> DeviceHandle {
        DeviceHandle::OpenCl(self.id)
    }

    fn part(&self) -> Option<PartPosition> {
        self.part
    }

    fn partition(&'static self, how: Partition<'_>) -> Result<Vec<Device>> {
        let parts = self.parts(how)?;
        Ok(parts.iter().map(|part| -> Device { part }).collect())
    }

    fn shared_context(&'static self) -> Result<AnyContext> {
        Ok(Context::shared(self)?)
    }

    #[cfg(test)]
    fn separate_context(&'static self) -> Result<AnyContext> {
        Ok(Arc::new(Context::new(self)?))
    }

    unsafe fn adopt_queue(&'static self, handle: QueueHandle) -> Result<AnyQueue> {
        // SAFETY: the caller guarantees this.
        unsafe { Queue::adopt(self, handle) }.map(|queue| Arc::new(queue).into())
    }

    #[cfg(test)]
    fn without_globals(&'static self) -> Option<Device> {
        let library = self.facts.library;
        let again = Self::new(self.functions, library, self.platform, self.id, self.part);
        let mut device = again.expect("the driver answers again");
        device.facts.lifts_variables = true;
        device.extensions.globals = None;
        Some(Box::leak(Box::new(device)))
    }
}

impl Library {
    pub(crate) fn devices(&'static self) -> Result<Vec<Device>> {
        let (functions, library) = (&self.functions, &*self.name);
        self.devices.get(|| {
            let mut devices = Vec::new();
            for platform in self.platforms()? {
                let new = |id| DriverDevice::new(functions, library, platform, id, None);
                match self.device_ids(platform) {
                    Ok(ids) => devices.extend(ids.into_iter().map(new)),
                    // One failing platform must not hide the others.
                    Err(failure) => devices.push(Err(failure)),
                }
            }
            gate::close_at_exit(&raw const *self, Stage::Listed);
            Ok(devices)
        })
    }

    fn platforms(&self) -> Result<Vec<cl_platform_id>> {
        let platforms = list("clGetPlatformIDs", null_mut(), |count, list, found| {
            // SAFETY: `list` is null or has room for `count` handles; `found` points to one number.
            unsafe { (self.functions.clGetPlatformIDs.pass())(count, list, found) }
        });
        none_if(CL_PLATFORM_NOT_FOUND_KHR, platforms)
    }

    fn device_ids(&self, platform: cl_platform_id) -> Result<Vec<cl_device_id>> {
        let devices = list("clGetDeviceIDs", null_mut(), |count, list, found| {
            let ty = CL_DEVICE_TYPE_ALL;
            // SAFETY: `platform` belongs to this library; `list` is null or has room for `count` handles.
            unsafe { (self.functions.clGetDeviceIDs.pass())(platform, ty, count, list, found) }
        });
        none_if(CL_DEVICE_NOT_FOUND, devices)
    }
}

impl DriverDevice {
    /// Queries the facts and extension functions of a device of `platform`.
    pub(crate) fn new(
        functions: &'static Functions,
        library: &'static str,
        platform: cl_platform_id,
        id: cl_device_id,
        part: Option<PartPosition>,
    ) -> Result<Self> {
        let mut facts = facts(functions, platform, id)?;
        // Drivers older than OpenCL 1.2 may lack the lookup function, yet a loader forwards the call to every driver.
        let extensions = if version_at_least(&facts.version, (1, 2)) {
            // SAFETY: `platform` belongs to this library.
            unsafe { Extensions::load(functions, platform, |name| facts.has(name)) }
        } else {
            Extensions::default()
        };
        facts.library = library;
        facts.lifts_variables = extensions.globals.is_none();
        facts.has_addresses = extensions.usm.is_some();
        Ok(Self {
            functions,
            platform,
            id,
            facts,
            extensions,
            part,
        })
    }
}

fn facts(functions: &Functions, platform: cl_platform_id, id: cl_device_id) -> Result<Facts> {
    // SAFETY: `id` is a device of this library.
    let device = |name| unsafe { query!(functions => clGetDeviceInfo(id, name)) };
    let text = |name| device(name).text();
    let uint = |name| device(name).value::<cl_uint>();
    let ulong = |name| device(name).value::<cl_ulong>();

    let kind = kind(ulong(cl::CL_DEVICE_TYPE)?);
    let version = text(cl::CL_DEVICE_VERSION)?;
    let extensions = text(cl::CL_DEVICE_EXTENSIONS)?;
    let has = |extension| extensions.split_whitespace().any(|name| name == extension);
    let sizes = device(cl::CL_DEVICE_MAX_WORK_ITEM_SIZES).values()?;
    let size_of_dimension = |dimension| sizes.get(dimension).copied().unwrap_or(1);
    // Older drivers, and those without certain extensions, reject some of these queries. A rejected query means that
    // the device lacks the feature.
    let flag = |name| uint(name).is_ok_and(|flag| flag != 0);
    let bits = |name| ulong(name).unwrap_or(0);
    let has_usm = has(USM);
    let queue_properties = bits(cl::CL_DEVICE_QUEUE_PROPERTIES);
    // Returns a query that an extension defines, or `None` if the device lacks the extension.
    let extended = |extension, name| has(extension).then(|| device(name));
    let sub_group_sizes = extended(
        "cl_intel_required_subgroup_size",
        cl::CL_DEVICE_SUB_GROUP_SIZES_INTEL,
    );
    // Devices that cannot be partitioned may reject these queries.
    let ways: Vec<isize> = device(cl::CL_DEVICE_PARTITION_PROPERTIES)
        .values()
        .unwrap_or_default();
    let by_affinity = ways
        .contains(&cl::CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN)
        .then_some(cl::CL_DEVICE_PARTITION_AFFINITY_DOMAIN);
    let hardware = extended(
        "cl_intel_device_attribute_query",
        cl::CL_DEVICE_IP_VERSION_INTEL,
    );
    let uuid = extended("cl_khr_device_uuid", cl::CL_DEVICE_UUID_KHR);
    let pci_address = extended("cl_khr_pci_bus_info", cl::CL_DEVICE_PCI_BUS_INFO_KHR);
    let pci_address = pci_address.and_then(|query| query.value().ok());
    let pci_address = pci_address.map(|[domain, bus, slot, function]: [cl_uint; 4]| {
        format!("{domain:04x}:{bus:02x}:{slot:02x}.{function:x}")
    });
    // This query fails on devices that do not support an intermediate language.
    let languages = text(cl::CL_DEVICE_IL_VERSION).unwrap_or_default();
    let alignment = uint(cl::CL_DEVICE_MEM_BASE_ADDR_ALIGN)? / 8;
    let mut facts = Facts {
        name: text(cl::CL_DEVICE_NAME)?,
        vendor: text(cl::CL_DEVICE_VENDOR)?,
        // SAFETY: `platform` belongs to this library.
        platform: unsafe { query!(functions => clGetPlatformInfo(platform, cl::CL_PLATFORM_NAME)) }
            .text()?,
        driver_version: text(cl::CL_DRIVER_VERSION)?,
        kind,
        other_system: (kind == DeviceKind::Cpu && (ARCH, OS) != ("x86_64", "linux"))
            .then(|| format!("{ARCH} {OS}")),
        takes_spirv: functions.clCreateProgramWithIL.is_some()
            && version_at_least(&version, (2, 1))
            && languages.contains("SPIR-V"),
        spirv_versions: Version::list(&languages),
        // Work-group functions are mandatory in OpenCL 2. Since OpenCL 3.0, they are optional and can be queried.
        work_group_functions: !version_at_least(&version, (3, 0))
            || flag(cl::CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT),
        version,
        memory_bytes: ulong(cl::CL_DEVICE_GLOBAL_MEM_SIZE)?,
        max_buffer_bytes: ulong(cl::CL_DEVICE_MAX_MEM_ALLOC_SIZE)?,
        local_memory_bytes: ulong(cl::CL_DEVICE_LOCAL_MEM_SIZE)?,
        images: uint(cl::CL_DEVICE_IMAGE_SUPPORT)? != 0,
        queues: QueueAbilities {
            out_of_order: queue_properties & cl::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0,
            profiling: queue_properties & cl::CL_QUEUE_PROFILING_ENABLE != 0,
        },
        compute_units: uint(cl::CL_DEVICE_MAX_COMPUTE_UNITS)?,
        partitions: Partitions {
            max_parts: uint(cl::CL_DEVICE_PARTITION_MAX_SUB_DEVICES).unwrap_or(0),
            equally: ways.contains(&cl::CL_DEVICE_PARTITION_EQUALLY),
            counts: ways.contains(&cl::CL_DEVICE_PARTITION_BY_COUNTS),
            affinities: affinities(by_affinity.map_or(0, bits)),
        },
        buffer_alignment: alignment as usize,
        least_alignment: alignment.into(),
        max_work_group_size: device(cl::CL_DEVICE_MAX_WORK_GROUP_SIZE).value()?,
        max_work_item_sizes: [0, 1, 2].map(size_of_dimension),
        sub_group_sizes: sub_group_sizes
            .and_then(|query| query.values().ok())
            .unwrap_or_default(),
        uuid: uuid.and_then(|query| query.value().ok()),
        pci_address,
        architecture: architecture(kind, hardware.and_then(|query| query.value().ok())),
        half_matrices: host_has("amx_fp16"),
        extensions,
        ..Facts::default()
    };
    add_driver_facts(&mut facts);
    facts.aspects = aspects_of(
        &facts,
        &Abilities {
            // Devices older than OpenCL 1.2 may reject this query. Those that support doubles list `cl_khr_fp64`, which
            // `aspects_of` also checks.
            doubles: bits(cl::CL_DEVICE_DOUBLE_FP_CONFIG) != 0,
            compiler: flag(cl::CL_DEVICE_COMPILER_AVAILABLE),
            linker: flag(cl::CL_DEVICE_LINKER_AVAILABLE),
            memory: [
                cl::CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL,
                cl::CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL,
                cl::CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL,
                cl::CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL,
            ]
            .map(|name| if has_usm { bits(name) } else { 0 }),
            matrix_units: facts.kind == DeviceKind::Cpu && host_has("amx_tile"),
        },
    );
    Ok(facts)
}

/// Replaces the error `code`, by which a driver reports that there are no entries, with an empty list.
fn none_if<T>(code: i32, list: Result<Vec<T>>) -> Result<Vec<T>> {
    match list {
        Err(failure) if failure.code() == Some(Code::OpenCl(code)) => Ok(Vec::new()),
        other => other,
    }
}

fn kind(ty: cl_bitfield) -> DeviceKind {
    let kinds = [
        (CL_DEVICE_TYPE_GPU, DeviceKind::Gpu),
        (CL_DEVICE_TYPE_ACCELERATOR, DeviceKind::Accelerator),
        (CL_DEVICE_TYPE_CPU, DeviceKind::Cpu),
    ];
    let kind = kinds.into_iter().find(|(bit, _)| ty & bit != 0);
    kind.map_or(DeviceKind::Other, |(_, kind)| kind)
}

/// Returns the architecture of a device. `hardware` is the IP version of an Intel GPU.
fn architecture(kind: DeviceKind, hardware: Option<u32>) -> Option<Architecture> {
    match kind {
        DeviceKind::Cpu if cfg!(target_arch = "x86_64") => Architecture::from_name("x86_64"),
        // In SYCL's architecture number, the IP version starts at bit 8.
        DeviceKind::Gpu => hardware.map(|number| Architecture(u64::from(number) << 8)),
        _ => None,
    }
}

/// Returns whether `version`, such as `OpenCL 3.0 (vendor info)`, is at least `wanted`.
pub(crate) fn version_at_least(version: &str, wanted: (u32, u32)) -> bool {
    let number = || {
        let (major, minor) = version.split_whitespace().nth(1)?.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    number().is_some_and(|number| number >= wanted)
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;
    use std::ptr::NonNull;

    use opencl3::error_codes::{CL_INVALID_VALUE, CL_OUT_OF_HOST_MEMORY, CL_SUCCESS};
    use syclbin::Aspect;

    use super::*;

    impl DriverDevice {
        /// Returns the same device, with changes that `change` makes.
        pub(crate) fn changed(&'static self, change: impl FnOnce(&mut Self)) -> &'static Self {
            let library = self.facts.library;
            let again = Self::new(self.functions, library, self.platform, self.id, self.part);
            let mut device = again.expect("the driver answers again");
            change(&mut device);
            Box::leak(Box::new(device))
        }

        /// Returns the same device with other functions: `replace` returns the address of a function by its name.
        ///
        /// # Safety
        ///
        /// The functions must have the types of those that they replace.
        pub(crate) unsafe fn with_functions(
            &'static self,
            replace: impl Fn(&str) -> Option<NonNull<c_void>>,
        ) -> &'static Self {
            // SAFETY: the library is already loaded, so no initializers run.
            let library = unsafe { load_library(OsStr::new(self.facts.library)) };
            let library = library.expect("the library of the device");
            let find = |name: &'static str| match replace(name.trim_end_matches('\0')) {
                Some(address) => Ok(address),
                None => find_function(library, name),
            };
            // SAFETY: these are the functions of the library, or have their types.
            let functions = unsafe { Functions::load(find) }.expect("all functions");
            self.changed(|device| device.functions = Box::leak(Box::new(functions)))
        }
    }

    /// What a driver answers for a device, whose id is the address of this value.
    #[derive(Clone, Copy, Default)]
    struct Answers {
        ty: cl_bitfield,
        version: &'static str,
        extensions: &'static str,
        languages: &'static str,
        collective: bool,
    }

    unsafe extern "C" fn device_info(
        id: cl_device_id,
        name: cl_uint,
        size: usize,
        value: *mut c_void,
        returned: *mut usize,
    ) -> i32 {
        // SAFETY: `facts_of` passes this address.
        let answers = unsafe { &*id.cast::<Answers>() };
        let text = |text: &str| format!("{text}\0").into_bytes();
        let bytes = match name {
            cl::CL_DEVICE_TYPE => answers.ty.to_ne_bytes().to_vec(),
            cl::CL_DEVICE_VERSION => text(answers.version),
            cl::CL_DEVICE_EXTENSIONS => text(answers.extensions),
            cl::CL_DEVICE_IL_VERSION => text(answers.languages),
            cl::CL_DEVICE_NAME | cl::CL_DEVICE_VENDOR | cl::CL_DRIVER_VERSION => text("name"),
            cl::CL_DEVICE_GLOBAL_MEM_SIZE
            | cl::CL_DEVICE_MAX_MEM_ALLOC_SIZE
            | cl::CL_DEVICE_LOCAL_MEM_SIZE
            | cl::CL_DEVICE_MAX_WORK_GROUP_SIZE => 64u64.to_ne_bytes().to_vec(),
            cl::CL_DEVICE_MAX_WORK_ITEM_SIZES => [64u64; 3].map(u64::to_ne_bytes).concat(),
            cl::CL_DEVICE_MEM_BASE_ADDR_ALIGN
            | cl::CL_DEVICE_IMAGE_SUPPORT
            | cl::CL_DEVICE_MAX_COMPUTE_UNITS => 64u32.to_ne_bytes().to_vec(),
            cl::CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT => {
                u32::from(answers.collective).to_ne_bytes().to_vec()
            }
            cl::CL_DEVICE_UUID_KHR => vec![7; 16],
            _ => return CL_INVALID_VALUE,
        };
        // SAFETY: the pointers are null or valid, as OpenCL requires.
        unsafe {
            if let Some(returned) = returned.as_mut() {
                *returned = bytes.len();
            }
            if !value.is_null() {
                let size = size.min(bytes.len());
                value.copy_from_nonoverlapping(bytes.as_ptr().cast(), size);
            }
        }
        CL_SUCCESS
    }

    unsafe extern "C" fn platform_info(
        _platform: cl_platform_id,
        _name: cl_uint,
        _size: usize,
        _value: *mut c_void,
        returned: *mut usize,
    ) -> i32 {
        // SAFETY: as above.
        if let Some(returned) = unsafe { returned.as_mut() } {
            *returned = 0;
        }
        CL_SUCCESS
    }

    /// Returns the facts that are derived from `answers`. `with_il` is whether the library has a function for SPIR-V.
    fn facts_of(answers: Answers, with_il: bool) -> Facts {
        let find = |name: &'static str| {
            let address = match name {
                "clGetDeviceInfo\0" => device_info as *mut c_void,
                "clGetPlatformInfo\0" => platform_info as *mut c_void,
                "clCreateProgramWithIL\0" if !with_il => return Err(()),
                // Never called.
                _ => NonNull::dangling().as_ptr(),
            };
            NonNull::new(address).ok_or(())
        };
        // SAFETY: the functions that are called have the right types.
        let functions = unsafe { Functions::load(find) }.unwrap();
        let id = std::ptr::from_ref(&answers).cast_mut().cast();
        facts(&functions, null_mut(), id).unwrap()
    }

    #[test]
    fn spirv_needs_version_function_and_language() {
        let able = Answers {
            version: "OpenCL 3.0 test",
            languages: "SPIR-V_1.0 SPIR-V_1.2",
            ..Answers::default()
        };
        let old = Answers {
            version: "OpenCL 2.0 test",
            ..able
        };
        let other = Answers {
            languages: "IL_1.0",
            ..able
        };
        assert!(facts_of(able, true).takes_spirv);
        assert!(!facts_of(able, false).takes_spirv);
        assert!(!facts_of(old, true).takes_spirv);
        assert!(!facts_of(other, true).takes_spirv);
    }

    #[test]
    fn work_group_functions_are_optional_since_opencl_3() {
        let has = |version, collective| {
            let answers = Answers {
                version,
                collective,
                ..Answers::default()
            };
            facts_of(answers, true).work_group_functions
        };
        assert!(has("OpenCL 2.0 test", false));
        assert!(has("OpenCL 3.0 test", true));
        assert!(!has("OpenCL 3.0 test", false));
    }

    #[test]
    fn extensions_are_found_by_their_whole_names() {
        let uuid = |extensions| {
            let answers = Answers {
                extensions,
                ..Answers::default()
            };
            facts_of(answers, true).uuid
        };
        assert_eq!(uuid("cl_khr_device_uuid"), Some([7; 16]));
        assert_eq!(uuid("cl_khr_fp64 cl_khr_device_uuid "), Some([7; 16]));
        assert_eq!(uuid("cl_khr_fp64 cl_khr_device_uuid_2"), None);
        assert_eq!(uuid(""), None);
    }

    #[test]
    fn only_processors_run_code_of_a_system() {
        let other_system = |ty| {
            let answers = Answers {
                ty,
                ..Answers::default()
            };
            facts_of(answers, true).other_system
        };
        assert_eq!(other_system(CL_DEVICE_TYPE_GPU), None);
        let usual = cfg!(all(target_arch = "x86_64", target_os = "linux"));
        let other = (!usual).then(|| format!("{ARCH} {OS}"));
        assert_eq!(other_system(CL_DEVICE_TYPE_CPU), other);
    }

    #[test]
    fn rejected_query_means_a_lacking_feature() {
        let facts = facts_of(Answers::default(), true);
        assert!(!facts.queues.out_of_order);
        assert!(!facts.queues.profiling);
        assert!(!facts.aspects.contains(&Aspect::FP64));
    }

    #[test]
    fn only_processors_have_the_hosts_matrix_units() {
        let has_matrices = |ty| {
            let answers = Answers {
                ty,
                ..Answers::default()
            };
            let aspects = facts_of(answers, true).aspects;
            aspects.contains(&Aspect::EXT_INTEL_MATRIX)
        };
        assert_eq!(has_matrices(CL_DEVICE_TYPE_CPU), host_has("amx_tile"));
        assert!(!has_matrices(CL_DEVICE_TYPE_GPU));
    }

    #[test]
    fn platform_without_devices_is_no_failure() {
        let call = "clGetDeviceIDs";
        let after = |code| none_if::<u8>(CL_DEVICE_NOT_FOUND, Err(Failure::opencl(call, code)));
        assert_eq!(after(CL_DEVICE_NOT_FOUND), Ok(Vec::new()));
        let failure = Failure::opencl(call, CL_OUT_OF_HOST_MEMORY);
        assert_eq!(after(CL_OUT_OF_HOST_MEMORY), Err(failure));
        assert_eq!(none_if(CL_DEVICE_NOT_FOUND, Ok(vec![1])), Ok(vec![1]));
    }

    #[test]
    fn versions_compare_by_number_and_garbage_is_old() {
        assert!(version_at_least("OpenCL 2.1 Intel", (2, 1)));
        assert!(version_at_least("OpenCL 3.0 (Build 0)", (2, 1)));
        assert!(version_at_least("OpenCL 2.10", (2, 9)));
        assert!(!version_at_least("OpenCL 1.2 old", (2, 1)));
        assert!(!version_at_least("", (2, 1)));
    }

    #[test]
    fn combined_device_type_counts_as_gpu_first() {
        assert_eq!(
            kind(CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU),
            DeviceKind::Gpu
        );
        assert_eq!(kind(0), DeviceKind::Other);
    }

    #[test]
    fn hardware_numbers_name_the_architecture_of_gpus() {
        // IP version 20.1.4.
        let hardware = Some(20 << 22 | 1 << 14 | 4);
        let name = |kind| architecture(kind, hardware).and_then(Architecture::name);
        assert_eq!(name(DeviceKind::Gpu), Some("intel_gpu_bmg_g21"));
        assert_eq!(name(DeviceKind::Accelerator), None);
        assert_eq!(architecture(DeviceKind::Gpu, None), None);
    }
}
