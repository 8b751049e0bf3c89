//! The parameters of a kernel, from what is declared and what the code takes, which must agree.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::code_types::Meanings;
use super::cpp::{self, Spelled};
use super::declaration::DeclaredParameter;
use super::described::{Described, Names};
use super::memory_map::MemoryMap;
use super::spirv::{self, ParameterType, TypeId};
use super::types::{Access, Element, Enum, Layouts, Pointee, Scalar, Type};
use super::{Argument, Parameter, Unsupported, unsupported};
use super::{entry, ptx};
use crate::model::AbstractModule;
use crate::property::set;

/// Arguments that an accessor becomes: its pointer, two ranges, an id.
const OF_ACCESSOR: usize = 4;
/// Limit for the steps of comparing memory in one file, because a hostile file repeats large structs. Beyond
/// it, only sizes are compared.
const MAX_STEPS: usize = 1 << 20;

/// An argument of the code before any was removed.
#[derive(Clone, Copy)]
enum Slot<'p> {
    Passed(&'p spirv::Parameter),
    Ptx(&'p ptx::Parameter),
    Removed,
    /// No code is available.
    Unknown,
}

impl Slot<'_> {
    const fn ty(self) -> Option<ParameterType> {
        match self {
            Slot::Passed(parameter) => Some(parameter.ty),
            Slot::Ptx(_) | Slot::Removed | Slot::Unknown => None,
        }
    }

    /// The alignment of what a pointer to device memory points to.
    fn align(self) -> Option<u64> {
        match self {
            Slot::Passed(parameter)
                if matches!(parameter.ty, ParameterType::GlobalPointer { .. }) =>
            {
                parameter.align.map(u64::from)
            }
            Slot::Ptx(parameter) => parameter.global_align(),
            _ => None,
        }
    }

    const fn ptx(self) -> Option<ptx::Passed> {
        match self {
            Slot::Ptx(parameter) => Some(parameter.ty),
            Slot::Passed(_) | Slot::Removed | Slot::Unknown => None,
        }
    }

    const fn argument(self) -> Argument {
        match self {
            Slot::Removed => Argument::Removed,
            Slot::Passed(_) | Slot::Ptx(_) | Slot::Unknown => Argument::Passed,
        }
    }

    /// Returns the name in the code, where C++ has the same name.
    fn name(self) -> Option<String> {
        let name = match self {
            Slot::Passed(parameter) => parameter.name.as_deref()?,
            Slot::Ptx(parameter) => parameter.name.as_deref()?,
            Slot::Removed | Slot::Unknown => return None,
        };
        // The names of members of SYCL's own types, when a function takes them.
        let of_sycl = ["ptr", "Ptr", "Sampler"];
        let own = !of_sycl.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit()));
        own.then(|| name.into())
    }
}

/// Returns the name that the code has for a parameter, where C++ has the same name.
pub(super) fn own_name(passed: &spirv::Parameter) -> Option<String> {
    Slot::Passed(passed).name()
}

/// What the code of a kernel takes.
#[derive(Clone, Copy)]
pub(super) enum Passed<'p> {
    SpirV(&'p [spirv::Parameter]),
    Ptx {
        parameters: &'p [ptx::Parameter],
        /// Whether numbers may be places in memory of the work-group.
        shared: bool,
    },
    /// No code is available.
    Unknown,
}

impl<'p> Passed<'p> {
    const fn len(self) -> Option<usize> {
        match self {
            Self::SpirV(parameters) => Some(parameters.len()),
            Self::Ptx { parameters, .. } => Some(parameters.len()),
            Self::Unknown => None,
        }
    }

    fn slot(self, index: usize) -> Slot<'p> {
        let found = match self {
            Self::SpirV(parameters) => parameters.get(index).map(Slot::Passed),
            Self::Ptx { parameters, .. } => parameters.get(index).map(Slot::Ptx),
            Self::Unknown => None,
        };
        found.unwrap_or(Slot::Unknown)
    }
}

/// The sources that one module has.
pub(super) struct Sources<'m> {
    pub(super) described: Described<'m>,
    pub(super) code: Option<Meanings<'m>>,
}

