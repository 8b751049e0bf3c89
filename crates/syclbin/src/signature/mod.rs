// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel signatures: the name and parameters of each kernel, as a [`KernelSignature`].
//!
//! A build records signatures in the file (sets [`KERNELS`](crate::property::set::KERNELS) and
//! [`VARIABLES`](crate::property::set::VARIABLES)), and [`kernels`] returns them unchanged. For a kernel
//! without a recorded signature, [`kernels`] infers one. The build infers signatures from these sources, and
//! [`kernels`] uses all but the first:
//!
//! 1. Debug information, before it is stripped: C++ [declarations](Declaration), structs, range dimensions and source
//!    lines.
//! 2. The symbol: namespaces, template arguments and, unless the kernel is `extern "C"`, parameter types.
//! 3. The code. SPIR-V reveals the actual arguments, the struct layouts, and which pointers are never written
//!    through. PTX, used only if a module has no SPIR-V, reveals the argument sizes. The PTX may be inside a fat
//!    binary.
//! 4. The mask of arguments that the compiler removed.
//!
//! The types of [device globals](DeviceGlobal) and [specialization constants](SpecializationConstant) come from the
//! same sources.
//!
//! If the sources contradict each other, or an argument cannot be passed from Rust, the signature contains a reason
//! ([`Unsupported`]) instead of parameters. Unknown facts are marked as such and never silently guessed.

mod code;
pub(crate) mod cpp_type;
pub(crate) mod debug_info;
mod declared;
mod difference;
mod entry;
mod kernel;
pub(crate) mod mangled;
mod memory_map;
mod merge;
pub(crate) mod names;
pub(crate) mod recorded;
mod spell;
mod types;
mod variables;

use core::fmt;

use crate::error::Error;
use crate::metadata::Named;
use crate::model::Syclbin;
use crate::prelude::*;
use code::Code;
pub use cpp_type::CppType;
use cpp_type::list;
use debug_info::Described;
pub use difference::Difference;
pub use mangled::{KernelName, Lambda};
use merge::Sources;
use names::Names;
pub use spell::{Declaration, DeclaredParameter};
pub use types::{Access, Element, Enum, Field, Layout, Layouts, Pointee, Scalar, StructId, Type};
use variables::Variables;
pub use variables::{DeviceGlobal, SpecializationConstant};

/// All kernels in a file, the variables that the host can access, and the structs that they use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signatures {
    /// The kernels in file order, without duplicate symbols.
    pub kernels: Vec<KernelSignature>,
    /// The structs that the kernels and variables use.
    pub layouts: Layouts,
    /// The specialization constants in file order, without duplicate symbols.
    pub constants: Vec<SpecializationConstant>,
    /// The device globals in file order, without duplicate identifiers.
    pub globals: Vec<DeviceGlobal>,
}

/// The name and parameters of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelSignature {
    /// The symbol in the image.
    pub symbol: String,
    /// The C++ name, if the symbol can be demangled.
    pub name: Option<KernelName>,
    /// The C++ declaration, if known.
    pub declaration: Option<Declaration>,
    /// The source file and line, such as `solver.cpp:12`.
    pub location: Option<String>,
    /// The parameters in order, or the reason why they are unknown.
    pub parameters: Result<Vec<Parameter>, Unsupported>,
    /// The required work-group size, in work-items. The numbers are in SYCL order, one per dimension, or three if the
    /// file does not record the number of dimensions.
    pub required_local_size: Option<Vec<u32>>,
    /// The number of dimensions of the range: 1 to 3, or 0 for a single task. `None` if the file does not
    /// record the number.
    pub dimensions: Option<u8>,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// The C++ name, or `None` if the file does not record it.
    pub name: Option<String>,
    /// The type.
    pub ty: Type,
    /// Whether the file distinguishes signed from unsigned integers. If not, integers are assumed to be signed, and
    /// tools that display the parameter should note this.
    pub sign_known: bool,
    /// The required alignment of the address that a pointer or accessor passes, if the code records an alignment
    /// greater than 1. This is the C++ alignment of the pointee. `None` for `void *`, and for parameters that pass no
    /// pointer to device memory.
    pub align: Option<u64>,
    /// The arguments of the compiled kernel, in order. A buffer accessor or local accessor becomes four arguments
    /// (pointer, access range, memory range, id). Any other parameter becomes one.
    pub arguments: Vec<Argument>,
}

impl KernelSignature {
    /// Returns whether this is a variant that the SYCL runtime generated for rounded-up ranges. Launch the original
    /// kernel instead, which accepts ranges of any size.
    #[must_use]
    pub fn is_rounded_range(&self) -> bool {
        kernel::is_rounded_range(&self.symbol)
    }

