// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the parts of a SPIR-V module that signatures need: kernels with their parameters, types, variables, imports
//! and exports. Unknown instructions are skipped, because real modules use Intel extensions. Numbers and names are from
//! the SPIR-V specification, section 3.

pub(crate) mod parse;
#[cfg(test)]
mod tests;
pub(crate) mod types;

use crate::prelude::*;

pub use crate::spirv::words::MAGIC_BYTES;
pub use types::{Parameter, ParameterType};
use types::{Record, TypeTable};
pub(crate) use types::{TypeId, parameter_name};

/// `FuncParamAttr` values.
const ATTRIBUTE_ZEXT: u32 = 0;
const ATTRIBUTE_SEXT: u32 = 1;
const ATTRIBUTE_BY_VAL: u32 = 2;
const ATTRIBUTE_NO_WRITE: u32 = 6;

/// Storage classes.
pub(crate) const STORAGE_WORKGROUP: u32 = 4;
pub(crate) const STORAGE_CROSS_WORKGROUP: u32 = 5;

/// An iterator over the parts of a type, with the type id and the offset in bytes of each part.
type Parts<'m> = Box<dyn Iterator<Item = (u32, u64)> + 'm>;

/// The parts of a module that signatures need.
#[derive(Debug, Default)]
pub struct Module {
    names: BTreeMap<u32, String>,
    pub(crate) strings: BTreeMap<u32, String>,
    pub(crate) constants: BTreeMap<u32, u64>,
    packed: BTreeSet<u32>,
    pub(crate) types: TypeTable,
    /// The decorated alignment of each id.
    pub alignments: BTreeMap<u32, u32>,
    attributes: BTreeMap<u32, Vec<u32>>,
    /// The functions and symbols of the kernels, in module order.
    pub entry_points: Vec<(u32, String)>,
    entry_functions: BTreeSet<u32>,
    /// The function of the first kernel with each name. A hostile module may contain a hundred thousand names, too many
    /// for linear searches.
    entry_names: BTreeMap<String, u32>,
    /// The ids and types of the parameters of each function.
    pub(super) functions: BTreeMap<u32, Vec<(u32, u32)>>,
    parameter_ids: BTreeSet<u32>,
    /// The required work-group size of functions, along x, y and z.
    local_sizes: BTreeMap<u32, [u32; 3]>,
    /// The pointer type of each variable.
    variables: BTreeMap<u32, u32>,
    /// The variables that the host can access, by host name. If several variables have the same name, the first one
    /// wins.
    pub(crate) host_names: BTreeMap<String, u32>,
    /// The variables that are constant or accessible to the host.
    constant_or_host_visible: BTreeSet<u32>,
    /// The names of all other variables in global memory that have an initial value.
    pub mutable_globals: Vec<String>,
    spec_ids: BTreeMap<u32, u32>,
    /// The types of specialization constants, by `SpecId`. If several constants have the same `SpecId`, the first one
    /// wins.
    spec_constants: BTreeMap<u32, TypeId>,
    /// The ids and symbols of the imports, in module order.
    pub imports: Vec<(u32, String)>,
    /// The ids and symbols of the strong exports, in module order.
    pub exports: Vec<(u32, String)>,
    weak_exports: Vec<String>,
    built_ins: BTreeSet<u32>,
    /// The `[[clang::annotate]]` texts, by annotated id.
    pub(crate) annotations: BTreeMap<u32, Vec<String>>,
    /// All calls, as pairs of caller and callee.
    pub calls: Vec<(u32, u32)>,
    called: BTreeSet<u32>,
    /// The functions that use a collective work-group operation, such as a sum.
    pub(super) of_work_groups: BTreeSet<u32>,
    /// The parameters that are proven to be read-only. Only [`Module::parse_with_reads`] fills this set.
    read_only: BTreeSet<u32>,
    /// The first import of each instruction set, by name.
    pub(crate) instruction_sets: BTreeMap<String, u32>,
    pub(crate) extended: Vec<Extended>,
}

