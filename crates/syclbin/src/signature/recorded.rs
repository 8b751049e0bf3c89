// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records descriptions of kernels and variables in a file, and reads them. A build creates the descriptions, and
//! readers use them unchanged.
//!
//! Each value of the sets [`KERNELS`](crate::property::set::KERNELS) and
//! [`VARIABLES`](crate::property::set::VARIABLES) is self-contained, so sets can be merged key by key. A
//! value starts with [`VERSION`], followed by the structs that the description uses and the description itself. For a
//! damaged value, the reader returns a reason instead of the signature or type. Reading a value uses memory in
//! proportion to the value's size.

mod form;
#[cfg(test)]
mod tests;

use super::code::Code;
use super::debug_info::{DIMENSIONS, Described};
use super::merge::Sources;
use super::names::Names;
use super::types::{Element, Layout, Layouts, Pointee, StructId, Type};
use super::variables::{Known, Variables};
use super::{KernelSignature, Parameter, Unsupported};
use crate::error::Error;
use crate::failed_assert;
use crate::metadata::without_run_prefix;
use crate::model::AbstractModule;
use crate::prelude::*;
use crate::property::{Value, set};
use form::{Coded, Reader, Writer};

/// The version of the encoding.
const VERSION: u8 = 2;

/// Records a description of each kernel and variable in `module`. `described` contains the debug information.
///
/// # Errors
///
/// Returns an error if an image is declared as SPIR-V but cannot be read.
pub fn record(module: &mut AbstractModule<'_>, described: &Described) -> Result<(), Error> {
    let code = Code::of(module)?;
    let mut names = Names::new(described.definitions.layouts.clone());
    let mut sources = Sources::new(module, &code, described);
    let mut variables = Variables::default();
    let mut kernels = Vec::new();
    for symbol in module.kernel_names() {
        let kernel = sources.kernel(symbol, &mut names);
        kernels.push((symbol.to_string(), of_kernel(&kernel, &names.layouts)));
    }
    variables.add(module, Some(&mut sources), &mut names);
    let variables = variables.types();
    let variables = variables.map(|(name, ty)| (name, of_variable(&ty, &names.layouts)));
    let variables = variables.collect();
    for (set, values) in [(set::KERNELS, kernels), (set::VARIABLES, variables)] {
        for (key, value) in values {
            module.metadata.insert(set, key, value);
        }
    }
    module.metadata.remove_set(DIMENSIONS);
    Ok(())
}

/// Records in `module` why the kernel `symbol` cannot be launched. Does not overwrite the recorded reason if the symbol
/// is not a user kernel ([`Unsupported::is_no_kernel`]).
pub fn leave_out(module: &mut AbstractModule<'_>, symbol: &str, reason: &str) {
    let mut names = Names::default();
    let described = kernel(module, symbol, &mut names);
    let mut kernel = described.unwrap_or_else(|| KernelSignature::new(symbol, Ok(Vec::new())));
    let is_own = |reason: &Unsupported| reason.is_no_kernel();
    if kernel.parameters.as_ref().is_err_and(is_own) {
        return;
    }
    kernel.parameters = Err(Unsupported::new(reason));
    let value = of_kernel(&kernel, &names.layouts);
    let symbol = symbol.to_string();
    module.metadata.insert(set::KERNELS, symbol, value);
}

/// Returns the number of dimensions of a kernel's ranges, if `module` describes the kernel. A single task has 0
/// dimensions.
pub fn dimensions(module: &AbstractModule<'_>, symbol: &str) -> Option<u8> {
    kernel(module, symbol, &mut Names::default())?.dimensions
}

/// Returns whether `module` contains a description of each of its kernels and variables.
pub fn is_complete(module: &AbstractModule<'_>) -> bool {
    let has = |set, name| module.metadata.get(set, name).is_some();
    let sets = [set::SPECIALIZATION_CONSTANTS, set::DEVICE_GLOBALS].into_iter();
    let variables = sets.flat_map(|set| module.metadata.keys(set));
    let mut variables = variables.map(without_run_prefix);
    let mut kernels = module.kernel_names();
    kernels.all(|symbol| has(set::KERNELS, symbol))
        && variables.all(|name| name == failed_assert::VARIABLE || has(set::VARIABLES, name))
}

pub(super) fn kernel(
    module: &AbstractModule<'_>,
    symbol: &str,
    names: &mut Names,
) -> Option<KernelSignature> {
    let value = module.metadata.get(set::KERNELS, symbol)?;
    let mut kernel = KernelSignature::new(symbol, Ok(Vec::new()));
    let read = read(value, names, |reader| {
        kernel.declaration = Coded::read(reader)?;
        kernel.location = Coded::read(reader)?;
        kernel.required_local_size = Coded::read(reader)?;
        kernel.dimensions = Coded::read(reader)?;
        kernel.parameters = Coded::read(reader)?;
        let parameters = kernel.parameters.iter().flatten();
        let sound = kernel.dimensions.is_none_or(|count| count <= 3) && { parameters }
            .all(|parameter| parameter.is_sound(&reader.names.layouts));
        sound.then_some(())
    });
    Some(match read {
        Ok(()) => kernel,
        Err(reason) => KernelSignature::new(symbol, Err(reason)),
    })
}

pub(super) fn variable(
    module: &AbstractModule<'_>,
    name: &str,
    names: &mut Names,
) -> Option<Result<Known, Unsupported>> {
    let value = module.metadata.get(set::VARIABLES, name)?;
    let read = read(value, names, |reader| {
        let ty = Result::<Known, Unsupported>::read(reader)?;
        let mut known = ty.iter();
        let sound = known.all(|(ty, _)| ty.is_sound(&reader.names.layouts));
        sound.then_some(ty)
    });
    Some(read.flatten())
}

