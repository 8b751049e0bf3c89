// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parameters of a kernel that is declared.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::slot::{Passed, Slot};
use super::{OF_ACCESSOR, Sources, access, by_value_type, innermost, integer};
use crate::signature::cpp::{self, Spelled};
use crate::signature::declaration::DeclaredParameter;
use crate::signature::names::Names;
use crate::signature::spirv::ParameterType;
use crate::signature::types::{Access, Element, Enum, Layouts, Pointee, Type};
use crate::signature::{Argument, Parameter, Unsupported, entry, unsupported};

impl Sources<'_> {
    pub(super) fn declared(
        &mut self,
        declared: &[DeclaredParameter],
        passed: Passed<'_>,
        removed: &[bool],
        names: &mut Names,
    ) -> Result<Vec<Parameter>, Unsupported> {
        let mut spelled = Vec::new();
        for (index, parameter) in declared.iter().enumerate() {
            let ty = cpp::parse(&parameter.ty).filter(|ty| *ty != Spelled::Foreign);
            let name = label(Some(&parameter.name), index);
            spelled.push(ty.ok_or_else(|| {
                let ty = &parameter.ty;
                let advice = cpp::advice(ty).unwrap_or_default();
                Unsupported::new(format!("parameter {name}: `{ty}` is not supported{advice}"))
            })?);
        }
        let width = |ty: &Spelled| match ty {
            Spelled::Accessor { .. } | Spelled::LocalAccessor { .. } => OF_ACCESSOR,
            _ => 1,
        };
        let total: usize = spelled.iter().map(width).sum();
        let is_removed = |index: usize| removed.get(index).copied().unwrap_or(false);
        let gone = (0..total).filter(|index| is_removed(*index)).count();
        if let Some(count) = passed.len()
            && count + gone != total
        {
            return unsupported(format!(
                "its {} parameters are {total} arguments, of which the compiler removed {gone}, \
                 and the code takes {count}",
                declared.len(),
            ));
        }
        let mut in_code = 0..;
        let mut slots = (0..total).map(|index| {
            if is_removed(index) {
                Slot::Removed
            } else {
                in_code.next().map_or(Slot::Unknown, |at| passed.slot(at))
            }
        });
        let mut parameters = Vec::new();
        for (index, (declared, spelled)) in declared.iter().zip(&spelled).enumerate() {
            let slots: Vec<Slot<'_>> = slots.by_ref().take(width(spelled)).collect();
            let name = Some(declared.name.clone()).filter(|name| !name.is_empty());
            let name = name.or_else(|| slots.first().and_then(|slot| slot.name()));
            let is_removed = slots
                .iter()
                .all(|slot| slot.argument() == Argument::Removed);
            let (ty, sign_known) = match self.one(&declared.ty, spelled, &slots, names) {
                Ok((Type::Struct(id), _)) if names.is_empty(id) => (Type::Unused, true),
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
                    "parameter {name}: it is declared `{ty}`, and the PTX takes {other}"
                ));
            }
            parameters.push(Parameter {
                name,
                ty,
                sign_known,
                align: slots.first().and_then(|slot| slot.align()),
                arguments: slots.into_iter().map(Slot::argument).collect(),
            });
        }
        Ok(parameters)
    }

    /// Returns the type of a declared parameter, once the code is seen to take the same, and whether its sign
    /// is known.
    fn one(
        &mut self,
        text: &str,
        spelled: &Spelled,
        slots: &[Slot<'_>],
        names: &mut Names,
    ) -> Result<(Type, bool), Unsupported> {
        let passed = slots.first().and_then(|slot| slot.ty());
        let other = || {
            unsupported(format!(
                "it is declared `{text}`, and the code takes something else"
            ))
        };
        let ty = match spelled {
            Spelled::Pointer { to, constant } => {
                let no_write = match passed {
                    Some(ParameterType::GlobalPointer { no_write, .. }) => no_write,
                    None => false,
                    Some(_) => return other(),
                };
                // The pointee is not compared, because a pointer is typed by its use. `float *` may arrive as
                // a pointer to bytes, and opaque pointers may lose it altogether.
                Type::Pointer {
                    pointee: self.definitions.pointee(to, names)?,
                    access: access(*constant || no_write),
                }
            }
            Spelled::LocalMemory(of) => {
                let element = self.definitions.pointee(of, names)?;
                let unbounded = matches!(**of, Spelled::Unbounded(_));
                let mut size = match (&**of, self.definitions.element_of(of, names)) {
                    (Spelled::Unbounded(_), _) | (_, Err(_)) => None,
                    (_, Ok(element)) => names.layouts.size(&element),
                };
                // A launch that gives the size counts the elements of `T[]`, which may be arrays.
                let element = match element {
                    Pointee::Element(element) if !unbounded => Pointee::Element(innermost(element)),
                    element => element,
                };
                match passed {
                    Some(ParameterType::LocalPointer { pointee }) => {
                        let in_code = self.array(pointee);
                        // The code may see less: an array that the first element begins with.
                        if let (Some(size), Some(in_code)) = (size, in_code)
                            && size < in_code
                        {
                            return unsupported(format!(
                                "it is declared `{text}`, {size} bytes, and the code has {in_code}"
                            ));
                        }
                        // The array of a functor is recorded without a size where debug information has none.
                        // Its argument has the name of the member; the argument of a function has another
                        // name.
                        let of_functor = slots.first().and_then(|slot| slot.name()).is_some();
                        if !unbounded || of_functor {
                            size = size.or(in_code);
                        }
                    }
                    None => {}
                    Some(_) => return other(),
                }
                if size.is_none() && !matches!(**of, Spelled::Unbounded(_)) {
                    return unsupported(format!("the size of `{text}` is not known"));
                }
                Type::LocalMemory { element, size }
            }
            Spelled::LocalAccessor { of, dimensions } => {
                if !matches!(passed, Some(ParameterType::LocalPointer { .. }) | None) {
                    return other();
                }
                self.agree_on_ranges(&slots[1..], *dimensions, text)?;
                Type::LocalAccessor {
                    element: self.definitions.pointee(of, names)?,
                    dimensions: Some(*dimensions),
                }
            }
            Spelled::Accessor {
                of,
                dimensions,
                access: mode,
            } => {
                let no_write = match passed {
                    Some(ParameterType::GlobalPointer { no_write, .. }) => no_write,
                    None => false,
                    Some(_) => return other(),
                };
                self.agree_on_ranges(&slots[1..], *dimensions, text)?;
                Type::Accessor {
                    element: self.definitions.pointee(of, names)?,
                    dimensions: *dimensions,
                    access: access(*mode == Access::Read || no_write),
                }
            }
            Spelled::Image {
                of,
                dimensions,
                access,
            } => match passed {
                Some(found) if found != image(*dimensions, *access) => return other(),
                _ => Type::Image {
                    element: *of,
                    dimensions: *dimensions,
                    access: *access,
                },
            },
            Spelled::Sampler => match passed {
                Some(ParameterType::Sampler) | None => Type::Sampler,
                Some(_) => return other(),
            },
            // A function takes a struct that has the pointer, a functor the pointer itself.
            Spelled::KernelHandler => match passed {
                Some(ParameterType::GlobalPointer { .. }) | None => Type::KernelHandler,
                Some(ParameterType::ByValue { ty }) if self.size(ty) == Some(8) => {
                    Type::KernelHandler
                }
                Some(_) => return other(),
            },
            Spelled::Named(name) => match self.definitions.named(name, names) {
                Some(found) => self.by_value(text, found?, passed, names)?,
                None => {
                    let layouts = &mut names.layouts;
                    return match slots.first().and_then(|slot| slot.ptx()) {
                        Some(passed) => entry::named(name, passed, layouts),
                        None => self.named_by_code(name, passed, layouts),
                    };
                }
            },
            Spelled::Empty => Type::Unused,
            // The file does not describe it: an array of a functor, or a lambda that a lambda captures.
            Spelled::Bytes(_) if matches!(passed, Some(ParameterType::ByValue { .. })) => {
                let passed = passed.unwrap_or(ParameterType::Other);
                let (ty, known) = self.undeclared_type(passed, &mut names.layouts)?;
                return Ok((unwrapped(ty, &names.layouts), known));
            }
            spelled => {
                let element = self.definitions.element_of(spelled, names);
                let element =
                    element.map_err(|reason| reason.within(format_args!("`{text}`: ")))?;
                self.by_value(text, element, passed, names)?
            }
        };
        Ok((ty, true))
    }

    /// A type of C++ that no definition describes, as the code has it.
    fn named_by_code(
        &mut self,
        name: &str,
        passed: Option<ParameterType>,
        layouts: &mut Layouts,
    ) -> Result<(Type, bool), Unsupported> {
        match passed {
            Some(ParameterType::Int { bits, signed }) => {
                let (of, known) = integer(bits, signed)?;
                let name = name.into();
                Ok((Type::Enum(Enum { name, of }), known))
            }
            Some(passed @ ParameterType::ByValue { .. }) => {
                let (ty, known) = self.undeclared_type(passed, layouts)?;
                let Type::Struct(id) = ty else {
                    return Ok((ty, known));
                };
                let Some(layout) = layouts.get(id) else {
                    return Ok((ty, known));
                };
                let mut layout = layout.clone();
                layout.name = name.into();
                Ok((Type::Struct(layouts.insert(layout)), known))
            }
            Some(_) => unsupported(format!("the code takes something else than `{name}`")),
            None => unsupported(format!("the layout of `{name}` is not known")),
        }
    }

    /// Returns `element` as a parameter, once the code is seen to take the same.
    fn by_value(
        &mut self,
        text: &str,
        element: Element,
        passed: Option<ParameterType>,
        names: &Names,
    ) -> Result<Type, Unsupported> {
        let number = match &element {
            Element::Scalar(scalar) => Some(*scalar),
            Element::Enum(of) => Some(of.of),
            _ => None,
        };
        let agrees = match (passed, number) {
            (None, _) => true,
            (Some(ParameterType::Int { bits, .. }), Some(number)) => {
                !number.is_float() && number.bits() == bits
            }
            (Some(ParameterType::Float { bits }), Some(number)) => {
                number.is_float() && number.bits() == bits
            }
            (Some(ParameterType::ByValue { ty }), _) => {
                self.agree(ty, &element, text, names)?;
                true
            }
            _ => false,
        };
        if !agrees {
            return unsupported(format!(
                "it is declared `{text}`, and the code takes something else"
            ));
        }
        by_value_type(element).ok_or_else(|| Unsupported::new(format!("`{text}` is not supported")))
    }

    /// Ranges and the id of an accessor: 8 bytes a dimension, each.
    fn agree_on_ranges(
        &self,
        slots: &[Slot<'_>],
        dimensions: u8,
        text: &str,
    ) -> Result<(), Unsupported> {
        let expected = u64::from(dimensions) * 8;
        for slot in slots {
            let agrees = match slot.ty() {
                None => true,
                Some(ParameterType::ByValue { ty }) => self.size(ty) == Some(expected),
                Some(_) => false,
            };
            if !agrees {
                return unsupported(format!(
                    "it is declared `{text}`, and the code takes other ranges"
                ));
            }
        }
        Ok(())
    }
}

/// Returns what the code takes for an accessor of an image.
fn image(dimensions: u8, access: Access) -> ParameterType {
    ParameterType::Image {
        dimensions,
        written: access == Access::ReadWrite,
    }
}

/// Returns the name of a parameter in messages.
fn label(name: Option<&str>, index: usize) -> String {
    match name {
        None | Some("") => index.to_string(),
        Some(name) => name.into(),
    }
}

/// An array that the compiler wrapped in a struct to pass it.
fn unwrapped(ty: Type, layouts: &Layouts) -> Type {
    let fields = match &ty {
        Type::Struct(id) => layouts.get(*id).map(|layout| &layout.fields[..]),
        _ => None,
    };
    match fields {
        Some([field]) => match &field.ty {
            Element::Array { of, count } => Type::Array {
                of: (**of).clone(),
                count: *count,
            },
            _ => ty,
        },
        _ => ty,
    }
}
