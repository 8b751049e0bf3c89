// SPDX-License-Identifier: MIT OR Apache-2.0
//! Converts C++ types to parameter types: scalars, pointers, vectors, and SYCL types. Structs and enumerations
//! are looked up in the definitions.

use super::Unsupported;
use super::cpp_type::{BYTES, CppType, DYNAMIC_MEMORY, EMPTY, UNKNOWN_PIXEL, WORK_GROUP_MEMORY};
use super::names::Definitions;
use super::types::{Access, Element, Layouts, Pointee, Scalar, Type};
use crate::prelude::*;

/// The maximum nesting depth of types. Deeper types are rejected.
const MAX_DEPTH: usize = 32;

/// SYCL class templates whose instances are not plain values.
const OBJECTS: [&str; 7] = [
    WORK_GROUP_MEMORY,
    DYNAMIC_MEMORY,
    "sycl::accessor",
    "sycl::local_accessor",
    "sycl::multi_ptr",
    "sycl::sampled_image_accessor",
    "sycl::unsampled_image_accessor",
];

/// The declared type of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Declared {
    /// A complete type, independent of the code.
    Type(Type),
    /// A struct or enumeration without a definition.
    Named(String),
    /// Bytes with unknown content.
    Bytes,
    /// A reference, or a SYCL type that a Rust program cannot pass.
    Foreign,
    /// A type whose layout is unknown, and the reason.
    Unknown(Unsupported),
}

impl Declared {
    /// Returns the number of arguments that the parameter occupies in the compiled kernel.
    pub(super) const fn arguments(&self) -> usize {
        match self {
            Self::Type(ty) => ty.arguments(),
            _ => 1,
        }
    }
}

/// Why a C++ type cannot be converted to an element.
#[derive(Debug, PartialEq, Eq)]
pub enum Missing {
    /// There is no definition of this struct or enumeration.
    Named(String),
    /// The layout cannot be expressed in Rust.
    Layout,
}

impl From<Missing> for Unsupported {
    fn from(missing: Missing) -> Self {
        Self::new(match missing {
            Missing::Named(name) => format!("the layout of `{name}` is unknown"),
            Missing::Layout => "Rust cannot represent its layout".into(),
        })
    }
}

impl Definitions {
    /// Returns the element that a C++ type describes.
    ///
    /// # Errors
    ///
    /// Returns the reason if the type does not describe an element.
    pub fn element(&self, ty: &CppType) -> Result<Element, Missing> {
        let ty = ty.unqualified();
        if ty.depth() > MAX_DEPTH {
            return Err(Missing::Layout);
        }
        let array = |of: &CppType, count| Ok(Element::array(self.element(of)?, count));
        match ty {
            CppType::Pointer(to) => return Ok(Element::Pointer(Box::new(self.shallow(to)))),
            CppType::Array { of, count } => {
                let count = count.ok_or(Missing::Layout)?;
                return if of.is(BYTES) {
                    Ok(Element::Bytes(count))
                } else {
                    array(of, count)
                };
            }
            CppType::Reference { .. } | CppType::Const(_) => return Err(Missing::Layout),
            CppType::Named { .. } => {}
        }
        if let Some(scalar) = ty.scalar() {
            return Ok(Element::Scalar(scalar));
        }
        let known = || {
            let name = ty.to_string();
            let known = self.named.get(&name).cloned();
            known.ok_or(Missing::Named(name))
        };
        let Some((name, arguments)) = ty.template() else {
            return match ty.name() {
                "void" | EMPTY | "sycl::sampler" | "sycl::kernel_handler" | "sycl::stream" => {
                    Err(Missing::Layout)
                }
                _ => known(),
            };
        };
        match (name, arguments) {
            ("sycl::vec", [of, count]) => match (of.scalar(), count.name().parse()) {
                (Some(of), Ok(count @ (1 | 2 | 3 | 4 | 8 | 16))) => {
                    Ok(Element::Vector { of, count })
                }
                _ => Err(Missing::Layout),
            },
            // In every C++ standard library, a `std::array` has the layout of an array, unless its length is 0.
            ("sycl::marray" | "std::array", [of, count]) if count.name() != "0" => {
                array(of, count.name().parse().map_err(|_| Missing::Layout)?)
            }
            // Rust has no 8-bit floating-point types, so a byte holds the bits.
            (
                "sycl::ext::oneapi::experimental::fp8_e4m3_x"
                | "sycl::ext::oneapi::experimental::fp8_e5m2_x"
                | "sycl::ext::oneapi::experimental::fp8_e8m0_x",
                [count],
            ) => match count.name() {
                "1" => Ok(Element::Scalar(Scalar::U8)),
                "2" => Ok(Element::Vector {
                    of: Scalar::U8,
                    count: 2,
                }),
                _ => Err(Missing::Layout),
            },
            // The C++ standard guarantees an array layout: the real part, then the imaginary part.
            ("std::complex", [of]) if matches!(of.scalar(), Some(Scalar::F32 | Scalar::F64)) => {
                array(of, 2)
            }
            ("sycl::id" | "sycl::range", [count]) => {
                let count = count.dimensions().ok_or(Missing::Layout)?.into();
                Ok(Element::array(Element::Scalar(Scalar::U64), count))
            }
            (name, _) if OBJECTS.contains(&name) => Err(Missing::Layout),
            _ => known(),
        }
    }

