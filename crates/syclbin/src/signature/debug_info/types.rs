// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads C++ types from debug information, and defines the structs and enumerations in them.

use super::declarations::WRAPPER;
use super::{
    DebugInfo, INFO_NONE, INHERITANCE, LEXICAL_BLOCK, MAX_DEPTH, TEMPLATE_PARAMETER, TYPE_ARRAY,
    TYPE_BASIC, TYPE_COMPOSITE, TYPE_ENUM, TYPE_MEMBER, TYPE_POINTER, TYPE_QUALIFIER,
    TYPE_SUBRANGE, TYPE_TEMPLATE, TYPE_VECTOR, TYPEDEF,
};
use crate::prelude::*;
use crate::signature::cpp_type::{CppType, DYNAMIC_MEMORY, WORK_GROUP_MEMORY};
use crate::signature::mangled;
use crate::signature::types::{Element, Field};
use crate::spirv::module::Extended;

const TAG_UNION: u32 = 2;
const FLAG_STATIC_MEMBER: u32 = 0x200;
const QUALIFIER_CONST: u32 = 0;

/// SYCL classes that refer to elements in memory.
const OF_ELEMENTS: [&str; 4] = [
    "sycl::accessor",
    "sycl::local_accessor",
    WORK_GROUP_MEMORY,
    DYNAMIC_MEMORY,
];

impl<'m> DebugInfo<'m> {
    /// Returns a type, and defines the structs and enumerations in it.
    pub(super) fn cpp_type(&mut self, id: u32, depth: usize) -> Option<CppType> {
        let depth = depth.checked_sub(1)?;
        let Some(e) = self.get(id) else {
            return Some(CppType::named("void")); // `OpTypeVoid`, as a pointee
        };
        if matches!(e.instruction, TYPE_ENUM | TYPE_COMPOSITE)
            && let Some(known) = self.known.get(&id)
        {
            return known.clone();
        }
        let ty = match e.instruction {
            TYPE_BASIC => match (self.text(e, 0)?, self.value(e, 1)) {
                ("complex", Some(64)) => CppType::named("float").array(Some(2)),
                ("complex", Some(128)) => CppType::named("double").array(Some(2)),
                // DPC++ on Windows uses these sizes.
                ("long", Some(32)) => CppType::named("int"),
                ("unsigned long", Some(32)) => CppType::named("unsigned int"),
                ("wchar_t", Some(16)) => CppType::named("unsigned short"),
                (name, _) => CppType::named(name),
            },
            TYPE_ENUM => self.enumeration(id, e, depth)?,
            TYPE_COMPOSITE => self.composite(id, e, depth)?,
            TYPEDEF => {
                let of = e.operand(1)?;
                let name = self.qualified(self.text(e, 0)?, e.operand(5)?)?;
                self.typedefs.entry(of).or_insert(name);
                self.cpp_type(of, depth)?
            }
            TYPE_TEMPLATE => {
                let ty = self.cpp_type(e.operand(0)?, depth)?;
                let template = ty.template().map_or("", |(name, _)| name);
                if OF_ELEMENTS.contains(&template) {
                    self.define_arguments(e, depth);
                }
                ty
            }
            TYPE_ARRAY => {
                let mut ty = self.cpp_type(e.operand(0)?, depth)?;
                for count in e.operands.get(1..)?.iter().rev() {
                    ty = ty.array(self.count(*count));
                }
                ty
            }
            TYPE_VECTOR => {
                let of = self.cpp_type(e.operand(0)?, depth)?;
                CppType::named(format!("{of} __attribute__((ext_vector_type))"))
            }
            TYPE_POINTER => {
                let of = self.cpp_type(e.operand(0)?, depth);
                of.unwrap_or_else(|| CppType::named("void")).pointer()
            }
            TYPE_QUALIFIER => {
                let of = self.cpp_type(e.operand(0)?, depth)?;
                if self.constant(e.operand(1)?)? != QUALIFIER_CONST {
                    return Some(of); // volatile and restrict do not change the call
                }
                of.constant()
            }
            INFO_NONE => CppType::named("void"),
            _ => return None,
        };
        Some(ty)
    }

    /// Defines the types in template arguments, because they might not occur anywhere else.
    fn define_arguments(&mut self, template: &Extended, depth: usize) {
        for argument in template.operands.iter().skip(1) {
            let argument = self.get(*argument);
            let argument = argument.filter(|e| e.instruction == TEMPLATE_PARAMETER);
            if let Some(ty) = argument.and_then(|e| e.operand(1)) {
                self.cpp_type(ty, depth);
            }
        }
    }

