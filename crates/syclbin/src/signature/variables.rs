// SPDX-License-Identifier: MIT OR Apache-2.0
//! Variables that the host can access, with their types: specialization constants and device globals.
//!
//! The property sets record the size of each variable. The build infers the type from debug information and the code,
//! which must agree, and records it (set [`VARIABLES`](crate::property::set::VARIABLES)). If a file does not record the
//! type, a reader infers it from the code alone.

use super::cpp_type::CppType;
use super::mangled::{self, KernelName};
use super::memory_map::MemoryMap;
use super::merge::Sources;
use super::names::Names;
use super::types::{Element, Field, Layout, Layouts, Scalar, StructId};
use super::{Unsupported, recorded, unsupported};
use crate::failed_assert;
use crate::metadata::{
    self, Malformed, Named, SpecConstantDescriptor, SpecializationConstants, without_run_prefix,
};
use crate::model::AbstractModule;
use crate::prelude::*;
use crate::property::set;
use crate::spirv::module::Module;
use crate::spirv::module::types::Record;
use crate::text::counted;

/// A specialization constant, with its type and default value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecializationConstant {
    /// The key in the property set, such as `_ZL6radius`. Excludes the `rtc_N$` prefix that the reference runtime adds
    /// to names in code that it compiles at run time.
    pub symbol: String,
    /// The qualified C++ name, if the symbol can be demangled. Unnamed namespaces are left out.
    pub name: Option<KernelName>,
    /// The type, or the reason why it is unknown. If the file does not record the type, scalars of one type without
    /// gaps become an array, and other groups of scalars become a struct without a C++ description.
    pub ty: Result<Element, Unsupported>,
    /// Whether the file distinguishes signed from unsigned integers. If not, integers are assumed to be signed.
    pub sign_known: bool,
    /// The default value as bytes, or `None` if the file does not record it. The length equals the size of the type.
    pub default: Option<Vec<u8>>,
}

/// A variable that persists between launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceGlobal {
    /// The unique identifier, such as `_Z5table`. Excludes the `rtc_N$` prefix that the reference runtime adds to names
    /// in code that it compiles at run time.
    pub id: String,
    /// The qualified C++ name, if the identifier can be demangled. Unnamed namespaces are left out.
    pub name: Option<KernelName>,
    /// The type, or the reason why it is unknown.
    pub ty: Result<Element, Unsupported>,
    /// Whether the file distinguishes signed from unsigned integers. If not, integers are assumed to be signed.
    pub sign_known: bool,
}

/// A type, and whether the signedness of its integers is known.
pub(super) type Known = (Element, bool);

/// Collects the variables of a file, module by module: in file order, without duplicate names.
#[derive(Default)]
pub(super) struct Variables {
    constants: Named<Variable>,
    globals: Named<Variable>,
}

struct Variable {
    /// The possible sizes in bytes, if the property sets record them. If the type is known, both are its size.
    sizes: Option<[u64; 2]>,
    ty: Result<Known, Unsupported>,
    default: Option<Vec<u8>>,
    /// Whether two modules record different sizes or types.
    contradicted: bool,
}

impl Variable {
    fn new(
        sizes: [u64; 2],
        ty: Result<Known, Unsupported>,
        default: Option<&[u8]>,
        layouts: &Layouts,
    ) -> Self {
        let own = ty.as_ref().ok().and_then(|(ty, _)| layouts.size(ty));
        let sizes = own.map_or(sizes, |own| [own; 2]);
        // Padding is not part of the value.
        let default =
            default.map(|value| (0..sizes[0]).zip(value).map(|(_, byte)| *byte).collect());
        Self {
            sizes: Some(sizes),
            ty,
            default,
            contradicted: false,
        }
    }

    fn malformed(malformed: &Malformed) -> Self {
        Self {
            sizes: None,
            ty: unsupported(malformed.to_string()),
            default: None,
            contradicted: false,
        }
    }

    fn add_to(self, all: &mut Named<Self>, name: &str) {
        let Some(first) = all.get_mut(name) else {
            all.insert(name, self);
            return;
        };
        // Several modules may contain the same source variable. The first known type is used.
        let scalar = |ty: &Result<Known, Unsupported>| match ty {
            Ok((Element::Scalar(scalar), true)) => Some(*scalar),
            _ => None,
        };
        match (first.sizes, self.sizes) {
            (Some(a), Some(b)) if !a.iter().any(|size| b.contains(size)) => {
                let (a, b) = (counted(a[0], "byte"), b[0]);
                let reason = format!("its size is {a} in one module and {b} in another");
                first.ty = unsupported(reason);
                first.contradicted = true;
            }
            _ if scalar(&first.ty).is_some_and(|a| scalar(&self.ty).is_some_and(|b| a != b)) => {
                first.ty = unsupported(
                    "its type differs between modules; rename one of the variables in C++",
                );
                first.contradicted = true;
            }
            _ if first.ty.is_err() && self.ty.is_ok() && !first.contradicted => *first = self,
            _ => {}
        }
    }

