// SPDX-License-Identifier: MIT OR Apache-2.0
//! NVIDIA's driver and its devices. The driver is loaded once and never unloaded; device properties are read once.

use std::collections::BTreeSet;
use std::ffi::{CStr, OsStr, c_int};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use syclbin::Aspect;
use syclbin::architecture::Architecture;
use syclbin::ptx::Version;

use super::CUdevice_attribute as Attribute;
use super::*;

/// File names of the library, tried in this order. The driver is installed under the first name. On Linux, the second
/// comes last because it may also name a stub from the CUDA toolkit, whose functions only return errors.
const NAMES: &[&str] = if cfg!(windows) {
    &["nvcuda.dll"]
} else {
    &["libcuda.so.1", "libcuda.so"]
};

pub(crate) struct Library {
    /// The file name under which the library was found.
    name: &'static str,
    functions: &'static Functions,
    /// The CUDA version that the driver supports: 12040 is CUDA 12.4.
    version: c_int,
    has_devices: bool,
    devices: Devices<DriverDevice>,
}

/// The library's name and functions. The functions can name an error even if `cuInit` fails.
static FUNCTIONS: OnceLock<(&str, Functions)> = OnceLock::new();

static LOADED: Mutex<Option<&'static Library>> = Mutex::new(None);

impl Library {
    /// Loads NVIDIA's driver.
    ///
    /// # Errors
    ///
    /// Fails if the driver is missing or unusable. A failure is not cached, because the driver may be installed later.
    pub(crate) fn load() -> Result<&'static Self, LibraryError> {
        let _guard = CallGuard::new();
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = *loaded {
            return Ok(library);
        }
        let (name, functions) = match FUNCTIONS.get() {
            Some(found) => found,
            None => {
                let (name, library) = find()?;
                // SAFETY: the functions have the types declared in CUDA's header, because the system is trusted to
                // provide NVIDIA's driver under this name.
                let functions = unsafe {
                    Functions::load(|function| {
                        let found = find_function(library, function);
                        found.map_err(|_| function.trim_end_matches('\0'))
                    })
                };
                let functions = functions.map_err(LibraryError::TooOld)?;
                FUNCTIONS.get_or_init(|| (name, functions))
            }
        };
        // SAFETY: `cuInit` requires its flags to be 0.
        let has_devices = match unsafe { (functions.cuInit.pass())(0) } {
            NO_DEVICE => false,
            code => check("cuInit", code).map(|()| true)?,
        };
        gate::close_at_exit(std::ptr::null::<Self>(), Stage::Loaded);
        let mut version = 0;
        // SAFETY: the call writes one value through a valid pointer.
        unsafe { call!(in any context, functions => cuDriverGetVersion(&raw mut version)) }?;
        let library: &'static Self = Box::leak(Box::new(Self {
            name,
            functions,
            version,
            has_devices,
            devices: Devices::new(),
        }));
        *loaded = Some(library);
        Ok(library)
    }
}

/// Loads the library, and returns it with the file name under which it was found.
///
/// # Errors
///
/// Fails if none of the files can be loaded.
fn find() -> Result<(&'static str, &'static libloading::Library), LibraryError> {
    let mut first = None;
    for name in NAMES {
        // SAFETY: loading runs the library's initializers. The system is trusted to provide NVIDIA's driver under this
        // name.
        match unsafe { load_library(OsStr::new(name)) } {
            Ok(library) => return Ok((name, library)),
            Err(error) => first.get_or_insert((*name, error.to_string())),
        };
    }
    // Report the error for the first name, because the driver is installed under this name.
    let (name, reason) = first.unwrap_or_default();
    Err(LibraryError::NoCudaDriver { name, reason })
}

/// The number of threads in a warp.
pub(crate) const WARP: usize = 32;

/// A CUDA device, which lives until the process ends.
pub(crate) struct DriverDevice {
    pub(crate) functions: &'static Functions,
    pub(crate) device: CUdevice,
    pub(crate) facts: Facts,
    /// Whether buffers come from the device's memory pool.
    pub(crate) has_pool: bool,
    /// The maximum number of work-groups in each dimension of a launch, x first.
    pub(crate) max_grid: [usize; 3],
    /// The number of multiprocessors, or 0 if the device does not support cooperative launches.
    pub(crate) cooperative_units: usize,
}

