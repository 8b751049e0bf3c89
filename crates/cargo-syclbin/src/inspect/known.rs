// SPDX-License-Identifier: MIT OR Apache-2.0
//! The meaning of a module's property sets, in the report's terms.
//!
//! A property with a meaningless value is reported, and the view that it belongs to is left out. The rest of the
//! file still shows.

use std::collections::BTreeSet;

use serde::Serialize;
use syclbin::metadata::{
    self, ArgumentMask, DeviceRequirements, Dimensions, HostPipe, Malformed, MiscProperties, Named,
    ProgramMetadata, Records, SpecializationConstants, VirtualFunctions, without_run_prefix,
};
use syclbin::property::set;
use syclbin::{Aspect, PropertySets};
use syclbin_toolchain::store::hex;

use super::Kernel;

/// Every set whose meaning is known.
const KNOWN: [&str; 26] = [
    set::GLOBAL,
    set::IR_MODULE,
    set::NATIVE_IMAGE,
    set::KERNEL_NAMES,
    set::KERNEL_PARAM_OPT,
    set::DEVICE_REQUIREMENTS,
    set::IMPORTED_SYMBOLS,
    set::EXPORTED_SYMBOLS,
    set::SPECIALIZATION_CONSTANTS,
    set::SPECIALIZATION_DEFAULTS,
    set::SPECIALIZATION_SET_VALUES,
    set::DEVICELIB_REQ_MASK,
    set::DEVICELIB_METADATA,
    set::PROGRAM_METADATA,
    set::MISC_PROPERTIES,
    set::ASSERT_USED,
    set::DEVICE_GLOBALS,
    set::HOST_PIPES,
    set::VIRTUAL_FUNCTIONS,
    set::IMPLICIT_LOCAL_ARG,
    set::DYNAMIC_LOCAL_MEMORY,
    set::REGISTERED_KERNELS,
    set::KERNELS,
    set::VARIABLES,
    set::SOURCES,
    set::PLACEHOLDER,
];

/// Returns whether the meaning of the set called `name` is known.
pub(super) fn is_known(name: &str) -> bool {
    KNOWN.contains(&name)
}

/// The requirements on a device.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Requirements {
    /// The required aspects.
    pub aspects: Vec<RequiredAspect>,
    /// The only work-group size that the kernels run with, in SYCL's order.
    pub required_work_group_size: Option<Vec<u64>>,
    /// The only sub-group size that the kernels run with.
    pub required_sub_group_size: Option<u32>,
    /// The aspects of `-fsycl-fixed-targets`, of which a device must have one.
    pub fixed_targets: Vec<u32>,
    /// The required target or architecture, such as `intel_gpu_pvc`.
    pub compile_target: Option<String>,
    /// The required matrices: type, use, rows and columns of each.
    pub matrices: Vec<Vec<String>>,
    /// The required matrix products: types of A, B, C and D, then M, K and N.
    pub matrix_products: Vec<Vec<String>>,
    /// The number of dimensions of launches, where it is not three.
    pub dimensions: Option<usize>,
    /// The sets of virtual functions that the code calls, which other modules may define.
    pub virtual_functions: Vec<String>,
    /// The sets of virtual functions that the code defines for others.
    pub defined_virtual_functions: Vec<String>,
    /// The pipes between host and device, by their unique identifiers.
    pub host_pipes: Vec<String>,
    /// The sanitizer that the code reports to: `asan`, `msan` or `tsan`.
    pub sanitizer: Option<String>,
}

/// A required capability of a device.
#[derive(Clone, Debug, Serialize)]
pub struct RequiredAspect {
    /// Its number in SYCL's enumeration.
    pub number: u32,
    /// Its name, if known.
    pub name: Option<&'static str>,
}

/// How the code was compiled.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Build {
    /// The optimization level, 0 to 3.
    pub optimization_level: Option<u32>,
    /// Whether it is code of the explicit-SIMD extension.
    pub esimd: bool,
    /// The number of registers of a thread of an Intel GPU; 0 is automatic.
    pub register_count: Option<u32>,
    /// Whether specialization constants were replaced by their defaults.
    pub specialized_with_defaults: bool,
}

/// A constant that can be set before the code is compiled for a device.
#[derive(Clone, Debug, Serialize)]
pub struct SpecializationConstant {
    /// Its symbolic name.
    pub name: String,
    /// Its size in bytes, gaps and padding included.
    pub size: u64,
    /// Its scalars.
    pub scalars: Vec<SpecializationScalar>,
    /// Its default value, in hexadecimal.
    pub default: Option<String>,
}

/// A scalar of a specialization constant.
#[derive(Clone, Debug, Serialize)]
pub struct SpecializationScalar {
    /// Its number in the code.
    pub id: u32,
    /// Its offset in the constant, in bytes.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
}

/// A variable that stays in the device's memory between launches.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceGlobal {
    /// Its unique name.
    pub name: String,
    /// Its name in the code.
    pub symbol: Option<String>,
    /// Its size in bytes.
    pub size: u32,
    /// Whether the value is stored in the variable itself, so that each image has its own value.
    pub image_scope: bool,
}

