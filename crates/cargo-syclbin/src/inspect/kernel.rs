// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels: their parameters in the report, and their lines of text.

use std::fmt::Write as _;

use syclbin::__private::mangled;
use syclbin::signature::{self, Access, Argument, Element, Layouts, Pointee, Scalar, Type};

use super::{Kernel, Parameter, ParameterType};
use crate::ui::{ATTENTION, Shown};

/// Returns the C++ declaration of a kernel, as far as it is known.
pub(super) fn signature(kernel: &Kernel) -> String {
    if let Some(declaration) = &kernel.declaration {
        return Shown(declaration).to_string();
    }
    let name = kernel.name.as_ref().unwrap_or(&kernel.symbol);
    let Some(parameters) = &kernel.parameters else {
        return Shown(name).to_string();
    };
    let parameters: Vec<_> = parameters.iter().map(declare).collect();
    // A kernel named after a type is an object: its parameters are members, and it returns nothing.
    let void = if kernel.symbol.starts_with("_ZTS") {
        ""
    } else {
        "void "
    };
    Shown(&format!("{void}{name}({})", parameters.join(", "))).to_string()
}

fn declare(parameter: &Parameter) -> String {
    let (cpp, name) = (&parameter.ty.cpp, parameter.name.as_deref());
    match name.unwrap_or_default() {
        "" => cpp.clone(),
        name if cpp.ends_with('*') => format!("{cpp}{name}"),
        name => format!("{cpp} {name}"),
    }
}

/// Returns the notes beside a kernel.
pub(super) fn beside(kernel: &Kernel) -> String {
    let mut notes = Vec::new();
    let size = kernel.required_work_group_size.as_deref();
    notes.extend(size.map(|size| format!("work-groups of {}", extent(size))));
    let size = kernel.maximum_work_group_size.as_deref();
    notes.extend(size.map(|size| format!("work-groups of up to {}", extent(size))));
    let size = kernel.required_sub_group_size;
    notes.extend(size.map(|size| format!("sub-groups of {size}")));
    if !kernel.eliminated_arguments.is_empty() {
        let places = kernel.eliminated_arguments.iter().map(ToString::to_string);
        let places = places.collect::<Vec<_>>().join(", ");
        notes.push(format!("the compiler removed arguments {places}"));
    }
    let parameters = kernel.parameters.iter().flatten().enumerate();
    let unknown: Vec<_> = parameters
        .filter(|(_, parameter)| !parameter.sign_known)
        .map(|(index, parameter)| match &parameter.name {
            Some(name) => Shown(name).to_string(),
            None => format!("parameter {index}"),
        })
        .collect();
    if !unknown.is_empty() {
        let list = unknown.join(", ");
        notes.push(format!("unknown signedness: {list}"));
    }
    let mut text = String::new();
    for note in notes {
        let _ = write!(text, "  {note}");
    }
    notes_of_stub(kernel, &mut text);
    if let Some(reason) = &kernel.reason {
        let reason = Shown(reason);
        let _ = write!(text, "  {ATTENTION}no signature: {reason}{ATTENTION:#}");
    }
    text
}

/// Adds the Rust name and the source location of a lambda, and why a kernel with a signature has no function.
fn notes_of_stub(kernel: &Kernel, text: &mut String) {
    if let Some(location) = &kernel.location {
        let stub = kernel.stub.as_deref();
        let stub = stub.map(|stub| format!("`{}`, ", Shown(stub)));
        let _ = write!(text, "  {}{}", stub.unwrap_or_default(), Shown(location));
    }
    if let (Some(reason), None) = (&kernel.no_stub, &kernel.reason) {
        let reason = Shown(reason);
        let _ = write!(text, "  {ATTENTION}no function: {reason}{ATTENTION:#}");
    }
}

/// Formats a size of several dimensions.
pub(super) fn extent(size: &[impl ToString]) -> String {
    let size: Vec<_> = size.iter().map(ToString::to_string).collect();
    size.join(" x ")
}

