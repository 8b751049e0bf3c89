// SPDX-License-Identifier: MIT OR Apache-2.0
//! Formats declarations and types in C++ syntax, for display, such as
//! `void fill::iota(float start, float *out, int count)`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::cpp_type::{CppParameter, CppType, EMPTY};
use super::types::{Access, Element, Layouts, Pointee, Scalar, StructId, Type};

impl Layouts {
    /// Formats the struct `id` on one line, with the offset of each member.
    #[must_use]
    pub fn describe(&self, id: StructId) -> String {
        let Some(layout) = self.get(id) else {
            return "a struct from another file".into();
        };
        let mut text = format!("struct {} {{", layout.name);
        for field in &layout.fields {
            let spelled = self.spell(&field.ty);
            let (ty, dimensions) = split_array(&spelled);
            let name = field.name.as_deref().unwrap_or("_");
            text += &format!(" {ty} {name}{dimensions}; /* {} */", field.offset);
        }
        text + &format!(" }} /* size {}, align {} */", layout.size, layout.align)
    }

    /// Formats `element` in C++ syntax. For an array, the count follows the type.
    #[must_use]
    pub fn spell(&self, element: &Element) -> String {
        match element {
            Element::Scalar(scalar) => scalar.cpp().into(),
            Element::Enum(of) => of.name.clone(),
            Element::Vector { of, count } => format!("sycl::vec<{}, {count}>", of.cpp()),
            Element::Array { .. } => {
                let (mut of, mut counts) = (element, String::new());
                while let Element::Array { of: inner, count } = of {
                    counts += &format!("[{count}]");
                    of = inner;
                }
                self.spell(of) + &counts
            }
            Element::Struct(id) => match self.get(*id) {
                Some(layout) if !layout.name.is_empty() => layout.name.clone(),
                _ => "struct".into(),
            },
            Element::Pointer(pointee) => match &**pointee {
                Pointee::Element(element) => format!("{} *", self.spell(element)),
                Pointee::Unknown(Some(name)) => format!("{name} *"),
                Pointee::Void | Pointee::Unknown(None) => "void *".into(),
            },
            Element::Bytes(size) => format!("bytes[{size}]"),
        }
    }

    /// Formats `ty` in C++ syntax, as far as the file describes the type. For `sign_known`, pass
    /// [`Parameter::sign_known`](super::Parameter::sign_known).
    #[must_use]
    pub fn spell_type(&self, ty: &Type, sign_known: bool) -> String {
        let element = |element: &Element| match element {
            Element::Scalar(Scalar::I8) if !sign_known => "char".into(),
            element => self.spell(element),
        };
        let pointee = |pointee: &Pointee| match pointee {
            Pointee::Element(of) => element(of),
            Pointee::Unknown(Some(name)) => name.clone(),
            Pointee::Void | Pointee::Unknown(None) => "void".into(),
        };
        let constant = |access: &Access| match access {
            Access::Read => "const ",
            Access::ReadWrite => "",
        };
        match ty {
            Type::Array { of, count } => format!("sycl::marray<{}, {count}>", element(of)),
            Type::Pointer {
                pointee: of,
                access,
            } => format!("{}{} *", constant(access), pointee(of)),
            Type::LocalMemory { element: of, size } => {
                let of_element = match of {
                    Pointee::Element(of) => self.size(of),
                    _ => None,
                };
                let of = pointee(of);
                let count = match (size, of_element) {
                    (Some(size), Some(own)) if own > 0 => format!("{}", size / own),
                    _ => String::new(),
                };
                format!("work_group_memory<{of}[{count}]>")
            }
            Type::LocalAccessor {
                element: of,
                dimensions,
            } => {
                let count = dimensions.map_or_else(|| "?".into(), |count| format!("{count}"));
                format!("sycl::local_accessor<{}, {count}>", pointee(of))
            }
            Type::Accessor {
                element: of,
                dimensions,
                access,
            } => format!(
                "sycl::accessor<{}{}, {dimensions}>",
                constant(access),
                pointee(of)
            ),
            Type::Image {
                element,
                dimensions,
                access,
            } => CppType::image(*element, *dimensions, *access).to_string(),
            Type::Sampler => "sycl::sampler".into(),
            Type::KernelHandler => "sycl::kernel_handler".into(),
            Type::Unused => EMPTY.into(),
            Type::Scalar(_) | Type::Enum(_) | Type::Vector { .. } | Type::Struct(_) => {
                ty.value().as_ref().map_or_else(String::new, element)
            }
        }
    }
}

/// Splits off the brackets at the end: `double[3]` into `double` and `[3]`.
fn split_array(text: &str) -> (&str, &str) {
    let mut base = text;
    while let Some((rest, _)) = base
        .strip_suffix(']')
        .and_then(|inner| inner.rsplit_once('['))
    {
        base = rest;
    }
    text.split_at(base.len())
}

/// The C++ declaration of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The qualified name with template arguments, such as `fill::iota` or `scale<int>`.
    pub name: String,
    /// The parameters, in order.
    pub parameters: Vec<DeclaredParameter>,
}

/// A parameter in a C++ declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredParameter {
    /// The type, such as `const float *`.
    pub ty: String,
    /// The name, or empty for an unnamed parameter.
    pub name: String,
}

impl Declaration {
    pub(super) fn new(name: String, parameters: &[CppParameter]) -> Self {
        let parameters = parameters.iter().map(|parameter| DeclaredParameter {
            ty: parameter.ty.to_string(),
            name: parameter.name.clone(),
        });
        let parameters = parameters.collect();
        Self { name, parameters }
    }
}

impl fmt::Display for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "void {}(", self.name)?;
        for (index, parameter) in self.parameters.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{parameter}")?;
        }
        write!(f, ")")
    }
}

impl fmt::Display for DeclaredParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tight = self.ty.ends_with('*') || self.name.is_empty();
        let space = if tight { "" } else { " " };
        write!(f, "{}{space}{}", self.ty, self.name)
    }
}
