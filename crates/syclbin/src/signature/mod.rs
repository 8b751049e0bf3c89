//! Signatures: one [`KernelSignature`] per kernel, from all that a file says of its parameters.
//!
//! Four sources are merged, each for what it knows best:
//!
//! 1. the recorded C++ [declaration] (set [`DECLARATIONS`](crate::property::set::DECLARATIONS)): names
//!    and signed or unsigned; and the recorded [definitions](definition) of the structs and
//!    enumerations it names (set [`LAYOUTS`](crate::property::set::LAYOUTS)),
//! 2. the symbol: namespaces, template arguments and, unless it is `extern "C"`, C++ types,
//! 3. the code. SPIR-V: what is really passed, the layout of structs, and which pointers are never
//!    written through. PTX, where a module has no SPIR-V, also in a fat binary: the sizes of what is
//!    passed,
//! 4. the mask of arguments that the compiler removed.
//!
//! The types of [device globals](DeviceGlobal) and [specialization constants](SpecializationConstant)
//! come from the same: what is recorded (set [`VARIABLES`](crate::property::set::VARIABLES)), and the
//! SPIR-V.
//!
//! Where the sources contradict each other, or the kernel takes what cannot be passed, the kernel has a
//! reason instead of a signature. What stays unknown is marked, never guessed in silence.

mod code_types;
mod cpp;
pub mod debug_info;
pub mod declaration;
pub mod definition;
mod described;
mod entry;
pub mod mangled;
mod memory_map;
mod merge;
pub mod spirv;
mod types;
mod variables;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::cubin;
use crate::error::Error;
use crate::metadata::{Dimensions, Malformed, WorkGroupSize, without_run_prefix};
use crate::model::{AbstractModule, Image, Syclbin};
use crate::property::{PropertySet, Value, key, set};
use crate::ptx;
use code_types::Meanings;
use declaration::{Declaration, DeclaredParameter};
use definition::Definition;
use described::{Described, Names};
use mangled::KernelName;
use merge::{Passed, Sources};
pub use types::{Access, Element, Enum, Field, Layout, Layouts, Pointee, Scalar, StructId, Type};
use variables::Variables;
pub use variables::{DeviceGlobal, SpecializationConstant};

/// All kernels of a file, the structs they take, and the variables that a host can reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
pub struct KernelSignature {
    /// The symbol in the image.
    pub symbol: String,
    /// The name in C++, where the symbol can be read.
    pub name: Option<KernelName>,
    /// The C++ declaration, where it is known.
    pub declaration: Option<Declaration>,
    /// The parameters in order, or why they are unknown.
    pub parameters: Result<Vec<Parameter>, Unsupported>,
    /// The only size of work-groups it can be launched with, in work-items. It is in SYCL's order, one number
    /// per dimension. There are three numbers where only the code has the size.
    pub required_local_size: Option<Vec<u32>>,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    conflict: bool,
}

