// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses types in C++ syntax: numbers, pointers, vectors, and SYCL types. Structs and enumerations are looked up
//! in the definitions.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Unsupported;
use super::mangled;
use super::names::Definitions;
use super::spell::split_list;
use super::types::{Access, Element, Layouts, Pointee, Scalar, Type};

/// The maximum nesting depth of types. Deeper types are rejected.
const MAX_DEPTH: usize = 32;

const WORK_GROUP_MEMORY: &str = "ext::oneapi::experimental::work_group_memory";
const DYNAMIC_MEMORY: &str = "ext::oneapi::experimental::dynamic_work_group_memory";
/// SYCL templates that are not values.
const OBJECTS: [&str; 7] = [
    WORK_GROUP_MEMORY,
    DYNAMIC_MEMORY,
    "accessor",
    "local_accessor",
    "multi_ptr",
    "sampled_image_accessor",
    "unsampled_image_accessor",
];

/// The declared type of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Declared {
    /// A complete type, independent of the code.
    Type(Type),
    /// A struct or enumeration without a definition.
    Named(String),
    /// Bytes with unknown content, spelled `bytes[N]`.
    Bytes,
    /// A reference, or a SYCL type that a Rust program cannot pass.
    Foreign,
    /// A type without a known layout, and the reason.
    Unknown(Unsupported),
}

/// The reason why an element is unknown.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// There is no definition of this struct or enumeration.
    Named(String),
    /// The layout cannot be expressed in Rust.
    Layout,
}

impl From<Missing> for Unsupported {
    fn from(missing: Missing) -> Self {
        Self::new(match missing {
            Missing::Named(name) => format!("the layout of `{name}` is unknown"),
            Missing::Layout => "has a layout that Rust cannot represent".into(),
        })
    }
}

impl Definitions {
    /// Returns the element that the C++ type `text` describes.
    #[must_use]
    pub fn element(&self, text: &str) -> Option<Element> {
        self.element_of(text)?.ok()
    }

    /// Returns the element that the C++ type `text` describes, or `None` if `text` is not a type.
    pub(super) fn element_of(&self, text: &str) -> Option<Result<Element, Missing>> {
        self.read_element(text, MAX_DEPTH)
    }

    fn read_element(&self, text: &str, depth: usize) -> Option<Result<Element, Missing>> {
        let depth = depth.checked_sub(1)?;
        let text = unqualified(text);
        if let Some((to, _)) = pointer(text) {
            let to = self.shallow(to, depth)?;
            return Some(Ok(Element::Pointer(Box::new(to))));
        }
        if let Some(size) = text.strip_prefix("bytes[") {
            return Some(Ok(Element::Bytes(size.strip_suffix(']')?.parse().ok()?)));
        }
        let array = |of: &str, count: &str| {
            let of = self.read_element(of, depth)?;
            let count = count.parse().ok()?;
            Some(of.map(|of| Element::Array {
                of: Box::new(of),
                count,
            }))
        };
        if text.ends_with(']') {
            let (of, count) = array_parts(text)?;
            return match count {
                "" => Some(Err(Missing::Layout)),
                count => array(&of, count),
            };
        }
        if text == "void" || text.ends_with('&') {
            return Some(Err(Missing::Layout));
        }
        if let Some(scalar) = scalar(text) {
            return Some(Ok(Element::Scalar(scalar)));
        }
        let (name, arguments) = of_sycl(text).unwrap_or((text, Vec::new()));
        match (name, &arguments[..]) {
            ("vec", [of, count]) => {
                let count = count.parse().ok()?;
                matches!(count, 1 | 2 | 3 | 4 | 8 | 16).then_some(())?;
                let of = scalar_of(of)?;
                Some(Ok(Element::Vector { of, count }))
            }
            ("marray", [of, count]) => array(of, count),
            ("id" | "range", [count]) => {
                dimensions(count)?;
                array("unsigned long", count)
            }
            ("sycl::sampler" | "sycl::kernel_handler" | "sycl::stream" | EMPTY, []) => {
                Some(Err(Missing::Layout))
            }
            (name, [_, ..]) if OBJECTS.contains(&name) => Some(Err(Missing::Layout)),
            _ => {
                let starts = |c: char| c == '_' || c.is_alphabetic();
                text.starts_with(starts).then_some(())?;
                let known = self.named(text).cloned();
                Some(known.ok_or_else(|| Missing::Named(text.to_owned())))
            }
        }
    }

