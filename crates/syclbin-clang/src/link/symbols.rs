// SPDX-License-Identifier: MIT OR Apache-2.0
//! Symbols for messages: as in the code, and as spelled in C++.

use syclbin::__private::mangled;

/// Returns the C++ spelling of a symbol: `shape(float)` for `_Z5shapef`. Returns the symbol itself if it cannot be
/// demangled.
pub(crate) fn spelled(symbol: &str) -> String {
    let Some(name) = mangled::parse(symbol) else {
        return symbol.to_owned();
    };
    match &name.parameters {
        Some(parameters) => format!("{}({})", name.qualified(), parameters.join(", ")),
        None => name.qualified(),
    }
}

/// Returns a symbol, with its C++ spelling if that says more.
pub(crate) fn named(symbol: &str) -> String {
    let spelled = spelled(symbol);
    if spelled == symbol {
        spelled
    } else {
        format!("{symbol}, which is {spelled}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_demangled_where_possible() {
        assert_eq!(spelled("_Z5shapef"), "shape(float)");
        assert_eq!(spelled("__sycl_kernel_saxpy"), "saxpy");
        assert_eq!(spelled("plain"), "plain");
        assert_eq!(spelled("_ZTSZ4hostvEUlvE0_"), "host()");
        assert_eq!(named("_Z5shapef"), "_Z5shapef, which is shape(float)");
        assert_eq!(named("plain"), "plain");
    }
}
