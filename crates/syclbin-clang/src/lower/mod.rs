// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lowers specialization constants. DPC++ lowers them after linking device code, but its compiler library does not.
//!
//! The library's output calls two undefined functions, `__sycl_getScalar2020SpecConstantValue` and
//! `__sycl_getComposite2020SpecConstantValue`, with the constant's symbol and its `specialization_id`. Some drivers
//! terminate the process when they load such code. This module replaces each call with a SPIR-V specialization
//! constant, and describes the constants in two property sets.
//!
//! | module | purpose |
//! |---|---|
//! | [`index`] | definitions and uses of ids, types, and the variables that pointers refer to |
//! | [`initializer`] | default values as bytes |
//! | [`calls`] | reads of constants |
//! | [`rewrite`] | replaces reads with constants, and finds what becomes unnecessary |
//! | [`signed_bools`] | repairs signed conversions of booleans |
//! | [`ptx`] | lowers specialization constants in PTX, where they become variables |

mod calls;
mod index;
mod initializer;
mod ptx;
mod rewrite;
pub(crate) mod signed_bools;

#[cfg(test)]
mod tests;

use std::fmt;

use sha2::{Digest as _, Sha256};
use syclbin::__private::spirv;
use syclbin::__private::spirv::edit::Module;
use syclbin::__private::spirv::words::bytes;
use syclbin::AbstractModule;
use syclbin::metadata::SpecializationConstants;
use syclbin_toolchain::store::hex;

pub(crate) use calls::shown;
pub(crate) use ptx::{export_variables, lower_ptx, serves};

use index::Index;

/// The reason for refusing a constant that the code reads by anything other than a plain call.
const NOT_CALLED: &str = "it is not read by a plain call; read it with \
    `kernel_handler::get_specialization_constant`";

/// The maximum nesting depth of a constant's type.
const MAX_DEPTH: u32 = 64;

/// Precedes the digits of a source's prefix.
const UNIT: &str = "syclbin";

/// Returns the arguments that make clang put a prefix before the identifiers of variables with internal linkage, as
/// DPC++'s driver does. Otherwise, variables of the same name in two sources would count as one.
pub(crate) fn unit_arguments(source: &[u8]) -> [String; 2] {
    let digits = hex(&Sha256::digest(source)[..8]);
    let prefix = format!("-fsycl-unique-prefix={UNIT}{digits}");
    ["-Xclang".to_owned(), prefix]
}

/// Returns the symbol of a specialization constant without the prefix of its source. Every source that includes a
/// header has a copy of its constants, and a program sets all copies at once.
fn without_unit(symbol: &str) -> &str {
    let digits = symbol.strip_prefix(UNIT);
    match digits.and_then(|rest| rest.split_at_checked(16)) {
        Some((digits, rest)) if digits.bytes().all(|b| b.is_ascii_hexdigit()) => rest,
        _ => symbol,
    }
}

#[derive(Debug)]
pub(crate) struct Lowered {
    pub(crate) code: Vec<u8>,
    pub(crate) constants: SpecializationConstants,
}

/// A constant that cannot be lowered, and the reason.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Its C++ name, if the constant could be identified.
    pub(crate) constant: Option<String>,
    /// The kernels that read it.
    pub(crate) kernels: Vec<String>,
    pub(crate) reason: String,
}

impl Refusal {
    /// Creates a refusal. `symbol` is the constant's symbol on the host, if it is known.
    fn new(symbol: Option<&str>, kernels: Vec<String>, reason: &str) -> Self {
        Self {
            constant: symbol.map(calls::shown),
            kernels,
            reason: reason.into(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.constant {
            Some(name) => write!(f, "specialization constant {name}")?,
            None => f.write_str("a specialization constant")?,
        }
        if !self.kernels.is_empty() {
            write!(f, " (read by {})", self.kernels.join(" and "))?;
        }
        let reason = &self.reason;
        write!(
            f,
            " cannot be compiled: {reason}; pass the value as a kernel argument instead"
        )
    }
}

/// Lowers the constants that the SPIR-V of a module still reads through function calls.
///
/// # Errors
///
/// Fails if a constant cannot be lowered.
pub(crate) fn lower_module(module: &mut AbstractModule<'_>) -> Result<(), Refusal> {
    for image in &mut module.images {
        if image.spirv().is_some()
            && let Some(lowered) = lower(&image.bytes)?
        {
            lowered.constants.write(&mut module.metadata);
            image.bytes = lowered.code.into();
        }
    }
    Ok(())
}

/// Lowers the constants of the SPIR-V module `code`. Returns `None` if the module has no constants, or if `code` is not
/// valid SPIR-V.
///
/// # Errors
///
/// Fails if a constant cannot be lowered.
fn lower(code: &[u8]) -> Result<Option<Lowered>, Refusal> {
    let (Ok(module), Ok(parsed)) = (Module::read(code), spirv::Module::parse(code)) else {
        return Ok(None);
    };
    let index = Index::new(&module, parsed);
    let found = calls::find(&index)?;
    if found.functions.is_empty() {
        return Ok(None);
    }
    let edit = rewrite::plan(&index, &found)?;
    let unneeded = rewrite::unneeded(&index, &found, &edit.replaced);
    for function in &found.functions {
        let place = index.place(*function);
        if place.is_none_or(|at| !unneeded.contains(&at)) {
            let user = index.users(*function).first();
            let kernels = user.map_or_else(Vec::new, |at| calls::kernels(&index, *at));
            return Err(Refusal::new(None, kernels, NOT_CALLED));
        }
    }
    let constants = edit.constants.clone();
    let words = rewrite::apply(&module, edit, &unneeded).words();
    let words =
        words.map_err(|_| Refusal::new(None, Vec::new(), "an instruction would be too long"))?;
    Ok(Some(Lowered {
        code: bytes(words),
        constants,
    }))
}
