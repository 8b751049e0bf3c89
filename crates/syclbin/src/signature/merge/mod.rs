// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parameters of a kernel, from what is declared and what the code takes, which must agree.

mod agree;
mod declared;
mod slot;
mod undeclared;

use alloc::format;
use alloc::vec::Vec;

use super::code::Code;
use super::code_types::Meanings;
use super::cpp::{self, Spelled, access};
use super::debug_info::Described;
use super::declaration::DeclaredParameter;
use super::described::Definitions;
use super::names::Names;
use super::spirv::TypeId;
use super::types::{Element, Scalar, Type};
use super::{Parameter, Unsupported, entry, mangled, unsupported};
use crate::model::AbstractModule;
pub(super) use slot::{Passed, own_name};

/// Arguments that an accessor becomes: its pointer, two ranges, an id.
const OF_ACCESSOR: usize = 4;

/// What tells of the kernels and variables of a module.
pub(super) struct Sources<'m> {
    pub(super) module: &'m AbstractModule<'m>,
    pub(super) code: &'m Code,
    pub(super) described: &'m Described,
    pub(super) definitions: Definitions<'m>,
    pub(super) meanings: Option<Meanings<'m>>,
}

impl<'m> Sources<'m> {
    pub(super) fn new(
        module: &'m AbstractModule<'m>,
        code: &'m Code,
        described: &'m Described,
    ) -> Self {
        Self {
            module,
            code,
            described,
            definitions: Definitions::new(&described.definitions),
            meanings: code.spirv().map(Meanings::new),
        }
    }

    /// The parameters of a kernel. `removed` says which arguments the compiler removed.
    pub(super) fn parameters(
        &mut self,
        declared: Option<&[DeclaredParameter]>,
        passed: Passed<'_>,
        removed: &[bool],
        names: &mut Names,
    ) -> Result<Vec<Parameter>, Unsupported> {
        let layouts = &mut names.layouts;
        match (declared, passed) {
            (Some(declared), passed) => self.declared(declared, passed, removed, names),
            (None, Passed::SpirV(passed)) => self.undeclared(passed, removed, layouts),
            (None, Passed::Ptx { parameters, shared }) => {
                entry::undeclared(parameters, removed, shared, layouts)
            }
            (None, Passed::Unknown) => {
                unsupported("the file has neither a declaration nor SPIR-V of this kernel")
            }
        }
    }

    /// Returns the type that debug information has of a variable of `size` bytes, and its spelling.
    pub(super) fn described_variable(
        &mut self,
        name: &str,
        size: u64,
        names: &mut Names,
    ) -> Option<Result<(Element, &'m str), Unsupported>> {
        let text = self
            .described
            .variables
            .get(mangled::without_source(name))?;
        let within = |reason: Unsupported| reason.within(format_args!("`{text}`: "));
        let Some(spelled) = cpp::parse(text) else {
            return Some(unsupported("its type cannot be read"));
        };
        // The code may describe a type that no definition describes.
        let mut of = &spelled;
        while let Spelled::Array { of: inner, .. } = of {
            of = inner;
        }
        if let Spelled::Named(name) = of
            && self.definitions.named(name, names).is_none()
        {
            return None;
        }
        let element = match self.definitions.element_of(&spelled, names) {
            Ok(element) => element,
            Err(reason) => return Some(Err(within(reason))),
        };
        Some(match names.layouts.size(&element) {
            Some(own) if own == size => Ok((element, text)),
            Some(own) => unsupported(format!(
                "`{text}` is declared with {own} bytes, and its size is {size}"
            )),
            None => unsupported(format!("`{text}` is beyond all memory")),
        })
    }

    fn size(&self, ty: TypeId) -> Option<u64> {
        self.meanings.as_ref().and_then(|code| code.size(ty))
    }

    /// Bytes of `ty` if it is an array.
    fn array(&self, ty: TypeId) -> Option<u64> {
        self.meanings.as_ref().and_then(|code| code.array(ty))
    }
}

fn of_size(bits: u32) -> Unsupported {
    Unsupported::new(format!("a number of {bits} bits is not supported"))
}

/// An integer of the code, and whether its sign is known.
fn integer(bits: u32, signed: Option<bool>) -> Result<(Scalar, bool), Unsupported> {
    let scalar = Scalar::integer(bits, signed.unwrap_or(true));
    Ok((scalar.ok_or_else(|| of_size(bits))?, signed.is_some()))
}

/// Returns what an array holds, through all nested arrays.
fn innermost(mut element: Element) -> Element {
    while let Element::Array { of, .. } = element {
        element = *of;
    }
    element
}

fn by_value_type(element: Element) -> Option<Type> {
    Some(match element {
        Element::Scalar(scalar) => Type::Scalar(scalar),
        Element::Enum(of) => Type::Enum(of),
        Element::Vector { of, count } => Type::Vector { of, count },
        Element::Array { of, count } => Type::Array { of: *of, count },
        Element::Struct(id) => Type::Struct(id),
        Element::Pointer(_) | Element::Bytes(_) => return None,
    })
}