/// Returns the structs of all descriptions in `module`.
pub(super) fn structs(module: &AbstractModule<'_>) -> impl Iterator<Item = Layout> {
    let sets = [set::KERNELS, set::VARIABLES].into_iter();
    let values = sets.flat_map(|set| module.metadata.entries(set));
    // `kernel` and `variable` report damaged values.
    values.flat_map(|(_, value)| {
        let mut names = Names::default();
        let begun = begin(value, &mut names).is_ok();
        names.layouts.list.into_iter().filter(move |_| begun)
    })
}

fn of_kernel(kernel: &KernelSignature, layouts: &Layouts) -> Value {
    let parameters = kernel.parameters.iter().flatten();
    let structures = parameters.filter_map(|parameter| parameter.ty.structure());
    let mut writer = begun(structures, layouts);
    kernel.declaration.write(&mut writer);
    kernel.location.write(&mut writer);
    kernel.required_local_size.write(&mut writer);
    kernel.dimensions.write(&mut writer);
    kernel.parameters.write(&mut writer);
    writer.bytes.into()
}

fn of_variable(ty: &Result<Known, Unsupported>, layouts: &Layouts) -> Value {
    let structure = ty.as_ref().ok().and_then(|(ty, _)| ty.structure());
    let mut writer = begun(structure.into_iter(), layouts);
    ty.write(&mut writer);
    writer.bytes.into()
}

/// Starts a value with the structs `needed` and all structs nested in them.
fn begun(needed: impl Iterator<Item = StructId>, layouts: &Layouts) -> Writer {
    let mut all = BTreeSet::new();
    let mut left: Vec<StructId> = needed.collect();
    while let Some(id) = left.pop() {
        if all.insert(id) {
            let fields = layouts.fields(id).iter();
            left.extend(fields.filter_map(|field| field.ty.structure()));
        }
    }
    let mut writer = Writer {
        bytes: [VERSION].into(),
        structs: all.iter().copied().zip(0..).collect(),
    };
    let structs: Vec<&Layout> = all.iter().filter_map(|id| layouts.get(*id)).collect();
    (structs.len() as u64).write(&mut writer);
    for layout in structs {
        layout.write(&mut writer);
    }
    writer
}

fn damaged() -> Unsupported {
    Unsupported::new("its recorded description is damaged; build the file again")
}

/// Reads the version and the structs at the start of a value.
fn begin<'v>(value: &'v Value, names: &'v mut Names) -> Result<Reader<'v>, Unsupported> {
    let bytes = value.as_bytes().unwrap_or_default();
    let (version, bytes) = bytes.split_first().ok_or_else(damaged)?;
    if *version != VERSION {
        return Err(Unsupported::new(
            "its description was recorded by another release of syclbin; build the file again",
        ));
    }
    let mut reader = Reader::new(bytes, names);
    reader.structs().ok_or_else(damaged)?;
    Ok(reader)
}

/// Reads a value, and adds its structs to `names`. `rest` reads everything after the structs.
fn read<T>(
    value: &Value,
    names: &mut Names,
    mut rest: impl FnMut(&mut Reader<'_>) -> Option<T>,
) -> Result<T, Unsupported> {
    let mut read = |names: &mut Names| {
        let mut reader = begin(value, names)?;
        let found = rest(&mut reader).filter(|_| reader.bytes.is_empty());
        found.ok_or_else(damaged)
    };
    // A damaged value must not add structs, which could conflict with those of other kernels. Its alignments still count.
    read(&mut Names::default())?;
    read(names)
}

impl Parameter {
    fn is_sound(&self, layouts: &Layouts) -> bool {
        let value = self.ty.value().is_none_or(|value| {
            let is_passed = !matches!(value, Element::Pointer(_) | Element::Bytes(_));
            is_passed && value.is_sound(layouts)
        });
        let least = u8::from(!matches!(self.ty, Type::LocalAccessor { .. }));
        value
            && self.ty.pointee().is_none_or(|of| of.is_sound(layouts))
            && { self.ty.dimensions() }.is_none_or(|count| (least..=3).contains(&count))
            && self.align.is_none_or(u64::is_power_of_two)
            && self.arguments.len() == self.ty.arguments()
    }
}

impl Pointee {
    fn is_sound(&self, layouts: &Layouts) -> bool {
        match self {
            Self::Element(element) => element.is_sound(layouts),
            Self::Void | Self::Unknown(_) => true,
        }
    }
}

impl Element {
    fn is_sound(&self, layouts: &Layouts) -> bool {
        let sound = match self {
            Self::Scalar(_) | Self::Bytes(_) => true,
            Self::Enum(of) => !of.of.is_float(),
            Self::Vector { count, .. } => matches!(count, 1 | 2 | 3 | 4 | 8 | 16),
            Self::Array { of, .. } => of.is_sound(layouts),
            Self::Struct(id) => layouts.get(*id).is_some(),
            // A struct behind a pointer in memory is recorded only by name.
            Self::Pointer(to) => match &**to {
                Pointee::Element(to) => to.structure().is_none() && to.is_sound(layouts),
                Pointee::Void | Pointee::Unknown(_) => true,
            },
        };
        sound && layouts.size(self).is_some()
    }
}

impl Layout {
    /// Returns whether the members are in order and inside the struct. `layouts` contains the structs that may
    /// be members.
    fn is_sound(&self, layouts: &Layouts) -> bool {
        let mut end = 0;
        self.align.is_power_of_two()
            && self.fields.iter().all(|field| {
                let is_behind = field.offset >= end && field.ty.is_sound(layouts);
                let size = layouts.size(&field.ty).unwrap_or(u64::MAX);
                end = field.offset.saturating_add(size);
                is_behind && end <= self.size
            })
    }
}
