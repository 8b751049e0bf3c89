// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structs and enumerations that C++ described: recorded definitions, resolved
//! to [`Layouts`] when a kernel takes one.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::Unsupported;
use super::cpp::{self, Spelled};
use super::definition::Definition;
use super::names::Names;
use super::types::{Element, Enum, Field, Layout, Layouts, Pointee};

/// Structs nest; deeper structs do not get a layout.
const MAX_DEPTH: usize = 32;

/// Replaces the last field, if it is a struct, with the fields of that, and returns where the last one ends.
fn take_apart(fields: &mut Vec<Field>, layouts: &Layouts) -> Option<u64> {
    let last = fields.pop_if(|last| matches!(last.ty, Element::Struct(_)))?;
    let layout = layouts.get(last.ty.structure()?)?;
    for field in &layout.fields {
        let offset = last.offset.checked_add(field.offset)?;
        fields.push(Field {
            offset,
            ..field.clone()
        });
    }
    fields.last().map_or(Some(0), |field| {
        field.offset.checked_add(layouts.size(&field.ty)?)
    })
}

/// What the names of one module mean.
pub(super) struct Definitions<'m> {
    all: &'m BTreeMap<String, Definition>,
    known: BTreeMap<String, Result<Element, Unsupported>>,
}

impl<'m> Definitions<'m> {
    pub(super) const fn new(all: &'m BTreeMap<String, Definition>) -> Self {
        Self {
            all,
            known: BTreeMap::new(),
        }
    }

    /// Returns what a struct or enumeration is, or `None` where the file does not say.
    pub(super) fn named(
        &mut self,
        name: &str,
        names: &mut Names,
    ) -> Option<Result<Element, Unsupported>> {
        self.named_at(name, names, MAX_DEPTH)
    }

    fn named_at(
        &mut self,
        name: &str,
        names: &mut Names,
        depth: usize,
    ) -> Option<Result<Element, Unsupported>> {
        if let Some(known) = self.known.get(name) {
            return Some(known.clone());
        }
        let definition = self.all.get(name)?.clone();
        let contained = Unsupported::new(format!("the struct `{name}` contains itself"));
        self.known.insert(name.into(), Err(contained));
        let found = self.define(definition, names, depth);
        self.known.insert(name.into(), found.clone());
        Some(found)
    }

