// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signatures: one [`KernelSignature`] per kernel.
//!
//! A build records them in the file (sets [`KERNELS`](crate::property::set::KERNELS) and
//! [`VARIABLES`](crate::property::set::VARIABLES)), and [`kernels`] reads them as they are. Signatures that a file does
//! not record are inferred as the build does it, but without debug information:
//!
//! 1. the debug information of a second compile: C++ [declarations](Declaration), structs, dimensions and lines,
//! 2. the symbol: namespaces, template arguments and, unless it is `extern "C"`, C++ types,
//! 3. the code. SPIR-V: what is really passed, the layout of structs, and which pointers are never
//!    written through. PTX, where a module has no SPIR-V, also in a fat binary: the sizes of what is
//!    passed,
//! 4. the mask of arguments that the compiler removed.
//!
//! The types of [device globals](DeviceGlobal) and [specialization constants](SpecializationConstant) come from the
//! same.
//!
//! Where the sources contradict each other, or the kernel takes what cannot be passed, the kernel has a
//! reason instead of a signature. What stays unknown is marked, never guessed in silence.

mod code;
mod cpp;
pub(crate) mod debug_info;
mod difference;
mod dimensions;
mod entry;
mod kernel;
pub(crate) mod mangled;
mod memory_map;
mod merge;
pub(crate) mod names;
pub(crate) mod recorded;
mod spell;
pub(crate) mod spirv;
mod types;
mod variables;

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::error::Error;
use crate::model::Syclbin;
use code::Code;
use debug_info::Described;
pub use difference::{Difference, Subject};
pub use mangled::{KernelName, Lambda};
use merge::Sources;
use names::Names;
pub use spell::{Declaration, DeclaredParameter};
pub use types::{Access, Element, Enum, Field, Layout, Layouts, Pointee, Scalar, StructId, Type};
use variables::Variables;
pub use variables::{DeviceGlobal, SpecializationConstant};

/// All kernels of a file, the structs they take, and the variables that a host can reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signatures {
    /// The kernels in the file's order, each symbol once.
    pub kernels: Vec<KernelSignature>,
    /// The structs.
    pub layouts: Layouts,
    /// The specialization constants in the file's order, each symbol once.
    pub constants: Vec<SpecializationConstant>,
    /// The device globals in the file's order, each identifier once.
    pub globals: Vec<DeviceGlobal>,
}

/// A kernel: what it is called and what it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelSignature {
    /// The symbol in the image.
    pub symbol: String,
    /// The name in C++, where the symbol can be read.
    pub name: Option<KernelName>,
    /// The C++ declaration, where it is known.
    pub declaration: Option<Declaration>,
    /// Where the source has it, by the name of the file: `solver.cpp:12`.
    pub location: Option<String>,
    /// The parameters in order, or why they are unknown.
    pub parameters: Result<Vec<Parameter>, Unsupported>,
    /// The only size of work-groups it can be launched with, in work-items. It is in SYCL's order, one number
    /// per dimension. There are three numbers where only the code has the size.
    pub required_local_size: Option<Vec<u32>>,
    /// How many dimensions its ranges have: 1 to 3, and 0 for a single task. `None` if the file does not record it.
    pub dimensions: Option<u8>,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// The name in C++; `None` where the file does not have it.
    pub name: Option<String>,
    /// Its type.
    pub ty: Type,
    /// Whether the file distinguishes signed from unsigned. If not, integers are taken for signed, and a
    /// display of the parameter should say so.
    pub sign_known: bool,
    /// What the address of a pointer must be a multiple of, where the code says that and it is more than 1.
    /// This is the alignment of the pointee in C++. `None` for `void *` and for other types than pointers.
    pub align: Option<u64>,
    /// Its arguments in the code, in order. An accessor has four (pointer, range of access, range of the
    /// memory, id); all other parameters have one.
    pub arguments: Vec<Argument>,
}

impl KernelSignature {
    /// Returns whether it is the runtime's own form of another kernel, for ranges rounded up. The other kernel takes
    /// ranges of any size.
    #[must_use]
    pub fn is_rounded_range(&self) -> bool {
        kernel::is_rounded_range(&self.symbol)
    }

