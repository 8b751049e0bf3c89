// SPDX-License-Identifier: MIT OR Apache-2.0
//! Infers the signature of a kernel, or determines why no Rust function can launch the kernel.

use super::code::{Code, CodeKernel, Passed};
use super::cpp_type::{CppParameter, CppType};
use super::mangled::KernelName;
use super::merge::Sources;
use super::names::Names;
use super::spell::Declaration;
use super::types::{Element, Pointee, Scalar, Type};
use super::{KernelSignature, Parameter, Unsupported, mangled, unsupported};
use crate::metadata::{KernelSizes, WorkGroupSize};
use crate::prelude::*;
use crate::property::set;
use crate::spirv::module::ParameterType;

impl Sources<'_> {
    pub(super) fn kernel(&mut self, symbol: &str, names: &mut Names) -> KernelSignature {
        let name = mangled::parse(symbol);
        let code = self.code.kernel(symbol);
        let local_size = code.as_ref().and_then(|kernel| kernel.local_size);
        let described = self.described.kernels.get(symbol);
        let declared = described.and_then(|kernel| kernel.parameters.clone());
        let declared = declared.or_else(|| declared_by_symbol(name.as_ref(), code.as_ref()));
        let declared = declared.as_deref();
        let declaration = declared.zip(name.as_ref());
        let declaration =
            declaration.map(|(parameters, name)| Declaration::new(name.qualified(), parameters));
        let parameters = self.kernel_parameters(symbol, declared, code, names);
        let sizes = KernelSizes::read(&self.module.metadata, symbol);
        let sizes = sizes.map(|sizes| self.requirements.complete(sizes));
        let sizes = sizes.map_err(|malformed| Unsupported::new(malformed.to_string()));
        let dimensions = described.and_then(|kernel| kernel.dimensions);
        let dimensions = dimensions.or_else(|| {
            let lambda = name.as_ref()?.lambdas.last()?;
            dimensions_of_parameters(&lambda.parameters)
        });
        let dimensions = dimensions.or_else(|| {
            let recorded = sizes.as_ref().ok()?.dimensions?;
            u8::try_from(recorded.get()).ok()
        });
        let (parameters, required_local_size) =
            match sizes.and_then(|sizes| required_local_size(&sizes, local_size)) {
                Ok(size) => (parameters, size),
                Err(reason) => (parameters.and(Err(reason)), None),
            };
        KernelSignature {
            symbol: symbol.into(),
            name,
            declaration,
            location: described.and_then(|kernel| kernel.location.clone()),
            parameters,
            required_local_size,
            dimensions,
        }
    }

    fn kernel_parameters(
        &mut self,
        symbol: &str,
        declared: Option<&[CppParameter]>,
        mut code: Option<CodeKernel>,
        names: &mut Names,
    ) -> Result<Vec<Parameter>, Unsupported> {
        let module = self.module;
        if code.is_none() {
            // Compilers also list exported functions among the kernel names.
            if module.metadata.get(set::EXPORTED_SYMBOLS, symbol).is_some() {
                return Err(no_kernel("it is an exported function, not a kernel"));
            }
            if self.code.rank() > 0 {
                return unsupported("the code contains no kernel with this name");
            }
        }
        if let Some(reason) = of_runtime(symbol) {
            return Err(reason);
        }
        let removed = module.eliminated_arguments(symbol);
        let removed = removed.map_err(|malformed| Unsupported::new(malformed.to_string()))?;
        let uses_scratch_memory = self.hide_scratch_memory(symbol, code.as_mut())?;
        let mut all = self.parameters(declared, code.as_ref(), &removed, names)?;
        all.extend(uses_scratch_memory.then(scratch_memory));
        Ok(all)
    }

    /// Returns whether a kernel calls `get_work_group_scratch_memory`. If the memory is an argument in `code`,
    /// removes this argument, which must be the last one.
    fn hide_scratch_memory(
        &self,
        symbol: &str,
        code: Option<&mut CodeKernel>,
    ) -> Result<bool, Unsupported> {
        let sets = &self.module.metadata;
        // `u32::MAX` means that the memory is not an argument.
        let argument = sets.get(set::IMPLICIT_LOCAL_ARG, symbol);
        let argument = argument.filter(|index| index.as_u32() != Some(u32::MAX));
        let is_used = || sets.get(set::DYNAMIC_LOCAL_MEMORY, symbol).is_some();
        let Some(argument) = argument else {
            return Ok(!matches!(self.code, Code::SpirV(_)) && is_used());
        };
        // In PTX, scratch memory is never an argument, even if it is an argument for other targets of the
        // module.
        let Some(code) = code.filter(|_| self.code.spirv().is_some()) else {
            return Ok(true);
        };
        let last = code.arguments.pop().map(|argument| argument.ty);
        let is_last = argument.as_u32().map(|index| index as usize) == Some(code.arguments.len());
        match last {
            Some(Passed::SpirV(ParameterType::LocalPointer { .. })) if is_last => Ok(true),
            _ => unsupported(
                "the file does not record its work-group scratch memory as the last argument",
            ),
        }
    }
}