impl crate::backend::device::DriverDevice for DriverDevice {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn native(&self) -> DeviceHandle {
        DeviceHandle::Cuda(self.device)
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
}

impl Library {
    pub(crate) fn devices(&'static self) -> Result<Vec<Device>> {
        self.devices.get(|| {
            let mut count = 0;
            if self.has_devices {
                // SAFETY: the call writes one value through a valid pointer.
                unsafe {
                    call!(in any context, self.functions => cuDeviceGetCount(&raw mut count))
                }?;
            }
            Ok((0..count)
                .map(|number| self.device(number, count == 1))
                .collect())
        })
    }

    fn device(&'static self, number: c_int, only: bool) -> Result<DriverDevice> {
        let functions = self.functions;
        let mut device = 0;
        // SAFETY: the call writes one handle through a valid pointer.
        unsafe { call!(in any context, functions => cuDeviceGet(&raw mut device, number)) }?;
        let number = |attribute| attribute_of(functions, device, attribute);
        Ok(DriverDevice {
            functions,
            device,
            facts: Facts {
                library: self.name,
                ..facts(functions, device, self.version)?
            },
            // By default, other devices cannot access the pool of a device, so it is used only if this is the only device.
            has_pool: only
                && number(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)
                    .is_ok_and(|pools| pools != 0),
            max_grid: [
                number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
                number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
                number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
            ],
            cooperative_units: number(Attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)?
                * number(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        })
    }
}

fn attribute_of(functions: &Functions, device: CUdevice, attribute: Attribute) -> Result<usize> {
    let mut value = 0;
    // SAFETY: the device handle came from the driver; the call writes one value through a valid pointer.
    unsafe {
        call!(in any context, functions => cuDeviceGetAttribute(&raw mut value, attribute, device))
    }?;
    usize::try_from(value).map_err(|_| invalid("cuDeviceGetAttribute"))
}

fn facts(functions: &Functions, device: CUdevice, driver: c_int) -> Result<Facts> {
    let (mut bytes, mut address) = ([0u8; 256], [0u8; 16]);
    let mut uuid = CUuuid_st { bytes: [0; 16] };
    let mut memory = 0usize;
    // SAFETY: the driver reported the device. Each call writes through a valid pointer: at most 256 bytes for the name,
    // at most 16 for the address, one structure for the UUID, and one number for the memory size.
    let (has_address, has_uuid) = unsafe {
        let name = bytes.as_mut_ptr().cast();
        call!(in any context, functions => cuDeviceGetName(name, 256, device))?;
        call!(in any context, functions => cuDeviceTotalMem_v2(&raw mut memory, device))?;
        let get_address = functions.cuDeviceGetPCIBusId;
        let get_uuid = functions.cuDeviceGetUuid_v2.as_ref();
        (
            (get_address.pass())(address.as_mut_ptr().cast(), 16, device) == 0,
            get_uuid.is_some_and(|get| (get.pass())(&raw mut uuid, device) == 0),
        )
    };
    let pci_address = CStr::from_bytes_until_nul(&address)
        .ok()
        .filter(|_| has_address);
    let name = CStr::from_bytes_until_nul(&bytes).unwrap_or_default();
    let number = |attribute| attribute_of(functions, device, attribute);
    // A feature counts as unsupported if the driver does not know its attribute.
    let flag = |attribute| number(attribute).is_ok_and(|flag| flag != 0);
    let major = number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    let units = number(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    let local = number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?;
    // This limit may exceed the default, but kernels must opt in to use more than the default.
    let most_local = number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    let abilities = Abilities {
        sm: u32::try_from(major * 10 + minor).unwrap_or(u32::MAX),
        // Require concurrent access: without it, the host must not touch managed memory while any kernel runs.
        managed: flag(Attribute::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)
            && flag(Attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS),
        pageable: flag(Attribute::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS),
        host_atomics: flag(Attribute::CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED),
        // The host and the device can share pointers only if both attributes are set.
        host_memory: flag(Attribute::CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY)
            && flag(Attribute::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING),
    };
    Ok(Facts {
        name: name.to_string_lossy().into_owned(),
        memory_bytes: memory as u64,
        max_buffer_bytes: memory as u64,
        local_memory_bytes: local.max(most_local.unwrap_or_default()) as u64,
        compute_units: u32::try_from(units).unwrap_or(u32::MAX),
        max_work_group_size: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        max_work_item_sizes: [
            number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
            number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
            number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
        ],
        uuid: has_uuid.then(|| bytemuck::cast(uuid.bytes)),
        pci_address: pci_address.map(|address| address.to_string_lossy().to_lowercase()),
        ..abilities.facts(driver)
    })
}

/// The attributes that determine a device's aspects.
#[derive(Default)]
struct Abilities {
    /// The compute capability: 90 for `sm_90`.
    sm: u32,
    managed: bool,
    pageable: bool,
    host_memory: bool,
    /// Whether the bus between device and host supports atomic operations.
    host_atomics: bool,
}

impl Abilities {
    /// Returns the facts that follow from these attributes and the driver's version.
    fn facts(&self, driver: c_int) -> Facts {
        let driver = u32::try_from(driver).unwrap_or_default();
        let ptx = Version::of_driver(driver);
        let version = format!("CUDA {}.{}", driver / 1000, driver % 1000 / 10);
        Facts {
            vendor: "NVIDIA Corporation".to_owned(),
            platform: "NVIDIA CUDA".to_owned(),
            driver_version: version.clone(),
            version,
            kind: DeviceKind::Gpu,
            debug_info: true,
            queues: QueueAbilities {
                out_of_order: true,
                profiling: true,
            },
            work_group_functions: true,
            buffer_alignment: 1,
            // The minimum alignment of every allocation (CUDA C Programming Guide, "Device Memory Accesses").
            least_alignment: 256,
            has_addresses: true,
            sub_group_sizes: vec![WARP],
            aspects: self.aspects(),
            architecture: Architecture::from_name(&format!("nvidia_gpu_sm_{}", self.sm)),
            ptx: Some(PtxFacts {
                sm: self.sm,
                ptx: ptx.map_or((0, 0), |version| (version.major, version.minor)),
                driver,
            }),
            ..Facts::default()
        }
    }

    /// Returns the SYCL aspects that every supported NVIDIA GPU provides, and those that the attributes imply. Omits
    /// CUDA features that this crate does not support.
    fn aspects(&self) -> BTreeSet<Aspect> {
        // Since compute capability 6.0, atomic operations are atomic with respect to the host and other devices, too. In
        // host memory, this also depends on the bus.
        let atomics = self.sm >= 60;
        let (host, managed) = (self.host_memory, self.managed);
        let host_atomics = host && atomics && self.host_atomics;
        held_aspects([
            (Aspect::GPU, true),
            (Aspect::FP16, self.sm >= 53),
            (Aspect::FP64, true),
            (Aspect::INT64_BASE_ATOMICS, true),
            (Aspect::INT64_EXTENDED_ATOMICS, true),
            (Aspect::ATOMIC64, atomics),
            (Aspect::ONLINE_COMPILER, true),
            (Aspect::ONLINE_LINKER, true),
            (Aspect::QUEUE_PROFILING, true),
            (Aspect::USM_DEVICE_ALLOCATIONS, true),
            (Aspect::USM_HOST_ALLOCATIONS, host),
            (Aspect::USM_ATOMIC_HOST_ALLOCATIONS, host_atomics),
            (Aspect::USM_SHARED_ALLOCATIONS, managed),
            (Aspect::USM_RESTRICTED_SHARED_ALLOCATIONS, managed),
            (Aspect::USM_ATOMIC_SHARED_ALLOCATIONS, managed && atomics),
            (Aspect::USM_SYSTEM_ALLOCATIONS, self.pageable),
            (Aspect::EXT_ONEAPI_NATIVE_ASSERT, true),
            (Aspect::EXT_ONEAPI_FRAGMENT, true),
            (Aspect::EXT_ONEAPI_CHUNK, true),
            (Aspect::EXT_ONEAPI_TANGLE, true),
            (Aspect::EXT_ONEAPI_CUDA_ASYNC_BARRIER, self.sm >= 80),
            (Aspect::EXT_ONEAPI_CUDA_CLUSTER_GROUP, self.sm >= 90),
        ])
    }
}

/// Returns the driver's name for an error, such as `CUDA_ERROR_OUT_OF_MEMORY`.
pub(crate) fn error_name(code: c_int) -> &'static str {
    let functions = FUNCTIONS.get().map(|(_, functions)| functions);
    let mut name = std::ptr::null();
    if let (Some(functions), Ok(code)) = (functions, CUresult::try_from(code)) {
        // SAFETY: the call writes one pointer through a valid pointer.
        unsafe { (functions.cuGetErrorName.pass())(code, &raw mut name) };
    }
    if name.is_null() {
        return "an unknown error";
    }
    // SAFETY: the driver returns static, NUL-terminated names.
    unsafe { CStr::from_ptr(name) }
        .to_str()
        .unwrap_or("an unknown error")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compute_capability_determines_architecture_and_aspects() {
        let abilities = |sm| Abilities {
            sm,
            managed: true,
            ..Abilities::default()
        };
        let facts = abilities(90).facts(12_040);
        let architecture = facts.architecture.and_then(Architecture::name);
        assert_eq!(architecture, Some("nvidia_gpu_sm_90"));
        assert_eq!(facts.version, "CUDA 12.4");
        let expected = PtxFacts {
            sm: 90,
            ptx: (8, 4),
            driver: 12_040,
        };
        assert_eq!(facts.ptx, Some(expected));
        assert!(
            facts
                .aspects
                .contains(&Aspect::EXT_ONEAPI_CUDA_CLUSTER_GROUP)
        );
        assert!(
            facts
                .aspects
                .contains(&Aspect::USM_ATOMIC_SHARED_ALLOCATIONS)
        );
        assert!(!facts.aspects.contains(&Aspect::USM_HOST_ALLOCATIONS));
        let old = abilities(50).facts(11_080);
        assert_eq!(old.version, "CUDA 11.8");
        for aspect in [Aspect::FP16, Aspect::ATOMIC64, Aspect::IMAGE] {
            assert!(!old.aspects.contains(&aspect), "{aspect}");
        }
    }

    #[test]
    fn aspects_begin_with_their_compute_capability() {
        for (aspect, first) in [
            (Aspect::FP16, 53),
            (Aspect::ATOMIC64, 60),
            (Aspect::EXT_ONEAPI_CUDA_ASYNC_BARRIER, 80),
            (Aspect::EXT_ONEAPI_CUDA_CLUSTER_GROUP, 90),
        ] {
            let holds = |sm| {
                let abilities = Abilities {
                    sm,
                    ..Abilities::default()
                };
                abilities.facts(12_040).aspects.contains(&aspect)
            };
            assert!(!holds(first - 1) && holds(first) && holds(120), "{aspect}");
        }
    }

    #[test]
    fn shared_atomics_need_managed_memory() {
        let holds = |sm, managed| {
            let abilities = Abilities {
                sm,
                managed,
                ..Abilities::default()
            };
            let aspects = abilities.facts(12_040).aspects;
            assert_eq!(aspects.contains(&Aspect::USM_SHARED_ALLOCATIONS), managed);
            aspects.contains(&Aspect::USM_ATOMIC_SHARED_ALLOCATIONS)
        };
        assert!(holds(90, true));
        assert!(!holds(90, false) && !holds(50, true));
    }

    #[test]
    fn host_atomics_need_support_of_the_bus() {
        let holds = |sm, host_atomics| {
            let abilities = Abilities {
                sm,
                host_memory: true,
                host_atomics,
                ..Abilities::default()
            };
            let aspects = abilities.facts(12_040).aspects;
            assert!(aspects.contains(&Aspect::USM_HOST_ALLOCATIONS));
            aspects.contains(&Aspect::USM_ATOMIC_HOST_ALLOCATIONS)
        };
        assert!(holds(90, true));
        assert!(!holds(90, false) && !holds(50, true));
    }

    #[test]
    fn driver_loads_once_or_says_why_not() {
        match Library::load() {
            Ok(library) => {
                assert!(library.version > 0);
                assert!(std::ptr::eq(library, Library::load().unwrap()));
            }
            Err(error) => {
                let reason = error.to_string();
                assert!(!reason.is_empty() && !reason.ends_with('.'), "{reason}");
            }
        }
    }
}
