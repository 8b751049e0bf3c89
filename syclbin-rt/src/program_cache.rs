// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program cache, which avoids building the same program again, even in another process.
//!
//! The key of a program covers everything that determines its code: images, options, constants, device, driver, and the
//! environment variables that drivers read. Modules with device globals share cache entries but not loaded programs,
//! because each module has its own variables.

#[cfg(test)]
#[path = "program_cache_tests.rs"]
mod tests;

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Instant;

use hmac_sha256::Hash as Sha256;
use syclbin_toolchain::store::{self, CACHE_VARIABLE, Store, hex};
use syclbin_toolchain::{HOME_VARIABLE, Home};

use crate::backend::{
    BuildError, Caches, CallGuard, Context, DeviceKind, Facts, Program, Source, WeakProgram,
    host_features,
};
use crate::error::counted;
use crate::log;
use crate::trace::{self, Class};

/// The maximum total size of all entries, in bytes.
const LIMIT: u64 = 256 << 20;

const RELEASE: &str = env!("CARGO_PKG_VERSION");

pub(crate) type Key = [u8; 32];

/// Returns the persistent cache of native code from drivers, in `$SYCLBIN_CACHE/programs`, or else in `programs` in the
/// toolchain's home directory. Returns `None` if caching is disabled or no directory is usable.
pub(crate) fn of_environment() -> Option<Store> {
    static WARNED: Once = Once::new();

    let configured = env::var_os(CACHE_VARIABLE).filter(|value| !value.is_empty());
    let home = Home::locate(env::var_os(HOME_VARIABLE).as_deref());
    let directory = store::directory(configured.as_deref(), home.ok().as_ref(), "programs");
    let warn = |problem: &String| WARNED.call_once(|| log::warn(problem));
    let directory = directory.inspect_err(warn).ok()??;
    Some(Store::new(directory, LIMIT))
}

fn file_name(key: &Key) -> String {
    hex(*key) + ".program"
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Another module in this process already uses the program.
    Process,
    /// An earlier process built the program.
    Cache,
    /// The program was built for this request.
    Built,
}

/// Refers to a program that this process may still use. Locked while the program is built.
type Slot = Arc<Mutex<Option<WeakProgram>>>;

/// The programs in use, by context address and key.
static IN_USE: Mutex<BTreeMap<(usize, Key), Slot>> = Mutex::new(BTreeMap::new());