/// Returns the required work-group size, in SYCL order.
fn required_local_size(
    sizes: &KernelSizes,
    in_code: Option<[u32; 3]>,
) -> Result<Option<Vec<u32>>, Unsupported> {
    let in_code = in_code.and_then(|size| WorkGroupSize::from_xyz(&size));
    if let (Some(recorded), Some(in_code)) = (sizes.required, in_code)
        && recorded.xyz() != in_code.xyz()
    {
        let (a, b) = (recorded.xyz(), in_code.xyz());
        return unsupported(format!(
            "the file records its required work-group size as {a:?}, but the code specifies {b:?}"
        ));
    }
    let Some(size) = sizes.required.or(in_code) else {
        return Ok(None);
    };
    if size.xyz().contains(&0) {
        let size = size.xyz();
        let reason = format!("its required work-group size {size:?} contains a zero");
        return unsupported(reason);
    }
    Ok(Some(size.to_sycl(sizes.dimensions)))
}

/// Returns the parameter for the scratch memory of a kernel that calls `get_work_group_scratch_memory`. The
/// launch sets the size in bytes. The memory is the last argument in SPIR-V, but not an argument in PTX
/// ([`crate::ptx::Kernel::uses_scratch_memory`]).
fn scratch_memory() -> Parameter {
    let (element, size) = (Pointee::Element(Element::Scalar(Scalar::U8)), None);
    Parameter {
        name: Some("work_group_scratch_memory".into()),
        ..Parameter::new(Type::LocalMemory { element, size })
    }
}

/// Returns whether the kernel runs another kernel over a rounded-up range.
pub(super) fn is_rounded_range(symbol: &str) -> bool {
    let own = runtimes_own(symbol).unwrap_or_default();
    let class = own.split('I').next().unwrap_or_default();
    class.contains("18RoundedRangeKernel") || class.contains("19__pf_kernel_wrapper")
}

/// Returns the part of `symbol` after the namespace `sycl`, if the symbol belongs to a class or lambda in SYCL headers.
fn runtimes_own(symbol: &str) -> Option<&str> {
    let class = symbol.strip_prefix("_ZTS")?.trim_start_matches('Z');
    let constant = class.strip_prefix("NK4sycl");
    constant.or_else(|| class.strip_prefix("N4sycl"))
}

fn no_kernel(reason: &str) -> Unsupported {
    Unsupported {
        no_kernel: true,
        ..Unsupported::new(reason)
    }
}

/// Returns why a program cannot launch a kernel that belongs to the SYCL runtime, or `None` for any other kernel.
fn of_runtime(symbol: &str) -> Option<Unsupported> {
    let own = runtimes_own(symbol)?;
    if is_rounded_range(symbol) {
        return Some(no_kernel(
            "it is a variant that the SYCL runtime launches when it rounds up the range of another kernel; launch the \
             original kernel",
        ));
    }
    if own.contains("eduction") {
        return Some(Unsupported::new(
            "it is a step of `sycl::reduction`, which the SYCL runtime launches with its own memory; write the \
             reduction as a kernel that calls `syclbin::reduce` from `<syclbin/reduce.hpp>`",
        ));
    }
    let is_internal = own.starts_with("3_V1");
    is_internal.then(|| no_kernel("it is an internal kernel of the SYCL runtime"))
}

/// Returns the parameters in a mangled symbol, with the names that the code records.
fn declared_by_symbol(
    name: Option<&KernelName>,
    code: Option<&CodeKernel>,
) -> Option<Vec<CppParameter>> {
    // In the symbol of a lambda, the parameters belong to the enclosing function.
    let name = name.filter(|name| name.lambdas.is_empty())?;
    let types = name.parameters.as_ref()?;
    let code = code.map(|code| &code.arguments);
    let code = code.filter(|arguments| arguments.len() == types.len());
    let parameters = types.iter().cloned().enumerate().map(|(index, ty)| {
        let name = code.and_then(|arguments| arguments[index].name.clone());
        let name = name.unwrap_or_default();
        CppParameter { ty, name }
    });
    Some(parameters.collect())
}

impl KernelSignature {
    /// Returns the reason why `include_syclbin!` generates no function for the kernel, or `None` if it generates one.
    /// The macro also skips a kernel whose [`name`](Self::name) is `None`, unless the program names the kernel. This
    /// function does not report that case.
    #[must_use]
    pub fn left_out(&self) -> Option<Unsupported> {
        let parameters = match &self.parameters {
            Ok(parameters) => parameters,
            Err(reason) => return Some(reason.clone()),
        };
        let (index, parameter) = parameters.iter().enumerate().find(|(_, parameter)| {
            matches!(&parameter.ty, Type::LocalAccessor { element, .. }
                if !matches!(element, Pointee::Element(_)))
        })?;
        let name = parameter.name.clone().unwrap_or_else(|| index.to_string());
        Some(Unsupported::new(format!(
            "parameter {name}: the file does not record the element type of the local accessor"
        )))
    }
}