    /// Returns the kernel in C++ syntax, if known: its declaration, or the captures and parameters of a lambda.
    /// A preceding comment names the enclosing function of a lambda or class, the deduced `auto` types, the
    /// file and the line.
    #[must_use]
    pub fn cpp(&self) -> Option<String> {
        let declaration = self.declaration.as_ref()?;
        let Some(name) = &self.name else {
            return Some(declaration.to_string());
        };
        let (function, own) = match name.lambdas.last() {
            Some(lambda) => {
                let captures = list(&declaration.parameters);
                let takes = list(&lambda.parameters);
                (Some(name), format!("[{captures}]({takes})"))
            }
            None => (name.function.as_deref(), declaration.to_string()),
        };
        let mut around = Vec::new();
        if let Some(function) = function {
            let types = function.parameters.as_deref().unwrap_or_default();
            around.push(format!("in {}({})", function.qualified(), list(types)));
            let generic = function.lambdas.iter().map(|of| &of.template_arguments);
            let generic = generic.filter(|arguments| !arguments.is_empty());
            around.extend(generic.map(|arguments| format!("auto: {}", list(arguments))));
        }
        around.extend(self.location.clone());
        Some(match &around[..] {
            [] => own,
            around => format!("// {}\n{own}", around.join(", ")),
        })
    }

    /// Creates a signature from only a symbol and parameters.
    #[must_use]
    pub fn new(symbol: impl Into<String>, parameters: Result<Vec<Parameter>, Unsupported>) -> Self {
        let symbol = symbol.into();
        Self {
            name: mangled::parse(&symbol),
            symbol,
            declaration: None,
            location: None,
            parameters,
            required_local_size: None,
            dimensions: None,
        }
    }
}

impl Parameter {
    /// Creates an unnamed parameter with a single argument.
    #[must_use]
    pub fn new(ty: Type) -> Self {
        Self {
            name: None,
            ty,
            sign_known: true,
            align: None,
            arguments: vec![Argument::Passed],
        }
    }
}

/// An argument of the compiled kernel. A parameter in the source becomes one or more such arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The launch passes the argument.
    Passed,
    /// The compiler removed the unused argument. A launch must not pass it.
    Removed,
}

/// The reason why a kernel has no typed signature, or a variable has no type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unsupported {
    reason: String,
    no_kernel: bool,
}

impl Unsupported {
    fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            no_kernel: false,
        }
    }

    /// Prepends `of`, which names the affected part, to the reason.
    fn within(self, of: impl fmt::Display) -> Self {
        Self {
            reason: format!("{of}{}", self.reason),
            ..self
        }
    }

    /// Returns whether the symbol is not a user kernel: it belongs to the SYCL runtime, or it is a function that
    /// the compiler lists among the kernels. Returns `false` for the steps of a `sycl::reduction`.
    #[must_use]
    pub const fn is_no_kernel(&self) -> bool {
        self.no_kernel
    }
}

/// Returns the signatures of all kernels in a file.
///
/// # Errors
///
/// Returns an error if a module lacks a recorded description, and its first image that is declared as SPIR-V cannot be
/// read.
pub fn kernels(file: &Syclbin<'_>) -> Result<Signatures, Error> {
    let mut found: Named<(KernelSignature, u8)> = Named::default();
    let mut names = Names::default();
    names.align(&file.modules);
    let mut variables = Variables::default();
    let nothing = Described::default();
    for (index, module) in file.modules.iter().enumerate() {
        // The code is read only if a description is missing.
        let code = if recorded::is_complete(module) {
            None
        } else {
            let within = |error: Error| error.within(format!("abstract module {index}: SPIR-V"), 0);
            Some(Code::of(module).map_err(within)?)
        };
        let rank = code.as_ref().map_or(0, Code::rank);
        let sources = |code| Sources::new(module, code, &nothing);
        let mut sources = code.as_ref().map(sources);
        for symbol in module.kernel_names() {
            let (signature, rank) =
                match (recorded::kernel(module, symbol, &mut names), &mut sources) {
                    (Some(recorded), _) => (recorded, u8::MAX),
                    (None, Some(sources)) => (sources.kernel(symbol, &mut names), rank),
                    (None, None) => continue,
                };
            // Several modules may contain the same kernel. A recorded description takes precedence, then SPIR-V, then
            // PTX. In a tie, the first module wins.
            if found.get(symbol).is_none_or(|(_, other)| *other < rank) {
                found.insert(symbol, (signature, rank));
            }
        }
        variables.add(module, sources.as_mut(), &mut names);
    }
    let (layouts, conflicts) = names.conflicts();
    let mut found = Vec::from_iter(found.into_iter().map(|(_, (kernel, _))| kernel));
    for kernel in &mut found {
        let parameters = kernel.parameters.iter().flatten();
        let structures = parameters.filter_map(|parameter| parameter.ty.structure());
        let conflict = structures.filter_map(|id| conflicts.get(&id)).next();
        if let Some(conflict) = conflict {
            kernel.parameters = Err(Unsupported::clone(conflict));
        }
    }
    let (constants, globals) = variables.finish(&conflicts);
    Ok(Signatures {
        kernels: found,
        layouts,
        constants,
        globals,
    })
}

fn unsupported<T>(reason: impl Into<String>) -> Result<T, Unsupported> {
    Err(Unsupported::new(reason))
}