    /// Returns the kernel in C++, where it is known: its declaration, or what a lambda captures and takes. The line before
    /// it names the function around a lambda or class, the types of `auto` in it, the file and the line.
    #[must_use]
    pub fn cpp(&self) -> Option<String> {
        let declaration = self.declaration.as_ref()?;
        let Some(name) = &self.name else {
            return Some(declaration.to_string());
        };
        let (function, own) = match name.lambdas.last() {
            Some(lambda) => {
                let captures = declaration.parameters.iter().map(ToString::to_string);
                let captures = captures.collect::<Vec<_>>().join(", ");
                let takes = lambda.parameters.join(", ");
                (Some(name), format!("[{captures}]({takes})"))
            }
            None => (name.function.as_deref(), declaration.to_string()),
        };
        let mut around = Vec::new();
        if let Some(function) = function {
            let types = function.parameters.as_deref().unwrap_or_default();
            around.push(format!("in {}({})", function.qualified(), types.join(", ")));
            let generic = function
                .lambdas
                .iter()
                .filter(|of| !of.template_arguments.is_empty());
            around.extend(generic.map(|of| format!("auto: {}", of.template_arguments.join(", "))));
        }
        around.extend(self.location.clone());
        Some(match &around[..] {
            [] => own,
            around => format!("// {}\n{own}", around.join(", ")),
        })
    }

    /// Creates the signature of a kernel of which only the symbol and the parameters are known.
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
    /// Returns what stands for an argument that the compiler removed, where nothing describes it.
    fn removed() -> Self {
        Self {
            arguments: vec![Argument::Removed],
            ..Self::new(Type::Unused)
        }
    }

    /// Creates an unnamed parameter that is one argument of the code.
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

/// An argument of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The launch passes it.
    Passed,
    /// The compiler removed it, because nothing uses it; a launch skips it.
    Removed,
}

/// Why a kernel has no typed signature, or a variable no type.
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

    /// Returns what `of` says of itself, named as a part of the whole.
    fn within(self, of: impl fmt::Display) -> Self {
        Self {
            reason: format!("{of}{}", self.reason),
            ..self
        }
    }

    /// Returns whether no source launches it as a kernel: it is one of the runtime's own, or a function that the
    /// compiler lists among the kernels.
    #[must_use]
    pub const fn is_no_kernel(&self) -> bool {
        self.no_kernel
    }
}

/// Returns the signatures of all kernels of a file.
///
/// # Errors
///
/// When an image that is filed as SPIR-V cannot be read as such.
pub fn kernels(file: &Syclbin<'_>) -> Result<Signatures, Error> {
    let mut found: Vec<KernelSignature> = Vec::new();
    let mut places = BTreeMap::new();
    let mut names = Names::default();
    names.align(&file.modules);
    let mut variables = Variables::default();
    let nothing = Described::default();
    for (index, module) in file.modules.iter().enumerate() {
        // Code is read only where a description is missing.
        let code = if recorded::is_complete(module) {
            None
        } else {
            let within = |error: Error| error.within(format!("abstract module {index}: SPIR-V"), 0);
            Some(Code::of(module).map_err(within)?)
        };
        let rank = code.as_ref().map_or(0, Code::rank);
        let mut sources = code
            .as_ref()
            .map(|code| Sources::new(module, code, &nothing, &mut names));
        for symbol in module.kernel_names() {
            let (signature, rank) =
                match (recorded::kernel(module, symbol, &mut names), &mut sources) {
                    (Some(recorded), _) => (recorded, u8::MAX),
                    (None, Some(sources)) => (sources.kernel(symbol, &mut names), rank),
                    (None, None) => continue,
                };
            // The same kernel in two modules is one kernel for several targets. What the build recorded counts,
            // and then the first whose code can be read.
            match places.entry(symbol) {
                Entry::Vacant(place) => {
                    place.insert((found.len(), rank));
                    found.push(signature);
                }
                Entry::Occupied(mut place) if place.get().1 < rank => {
                    place.get_mut().1 = rank;
                    found[place.get().0] = signature;
                }
                Entry::Occupied(_) => {}
            }
        }
        variables.add(module, sources.as_mut(), &mut names);
    }
    let (layouts, conflicts) = names.conflicts();
    for kernel in &mut found {
        let parameters = kernel.parameters.iter().flatten();
        let structures = parameters.filter_map(|parameter| parameter.ty.structure());
        let conflict = structures.filter_map(|id| conflicts.get(&id)).next();
        if let Some(conflict) = conflict {
            kernel.parameters = Err(conflict.clone());
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
