// SPDX-License-Identifier: MIT OR Apache-2.0
//! Infers the signature of a kernel, or the reason why it has no Rust function.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};

use super::code::Code;
use super::mangled::KernelName;
use super::merge::{Passed, Sources};
use super::names::Names;
use super::spell::{Declaration, DeclaredParameter};
use super::types::{Element, Pointee, Scalar, Type};
use super::{
    Argument, KernelSignature, Parameter, Unsupported, dimensions, mangled, merge, spirv,
    unsupported,
};
use crate::metadata::{Dimensions, Malformed, WorkGroupSize};
use crate::model::AbstractModule;
use crate::property::{key, set};

impl Sources<'_> {
    /// Infers the signature of a kernel.
    pub(super) fn kernel(&mut self, symbol: &str, names: &mut Names) -> KernelSignature {
        let (module, code) = (self.module, self.code);
        let name = mangled::parse(symbol);
        let in_spirv = code.spirv().and_then(|spirv| spirv.parameters(symbol));
        let (passed, local_size) = match code {
            Code::SpirV(spirv) => {
                let passed = in_spirv.as_deref().map(Passed::SpirV);
                (passed, spirv.local_size(symbol))
            }
            Code::Ptx(kernels) => {
                let kernel = kernels.get(symbol);
                let passed = kernel.map(|kernel| Passed::Ptx {
                    parameters: &kernel.parameters,
                    shared: kernel.uses_dynamic_shared_memory,
                });
                (passed, kernel.and_then(|kernel| kernel.required_local_size))
            }
            Code::Unknown => (None, None),
        };
        let described = self.described.declarations.get(symbol).cloned();
        let declaration =
            described.or_else(|| declared_by_symbol(name.as_ref(), in_spirv.as_deref()));
        let declared = declaration.as_ref().map(|d| d.parameters.as_slice());
        // Compilers list exported functions among the names as well.
        let listed = module.metadata.get(set::EXPORTED_SYMBOLS, symbol).is_some();
        let absent = passed.is_none() && code.rank() > 0;
        let scratch = Scratch::of(module, code, symbol);
        let parameters = if listed && passed.is_none() {
            Err(no_kernel(
                "the code exports it as a function and has no kernel of that name",
            ))
        } else if absent {
            unsupported("the code has no kernel of that name")
        } else if let Some(reason) = of_runtime(symbol) {
            Err(reason)
        } else {
            match module.eliminated_arguments(symbol) {
                Ok(removed) => {
                    let passed = passed.unwrap_or(Passed::Unknown);
                    let visible = match scratch {
                        Scratch::Argument(index) => hidden_last(index, passed),
                        Scratch::None | Scratch::NoArgument => Ok(passed),
                    };
                    visible.and_then(|visible| {
                        let mut all = self.parameters(declared, visible, &removed, names)?;
                        all.extend((scratch != Scratch::None).then(scratch_memory));
                        Ok(all)
                    })
                }
                Err(malformed) => unsupported(malformed.to_string()),
            }
        };
        let (parameters, required_local_size) =
            match required_local_size(module, local_size, symbol) {
                Ok(size) => (parameters, size),
                Err(reason) => (parameters.and(Err(reason)), None),
            };
        let dimensions = self.dimensions(name.as_ref(), symbol);
        KernelSignature {
            symbol: symbol.into(),
            name,
            declaration,
            location: self.described.locations.get(symbol).cloned(),
            parameters,
            required_local_size,
            dimensions,
        }
    }

    /// Returns the dimensions of a kernel: from its source, from the symbol of a lambda, or as far as the compiler
    /// recorded them.
    fn dimensions(&self, name: Option<&KernelName>, symbol: &str) -> Option<u8> {
        let described = self.described.dimensions.get(symbol).copied();
        let of_lambda = || {
            let parameters = &name?.lambdas.last()?.parameters;
            dimensions::of_parameters(parameters.iter().map(String::as_str))
        };
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
            "its required work-group size is recorded as {a:?}, but the code has {b:?}"
        ));
    }
    let Some(size) = recorded.or(in_code) else {
        return Ok(None);
    };
    if size.xyz().contains(&0) {
        let size = size.xyz();
        return unsupported(format!("its required work-group size is {size:?}"));
    }
    let dimensions = sets
        .read::<Dimensions>(set::PROGRAM_METADATA, &name(key::WORK_GROUP_NUM_DIM))
        .map_err(malformed)?;
    Ok(Some(size.to_sycl(dimensions)))
}

