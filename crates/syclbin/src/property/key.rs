// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names of property keys, as spelled in files.

/// [`State`](crate::State), in [`GLOBAL`](super::set::GLOBAL).
pub const STATE: &str = "state";
/// [`IrType`](crate::IrType), in [`IR_MODULE`](super::set::IR_MODULE).
pub const TYPE: &str = "type";
/// A target triple, in [`IR_MODULE`](super::set::IR_MODULE) and [`NATIVE_IMAGE`](super::set::NATIVE_IMAGE).
pub const TARGET: &str = "target";
/// An architecture, in [`NATIVE_IMAGE`](super::set::NATIVE_IMAGE).
pub const ARCH: &str = "arch";
/// The numbers of the required aspects, in [`DEVICE_REQUIREMENTS`](super::set::DEVICE_REQUIREMENTS).
pub const ASPECTS: &str = "aspects";
/// The numbers of the permitted targets, in [`DEVICE_REQUIREMENTS`](super::set::DEVICE_REQUIREMENTS).
pub const FIXED_TARGET: &str = "fixed_target";
/// A work-group size as 64-bit numbers, in [`DEVICE_REQUIREMENTS`](super::set::DEVICE_REQUIREMENTS).
pub const REQD_WORK_GROUP_SIZE_64: &str = "reqd_work_group_size_uint64_t";
/// A work-group size as 32-bit numbers, in [`DEVICE_REQUIREMENTS`](super::set::DEVICE_REQUIREMENTS) from old
/// compilers, and in [`PROGRAM_METADATA`](super::set::PROGRAM_METADATA) as `KERNEL@reqd_work_group_size`.
pub const REQD_WORK_GROUP_SIZE: &str = "reqd_work_group_size";
/// The number of dimensions of a kernel, in the same sets as [`REQD_WORK_GROUP_SIZE`].
pub const WORK_GROUP_NUM_DIM: &str = "work_group_num_dim";
/// A sub-group size, in the same sets as [`REQD_WORK_GROUP_SIZE`].
pub const REQD_SUB_GROUP_SIZE: &str = "reqd_sub_group_size";
/// A work-group size limit for each dimension, in [`PROGRAM_METADATA`](super::set::PROGRAM_METADATA) as
/// `KERNEL@max_work_group_size`.
pub const MAX_WORK_GROUP_SIZE: &str = "max_work_group_size";
/// A limit on the number of work-items in a work-group, in [`PROGRAM_METADATA`](super::set::PROGRAM_METADATA) as
/// `KERNEL@max_linear_work_group_size`.
pub const MAX_LINEAR_WORK_GROUP_SIZE: &str = "max_linear_work_group_size";
/// The name that the code uses for a device global, in [`PROGRAM_METADATA`](super::set::PROGRAM_METADATA) as
/// `GLOBAL@global_id_mapping`.
pub const GLOBAL_ID_MAPPING: &str = "global_id_mapping";
/// The required matrix types, in [`DEVICE_REQUIREMENTS`](super::set::DEVICE_REQUIREMENTS).
pub const JOINT_MATRIX: &str = "joint_matrix";
/// The required matrix multiplications, in [`DEVICE_REQUIREMENTS`](super::set::DEVICE_REQUIREMENTS).
pub const JOINT_MATRIX_MAD: &str = "joint_matrix_mad";
/// The required architecture or target, in [`DEVICE_REQUIREMENTS`](super::set::DEVICE_REQUIREMENTS).
pub const COMPILE_TARGET: &str = "compile_target";
/// The only key of the sets with specialization constant values.
pub const ALL: &str = "all";
/// The only key of [`DEVICELIB_REQ_MASK`](super::set::DEVICELIB_REQ_MASK).
pub const DEVICELIB_REQ_MASK: &str = "DeviceLibReqMask";
/// The only key of [`DEVICELIB_METADATA`](super::set::DEVICELIB_METADATA).
pub const BFLOAT16: &str = "bfloat16";
/// Whether the code uses explicit SIMD, in [`MISC_PROPERTIES`](super::set::MISC_PROPERTIES).
pub const IS_ESIMD_IMAGE: &str = "isEsimdImage";
/// The register allocation mode, in [`MISC_PROPERTIES`](super::set::MISC_PROPERTIES) from old compilers.
pub const REGISTER_ALLOC_MODE: &str = "sycl-register-alloc-mode";
/// The number of registers per thread, in [`MISC_PROPERTIES`](super::set::MISC_PROPERTIES).
pub const GRF_SIZE: &str = "sycl-grf-size";
/// The optimization level, in [`MISC_PROPERTIES`](super::set::MISC_PROPERTIES).
pub const OPT_LEVEL: &str = "optLevel";
/// The sanitizer that the code is instrumented for, in [`MISC_PROPERTIES`](super::set::MISC_PROPERTIES).
pub const SAN_USED: &str = "sanUsed";
/// Whether specialization constants were replaced with defaults, in [`MISC_PROPERTIES`](super::set::MISC_PROPERTIES).
pub const SPEC_CONSTS_REPLACED: &str = "specConstsReplacedWithDefault";
/// The integer type that every work-item id is assumed to fit into, in
/// [`MISC_PROPERTIES`](super::set::MISC_PROPERTIES).
pub const ID_QUERIES_RANGE: &str = "idQueriesRange";
/// The driver's compile options, in [`BUILD_OPTIONS`](super::set::BUILD_OPTIONS).
pub const COMPILE: &str = "compile";
/// The driver's link options, in [`BUILD_OPTIONS`](super::set::BUILD_OPTIONS).
pub const LINK: &str = "link";
/// The sets whose virtual functions the module defines, in [`VIRTUAL_FUNCTIONS`](super::set::VIRTUAL_FUNCTIONS).
pub const VIRTUAL_FUNCTIONS_SET: &str = "virtual-functions-set";
/// The sets whose virtual functions the module calls, in [`VIRTUAL_FUNCTIONS`](super::set::VIRTUAL_FUNCTIONS).
pub const USES_VIRTUAL_FUNCTIONS_SET: &str = "uses-virtual-functions-set";