    /// Returns the type, and whether the signedness of its integers is known. If the type contains a struct in
    /// `conflicts`, returns the reason for the conflict instead of the type.
    fn checked(
        ty: Result<Known, Unsupported>,
        conflicts: &BTreeMap<StructId, Rc<Unsupported>>,
    ) -> (Result<Element, Unsupported>, bool) {
        let ty = ty.and_then(|known| {
            let conflict = known.0.structure().and_then(|id| conflicts.get(&id));
            conflict.map_or(Ok(known), |reason| Err(Unsupported::clone(reason)))
        });
        let sign_known = ty.as_ref().is_ok_and(|(_, sign_known)| *sign_known);
        (ty.map(|(element, _)| element), sign_known)
    }
}

impl Variables {
    /// Adds the variables of a module. Types without a recorded description are inferred from `sources`.
    pub(super) fn add(
        &mut self,
        module: &AbstractModule<'_>,
        mut sources: Option<&mut Sources<'_>>,
        names: &mut Names,
    ) {
        let found = SpecializationConstants::read(&module.metadata)
            .and_then(|constants| Ok((constants.layout()?, constants)));
        for key in module.metadata.keys(set::SPECIALIZATION_CONSTANTS) {
            let name = without_run_prefix(key);
            let variable = match &found {
                Ok((places, constants)) => places.get(key).map(|place| {
                    let sizes = place.value_sizes().map(|size| size as u64);
                    let parts = constants.constants.get(key).map_or(&[][..], Vec::as_slice);
                    let ty = described(module, name, sizes, names, |names| {
                        let sources = sources.as_deref_mut()?;
                        Some(specialization_constant(name, sizes, parts, sources, names))
                    });
                    let values = constants.defaults.as_deref();
                    let value = values.and_then(|values| place.slice(values));
                    Variable::new(sizes, ty, value, &names.layouts)
                }),
                Err(malformed) => Some(Variable::malformed(malformed)),
            };
            if let Some(variable) = variable {
                variable.add_to(&mut self.constants, name);
            }
        }
        for key in module.metadata.keys(set::DEVICE_GLOBALS) {
            let name = without_run_prefix(key);
            if name == failed_assert::VARIABLE {
                continue;
            }
            let variable = match module.metadata.read(set::DEVICE_GLOBALS, key) {
                Ok(Some(global @ metadata::DeviceGlobal { size, .. })) => {
                    let sizes = [u64::from(size); 2];
                    let ty = described(module, name, sizes, names, |names| {
                        let sources = sources.as_deref_mut()?;
                        Some(device_global(key, global, sources, names))
                    });
                    Variable::new(sizes, ty, None, &names.layouts)
                }
                Ok(None) => continue,
                Err(malformed) => Variable::malformed(&malformed),
            };
            variable.add_to(&mut self.globals, name);
        }
    }

    /// Returns the name and type of each variable.
    pub(super) fn types(self) -> impl Iterator<Item = (String, Result<Known, Unsupported>)> {
        let all = self.constants.into_iter().chain(self.globals);
        all.map(|(name, found)| (name, found.ty))
    }

    /// Returns the variables of all modules. `conflicts` contains the structs that cannot be passed.
    pub(super) fn finish(
        self,
        conflicts: &BTreeMap<StructId, Rc<Unsupported>>,
    ) -> (Vec<SpecializationConstant>, Vec<DeviceGlobal>) {
        let constants = self.constants.into_iter().map(|(symbol, found)| {
            let (ty, sign_known) = Variable::checked(found.ty, conflicts);
            SpecializationConstant {
                name: mangled::variable(&symbol),
                symbol,
                ty,
                sign_known,
                default: found.default,
            }
        });
        let globals = self.globals.into_iter().map(|(id, found)| {
            let (ty, sign_known) = Variable::checked(found.ty, conflicts);
            DeviceGlobal {
                name: mangled::variable(&id),
                id,
                ty,
                sign_known,
            }
        });
        (constants.collect(), globals.collect())
    }
}

/// Returns the recorded type of a variable, or else the type that `infer` returns.
fn described(
    module: &AbstractModule<'_>,
    name: &str,
    sizes: [u64; 2],
    names: &mut Names,
    infer: impl FnOnce(&mut Names) -> Option<Result<Known, Unsupported>>,
) -> Result<Known, Unsupported> {
    match recorded::variable(module, name, names) {
        Some(recorded) => recorded.and_then(|known| match names.layouts.size(&known.0) {
            Some(own) if sizes.contains(&own) => Ok(known),
            _ => unsupported("its recorded description has the wrong size; build the file again"),
        }),
        None => infer(names).unwrap_or_else(|| unsupported("the file does not record its type")),
    }
}

fn specialization_constant(
    name: &str,
    sizes: [u64; 2],
    parts: &[SpecConstantDescriptor],
    sources: &mut Sources<'_>,
    names: &mut Names,
) -> Result<Known, Unsupported> {
    let spirv = sources.code.spirv();
    match sources.described_variable(name, sizes, names) {
        Some(described) => {
            let (element, text) = described?;
            let declared = MemoryMap::of(&element, &names.layouts, false);
            agree_with_parts(&declared, parts, spirv, text)?;
            Ok((element, true))
        }
        None => of_parts(parts, sizes[0], spirv, &mut names.layouts),
    }
}

