// SPDX-License-Identifier: MIT OR Apache-2.0
//! Extracts signature information from a module's code: the kernel arguments, and the C++ elements that the types
//! represent in memory.

use super::types::{Element, Field, Layout, Layouts, Pointee, Scalar};
use crate::error::Error;
use crate::model::{AbstractModule, Image};
use crate::prelude::*;
use crate::spirv::module::types::{Record, TypeId};
use crate::spirv::module::{Module, ParameterType};
use crate::{cubin, ptx};

pub(super) enum Code {
    SpirV(Box<Module>),
    Ptx(BTreeMap<String, ptx::Kernel>),
    Unknown,
}

impl Code {
    pub(super) fn of(module: &AbstractModule<'_>) -> Result<Self, Error> {
        if let Some(code) = module.images.iter().find_map(Image::spirv) {
            return Ok(Self::SpirV(Box::new(Module::parse_with_reads(code)?)));
        }
        let mut images = module.images.iter().map(|image| &*image.bytes);
        Ok(match images.find_map(cubin::ptx) {
            Some(text) => {
                let kernels = ptx::Module::read(text).0.kernels.into_iter();
                let named = kernels.map(|kernel| (kernel.name.clone(), kernel));
                Self::Ptx(named.collect())
            }
            None => Self::Unknown,
        })
    }

    pub(super) const fn spirv(&self) -> Option<&Module> {
        match self {
            Self::SpirV(spirv) => Some(spirv),
            Self::Ptx(_) | Self::Unknown => None,
        }
    }

    pub(super) fn kernel(&self, symbol: &str) -> Option<CodeKernel> {
        let (arguments, local_size, shared) = match self {
            Self::SpirV(spirv) => {
                let arguments = spirv.parameters(symbol)?.into_iter().map(|parameter| {
                    let is_global = matches!(parameter.ty, ParameterType::GlobalPointer { .. });
                    let align = parameter.align.filter(|_| is_global).map(u64::from);
                    CodeArgument::new(parameter.name, Passed::SpirV(parameter.ty), align)
                });
                (arguments.collect(), spirv.local_size(symbol), false)
            }
            Self::Ptx(kernels) => {
                let kernel = kernels.get(symbol)?;
                let arguments = kernel.parameters.iter().map(|parameter| {
                    let (name, align) = (parameter.name.clone(), parameter.global_align());
                    CodeArgument::new(name, Passed::Ptx(parameter.ty), align)
                });
                let shared = kernel.uses_dynamic_shared_memory;
                (arguments.collect(), kernel.required_local_size, shared)
            }
            Self::Unknown => return None,
        };
        Some(CodeKernel {
            arguments,
            local_size,
            shared,
        })
    }

    /// Ranks code by how much it reveals about signatures.
    pub(super) const fn rank(&self) -> u8 {
        match self {
            Self::SpirV(_) => 2,
            Self::Ptx(_) => 1,
            Self::Unknown => 0,
        }
    }
}

pub(super) struct CodeKernel {
    pub(super) arguments: Vec<CodeArgument>,
    /// The required work-group size along x, y and z.
    pub(super) local_size: Option<[u32; 3]>,
    /// Whether a number argument may be an offset into work-group memory.
    pub(super) shared: bool,
}

pub(super) struct CodeArgument {
    /// The C++ name, if the code records it.
    pub(super) name: Option<String>,
    pub(super) ty: Passed,
    /// For a pointer to device memory, the required alignment of the address.
    pub(super) align: Option<u64>,
}

/// The type of an argument in the code.
#[derive(Clone, Copy)]
pub(super) enum Passed {
    SpirV(ParameterType),
    Ptx(ptx::Passed),
}

impl CodeArgument {
    fn new(name: Option<String>, ty: Passed, align: Option<u64>) -> Self {
        // Drop names that are not from the source: compilers take these from members of SYCL's own types.
        let name = name.filter(|name| {
            let plain = name.trim_end_matches(|c: char| c.is_ascii_digit());
            !["ptr", "Ptr", "Sampler", "Image"].contains(&plain)
        });
        Self { name, ty, align }
    }
}

/// The maximum nesting depth of types. Deeper types are treated as bytes.
const MAX_DEPTH: usize = 32;

/// The C++ elements that a module's types represent. Each type is examined once.
pub(super) struct Meanings<'m> {
    pub(super) module: &'m Module,
    /// The element for each type, and whether the signedness of its integers is known.
    known: BTreeMap<u32, (Element, bool)>,
}

impl<'m> Meanings<'m> {
    pub(super) const fn new(module: &'m Module) -> Self {
        Self {
            module,
            known: BTreeMap::new(),
        }
    }

