// SPDX-License-Identifier: MIT OR Apache-2.0
//! Driver settings: the environment variables that change the code that drivers make from the same source.
//!
//! Drivers do not report these variables, so their names are listed here. If a name is missing, the cache may
//! return a program with other settings. An unneeded name only causes another build.

use std::ffi::OsString;

/// The prefixes of Intel's CPU device, of Intel's compiler and driver for GPUs, of PoCL, and of Mesa's drivers
/// and the LLVM below them. The last two of Intel's GPUs are the prefixes of its assembler and of its newer
/// debug keys.
const PREFIXES: &[&str] = &[
    "CL_CONFIG_",
    "VOLCANO_",
    "IGC_",
    "VISA_",
    "NEO_",
    "POCL_",
    "RUSTICL_",
    "MESA_",
    "INTEL_DEBUG",
    "RADV_DEBUG",
    "AMD_DEBUG",
];
/// Intel's compiler for GPUs reads this variable without the prefix that its others have.
const NAMES: &[&str] = &["OverrideDefaultFP64Settings"];
/// If this is set to a number other than 0, Intel's driver for GPUs reads hundreds of variables without a
/// prefix.
const READS_DEBUG_KEYS: &str = "NEOReadDebugKeys";

/// Returns the settings of this process, by name.
pub(crate) fn of_environment() -> Vec<(OsString, OsString)> {
    among(std::env::vars_os())
}

/// Returns the settings among `variables`, by name.
pub(crate) fn among(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let variables: Vec<_> = variables.collect();
    let reads_debug_keys = variables.iter().any(|(name, value)| {
        name == READS_DEBUG_KEYS && !value.is_empty() && value.as_encoded_bytes() != b"0"
    });
    let decides = |name: &OsString| {
        let Some(name) = name.to_str() else {
            return false;
        };
        NAMES.contains(&name)
            || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || reads_debug_keys && is_debug_key(name)
    };
    let mut found: Vec<_> = variables
        .into_iter()
        .filter(|(name, _)| decides(name))
        .collect();
    found.sort();
    found
}

/// Returns whether the name looks like such a debug key, for instance `ForceSimdSize`. Taking all other
/// variables would defeat the cache: the launchers of clusters give each process some variables of its own.
fn is_debug_key(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric())
        && name.chars().any(|c| c.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(variables: &[(&str, &str)]) -> Vec<String> {
        let variables = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        let found = among(variables);
        found
            .into_iter()
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn only_settings_that_affect_code_are_selected() {
        let variables = [
            ("PATH", "/bin"),
            ("VISA_optlevel", "0"),
            ("IGC_ForceOCLSIMDWidth", "8"),
            ("OverrideDefaultFP64Settings", "1"),
            ("CL_CONFIG_CPU_TARGET_ARCH", "corei7"),
            ("ForceSimdSize", "8"),
            ("PBS_JOBID", "7"),
        ];
        let expected = [
            "CL_CONFIG_CPU_TARGET_ARCH",
            "IGC_ForceOCLSIMDWidth",
            "OverrideDefaultFP64Settings",
            "VISA_optlevel",
        ];
        assert_eq!(names(&variables), expected);
        let mut reversed = variables;
        reversed.reverse();
        assert_eq!(names(&reversed), expected);
    }

    #[test]
    fn unprefixed_settings_count_if_the_driver_reads_them() {
        let with = |on| {
            names(&[
                ("NEOReadDebugKeys", on),
                ("ForceSimdSize", "8"),
                ("HOSTNAME", "a"),
                ("PMIX_RANK", "1"),
            ])
        };
        assert_eq!(with("1"), ["ForceSimdSize", "NEOReadDebugKeys"]);
        assert!(with("0").is_empty() && with("").is_empty());
    }
}