impl Unsupported {
    fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            conflict: false,
        }
    }

    /// Returns what `of` says of itself, named as a part of the whole.
    fn within(self, of: impl fmt::Display) -> Self {
        Self {
            reason: format!("{of}{}", self.reason),
            ..self
        }
    }

    /// Returns whether two structs of the same name are the reason. Then the text shows both layouts, and the
    /// sources have to be changed.
    #[must_use]
    pub const fn is_conflict(&self) -> bool {
        self.conflict
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
    for (index, module) in file.modules.iter().enumerate() {
        let code = Code::of(module)
            .map_err(|error| error.within(format!("abstract module {index}: SPIR-V"), 0))?;
        let spirv = code.spirv();
        let mut sources = Sources {
            described: Described::new(module),
            code: spirv.map(Meanings::new),
        };
        for symbol in module.kernel_names() {
            let signature = kernel(module, &code, &mut sources, &mut names, symbol);
            // The same kernel in two modules is one kernel for several targets. The first whose code can be
            // read tells most.
            match places.entry(symbol) {
                Entry::Vacant(place) => {
                    place.insert((found.len(), code.rank()));
                    found.push(signature);
                }
                Entry::Occupied(mut place) if place.get().1 < code.rank() => {
                    place.get_mut().1 = code.rank();
                    found[place.get().0] = signature;
                }
                Entry::Occupied(_) => {}
            }
        }
        variables.add(module, spirv, &mut sources, &mut names);
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

impl Type {
    /// Returns the struct it is, holds or points to.
    #[must_use]
    pub fn structure(&self) -> Option<StructId> {
        match self {
            Self::Struct(id) => Some(*id),
            Self::Array { of, .. } => of.structure(),
            Self::Pointer { pointee, .. }
            | Self::LocalMemory {
                element: pointee, ..
            }
            | Self::LocalAccessor {
                element: pointee, ..
            }
            | Self::Accessor {
                element: pointee, ..
            } => match pointee {
                Pointee::Element(element) => element.structure(),
                Pointee::Void | Pointee::Unknown(_) => None,
            },
            Self::Scalar(_)
            | Self::Enum(_)
            | Self::Vector { .. }
            | Self::Sampler
            | Self::KernelHandler => None,
        }
    }
}

/// Records `declarations` in `module`, for the kernels it has.
pub fn record<'d>(
    module: &mut AbstractModule<'_>,
    declarations: impl IntoIterator<Item = (&'d String, &'d Declaration)>,
) {
    for (symbol, declaration) in declarations {
        let names = module.metadata.set(set::KERNEL_NAMES);
        if names.is_some_and(|names| names.get(symbol).is_some()) {
            let value = Value::from(declaration.to_string());
            module
                .metadata
                .insert(set::DECLARATIONS, symbol.clone(), value);
        }
    }
}

/// Records in `module` the types of its device globals and specialization constants. The keys of `types` are
/// identifiers without the part that distinguishes sources, as in
/// [`Described::variables`](debug_info::Described::variables).
pub fn record_variables(module: &mut AbstractModule<'_>, types: &BTreeMap<String, String>) {
    for set in [set::DEVICE_GLOBALS, set::SPECIALIZATION_CONSTANTS] {
        let keys = module.metadata.set(set).into_iter();
        let keys = keys.flat_map(PropertySet::keys).map(without_run_prefix);
        let found = keys.filter_map(|name| Some((name, types.get(mangled::without_source(name))?)));
        let found: Vec<_> = found.map(|(name, ty)| (name.to_string(), ty)).collect();
        for (name, ty) in found {
            let value = Value::from(ty.as_str());
            module.metadata.insert(set::VARIABLES, name, value);
        }
    }
}

/// Records in `module` what structs and enumerations are.
pub fn record_layouts<'d>(
    module: &mut AbstractModule<'_>,
    definitions: impl IntoIterator<Item = &'d Definition>,
) {
    for definition in definitions {
        let value = Value::from(definition.to_string());
        let name = definition.name().to_string();
        module.metadata.insert(set::LAYOUTS, name, value);
    }
}

/// The code of a module that signatures can be read from.
enum Code {
    SpirV(Box<spirv::Module>),
    /// The kernels by their names.
    Ptx(BTreeMap<String, ptx::Kernel>),
    Unknown,
}

impl Code {
    fn of(module: &AbstractModule<'_>) -> Result<Self, Error> {
        if let Some(code) = module.images.iter().find_map(Image::spirv) {
            return Ok(Self::SpirV(Box::new(spirv::Module::parse(code)?)));
        }
        let mut images = module.images.iter().map(|image| &*image.bytes);
        Ok(match images.find_map(cubin::ptx) {
            Some(text) => {
                let kernels = ptx::Module::read(text).0.kernels.into_iter();
                Self::Ptx(
                    kernels
                        .map(|kernel| (kernel.name.clone(), kernel))
                        .collect(),
                )
            }
            None => Self::Unknown,
        })
    }

    const fn spirv(&self) -> Option<&spirv::Module> {
        match self {
            Self::SpirV(spirv) => Some(spirv),
            Self::Ptx(_) | Self::Unknown => None,
        }
    }

