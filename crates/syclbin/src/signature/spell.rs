// SPDX-License-Identifier: MIT OR Apache-2.0
//! Formats declarations and types for display, in C++ syntax such as
//! `void fill::iota(float start, float *out, int count)`.

use core::fmt;

use super::cpp_type::{BYTES, CppParameter, CppType, EMPTY, list};
use super::types::{Access, Element, Layouts, Pointee, Scalar, StructId, Type};
use crate::prelude::*;

impl Layouts {
    /// Formats the struct `id` on one line, with the offset of each member.
    #[must_use]
    pub fn describe(&self, id: StructId) -> String {
        self.describe_members(id, usize::MAX)
    }

    /// Formats the struct `id` like [`Self::describe`], with at most `most` members.
    pub(super) fn describe_members(&self, id: StructId, most: usize) -> String {
        let Some(layout) = self.get(id) else {
            return "a struct from another file".into();
        };
        let mut text = format!("struct {} {{", layout.name);
        for field in layout.fields.iter().take(most) {
            let spelled = self.spell(&field.ty);
            let (ty, dimensions) = split_array(&spelled);
            let name = field.name.as_deref().unwrap_or("_");
            text += &format!(" {ty} {name}{dimensions}; /* {} */", field.offset);
        }
        if layout.fields.len() > most {
            text += " ...";
        }
        text + &format!(" }} /* size {}, align {} */", layout.size, layout.align)
    }

    /// Formats `element` in C++ syntax. For an array, the count follows the type.
    #[must_use]
    pub fn spell(&self, element: &Element) -> String {
        self.cpp_type(element).to_string()
    }

    fn cpp_type(&self, element: &Element) -> CppType {
        match element {
            Element::Scalar(scalar) => CppType::named(scalar.cpp()),
            Element::Enum(of) => CppType::named(&*of.name),
            Element::Vector { of, count } => instance("sycl::vec", CppType::named(of.cpp()), count),
            Element::Array { of, count } => self.cpp_type(of).array(Some(*count)),
            Element::Struct(id) => CppType::named(match self.get(*id) {
                Some(layout) if !layout.name.is_empty() => &*layout.name,
                _ => "struct",
            }),
            Element::Pointer(to) => pointee(to, |element| self.cpp_type(element)).pointer(),
            Element::Bytes(size) => CppType::named(BYTES).array(Some(*size)),
        }
    }

    /// Formats `ty` in C++ syntax, as far as the file describes the type. For `sign_known`, pass
    /// [`Parameter::sign_known`](super::Parameter::sign_known).
    #[must_use]
    pub fn spell_type(&self, ty: &Type, sign_known: bool) -> String {
        let element = |element: &Element| match element {
            Element::Scalar(Scalar::I8) if !sign_known => CppType::named("char"),
            element => self.cpp_type(element),
        };
        let accessed = |of: &Pointee| match ty.access() {
            Some(Access::Read) => pointee(of, element).constant(),
            _ => pointee(of, element),
        };
        let dimensions = ty.dimensions();
        let dimensions = dimensions.map_or_else(|| "?".into(), |count| count.to_string());
        let ty = match ty {
            Type::Value(Element::Array { of, count }) => {
                instance("sycl::marray", element(of), count)
            }
            Type::Value(of) => element(of),
            Type::Pointer { pointee: of, .. } => accessed(of).pointer(),
            Type::LocalMemory { element: of, size } => {
                let count = match of {
                    Pointee::Element(of) => size.zip(self.size(of)),
                    _ => None,
                };
                let count = count.and_then(|(size, own)| size.checked_div(own));
                let memory = pointee(of, element).array(count);
                CppType::instance("work_group_memory", [memory].into())
            }
            Type::LocalAccessor { element: of, .. } => {
                instance("sycl::local_accessor", pointee(of, element), &dimensions)
            }
            Type::Accessor { element: of, .. } => {
                instance("sycl::accessor", accessed(of), &dimensions)
            }
            Type::Image {
                element,
                dimensions,
                access,
            } => CppType::image(*element, *dimensions, *access),
            Type::Sampler => CppType::named("sycl::sampler"),
            Type::KernelHandler => CppType::named("sycl::kernel_handler"),
            Type::Unused => CppType::named(EMPTY),
        };
        ty.to_string()
    }
}

/// Returns an instance of a SYCL template with an element type and a number.
fn instance(name: &str, of: CppType, count: &impl ToString) -> CppType {
    CppType::instance(name, [of, CppType::named(count.to_string())].into())
}

fn pointee(of: &Pointee, element: impl Fn(&Element) -> CppType) -> CppType {
    match of {
        Pointee::Element(of) => element(of),
        Pointee::Unknown(Some(name)) => CppType::named(&**name),
        Pointee::Void | Pointee::Unknown(None) => CppType::named("void"),
    }
}

/// Splits off the brackets at the end: `double[3]` into `double` and `[3]`.
fn split_array(text: &str) -> (&str, &str) {
    let mut base = text;
    while let Some(inner) = base.strip_suffix(']')
        && let Some((rest, _)) = inner.rsplit_once('[')
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
        write!(f, "void {}({})", self.name, list(&self.parameters))
    }
}

impl fmt::Display for DeclaredParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tight = self.ty.ends_with('*') || self.name.is_empty();
        let space = if tight { "" } else { " " };
        write!(f, "{}{space}{}", self.ty, self.name)
    }
}
