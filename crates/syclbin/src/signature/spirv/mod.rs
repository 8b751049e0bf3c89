//! Reads what a SPIR-V module says of its kernels. It walks over the module's words and skips what it does
//! not know, because real modules use Intel's extensions. Numbers and names are those of the SPIR-V
//! specification, section 3.

pub(crate) mod types;
#[doc(hidden)]
pub mod words;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::types::Scalar;
use crate::error::Error;
pub use types::TypeId;
use types::{Record, TypeTable};
pub use words::MAGIC_BYTES;
use words::{
    DECORATION_ALIGNMENT, DECORATION_CPACKED, DECORATION_LINKAGE_ATTRIBUTES, DECORATION_SPEC_ID,
    Instruction, LINKAGE_EXPORT, LINKAGE_IMPORT, error, instructions, op, string, words,
};

/// The prefixes that DPC++ puts before the names of a kernel's parameters: for a function and for a functor.
pub(super) const PARAMETER_PREFIXES: [&str; 2] = ["__arg_", "_arg_"];

const EXECUTION_MODEL_KERNEL: u32 = 6;
const EXECUTION_MODE_LOCAL_SIZE: u32 = 17;
const DECORATION_BUILT_IN: u32 = 11;
const DECORATION_FUNC_PARAM_ATTR: u32 = 38;
/// `HostAccessINTEL`, of `SPV_INTEL_global_variable_decorations` and of its successor.
const DECORATIONS_HOST_ACCESS: [u32; 2] = [6147, 6188];
/// `LinkOnceODR`, of `SPV_KHR_linkonce_odr`.
const LINKAGE_LINK_ONCE: u32 = 2;

/// `FuncParamAttr` values.
const ATTRIBUTE_ZEXT: u32 = 0;
const ATTRIBUTE_SEXT: u32 = 1;
const ATTRIBUTE_BY_VAL: u32 = 2;
const ATTRIBUTE_NO_WRITE: u32 = 6;

/// Storage classes.
const STORAGE_WORKGROUP: u32 = 4;
const STORAGE_CROSS_WORKGROUP: u32 = 5;

/// A module, reduced to what signatures need.
#[derive(Debug, Default)]
pub struct Module {
    names: BTreeMap<u32, String>,
    pub(super) strings: BTreeMap<u32, String>,
    pub(super) constants: BTreeMap<u32, u32>,
    /// The same, for constants of 64 bits.
    pub(super) wide_constants: BTreeMap<u32, u64>,
    packed: BTreeSet<u32>,
    pub(super) types: TypeTable,
    alignments: BTreeMap<u32, u32>,
    attributes: BTreeMap<u32, Vec<u32>>,
    entry_points: Vec<(u32, String)>,
    entry_functions: BTreeSet<u32>,
    /// The first function of each name: a hostile module may have a hundred thousand of them.
    entry_names: BTreeMap<String, u32>,
    functions: BTreeMap<u32, Vec<(u32, u32)>>,
    parameter_ids: BTreeSet<u32>,
    /// x, y and z, by the function.
    local_sizes: BTreeMap<u32, [u32; 3]>,
    /// Their types: pointers.
    variables: BTreeMap<u32, u32>,
    /// The first variable of each name that the host knows it by.
    host_names: BTreeMap<String, u32>,
    /// The `SpecId` of constants.
    spec_ids: BTreeMap<u32, u32>,
    /// Types of specialization constants by `SpecId`; the first that has it counts.
    spec_constants: BTreeMap<u32, TypeId>,
    imports: Vec<(u32, String)>,
    exports: Vec<String>,
    weak_exports: Vec<String>,
    built_ins: BTreeSet<u32>,
    /// The functions that something calls.
    called: BTreeSet<u32>,
    instruction_sets: BTreeMap<u32, String>,
    /// Instructions of extended sets: result, set, number, operands.
    pub(super) extended: Vec<Extended>,
}