    /// Returns the element that `ty` represents in memory, and whether the signedness of its integers is known. Returns
    /// `None` for a type that represents no element, such as an image.
    pub(super) fn element(&mut self, ty: TypeId, layouts: &mut Layouts) -> Option<(Element, bool)> {
        self.at_depth(ty.0, layouts, MAX_DEPTH)
    }

    /// Converts `ty` to a pointee. Also returns whether the signedness of its integers is known.
    pub(super) fn pointee(&mut self, ty: TypeId, layouts: &mut Layouts) -> (Pointee, bool) {
        match self.element(ty, layouts) {
            // An unnamed struct does not come from C++. The compiler generated it to address memory.
            Some((Element::Struct(id), _))
                if layouts.get(id).is_none_or(|layout| layout.name.is_empty()) =>
            {
                (Pointee::Unknown(None), true)
            }
            // Compilers with opaque pointers emit such pointers for all element types.
            Some((Element::Scalar(Scalar::I8), _)) | None => (Pointee::Unknown(None), true),
            Some((element, sign_known)) => (Pointee::Element(element), sign_known),
        }
    }

    /// Returns the value type of a device global whose value is `size` bytes long and whose variable has type `ty`.
    /// With `image_scope`, the variable itself contains the value. Otherwise, a pointer and possibly padding
    /// precede the value.
    pub(super) fn device_global(&self, ty: TypeId, size: u64, image_scope: bool) -> Option<TypeId> {
        let types = &self.module.types;
        let Record::Struct { members, .. } = types.get(ty.0)? else {
            return (image_scope && self.size(ty) == Some(size)).then_some(ty);
        };
        let is_pointer = |id: &u32| matches!(types.get(*id), Some(Record::Pointer { .. }));
        let members = match &members[..] {
            _ if image_scope => &members[..],
            [first, rest @ ..] if is_pointer(first) => rest,
            _ => return None,
        };
        // At most one member, padding, can precede the value. The limit bounds the work for hostile structs.
        let mut members = members.iter().take(2).map(|member| TypeId(*member));
        members.find(|member| self.size(*member) == Some(size))
    }

    /// Returns the size of `ty` in bytes, if known.
    pub(super) fn size(&self, ty: TypeId) -> Option<u64> {
        self.module.types.size(ty.0).map(|(size, _)| size)
    }

    /// Returns the size of `ty` in bytes, if `ty` is an array. For a pointee, this is the minimum size of the memory.
    /// Arrays with one element are ignored, because compilers use the same type for arrays of unknown size.
    pub(super) fn array(&self, ty: TypeId) -> Option<u64> {
        match self.module.types.get(ty.0)? {
            Record::Array { count, .. } if count.is_some_and(|count| count >= 2) => self.size(ty),
            _ => None,
        }
    }

    /// Returns the C++ name of the struct `ty`, as far as the code preserves it.
    pub(super) fn name(&self, ty: TypeId) -> &str {
        plain(self.module.type_name(ty))
    }

    fn at_depth(
        &mut self,
        id: u32,
        layouts: &mut Layouts,
        depth: usize,
    ) -> Option<(Element, bool)> {
        if let Some(known) = self.known.get(&id) {
            return Some(known.clone());
        }
        let module = self.module;
        let (size, align) = module.types.size(id)?;
        let Some(depth) = depth.checked_sub(1) else {
            return Some((Element::Bytes(size), true));
        };
        let meaning = match module.types.get(id)? {
            Record::Int(bits) => (Element::Scalar(Scalar::integer(*bits, true)?), false),
            Record::Float { bits, bfloat } => {
                (Element::Scalar(Scalar::float(*bits, *bfloat)?), true)
            }
            Record::Pointer { pointee, .. } => {
                let (pointee, known) = self.shallow(*pointee, layouts);
                (Element::Pointer(Box::new(pointee)), known)
            }
            Record::Bool | Record::Sampler | Record::Image(_) => return None,
            Record::Vector { of, count } => match self.at_depth(*of, layouts, depth)? {
                (Element::Scalar(of), known) if *count != 3 => {
                    (Element::Vector { of, count: *count }, known)
                }
                _ => (Element::Bytes(size), true),
            },
            Record::Array { of, count } => {
                let (of, known) = self.at_depth(*of, layouts, depth)?;
                (Element::array(of, (*count)?), known)
            }
            Record::Struct { members, .. } => {
                let name = plain(module.type_name(TypeId(id)));
                match self.of_sycl(name, members, size, layouts, depth) {
                    Some(meaning) => meaning,
                    None => {
                        let mut fields = Vec::new();
                        for (member, offset) in module.parts(id)?.1 {
                            let (ty, sign_known) = self.at_depth(member, layouts, depth)?;
                            fields.push(Field::unnamed(offset, ty, sign_known));
                        }
                        let known = fields.iter().all(|field| field.sign_known);
                        let align = align.max(module.types.alignment(id).unwrap_or(1));
                        let layout = Layout::of_code(name, size, align, fields);
                        (Element::Struct(layouts.insert(layout)), known)
                    }
                }
            }
        };
        self.known.insert(id, meaning.clone());
        Some(meaning)
    }

