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
const NOT_64: &str = "only 64-bit SYCL device code is supported";

/// A form, a treatment, and the options that have them.
type Row = (Form, Treatment, &'static str);

const ROWS: [Row; 29] = [
    // Options that this program reads.
    (
        Flag,
        Ours,
        "-fsyclbin -fsycl-link -v --verbose -### --version --help -h -help -w -Qunused-arguments -MD -MMD -MP \
         -fsycl-allow-device-image-dependencies -fno-sycl-allow-device-image-dependencies --build-for-cpu \
         --save-bitcode",
    ),
    (
        Joined,
        Ours,
        "-fsyclbin= -fsycl-targets= --offload-arch= -Wp, --output= -Xsycl-target-backend= -Xsycl-target-frontend= \
         --compile-bitcode= --compile-ptx= --optional-target=",
    ),
    (Either, Ours, "-o -MF -MT -MQ -x -Xs"),
    (
        Separate,
        Ours,
        "--output --language -Xsycl-target-backend -Xsycl-target-frontend",
    ),
    // Options for clang.
    (
        Either,
        Join,
        "-I -D -U -isystem -iquote -idirafter -isysroot -B -F -iprefix -iwithprefix -iwithprefixbefore \
         -cxx-isystem -stdlib++-isystem -iframework -iframeworkwithsysroot -iwithsysroot",
    ),
    (Either, Inner, "-include -imacros"),
    (Separate, Inner, "--include --imacros"),
    (Joined, Inner, "--include= --imacros="),
    (
        Separate,
        Pass,
        "-Xclang -Xpreprocessor -Xarch_device --param -target --sysroot --include-directory \
         --include-directory-after --define-macro --undefine-macro --prefix -resource-dir -serialize-diagnostics \
         --serialize-diagnostics --system-header-prefix --no-system-header-prefix -ftrapv-handler -mthread-model",
    ),
    (Flag, Pass, "-undef -emit-pch"), // so that they are not taken for -u and -e
    // Options that request the default behavior.
    (Flag, Nothing, "-c -fsycl -pipe --offload-new-driver"),
    (
        Flag,
        Ours,
        "-fsycl-rdc -fgpu-rdc --offload-rdc -foffload-rdc -fno-sycl-rdc -fno-gpu-rdc --no-offload-rdc \
         -fno-offload-rdc",
    ),
    // Options for steps that do not exist here.
    (Either, Unused, "-L -l -T"),
    (Joined, Unused, "-Wl, -Wa, -fuse-ld= -fsycl-host-compiler"),
    (
        Separate,
        Unused,
        "-Xlinker -Xassembler -Xarch_host -Xanalyzer -Xcuda-fatbinary -Xcuda-ptxas -Xopenmp-target -rpath -z -u -e \
         -framework",
    ),
    (
        Flag,
        Unused,
        "-shared -static -pie -no-pie -rdynamic -s -r -t -nostdlib -nostartfiles -nodefaultlibs -nolibsycl \
         -static-libgcc -static-libstdc++ -shared-libgcc",
    ),
    // Options that would mislead.
    // The library hangs or crashes on some of these.
    (
        Joined,
        Refused("the compiler library does not support profiling or coverage of device code"),
        "-fprofile- -fcoverage- --coverage -coverage",
    ),
    (
        Either,
        Refused("the compiler library ignores it"),
        "-mllvm -ivfsoverlay -isystem-after",
    ),
    (
        Joined,
        Refused("this program does not read it; pass the file as @FILE"),
        "--config",
    ),
    (
        Separate,
        Refused("device code is compiled for the targets of -fsycl-targets"),
        "-arch",
    ),
    (
        Flag,
        Refused(ONLY_SYCLBIN),
        "-E -S -fsyntax-only -emit-llvm --precompile -emit-ast",
    ),
    (
        Flag,
        Refused("use -MD or -MMD to write a depfile beside the SYCLBIN file"),
        "-M -MM -MG -MV -MJ -dependency-file",
    ),
    (Flag, Refused(NOT_64), "-m32 -m16 -mx32"),
    (
        Flag,
        Refused(
            "with it, clang++ writes LLVM bitcode even with -fsyclbin; remove it, and use `cargo syclbin extract` to \
             write the SPIR-V of the file",
        ),
        "-fsycl-device-only",
    ),
    (
        Flag,
        Refused("it overrides -fsyclbin in clang++; remove it"),
        "-fno-sycl",
    ),
    (
        Flag,
        Refused("the old driver of clang++ cannot write SYCLBIN files"),
        "--no-offload-new-driver -fno-offload-new-driver",
    ),
    (
        Joined,
        Refused(
            "the compiler library does not support it; run this program in the directory you want, without \
             intermediate files",
        ),
        "-working-directory -save-temps --save-temps",
    ),
    (
        Joined,
        Refused(
            "with precompiled headers, the compiler library loses the aspects of kernels; include \
             <syclbin/kernel.hpp> instead of <sycl/sycl.hpp>, which is even faster",
        ),
        "--persistent-auto-pch --auto-pch -include-pch -fpch-",
    ),
    (
        Joined,
        Refused("this program has no such step; use a DPC++ clang++ (SYCLBIN_CLANG)"),
        "-Xspirv-translator -Xsycl-target-linker -Xdevice-post-link -Xoffload-linker -fsycl-link- -fsycl-link= --no-offload-arch=",
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
    for (form, treatment, names) in ROWS {
        for name in names.split(' ') {
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
        let rows = ROWS.iter();
        let mut names: Vec<_> = rows.flat_map(|(.., names)| names.split(' ')).collect();
        let all = names.len();
        names.sort_unstable();
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