    /// Returns how much it tells.
    const fn rank(&self) -> u8 {
        match self {
            Self::SpirV(_) => 2,
            Self::Ptx(_) => 1,
            Self::Unknown => 0,
        }
    }
}

fn kernel(
    module: &AbstractModule<'_>,
    code: &Code,
    sources: &mut Sources<'_>,
    names: &mut Names,
    symbol: &str,
) -> KernelSignature {
    let name = mangled::parse(symbol);
    let recorded = module
        .metadata
        .get(set::DECLARATIONS, symbol)
        .and_then(Value::as_str)
        .and_then(Declaration::parse);
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
    let declaration = recorded.or_else(|| declared_by_symbol(name.as_ref(), in_spirv.as_deref()));
    let declared = declaration.as_ref().map(|d| d.parameters.as_slice());
    // Compilers list exported functions among the names as well.
    let listed = module.metadata.get(set::EXPORTED_SYMBOLS, symbol).is_some();
    let absent = passed.is_none() && code.rank() > 0;
    let scratch = Scratch::of(module, code, symbol);
    let parameters = if listed && passed.is_none() {
        unsupported("the code exports it as a function and has no kernel of that name")
    } else if absent {
        unsupported("the code has no kernel of that name")
    } else if name.as_ref().is_some_and(is_rounded_range) {
        unsupported(
            "it is the runtime's own form of another kernel, for ranges rounded up; launch that one",
        )
    } else {
        match module.eliminated_arguments(symbol) {
            Ok(removed) => {
                let passed = passed.unwrap_or(Passed::Unknown);
                let visible = match scratch {
                    Scratch::Argument(index) => hidden_last(index, passed),
                    Scratch::None | Scratch::NoArgument => Ok(passed),
                };
                visible.and_then(|visible| {
                    let mut all = sources.parameters(declared, visible, &removed, names)?;
                    all.extend((scratch != Scratch::None).then(scratch_memory));
                    Ok(all)
                })
            }
            Err(malformed) => unsupported(malformed.to_string()),
        }
    };
    let (parameters, required_local_size) = match required_local_size(module, local_size, symbol) {
        Ok(size) => (parameters, size),
        Err(reason) => (parameters.and(Err(reason)), None),
    };
    KernelSignature {
        symbol: symbol.into(),
        name,
        declaration,
        parameters,
        required_local_size,
    }
}

/// Returns the only size of work-groups that `symbol` can be launched with, in SYCL's order.
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
            "its required work-group size is recorded as {a:?}, and the code has {b:?}"
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
        let argument = module.metadata.get(set::IMPLICIT_LOCAL_ARG, symbol);
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
        return Ok(passed); // native code does not tell
    };
    match (index, parameters.split_last()) {
        (Some(index), Some((last, visible)))
            if index as usize == visible.len()
                && matches!(last.ty, spirv::ParameterType::LocalPointer { .. }) =>
        {
            Ok(Passed::SpirV(visible))
        }
        _ => unsupported(
            "its work-group scratch memory is recorded as another argument than the last of the code",
        ),
    }
}

/// The memory of a kernel that calls `get_work_group_scratch_memory`: bytes, as many as the launch says. It
/// is the last argument in SPIR-V, but not an argument in PTX ([`ptx::Kernel::uses_scratch_memory`]).
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

/// Returns whether it is a kernel that runs another over a range rounded up.
fn is_rounded_range(name: &KernelName) -> bool {
    name.base == "RoundedRangeKernel" && name.path.first().is_some_and(|part| part == "sycl")
}

/// Returns the declaration that a mangled symbol implies, with the names that the SPIR-V has.
fn declared_by_symbol(
    name: Option<&KernelName>,
    passed: Option<&[spirv::Parameter]>,
) -> Option<Declaration> {
    let name = name?;
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

fn unsupported<T>(reason: impl Into<String>) -> Result<T, Unsupported> {
    Err(Unsupported::new(reason))
}
