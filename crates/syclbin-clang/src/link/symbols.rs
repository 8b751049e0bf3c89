// SPDX-License-Identifier: MIT OR Apache-2.0
//! Symbols for messages: as in the code, and as spelled in C++.

pub(crate) use syclbin::__private::mangled::declared as spelled;

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