/// Returns a program for these modules, building it if necessary. If it is `shared`, later requests in this process for
/// the same modules return the same program while it is in use.
pub(crate) fn get(
    context: &Context,
    modules: &[Source<'_>],
    shared: bool,
    cache: Option<&Store>,
) -> Result<(Program, Origin), BuildError> {
    let mut span = trace::span(Class::Program, "compiling", 0);
    let got = find_or_build(context, modules, shared, cache);
    if let Ok((_, origin)) = &got {
        span.rename(match origin {
            Origin::Process => "already in use",
            Origin::Cache => "read from the cache",
            Origin::Built => "compiling",
        });
    }
    got
}

fn find_or_build(
    context: &Context,
    modules: &[Source<'_>],
    shared: bool,
    cache: Option<&Store>,
) -> Result<(Program, Origin), BuildError> {
    let Some(context) = &Arc::clone(context).caching() else {
        return Ok((Arc::clone(context).build(modules)?, Origin::Built));
    };
    let settings = among(env::vars_os());
    let key = key(RELEASE, context.device().facts(), &settings, modules);
    if !shared {
        return build(context, modules, &key, cache);
    }
    let slot = slot((context.address(), key));
    // Must precede the lock: once the process is exiting, `CallGuard::new` blocks forever, and the exiting thread may
    // need the lock.
    let _guard = CallGuard::new();
    let mut kept = slot.lock().unwrap_or_else(PoisonError::into_inner);
    // A live program keeps its context alive, so no other context has the same address.
    if let Some(program) = kept.as_ref().and_then(WeakProgram::upgrade) {
        log::debug("sharing a program with another module in this process");
        return Ok((program, Origin::Process));
    }
    let (program, origin) = build(context, modules, &key, cache)?;
    *kept = Some(Arc::downgrade(&program));
    Ok((program, origin))
}

fn slot(key: (usize, Key)) -> Slot {
    let mut slots = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(slot) = slots.get(&key) {
        return Arc::clone(slot);
    }
    // Drop the slots that no other thread holds and whose program is gone.
    slots.retain(|_, slot| {
        Arc::get_mut(slot).is_none_or(|slot| {
            let kept = slot.get_mut().unwrap_or_else(PoisonError::into_inner);
            kept.as_ref().is_some_and(|kept| kept.strong_count() > 0)
        })
    });
    Arc::clone(slots.entry(key).or_default())
}

fn build(
    context: &Arc<dyn Caches>,
    modules: &[Source<'_>],
    key: &Key,
    cache: Option<&Store>,
) -> Result<(Program, Origin), BuildError> {
    let Some(cache) = cache else {
        return Ok((compile(context, modules)?, Origin::Built));
    };
    // A key without a variant belongs to a program that was built before its process loaded native code from a file.
    // Any process that accepts such a program can use it, so this key is tried first.
    let variant = context.variant();
    for key in std::iter::once(*key).chain(variant.map(|variant| key_for(key, variant))) {
        let Some(code) = cache.read(&file_name(&key)) else {
            continue;
        };
        match Arc::clone(context).build_cached(&code) {
            Ok(Some(program)) => {
                log::debug("using a cached program, which was compiled in an earlier run");
                return Ok((program, Origin::Cache));
            }
            Ok(None) => log::debug(
                "ignoring a cached program, because it was compiled for a different processor",
            ),
            Err(error) => {
                log::warn(format_args!(
                    "recompiling a cached program, because the driver rejected it: {error}"
                ));
                cache.remove(&file_name(&key));
            }
        }
    }
    let program = compile(context, modules)?;
    // Query the variant again, because another thread may have loaded native code during the build.
    if let Ok(code) = program.binary()
        && let Some(variant) = context.variant_of_own(&code)
    {
        let key = variant.map_or(*key, |variant| key_for(key, variant));
        cache.write(&file_name(&key), &code);
    }
    Ok((program, Origin::Built))
}

fn compile(context: &Arc<dyn Caches>, modules: &[Source<'_>]) -> Result<Program, BuildError> {
    let start = Instant::now();
    let program = Arc::clone(context).build(modules)?;
    let bytes: usize = modules.iter().map(|module| module.code.len()).sum();
    log::info(format_args!(
        "{} compiled {bytes} bytes of SPIR-V ({}) in {:.1?}",
        context.device().facts().name,
        counted(modules.len(), "module"),
        start.elapsed()
    ));
    Ok(program)
}

/// Returns the key of programs that are compiled after native code for the processor `variant` was loaded from a file.
/// Loading such code can make the driver compile for a less capable processor.
fn key_for(key: &Key, variant: [u8; 4]) -> Key {
    let mut hash = Sha256::new();
    hash.update(key);
    hash.update(b"after native code for");
    hash.update(variant);
    hash.finalize()
}

/// Returns the cache key of the program for `modules`. Different releases of this crate do not share entries.
fn key(
    release: &str,
    facts: &Facts,
    environment: &[(OsString, OsString)],
    modules: &[Source<'_>],
) -> Key {
    let mut hash = Sha256::new();
    // Each part is preceded by its length, so that different lists of parts never hash the same bytes.
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    add(format!("syclbin-rt {release}").as_bytes());
    for part in [
        &facts.platform,
        &facts.name,
        &facts.vendor,
        &facts.version,
        &facts.driver_version,
        &facts.extensions,
    ] {
        add(part.as_bytes());
    }
    if let Some(features) = features_for(facts.kind) {
        add(features.as_bytes());
    }
    if let Some(system) = &facts.other_system {
        add(system.as_bytes());
    }
    for (name, value) in environment {
        add(name.as_encoded_bytes());
        add(value.as_encoded_bytes());
    }
    add(b"end");
    for module in modules {
        add(&module.code);
        add(module.options.compile.as_bytes());
        add(module.options.link.as_bytes());
        for (name, bytes) in &module.constants {
            add(name.as_bytes());
            add(bytes);
        }
        add(b"end");
    }
    hash.finalize()
}

/// Returns the host processor's features, if the driver compiles for that processor. They are part of the key, because
/// several machines may share a home directory, and virtual machines with the same processor name may differ in their
/// features.
fn features_for(kind: DeviceKind) -> Option<String> {
    (kind == DeviceKind::Cpu).then(|| match host_features() {
        listed if listed.is_empty() => detected(),
        listed => listed,
    })
}

/// Returns the CPU features that Rust detects, as a digit each, for systems that do not list features.
fn detected() -> String {
    #[cfg(target_arch = "x86_64")]
    {
        macro_rules! detected {
            ($($name:tt)*) => { [$(std::arch::is_x86_feature_detected!($name)),*] };
        }
        let known = detected! {
            "sse4.2" "avx" "avx2" "fma" "f16c" "bmi2" "avx512f" "avx512bw" "avx512vl" "avx512dq" "avx512vnni" "avx512bf16"
        };
        let digits = known.iter().map(|has| if *has { '1' } else { '0' });
        digits.collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    String::new()
}

/// Prefixes of environment variables that affect the code that Intel's CPU and GPU drivers, PoCL and Mesa generate.
/// Intel's GPU assembler reads `VISA_` variables; newer debug keys of Intel's GPU driver start with `NEO_`.
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
/// Variables of Intel's GPU compiler that lack its usual prefix.
const NAMES: &[&str] = &["OverrideDefaultFP64Settings"];
/// If this variable is set to a number other than 0, Intel's GPU driver reads hundreds of unprefixed variables.
const READS_DEBUG_KEYS: &str = "NEOReadDebugKeys";

/// Returns those `variables` that change the code that drivers generate, sorted by name.
///
/// Drivers do not report these variables, so this file lists their names. If a name is missing, the cache may return a
/// program that was built with other settings. An unneeded name only causes an extra build.
fn among(variables: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<_> = variables.collect();
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
    variables.retain(|(name, _)| decides(name));
    variables.sort();
    variables
}

/// Returns whether the name looks like an unprefixed debug key, such as `ForceSimdSize`. Including all other
/// variables would defeat the cache, because cluster launchers set variables that differ between processes.
fn is_debug_key(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric())
        && name.chars().any(|c| c.is_ascii_lowercase())
}

#[cfg(test)]
mod settings_tests {
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
                ("http", "a"),
                ("Host_name", "a"),
                ("PMIX_RANK", "1"),
            ])
        };
        assert_eq!(with("1"), ["ForceSimdSize", "NEOReadDebugKeys"]);
        assert!(with("0").is_empty() && with("").is_empty());
    }
}