#[derive(Debug)]
pub(super) struct Extended {
    pub(super) result: u32,
    pub(super) set: u32,
    pub(super) instruction: u32,
    pub(super) operands: Vec<u32>,
}

/// One parameter of a kernel, as the module declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name, where the compiler kept it; DPC++'s prefixes are taken off.
    pub name: Option<String>,
    /// Its type.
    pub ty: ParameterType,
    /// What the address of a pointer, or of a value passed by address, must be a multiple of. This is the
    /// alignment of the C++ type, where the compiler gives it and it is more than 1.
    pub align: Option<u32>,
}

/// The type of a kernel's parameter. SPIR-V for kernels has no signed and unsigned integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterType {
    /// An integer of this many bits; whether it is signed is known where it is extended.
    Int {
        /// 8, 16, 32 or 64.
        bits: u32,
        /// `Some(true)` where it is sign-extended, `Some(false)` where it is zero-extended.
        signed: Option<bool>,
    },
    /// A floating-point number of this many bits.
    Float {
        /// 16, 32 or 64.
        bits: u32,
    },
    /// A pointer to global memory.
    GlobalPointer {
        /// What it points to, as far as the kernel uses it: bytes where it never does.
        pointee: TypeId,
        /// The kernel never writes through it.
        no_write: bool,
    },
    /// A pointer to memory of the work-group. A pointer to an array tells how much there is.
    LocalPointer {
        /// What it points to.
        pointee: TypeId,
    },
    /// A struct, passed by value.
    ByValue {
        /// What is passed.
        ty: TypeId,
    },
    /// A sampler.
    Sampler,
    /// Something else.
    Other,
}

