// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads kernel declarations, and the types of variables that the host can access, from debug information.

use super::{
    DebugInfo, GLOBAL_VARIABLE, MAX_DEPTH, SOURCE, TEMPLATE_PARAMETER, TYPE_FUNCTION, TYPE_MEMBER,
    TYPE_POINTER, TYPE_QUALIFIER, TYPE_TEMPLATE,
};
use crate::prelude::*;
use crate::signature::cpp_type::{BYTES, CppParameter, CppType, EMPTY, WORK_GROUP_MEMORY};
use crate::signature::declared::{Declared, access};
use crate::signature::names::Definitions;
use crate::signature::types::{Layouts, OF_ACCESSOR};
use crate::signature::{kernel, mangled};
use crate::spirv::module::{Extended, Parameter, ParameterType, STORAGE_WORKGROUP, parameter_name};

/// The name of the compiler-generated struct that passes an array member of a functor.
pub(super) const WRAPPER: &str = "__wrapper_class";
/// The name of the compiler-generated argument of functors that take a `kernel_handler`.
const HANDLER: &str = "_specialization_constants_buffer";
const STREAM: &str = "sycl::stream";
/// The class templates of host-accessible variables. The first template argument is the value type.
const OF_VARIABLES: [&str; 2] = [
    "sycl::ext::oneapi::experimental::device_global",
    "sycl::specialization_id",
];

impl<'m> DebugInfo<'m> {
    /// Returns all global variables, with their identifiers. For a device global, the code contains the identifier. For
    /// any other variable, such as a specialization constant, the symbol is the identifier.
    pub(super) fn variables_of_hosts(&self) -> Vec<(String, &'m Extended)> {
        let hosts = self.module.host_names.iter().map(|(name, id)| (*id, name));
        let hosts = BTreeMap::from_iter(hosts);
        let all = self.instructions.values();
        let variables = all.filter(|e| e.instruction == GLOBAL_VARIABLE);
        let named = variables.filter_map(|e| {
            let name = match hosts.get(&e.operand(7)?) {
                Some(name) => mangled::without_source(name).to_string(),
                None => match (self.text(e, 6)?, self.text(e, 0)?) {
                    ("", name) => format!("_Z{}{name}", name.len()),
                    (linkage, _) => linkage.to_string(),
                },
            };
            Some((name, *e))
        });
        named.collect()
    }

    /// Returns the value type of a variable that the host can access, or `None` for any other variable.
    pub(super) fn value_type(&mut self, variable: &Extended) -> Option<CppType> {
        let mut ty = self.at(variable, 1)?;
        if ty.instruction == TYPE_QUALIFIER {
            ty = self.at(ty, 0)?;
        }
        let (TYPE_TEMPLATE, [class, value, ..]) = (ty.instruction, &ty.operands[..]) else {
            return None;
        };
        let class = self.cpp_type(*class, MAX_DEPTH)?;
        let parameter = self.get(*value)?;
        let template = class.template().map_or("", |(name, _)| name);
        if !OF_VARIABLES.contains(&template) || parameter.instruction != TEMPLATE_PARAMETER {
            return None;
        }
        let ty = self.cpp_type(parameter.operand(1)?, MAX_DEPTH)?;
        is_supported(&ty).then_some(ty)
    }

    /// Returns the declared parameters of a kernel. For a free-function kernel, these are the parameters of the
    /// function that the kernel calls. `passed` contains the arguments in the code.
    pub(super) fn kernel_parameters(
        &mut self,
        symbol: &str,
        passed: &[Option<Parameter>],
    ) -> Option<Vec<CppParameter>> {
        let function = self.plain_function(symbol);
        let parameters = function.and_then(|function| self.parameters(function));
        parameters.or_else(|| self.functor(*self.functions.get(symbol)?, symbol, passed))
    }

