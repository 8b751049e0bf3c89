// SPDX-License-Identifier: MIT OR Apache-2.0
//! Demangles the symbols of kernels and variables, which use a subset of the Itanium C++ name mangling.
//!
//! DPC++ puts `__sycl_kernel_` before the outermost part of a free function's name: `saxpy` in `extern "C"` becomes
//! `__sycl_kernel_saxpy`, and `fill::iota(float, float *, int)` becomes `_ZN18__sycl_kernel_fill4iotaEfPfi`. The
//! symbol of a functor or named lambda is `_ZTS` followed by its type. For an unnamed lambda, it is `_ZTSZ` followed
//! by the enclosing function and the lambda's type.

mod names;
mod parser;
#[cfg(test)]
mod tests;

use super::cpp_type::{CppType, list};
use crate::prelude::*;
use names::LAMBDA;
use parser::Parser;

/// The prefix that DPC++ adds to the name of a free-function kernel.
pub const KERNEL_PREFIX: &str = "__sycl_kernel_";
/// The separator between a kernel's symbol and its source, used if several sources define the same symbol.
pub(super) const SOURCE_MARK: &str = "$";
/// The end of a pack expansion's spelling. On its own, it stands for unknown or variadic parameters.
const PACK: &str = "...";
/// The maximum nesting depth of types and names. Deeper symbols are rejected.
const MAX_DEPTH: usize = 64;

/// Returns `None` if `depth` exceeds [`MAX_DEPTH`].
fn check_depth(depth: usize) -> Option<()> {
    (depth <= MAX_DEPTH).then_some(())
}

/// The demangled name of a kernel or variable.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct KernelName {
    /// The enclosing namespaces and classes, outermost first.
    pub path: Vec<String>,
    /// The unqualified name, without template arguments.
    pub base: String,
    /// The template arguments. Empty if the kernel or variable is not a template instance, or if its arguments are
    /// unsupported.
    pub template_arguments: Vec<CppType>,
    /// The parameter types, if the symbol contains them. This is the case for functions that are not `extern "C"`.
    pub parameters: Option<Vec<CppType>>,
    /// For a lambda kernel, the enclosing lambdas, outermost first, followed by the kernel's lambda. Empty for
    /// other kernels. An unnamed lambda has no C++ name, so the other fields describe the enclosing function.
    pub lambdas: Vec<Lambda>,
    /// The enclosing function, for a named class that is defined in a function.
    pub function: Option<Box<KernelName>>,
    /// The source, as an identifier, if several sources in the file define a kernel with this name.
    pub source: Option<String>,
}

/// A lambda in a function.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Lambda {
    /// The parameter types, or only `...` if the symbol contains unsupported parts.
    pub parameters: Vec<CppType>,
    /// For an enclosing generic lambda: the types of its `auto` parameters, and other template arguments.
    pub template_arguments: Vec<CppType>,
    /// The zero-based index among the function's lambdas with the same parameters.
    pub index: usize,
}

impl KernelName {
    /// Returns the qualified name: `fill::iota`, `scale<int>`.
    #[must_use]
    pub fn qualified(&self) -> String {
        let name = join(&self.path, &self.base);
        CppType::instance(name, self.template_arguments.clone()).to_string()
    }

    /// Returns the qualified name with the parameter types, if the symbol contains them: `fill::iota(float *, int)`.
    #[must_use]
    pub fn declared(&self) -> String {
        let name = self.qualified();
        match &self.parameters {
            Some(parameters) => format!("{name}({})", list(parameters)),
            None => name,
        }
    }

    /// Returns whether every part is a valid name (an identifier, an instance of a class template, or an operator), and
    /// the nesting depth is within [`MAX_DEPTH`].
    fn is_plain(&self) -> bool {
        let is_identifier =
            |part: &str| !part.is_empty() && part.chars().all(|c| c == '_' || c.is_alphanumeric());
        let is_instance = |part: &String| is_identifier(part.split('<').next().unwrap_or_default());
        let base = &*self.base;
        let is_function = base.starts_with("operator") || is_identifier(&base.replace('~', ""));
        self.path.len() <= MAX_DEPTH
            && self.path.iter().all(is_instance)
            && (is_identifier(base) || is_function && !self.lambdas.is_empty())
    }