    /// Returns the number of elements in an array dimension. `id` is a constant, or a subrange that contains only
    /// the count.
    fn count(&self, id: u32) -> Option<u64> {
        let count = match self.get(id) {
            Some(range) if range.instruction == TYPE_SUBRANGE => {
                let mut ids = range.operands.iter();
                ids.find_map(|id| self.wide_constant(*id))
            }
            _ => self.wide_constant(id),
        };
        // For compiler-generated arrays of unknown size, the count is -1.
        count.filter(|count| *count < u64::from(u32::MAX))
    }

    fn enumeration(&mut self, id: u32, e: &Extended, depth: usize) -> Option<CppType> {
        let of = self.cpp_type(e.operand(1)?, depth)?;
        let name = match self.text(e, 0)? {
            "" => match self.typedefs.get(&id) {
                Some(name) => name.clone(),
                None => return Some(of),
            },
            name => self.qualified(name, e.operand(5)?)?,
        };
        // `std::byte` is an enumeration, but is treated as an integer.
        let name = match &*name {
            "std::byte" => name,
            _ => self.definitions.define_enum(&name, &of)?,
        };
        let ty = CppType::named(name);
        self.known.insert(id, Some(ty.clone()));
        Some(ty)
    }

    /// Returns the type of a struct, class or union. Also defines the type, unless it belongs to SYCL, is a union, or
    /// is only declared.
    fn composite(&mut self, id: u32, e: &Extended, depth: usize) -> Option<CppType> {
        let plain = self.text(e, 0)?;
        let linkage = self.text(e, 6).and_then(mangled::type_info);
        let ty = match linkage.filter(|ty| !ty.to_string().contains("{unnamed")) {
            Some(ty) => Some(ty),
            None if plain.is_empty() => None,
            None => self.qualified(plain, e.operand(5)?).map(CppType::named),
        };
        let ty = ty.filter(|ty| !ty.to_string().contains(" {"));
        let ty = ty.or_else(|| self.typedefs.get(&id).cloned().map(CppType::named));
        // Record the type before reading its members, which may point to the type.
        let ty = ty?;
        self.known.insert(id, Some(ty.clone()));
        let name = ty.to_string();
        let tag = self.constant(e.operand(1)?)?;
        let size = self.wide_constant(e.operand(7)?).unwrap_or(0);
        let is_sycl = name.starts_with("sycl::") || name.starts_with(WRAPPER);
        // A class without a size is only declared.
        if is_sycl || size == 0 {
            return Some(ty);
        }
        // Layouts cannot express a union.
        let defined = (tag != TAG_UNION).then(|| self.structure(&name, size / 8, e, depth));
        let defined = defined.flatten();
        if defined.is_none() && !self.definitions.named.contains_key(&name) {
            self.definitions.undefined.insert(name);
        } else if defined.as_ref() != Some(&name) {
            // The name belongs to a different type.
            let numbered = defined.map(CppType::named);
            self.known.insert(id, numbered.clone());
            return numbered;
        }
        Some(ty)
    }

    /// Defines a struct, and returns its name, which may have got a number.
    fn structure(&mut self, name: &str, size: u64, e: &Extended, depth: usize) -> Option<String> {
        let mut members: Vec<Field> = Vec::new();
        let mut align = 1;
        for id in e.operands.get(9..)? {
            let Some(member) = self.get(*id) else {
                continue;
            };
            let (member_name, ty, places) = match member.instruction {
                TYPE_MEMBER if self.is_static(member) => continue,
                TYPE_MEMBER => {
                    let first = if self.newer { 5 } else { 6 };
                    (self.text(member, 0)?, member.operand(1)?, first)
                }
                INHERITANCE if self.newer => ("", member.operand(0)?, 1),
                INHERITANCE => ("", member.operand(1)?, 2),
                _ => continue, // a member function or template argument
            };
            let number = |index| self.value(member, index);
            let offset = number(places)?;
            let bits = match member.instruction {
                // The size of a base class is recorded with that class.
                INHERITANCE => self.bits(ty, MAX_DEPTH)?,
                _ => number(places + 1)?,
            };
            let base = member.instruction == INHERITANCE;
            if base && self.is_empty(ty) {
                continue;
            }
            if offset % 8 != 0 || bits % 8 != 0 || self.bits(ty, MAX_DEPTH) != Some(bits) {
                // Bit-fields may share bytes, so adjacent bit-fields become one member with unknown content.
                let end = offset.checked_add(bits)?.div_ceil(8);
                let begin = offset / 8;
                if let Some(last) = members.last_mut()
                    && let (None, Element::Bytes(size)) = (&last.name, &mut last.ty)
                    && last.offset.checked_add(*size)? >= begin
                {
                    *size = end.max(last.offset + *size) - last.offset;
                } else {
                    let ty = Element::Bytes(end.checked_sub(begin)?);
                    members.push(Field::unnamed(begin, ty, true));
                }
                continue;
            }
            let (offset, bytes) = (offset / 8, bits / 8);
            if !member_name.is_empty() {
                let name = format!("{name}::{member_name}");
                self.typedefs.entry(ty).or_insert(name);
            }
            let declared = self.cpp_type(ty, depth);
            let known = declared.as_ref().map(|ty| self.definitions.element(ty));
            let known = known.and_then(Result::ok);
            let ty = known.filter(|ty| self.definitions.layouts.size(ty) == Some(bytes));
            let ty = ty.unwrap_or(Element::Bytes(bytes));
            let own = self.definitions.layouts.align(&ty);
            if offset.is_multiple_of(own) {
                align = align.max(own); // otherwise, the struct is packed
            }
            let name = match member_name {
                "" if base => declared.map(|ty| last_word(&ty.to_string())),
                "" => None,
                _ => Some(member_name.to_string()),
            };
            let unnamed = Field::unnamed(offset, ty, true);
            members.push(Field { name, ..unnamed });
        }
        while !size.is_multiple_of(align) {
            align /= 2; // the struct is packed
        }
        self.definitions.define_struct(name, size, align, members)
    }

