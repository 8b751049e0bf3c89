// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types as C++ spells them, read: which are numbers, pointers, vectors, or one of SYCL's own.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::spell::split_list;
use super::types::{Access, Scalar};

/// Types nest; text that goes deeper is not read.
const MAX_DEPTH: usize = 32;

/// A type, as far as its spelling tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spelled {
    Void,
    Scalar(Scalar),
    /// A struct or an enumeration.
    Named(String),
    Pointer {
        to: Box<Self>,
        constant: bool,
    },
    Vector {
        of: Scalar,
        count: u32,
    },
    Array {
        of: Box<Self>,
        count: u64,
    },
    /// An array whose size is not part of its type.
    Unbounded(Box<Self>),
    LocalMemory(Box<Self>),
    LocalAccessor {
        of: Box<Self>,
        dimensions: u8,
    },
    Accessor {
        of: Box<Self>,
        dimensions: u8,
        access: Access,
    },
    /// An accessor of an image. The components of its pixels are `of`, where they are known.
    Image {
        of: Option<Scalar>,
        dimensions: u8,
        access: Access,
    },
    Sampler,
    KernelHandler,
    /// An object without members.
    Empty,
    /// Bytes of which no more is known, spelled `bytes[N]`.
    Bytes(u64),
    /// A type of SYCL that a Rust program cannot pass, or a reference.
    Foreign,
}

/// Reads a type; `None` for any other text.
pub(super) fn parse(text: &str) -> Option<Spelled> {
    read(text, MAX_DEPTH)
}

fn read(text: &str, depth: usize) -> Option<Spelled> {
    let depth = depth.checked_sub(1)?;
    let text = unqualified(text);
    if let Some(to) = text.strip_suffix('*') {
        let to = to.trim_end();
        let constant = if to.ends_with('*') || to.ends_with("*const") {
            to.ends_with("const")
        } else {
            to.starts_with("const ") || to.ends_with(" const")
        };
        let to = Box::new(read(to, depth)?);
        return Some(Spelled::Pointer { to, constant });
    }
    if let Some(size) = text.strip_prefix("bytes[") {
        return Some(Spelled::Bytes(size.strip_suffix(']')?.parse().ok()?));
    }
    if text.ends_with(']') {
        // `int[2][8]`: the first bracket after the element is the outer array.
        let mut open = text.len();
        while let Some(inner) = text[..open].strip_suffix(']') {
            open = inner.rfind('[')?;
        }
        let (count, rest) = text[open + 1..].split_once(']')?;
        let element = [&text[..open], rest].concat();
        let of = Box::new(read(&element, depth)?);
        return Some(match count {
            "" => Spelled::Unbounded(of),
            count => Spelled::Array {
                of,
                count: count.parse().ok()?,
            },
        });
    }
    if text.ends_with('&') {
        return Some(Spelled::Foreign);
    }
    if let Some(scalar) = scalar(text) {
        return Some(Spelled::Scalar(scalar));
    }
    match text {
        "void" => return Some(Spelled::Void),
        "sycl::sampler" => return Some(Spelled::Sampler),
        "sycl::kernel_handler" => return Some(Spelled::KernelHandler),
        "sycl::stream" => return Some(Spelled::Foreign),
        EMPTY => return Some(Spelled::Empty),
        _ => {}
    }
    if let Some((name, arguments)) = template(text)
        && let Some(name) = name.strip_prefix("sycl::")
    {
        return of_sycl(name, &arguments, depth, text);
    }
    named(text)
}