impl Module {
    /// Reads a module.
    ///
    /// # Errors
    ///
    /// When the bytes are not SPIR-V (little-endian, as every known compiler writes it) or an instruction
    /// does not fit. The error has the offset of the instruction.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let words = words(bytes)?;
        let mut module = Self::default();
        let mut function = None;
        for instruction in instructions(&words) {
            let Instruction {
                at,
                opcode,
                operands,
            } = instruction?;
            // Parameters that share an id would share its name and attributes, so a small file could mean a
            // huge one.
            if opcode == op::FUNCTION_PARAMETER
                && operands
                    .get(1)
                    .is_some_and(|id| !module.parameter_ids.insert(*id))
            {
                return Err(error(at, "a parameter has the id of another"));
            }
            module
                .instruction(opcode, operands, &mut function)
                .ok_or_else(|| error(at, "an instruction has too few operands"))?;
        }
        for &(id, ty) in module.functions.values().flatten() {
            let by_value = module.attributes.get(&id);
            if let Some(Record::Pointer { pointee, .. }) = module.types.get(ty)
                && let Some(align) = module.alignments.get(&id)
                && by_value.is_some_and(|attributes| attributes.contains(&ATTRIBUTE_BY_VAL))
            {
                module.types.align(*pointee, *align);
            }
        }
        Ok(module)
    }

    fn instruction(&mut self, opcode: u16, w: &[u32], function: &mut Option<u32>) -> Option<()> {
        match opcode {
            op::NAME => {
                self.names.insert(*w.first()?, string(w.get(1..)?).0);
            }
            op::STRING => {
                self.strings.insert(*w.first()?, string(w.get(1..)?).0);
            }
            op::EXT_INST_IMPORT => {
                let name = string(w.get(1..)?).0;
                self.instruction_sets.insert(*w.first()?, name);
            }
            op::EXT_INST => self.extended.push(Extended {
                result: *w.get(1)?,
                set: *w.get(2)?,
                instruction: *w.get(3)?,
                operands: w.get(4..)?.to_vec(),
            }),
            op::ENTRY_POINT if *w.first()? == EXECUTION_MODEL_KERNEL => {
                // The first name of a function counts: thousands for one function would make a
                // small file mean a huge one.
                let id = *w.get(1)?;
                if self.entry_functions.insert(id) {
                    let name = string(w.get(2..)?).0;
                    self.entry_names.entry(name.clone()).or_insert(id);
                    self.entry_points.push((id, name));
                }
            }
            op::EXECUTION_MODE if w.get(1) == Some(&EXECUTION_MODE_LOCAL_SIZE) => {
                let size = [*w.get(2)?, *w.get(3)?, *w.get(4)?];
                self.local_sizes.entry(*w.first()?).or_insert(size);
            }
            op::TYPE_BOOL => self.types.add(*w.first()?, Record::Bool),
            op::TYPE_INT => self.types.add(*w.first()?, Record::Int(*w.get(1)?)),
            op::TYPE_FLOAT => self.types.add(*w.first()?, Record::Float(*w.get(1)?)),
            op::TYPE_POINTER => {
                let (storage, pointee) = (*w.get(1)?, *w.get(2)?);
                let record = Record::Pointer { storage, pointee };
                self.types.add(*w.first()?, record);
            }
            op::TYPE_SAMPLER => self.types.add(*w.first()?, Record::Sampler),
            op::TYPE_VECTOR => {
                let (of, count) = (*w.get(1)?, *w.get(2)?);
                self.types.add(*w.first()?, Record::Vector { of, count });
            }
            op::TYPE_ARRAY => {
                let (of, count) = (*w.get(1)?, self.wide_constants.get(w.get(2)?).copied());
                self.types.add(*w.first()?, Record::Array { of, count });
            }
            op::TYPE_STRUCT => {
                let id = *w.first()?;
                let members = w.get(1..)?.to_vec();
                let packed = self.packed.contains(&id);
                self.types.add(id, Record::Struct { members, packed });
            }
            op::CONSTANT => {
                self.constants.insert(*w.get(1)?, *w.get(2)?);
                let high = w.get(3).copied().unwrap_or(0);
                let value = u64::from(high) << 32 | u64::from(*w.get(2)?);
                self.wide_constants.insert(*w.get(1)?, value);
            }
            op::SPEC_CONSTANT_TRUE | op::SPEC_CONSTANT_FALSE | op::SPEC_CONSTANT => {
                if let Some(id) = self.spec_ids.get(w.get(1)?) {
                    let ty = TypeId(*w.first()?);
                    self.spec_constants.entry(*id).or_insert(ty);
                }
            }
            op::VARIABLE => {
                self.variables.insert(*w.get(1)?, *w.first()?);
            }
            op::FUNCTION => {
                *function = Some(*w.get(1)?);
                self.functions.insert(*w.get(1)?, Vec::new());
            }
            op::FUNCTION_CALL => {
                self.called.insert(*w.get(2)?);
            }
            op::FUNCTION_PARAMETER => {
                let parameter = (*w.get(1)?, *w.first()?);
                if let Some(parameters) = function.and_then(|id| self.functions.get_mut(&id)) {
                    parameters.push(parameter);
                }
            }
            op::DECORATE => self.decorate(*w.first()?, *w.get(1)?, w.get(2..)?)?,
            _ => {}
        }
        Some(())
    }

    fn decorate(&mut self, target: u32, decoration: u32, operands: &[u32]) -> Option<()> {
        match decoration {
            DECORATION_SPEC_ID => {
                self.spec_ids.insert(target, *operands.first()?);
            }
            _ if DECORATIONS_HOST_ACCESS.contains(&decoration) => {
                let name = string(operands.get(1..).unwrap_or_default()).0;
                self.host_names.entry(name).or_insert(target);
            }
            DECORATION_BUILT_IN => {
                self.built_ins.insert(target);
            }
            DECORATION_CPACKED => {
                self.packed.insert(target);
            }
            DECORATION_ALIGNMENT => {
                self.alignments.insert(target, *operands.first()?);
            }
            DECORATION_FUNC_PARAM_ATTR => {
                let attributes = self.attributes.entry(target).or_default();
                attributes.push(*operands.first()?);
            }
            DECORATION_LINKAGE_ATTRIBUTES => {
                let (name, rest) = string(operands);
                match *rest.first()? {
                    LINKAGE_IMPORT => self.imports.push((target, name)),
                    LINKAGE_EXPORT => self.exports.push(name),
                    LINKAGE_LINK_ONCE => self.weak_exports.push(name),
                    _ => {}
                }
            }
            _ => {}
        }
        Some(())
    }

    /// Returns the symbols of the kernels, in the order of the module.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.entry_points.iter().map(|(_, name)| name.as_str())
    }

    /// The symbols of the kernels, each once.
    pub(super) fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.entry_names.keys().map(String::as_str)
    }

    /// Returns the parameters of `kernel`, or `None` if the module does not have it.
    #[must_use]
    pub fn parameters(&self, kernel: &str) -> Option<Vec<Parameter>> {
        let parameters = self.functions.get(self.entry_names.get(kernel)?)?;
        Some(
            parameters
                .iter()
                .map(|&(id, ty)| Parameter {
                    name: self.names.get(&id).map(|name| parameter_name(name)),
                    ty: self.parameter_type(id, ty),
                    align: self.alignment(id),
                })
                .collect(),
        )
    }

    fn alignment(&self, id: u32) -> Option<u32> {
        let align = self.alignments.get(&id).copied();
        align.filter(|align| *align > 1 && align.is_power_of_two())
    }

    fn parameter_type(&self, id: u32, ty: u32) -> ParameterType {
        let attributes = self.attributes.get(&id).map_or(&[][..], Vec::as_slice);
        let has = |attribute| attributes.contains(&attribute);
        match self.types.get(ty) {
            Some(Record::Pointer { pointee, .. }) if has(ATTRIBUTE_BY_VAL) => {
                ParameterType::ByValue {
                    ty: TypeId(*pointee),
                }
            }
            Some(Record::Int(bits)) => ParameterType::Int {
                bits: *bits,
                signed: match (has(ATTRIBUTE_SEXT), has(ATTRIBUTE_ZEXT)) {
                    (true, false) => Some(true),
                    (false, true) => Some(false),
                    _ => None,
                },
            },
            Some(Record::Float(bits)) => ParameterType::Float { bits: *bits },
            Some(Record::Pointer { storage, pointee }) => match *storage {
                STORAGE_CROSS_WORKGROUP => ParameterType::GlobalPointer {
                    pointee: TypeId(*pointee),
                    no_write: has(ATTRIBUTE_NO_WRITE),
                },
                STORAGE_WORKGROUP => ParameterType::LocalPointer {
                    pointee: TypeId(*pointee),
                },
                _ => ParameterType::Other,
            },
            Some(Record::Sampler) => ParameterType::Sampler,
            _ => ParameterType::Other,
        }
    }

    /// Returns the only size of work-groups of `kernel`: work-items along x, y and z.
    pub(super) fn local_size(&self, kernel: &str) -> Option<[u32; 3]> {
        let function = self.entry_names.get(kernel)?;
        self.local_sizes.get(function).copied()
    }

    /// The names that the host knows variables by, and their ids.
    pub(super) fn host_names(&self) -> impl Iterator<Item = (&str, u32)> {
        self.host_names
            .iter()
            .map(|(name, id)| (name.as_str(), *id))
    }

    /// The type of the variable that the host knows as `name`.
    pub(super) fn host_variable(&self, name: &str) -> Option<TypeId> {
        let ty = self.variables.get(self.host_names.get(name)?)?;
        match self.types.get(*ty)? {
            Record::Pointer { pointee, .. } => Some(TypeId(*pointee)),
            _ => None,
        }
    }

    /// Returns the type of the specialization constant with that `SpecId`, if the code has it. For a number,
    /// the result also says whether its sign is known.
    pub(super) fn spec_constant(&self, id: u32) -> Option<Option<(Scalar, bool)>> {
        Some(match self.types.get(self.spec_constants.get(&id)?.0)? {
            Record::Bool => Some((Scalar::Bool, true)),
            Record::Int(bits) => Scalar::integer(*bits, true).map(|scalar| (scalar, false)),
            Record::Float(bits) => Scalar::float(*bits).map(|scalar| (scalar, true)),
            _ => None,
        })
    }

    /// Returns the module's name for the type, such as `struct.Particle`.
    pub(super) fn type_name(&self, ty: TypeId) -> &str {
        self.names.get(&ty.0).map_or("", String::as_str)
    }

    /// Returns the symbols that the module calls or reads and does not have. SPIR-V's built-in variables are
    /// left out: they are declared as imports too, but the driver has them. So are LLVM's intrinsics that the
    /// compiler has replaced, such as `llvm.memmove.p1.p1.i64`: nothing calls them any more.
    pub fn imports(&self) -> impl Iterator<Item = &str> {
        let replaced = |id: &u32, name: &str| {
            name.starts_with("llvm.")
                && self.functions.contains_key(id)
                && !self.called.contains(id)
        };
        self.imports
            .iter()
            .filter(move |(id, name)| !self.built_ins.contains(id) && !replaced(id, name))
            .map(|(_, name)| name.as_str())
    }

    /// Returns the symbols that the module offers to others, including the weak ones.
    pub fn exports(&self) -> impl Iterator<Item = &str> {
        let strong = self.exports.iter().map(String::as_str);
        strong.chain(self.weak_exports())
    }

    /// Returns those of [`Self::exports`] that other modules may define as well. These are functions that are
    /// `inline` in C++ and instances of templates, which are the same wherever they are.
    pub fn weak_exports(&self) -> impl Iterator<Item = &str> {
        self.weak_exports.iter().map(String::as_str)
    }

    /// The number of the extended instruction set called `name`.
    pub(super) fn instruction_set(&self, name: &str) -> Option<u32> {
        self.instruction_sets
            .iter()
            .find(|(_, other)| *other == name)
            .map(|(id, _)| *id)
    }
}