    /// Names an unnamed lambda after the enclosing function or class, without unnamed parts.
    fn without_lambdas(mut self) -> Self {
        let mut parts = core::mem::take(&mut self.path);
        parts.push(core::mem::take(&mut self.base));
        let mut in_lambda = false;
        parts.retain(|part| {
            let own = core::mem::replace(&mut in_lambda, part.starts_with(LAMBDA));
            !(part.is_empty() || part.starts_with(LAMBDA) || own && part == "operator()")
        });
        self.base = parts.pop().unwrap_or_else(|| "lambda".into());
        parts.retain(|part| part != UNNAMED_NAMESPACE);
        self.path = parts;
        self
    }
}

const UNNAMED_NAMESPACE: &str = "_GLOBAL__N_1";

/// Demangles a kernel symbol. Returns `None` if the symbol contains unsupported parts.
pub fn parse(symbol: &str) -> Option<KernelName> {
    let is_marked = symbol.starts_with("_Z") || symbol.starts_with(KERNEL_PREFIX);
    // C++ identifiers may also contain the mark. In that case, the part before the mark is not a valid symbol.
    if is_marked
        && let Some((plain, source)) = symbol.rsplit_once(SOURCE_MARK)
        && !source.contains(|c: char| c != '_' && !c.is_ascii_alphanumeric())
        && let Some(mut name) = without_mark(plain)
    {
        name.source = Some(source.into());
        return Some(name);
    }
    without_mark(symbol)
}

fn without_mark(symbol: &str) -> Option<KernelName> {
    let name = if let Some(rest) = symbol.strip_prefix("_ZTS") {
        of_class(rest)?
    } else if let Some(rest) = symbol.strip_prefix("_Z") {
        of_function(rest)?
    } else {
        let base = symbol.strip_prefix(KERNEL_PREFIX).unwrap_or(symbol);
        KernelName {
            base: base.into(),
            ..KernelName::default()
        }
    };
    name.is_plain().then_some(name)
}

/// Parses the name of a function after `_Z`, and its parameter types.
fn of_function(rest: &str) -> Option<KernelName> {
    let mut parser = Parser::new(rest);
    let Some(mut name) = parser.name(0) else {
        // A kernel is never a member of a class template, so its name precedes all template arguments, and stays valid
        // if they are unsupported. A truncated symbol lacks the `E` after them.
        let mut parser = Parser::new(rest);
        let name = parser.identifiers()?;
        let has_arguments = parser.rest.starts_with('I') && parser.rest.contains('E');
        let path = rest.strip_suffix(parser.rest)?;
        return (has_arguments && path.contains(KERNEL_PREFIX)).then_some(name);
    };
    parser.template_arguments = name.template_arguments.clone();
    // Unsupported parameter types do not invalidate the name.
    let is_readable = !parser.has_result || parser.ty(0).is_some_and(|ty| ty.is("void"));
    let types = is_readable.then(|| parser.types(0)).flatten();
    // The number of parameters in a pack is unknown. C's variadic `...` is not a pack.
    let is_pack = |ty: &CppType| ty.name().ends_with(PACK) && !ty.is(PACK);
    name.parameters = types.filter(|types| !types.iter().any(is_pack));
    Some(name)
}

/// Parses the name of a class after `_ZTS`: `6AddOne`, `N2ns6AddOneE`, `Z4hostvE3MyK`, `Z4hostvEUlvE_`.
fn of_class(rest: &str) -> Option<KernelName> {
    let mut parser = Parser::new(rest);
    let name = parser.name(0).filter(|_| parser.rest.is_empty());
    Some(name.or_else(|| of_local(rest))?.without_lambdas())
}

/// Parses the name of an entity in a function whose symbol contains unsupported parts. The function comes first and the
/// entity last, so both names can be read.
fn of_local(rest: &str) -> Option<KernelName> {
    let symbol = rest.trim_start_matches('Z');
    if symbol.len() == rest.len() {
        return None;
    }
    let function = Parser::new(symbol).name(0);
    let mut function = function.or_else(|| Parser::new(symbol).identifiers())?;
    let class = rest.match_indices('E').find_map(|(at, _)| {
        let (length, name) = split_number(&rest[at + 1..]);
        // The end of a lambda, such as `E1_`, looks like a class named `_`.
        let is_name = name.contains(char::is_alphabetic);
        (is_name && length.parse::<usize>() == Ok(name.len())).then_some(name)
    });
    if let Some(class) = class {
        return Some(KernelName {
            base: class.into(),
            function: Some(Box::new(function)),
            ..KernelName::default()
        });
    }
    // The symbol of a lambda ends with its index: `E_`, `E0_`.
    let end = rest.trim_end_matches(|c: char| c == '_' || c.is_ascii_digit());
    let is_lambda = rest.ends_with('_') && end.ends_with('E') && rest.contains("Ul");
    function.lambdas.push(Lambda {
        // Unknown parameters, which do not imply the number of dimensions.
        parameters: vec![CppType::named(PACK)],
        ..Lambda::default()
    });
    is_lambda.then_some(function)
}

