// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of options: which take a value, and how each is treated.
//!
//! An option that is not listed takes no separate value and goes to clang, which accepts it or rejects it by name.

/// The position of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// No value.
    Flag,
    /// In the same argument.
    Joined,
    /// In the next argument.
    Separate,
    /// In the same argument, or else in the next.
    Either,
}

/// The treatment of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// Clang gets it in one argument.
    Join,
    /// Clang gets it as it is spelled.
    Pass,
    /// Clang gets it and its value after `-Xclang`, with one dash, because the library would otherwise lose the
    /// value.
    Inner,
    /// It requests the default behavior.
    Nothing,
    /// It is for a step that SYCLBIN files do not have. Like clang, this program warns.
    Unused,
    /// It would change the output, or request another kind of output. The reason is for the message.
    Refused(&'static str),
    /// This program acts on it.
    Ours,
}

use Form::{Either, Flag, Joined, Separate};
use Treatment::{Inner, Join, Nothing, Ours, Pass, Refused, Unused};

const ONLY_SYCLBIN: &str = "this program only writes SYCLBIN files";
const NOT_64: &str = "SYCL device code is 64-bit here";

/// Options with the same form and treatment.
type Row = (&'static [&'static str], Form, Treatment);

const ROWS: [Row; 49] = [
    // Options that this program reads.
    (
        &["-fsyclbin", "-fsycl-link", "-v", "--verbose", "-###"],
        Flag,
        Ours,
    ),
    (&["--version", "--help", "-h", "-help", "-w"], Flag, Ours),
    (&["-Qunused-arguments"], Flag, Ours),
    (&["-MD", "-MMD", "-MP"], Flag, Ours),
    (
        &[
            "-fsycl-allow-device-image-dependencies",
            "-fno-sycl-allow-device-image-dependencies",
        ],
        Flag,
        Ours,
    ),
    (
        &["-fsyclbin=", "-fsycl-targets=", "--offload-arch=", "-Wp,"],
        Joined,
        Ours,
    ),
    (&["-o", "-MF", "-MT", "-MQ", "-x"], Either, Ours),
    (&["--output", "--language"], Separate, Ours),
    (&["--output="], Joined, Ours),
    (
        &["-Xsycl-target-backend", "-Xsycl-target-frontend"],
        Separate,
        Ours,
    ),
    (
        &["-Xsycl-target-backend=", "-Xsycl-target-frontend="],
        Joined,
        Ours,
    ),
    (&["-Xs"], Either, Ours),
    (&["--build-for-cpu", "--save-bitcode"], Flag, Ours),
    (
        &["--compile-bitcode=", "--compile-ptx=", "--optional-target="],
        Joined,
        Ours,
    ),
    // Options for clang.
    (&["-I", "-D", "-U"], Either, Join),
    (
        &["-isystem", "-iquote", "-idirafter", "-isysroot", "-B", "-F"],
        Either,
        Join,
    ),
    (
        &[
            "-iprefix",
            "-iwithprefix",
            "-iwithprefixbefore",
            "-cxx-isystem",
        ],
        Either,
        Join,
    ),
    (&["-stdlib++-isystem"], Either, Join),
    (
        &["-iframework", "-iframeworkwithsysroot", "-iwithsysroot"],
        Either,
        Join,
    ),
    (&["-include", "-imacros"], Either, Inner),
    (&["--include", "--imacros"], Separate, Inner),
    (&["--include=", "--imacros="], Joined, Inner),
    (
        &[
            "-Xclang",
            "-Xpreprocessor",
            "-Xarch_device",
            "--param",
            "-target",
        ],
        Separate,
        Pass,
    ),
    (&["--sysroot"], Separate, Pass),
    (
        &[
            "--include-directory",
            "--include-directory-after",
            "--define-macro",
            "--undefine-macro",
            "--prefix",
            "-resource-dir",
            "-serialize-diagnostics",
            "--serialize-diagnostics",
            "--system-header-prefix",
            "--no-system-header-prefix",
            "-ftrapv-handler",
            "-mthread-model",
        ],
        Separate,
        Pass,
    ),
    (&["-undef", "-emit-pch"], Flag, Pass), // so that they are not taken for -u and -e
    // Options that request the default behavior.
    (
        &["-c", "-fsycl", "-pipe", "--offload-new-driver"],
        Flag,
        Nothing,
    ),
    (
        &["-fsycl-rdc", "-fgpu-rdc", "--offload-rdc", "-foffload-rdc"],
        Flag,
        Ours,
    ),
    (
        &[
            "-fno-sycl-rdc",
            "-fno-gpu-rdc",
            "--no-offload-rdc",
            "-fno-offload-rdc",
        ],
        Flag,
        Ours,
    ),
    // Options for steps that do not exist here.
    (&["-L", "-l", "-T"], Either, Unused),
    (
        &["-Wl,", "-Wa,", "-fuse-ld=", "-fsycl-host-compiler"],
        Joined,
        Unused,
    ),
    (
        &[
            "-Xlinker",
            "-Xassembler",
            "-Xarch_host",
            "-Xanalyzer",
            "-Xcuda-fatbinary",
            "-Xcuda-ptxas",
            "-Xopenmp-target",
            "-rpath",
            "-z",
            "-u",
            "-e",
        ],
        Separate,
        Unused,
    ),
    (
        &[
            "-shared",
            "-static",
            "-pie",
            "-no-pie",
            "-rdynamic",
            "-s",
            "-r",
            "-t",
        ],
        Flag,
        Unused,
    ),
    (
        &["-nostdlib", "-nostartfiles", "-nodefaultlibs", "-nolibsycl"],
        Flag,
        Unused,
    ),
    (
        &["-static-libgcc", "-static-libstdc++", "-shared-libgcc"],
        Flag,
        Unused,
    ),
    (&["-framework"], Separate, Unused),
    // Options that would mislead.
    (
        &["-fprofile-", "-fcoverage-", "--coverage", "-coverage"],
        Joined,
        // The library hangs or crashes on some of these.
        Refused("the compiler library does not support profiles and coverage of device code"),
    ),
    (
        &["-mllvm", "-ivfsoverlay", "-isystem-after"],
        Either,
        Refused("the compiler library ignores it"),
    ),
    (
        &["--config"],
        Joined,
        Refused("this program does not read it; name the file as @FILE"),
    ),
    (
        &["-arch"],
        Separate,
        Refused("device code is for the targets of -fsycl-targets"),
    ),
    (
        &[
            "-E",
            "-S",
            "-fsyntax-only",
            "-emit-llvm",
            "--precompile",
            "-emit-ast",
        ],
        Flag,
        Refused(ONLY_SYCLBIN),
    ),
    (
        &["-M", "-MM", "-MG", "-MV", "-MJ", "-dependency-file"],
        Flag,
        Refused("a depfile is written with -MD or -MMD, beside the SYCLBIN file"),
    ),
    (&["-m32", "-m16", "-mx32"], Flag, Refused(NOT_64)),
    (
        &["-fsycl-device-only"],
        Flag,
        Refused(
            "with it, clang++ writes LLVM bitcode even with -fsyclbin; leave it out, and `cargo syclbin extract` \
             writes the SPIR-V of the file",
        ),
    ),
    (
        &["-fno-sycl"],
        Flag,
        Refused("it wins over -fsyclbin in clang++; leave it out"),
    ),
    (
        &["--no-offload-new-driver", "-fno-offload-new-driver"],
        Flag,
        Refused("the old driver of clang++ writes no SYCLBIN file"),
    ),
    (
        &["-working-directory", "-save-temps", "--save-temps"],
        Joined,
        Refused(
            "the compiler library does not support it; run this program in the directory you want, without \
             intermediate files",
        ),
    ),
    (
        &[
            "--persistent-auto-pch",
            "--auto-pch",
            "-include-pch",
            "-fpch-",
        ],
        Joined,
        Refused(
            "with precompiled headers, the compiler library loses the aspects of kernels; include \
             <syclbin/kernel.hpp> instead of <sycl/sycl.hpp>, which is faster still",
        ),
    ),
    (
        &[
            "-Xsycl-target-linker",
            "-Xdevice-post-link",
            "-Xoffload-linker",
            "-fsycl-link-",
            "-fsycl-link=",
            "--no-offload-arch=",
        ],
        Joined,
        Refused("this program has no such step; use a DPC++ clang++ (SYCLBIN_CLANG)"),
    ),
];

