// SPDX-License-Identifier: MIT OR Apache-2.0
//! Determines the parameters of a kernel that has a declaration.

use super::{MAX_COPIED, Slot, Sources, integer};
use crate::prelude::*;
use crate::signature::code::CodeKernel;
use crate::signature::cpp_type::{CppParameter, CppType};
use crate::signature::declared::{self, Declared};
use crate::signature::names::Names;
use crate::signature::types::{Element, Enum, Layouts, Type};
use crate::signature::{Argument, Parameter, Unsupported, entry, unsupported};
use crate::spirv::module::ParameterType;
use crate::text::counted;

impl Sources<'_> {
    pub(super) fn declared(
        &mut self,
        declared: &[CppParameter],
        code: Option<&CodeKernel>,
        removed: &[bool],
        names: &mut Names,
    ) -> Result<Vec<Parameter>, Unsupported> {
        let mut types = Vec::new();
        for (index, parameter) in declared.iter().enumerate() {
            let text = &parameter.ty;
            let ty = self.described.definitions.parameter(text, &names.layouts);
            if ty == Declared::Foreign {
                let name = label(Some(&parameter.name), index);
                let advice = declared::advice(text).unwrap_or_default();
                return unsupported(format!(
                    "parameter {name}: `{text}` is not supported{advice}"
                ));
            }
            types.push(ty);
        }
        let total: usize = types.iter().map(Declared::arguments).sum();
        let is_removed = |index: usize| removed.get(index).copied().unwrap_or(false);
        let gone = (0..total).filter(|index| is_removed(*index)).count();
        if let Some(count) = code.map(|code| code.arguments.len())
            && count + gone != total
        {
            return unsupported(format!(
                "its declaration with {} requires {}, of which the compiler removed {gone}, but the code expects \
                 {count}",
                counted(declared.len(), "parameter"),
                counted(total, "argument"),
            ));
        }
        let mut in_code = code.iter().flat_map(|code| &code.arguments);
        let mut slots = (0..total).map(|index| {
            if is_removed(index) {
                Slot::REMOVED
            } else {
                Slot::passed(in_code.next())
            }
        });
        let mut parameters = Vec::new();
        for (index, (declared, ty)) in declared.iter().zip(types).enumerate() {
            let slots: Vec<Slot<'_>> = slots.by_ref().take(ty.arguments()).collect();
            let name = Some(declared.name.clone()).filter(|name| !name.is_empty());
            let first = slots.first().and_then(|slot| slot.code);
            let name = name.or_else(|| first?.name.clone());
            let mut arguments = slots.iter().map(|slot| slot.argument);
            let is_removed = arguments.all(|argument| argument == Argument::Removed);
            let (ty, sign_known) = match self.one(&declared.ty, ty, &slots, names) {
                Ok((Type::Value(Element::Struct(id)), _)) if names.is_empty(id) => {
                    (Type::Unused, true)
                }
                Ok(found) => found,
                Err(_) if is_removed => (Type::Unused, true),
                Err(reason) => {
                    let name = label(name.as_deref(), index);
                    return Err(reason.within(format_args!("parameter {name}: ")));
                }
            };
            let of_ptx: Vec<_> = slots.iter().map(|slot| slot.ptx()).collect();
            if let Err(other) = entry::agree(&ty, &of_ptx, &names.layouts) {
                let (name, ty) = (label(name.as_deref(), index), &declared.ty);
                return unsupported(format!(
                    "parameter {name}: it is declared as `{ty}`, but its PTX type is {other}"
                ));
            }
            parameters.push(Parameter {
                name,
                ty,
                sign_known,
                align: first.and_then(|code| code.align),
                arguments: slots.iter().map(|slot| slot.argument).collect(),
            });
        }
        Ok(parameters)
    }

    /// Compares a declared parameter with the code. Returns the parameter's type, and whether the signedness of its
    /// integers is known.
    fn one(
        &mut self,
        text: &CppType,
        declared: Declared,
        slots: &[Slot<'_>],
        names: &mut Names,
    ) -> Result<(Type, bool), Unsupported> {
        let first = slots.first().copied().unwrap_or(Slot::passed(None));
        let mut ty = match (declared, first.spirv()) {
            (Declared::Type(ty), _) => ty,
            (Declared::Named(name), passed) => {
                return match first.ptx() {
                    Some(passed) => entry::named(&name, passed, &mut names.layouts),
                    None => self.named_by_code(&name, passed, names),
                };
            }
            // A type that the file does not describe: an array in a functor, or a lambda captured by another
            // lambda.
            (Declared::Bytes, Some(passed @ ParameterType::ByValue { .. })) => {
                let (ty, known) = self.undeclared_type(passed, &mut names.layouts)?;
                return Ok((unwrapped(ty, &names.layouts), known));
            }
            (Declared::Unknown(reason), _) => return Err(reason.within(format_args!("`{text}`: "))),
            (Declared::Bytes | Declared::Foreign, _) => {
                return unsupported(format!("`{text}` is not supported"));
            }
        };
        self.agree_on_parameter(&mut ty, slots, text, names)?;
        Ok((ty, true))
    }

    /// Infers the type of a parameter from the code, because the C++ type has no definition.
    fn named_by_code(
        &mut self,
        name: &str,
        passed: Option<ParameterType>,
        names: &mut Names,
    ) -> Result<(Type, bool), Unsupported> {
        match passed {
            Some(ParameterType::Int { bits, signed }) => {
                let (of, known) = integer(bits, signed)?;
                let name = name.into();
                Ok((Type::Value(Element::Enum(Enum { name, of })), known))
            }
            Some(passed @ ParameterType::ByValue { .. }) => {
                let (mut ty, known) = self.undeclared_type(passed, &mut names.layouts)?;
                if let Type::Value(Element::Struct(id)) = &mut ty
                    && let Some(layout) = names.layouts.get(*id)
                    && layout.name != name
                {
                    names.copied = names.copied.saturating_add(layout.fields.len());
                    if names.copied > MAX_COPIED {
                        return unsupported(format!(
                            "the file contains too many structs without a definition, such as `{name}`"
                        ));
                    }
                    let mut layout = layout.clone();
                    layout.name = name.into();
                    *id = names.layouts.insert(layout);
                }
                Ok((ty, known))
            }
            Some(_) => unsupported(format!("the code expects a type other than `{name}`")),
            None => unsupported(format!("the layout of `{name}` is unknown")),
        }
    }
}

/// Returns the name or index of a parameter, for messages.
fn label(name: Option<&str>, index: usize) -> String {
    let name = name.filter(|name| !name.is_empty());
    name.map_or_else(|| index.to_string(), String::from)
}

/// Returns the array if `ty` is a struct with an array as its only member, because the compiler passes arrays in such
/// structs. Otherwise, returns `ty`.
fn unwrapped(ty: Type, layouts: &Layouts) -> Type {
    if let Type::Value(Element::Struct(id)) = &ty
        && let [field] = layouts.fields(*id)
        && matches!(field.ty, Element::Array { .. })
    {
        return Type::Value(field.ty.clone());
    }
    ty
}