    /// Returns the pointee of a pointer in memory. For a struct, returns only the name, because the struct may
    /// contain a pointer to itself.
    fn shallow(&self, to: &CppType) -> Pointee {
        match self.pointee_element(to) {
            Pointee::Element(Element::Struct(_)) => {
                Pointee::Unknown(Some(to.unqualified().to_string()))
            }
            Pointee::Element(Element::Array { .. } | Element::Pointer(_) | Element::Bytes(_)) => {
                Pointee::Unknown(None)
            }
            pointee => pointee,
        }
    }

    /// Returns the pointee of a pointer parameter, or the content of work-group memory. If the file does not
    /// describe the type, the result contains at most a name.
    fn pointee(&self, to: &CppType) -> Pointee {
        match to.unqualified() {
            CppType::Array { of, count: None } if !of.is(BYTES) => self.pointee_element(of),
            to => self.pointee_element(to),
        }
    }

    fn pointee_element(&self, to: &CppType) -> Pointee {
        let to = to.unqualified();
        match self.element(to) {
            Ok(element) => Pointee::Element(element),
            Err(_) if to.is("void") => Pointee::Void,
            Err(Missing::Named(name)) if matches!(to, CppType::Named { .. }) => {
                Pointee::Unknown(Some(name))
            }
            Err(_) => Pointee::Unknown(None),
        }
    }

    /// Returns the type of a parameter that C++ declares as `ty`. `layouts` contains the structs that `self` defines.
    pub(super) fn parameter(&self, ty: &CppType, layouts: &Layouts) -> Declared {
        let ty = ty.unqualified();
        match ty {
            CppType::Pointer(to) => {
                let (pointee, access) = (self.pointee(to), access(to.is_const()));
                return Declared::Type(Type::Pointer { pointee, access });
            }
            CppType::Reference { .. } => return Declared::Foreign,
            _ => {}
        }
        let object = match (ty.name(), ty.template()) {
            ("sycl::sampler", _) => Some(Type::Sampler),
            ("sycl::kernel_handler", _) => Some(Type::KernelHandler),
            (EMPTY, _) => Some(Type::Unused),
            ("sycl::stream", _) => None,
            (_, Some((name, arguments))) if OBJECTS.contains(&name) => {
                self.object(name, arguments, layouts)
            }
            _ => {
                return match self.element(ty) {
                    Ok(element) => Type::by_value(element).map_or(Declared::Bytes, Declared::Type),
                    Err(Missing::Named(name)) if matches!(ty, CppType::Named { .. }) => {
                        Declared::Named(name)
                    }
                    Err(missing) => Declared::Unknown(missing.into()),
                };
            }
        };
        object.map_or(Declared::Foreign, Declared::Type)
    }

