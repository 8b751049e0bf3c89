// SPDX-License-Identifier: MIT OR Apache-2.0
//! Describes kernels when their SPIR-V is compiled. Declarations come from debug information, which is then stripped
//! unless the user requested it. The number of dimensions of a free-function kernel comes from the integration header,
//! which DPC++ writes for host code.

use syclbin::__private::debug_info::{DIMENSIONS, Described};
use syclbin::__private::spirv;
use syclbin::{AbstractModule, Syclbin};

use crate::{Failure, Result, context};

/// The option that tells a child process to keep debug information, because its parent describes the kernels.
pub(crate) const LATER: &str = "--describe-later";

/// Returns the arguments to add to the user's `arguments`, so that the output can be described. Clang writes the
/// integration header to the path `header`.
pub(crate) fn arguments(arguments: &[String], header: &str) -> Vec<String> {
    // `-fstandalone-debug` also describes structs that appear only as template arguments, as in
    // `work_group_memory<Pair[]>`. `lower::signed_bools` needs value names.
    let mut all = ["-g", "-fstandalone-debug", "-fno-discard-value-names"]
        .map(str::to_owned)
        .to_vec();
    let mut inner = vec![format!("-fsycl-int-header={header}")];
    if !has_debug_info(arguments) {
        // The library does not optimize code with debug information unless the frontend receives the level explicitly.
        inner.push(level(arguments).to_owned());
    }
    all.extend(inner.into_iter().flat_map(|it| ["-Xclang".to_owned(), it]));
    all
}

/// Returns the last optimization level in `arguments`, or the default `-O2`.
fn level(arguments: &[String]) -> &str {
    last(arguments, "-O").unwrap_or("-O2")
}

/// Returns the last argument that starts with `prefix`.
fn last<'a>(arguments: &'a [String], prefix: &str) -> Option<&'a str> {
    let mut arguments = arguments.iter().map(String::as_str);
    arguments.rfind(|argument| argument.starts_with(prefix))
}

/// Returns whether `arguments` request debug information. The library emits none for `-gline-tables-only`.
pub(crate) fn has_debug_info(arguments: &[String]) -> bool {
    last(arguments, "-g").is_some_and(|last| last != "-g0" && last != "-gline-tables-only")
}

/// Returns whether the library optimizes code for the user's `arguments`. Call this before adding those from
/// [`arguments`], which always contain `-g`.
pub(crate) fn is_optimized(arguments: &[String]) -> bool {
    level(arguments) != "-O0" && !has_debug_info(arguments)
}

/// Copies the number of dimensions of each free-function kernel from the integration header to `module`. A single task
/// has 0 dimensions.
pub(crate) fn note_dimensions(module: &mut AbstractModule<'_>, header: &str) {
    for text in header.split("getFunctionName() { return \"").skip(1) {
        let Some((symbol, traits)) = text.split_once('"') else {
            continue;
        };
        let ranges = traits.split_once("::is_nd_range_kernel<");
        let dimensions = match ranges.and_then(|(_, of)| of.split_once(", ")?.1.split_once('>')) {
            Some((count, _)) => count.parse::<u32>().ok(),
            None => traits.contains("::is_single_task_kernel<").then_some(0),
        };
        if let Some(dimensions) = dimensions
            && module.kernel_names().any(|name| name == symbol)
        {
            let symbol = symbol.to_owned();
            module.metadata.insert(DIMENSIONS, symbol, dimensions);
        }
    }
}

/// Reads the descriptions of the kernels and variables in `file` from its debug information. All modules of `file` must
/// come from one source.
pub(crate) fn read(file: &Syclbin<'_>) -> Result<Described> {
    Described::of(file).map_err(unreadable)
}

/// Records descriptions of the kernels and variables in `file`, and removes the debug information unless `arguments`
/// request it.
pub(crate) fn record(
    file: &mut Syclbin<'_>,
    described: &Described,
    arguments: &[String],
) -> Result<()> {
    for module in &mut file.modules {
        syclbin::__private::record(module, described).map_err(unreadable)?;
        if has_debug_info(arguments) {
            continue;
        }
        for image in &mut module.images {
            if let Some(code) = image.spirv() {
                image.bytes = spirv::strip_debug_info(code).map_err(unreadable)?.into();
            }
        }
    }
    Ok(())
}

pub(crate) fn unreadable(error: syclbin::Error) -> Failure {
    context("the compiler library emitted invalid SPIR-V")(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn o0_and_debug_information_disable_optimization() {
        let is = |text: &str| is_optimized(&words(text));
        assert!(is("-O2") && is("-O0 -O3") && is("-O2 -gline-tables-only") && is("-DX"));
        assert!(!is("-O3 -O0") && !is("-O2 -g") && is("-g -g0"));
    }

    #[test]
    fn header_states_dimensions_of_functions() {
        let header = r#"
  static constexpr const char *getFunctionName() { return "__sycl_kernel_f"; }
struct ext::oneapi::experimental::is_kernel<__sycl_shim1()> {
struct ext::oneapi::experimental::is_nd_range_kernel<__sycl_shim1(), 2> {
  static constexpr const char *getFunctionName() { return "__sycl_kernel_g"; }
struct ext::oneapi::experimental::is_single_task_kernel<__sycl_shim2()> {
  static constexpr const char *getFunctionName() { return "elsewhere"; }
struct ext::oneapi::experimental::is_nd_range_kernel<__sycl_shim3(), 3> {"#;
        let mut module = AbstractModule::default();
        module.add_kernel_name("__sycl_kernel_f");
        module.add_kernel_name("__sycl_kernel_g");
        note_dimensions(&mut module, header);
        let noted = module.metadata.entries(DIMENSIONS);
        let noted: Vec<_> = noted.map(|(name, value)| (name, value.as_u32())).collect();
        let expected = [("__sycl_kernel_f", Some(2)), ("__sycl_kernel_g", Some(0))];
        assert_eq!(noted, expected);
    }

    #[test]
    fn code_with_requested_debug_information_is_not_optimized() {
        let added = arguments(&words("-O3 -DX"), "h");
        let expected = "-g -fstandalone-debug -fno-discard-value-names -Xclang -fsycl-int-header=h -Xclang -O3";
        assert_eq!(added.join(" "), expected);
        assert!(!arguments(&words("-O3 -g"), "h").contains(&"-O3".to_owned()));
    }
}