/// Returns the number of dimensions that a call operator's parameter types imply, or `None` if they are ambiguous.
pub(super) fn dimensions_of_parameters(types: &[CppType]) -> Option<u8> {
    let mut found = 0;
    for mut ty in types {
        while let CppType::Const(of) | CppType::Pointer(of) | CppType::Reference { to: of, .. } = ty
        {
            ty = of;
        }
        found = match (ty.template(), ty.scalar()) {
            _ if ty.is("sycl::kernel_handler") => continue,
            (Some((name, [count, ..])), _) if OF_RANGE.contains(&name) => count.dimensions()?,
            // An integer can be a converted `id<1>` or `item<1>`.
            (_, Some(of)) if !of.is_float() => 1,
            _ => return None,
        };
    }
    Some(found)
}

const OF_RANGE: [&str; 4] = ["sycl::id", "sycl::item", "sycl::nd_item", "sycl::group"];

/// Parses the number of dimensions from a build annotation, which contains a property as written in the source,
/// such as `decltype((nd_range_kernel<2>))`.
pub(super) fn dimensions_of_property(text: &str) -> Option<u8> {
    let text = text.strip_prefix("syclbin: ")?;
    match text.split_once("nd_range_kernel<") {
        Some((_, arguments)) => first_dimensions(arguments),
        None => text.contains("single_task_kernel").then_some(0),
    }
}

/// Returns the number of dimensions of the work-item or work-group class that a function with this linkage name returns
/// or belongs to.
pub(super) fn dimensions_of_member(linkage: &str) -> Option<u8> {
    const FUNCTIONS: [&str; 4] = [
        "_ZNK4sycl3_V17nd_itemILi",
        "_ZNK4sycl3_V15groupILi",
        "_ZN4sycl3_V13ext6oneapi14this_work_item11get_nd_itemILi",
        "_ZN4sycl3_V13ext6oneapi14this_work_item14get_work_groupILi",
    ];
    let mut functions = FUNCTIONS.iter();
    let arguments = functions.find_map(|name| linkage.strip_prefix(name))?;
    first_dimensions(&arguments.get(..2)?.replace('E', ">"))
}

/// Parses the first template argument as a number of dimensions.
fn first_dimensions(arguments: &str) -> Option<u8> {
    let end = arguments.find([',', '>'])?;
    let number = arguments[..end].trim().parse().ok();
    number.filter(|number| (1..=3).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_operators_tell_dimensions() {
        let named = |name: &str| CppType::named(name);
        let of = |name: &str, count: &str| CppType::instance(name, [named(count)].into());
        for (types, expected) in [
            (&[][..], Some(0)),
            (&[named("sycl::kernel_handler")], Some(0)),
            (&[of("sycl::id", "1")], Some(1)),
            (&[of("sycl::item", "3")], Some(3)),
            (
                &[of("sycl::nd_item", "2"), named("sycl::kernel_handler")],
                Some(2),
            ),
            (&[of("sycl::group", "2").constant().pointer()], Some(2)),
            (&[named("unsigned long")], Some(1)),
            (&[named("auto")], None),
            (&[of("sycl::id", "4")], None),
            (&[named("Index")], None),
            (&[of("Index", "2")], None),
            (&[named("double")], None),
        ] {
            assert_eq!(dimensions_of_parameters(types), expected, "{types:?}");
        }
    }

    #[test]
    fn properties_of_functions_tell_dimensions() {
        for (text, expected) in [
            (
                "syclbin: Of<decltype((ns::nd_range_kernel<3>))>::name",
                Some(3),
            ),
            (
                "syclbin: Of<decltype((ns::single_task_kernel))>::name",
                Some(0),
            ),
            ("syclbin: Of<decltype((nd_range_kernel<D>))>::name", None),
            ("nd_range_kernel<1>", None),
            ("syclbin: Of<decltype((work_group_size<1>))>::name", None),
        ] {
            assert_eq!(dimensions_of_property(text), expected, "{text}");
        }
    }

    #[test]
    fn members_of_work_items_tell_dimensions() {
        for (linkage, expected) in [
            ("_ZNK4sycl3_V17nd_itemILi2EE13get_global_idEi", Some(2)),
            ("_ZNK4sycl3_V15groupILi3EE12get_group_idEi", Some(3)),
            ("_ZNK4sycl3_V17nd_itemILi4EE13get_global_idEi", None),
            ("_ZNK4sycl3_V19sub_group12get_local_idEv", None),
            (
                "_ZN4sycl3_V13ext6oneapi14this_work_item11get_nd_itemILi1EEENS0_7nd_itemIXT_EEEv",
                Some(1),
            ),
            ("_ZNK4sycl3_V17nd_itemILi", None),
        ] {
            assert_eq!(dimensions_of_member(linkage), expected, "{linkage}");
        }
    }
}
