// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX kernels, their parameters and their work-group directives. Names follow the PTX ISA, chapters on kernel
//! parameters and performance-tuning directives.

use core::fmt;

use super::tokens::{Tokens, number, text};
use crate::prelude::*;

/// The maximum number of tokens in a parameter declaration. Longer declarations become [`Passed::Other`], which bounds
/// memory use for malformed PTX. The directives after the parameters are truncated to `MAX_WORDS + 1` tokens, about
/// twice as many as a kernel that uses every directive needs.
const MAX_WORDS: usize = 64;

/// A PTX kernel (`.entry`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kernel {
    /// The name.
    pub name: String,
    /// The parameters, in order.
    pub parameters: Vec<Parameter>,
    /// The required work-group size along x, y and z (`.reqntid`).
    pub required_local_size: Option<[u32; 3]>,
    /// Whether the kernel uses dynamically sized work-group memory: directly, in a function that it calls, or
    /// because DPC++ declared such memory for it (`NAME_shared_mem`).
    pub uses_dynamic_shared_memory: bool,
    /// Whether the kernel uses scratch memory (`get_work_group_scratch_memory`), directly or in a function that
    /// it calls. Scratch memory occupies the start of the dynamically sized work-group memory. Local accessors
    /// must therefore be placed after the scratch memory that the launch requests.
    pub uses_scratch_memory: bool,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// The name, or `None` if a compiler generated it.
    pub name: Option<String>,
    /// The type of the argument.
    pub ty: Passed,
    /// The alignment of the memory that a pointer points to (`.ptr .align`), if greater than 1.
    pub align: Option<u64>,
    /// The position in the parameter block. `None` for the first parameter of unknown size and all later ones.
    pub layout: Option<ParameterLayout>,
}

/// The position of a parameter in a kernel's parameter block, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParameterLayout {
    /// The offset from the start of the block.
    pub offset: u64,
    /// The size.
    pub size: u64,
    /// The alignment.
    pub align: u64,
}

/// The type of a kernel argument, according to its parameter declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// A number, or a pointer declared as a number. A `.u32` may also be a byte offset into work-group memory,
    /// because DPC++ passes local accessors and `work_group_memory` that way.
    Number {
        /// The kind of number.
        kind: Kind,
        /// The width in bits.
        bits: u32,
    },
    /// A pointer (`.ptr`).
    Pointer {
        /// The state space of the pointee, or `None` for a generic pointer.
        space: Option<Space>,
        /// The width in bits.
        bits: u32,
    },
    /// A byte array.
    Bytes {
        /// The length in bytes.
        size: u64,
        /// The alignment in bytes.
        align: u64,
    },
    /// Any other type.
    Other,
}

/// The fundamental type of a number, without its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// `.u`, which compilers also use for signed integers.
    Unsigned,
    /// `.s`.
    Signed,
    /// `.f`.
    Float,
    /// `.b`: untyped bits.
    Bits,
}

/// The state space of a variable, or of the memory that a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Space {
    /// Device memory.
    Global,
    /// Work-group memory.
    Shared,
    /// Read-only memory.
    Const,
    /// Work-item memory.
    Local,
}

impl Kernel {
    /// Returns whether `other`, whose name is that of an offset variant, is the variant of this kernel for ranges with
    /// an offset.
    pub(super) fn is_offset_variant(&self, other: &Self) -> bool {
        let types = |parameters: &[Parameter]| -> Vec<Passed> {
            parameters.iter().map(|parameter| parameter.ty).collect()
        };
        other.parameters.split_last().is_some_and(|(last, rest)| {
            matches!(last.ty, Passed::Bytes { size: 12, .. })
                && types(rest) == types(&self.parameters)
        })
    }

    /// Parses the text between `.entry` and the body.
    pub(super) fn parse(tokens: &mut Tokens<'_>) -> Self {
        let mut kernel = Self {
            name: text(tokens.next().unwrap_or_default()),
            ..Self::default()
        };
        let mut words: Vec<&[u8]> = Vec::new();
        let mut in_list = false;
        let mut end = Some(0);
        while let Some(token) = tokens.peek() {
            match token {
                // The end of a `.pragma`, whose operands are strings.
                b";" if words.last() == Some(&&b"\""[..]) => {}
                b"{" | b";" | b".entry" => break,
                b"(" => in_list = true,
                b"," | b")" if in_list => {
                    if !(words.is_empty() && token == b")") {
                        let mut parameter = Parameter::parse(&words, &kernel.name);
                        parameter.layout = end.and_then(|end| layout(end, parameter.ty));
                        end = parameter.layout.map(|layout| layout.offset + layout.size);
                        kernel.parameters.push(parameter);
                    }
                    words.clear();
                    in_list = token == b",";
                }
                // Keeps one word more than the maximum, so that `read` rejects the declaration.
                _ if words.len() <= MAX_WORDS => words.push(token),
                _ => {}
            }
            tokens.next();
        }
        kernel.required_local_size = size(&words, b".reqntid");
        kernel
    }
}

/// The name suffix of kernel variants for ranges with an offset.
pub(super) const OFFSET_VARIANT: &str = "_with_offset";

