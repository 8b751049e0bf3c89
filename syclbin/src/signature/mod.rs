//! What a kernel takes: one [`KernelSignature`] from all that a file says of it.
//!
//! Three sources are merged, each for what it knows best:
//!
//! 1. the recorded C++ declaration (set
//!    [`DECLARATIONS`](crate::property::set::DECLARATIONS)): names and signed or unsigned,
//! 2. the symbol: namespaces, template arguments and, unless it is `extern "C"`, C++ types,
//! 3. the SPIR-V: what is really passed, and which pointers are never written through.
//!
//! Where they contradict each other, or the kernel takes what is not supported yet, the kernel has
//! no signature but a reason. What stays unknown is marked, never guessed in silence.

pub mod debug_info;
pub mod declaration;
pub mod mangled;
pub(crate) mod ptx;
pub mod spirv;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::error::Error;
use crate::model::{AbstractModule, Image, Syclbin};
use crate::property::{Value, set};
use declaration::{Declaration, DeclaredParameter};
use mangled::KernelName;
use spirv::{ParameterType, Pointee};

/// A kernel: what it is called and what it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSignature {
    /// The symbol in the image.
    pub symbol: String,
    /// The name in C++, where the symbol can be read.
    pub name: Option<KernelName>,
    /// The C++ declaration, where it is known.
    pub declaration: Option<Declaration>,
    /// The parameters in order, or why they cannot be told.
    pub parameters: Result<Vec<Parameter>, Unsupported>,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name in C++; `None` where the file does not have it.
    pub name: Option<String>,
    /// Its type.
    pub ty: Type,
    /// Whether the file tells signed from unsigned. If not, integers are taken for signed, and who
    /// shows the parameter should say so.
    pub sign_known: bool,
}

/// What is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A number.
    Scalar(Scalar),
    /// A pointer to numbers in device memory.
    Pointer {
        /// What it points to.
        pointee: Scalar,
        /// Whether the kernel writes through it.
        access: Access,
    },
}

/// A number, by its size and kind. `long` has 64 bits, as on every platform but Windows; where the
/// code takes another size, the kernel is reported as contradictory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// `bool`: one byte, 0 or 1.
    Bool,
    /// `signed char`, and `char`, which is signed on every SYCL device.
    I8,
    /// `unsigned char`.
    U8,
    /// `short`.
    I16,
    /// `unsigned short`.
    U16,
    /// `int`.
    I32,
    /// `unsigned int`.
    U32,
    /// `long`, `long long`.
    I64,
    /// `unsigned long`, `unsigned long long`.
    U64,
    /// `float`.
    F32,
    /// `double`.
    F64,
}

/// What a kernel does through a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It only reads: the pointer is to `const`, or the compiler proved that nothing is written.
    Read,
    /// It may write.
    ReadWrite,
}

/// Why a kernel has no typed signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unsupported(String);