    /// Returns the parameter type for an instance of one of the templates in [`OBJECTS`], or `None` if a Rust program
    /// cannot pass the object.
    fn object(&self, name: &str, arguments: &[CppType], layouts: &Layouts) -> Option<Type> {
        Some(match (name, arguments) {
            // For `T[]`, the launch sets the number of elements, which may themselves be arrays.
            (WORK_GROUP_MEMORY | DYNAMIC_MEMORY, [of @ CppType::Array { count: None, .. }]) => {
                let (element, size) = (self.pointee(of), None);
                Type::LocalMemory { element, size }
            }
            (WORK_GROUP_MEMORY, [of]) => Type::LocalMemory {
                element: self.pointee(of).innermost(),
                size: { self.element(of).ok() }.and_then(|whole| layouts.size(&whole)),
            },
            (DYNAMIC_MEMORY, [of]) => {
                let (element, size) = (self.pointee(&of.clone().array(None)), None);
                Type::LocalMemory { element, size }
            }
            ("sycl::local_accessor", [of, count]) => Type::LocalAccessor {
                element: self.pointee(of),
                dimensions: Some(match count.name() {
                    "0" => 0,
                    _ => count.dimensions()?,
                }),
            },
            ("sycl::accessor", [of, count, mode]) => Type::Accessor {
                element: self.pointee(of),
                dimensions: count.dimensions()?,
                access: access(mode.is("sycl::access_mode::read") || of.is_const()),
            },
            ("sycl::accessor", [of, count, mode, target]) => {
                let more = match target.name() {
                    "sycl::target::image" => 0,
                    "sycl::target::image_array" => 1,
                    _ => return None,
                };
                let element = match self.element(of) {
                    Ok(Element::Vector {
                        of: of @ (Scalar::F32 | Scalar::I32 | Scalar::U32),
                        count: 4,
                    }) => Some(of),
                    Err(_) if of.is(UNKNOWN_PIXEL) => None,
                    _ => return None,
                };
                let dimensions = count.dimensions()? + more;
                (dimensions <= 3).then_some(Type::Image {
                    element,
                    dimensions,
                    access: access(mode.is("sycl::access_mode::read")),
                })?
            }
            _ => return None,
        })
    }
}

/// Returns advice for a type that a Rust program cannot pass, as the end of a sentence.
pub(super) fn advice(ty: &CppType) -> Option<&'static str> {
    let template = ty.template().map_or("", |(name, _)| name);
    match (ty.name(), template) {
        ("sycl::stream", _) => {
            Some("; print with `sycl::ext::oneapi::experimental::printf`, which needs no parameter")
        }
        (_, "sycl::sampled_image_accessor" | "sycl::unsampled_image_accessor") => Some(
            ": DPC++ compiles it, but the code does not access the image; use `sycl::accessor<sycl::float4, 2, \
             sycl::access_mode::read, sycl::target::image>`, and a `sycl::sampler`",
        ),
        _ => None,
    }
}