/// Returns the symbols that the module `bytes` needs from elsewhere. A driver that gets a module with such a
/// symbol may end the process, so a launcher asks first.
///
/// # Errors
///
/// When `bytes` are not SPIR-V.
pub fn unresolved_imports(bytes: &[u8]) -> Result<Vec<String>, Error> {
    let module = Module::parse(bytes)?;
    Ok(module.imports().map(String::from).collect())
}

/// What an unresolved import asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Import {
    /// The value of a specialization constant, which the compiler left unlowered.
    SpecializationConstant,
    /// A function of DPC++'s device library, such as the one that reports a failed `assert`.
    DeviceLibrary,
    /// A function or variable of another source.
    Symbol,
}

impl Import {
    /// Returns what `symbol` asks for.
    #[must_use]
    pub fn of(symbol: &str) -> Self {
        const CONSTANT_READS: [&str; 2] = [
            "__sycl_getScalar2020SpecConstantValue",
            "__sycl_getComposite2020SpecConstantValue",
        ];
        if CONSTANT_READS.iter().any(|read| symbol.contains(read)) {
            Self::SpecializationConstant
        } else if symbol.contains("__devicelib_") {
            Self::DeviceLibrary
        } else {
            Self::Symbol
        }
    }
}

/// The function of DPC++'s device library that a failed `assert` calls. Drivers with the OpenCL
/// extension `cl_intel_devicelib_assert` have it themselves: it prints, and ends the process.
pub const ASSERT_FAIL: &str = "__devicelib_assert_fail";

