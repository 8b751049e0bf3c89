// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages of ocloc, Intel's offline compiler, in this program's style.

use std::collections::BTreeSet;

use syclbin_tools::__private::spelled;

/// Prefixes of lines that are unrelated to the compiled code.
const NOISE: [&str; 6] = [
    "Compilation from IR",
    "Build succeeded",
    "Build failed",
    "Command was:",
    "error: backend compiler failed build",
    "in kernel:",
];
/// The tag of warnings that only announce a second attempt.
const SECOND_ATTEMPT: &str = "[RetryManager]";

/// Returns the warnings in ocloc's report, or all relevant lines if ocloc failed. Warnings and errors name the GPU.
/// Repeated messages are omitted, because ocloc prints a message for every occurrence.
pub(crate) fn messages(report: &[u8], gpu: &str, succeeded: bool) -> Vec<u8> {
    let report = String::from_utf8_lossy(report);
    let mut seen = BTreeSet::new();
    let mut messages = String::new();
    let mut lines = report.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        if line.is_empty() || NOISE.iter().any(|noise| line.starts_with(noise)) {
            continue;
        }
        let mut kinds = ["warning: ", "error: "].into_iter();
        let kind = kinds.find_map(|kind| Some((kind, line.strip_prefix(kind)?)));
        let message = match kind {
            Some((_, rest)) if rest.contains(SECOND_ATTEMPT) => continue,
            Some((kind, rest)) => {
                let mut message = format!("syclbin-clang: {kind}GPU {gpu}: {}", in_cpp(rest));
                // Older versions of ocloc name the kernel on the next line.
                let next = lines.peek();
                if let Some(kernel) = next.and_then(|next| next.strip_prefix("in kernel:")) {
                    message = format!("{message} (in kernel {})", in_cpp(kernel.trim()));
                }
                message
            }
            None if succeeded => continue,
            None => in_cpp(line),
        };
        if seen.insert(message.clone()) {
            messages.push_str(&message);
            messages.push('\n');
        }
    }
    messages.into_bytes()
}

/// Replaces symbols with their C++ spelling.
fn in_cpp(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        let symbol = word.trim_matches(|c: char| c != '_' && !c.is_alphanumeric());
        if symbol.starts_with("_Z") || symbol.starts_with("__sycl_kernel_") {
            word.replace(symbol, &spelled(symbol))
        } else {
            word.to_owned()
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(report: &str, succeeded: bool) -> String {
        String::from_utf8(messages(report.as_bytes(), "pvc", succeeded)).unwrap()
    }

    #[test]
    fn successful_report_is_reduced_to_warnings() {
        let report = "Compilation from IR - skipping loading of FCL\n\n\
            warning: in kernel '__sycl_kernel_k': [RetryManager] Start recompilation of the kernel\n\n\
            warning: in kernel '__sycl_kernel_k': compiled SIMD32 allocated 128 regs and spilled around 704\n\n\
            Build succeeded for : pvc.\n";
        assert_eq!(
            said(report, true),
            "syclbin-clang: warning: GPU pvc: in kernel 'k': compiled SIMD32 allocated 128 regs and \
             spilled around 704\n"
        );
        // The format of version 22.43.
        let report = "\nwarning: kernel __sycl_kernel_k  compiled SIMD32 allocated 128 regs\n";
        let expected =
            "syclbin-clang: warning: GPU pvc: kernel k compiled SIMD32 allocated 128 regs\n";
        assert_eq!(said(report, true), expected);
        assert_eq!(
            said(
                "Compilation from IR - skipping loading of FCL\nBuild succeeded.\n",
                true
            ),
            ""
        );
    }

    #[test]
    fn failed_report_has_each_error_once() {
        let once = "\nerror: in kernel '__sycl_kernel_k': Double type is not supported on this platform.\n\
            error: backend compiler failed build.\n";
        let report = format!(
            "{once}{once}\nBuild failed with error code: -11\nCommand was: ocloc -file x\n"
        );
        assert_eq!(
            said(&report, false),
            "syclbin-clang: error: GPU pvc: in kernel 'k': Double type is not supported on this platform.\n"
        );
        let report = "error: Double type is not supported on this platform.\nin kernel: '_Z1kf'\n";
        assert_eq!(
            said(report, false),
            "syclbin-clang: error: GPU pvc: Double type is not supported on this platform. (in kernel \
             'k(float)')\n"
        );
        let report =
            "Could not determine device target: foo.\nError: Cannot get HW Info for device foo.\n";
        assert_eq!(said(report, false), report);
    }
}