    /// Returns the function behind a free-function kernel.
    fn plain_function(&self, symbol: &str) -> Option<u32> {
        let plain = mangled::plain_function(symbol)?;
        self.functions.get(&*plain).copied()
    }

    /// Returns the file and line of a kernel. Only the file name is used, because directories are machine-specific.
    pub(super) fn location(&self, symbol: &str) -> Option<String> {
        let function = self.get(*self.functions.get(symbol)?)?;
        let source = self.at(function, 2);
        let path = self.text(source.filter(|e| e.instruction == SOURCE)?, 0)?;
        let line = self.constant(function.operand(3)?)?;
        let file = path.rsplit(['/', '\\']).next();
        let file = file.filter(|file| !file.is_empty() && !file.contains(char::is_control))?;
        Some(format!("{file}:{line}"))
    }

    fn parameter_types(&self, function: u32) -> Option<&'m [u32]> {
        let ty = self.at(self.get(function)?, 1)?;
        match (ty.instruction, ty.operands.get(2..)) {
            (TYPE_FUNCTION, Some(types)) => Some(types),
            _ => None,
        }
    }

    /// Returns the names of a function's parameters, by one-based parameter number. Unnamed parameters are omitted.
    fn parameter_names(&self, function: u32, count: usize) -> BTreeMap<u32, String> {
        let mut names = BTreeMap::new();
        for variable in self.variables.get(&function).into_iter().flatten() {
            let [name, _, _, _, _, _, _, number] = variable.operands[..] else {
                continue; // not a parameter, because it has no argument number
            };
            if let Some(name) = self.module.strings.get(&name) {
                names.insert(number, parameter_name(name));
            }
        }
        // The specification represents a parameter number by the id of a constant, but the reference compiler writes
        // the number itself. A number above the parameter count must be an id.
        if names.keys().any(|number| *number as usize > count) {
            let numbered = |(id, name)| Some((self.constant(id)?, name));
            names = names.into_iter().filter_map(numbered).collect();
        }
        names
    }

    fn parameters(&mut self, function: u32) -> Option<Vec<CppParameter>> {
        let types = self.parameter_types(function)?;
        let mut names = self.parameter_names(function, types.len());
        let parameters = (1..).zip(types).map(|(number, ty)| {
            let ty = self.cpp_type(*ty, MAX_DEPTH)?;
            let name = names.remove(&number).unwrap_or_default();
            Some(CppParameter { ty, name })
        });
        parameters.collect()
    }

    /// Returns the number of dimensions of a kernel's range, or 0 for a single task. For a class or lambda, the
    /// parameters of the call operator determine the number. For a function, a property determines it, or else the
    /// work-item or work-group class that the function uses.
    pub(super) fn dimensions(&mut self, symbol: &str) -> Option<u8> {
        if let Some(function) = self.plain_function(symbol) {
            return self.property(function).or_else(|| self.used(function));
        }
        let operator = self.call_operator(*self.functions.get(symbol)?)?;
        let types = self.parameter_types(operator)?.get(1..)?.iter();
        let types = types.map(|ty| self.cpp_type(*ty, MAX_DEPTH));
        kernel::dimensions_of_parameters(&types.collect::<Option<Vec<_>>>()?)
    }

    /// Returns the number of dimensions that a function's property specifies. The build records the property as an
    /// annotation.
    fn property(&self, function: u32) -> Option<u8> {
        let annotations = self.module.annotations.get(self.code.get(&function)?)?;
        let mut texts = annotations.iter();
        texts.find_map(|text| kernel::dimensions_of_property(text))
    }

    /// Returns the number of dimensions of the work-item or work-group class that a function uses.
    fn used(&self, function: u32) -> Option<u8> {
        let mut uses = self.uses.get(&function)?.iter();
        uses.find_map(|other| kernel::dimensions_of_member(self.text(self.get(*other)?, 6)?))
    }

    /// Returns the call operator of a class or lambda kernel: the first `operator()` that the kernel uses.
    fn call_operator(&self, kernel: u32) -> Option<u32> {
        let is_operator = |function: &&u32| {
            let name = self.get(**function).and_then(|e| self.text(e, 0));
            name.is_some_and(|name| name.starts_with("operator()"))
        };
        self.uses.get(&kernel)?.iter().find(is_operator).copied()
    }

    /// Returns the type of each member of a class or lambda kernel, by member name.
    fn members(&self, kernel: u32) -> BTreeMap<&'m str, u32> {
        let this = self.call_operator(kernel).and_then(|operator| {
            let mut e = self.get(*self.parameter_types(operator)?.first()?)?;
            for _ in 0..MAX_DEPTH {
                match e.instruction {
                    TYPE_POINTER | TYPE_QUALIFIER => e = self.at(e, 0)?,
                    _ => return Some(e),
                }
            }
            None
        });
        let members = this.into_iter().flat_map(|this| self.parts(this));
        let members = members.filter(|member| member.instruction == TYPE_MEMBER);
        let named = members.filter_map(|e| Some((self.text(e, 0)?, e.operand(1)?)));
        named.collect()
    }

    /// Returns the members of a functor, derived from its arguments. Consecutive arguments with the same name may
    /// come from one accessor or stream.
    fn functor(
        &mut self,
        function: u32,
        symbol: &str,
        passed: &[Option<Parameter>],
    ) -> Option<Vec<CppParameter>> {
        let types = self.parameter_types(function)?;
        let members = self.members(function);
        let parsed = mangled::parse(symbol);
        let own = parsed
            .as_ref()
            .map(mangled::KernelName::qualified)
            .unwrap_or_default();
        for (member, ty) in &members {
            let qualified = self.get(*ty).filter(|e| e.instruction == TYPE_QUALIFIER);
            let class = qualified.and_then(|e| e.operand(0)).unwrap_or(*ty);
            if !self.is_empty(class) && !self.typedefs.contains_key(&class) {
                let name = format!("{own}::{member}"); // for a lambda, which has no name
                self.definitions.unnamed.insert(name.clone());
                self.typedefs.insert(class, name);
            }
        }
        let lowered = self.lowered(function, types, &members);
        let is_lambda = parsed.is_some_and(|name| !name.lambdas.is_empty());
        if passed.len() != lowered.len() {
            return None;
        }
        let mut parameters = Vec::new();
        let mut at = 0;
        while let Some(parameter) = lowered.get(at) {
            let name = parameter.name.clone();
            let group = lowered.get(at..at + OF_ACCESSOR).unwrap_or_default();
            let of_accessor = !name.is_empty() && group.iter().all(|other| other.name == name);
            let pointee = match &parameter.ty {
                CppType::Pointer(to) => Some((**to).clone()),
                _ => None,
            };
            let is_wrapper = parameter.ty.is(WRAPPER);
            let member = members.get(&*name);
            let member = member.and_then(|ty| self.cpp_type(*ty, MAX_DEPTH));
            let code = passed[at].as_ref().map(|passed| passed.ty);
            let ty = match (code, pointee, group) {
                // A stream consists of three accessors and a number.
                _ if parameter.ty.is(STREAM) => {
                    let same = lowered[at..].iter().take_while(|other| other.name == name);
                    at += same.count() - 1;
                    parameter.ty.clone()
                }
                (Some(ParameterType::Sampler), ..) => CppType::named("sycl::sampler"),
                (
                    Some(ParameterType::Image {
                        dimensions,
                        written,
                    }),
                    ..,
                ) => member.unwrap_or_else(|| CppType::image(None, dimensions, access(!written))),
                (_, Some(pointee), [_, range, memory, id])
                    if of_accessor
                        && memory.ty == range.ty
                        && let Some(("sycl::range", [dimensions])) = range.ty.template()
                        && let Some(("sycl::id", _)) = id.ty.template() =>
                {
                    let is_local = self.is_local(types[at]);
                    at += OF_ACCESSOR - 1;
                    let dimensions = match member.as_ref().and_then(CppType::template) {
                        // A zero-dimensional accessor has a one-dimensional range.
                        Some((_, [_, none])) if none.is("0") => none,
                        _ => dimensions,
                    };
                    CppType::accessor(pointee, dimensions.clone(), is_local)
                }
                (_, Some(pointee), _) if self.is_local(types[at]) => member
                    .filter(|ty| {
                        ty.template()
                            .is_some_and(|(name, _)| name == WORK_GROUP_MEMORY)
                    })
                    .unwrap_or_else(|| {
                        CppType::instance(WORK_GROUP_MEMORY, [pointee.array(None)].into())
                    }),
                _ if name == HANDLER => CppType::named("sycl::kernel_handler"),
                _ if is_wrapper && self.is_empty(types[at]) => CppType::named(EMPTY),
                // For a type without a C++ name, only the code provides the size.
                (Some(ParameterType::ByValue { ty }), ..) if is_wrapper => {
                    CppType::named(BYTES).array(Some(self.module.types.size(ty.0)?.0))
                }
                _ if is_wrapper => return None,
                _ => parameter.ty.clone(),
            };
            let name = match name.as_str() {
                HANDLER => String::new(),
                "" if is_lambda => "this".into(), // a captured copy of `*this`
                _ => name,
            };
            parameters.push(CppParameter { ty, name });
            at += 1;
        }
        Some(parameters)
    }

    /// Returns the arguments of a functor. Arrays are passed in compiler-generated structs, and stream arguments do not
    /// mention the stream, so these arguments get the type of the member instead.
    fn lowered(
        &mut self,
        function: u32,
        types: &[u32],
        members: &BTreeMap<&str, u32>,
    ) -> Vec<CppParameter> {
        let mut names = self.parameter_names(function, types.len());
        let all = (1..).zip(types).map(|(number, ty)| {
            let name = names.remove(&number).unwrap_or_default();
            let own = self.cpp_type(*ty, MAX_DEPTH);
            let own = own.unwrap_or_else(|| CppType::named(WRAPPER));
            let member = members.get(&*name);
            let member = member.and_then(|member| self.cpp_type(*member, MAX_DEPTH));
            let member = member.filter(|member| own.is(WRAPPER) || member.is(STREAM));
            let ty = member.unwrap_or(own);
            CppParameter { ty, name }
        });
        all.collect()
    }

    fn is_local(&self, ty: u32) -> bool {
        let pointer = self.get(ty).filter(|e| e.instruction == TYPE_POINTER);
        let storage = pointer.and_then(|e| self.constant(e.operand(1)?));
        storage == Some(STORAGE_WORKGROUP)
    }
}

/// Returns whether the signatures support `ty`. References, and SYCL types that a Rust program cannot pass, are not
/// supported.
fn is_supported(ty: &CppType) -> bool {
    Definitions::default().parameter(ty, &Layouts::default()) != Declared::Foreign
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spirv::module::Module;

    #[test]
    fn a_pointer_to_itself_has_no_members() {
        let e = |(result, instruction, operands)| Extended {
            result,
            set: 0,
            instruction,
            operands,
        };
        let mut module = Module::default();
        module.strings.insert(1, "operator()".into());
        let (function, ty) = (super::super::FUNCTION, [0, 0, 4].into());
        let operator = (2, function, [1, 3].into());
        let pointer = (4, TYPE_POINTER, [4].into());
        module.extended = [operator, (3, TYPE_FUNCTION, ty), pointer].map(e).into();
        let mut info = DebugInfo::new(&module, 0, true, Definitions::default());
        info.uses.insert(2, [2].into());
        assert_eq!(info.call_operator(2), Some(2));
        assert!(info.members(2).is_empty());
    }
}