    /// Returns what is behind a pointer in memory. A struct there is only named: it may point back.
    fn shallow(&self, text: &str, depth: usize) -> Option<Pointee> {
        let text = unqualified(text);
        if text == "void" {
            return Some(Pointee::Void);
        }
        Some(match self.read_element(text, depth)? {
            Ok(element @ (Element::Scalar(_) | Element::Vector { .. } | Element::Enum(_))) => {
                Pointee::Element(element)
            }
            Ok(Element::Struct(_)) => Pointee::Unknown(Some(text.to_owned())),
            Err(Missing::Named(name)) if name == text => Pointee::Unknown(Some(name)),
            _ => Pointee::Unknown(None),
        })
    }

    /// Returns what is behind a pointer or in work-group memory. What the file does not describe has at most
    /// a name.
    fn pointee(&self, text: &str, depth: usize) -> Option<Pointee> {
        let text = unqualified(text);
        if text == "void" {
            return Some(Pointee::Void);
        }
        let parts = array_parts(text).filter(|_| !text.starts_with("bytes["));
        let (of, is_inner) = match &parts {
            Some((of, "")) => (&**of, !of.ends_with(']')),
            Some((of, _)) if of.ends_with(']') => (&**of, true),
            _ => (text, false),
        };
        if is_inner {
            return self.pointee(of, depth.checked_sub(1)?);
        }
        Some(match self.read_element(of, depth)? {
            Ok(element) => Pointee::Element(element),
            Err(Missing::Named(name)) if name == of => Pointee::Unknown(Some(name)),
            Err(_) => Pointee::Unknown(None),
        })
    }

    /// Returns the type of a parameter that C++ declares as `text`, or `None` if `text` is not a type. `layouts`
    /// are the structs in these definitions.
    pub(super) fn parameter(&self, text: &str, layouts: &Layouts) -> Option<Declared> {
        let text = unqualified(text);
        if let Some((to, constant)) = pointer(text) {
            return Some(Declared::Type(Type::Pointer {
                pointee: self.pointee(to, MAX_DEPTH - 1)?,
                access: access(constant),
            }));
        }
        if text.ends_with('&') {
            return Some(Declared::Foreign);
        }
        let pointee = |of: &str| self.pointee(of, MAX_DEPTH - 1);
        let (name, arguments) = of_sycl(text).unwrap_or((text, Vec::new()));
        let ty = match (name, &arguments[..]) {
            ("sycl::sampler", []) => Type::Sampler,
            ("sycl::kernel_handler", []) => Type::KernelHandler,
            (EMPTY, []) => Type::Unused,
            ("sycl::stream", []) => return Some(Declared::Foreign),
            (WORK_GROUP_MEMORY, [of]) if !is_unbounded_array(of) => Type::LocalMemory {
                element: match pointee(of)? {
                    Pointee::Element(element) => Pointee::Element(innermost(element)),
                    element => element,
                },
                size: { self.element_of(of)?.ok() }.and_then(|whole| layouts.size(&whole)),
            },
            // A launch that gives the size counts the elements of `T[]`, which may be arrays.
            (WORK_GROUP_MEMORY | DYNAMIC_MEMORY, [of]) => Type::LocalMemory {
                element: if is_unbounded_array(of) {
                    pointee(of)?
                } else {
                    pointee(&mangled::array(of, ""))?
                },
                size: None,
            },
            ("local_accessor", [of, count]) => Type::LocalAccessor {
                element: pointee(of)?,
                dimensions: Some(dimensions(count)?),
            },
            ("accessor", [of, count, mode]) => {
                let mode = mode.strip_prefix("sycl::access_mode::")?;
                Type::Accessor {
                    element: pointee(of)?,
                    dimensions: dimensions(count)?,
                    access: access(mode == "read" || of.starts_with("const ")),
                }
            }
            ("accessor", [of, count, mode, target]) => {
                let more = match *target {
                    "sycl::target::image" => 0,
                    "sycl::target::image_array" => 1,
                    _ => return Some(Declared::Foreign),
                };
                let element = match self.element_of(of)? {
                    Ok(Element::Vector {
                        of: of @ (Scalar::F32 | Scalar::I32 | Scalar::U32),
                        count: 4,
                    }) => Some(of),
                    Err(Missing::Named(unknown)) if unknown == UNKNOWN_PIXEL => None,
                    _ => return Some(Declared::Foreign),
                };
                let mode = mode.strip_prefix("sycl::access_mode::")?;
                match dimensions(count)? + more {
                    dimensions @ 1..=3 => Type::Image {
                        element,
                        dimensions,
                        access: access(mode == "read"),
                    },
                    _ => return Some(Declared::Foreign),
                }
            }
            (name, [_, ..]) if OBJECTS.contains(&name) => return Some(Declared::Foreign),
            _ => {
                return Some(match self.element_of(text)? {
                    Ok(element) => Type::by_value(element).map_or(Declared::Bytes, Declared::Type),
                    Err(Missing::Named(name)) if name == text => Declared::Named(name),
                    Err(missing) => Declared::Unknown(missing.into()),
                });
            }
        };
        Some(Declared::Type(ty))
    }
}

