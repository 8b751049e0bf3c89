// SPDX-License-Identifier: MIT OR Apache-2.0
//! A parameter of a kernel, as shown in a report and as spelled in C++.

use syclbin::signature::{self, Access, Argument, Element, Layouts, Pointee, Scalar, Type};

use super::report::{Parameter, ParameterType};

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