/// Returns the qualified name in a symbol, or the symbol itself if it cannot be demangled.
#[must_use]
pub fn qualified(symbol: &str) -> String {
    let name = mangled::parse(symbol).map(|name| name.qualified());
    Shown(name.as_deref().unwrap_or(symbol)).to_string()
}

/// Returns the same name, with the parameters of a function.
pub(super) fn declared(symbol: &str) -> String {
    let parameters = mangled::parse(symbol).and_then(|name| name.parameters);
    let parameters = parameters.map(|types| format!("({})", types.join(", ")));
    let parameters = parameters.unwrap_or_default();
    format!("{}{}", qualified(symbol), Shown(&parameters))
}

impl Parameter {
    pub(super) fn of(parameter: &signature::Parameter, layouts: &Layouts) -> Self {
        let known = parameter.sign_known;
        let mut ty = ParameterType {
            cpp: layouts.spell_type(&parameter.ty, known),
            ..ParameterType::default()
        };
        let words = |access: &Access| match access {
            Access::Read => "read",
            Access::ReadWrite => "read_write",
        };
        match &parameter.ty {
            Type::Scalar(of) => (ty.kind, ty.scalar) = ("scalar", Some(scalar(*of))),
            Type::Enum(of) => (ty.kind, ty.scalar) = ("enum", Some(scalar(of.of))),
            Type::Vector { of, count } => {
                (ty.kind, ty.scalar) = ("vector", Some(scalar(*of)));
                ty.count = Some(u64::from(*count));
            }
            Type::Array { of, count } => {
                (ty.kind, ty.scalar) = ("array", number(of));
                ty.count = Some(*count);
            }
            Type::Struct(_) => ty.kind = "struct",
            Type::Pointer { pointee, access } => {
                (ty.kind, ty.scalar) = ("pointer", pointed(pointee));
                ty.access = Some(words(access));
            }
            Type::LocalMemory { element, size } => {
                (ty.kind, ty.scalar) = ("local_memory", pointed(element));
                ty.size = *size;
            }
            Type::LocalAccessor {
                element,
                dimensions,
            } => {
                (ty.kind, ty.scalar) = ("local_accessor", pointed(element));
                ty.dimensions = *dimensions;
            }
            Type::Accessor {
                element,
                dimensions,
                access,
            } => {
                (ty.kind, ty.scalar) = ("accessor", pointed(element));
                (ty.dimensions, ty.access) = (Some(*dimensions), Some(words(access)));
            }
            Type::Image {
                element,
                dimensions,
                access,
            } => {
                (ty.kind, ty.scalar) = ("image", element.map(scalar));
                ty.dimensions = Some(*dimensions);
                ty.access = Some(match access {
                    Access::Read => "read",
                    Access::ReadWrite => "write",
                });
            }
            Type::Sampler => ty.kind = "sampler",
            Type::KernelHandler => ty.kind = "kernel_handler",
            Type::Unused => ty.kind = "unused",
        }
        ty.layout = parameter.ty.structure().map(|id| layouts.describe(id));
        let arguments = parameter.arguments.iter().map(|argument| match argument {
            Argument::Passed => "passed",
            Argument::Removed => "removed",
        });
        Self {
            name: parameter.name.clone(),
            ty,
            sign_known: known,
            arguments: arguments.collect(),
        }
    }
}

fn number(element: &Element) -> Option<&'static str> {
    match element {
        Element::Scalar(of) => Some(scalar(*of)),
        _ => None,
    }
}

fn pointed(pointee: &Pointee) -> Option<&'static str> {
    match pointee {
        Pointee::Element(element) => number(element),
        Pointee::Void | Pointee::Unknown(_) => None,
    }
}

/// Returns the Rust name of a numeric type.
const fn scalar(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "bool",
        Scalar::I8 => "i8",
        Scalar::U8 => "u8",
        Scalar::I16 => "i16",
        Scalar::U16 => "u16",
        Scalar::I32 => "i32",
        Scalar::U32 => "u32",
        Scalar::I64 => "i64",
        Scalar::U64 => "u64",
        Scalar::F16 => "f16",
        Scalar::BF16 => "bf16",
        Scalar::F32 => "f32",
        Scalar::F64 => "f64",
    }
}