/// An option on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known<'a> {
    /// Its name.
    pub(crate) name: &'static str,
    pub(crate) treatment: Treatment,
    /// Its value, if that is in the same argument.
    pub(crate) value: Option<&'a str>,
    /// Whether its value is the next argument.
    pub(crate) next: bool,
}

/// Returns the row for `argument`. The longest matching name wins.
pub(crate) fn find(argument: &str) -> Option<Known<'_>> {
    let mut best: Option<Known<'_>> = None;
    for (names, form, treatment) in ROWS {
        for &name in names {
            let Some(rest) = argument.strip_prefix(name) else {
                continue;
            };
            let (value, next) = match form {
                Flag if rest.is_empty() => (None, false),
                Separate if rest.is_empty() => (None, true),
                Joined => (Some(rest), false),
                Either if rest.is_empty() => (None, true),
                Either => (Some(rest), false),
                Flag | Separate => continue,
            };
            if best.is_none_or(|best| best.name.len() < name.len()) {
                best = Some(Known {
                    name,
                    treatment,
                    value,
                    next,
                });
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_is_in_two_rows() {
        let mut names: Vec<_> = ROWS.iter().flat_map(|(names, ..)| *names).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn the_longest_name_counts_and_values_are_found() {
        let found = |argument| find(argument).map(|known| (known.name, known.value, known.next));
        assert_eq!(found("-include"), Some(("-include", None, true)));
        assert_eq!(
            found("-includea.hpp"),
            Some(("-include", Some("a.hpp"), false))
        );
        assert_eq!(
            found("-include-pchx"),
            Some(("-include-pch", Some("x"), false))
        );
        assert_eq!(found("-isystemx"), Some(("-isystem", Some("x"), false)));
        assert_eq!(found("-Ix"), Some(("-I", Some("x"), false)));
        assert_eq!(found("-lm"), Some(("-l", Some("m"), false)));
        assert_eq!(found("-MD"), Some(("-MD", None, false)));
        assert_eq!(found("-undef"), Some(("-undef", None, false)));
        assert_eq!(found("-Wall"), None);
        assert_eq!(found("-static-pie"), None);
        assert_eq!(found("-fsycl-unnamed-lambda"), None);
        assert_eq!(found("--include=x"), Some(("--include=", Some("x"), false)));
        assert_eq!(found("--include-directory=x"), None);
    }
}
