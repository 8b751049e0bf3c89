// SPDX-License-Identifier: MIT OR Apache-2.0
//! Determines the parameters of a kernel from its code alone.

use super::{Slot, Sources, access, integer, of_size};
use crate::prelude::*;
use crate::signature::code::{CodeKernel, Passed};
use crate::signature::types::{Element, Layouts, OF_ACCESSOR, Scalar, Type};
use crate::signature::{Parameter, Unsupported, entry};
use crate::spirv::module::{ParameterType, TypeId};

impl Sources<'_> {
    pub(super) fn undeclared(
        &mut self,
        code: &CodeKernel,
        removed: &[bool],
        layouts: &mut Layouts,
    ) -> Result<Vec<Parameter>, Unsupported> {
        // The passed arguments, with the removed arguments in their original places.
        let mut in_code = code.arguments.iter().map(Some).map(Slot::passed);
        // A mask may be longer than the argument list.
        let listed = |is_removed: &bool| {
            let removed = is_removed.then_some(Slot::REMOVED);
            removed.or_else(|| in_code.next())
        };
        let mut slots: Vec<_> = removed.iter().map_while(listed).collect();
        slots.extend(in_code);
        let mut parameters = Vec::new();
        let mut at = 0;
        while let Some(slot) = slots.get(at) {
            let fail = |reason: Unsupported| reason.within(format_args!("argument {at}: "));
            let group = slots.get(at..at + OF_ACCESSOR).unwrap_or_default();
            let Some(argument) = slot.code else {
                // Nothing describes a removed argument.
                parameters.push(Parameter {
                    arguments: vec![slot.argument],
                    ..Parameter::new(Type::Unused)
                });
                at += 1;
                continue;
            };
            let (found, width) = match argument.ty {
                Passed::SpirV(ty) => match self.accessor(group, layouts) {
                    Some(accessor) => (Ok(accessor), OF_ACCESSOR),
                    None => (self.undeclared_type(ty, layouts), 1),
                },
                Passed::Ptx(ty) => (entry::undeclared(ty, code.shared, layouts), 1),
            };
            let (ty, sign_known) = found.map_err(fail)?;
            let group = &slots[at..at + width];
            parameters.push(Parameter {
                name: argument.name.clone(),
                ty,
                sign_known,
                align: argument.align,
                arguments: group.iter().map(|slot| slot.argument).collect(),
            });
            at += width;
        }
        Ok(parameters)
    }

    /// Recognizes an accessor in four arguments: a pointer, two ranges and an id. The compiler may have removed
    /// some of them. Only accessors are passed in this form.
    fn accessor(&mut self, group: &[Slot<'_>], layouts: &mut Layouts) -> Option<(Type, bool)> {
        let (pointer, ranges) = group.split_first()?;
        let mut dimensions = None;
        let names = ["sycl::_V1::range", "sycl::_V1::range", "sycl::_V1::id"];
        for (name, range) in names.into_iter().zip(ranges) {
            let own = match range.spirv() {
                None => continue,
                Some(ParameterType::ByValue { ty }) => self.range(ty, name),
                Some(_) => None,
            };
            let own = own.filter(|own| dimensions.is_none_or(|other| other == *own))?;
            dimensions = Some(own);
        }
        let code = self.meanings.as_mut()?;
        match (pointer.spirv()?, dimensions) {
            (ParameterType::LocalPointer { pointee }, dimensions) => {
                let (element, known) = code.pointee(pointee, layouts);
                let ty = Type::LocalAccessor {
                    element,
                    dimensions,
                };
                Some((ty, known))
            }
            (ParameterType::GlobalPointer { pointee, no_write }, Some(dimensions)) => {
                let (element, known) = code.pointee(pointee, layouts);
                let ty = Type::Accessor {
                    element,
                    dimensions,
                    access: access(no_write),
                };
                Some((ty, known))
            }
            _ => None,
        }
    }

    /// Returns the number of dimensions if `ty` is the class `name`, which is `sycl::range` or `sycl::id`.
    fn range(&self, ty: TypeId, name: &str) -> Option<u8> {
        let code = self.meanings.as_ref()?;
        let size = code.size(ty).filter(|_| code.name(ty) == name)?;
        (1..=3).find(|count| u64::from(*count) * 8 == size)
    }

    pub(super) fn undeclared_type(
        &mut self,
        passed: ParameterType,
        layouts: &mut Layouts,
    ) -> Result<(Type, bool), Unsupported> {
        let unknown = || Unsupported::new("its type is not supported");
        let code = self.meanings.as_mut().ok_or_else(unknown)?;
        match passed {
            ParameterType::Bool => Ok((Type::Value(Element::Scalar(Scalar::Bool)), true)),
            ParameterType::Int { bits, signed } => {
                let (scalar, known) = integer(bits, signed)?;
                Ok((Type::Value(Element::Scalar(scalar)), known))
            }
            ParameterType::Float { bits, bfloat } => {
                let scalar = Scalar::float(bits, bfloat).ok_or_else(|| of_size(bits))?;
                Ok((Type::Value(Element::Scalar(scalar)), true))
            }
            ParameterType::GlobalPointer { pointee, no_write } => {
                let (pointee, known) = code.pointee(pointee, layouts);
                let access = access(no_write);
                Ok((Type::Pointer { pointee, access }, known))
            }
            ParameterType::LocalPointer { pointee } => {
                let (element, known) = code.pointee(pointee, layouts);
                // The pointee may be the first part of an element, so the launch sets the size.
                let (element, size) = (element.innermost(), None);
                Ok((Type::LocalMemory { element, size }, known))
            }
            ParameterType::ByValue { ty } if code.name(ty) == "sycl::_V1::kernel_handler" => {
                Ok((Type::KernelHandler, true))
            }
            ParameterType::ByValue { ty } => {
                let (element, known) = code.element(ty, layouts).ok_or_else(unknown)?;
                let found = match element {
                    // A union.
                    Element::Bytes(size) => {
                        let align = code.module.size(ty.0).map_or(1, |(_, align)| align);
                        Some(entry::bytes(code.name(ty), size, align, layouts))
                    }
                    element => Type::by_value(element),
                };
                Ok((found.ok_or_else(unknown)?, known))
            }
            ParameterType::Sampler => Ok((Type::Sampler, true)),
            ParameterType::Image {
                dimensions,
                written,
            } => {
                let ty = Type::Image {
                    element: None,
                    dimensions,
                    access: access(!written),
                };
                Ok((ty, true))
            }
            ParameterType::Other => Err(unknown()),
        }
    }
}