#[derive(Debug)]
pub(crate) struct Extended {
    pub(crate) result: u32,
    pub(crate) set: u32,
    pub(crate) instruction: u32,
    pub(crate) operands: Vec<u32>,
}

impl Extended {
    pub(crate) fn operand(&self, index: usize) -> Option<u32> {
        self.operands.get(index).copied()
    }
}

impl Module {
    /// Returns the symbols of the kernels, in module order.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.entry_points.iter().map(|(_, name)| name.as_str())
    }

    /// Returns the symbols of the kernels, without duplicates.
    pub(crate) fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.entry_names.keys().map(String::as_str)
    }

    /// Returns the parameters of `kernel`, or `None` if the module does not contain the kernel.
    pub fn parameters(&self, kernel: &str) -> Option<Vec<Parameter>> {
        let parameters = self.functions.get(self.entry_names.get(kernel)?)?;
        let parameters = parameters.iter().map(|&(id, ty)| Parameter {
            name: self.names.get(&id).map(|name| parameter_name(name)),
            ty: self.parameter_type(id, ty),
            align: self.alignment(id),
        });
        Some(parameters.collect())
    }

    /// Returns the size in bytes of a scalar or of a struct passed by value, if it is known.
    pub fn value_size(&self, ty: ParameterType) -> Option<u64> {
        match ty {
            ParameterType::Bool => Some(1),
            ParameterType::Int { bits, .. } | ParameterType::Float { bits, .. } => {
                matches!(bits, 8 | 16 | 32 | 64).then_some(u64::from(bits / 8))
            }
            ParameterType::ByValue { ty } => Some(self.types.size(ty.0)?.0),
            _ => None,
        }
    }

    /// Returns the size and alignment of the type `ty` in bytes, or `None` if it has no size in memory.
    pub fn size(&self, ty: u32) -> Option<(u64, u64)> {
        self.types.size(ty)
    }

    /// Returns the number of parts of a vector, array or struct, and each part's type and offset. Returns `None` for
    /// any other type, and for a type without a size in memory.
    pub fn parts(&self, ty: u32) -> Option<(u64, Parts<'_>)> {
        self.size(ty)?;
        let (of, count) = match self.types.get(ty)? {
            Record::Vector { of, count } => (*of, u64::from(*count)),
            Record::Array { of, count } => (*of, (*count)?),
            Record::Struct { members, packed } => {
                let mut end = 0u64;
                let offset = move |member: &u32| {
                    let (size, align) = self.size(*member).unwrap_or((0, 1));
                    let offset = end.next_multiple_of(if *packed { 1 } else { align });
                    end = offset + size;
                    (*member, offset)
                };
                let offsets = members.iter().map(offset);
                return Some((members.len() as u64, Box::new(offsets)));
            }
            _ => return None,
        };
        let (stride, _) = self.size(of)?;
        let offsets = (0..count).map(move |index| (of, index * stride));
        Some((count, Box::new(offsets)))
    }

    fn alignment(&self, id: u32) -> Option<u32> {
        let align = self.alignments.get(&id).copied();
        align.filter(|align| *align > 1 && align.is_power_of_two())
    }

    fn parameter_type(&self, id: u32, ty: u32) -> ParameterType {
        let has = |attribute| self.has_attribute(id, attribute);
        let Some(record) = self.types.get(ty) else {
            return ParameterType::Other;
        };
        match *record {
            Record::Pointer { pointee, .. } if has(ATTRIBUTE_BY_VAL) => {
                let ty = TypeId(pointee);
                ParameterType::ByValue { ty }
            }
            Record::Bool => ParameterType::Bool,
            Record::Int(bits) => ParameterType::Int {
                bits,
                signed: match (has(ATTRIBUTE_SEXT), has(ATTRIBUTE_ZEXT)) {
                    (true, false) => Some(true),
                    (false, true) => Some(false),
                    _ => None,
                },
            },
            Record::Float { bits, bfloat } => ParameterType::Float { bits, bfloat },
            Record::Pointer { storage, pointee } => {
                let pointee = TypeId(pointee);
                match storage {
                    STORAGE_CROSS_WORKGROUP => ParameterType::GlobalPointer {
                        pointee,
                        no_write: has(ATTRIBUTE_NO_WRITE) || self.read_only.contains(&id),
                    },
                    STORAGE_WORKGROUP => ParameterType::LocalPointer { pointee },
                    _ => ParameterType::Other,
                }
            }
            Record::Sampler => ParameterType::Sampler,
            Record::Image(Some((dimensions, written))) => ParameterType::Image {
                dimensions,
                written,
            },
            _ => ParameterType::Other,
        }
    }

    fn has_attribute(&self, parameter: u32, attribute: u32) -> bool {
        let attributes = self.attributes.get(&parameter);
        attributes.is_some_and(|attributes| attributes.contains(&attribute))
    }

    /// Returns whether a pointer parameter represents an argument that is passed by value (attribute `ByVal`).
    pub(super) fn is_by_value(&self, parameter: u32) -> bool {
        self.has_attribute(parameter, ATTRIBUTE_BY_VAL)
    }

    /// Returns the required work-group size of `kernel`, in work-items along x, y and z.
    pub(crate) fn local_size(&self, kernel: &str) -> Option<[u32; 3]> {
        self.local_sizes.get(self.entry_names.get(kernel)?).copied()
    }

    /// Returns the type of the variable that the host accesses as `name`.
    pub(crate) fn host_variable(&self, name: &str) -> Option<TypeId> {
        let ty = self.variables.get(self.host_names.get(name)?)?;
        self.pointee(*ty)
    }

    /// Returns the size in bytes of the type that the pointer type `ty` points to, if it is known.
    pub(crate) fn pointee_bytes(&self, ty: u32) -> Option<u64> {
        Some(self.types.size(self.pointee(ty)?.0)?.0)
    }

    fn pointee(&self, ty: u32) -> Option<TypeId> {
        match self.types.get(ty)? {
            Record::Pointer { pointee, .. } => Some(TypeId(*pointee)),
            _ => None,
        }
    }

    /// Returns the type of the specialization constant with this `SpecId`, if there is one.
    pub(crate) fn spec_constant(&self, id: u32) -> Option<&Record> {
        self.types.get(self.spec_constants.get(&id)?.0)
    }

    /// Returns the module's name for the type, such as `struct.Particle`, or an empty string if the type has no name.
    pub(crate) fn type_name(&self, ty: TypeId) -> &str {
        self.names.get(&ty.0).map_or("", String::as_str)
    }

    /// Returns the symbols that the module uses but does not define. SPIR-V's built-in variables are left out: they
    /// are declared as imports, but the driver provides them. LLVM intrinsics that the compiler replaced, such as
    /// `llvm.memmove.p1.p1.i64`, are left out as well, because nothing calls them.
    pub fn imports(&self) -> impl Iterator<Item = &str> {
        let is_replaced = |id: &u32, name: &str| {
            name.starts_with("llvm.")
                && self.functions.contains_key(id)
                && !self.called.contains(id)
        };
        let imports = self
            .imports
            .iter()
            .filter(|(id, _)| !self.built_ins.contains(id));
        let imports = imports.filter(move |(id, name)| !is_replaced(id, name));
        imports.map(|(_, name)| name.as_str())
    }

    /// Returns the symbols that the module exports, including weak symbols.
    pub fn exports(&self) -> impl Iterator<Item = &str> {
        let strong = self.exports.iter().map(|(_, name)| name.as_str());
        strong.chain(self.weak_exports())
    }

    /// Returns the [exports](Self::exports) that other modules may define as well: `inline` functions and template
    /// instances, whose definitions are the same in all modules.
    pub fn weak_exports(&self) -> impl Iterator<Item = &str> {
        self.weak_exports.iter().map(String::as_str)
    }
}