fn device_global(
    key: &str,
    global: metadata::DeviceGlobal,
    sources: &mut Sources<'_>,
    names: &mut Names,
) -> Result<Known, Unsupported> {
    let size = u64::from(global.size);
    let name = without_run_prefix(key);
    let spirv = sources.code.spirv();
    let mut names_in_code = [name, key].into_iter();
    let variable = names_in_code.find_map(|name| spirv?.host_variable(name));
    let in_code = variable.zip(sources.meanings.as_ref());
    let in_code = in_code.map(|(ty, code)| code.device_global(ty, size, global.image_scope));
    if in_code == Some(None) {
        let size = counted(size, "byte");
        return unsupported(format!(
            "the file records a size of {size}, but the size in the code differs"
        ));
    }
    if let Some(described) = sources.described_variable(name, [size; 2], names) {
        let (element, text) = described?;
        if let Some(Some(ty)) = in_code {
            sources.agree(ty, &element, text, names)?;
        }
        return Ok((element, true));
    }
    let found = in_code.flatten().zip(sources.meanings.as_mut());
    let found = found.and_then(|(ty, code)| code.element(ty, &mut names.layouts));
    found.ok_or_else(|| Unsupported::new("neither a declaration nor the code specifies its type"))
}

/// Returns the scalar type of part `id` of a constant in the code, and whether its signedness is known. Returns `None`
/// if the code does not read the part, and `Some(None)` if its type is not a scalar.
fn part(id: u32, spirv: &Module) -> Option<Option<(Scalar, bool)>> {
    Some(match spirv.spec_constant(id)? {
        Record::Bool => Some((Scalar::Bool, true)),
        Record::Int(bits) => Scalar::integer(*bits, true).map(|scalar| (scalar, false)),
        Record::Float { bits, bfloat } => {
            Scalar::float(*bits, *bfloat).map(|scalar| (scalar, true))
        }
        _ => None,
    })
}

/// Checks that a constant's parts match the declared memory map. Ignores parts that the code does not read.
fn agree_with_parts(
    declared: &MemoryMap,
    parts: &[SpecConstantDescriptor],
    spirv: Option<&Module>,
    text: &CppType,
) -> Result<(), Unsupported> {
    let mut in_code = MemoryMap::default();
    for part in parts.iter().filter(|part| !part.is_padding()) {
        if let Some(Some((scalar, _))) = spirv.and_then(|spirv| self::part(part.id, spirv)) {
            in_code.scalar(u64::from(part.offset), scalar);
        }
    }
    match declared.difference(&in_code) {
        None => Ok(()),
        Some(at) => unsupported(format!(
            "it is declared as `{text}`, but the constants in the code have a different layout at byte offset {at}"
        )),
    }
}

/// Infers the type of a constant of `size` bytes from the types of its parts in the code.
fn of_parts(
    parts: &[SpecConstantDescriptor],
    size: u64,
    spirv: Option<&Module>,
    layouts: &mut Layouts,
) -> Result<Known, Unsupported> {
    let Some(spirv) = spirv else {
        return unsupported("neither a declaration nor SPIR-V specifies its type");
    };
    let mut fields = Vec::new();
    for part in parts.iter().filter(|part| !part.is_padding()) {
        let (offset, own) = (u64::from(part.offset), u64::from(part.size));
        let (ty, sign_known) = match self::part(part.id, spirv) {
            Some(Some((scalar, known))) if scalar.size() == own => (Element::Scalar(scalar), known),
            Some(_) => {
                return unsupported(format!(
                    "its type in the code does not match the {own}-byte part at byte offset {offset}"
                ));
            }
            None => (Element::Bytes(own), true),
        };
        fields.push(Field::unnamed(offset, ty, sign_known));
    }
    let is_unread = |field: &Field| matches!(field.ty, Element::Bytes(_));
    if fields.iter().all(is_unread) {
        return unsupported("its type is unknown, because the code does not read it");
    }
    let known = fields.iter().all(|field| field.sign_known);
    if let [first, rest @ ..] = &fields[..]
        && let Element::Scalar(scalar) = first.ty
        && fields.len() as u64 * scalar.size() == size
        && rest.iter().all(|field| field.ty == first.ty)
    {
        let of = Element::Scalar(scalar);
        // Parts do not overlap and fill the whole size, so there are no gaps.
        return Ok(match fields.len() {
            1 => (of, known),
            count => (Element::array(of, count as u64), known),
        });
    }
    let align = fields.iter().map(|field| layouts.align(&field.ty)).max();
    let align = align.unwrap_or(1);
    let is_aligned = |field: &Field| field.offset.is_multiple_of(layouts.align(&field.ty));
    let is_natural = size.is_multiple_of(align) && fields.iter().all(is_aligned);
    let align = if is_natural { align } else { 1 };
    let id = layouts.insert(Layout::of_code("", size, align, fields));
    Ok((Element::Struct(id), known))
}