pub(super) const fn access(read_only: bool) -> Access {
    if read_only {
        Access::Read
    } else {
        Access::ReadWrite
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn named(name: &str) -> CppType {
        CppType::named(name)
    }

    fn parameter(ty: &CppType) -> Declared {
        Definitions::default().parameter(ty, &Layouts::default())
    }

    fn array(of: Element, count: u64) -> Element {
        let of = Box::new(of);
        Element::Array { of, count }
    }

    #[test]
    fn pointee_and_access_of_pointers_are_read() {
        let float = || Pointee::Element(Element::Scalar(Scalar::F32));
        let pointer = || Pointee::Element(Element::Pointer(Box::new(float())));
        let constant = || named("float").constant();
        for (ty, expected, is_const, text) in [
            (named("float").pointer(), float(), false, "float *"),
            (constant().pointer(), float(), true, "const float *"),
            (
                constant().pointer().constant(),
                float(),
                true,
                "const float *const",
            ),
            (
                constant().pointer().pointer(),
                pointer(),
                false,
                "const float **",
            ),
            (
                named("float").pointer().constant().pointer(),
                pointer(),
                true,
                "float *const *",
            ),
            (
                named("void").constant().pointer(),
                Pointee::Void,
                true,
                "const void *",
            ),
        ] {
            let declared = Declared::Type(Type::Pointer {
                pointee: expected,
                access: access(is_const),
            });
            assert_eq!(parameter(&ty), declared, "{text}");
            assert_eq!(ty.to_string(), text);
        }
    }

    #[test]
    fn arrays_are_read_from_the_outside() {
        let definitions = Definitions::default();
        let inner = array(Element::Scalar(Scalar::I32), 8);
        let ty = named("int").array(Some(8)).array(Some(2));
        assert_eq!(ty.to_string(), "int[2][8]");
        assert_eq!(definitions.element(&ty), Ok(array(inner.clone(), 2)));
        assert_eq!(
            definitions.pointee(&ty),
            Pointee::Element(array(inner.clone(), 2))
        );
        let any = ty.array(None);
        assert_eq!(definitions.pointee(&any), Pointee::Element(array(inner, 2)));
        let unknown = CppType::instance("P", vec![named("int").array(Some(3))]);
        let ty = unknown.array(Some(2));
        let missing = Missing::Named("P<int[3]>".into());
        assert_eq!(definitions.element(&ty), Err(missing));
        assert_eq!(definitions.pointee(&ty), Pointee::Unknown(None));
        assert!(named("int").constant().array(Some(2)).is_const());
    }

    #[test]
    fn local_accessors_may_have_no_dimensions() {
        for (count, dimensions) in [("0", Some(0)), ("3", Some(3))] {
            let arguments = vec![named("float"), named(count)];
            let accessor = Declared::Type(Type::LocalAccessor {
                element: Pointee::Element(Element::Scalar(Scalar::F32)),
                dimensions,
            });
            let ty = CppType::instance("sycl::local_accessor", arguments);
            assert_eq!(parameter(&ty), accessor, "{ty}");
        }
    }

    #[test]
    fn dynamic_memory_has_no_size() {
        let memory = Declared::Type(Type::LocalMemory {
            element: Pointee::Element(Element::Scalar(Scalar::F32)),
            size: None,
        });
        for of in [named("float"), named("float").array(None)] {
            let ty = CppType::instance(DYNAMIC_MEMORY, vec![of]);
            assert_eq!(parameter(&ty), memory, "{ty}");
        }
    }

    #[test]
    fn images_have_four_components_and_three_dimensions() {
        let vector =
            |of: &str, count: &str| CppType::instance("sycl::vec", vec![named(of), named(count)]);
        let spelled = |of: CppType, dimensions: &str, target: &str| {
            let mode = named("sycl::access_mode::read");
            let target = named(&format!("sycl::target::{target}"));
            let arguments = vec![of, named(dimensions), mode, target];
            parameter(&CppType::instance("sycl::accessor", arguments))
        };
        let image = |element, dimensions| {
            let access = Access::Read;
            Declared::Type(Type::Image {
                element,
                dimensions,
                access,
            })
        };
        let float = Some(Scalar::F32);
        assert_eq!(spelled(vector("float", "4"), "3", "image"), image(float, 3));
        assert_eq!(
            spelled(vector("float", "4"), "2", "image_array"),
            image(float, 3)
        );
        let unknown = CppType::image(None, 1, Access::Read);
        assert_eq!(parameter(&unknown), image(None, 1));
        for (of, dimensions, target) in [
            (vector("float", "4"), "3", "image_array"),
            (vector("float", "2"), "2", "image"),
            (vector("sycl::half", "4"), "2", "image"),
            (named("float"), "2", "host_image"),
            (named("Pixel"), "2", "image"),
        ] {
            assert_eq!(spelled(of, dimensions, target), Declared::Foreign);
        }
    }

    #[test]
    fn complex_numbers_are_arrays_of_two() {
        let complex = |of| CppType::instance("std::complex", vec![named(of)]);
        let double = array(Element::Scalar(Scalar::F64), 2);
        let element = |ty| Definitions::default().element(&ty);
        assert_eq!(element(complex("double")), Ok(double));
        assert!(element(complex("int")).is_err());
    }

    #[test]
    fn library_types_are_arrays_and_bytes() {
        let element = |name, arguments: &[&str]| {
            let arguments = arguments.iter().map(|argument| named(argument)).collect();
            Definitions::default().element(&CppType::instance(name, arguments))
        };
        let floats = array(Element::Scalar(Scalar::F32), 3);
        assert_eq!(element("std::array", &["float", "3"]), Ok(floats));
        assert!(element("std::array", &["float", "0"]).is_err());
        let small = "sycl::ext::oneapi::experimental::fp8_e4m3_x";
        assert_eq!(element(small, &["1"]), Ok(Element::Scalar(Scalar::U8)));
        let of = Scalar::U8;
        assert_eq!(element(small, &["2"]), Ok(Element::Vector { of, count: 2 }));
        assert!(element(small, &["4"]).is_err());
        let range = |count| Ok(array(Element::Scalar(Scalar::U64), count));
        assert_eq!(element("sycl::id", &["2"]), range(2));
        assert_eq!(element("sycl::range", &["3"]), range(3));
        assert_eq!(element("sycl::id", &["4"]), Err(Missing::Layout));
        let local = element("sycl::local_accessor", &["float", "1"]);
        assert_eq!(local, Err(Missing::Layout));
    }

    #[test]
    fn special_objects_are_not_structs() {
        let unused = Declared::Type(Type::Unused);
        let template = CppType::instance("sycl::sampler", vec![named("int")]);
        let text = template.to_string();
        for (ty, expected) in [
            (named(EMPTY), unused),
            (named("sycl::sampler"), Declared::Type(Type::Sampler)),
            (named("sycl::stream"), Declared::Foreign),
            // Templates of the same name are other types.
            (template, Declared::Named(text)),
            (named("P"), Declared::Named("P".into())),
        ] {
            assert_eq!(parameter(&ty), expected, "{ty}");
        }
        // Only properties are left out.
        let memory = |of| CppType::instance(WORK_GROUP_MEMORY, vec![named("int"), named(of)]);
        assert_eq!(parameter(&memory("int")), Declared::Foreign);
        let plain = memory("ns::properties_type_list>");
        assert_eq!(plain.to_string(), format!("{WORK_GROUP_MEMORY}<int>"));
        let missing = Missing::Named("P".into());
        let array = named("P").array(Some(2));
        assert_eq!(parameter(&array), Declared::Unknown(missing.into()));
        let bytes = named(BYTES).array(None);
        let pointee = Definitions::default().pointee(&bytes);
        assert_eq!(pointee, Pointee::Unknown(None));
    }

    #[test]
    fn advice_names_what_rust_can_pass() {
        let image = CppType::instance("sycl::sampled_image_accessor", vec![named("int")]);
        for (ty, expected) in [
            (named("sycl::stream"), Some("printf")),
            (image, Some("sycl::accessor<sycl::float4, 2")),
            (named("P"), None),
        ] {
            let found = advice(&ty);
            assert_eq!(found.is_some(), expected.is_some(), "{ty}");
            let found = found.unwrap_or_default();
            assert!(found.contains(expected.unwrap_or_default()), "{found}");
        }
    }

    #[test]
    fn types_without_a_layout_are_refused() {
        let mut deep = named("int");
        for _ in 0..200 {
            deep = deep.array(Some(1));
        }
        let vector = CppType::instance("sycl::vec", vec![named("float"), named("5")]);
        let layout = Declared::Unknown(Missing::Layout.into());
        for ty in [named("void"), deep, vector] {
            assert_eq!(parameter(&ty), layout, "{ty}");
        }
        let nested = |depth| (1..depth).fold(named("int"), |of, _| of.array(Some(1)));
        let definitions = Definitions::default();
        assert!(definitions.element(&nested(MAX_DEPTH)).is_ok());
        assert!(definitions.element(&nested(MAX_DEPTH + 1)).is_err());
        let to = Box::new(named("int"));
        let reference = CppType::Reference {
            to,
            is_rvalue: false,
        };
        assert_eq!(parameter(&reference), Declared::Foreign);
    }
}
