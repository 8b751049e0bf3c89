//! Driver settings: the variables of the environment by which drivers make other code of the same.
//!
//! Drivers do not tell them, so they are known here by name. One that is missing means a program of
//! other settings from the cache, one too many that it is built once more.

use std::ffi::OsString;

/// Of Intel's CPU device, of Intel's compiler and driver for GPUs (the last two are its assembler's
/// and its newer debug keys'), of PoCL, and of Mesa's drivers and the LLVM below them.
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
/// Read by Intel's compiler for GPUs without the prefix that its others have.
const NAMES: &[&str] = &["OverrideDefaultFP64Settings"];
/// Where it is set to another number than 0, Intel's driver for GPUs reads hundreds of variables that
/// have no prefix.
const READS_DEBUG_KEYS: &str = "NEOReadDebugKeys";

/// Those of this process, by name.
pub(crate) fn of_environment() -> Vec<(OsString, OsString)> {
    among(std::env::vars_os())
}

/// Those of `variables`, by name.
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

/// Whether the name looks as those keys do, such as `ForceSimdSize`. All other variables are no way
/// to ask: the launchers of clusters give each process some of its own.
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
    fn what_decides_over_code_is_told_from_the_rest_in_whatever_order_it_comes() {
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
    fn keys_without_prefix_count_where_the_driver_is_told_to_read_them() {
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