/// Parses a parameter type without resolving the structs that it names. Returns `None` if `text` is not a type.
pub(super) fn parse(text: &str) -> Option<Declared> {
    Definitions::default().parameter(text, &Layouts::default())
}

/// Returns whether C++ leaves the size of this memory of a work-group to the launch.
pub(super) fn is_unbounded(text: &str) -> bool {
    of_sycl(unqualified(text)).is_some_and(|(name, arguments)| {
        name == DYNAMIC_MEMORY || arguments.iter().any(|of| is_unbounded_array(of))
    })
}

fn is_unbounded_array(text: &str) -> bool {
    array_parts(text).is_some_and(|(_, count)| count.is_empty())
}

/// Returns what an array holds, through all nested arrays.
pub(super) fn innermost(mut element: Element) -> Element {
    while let Element::Array { of, .. } = element {
        element = *of;
    }
    element
}

/// Splits the outer dimension off an array: `int[2][8]` is an array of 2 `int[8]`.
fn array_parts(text: &str) -> Option<(String, &str)> {
    let mut open = text.len();
    // The first bracket after the element is the outer array.
    while let Some(inner) = text[..open].strip_suffix(']') {
        open = inner.rfind('[')?;
    }
    let (count, rest) = text.get(open + 1..)?.split_once(']')?;
    Some(([&text[..open], rest].concat(), count))
}

/// Returns what a pointer points to, and whether that is constant.
fn pointer(text: &str) -> Option<(&str, bool)> {
    let to = text.strip_suffix('*')?.trim_end();
    let constant = if to.ends_with('*') || to.ends_with("*const") {
        to.ends_with("const")
    } else {
        to.starts_with("const ") || to.ends_with(" const")
    };
    Some((to, constant))
}

/// Returns the name of a template of SYCL and its arguments.
fn of_sycl(text: &str) -> Option<(&str, Vec<&str>)> {
    let (name, arguments) = text.strip_suffix('>')?.split_once('<')?;
    let arguments = split_list(arguments).into_iter().map(str::trim);
    Some((name.strip_prefix("sycl::")?, arguments.collect()))
}

fn dimensions(text: &str) -> Option<u8> {
    text.parse().ok().filter(|count| (1..=3).contains(count))
}

/// Returns the number type that C++ spells `text`, with or without qualifiers.
pub(super) fn scalar_of(text: &str) -> Option<Scalar> {
    scalar(unqualified(text))
}

/// The spelling of an object without members.
pub(super) const EMPTY: &str = "struct {}";

/// What an image has whose pixels no source describes.
const UNKNOWN_PIXEL: &str = "pixel";

/// Spells an accessor of an image.
pub(super) fn image(of: Option<Scalar>, dimensions: u8, access: Access) -> String {
    let of = match of {
        Some(of) => format!("sycl::vec<{}, 4>", of.cpp()),
        None => UNKNOWN_PIXEL.into(),
    };
    let mode = match access {
        Access::Read => "read",
        Access::ReadWrite => "write",
    };
    format!("sycl::accessor<{of}, {dimensions}, sycl::access_mode::{mode}, sycl::target::image>")
}

/// Returns an alternative to a type that a Rust program cannot pass, as the end of a sentence.
pub(super) fn advice(text: &str) -> Option<&'static str> {
    if text == "sycl::stream" {
        return Some(
            ": print with `sycl::ext::oneapi::experimental::printf`, which needs no parameter",
        );
    }
    let of_images = [
        "sycl::sampled_image_accessor<",
        "sycl::unsampled_image_accessor<",
    ];
    of_images.iter().any(|name| text.starts_with(name)).then_some(
        ": DPC++ compiles it, but the code does not access the image; use `sycl::accessor<sycl::float4, 2, \
         sycl::access_mode::read, sycl::target::image>`, and a `sycl::sampler`",
    )
}

/// Returns the access mode of a pointer or accessor.
pub(super) const fn access(read_only: bool) -> Access {
    if read_only {
        Access::Read
    } else {
        Access::ReadWrite
    }
}

/// Without `const` and `volatile` of the type itself; those of a pointee stay.
fn unqualified(text: &str) -> &str {
    let mut text = text.trim();
    let pointer = |text: &str| text.ends_with('*');
    loop {
        let shorter = ["const", "volatile", "__restrict"].iter().find_map(|word| {
            let rest = text.strip_suffix(word)?;
            rest.ends_with([' ', '*']).then(|| rest.trim_end())
        });
        let shorter = shorter.or_else(|| {
            ["const ", "volatile "]
                .iter()
                .filter(|_| !pointer(text))
                .find_map(|word| text.strip_prefix(word))
        });
        match shorter {
            Some(shorter) => text = shorter,
            None => return text,
        }
    }
}