impl Sources<'_> {
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

    fn declared(
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
                Unsupported::new(format!(
                    "parameter {name}: `{}` is not supported",
                    parameter.ty
                ))
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
            let (ty, sign_known) =
                self.one(&declared.ty, spelled, &slots, names)
                    .map_err(|reason| {
                        let name = label(name.as_deref(), index);
                        reason.within(format_args!("parameter {name}: "))
                    })?;
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
                    pointee: self.described.pointee(to, names)?,
                    access: access(*constant || no_write),
                }
            }
            Spelled::LocalMemory(of) => {
                let element = self.described.pointee(of, names)?;
                let unbounded = matches!(**of, Spelled::Unbounded(_));
                let mut size = match (&**of, self.described.element_of(of, names)) {
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
                    element: self.described.pointee(of, names)?,
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
                    element: self.described.pointee(of, names)?,
                    dimensions: *dimensions,
                    access: access(*mode == Access::Read || no_write),
                }
            }
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
            Spelled::Named(name) => match self.described.named(name, names) {
                Some(found) => self.by_value(text, found?, passed, names)?,
                None => {
                    let layouts = &mut names.layouts;
                    return match slots.first().and_then(|slot| slot.ptx()) {
                        Some(passed) => entry::named(name, passed, layouts),
                        None => self.named_by_code(name, passed, layouts),
                    };
                }
            },
            spelled => {
                let element = self.described.element_of(spelled, names);
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

    /// Checks whether the code has the same in memory, as far as it says: sizes, and the content at each
    /// place.
    pub(super) fn agree(
        &self,
        ty: TypeId,
        element: &Element,
        text: &str,
        names: &Names,
    ) -> Result<(), Unsupported> {
        let Some(code) = &self.code else {
            return Ok(());
        };
        let layouts = &names.layouts;
        if let Some(bits) = code.wide_integer(ty) {
            return unsupported(format!(
                "bit-fields in `{text}` are an integer of {bits} bits in the code, and drivers lay that out \
                 in another way than C++; separate them by another member"
            ));
        }
        match (layouts.size(element), code.size(ty)) {
            (Some(size), Some(in_code)) if size != in_code => {
                return unsupported(format!(
                    "it is declared `{text}`, {size} bytes, and the code has {in_code}"
                ));
            }
            (None, _) => return unsupported(format!("`{text}` is beyond all memory")),
            _ => {}
        }
        if names.steps.get() >= MAX_STEPS {
            return Ok(());
        }
        let declared = MemoryMap::of_element(element, layouts);
        let in_code = code.memory(ty);
        let steps = declared.steps() + in_code.steps();
        names.steps.set(names.steps.get() + steps);
        match declared.difference(&in_code) {
            None => Ok(()),
            Some(at) => unsupported(format!(
                "it is declared `{text}`, and at byte {at} the code has something else"
            )),
        }
    }

    /// Returns the recorded type of a variable of `size` bytes, and its spelling; `None` if no type is
    /// recorded.
    pub(super) fn recorded<'t>(
        &mut self,
        module: &'t AbstractModule<'_>,
        name: &str,
        size: u64,
        names: &mut Names,
    ) -> Option<Result<(Element, &'t str), Unsupported>> {
        let text = module.metadata.get(set::VARIABLES, name)?;
        let text = text.as_str().unwrap_or_default();
        let within = |reason: Unsupported| reason.within(format_args!("`{text}`: "));
        let Some(spelled) = cpp::parse(text) else {
            return Some(unsupported("its recorded type is damaged"));
        };
        // The code may describe a type that no definition describes.
        let mut of = &spelled;
        while let Spelled::Array { of: inner, .. } = of {
            of = inner;
        }
        if let Spelled::Named(name) = of
            && self.described.named(name, names).is_none()
        {
            return None;
        }
        let element = match self.described.element_of(&spelled, names) {
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
        self.code.as_ref().and_then(|code| code.size(ty))
    }

    /// Bytes of `ty` if it is an array.
    fn array(&self, ty: TypeId) -> Option<u64> {
        self.code.as_ref().and_then(|code| code.array(ty))
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

    /// Returns the parameters of a kernel of which only the code is known.
    fn undeclared(
        &mut self,
        passed: &[spirv::Parameter],
        removed: &[bool],
        layouts: &mut Layouts,
    ) -> Result<Vec<Parameter>, Unsupported> {
        // All passed arguments, and the removed arguments before, between and right behind them.
        let mut code = passed.iter();
        let mut slots = Vec::new();
        for is_removed in removed {
            slots.push(if *is_removed {
                Slot::Removed
            } else {
                match code.next() {
                    Some(parameter) => Slot::Passed(parameter),
                    None => break, // a mask may be longer than the list
                }
            });
        }
        slots.extend(code.map(Slot::Passed));
        let mut parameters = Vec::new();
        let mut at = 0;
        while let Some(slot) = slots.get(at) {
            let fail = |reason: Unsupported| reason.within(format_args!("argument {at}: "));
            let Some(passed) = slot.ty() else {
                return Err(fail(Unsupported::new(
                    "the compiler removed it, and no declaration tells what it was",
                )));
            };
            let group = slots.get(at..at + OF_ACCESSOR).unwrap_or_default();
            let accessor = self.accessor(group, layouts).map_err(fail)?;
            let ((ty, sign_known), width) = match accessor {
                Some(accessor) => (accessor, OF_ACCESSOR),
                None => {
                    let one = self.undeclared_type(passed, layouts);
                    (one.map_err(fail)?, 1)
                }
            };
            let group = &slots[at..at + width];
            parameters.push(Parameter {
                name: slot.name(),
                ty,
                sign_known,
                align: slot.align(),
                arguments: group.iter().map(|slot| slot.argument()).collect(),
            });
            at += width;
        }
        Ok(parameters)
    }

    /// Reads four arguments as an accessor: a pointer, two ranges and an id. The compiler may have removed
    /// some. No other parameter of a kernel becomes such arguments.
    fn accessor(
        &mut self,
        group: &[Slot<'_>],
        layouts: &mut Layouts,
    ) -> Result<Option<(Type, bool)>, Unsupported> {
        let [pointer, ranges @ ..] = group else {
            return Ok(None);
        };
        let mut dimensions = None;
        for (place, range) in ranges.iter().enumerate() {
            let own = match range.ty() {
                None => continue,
                Some(ParameterType::ByValue { ty }) => self.range(ty, place == 2),
                Some(_) => None,
            };
            let Some(own) = own.filter(|own| dimensions.is_none_or(|other| other == *own)) else {
                return Ok(None);
            };
            dimensions = Some(own);
        }
        let Some(code) = &mut self.code else {
            return Ok(None);
        };
        Ok(match (pointer.ty(), dimensions) {
            (Some(ParameterType::LocalPointer { pointee }), dimensions) if !group.is_empty() => {
                if code.array(pointee).is_some() && dimensions.is_none() {
                    return Ok(None); // memory of a fixed size
                }
                let (element, known) = code.pointee(pointee, layouts);
                let ty = Type::LocalAccessor {
                    element,
                    dimensions,
                };
                Some((ty, known))
            }
            (Some(ParameterType::GlobalPointer { pointee, no_write }), Some(dimensions)) => {
                let (element, known) = code.pointee(pointee, layouts);
                let ty = Type::Accessor {
                    element,
                    dimensions,
                    access: access(no_write),
                };
                Some((ty, known))
            }
            _ => None,
        })
    }

    /// The dimensions of a `sycl::range`, or of a `sycl::id`.
    fn range(&self, ty: TypeId, id: bool) -> Option<u8> {
        let code = self.code.as_ref()?;
        let name = if id {
            "sycl::_V1::id"
        } else {
            "sycl::_V1::range"
        };
        if code.name(ty) != name {
            return None;
        }
        let size = self.size(ty)?;
        u8::try_from(size / 8)
            .ok()
            .filter(|n| (1..=3).contains(n) && size.is_multiple_of(8))
    }

    /// Returns the type of a parameter of which only the code is known.
    fn undeclared_type(
        &mut self,
        passed: ParameterType,
        layouts: &mut Layouts,
    ) -> Result<(Type, bool), Unsupported> {
        let unknown = || Unsupported::new("its type is not supported");
        let code = self.code.as_mut().ok_or_else(unknown)?;
        match passed {
            ParameterType::Int { bits, signed } => {
                let (scalar, known) = integer(bits, signed)?;
                Ok((Type::Scalar(scalar), known))
            }
            ParameterType::Float { bits } => {
                let scalar = Scalar::float(bits).ok_or_else(|| of_size(bits))?;
                Ok((Type::Scalar(scalar), true))
            }
            ParameterType::GlobalPointer { pointee, no_write } => {
                let (pointee, known) = code.pointee(pointee, layouts);
                let access = access(no_write);
                Ok((Type::Pointer { pointee, access }, known))
            }
            ParameterType::LocalPointer { pointee } => {
                let size = code.array(pointee);
                let (element, known) = code.pointee(pointee, layouts);
                let element = match element {
                    Pointee::Element(element) => Pointee::Element(innermost(element)),
                    element => element,
                };
                Ok((Type::LocalMemory { element, size }, known))
            }
            ParameterType::ByValue { ty } if code.name(ty) == "sycl::_V1::kernel_handler" => {
                Ok((Type::KernelHandler, true))
            }
            ParameterType::ByValue { ty } => {
                let found = code
                    .element(ty, layouts)
                    .and_then(|(element, known)| by_value_type(element).map(|ty| (ty, known)));
                found.ok_or_else(unknown)
            }
            ParameterType::Sampler => Ok((Type::Sampler, true)),
            ParameterType::Other => Err(unknown()),
        }
    }
}

/// Returns the name of a parameter in messages.
fn label(name: Option<&str>, index: usize) -> String {
    match name {
        None | Some("") => index.to_string(),
        Some(name) => name.into(),
    }
}

const fn access(read_only: bool) -> Access {
    if read_only {
        Access::Read
    } else {
        Access::ReadWrite
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