/// Returns whether `target` is a triple of 64-bit SPIR-V, or empty, because files from elsewhere may not say.
/// An image without an architecture is filed as SPIR-V whatever it is, and its triple gives it away.
#[must_use]
pub fn is_target(target: &str) -> bool {
    let architecture = target.split('-').next().unwrap_or_default();
    architecture.is_empty() || architecture == "spir64" || architecture.starts_with("spirv64")
}

/// Returns what a parameter is called in C++, from its name in the code. The prefix comes from the compiler.
/// So does the suffix of a `bool`, which is passed as a byte.
pub(super) fn parameter_name(name: &str) -> String {
    let name = PARAMETER_PREFIXES
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name);
    name.strip_suffix(".coerce").unwrap_or(name).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    fn module(instructions: &[(u16, &[u32])]) -> Vec<u8> {
        let mut words = vec![words::MAGIC, 0x0001_0400, 0, 100, 0];
        for (opcode, operands) in instructions {
            let count = u32::try_from(operands.len()).unwrap() + 1;
            words.push(count << 16 | u32::from(*opcode));
            words.extend(*operands);
        }
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn a_pointer_the_kernel_only_reads_is_told_from_one_it_writes() {
        let k = u32::from_le_bytes(*b"k\0\0\0");
        let bytes = module(&[
            (op::ENTRY_POINT, &[EXECUTION_MODEL_KERNEL, 1, k]),
            (
                op::DECORATE,
                &[11, DECORATION_FUNC_PARAM_ATTR, ATTRIBUTE_NO_WRITE],
            ),
            (
                op::DECORATE,
                &[12, DECORATION_FUNC_PARAM_ATTR, ATTRIBUTE_ZEXT],
            ),
            (op::TYPE_FLOAT, &[2, 32]),
            (op::TYPE_INT, &[3, 16, 0]),
            (op::TYPE_POINTER, &[4, STORAGE_CROSS_WORKGROUP, 2]),
            (op::FUNCTION, &[9, 1, 0, 8]),
            (op::FUNCTION_PARAMETER, &[4, 10]),
            (op::FUNCTION_PARAMETER, &[4, 11]),
            (op::FUNCTION_PARAMETER, &[3, 12]),
        ]);
        let types: Vec<_> = Module::parse(&bytes)
            .unwrap()
            .parameters("k")
            .unwrap()
            .into_iter()
            .map(|parameter| parameter.ty)
            .collect();
        let pointee = TypeId(2);
        let pointer = |no_write| ParameterType::GlobalPointer { pointee, no_write };
        let signed = Some(false);
        let int = ParameterType::Int { bits: 16, signed };
        assert_eq!(types, [pointer(false), pointer(true), int]);
    }

    #[test]
    fn imports_are_told_apart() {
        let scalar = "_Z37__sycl_getScalar2020SpecConstantValueIiET_PKcPKvS4_";
        assert_eq!(Import::of(scalar), Import::SpecializationConstant);
        assert_eq!(Import::of("__devicelib_assert_fail"), Import::DeviceLibrary);
        assert_eq!(Import::of("_Z5shapef"), Import::Symbol);
    }

    #[test]
    fn x86_code_that_is_filed_as_spirv_has_another_target() {
        for (target, expected) in [
            ("", true),
            ("spir64-unknown-unknown", true),
            ("spirv64-intel", true),
            ("spir64_x86_64-unknown-unknown", false),
            ("spir-unknown-unknown", false),
        ] {
            assert_eq!(is_target(target), expected, "{target}");
        }
    }

    #[test]
    fn a_function_has_one_name() {
        let name = |c| u32::from_le_bytes([c, 0, 0, 0]);
        let bytes = module(&[
            (op::ENTRY_POINT, &[EXECUTION_MODEL_KERNEL, 1, name(b'a')]),
            (op::ENTRY_POINT, &[EXECUTION_MODEL_KERNEL, 1, name(b'b')]),
        ]);
        let module = Module::parse(&bytes).unwrap();
        assert_eq!(module.kernels().collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn parameters_of_one_id_are_rejected_with_the_offset_of_the_second() {
        let bytes = module(&[
            (op::FUNCTION, &[9, 1, 0, 8]),
            (op::FUNCTION_PARAMETER, &[4, 10]),
            (op::FUNCTION_PARAMETER, &[4, 10]),
        ]);
        let error = Module::parse(&bytes).unwrap_err();
        assert_eq!(error.offset(), 20 + 5 * 4 + 3 * 4);
        assert!(error.to_string().contains("the id of another"), "{error}");
    }

    #[test]
    fn of_kernels_of_one_name_the_first_has_the_parameters() {
        let k = u32::from_le_bytes(*b"k\0\0\0");
        let bytes = module(&[
            (op::ENTRY_POINT, &[EXECUTION_MODEL_KERNEL, 1, k]),
            (op::ENTRY_POINT, &[EXECUTION_MODEL_KERNEL, 2, k]),
            (op::FUNCTION, &[9, 1, 0, 8]),
            (op::FUNCTION_PARAMETER, &[4, 10]),
            (op::FUNCTION, &[9, 2, 0, 8]),
        ]);
        let module = Module::parse(&bytes).unwrap();
        assert_eq!(module.parameters("k").map(|all| all.len()), Some(1));
        assert!(module.kernel_names().eq(["k"]));
    }

    #[test]
    fn built_in_variables_are_no_imports() {
        let f = u32::from_le_bytes(*b"f\0\0\0");
        let import = [DECORATION_LINKAGE_ATTRIBUTES, f, LINKAGE_IMPORT];
        let bytes = module(&[
            (op::DECORATE, &[&[5][..], &import].concat()),
            (op::DECORATE, &[&[6][..], &import].concat()),
            (op::DECORATE, &[5, DECORATION_BUILT_IN, 28]),
        ]);
        assert_eq!(unresolved_imports(&bytes).unwrap(), ["f"]);
    }

    #[test]
    fn intrinsics_without_calls_are_no_imports() {
        let [llvm, dot] = [b"llvm", b".x\0\0"].map(|part| u32::from_le_bytes(*part));
        let linkage = DECORATION_LINKAGE_ATTRIBUTES;
        let declared = [
            (op::DECORATE, &[5, linkage, llvm, dot, LINKAGE_IMPORT][..]),
            (op::FUNCTION, &[2, 5, 0, 7]),
        ];
        assert!(unresolved_imports(&module(&declared)).unwrap().is_empty());
        let called = [&declared[..], &[(op::FUNCTION_CALL, &[2, 9, 5])]].concat();
        let found = unresolved_imports(&module(&called)).unwrap();
        assert_eq!(found, ["llvm.x"]);
    }

    #[test]
    fn what_several_modules_may_define_is_exported_weakly() {
        let [f, g] = [b"f\0\0\0", b"g\0\0\0"].map(|name| u32::from_le_bytes(*name));
        let linkage = DECORATION_LINKAGE_ATTRIBUTES;
        let bytes = module(&[
            (op::DECORATE, &[5, linkage, f, LINKAGE_LINK_ONCE]),
            (op::DECORATE, &[6, linkage, g, LINKAGE_EXPORT]),
        ]);
        let module = Module::parse(&bytes).unwrap();
        assert!(module.exports().eq(["g", "f"]));
        assert!(module.weak_exports().eq(["f"]));
        assert_eq!(module.imports().count(), 0);
    }

    #[test]
    fn an_instruction_beyond_the_end_is_rejected_with_its_offset() {
        let mut bytes = module(&[(op::TYPE_FLOAT, &[2, 32])]);
        bytes.truncate(bytes.len() - 4);
        let error = Module::parse(&bytes).unwrap_err();
        assert_eq!(error.offset(), 20);
        assert!(error.to_string().contains("reaches beyond"), "{error}");
        let zero = module(&[]).into_iter().chain([0; 4]).collect::<Vec<_>>();
        assert!(Module::parse(&zero).is_err(), "an instruction of no words");
        let short = module(&[(op::TYPE_POINTER, &[4])]);
        assert!(
            Module::parse(&short).is_err(),
            "a pointer type without pointee"
        );
    }
}
