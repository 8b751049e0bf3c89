// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses the declarations of the functions that read constants, and generates their definitions.

use std::fmt::Write as _;

use syclbin::__private::spirv::Import;

use super::text::{Declaration, Variable};

/// A function that reads constants of one type.
pub(super) struct Reader<'t> {
    declaration: &'t Declaration<'t>,
    returns: Returns,
    /// The size in bytes of the constants that the function reads, or `None` if the function is never called.
    size: Option<usize>,
}

#[derive(Clone, Copy)]
enum Returns {
    /// A number with this width in bits.
    Number(usize),
    /// A byte array with this size and alignment.
    Bytes {
        size: usize,
        align: usize,
    },
    Unknown,
}

impl<'t> Reader<'t> {
    /// Returns the declared function if it reads constants.
    pub(super) fn of(declaration: &'t Declaration<'t>) -> Option<Self> {
        let is_reader = Import::of(declaration.name) == Import::SpecializationConstant;
        is_reader.then_some(Self {
            declaration,
            returns: Returns::parse(declaration.result),
            size: None,
        })
    }

    /// Records that the function reads the constant in `variable`.
    pub(super) fn read(&mut self, variable: &Variable<'_>) -> Result<(), &'static str> {
        let size = variable.bytes.as_ref().map_or(0, Vec::len);
        let fits = match self.returns {
            // Numbers narrower than 32 bits are returned as 32-bit values.
            Returns::Number(32) => matches!(size, 1 | 2 | 4),
            Returns::Number(bits) => size == bits / 8,
            Returns::Bytes { size: own, align } => size == own && align <= variable.align,
            Returns::Unknown => false,
        };
        if !fits
            || self.declaration.parameters.len() != 3
            || self.size.is_some_and(|own| own != size)
        {
            return Err(
                "the function that reads it has an unexpected return type or number of parameters",
            );
        }
        if size < 4 && matches!(self.returns, Returns::Number(_)) && self.is_signed().is_none() {
            return Err(
                "the signedness of its 8-bit or 16-bit type is unknown (as for an enumeration); give it a 32-bit type \
                 (`: int`)",
            );
        }
        self.size = Some(size);
        Ok(())
    }

    /// Returns whether the result is signed, if known. The symbol encodes the type:
    /// `..SpecConstantValueI` + type + `E..`.
    fn is_signed(&self) -> Option<bool> {
        let (_, ty) = self.declaration.name.split_once("SpecConstantValueI")?;
        match ty.split_once('E')?.0 {
            "a" | "c" | "s" => Some(true),
            "b" | "h" | "t" | "Ds" | "Du" => Some(false),
            _ => None,
        }
    }

    /// Returns the definition of the function. A function that is never called stays a declaration.
    pub(super) fn definition(&self) -> String {
        let (name, result) = (self.declaration.name, self.declaration.result);
        let parameters = &self.declaration.parameters;
        let all = parameters
            .iter()
            .map(|name| format!("\t.param .b64 {name}"));
        let all = all.collect::<Vec<_>>().join(",\n");
        let (Some(size), [_, default, _]) = (self.size, parameters.as_slice()) else {
            return format!(".extern .func ({result}) {name}\n(\n{all}\n)\n;\n");
        };
        let mut code = format!(
            ".func ({result}) {name}(\n{all}\n)\n{{\n\t.reg .b16 %half;\n\t.reg .b32 %word;\n\t.reg .b64 %address, \
             %long;\n\n\
             \tld.param.b64 %address, [{default}];\n"
        );
        // Numbers narrower than 32 bits are extended to 32 bits.
        let (step, stored) = match self.returns {
            Returns::Bytes { align, .. } => (align.min(8), align.min(8)),
            Returns::Number(_) | Returns::Unknown => (size, size.max(4)),
        };
        let kind = match (stored > step, self.is_signed()) {
            (false, _) => 'b',
            (true, Some(true)) => 's',
            (true, _) => 'u',
        };
        let register = match stored {
            1 | 2 => "%half",
            4 => "%word",
            _ => "%long",
        };
        let (read, written) = (step * 8, stored * 8);
        for at in (0..size).step_by(step) {
            // Writing to a string cannot fail.
            _ = writeln!(code, "\tld.{kind}{read} {register}, [%address+{at}];");
            _ = writeln!(
                code,
                "\tst.param.b{written} [func_retval0+{at}], {register};"
            );
        }
        code + "\tret;\n}\n"
    }
}

impl Returns {
    /// Parses `.param .b32 func_retval0` or `.param .align 4 .b8 func_retval0[16]`.
    fn parse(result: &str) -> Self {
        let words: Vec<&str> = result.split_whitespace().collect();
        match words.as_slice() {
            [".param", ".b32", "func_retval0"] => Self::Number(32),
            [".param", ".b64", "func_retval0"] => Self::Number(64),
            [".param", ".align", align, ".b8", name] => {
                let size = name.strip_prefix("func_retval0[");
                let size = size.and_then(|size| size.strip_suffix(']')?.parse().ok());
                match (size, align.parse::<usize>()) {
                    (Some(size), Ok(align)) if align.is_power_of_two() && size % align == 0 => {
                        Self::Bytes { size, align }
                    }
                    _ => Self::Unknown,
                }
            }
            _ => Self::Unknown,
        }
    }
}