    fn define(
        &mut self,
        definition: Definition,
        names: &mut Names,
        depth: usize,
    ) -> Result<Element, Unsupported> {
        let (name, size, align, members) = match definition {
            Definition::Enum { name, of } => {
                return match cpp::parse(&of) {
                    Some(Spelled::Scalar(of)) if !of.is_float() => {
                        Ok(Element::Enum(Enum { name, of }))
                    }
                    _ => Err(Unsupported::new(format!(
                        "the recorded enum `{name}` is of `{of}`"
                    ))),
                };
            }
            Definition::Struct {
                name,
                size,
                align,
                members,
            } => (name, size, align, members),
        };
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Unsupported::new(format!(
                "the struct `{name}` nests too deep"
            )));
        };
        let (mut end, mut fields) = (0, Vec::new());
        for member in members {
            let within = |reason: Unsupported| {
                let member = &member.name;
                reason.within(format_args!("the struct `{name}`: its member `{member}` "))
            };
            let wrong = |what: &str| within(Unsupported::new(what));
            let spelled = cpp::parse(&member.ty).ok_or_else(|| wrong("has no type"))?;
            let ty = self.element(&spelled, names, depth).map_err(within)?;
            let size = names.layouts.size(&ty);
            while member.offset < end {
                // C++ puts members into the padding behind a base class, which Rust cannot do with a field:
                // the members of the base become members.
                end = take_apart(&mut fields, &names.layouts)
                    .ok_or_else(|| wrong("stands upon the one before it"))?;
            }
            end = size
                .and_then(|size| member.offset.checked_add(size))
                .ok_or_else(|| wrong("is beyond all memory"))?;
            fields.push(Field {
                name: Some(member.name).filter(|name| name != "_"),
                offset: member.offset,
                ty,
                sign_known: true,
            });
        }
        if end > size || !align.is_power_of_two() {
            return Err(Unsupported::new(format!(
                "the struct `{name}` has {size} bytes aligned to {align}, and members up to byte {end}"
            )));
        }
        Ok(Element::Struct(names.insert(Layout {
            name,
            size,
            align,
            fields,
            described: true,
        })))
    }

    /// Returns what memory holds where C++ says `spelled`.
    pub(super) fn element_of(
        &mut self,
        spelled: &Spelled,
        names: &mut Names,
    ) -> Result<Element, Unsupported> {
        self.element(spelled, names, MAX_DEPTH)
    }

    fn element(
        &mut self,
        spelled: &Spelled,
        names: &mut Names,
        depth: usize,
    ) -> Result<Element, Unsupported> {
        Ok(match spelled {
            Spelled::Scalar(scalar) => Element::Scalar(*scalar),
            Spelled::Vector { of, count } => Element::Vector {
                of: *of,
                count: *count,
            },
            Spelled::Array { of, count } => Element::Array {
                of: Box::new(self.element(of, names, depth)?),
                count: *count,
            },
            Spelled::Pointer { to, .. } => Element::Pointer(Box::new(self.shallow(to, names))),
            Spelled::Bytes(size) => Element::Bytes(*size),
            Spelled::Named(name) => self.named_at(name, names, depth).unwrap_or_else(|| {
                Err(Unsupported::new(format!(
                    "the layout of `{name}` is not known"
                )))
            })?,
            Spelled::Void
            | Spelled::Unbounded(_)
            | Spelled::LocalMemory(_)
            | Spelled::LocalAccessor { .. }
            | Spelled::Accessor { .. }
            | Spelled::Image { .. }
            | Spelled::Sampler
            | Spelled::KernelHandler
            | Spelled::Empty
            | Spelled::Foreign => {
                return Err(Unsupported::new(
                    "has no layout that Rust could have".to_string(),
                ));
            }
        })
    }

    /// Returns what is behind a pointer in memory. A struct there is only named: it may point back.
    fn shallow(&mut self, spelled: &Spelled, names: &mut Names) -> Pointee {
        match spelled {
            Spelled::Void => Pointee::Void,
            Spelled::Scalar(_) | Spelled::Vector { .. } => match self.element_of(spelled, names) {
                Ok(element) => Pointee::Element(element),
                Err(_) => Pointee::Unknown(None),
            },
            Spelled::Named(name) => {
                let is_enum = matches!(self.all.get(name), Some(Definition::Enum { .. }));
                match is_enum.then(|| self.named(name, names)).flatten() {
                    Some(Ok(element)) => Pointee::Element(element),
                    _ => Pointee::Unknown(Some(name.clone())),
                }
            }
            _ => Pointee::Unknown(None),
        }
    }

    /// Returns what is behind a pointer or in work-group memory. What the file does not describe has at most
    /// a name.
    pub(super) fn pointee(
        &mut self,
        spelled: &Spelled,
        names: &mut Names,
    ) -> Result<Pointee, Unsupported> {
        Ok(match spelled {
            Spelled::Void => Pointee::Void,
            Spelled::Named(name) => match self.named(name, names) {
                Some(found) => Pointee::Element(found?),
                None => Pointee::Unknown(Some(name.clone())),
            },
            Spelled::Unbounded(of) if !matches!(**of, Spelled::Array { .. }) => {
                self.pointee(of, names)?
            }
            Spelled::Unbounded(of) => match self.element_of(of, names) {
                Ok(element) => Pointee::Element(element),
                Err(_) => Pointee::Unknown(None),
            },
            Spelled::Array { of, .. } if matches!(**of, Spelled::Array { .. }) => {
                self.pointee(of, names)?
            }
            spelled => match self.element_of(spelled, names) {
                Ok(element) => Pointee::Element(element),
                Err(_) => Pointee::Unknown(None),
            },
        })
    }
}