    /// Returns the type behind typedefs, qualifiers and template instances.
    fn resolved(&self, mut ty: u32) -> Option<&'m Extended> {
        for _ in 0..MAX_DEPTH {
            let e = self.get(ty)?;
            ty = match e.instruction {
                TYPE_QUALIFIER | TYPE_TEMPLATE => e.operand(0)?,
                TYPEDEF => e.operand(1)?,
                _ => return Some(e),
            };
        }
        None
    }

    fn bits(&self, ty: u32, depth: usize) -> Option<u64> {
        let depth = depth.checked_sub(1)?;
        let e = self.resolved(ty)?;
        match e.instruction {
            TYPE_BASIC => self.value(e, 1),
            TYPE_POINTER => Some(64),
            TYPE_ENUM => self.bits(e.operand(1)?, depth),
            TYPE_COMPOSITE => self.value(e, 7),
            TYPE_ARRAY => {
                let mut bits = self.bits(e.operand(0)?, depth)?;
                for count in e.operands.get(1..)? {
                    bits = bits.checked_mul(self.count(*count)?)?;
                }
                Some(bits)
            }
            _ => None,
        }
    }

    /// Returns whether a class has no members, and therefore occupies no space as a base.
    pub(super) fn is_empty(&self, ty: u32) -> bool {
        let mut classes = vec![ty]; // with its direct and indirect bases
        for at in 0..MAX_DEPTH {
            let Some(ty) = classes.get(at) else {
                return true;
            };
            let class = self
                .resolved(*ty)
                .filter(|e| e.instruction == TYPE_COMPOSITE);
            let Some(class) = class.filter(|e| self.value(e, 7) == Some(8)) else {
                return false;
            };
            for part in self.parts(class) {
                match part.instruction {
                    TYPE_MEMBER if !self.is_static(part) => return false,
                    INHERITANCE => classes.extend(part.operand(usize::from(!self.newer))),
                    _ => {}
                }
            }
        }
        false
    }

    fn is_static(&self, member: &Extended) -> bool {
        let flags = self.value(member, if self.newer { 7 } else { 8 });
        flags.is_some_and(|flags| flags & u64::from(FLAG_STATIC_MEMBER) != 0)
    }

    /// Returns `name`, qualified with the names of its scopes.
    fn qualified(&self, name: &str, mut scope: u32) -> Option<String> {
        let mut text = String::from(name);
        for _ in 0..MAX_DEPTH {
            let Some(e) = self.get(scope) else { break };
            let (own, outer) = match e.instruction {
                LEXICAL_BLOCK => (self.text(e, 4), e.operand(3)),
                TYPE_COMPOSITE => (self.text(e, 0), e.operand(5)),
                _ => break,
            };
            // Source code never spells out the inline namespaces of SYCL and libc++.
            if let Some(own) = own.filter(|own| !["", "_V1", "__1"].contains(own)) {
                text = format!("{own}::{text}");
            }
            scope = outer?;
        }
        Some(text)
    }
}

/// Returns the unqualified name of a class, as an identifier.
fn last_word(ty: &str) -> String {
    let plain = ty.split('<').next().unwrap_or(ty);
    let word = plain.rsplit("::").next().unwrap_or(plain);
    let is_plain = |c: &char| *c == '_' || c.is_alphanumeric();
    word.chars().filter(is_plain).collect()
}