fn scalar(text: &str) -> Option<Scalar> {
    Some(match text {
        "bool" => Scalar::Bool,
        "char" | "signed char" => Scalar::I8,
        "unsigned char" | "char8_t" | "std::byte" => Scalar::U8,
        "short" => Scalar::I16,
        "unsigned short" | "char16_t" => Scalar::U16,
        "int" | "wchar_t" => Scalar::I32,
        "unsigned int" | "char32_t" => Scalar::U32,
        "long" | "long long" => Scalar::I64,
        "unsigned long" | "unsigned long long" => Scalar::U64,
        "_Float16" | "sycl::half" => Scalar::F16,
        "__bf16" | "sycl::ext::oneapi::bfloat16" => Scalar::BF16,
        "float" => Scalar::F32,
        "double" => Scalar::F64,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointee(text: &str) -> Option<Pointee> {
        Definitions::default().pointee(text, MAX_DEPTH)
    }

    #[test]
    fn a_pointer_is_told_what_it_points_to() {
        let float = || Pointee::Element(Element::Scalar(Scalar::F32));
        let pointer = || Pointee::Element(Element::Pointer(Box::new(float())));
        for (text, expected, constant) in [
            ("float *", float(), false),
            ("const float *", float(), true),
            ("const float *const", float(), true),
            ("const float **", pointer(), false),
            ("float *const *", pointer(), true),
            ("const void *", Pointee::Void, true),
        ] {
            let ty = Type::Pointer {
                pointee: expected,
                access: access(constant),
            };
            assert_eq!(parse(text), Some(Declared::Type(ty)), "{text}");
        }
    }

    #[test]
    fn arrays_are_read_from_the_outside() {
        let array = |of, count| {
            let of = Box::new(of);
            Element::Array { of, count }
        };
        let definitions = Definitions::default();
        let inner = array(Element::Scalar(Scalar::I32), 8);
        assert_eq!(
            definitions.element("int[2][8]"),
            Some(array(inner.clone(), 2))
        );
        assert_eq!(pointee("int[2][8]"), Some(Pointee::Element(inner)));
        let named = definitions.element_of("P<int[3]>[2]");
        assert_eq!(named, Some(Err(Missing::Named("P<int[3]>".into()))));
        assert_eq!(pointee("P<int[3]>[2]"), Some(Pointee::Unknown(None)));
    }

    #[test]
    fn dynamic_memory_has_no_size() {
        let memory = Type::LocalMemory {
            element: Pointee::Element(Element::Scalar(Scalar::F32)),
            size: None,
        };
        for of in ["float", "float[]"] {
            let text = "sycl::ext::oneapi::experimental::dynamic_work_group_memory<";
            let text = format!("{text}{of}>");
            assert_eq!(parse(&text), Some(Declared::Type(memory.clone())), "{of}");
            assert!(is_unbounded(&text));
        }
    }

    #[test]
    fn images_have_four_components_and_three_dimensions() {
        let text = |of: &str, dimensions: u8, target: &str| {
            format!(
                "sycl::accessor<{of}, {dimensions}, sycl::access_mode::read, sycl::target::{target}>"
            )
        };
        let image = |element, dimensions| {
            let access = Access::Read;
            Some(Declared::Type(Type::Image {
                element,
                dimensions,
                access,
            }))
        };
        let float = Some(Scalar::F32);
        let spelled = |of, dimensions, target| parse(&text(of, dimensions, target));
        assert_eq!(spelled("sycl::vec<float, 4>", 3, "image"), image(float, 3));
        assert_eq!(
            spelled("sycl::vec<float, 4>", 2, "image_array"),
            image(float, 3)
        );
        assert_eq!(parse(&super::image(None, 1, Access::Read)), image(None, 1));
        for (of, dimensions, target) in [
            ("sycl::vec<float, 4>", 3, "image_array"),
            ("sycl::vec<float, 2>", 2, "image"),
            ("sycl::vec<sycl::half, 4>", 2, "image"),
            ("float", 2, "host_image"),
        ] {
            assert_eq!(
                spelled(of, dimensions, target),
                Some(Declared::Foreign),
                "{of}"
            );
        }
    }

    #[test]
    fn what_is_no_type_is_refused() {
        let deep = "*".repeat(100_000);
        for text in ["", "*", "[3]", "int[x]", "sycl::vec<float, 5>", &deep] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse("int &"), Some(Declared::Foreign));
    }
}