    /// Returns the pointee of a pointer in memory. A pointer to bytes has an unknown pointee, because compilers with
    /// opaque pointers emit no other pointers. For a struct, returns only the name, because the struct may contain a
    /// pointer to itself.
    fn shallow(&mut self, id: u32, layouts: &mut Layouts) -> (Pointee, bool) {
        let unknown = (Pointee::Unknown(None), true);
        match self.module.types.get(id) {
            Some(Record::Int(16..) | Record::Float { .. } | Record::Vector { .. }) => {
                match self.at_depth(id, layouts, MAX_DEPTH) {
                    Some((Element::Bytes(_), _)) | None => unknown,
                    Some((element, known)) => (Pointee::Element(element), known),
                }
            }
            Some(Record::Struct { .. }) => {
                let name = plain(self.module.type_name(TypeId(id)));
                let name = Some(name).filter(|name| !name.is_empty());
                (Pointee::Unknown(name.map(Into::into)), true)
            }
            _ => unknown,
        }
    }

    /// Returns a floating-point `std::complex` as an array of two scalars.
    fn complex(&self, members: &[u32]) -> Option<(Element, bool)> {
        // libc++ stores two scalars, and libstdc++ stores C's complex type.
        let inner = members.first().and_then(|id| self.module.types.get(*id));
        let members = match (members, inner?) {
            ([_], Record::Struct { members, .. }) => members,
            _ => members,
        };
        let [real, imaginary] = members[..] else {
            return None;
        };
        let Record::Float { bits, bfloat } = self.module.types.get(real)? else {
            return None;
        };
        let of = Element::Scalar(Scalar::float(*bits, *bfloat)?);
        (real == imaginary).then(|| (Element::array(of, 2), true))
    }

    /// Recognizes unions, `std::array`, `std::complex`, and SYCL types that consist of scalars.
    fn of_sycl(
        &mut self,
        name: &str,
        members: &[u32],
        size: u64,
        layouts: &mut Layouts,
        depth: usize,
    ) -> Option<(Element, bool)> {
        const HALF: &str = "sycl::_V1::detail::half_impl::half";
        const BFLOAT16: &str = "sycl::_V1::ext::oneapi::bfloat16";
        match (name, size) {
            (HALF, 2) => return Some((Element::Scalar(Scalar::F16), true)),
            (BFLOAT16, 2) => return Some((Element::Scalar(Scalar::BF16), true)),
            ("std::complex" | "std::__1::complex", _) => return self.complex(members),
            _ if name.starts_with("union.") => return Some((Element::Bytes(size), true)),
            _ => {}
        }
        let name = match name {
            "std::array" | "std::__1::array" => "std::array",
            _ => name.strip_prefix("sycl::_V1::")?,
        };
        let (
            [member],
            "std::array" | "vec" | "detail::vec_base" | "marray" | "id" | "range" | "detail::array",
        ) = (members, name)
        else {
            return None;
        };
        // Each of these types wraps an array, directly or in a base class.
        let (inner, known) = self.at_depth(*member, layouts, depth)?;
        if layouts.size(&inner) != Some(size) {
            return None;
        }
        Some(match (name, &inner) {
            ("id" | "range" | "detail::array", Element::Array { of, count })
                if **of == Element::Scalar(Scalar::I64) =>
            {
                (Element::array(Element::Scalar(Scalar::U64), *count), true)
            }
            // The code does not distinguish a vector of three elements from one of four, so both remain arrays.
            ("vec", Element::Array { of, count }) => match (&**of, u32::try_from(*count)) {
                (Element::Scalar(of), Ok(count @ (1 | 2 | 8 | 16))) => {
                    (Element::Vector { of: *of, count }, known)
                }
                _ => (inner, known),
            },
            _ => (inner, known),
        })
    }
}

/// Returns the C++ name of a struct, as far as the code preserves it: `ns::Pair` for `struct.ns::Pair.12`.
fn plain(name: &str) -> &str {
    let plain = name.strip_prefix("struct.");
    let plain = plain.or_else(|| name.strip_prefix("class."));
    let name = plain.unwrap_or(name);
    match name.rsplit_once('.') {
        Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    }
}