/// The views of a module.
#[derive(Debug, Default)]
pub(super) struct Views {
    requirements: DeviceRequirements,
    misc: MiscProperties,
    program: ProgramMetadata,
    masks: Named<ArgumentMask>,
    specialization: SpecializationConstants,
    globals: Named<metadata::DeviceGlobal>,
    pipes: Named<HostPipe>,
    virtual_functions: VirtualFunctions,
    /// Properties with meaningless values.
    pub(super) problems: Vec<String>,
}

impl Views {
    pub(super) fn of(sets: &PropertySets<'_>) -> Self {
        let mut problems = Vec::new();
        Self {
            requirements: told(DeviceRequirements::read(sets), &mut problems),
            misc: told(MiscProperties::read(sets), &mut problems),
            program: told(ProgramMetadata::read(sets), &mut problems),
            masks: told(Named::read(sets, set::KERNEL_PARAM_OPT), &mut problems),
            specialization: told(SpecializationConstants::read(sets), &mut problems),
            globals: told(Named::read(sets, set::DEVICE_GLOBALS), &mut problems),
            pipes: told(Named::read(sets, set::HOST_PIPES), &mut problems),
            virtual_functions: told(VirtualFunctions::read(sets), &mut problems),
            problems,
        }
    }

    pub(super) fn requirements(&self) -> Requirements {
        let needs = &self.requirements;
        let aspect = |aspect: &Aspect| RequiredAspect {
            number: aspect.number(),
            name: aspect.name(),
        };
        let Records(matrices) = needs.matrices.clone();
        let Records(matrix_products) = needs.matrix_products.clone();
        Requirements {
            aspects: needs.aspects.iter().map(aspect).collect(),
            required_work_group_size: needs.work_group_sycl(),
            required_sub_group_size: needs.sub_group,
            fixed_targets: needs.fixed_targets.clone(),
            compile_target: needs.compile_target.clone(),
            matrices,
            matrix_products,
            dimensions: needs.dimensions.map(Dimensions::get),
            virtual_functions: self.virtual_functions.uses.0.clone(),
            defined_virtual_functions: self.virtual_functions.defines.0.clone(),
            host_pipes: self.pipes.names().map(str::to_owned).collect(),
            sanitizer: self.misc.sanitizer.as_ref().map(ToString::to_string),
        }
    }

    pub(super) fn build(&self) -> Build {
        Build {
            optimization_level: self.misc.opt_level,
            esimd: self.misc.esimd.unwrap_or(false),
            register_count: self.misc.grf_size,
            specialized_with_defaults: self.misc.specialized_with_defaults.unwrap_or(false),
        }
    }

    pub(super) fn specialization_constants(&self) -> Vec<SpecializationConstant> {
        // `read` has already computed the layout without an error.
        let layout = self.specialization.layout().unwrap_or_default();
        let defaults = self.specialization.defaults.as_deref();
        layout
            .iter()
            .map(|(name, place)| SpecializationConstant {
                name: name.to_owned(),
                size: place.size as u64,
                scalars: place
                    .leaves
                    .iter()
                    .map(|leaf| SpecializationScalar {
                        id: leaf.id,
                        offset: (leaf.start - place.start) as u64,
                        size: leaf.size as u64,
                    })
                    .collect(),
                default: defaults
                    .and_then(|values| values.get(place.start..)?.get(..place.size))
                    .map(hex),
            })
            .collect()
    }

    pub(super) fn device_globals(&self) -> Vec<DeviceGlobal> {
        // The reference runtime may write a name twice, once with a prefix that differs per run.
        let mut seen = BTreeSet::new();
        let globals = self.globals.iter();
        globals
            .map(|(name, global)| (without_run_prefix(name), global))
            .filter(|(name, _)| seen.insert(*name))
            .map(|(name, global)| DeviceGlobal {
                name: name.to_owned(),
                symbol: self.program.global_names.get(name).cloned(),
                size: global.size,
                image_scope: global.image_scope,
            })
            .collect()
    }

    /// Fills in the launch requirements of `kernel`.
    pub(super) fn complete(&self, kernel: &mut Kernel) {
        if let Some(sizes) = self.program.kernels.get(&kernel.symbol) {
            kernel.required_work_group_size = sizes.required_sycl();
            kernel.maximum_work_group_size = sizes.maximum_sycl();
            kernel.work_group_dimensions = sizes.dimensions.map(Dimensions::get);
            kernel.required_sub_group_size = sizes.required_sub_group;
        }
        if let Some(mask) = self.masks.get(&kernel.symbol) {
            let removed = mask.removed.iter().enumerate();
            kernel.eliminated_arguments = removed
                .filter_map(|(index, removed)| removed.then_some(index))
                .collect();
        }
    }
}

/// Returns a view. If it is malformed, returns the default and records the problem.
fn told<T: Default>(view: Result<T, Malformed>, problems: &mut Vec<String>) -> T {
    view.unwrap_or_else(|problem| {
        problems.push(problem.to_string());
        T::default()
    })
}