/// Whether a kernel calls `get_work_group_scratch_memory`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scratch {
    None,
    /// The memory is the argument of this index.
    Argument(Option<u32>),
    /// The memory is not an argument of the code.
    NoArgument,
}

impl Scratch {
    fn of(module: &AbstractModule<'_>, code: &Code, symbol: &str) -> Self {
        // -1 stands for no such argument.
        let argument = module.metadata.get(set::IMPLICIT_LOCAL_ARG, symbol);
        let argument = argument.filter(|index| index.as_u32() != Some(u32::MAX));
        let used = module.metadata.get(set::DYNAMIC_LOCAL_MEMORY, symbol);
        match (argument, code) {
            (None, Code::SpirV(_)) => Self::None,
            // In PTX it is memory that the code finds by itself, whatever other targets of the module do.
            (Some(_), Code::Ptx(_)) => Self::NoArgument,
            (Some(index), Code::SpirV(_) | Code::Unknown) => Self::Argument(index.as_u32()),
            (None, Code::Ptx(_) | Code::Unknown) if used.is_some() => Self::NoArgument,
            (None, Code::Ptx(_) | Code::Unknown) => Self::None,
        }
    }
}

/// Returns what is passed except the hidden argument at `index`, which has to be the last and work-group
/// memory.
fn hidden_last(index: Option<u32>, passed: Passed<'_>) -> Result<Passed<'_>, Unsupported> {
    let Passed::SpirV(parameters) = passed else {
        return Ok(passed); // native code does not record its arguments
    };
    match (index, parameters.split_last()) {
        (Some(index), Some((last, visible)))
            if index as usize == visible.len()
                && matches!(last.ty, spirv::ParameterType::LocalPointer { .. }) =>
        {
            Ok(Passed::SpirV(visible))
        }
        _ => unsupported(
            "its work-group scratch memory is not recorded as the last argument of the code",
        ),
    }
}

/// Returns the parameter for the scratch memory of a kernel that calls `get_work_group_scratch_memory`. Its size in
/// bytes is set at launch. It is the last argument in SPIR-V, but not an argument in PTX
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

/// Returns the symbol of a class or lambda in the headers of SYCL, from its name in namespace `sycl`.
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

/// Returns the reason why a program cannot launch a kernel that belongs to the SYCL runtime.
fn of_runtime(symbol: &str) -> Option<Unsupported> {
    let own = runtimes_own(symbol)?;
    if is_rounded_range(symbol) {
        Some(no_kernel(
            "it is a variant of another kernel, with which the runtime launches rounded-up ranges; launch the \
             original kernel",
        ))
    } else if own.contains("eduction") {
        Some(Unsupported::new(
            "it is a step of `sycl::reduction`, which the SYCL runtime launches with its own memory; write the \
             reduction as a kernel, for example with `sycl::reduce_over_group`",
        ))
    } else if own.starts_with("3_V1") {
        Some(no_kernel(
            "the SYCL runtime launches it from one of its own functions",
        ))
    } else {
        None
    }
}

/// Returns the declaration that a mangled symbol implies, with the names that the SPIR-V has.
fn declared_by_symbol(
    name: Option<&KernelName>,
    passed: Option<&[spirv::Parameter]>,
) -> Option<Declaration> {
    // The parameters in the symbol of a lambda are those of the function around it.
    let name = name.filter(|name| name.lambdas.is_empty())?;
    let types = name.parameters.as_ref()?;
    let passed = passed.filter(|passed| passed.len() == types.len());
    let parameters = types.iter().enumerate().map(|(index, ty)| {
        let name = passed.and_then(|passed| merge::own_name(&passed[index]));
        DeclaredParameter {
            ty: ty.clone(),
            name: name.unwrap_or_default(),
        }
    });
    Some(Declaration {
        name: name.qualified(),
        parameters: parameters.collect(),
    })
}

impl KernelSignature {
    /// Returns the reason why `include_syclbin!` generates no function for the kernel, or `None` if it does. A
    /// kernel whose symbol has no [`name`](Self::name) also has no function, unless the program names it.
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