/// The signatures of all kernels of a file, in its order, each symbol once.
///
/// # Errors
///
/// When an image that is filed as SPIR-V cannot be read as such.
pub fn kernels(file: &Syclbin<'_>) -> Result<Vec<KernelSignature>, Error> {
    let mut found: Vec<KernelSignature> = Vec::new();
    let mut places = BTreeMap::new();
    for (index, module) in file.modules.iter().enumerate() {
        let spirv = spirv_of(module)
            .map_err(|error| error.within(format!("abstract module {index}: SPIR-V"), 0))?;
        for symbol in module.kernel_names() {
            let signature = kernel(module, spirv.as_ref(), symbol);
            // The same kernel in two modules is one meaning for several targets. The first whose
            // code can be read tells most.
            match places.entry(symbol) {
                Entry::Vacant(place) => {
                    place.insert((found.len(), spirv.is_some()));
                    found.push(signature);
                }
                Entry::Occupied(mut place) if !place.get().1 && spirv.is_some() => {
                    place.get_mut().1 = true;
                    found[place.get().0] = signature;
                }
                Entry::Occupied(_) => {}
            }
        }
    }
    Ok(found)
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

fn spirv_of(module: &AbstractModule<'_>) -> Result<Option<spirv::Module>, Error> {
    let code = module.images.iter().find_map(Image::spirv);
    code.map(spirv::Module::parse).transpose()
}

fn kernel(
    module: &AbstractModule<'_>,
    spirv: Option<&spirv::Module>,
    symbol: &str,
) -> KernelSignature {
    let name = mangled::parse(symbol);
    let recorded = module
        .metadata
        .get(set::DECLARATIONS, symbol)
        .and_then(Value::as_str)
        .and_then(Declaration::parse);
    let passed = spirv.and_then(|spirv| spirv.parameters(symbol));
    let declaration = recorded.or_else(|| declared_by_symbol(name.as_ref(), passed.as_deref()));
    let removed = module.eliminated_arguments(symbol);
    let declared = declaration.as_ref().map(|d| d.parameters.as_slice());
    // Compilers list exported functions among the names as well.
    let exported = spirv.is_some() && passed.is_none();
    let parameters = if exported {
        unsupported("the code exports it as a function and has no kernel of that name")
    } else {
        match removed {
            Ok(removed) if removed.contains(&true) => {
                unsupported("the compiler removed arguments, which is not supported yet")
            }
            Ok(_) => parameters(declared, passed.as_deref()),
            Err(malformed) => unsupported(malformed.to_string()),
        }
    };
    KernelSignature {
        symbol: symbol.into(),
        name,
        declaration,
        parameters,
    }
}

/// The declaration that a mangled symbol implies, with the names that the SPIR-V has.
fn declared_by_symbol(
    name: Option<&KernelName>,
    passed: Option<&[spirv::Parameter]>,
) -> Option<Declaration> {
    let name = name?;
    let types = name.parameters.as_ref()?;
    let passed = passed.filter(|passed| passed.len() == types.len());
    let parameters = types.iter().enumerate().map(|(index, ty)| {
        let name = passed.and_then(|passed| passed[index].name.clone());
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
    Err(Unsupported(reason.into()))
}

fn parameters(
    declared: Option<&[DeclaredParameter]>,
    passed: Option<&[spirv::Parameter]>,
) -> Result<Vec<Parameter>, Unsupported> {
    let count = match (declared, passed) {
        (None, None) => {
            return unsupported("the file has neither a declaration nor SPIR-V of this kernel");
        }
        (Some(declared), Some(passed)) if declared.len() != passed.len() => {
            return unsupported(format!(
                "it declares {} parameters and takes {} arguments (an accessor, say), which is not supported yet",
                declared.len(),
                passed.len()
            ));
        }
        (Some(declared), _) => declared.len(),
        (None, Some(passed)) => passed.len(),
    };
    (0..count)
        .map(|index| {
            let declared = declared.map(|declared| &declared[index]);
            let passed = passed.map(|passed| &passed[index]);
            let name = declared
                .map(|declared| declared.name.clone())
                .filter(|name| !name.is_empty())
                .or_else(|| passed.and_then(|passed| passed.name.clone()));
            let (ty, sign_known) = merge(declared, passed).map_err(|Unsupported(reason)| {
                let name = name.clone().unwrap_or_else(|| index.to_string());
                Unsupported(format!("parameter {name}: {reason}"))
            })?;
            Ok(Parameter {
                name,
                ty,
                sign_known,
            })
        })
        .collect()
}

/// The type of one parameter, and whether its sign is known.
fn merge(
    declared: Option<&DeclaredParameter>,
    passed: Option<&spirv::Parameter>,
) -> Result<(Type, bool), Unsupported> {
    let passed = passed.map(|passed| passed.ty);
    match (declared, passed) {
        (Some(declared), passed) => {
            let ty = declared_type(&declared.ty)?;
            if let Some(passed) = passed {
                return agree(&declared.ty, ty, passed).map(|ty| (ty, true));
            }
            Ok((ty, true))
        }
        (None, Some(passed)) => passed_type(passed),
        (None, None) => unsupported("nothing is known of it"),
    }
}

/// The type that a C++ spelling means.
fn declared_type(text: &str) -> Result<Type, Unsupported> {
    let not_yet = || Unsupported(format!("`{text}` is not supported yet"));
    let plain = |text: &str| text.trim().trim_start_matches("const ").to_owned();
    match text
        .strip_suffix("const")
        .unwrap_or(text)
        .trim_end()
        .strip_suffix('*')
    {
        None => Ok(Type::Scalar(scalar(&plain(text)).ok_or_else(not_yet)?)),
        Some(pointee) => Ok(Type::Pointer {
            pointee: scalar(&plain(pointee)).ok_or_else(not_yet)?,
            access: match pointee.starts_with("const ") {
                true => Access::Read,
                false => Access::ReadWrite,
            },
        }),
    }
}

fn scalar(text: &str) -> Option<Scalar> {
    Some(match text {
        "bool" => Scalar::Bool,
        "char" | "signed char" => Scalar::I8,
        "unsigned char" => Scalar::U8,
        "short" => Scalar::I16,
        "unsigned short" => Scalar::U16,
        "int" => Scalar::I32,
        "unsigned int" => Scalar::U32,
        "long" | "long long" => Scalar::I64,
        "unsigned long" | "unsigned long long" => Scalar::U64,
        "float" => Scalar::F32,
        "double" => Scalar::F64,
        _ => return None,
    })
}

impl Scalar {
    /// Bits in memory.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 8,
            Self::I16 | Self::U16 => 16,
            Self::I32 | Self::U32 | Self::F32 => 32,
            Self::I64 | Self::U64 | Self::F64 => 64,
        }
    }

    const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// The integer that is signed, as is assumed where nothing tells.
    fn signed(bits: u32) -> Option<Self> {
        [Self::I8, Self::I16, Self::I32, Self::I64]
            .into_iter()
            .find(|scalar| scalar.bits() == bits)
    }

    fn unsigned(bits: u32) -> Option<Self> {
        [Self::U8, Self::U16, Self::U32, Self::U64]
            .into_iter()
            .find(|scalar| scalar.bits() == bits)
    }

    fn float(bits: u32) -> Option<Self> {
        [Self::F32, Self::F64]
            .into_iter()
            .find(|scalar| scalar.bits() == bits)
    }
}

/// The declared type, once the code is seen to take the same; the code knows best what is written.
fn agree(text: &str, declared: Type, passed: ParameterType) -> Result<Type, Unsupported> {
    match (declared, passed) {
        (Type::Scalar(scalar), ParameterType::Int { bits, .. })
            if !scalar.is_float() && scalar.bits() == bits =>
        {
            Ok(declared)
        }
        (Type::Scalar(scalar), ParameterType::Float { bits })
            if scalar.is_float() && scalar.bits() == bits =>
        {
            Ok(declared)
        }
        // The pointee is not compared: a pointer is typed by its use, so `float *` may arrive as a
        // pointer to bytes, and opaque pointers may lose it altogether.
        (Type::Pointer { pointee, access }, ParameterType::GlobalPointer { no_write, .. }) => {
            let access = if no_write { Access::Read } else { access };
            Ok(Type::Pointer { pointee, access })
        }
        _ => unsupported(format!(
            "it is declared `{text}`, and the code takes something else"
        )),
    }
}

/// The type of a parameter of which only the code is known.
fn passed_type(passed: ParameterType) -> Result<(Type, bool), Unsupported> {
    let size = |bits| Unsupported(format!("a number of {bits} bits is not supported yet"));
    match passed {
        ParameterType::Int { bits, signed } => {
            let scalar = match signed {
                Some(false) => Scalar::unsigned(bits),
                _ => Scalar::signed(bits),
            };
            let scalar = scalar.ok_or_else(|| size(bits))?;
            Ok((Type::Scalar(scalar), signed.is_some()))
        }
        ParameterType::Float { bits } => {
            let scalar = Scalar::float(bits).ok_or_else(|| size(bits))?;
            Ok((Type::Scalar(scalar), true))
        }
        ParameterType::GlobalPointer { pointee, no_write } => {
            let (pointee, sign_known) = match pointee {
                Pointee::Int(bits) => (Scalar::signed(bits).ok_or_else(|| size(bits))?, false),
                Pointee::Float(bits) => (Scalar::float(bits).ok_or_else(|| size(bits))?, true),
                Pointee::Other => return unsupported("a pointer to a struct is not supported yet"),
            };
            let access = match no_write {
                true => Access::Read,
                false => Access::ReadWrite,
            };
            Ok((Type::Pointer { pointee, access }, sign_known))
        }
        ParameterType::LocalPointer => unsupported("work-group memory is not supported yet"),
        ParameterType::ByValue => unsupported("a struct by value is not supported yet"),
        ParameterType::Other => unsupported("its type is not supported yet"),
    }
}
