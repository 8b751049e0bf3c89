// SPDX-License-Identifier: MIT OR Apache-2.0
//! Infers the signature of a kernel, or the reason why no Rust function can launch the kernel.

use alloc::string::ToString;
use alloc::vec::Vec;
use alloc::{format, vec};

use super::code::{Code, CodeKernel, Passed};
use super::cpp_type::CppParameter;
use super::mangled::KernelName;
use super::merge::Sources;
use super::names::Names;
use super::spell::Declaration;
use super::types::{Element, Pointee, Scalar, Type};
use super::{Argument, KernelSignature, Parameter, Unsupported, dimensions, mangled, unsupported};
use crate::metadata::{Dimensions, Malformed, WorkGroupSize};
use crate::model::AbstractModule;
use crate::property::{key, set};
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
        let (parameters, required_local_size) =
            match required_local_size(self.module, local_size, symbol) {
                Ok(size) => (parameters, size),
                Err(reason) => (parameters.and(Err(reason)), None),
            };
        let dimensions = self.dimensions(name.as_ref(), symbol);
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

    /// Returns the number of dimensions of a kernel's range, from its description, the symbol of a lambda, or the
    /// compiler's metadata.
    fn dimensions(&self, name: Option<&KernelName>, symbol: &str) -> Option<u8> {
        let described = self.described.kernels.get(symbol);
        let described = described.and_then(|kernel| kernel.dimensions);
        let of_lambda = || dimensions::of_parameters(&name?.lambdas.last()?.parameters);
        let recorded = || {
            let name = format!("{symbol}@{}", key::WORK_GROUP_NUM_DIM);
            let found = self
                .module
                .metadata
                .read::<Dimensions>(set::PROGRAM_METADATA, &name);
            let found = found.ok().flatten()?;
            u8::try_from(found.get()).ok()
        };
        described.or_else(of_lambda).or_else(recorded)
    }
}

/// Returns the required work-group size of `symbol`, in SYCL order.
fn required_local_size(
    module: &AbstractModule<'_>,
    in_code: Option<[u32; 3]>,
    symbol: &str,
) -> Result<Option<Vec<u32>>, Unsupported> {
    let malformed = |malformed: Malformed| Unsupported::new(malformed.to_string());
    let name = |what| format!("{symbol}@{what}");
    let sets = &module.metadata;
    let recorded = sets
        .read::<WorkGroupSize<u32>>(set::PROGRAM_METADATA, &name(key::REQD_WORK_GROUP_SIZE))
        .map_err(malformed)?;
    let in_code = in_code.and_then(|size| WorkGroupSize::from_xyz(&size));
    if let (Some(recorded), Some(in_code)) = (recorded, in_code)
        && recorded.xyz() != in_code.xyz()
    {
        let (a, b) = (recorded.xyz(), in_code.xyz());
        return unsupported(format!(
            "the file records its required work-group size as {a:?}, but the code specifies {b:?}"
        ));
    }
    let Some(size) = recorded.or(in_code) else {
        return Ok(None);
    };
    if size.xyz().contains(&0) {
        let size = size.xyz();
        return unsupported(format!(
            "its required work-group size {size:?} contains a zero"
        ));
    }
    let dimensions = sets
        .read::<Dimensions>(set::PROGRAM_METADATA, &name(key::WORK_GROUP_NUM_DIM))
        .map_err(malformed)?;
    Ok(Some(size.to_sycl(dimensions)))
}

/// Returns the parameter for the scratch memory of a kernel that calls `get_work_group_scratch_memory`. The
/// launch sets the size in bytes. The memory is the last argument in SPIR-V, but not an argument in PTX
/// ([`crate::ptx::Kernel::uses_scratch_memory`]).
fn scratch_memory() -> Parameter {
    Parameter {
        name: Some("work_group_scratch_memory".into()),
        ty: Type::LocalMemory {
            element: Pointee::Element(Element::Scalar(Scalar::U8)),
            size: None,
        },
        sign_known: true,
        align: None,
        arguments: vec![Argument::Passed],
    }
}

/// Returns whether the kernel runs another kernel over a rounded-up range.
pub(super) fn is_rounded_range(symbol: &str) -> bool {
    let own = runtimes_own(symbol).unwrap_or_default();
    ["18RoundedRangeKernel", "19__pf_kernel_wrapper"]
        .iter()
        .any(|name| own.split('I').next().is_some_and(|own| own.contains(name)))
}

/// Returns the part of `symbol` after the namespace `sycl`, if the symbol belongs to a class or lambda in SYCL headers.
fn runtimes_own(symbol: &str) -> Option<&str> {
    let class = symbol.strip_prefix("_ZTS")?.trim_start_matches('Z');
    class
        .strip_prefix("NK4sycl")
        .or_else(|| class.strip_prefix("N4sycl"))
}

fn no_kernel(reason: &str) -> Unsupported {
    Unsupported {
        no_kernel: true,
        ..Unsupported::new(reason)
    }
}

/// Returns why a program cannot launch a kernel that belongs to the SYCL runtime.
fn of_runtime(symbol: &str) -> Option<Unsupported> {
    let own = runtimes_own(symbol)?;
    if is_rounded_range(symbol) {
        Some(no_kernel(
            "it is a variant of another kernel for the SYCL runtime's rounded-up ranges; launch the original kernel",
        ))
    } else if own.contains("eduction") {
        Some(Unsupported::new(
            "it is a step of `sycl::reduction`, which the SYCL runtime launches with its own memory; write the \
             reduction as a kernel, for example with `sycl::reduce_over_group`",
        ))
    } else if own.starts_with("3_V1") {
        Some(no_kernel("it is an internal kernel of the SYCL runtime"))
    } else {
        None
    }
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
    let parameters = types.iter().enumerate().map(|(index, ty)| {
        let name = code.and_then(|arguments| arguments[index].name.clone());
        CppParameter {
            ty: ty.clone(),
            name: name.unwrap_or_default(),
        }
    });
    Some(parameters.collect())
}

impl KernelSignature {
    /// Returns the reason why `include_syclbin!` generates no function for the kernel, or `None` if it generates one.
    /// The macro also generates no function if the kernel's [`name`](Self::name) is `None`, unless the program names
    /// the kernel.
    #[must_use]
    pub fn left_out(&self) -> Option<Unsupported> {
        let parameters = match &self.parameters {
            Ok(parameters) => parameters,
            Err(reason) => return Some(reason.clone()),
        };
        let (index, parameter) = parameters.iter().enumerate().find(|(_, parameter)| {
            let Type::LocalAccessor { element, .. } = &parameter.ty else {
                return false;
            };
            matches!(element, Pointee::Void | Pointee::Unknown(_))
        })?;
        let name = parameter.name.clone().unwrap_or_else(|| index.to_string());
        Some(Unsupported::new(format!(
            "parameter {name}: the file does not record the element type of the local accessor"
        )))
    }
}