/// Returns `symbol` with its source appended, for files in which several sources define the same symbol. `source`
/// must consist of ASCII letters, digits and `_`.
pub fn with_source(symbol: &str, source: &str) -> String {
    [symbol, source].join(SOURCE_MARK)
}

/// Returns the C++ spelling of a symbol, such as `twice(float)` for `_Z5twicef`, or the symbol itself if it cannot be
/// demangled.
pub fn declared(symbol: &str) -> String {
    parse(symbol).map_or_else(|| symbol.into(), |name| name.declared())
}

/// Returns the identifier of a variable without the part that distinguishes sources. For a variable with internal
/// linkage, DPC++ prefixes the symbol with `uid`, a number and three underscores.
pub(super) fn without_source(symbol: &str) -> &str {
    match symbol.split_once("____Z") {
        Some((uid, _)) if uid.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            &symbol[uid.len() + 3..]
        }
        _ => symbol,
    }
}

/// Demangles the identifier of a variable: `_ZN2ns6radiusE` becomes `ns::radius`. Unnamed namespaces are left out.
/// Returns `None` for an unsupported identifier.
pub fn variable(symbol: &str) -> Option<KernelName> {
    let symbol = without_source(symbol);
    let mut name = match symbol.strip_prefix("_Z") {
        Some(rest) => {
            let mut parser = Parser::new(rest);
            let name = parser.name(0)?;
            parser.rest.is_empty().then_some(name)?
        }
        None => KernelName {
            base: symbol.into(),
            ..KernelName::default()
        },
    };
    name.path.retain(|part| part != UNNAMED_NAMESPACE);
    name.is_plain().then_some(name)
}

/// Returns the C++ type whose type-info name is `symbol`, such as `_ZTSN2ns4PairIiEE`.
pub(super) fn type_info(symbol: &str) -> Option<CppType> {
    // For a class in a function, the caller uses the class's source name instead.
    let symbol = symbol
        .strip_prefix("_ZTS")
        .filter(|rest| !rest.starts_with('Z'))?;
    let mut parser = Parser::new(symbol);
    let ty = parser.ty(0)?;
    parser.rest.is_empty().then_some(ty)
}

/// Returns the symbol of the plain function behind a free-function kernel. For an `extern "C"` function, the symbol is
/// the name.
pub(super) fn plain_function(kernel: &str) -> Option<String> {
    if let Some(name) = kernel.strip_prefix(KERNEL_PREFIX) {
        return Some(name.into());
    }
    let rest = kernel.strip_prefix("_Z")?;
    let plain = rest.strip_prefix('N');
    let nested = if plain.is_some() { "N" } else { "" };
    let (length, name) = split_number(plain.unwrap_or(rest));
    let name = name.strip_prefix(KERNEL_PREFIX)?;
    let length = length.parse::<usize>().ok()?;
    let length = length.checked_sub(KERNEL_PREFIX.len())?;
    Some(format!("_Z{nested}{length}{name}"))
}

/// Splits off the digits at the start.
fn split_number(text: &str) -> (&str, &str) {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    text.split_at(text.len() - rest.len())
}

/// Joins a C++ path, without SYCL's inline namespace `_V1` and libc++'s `__1`, which users never write. Also shortens
/// the internal name of `sycl::half`.
fn join(path: &[String], base: &str) -> String {
    let mut text = String::new();
    for part in path.iter().map(String::as_str).chain([base]) {
        if let ("sycl", "_V1") | ("std", "__1") = (text.as_str(), part) {
            continue;
        }
        if !text.is_empty() {
            text.push_str("::");
        }
        text.push_str(part);
    }
    match text.as_str() {
        "sycl::detail::half_impl::half" => "sycl::half".into(),
        _ => text,
    }
}