/// A template of SYCL.
fn of_sycl(name: &str, arguments: &[&str], depth: usize, text: &str) -> Option<Spelled> {
    let boxed = |text: &str| read(text, depth).map(Box::new);
    let dimensions = |text: &str| text.parse().ok().filter(|n| (1..=3).contains(n));
    Some(match (name, arguments) {
        ("vec", [of, count]) => Spelled::Vector {
            of: scalar(of)?,
            count: count
                .parse()
                .ok()
                .filter(|count| matches!(count, 1 | 2 | 3 | 4 | 8 | 16))?,
        },
        ("marray", [of, count]) => Spelled::Array {
            of: boxed(of)?,
            count: count.parse().ok()?,
        },
        ("id" | "range", [count]) => Spelled::Array {
            of: Box::new(Spelled::Scalar(Scalar::U64)),
            count: u64::from(dimensions(count)?),
        },
        ("ext::oneapi::experimental::work_group_memory", [of]) => Spelled::LocalMemory(boxed(of)?),
        ("ext::oneapi::experimental::dynamic_work_group_memory", [of]) => {
            let of = boxed(of)?;
            Spelled::LocalMemory(match *of {
                Spelled::Unbounded(_) => of,
                _ => Box::new(Spelled::Unbounded(of)),
            })
        }
        ("local_accessor", [of, count]) => Spelled::LocalAccessor {
            of: boxed(of)?,
            dimensions: dimensions(count)?,
        },
        ("accessor", [of, count, mode]) => {
            let mode = mode.strip_prefix("sycl::access_mode::")?;
            let read = mode == "read" || of.starts_with("const ");
            Spelled::Accessor {
                of: boxed(of)?,
                dimensions: dimensions(count)?,
                access: access(read),
            }
        }
        ("accessor", [of, count, mode, target]) => {
            let more = match *target {
                "sycl::target::image" => 0,
                "sycl::target::image_array" => 1,
                _ => return Some(Spelled::Foreign),
            };
            let of = match read(of, depth)? {
                Spelled::Vector {
                    of: of @ (Scalar::F32 | Scalar::I32 | Scalar::U32),
                    count: 4,
                } => Some(of),
                Spelled::Named(unknown) if unknown == UNKNOWN_PIXEL => None,
                _ => return Some(Spelled::Foreign),
            };
            let mode = mode.strip_prefix("sycl::access_mode::")?;
            match dimensions(count)? + more {
                dimensions @ 1..=3 => Spelled::Image {
                    of,
                    dimensions,
                    access: access(mode == "read"),
                },
                _ => Spelled::Foreign,
            }
        }
        (
            "accessor"
            | "multi_ptr"
            | "sampled_image_accessor"
            | "unsampled_image_accessor"
            | "ext::oneapi::experimental::work_group_memory",
            _,
        ) => Spelled::Foreign,
        _ => return named(text),
    })
}

/// How an object without members is spelled.
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

/// Returns what to write instead of a type that a Rust program cannot pass, for the end of a sentence.
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
        ": DPC++ compiles it, and the code does not reach the image; take \
         `sycl::accessor<sycl::float4, 2, sycl::access_mode::read, sycl::target::image>`, and a `sycl::sampler`",
    )
}

/// Returns what a kernel does through a pointer or an accessor.
pub(super) const fn access(read_only: bool) -> Access {
    if read_only {
        Access::Read
    } else {
        Access::ReadWrite
    }
}

fn named(text: &str) -> Option<Spelled> {
    let starts = |c: char| c == '_' || c.is_alphabetic();
    text.starts_with(starts)
        .then(|| Spelled::Named(text.to_owned()))
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

/// The name and the arguments of a template's instance.
fn template(text: &str) -> Option<(&str, Vec<&str>)> {
    let (name, arguments) = text.strip_suffix('>')?.split_once('<')?;
    let arguments = split_list(arguments).into_iter().map(str::trim);
    Some((name, arguments.collect()))
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
    use alloc::string::ToString;

    #[test]
    fn a_pointer_is_told_what_it_points_to() {
        let float = || Box::new(Spelled::Scalar(Scalar::F32));
        let pointer = |to, constant| Spelled::Pointer { to, constant };
        for (text, expected) in [
            ("float *", pointer(float(), false)),
            ("const float *", pointer(float(), true)),
            ("const float *const", pointer(float(), true)),
            (
                "const float **",
                pointer(Box::new(pointer(float(), true)), false),
            ),
            (
                "float *const *",
                pointer(Box::new(pointer(float(), false)), true),
            ),
            ("const void *", pointer(Box::new(Spelled::Void), true)),
        ] {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn arrays_are_read_from_the_outside() {
        let inner = Spelled::Array {
            of: Box::new(Spelled::Scalar(Scalar::I32)),
            count: 8,
        };
        let outer = |of| Spelled::Array {
            of: Box::new(of),
            count: 2,
        };
        assert_eq!(parse("int[2][8]"), Some(outer(inner)));
        let named = Spelled::Named("P<int[3]>".to_string());
        assert_eq!(parse("P<int[3]>[2]"), Some(outer(named)));
    }

    #[test]
    fn dynamic_memory_has_no_size() {
        let floats = Spelled::Unbounded(Box::new(Spelled::Scalar(Scalar::F32)));
        let memory = Some(Spelled::LocalMemory(Box::new(floats)));
        for of in ["float", "float[]"] {
            let text = "sycl::ext::oneapi::experimental::dynamic_work_group_memory<";
            assert_eq!(parse(&alloc::format!("{text}{of}>")), memory, "{of}");
        }
    }

    #[test]
    fn images_have_four_components_and_three_dimensions() {
        let text = |of: &str, dimensions: u8, target: &str| {
            format!(
                "sycl::accessor<{of}, {dimensions}, sycl::access_mode::read, sycl::target::{target}>"
            )
        };
        let image = |of, dimensions| {
            let access = Access::Read;
            Some(Spelled::Image {
                of,
                dimensions,
                access,
            })
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
                Some(Spelled::Foreign),
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
        assert_eq!(parse("int &"), Some(Spelled::Foreign));
    }
}