fn layout(end: u64, ty: Passed) -> Option<ParameterLayout> {
    let (size, align) = match ty {
        Passed::Number { bits, .. } | Passed::Pointer { bits, .. } => {
            let size = u64::from(bits / 8);
            (size, size)
        }
        Passed::Bytes { size, align } => (size, align),
        Passed::Other => return None,
    };
    let offset = end.checked_next_multiple_of(align)?;
    offset.checked_add(size)?;
    Some(ParameterLayout {
        offset,
        size,
        align,
    })
}

/// Returns the numbers of a directive, with 1 for each omitted number. Requires at least one.
fn size(words: &[&[u8]], directive: &[u8]) -> Option<[u32; 3]> {
    let at = words.iter().position(|word| *word == directive)?;
    let numbers = words[at + 1..].iter().filter(|word| **word != b",");
    let small = |word: &&[u8]| u32::try_from(number(word)?).ok();
    let mut numbers = numbers.map_while(small).fuse();
    let first = numbers.next()?;
    let mut next = || numbers.next().unwrap_or(1);
    Some([first, next(), next()])
}

impl Parameter {
    /// Returns the alignment of a pointer, unless it points to work-group memory.
    #[doc(hidden)]
    pub fn global_align(&self) -> Option<u64> {
        match self.ty {
            Passed::Pointer { space, .. } if space != Some(Space::Shared) => self.align,
            _ => None,
        }
    }

    fn parse(words: &[&[u8]], kernel: &str) -> Self {
        let (ty, align, name) = read(words).unwrap_or((Passed::Other, 1, b""));
        let pointer = matches!(ty, Passed::Pointer { .. });
        let align = Some(align).filter(|align| pointer && *align > 1 && align.is_power_of_two());
        let name = text(name);
        // LLVM and NVIDIA's compilers generate names of the form `KERNEL_param_N`.
        let rest = name.strip_prefix(kernel);
        let made_up = rest.is_some_and(|rest| rest.starts_with("_param_"));
        Self {
            name: Some(name).filter(|name| !made_up && !name.is_empty()),
            ty,
            align,
            layout: None,
        }
    }
}

/// Parses declarations such as `.param .u64 .ptr .global .align 4 NAME` and `.param .align 8 .b8 NAME[32]`.
fn read<'t>(words: &[&'t [u8]]) -> Option<(Passed, u64, &'t [u8])> {
    let (mut ty, mut pointer, mut space, mut align) = (None, false, None, 1);
    let mut words = words.iter().copied();
    if words.len() > MAX_WORDS || words.next() != Some(b".param") {
        return None;
    }
    let name = loop {
        match words.next()? {
            b".align" => align = number(words.next()?)?,
            b".ptr" => pointer = true,
            b".global" => space = Some(Space::Global),
            b".shared" => space = Some(Space::Shared),
            b".const" => space = Some(Space::Const),
            b".local" => space = Some(Space::Local),
            word if word.starts_with(b".") => ty = Some(scalar(word)?),
            name => break name,
        }
    };
    let (kind, bits) = ty?;
    let passed = match (words.next(), pointer) {
        (None, true) if bits >= 32 => Passed::Pointer { space, bits },
        (None, false) if space.is_none() => Passed::Number { kind, bits },
        (Some(b"["), false) if space.is_none() => {
            let size = number(words.next()?)?.checked_mul(u64::from(bits / 8))?;
            let align = align.max(u64::from(bits / 8));
            let closed = words.next() == Some(b"]") && words.next().is_none();
            if !closed || !align.is_power_of_two() {
                return None;
            }
            Passed::Bytes { size, align }
        }
        _ => return None,
    };
    Some((passed, align, name))
}

fn scalar(word: &[u8]) -> Option<(Kind, u32)> {
    let (kind, bits) = match word.strip_prefix(b".")? {
        [b'u', bits @ ..] => (Kind::Unsigned, bits),
        [b's', bits @ ..] => (Kind::Signed, bits),
        [b'f', bits @ ..] => (Kind::Float, bits),
        [b'b', bits @ ..] => (Kind::Bits, bits),
        _ => return None,
    };
    let bits = match bits {
        b"8" if kind != Kind::Float => 8,
        b"16" => 16,
        b"32" => 32,
        b"64" => 64,
        _ => return None,
    };
    Some((kind, bits))
}

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { kind, bits } => match kind {
                Kind::Unsigned => write!(f, "`.u{bits}`"),
                Kind::Signed => write!(f, "`.s{bits}`"),
                Kind::Float => write!(f, "`.f{bits}`"),
                Kind::Bits => write!(f, "`.b{bits}`"),
            },
            Self::Pointer { space, .. } => f.write_str(match space {
                None => "`.ptr`",
                Some(Space::Global) => "`.ptr .global`",
                Some(Space::Shared) => "`.ptr .shared`",
                Some(Space::Const) => "`.ptr .const`",
                Some(Space::Local) => "`.ptr .local`",
            }),
            Self::Bytes { size, .. } => write!(f, "`.b8[{size}]`"),
            Self::Other => f.write_str("unrecognized"),
        }
    }
}
