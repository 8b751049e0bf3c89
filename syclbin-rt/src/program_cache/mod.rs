// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs: each is built once for a device and values of constants, in a process and between processes.
//!
//! The key of a program covers everything that determines its code: images, options, constants, device, driver,
//! and the environment variables that drivers read. Modules with device globals share no program, because each
//! module has its own variables.

pub(crate) mod disk;
mod driver_settings;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use hmac_sha256::Hash as Sha256;

use crate::backend::failure::BuildError;
use crate::backend::gate::CallGuard;
use crate::backend::{Context, Program, Source, WeakProgram};
use crate::device::facts::{DeviceKind, Facts};
use crate::log;
use crate::program_cache::disk::{Cache, Key};
use crate::trace::{self, Class};

/// The origin of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It existed already: another module in this process has it, too.
    Process,
    /// An earlier process built it.
    Cache,
    /// It was built now.
    Built,
}

/// The modules that may share a program with the module that requests it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Every module of this process.
    All,
    /// No other module: the program has variables, and each module has its own.
    None,
}

/// A program of this process; locked while it is built.
type Slot = Arc<Mutex<Option<WeakProgram>>>;

/// The programs in use, by the address of the context and the key.
static IN_USE: Mutex<Option<HashMap<(usize, Key), Slot>>> = Mutex::new(None);

/// Returns a program of these modules.
pub(crate) fn get(
    context: &Context,
    modules: &[Source<'_>],
    sharing: Sharing,
    cache: Option<&Cache>,
) -> Result<(Program, Origin), BuildError> {
    let mut span = trace::span(Class::Program, "compiling", 0);
    let got = find_or_build(context, modules, sharing, cache);
    if let Ok((_, origin)) = &got {
        span.rename(match origin {
            Origin::Process => "in use already",
            Origin::Cache => "read from the cache",
            Origin::Built => "compiling",
        });
    }
    got
}

fn find_or_build(
    context: &Context,
    modules: &[Source<'_>],
    sharing: Sharing,
    cache: Option<&Cache>,
) -> Result<(Program, Origin), BuildError> {
    if !context.keeps_programs() {
        return Ok((Arc::clone(context).build(modules)?, Origin::Built));
    }
    let settings = driver_settings::of_environment();
    let key = key(context.device().facts(), &settings, modules);
    if sharing == Sharing::None {
        return build(context, modules, &key, cache);
    }
    let slot = slot((context.address(), key));
    // A thread that exits may load the same program.
    let _guard = CallGuard::new();
    let mut kept = slot.lock().unwrap_or_else(PoisonError::into_inner);
    // A program keeps its context alive, so no other context has its address.
    if let Some(program) = kept.as_ref().and_then(WeakProgram::upgrade) {
        log::debug(format_args!("a program is in use already"));
        return Ok((program, Origin::Process));
    }
    let (program, origin) = build(context, modules, &key, cache)?;
    *kept = Some(Arc::downgrade(&program));
    Ok((program, origin))
}

fn slot(key: (usize, Key)) -> Slot {
    let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    let slots = in_use.get_or_insert_default();
    if let Some(slot) = slots.get(&key) {
        return Arc::clone(slot);
    }
    // Removes the slots that no other thread holds and whose program is gone.
    slots.retain(|_, slot| {
        let alive = |slot: &Slot| match slot.try_lock() {
            Ok(program) => program
                .as_ref()
                .is_some_and(|program| program.strong_count() > 0),
            Err(_) => true,
        };
        Arc::strong_count(slot) > 1 || alive(slot)
    });
    let slot = Slot::default();
    slots.insert(key, Arc::clone(&slot));
    slot
}

fn build(
    context: &Context,
    modules: &[Source<'_>],
    key: &Key,
    cache: Option<&Cache>,
) -> Result<(Program, Origin), BuildError> {
    let Some(cache) = cache else {
        return Ok((compile(context, modules)?, Origin::Built));
    };
    // A program that was made before the process loaded native code from a file suits every process that it
    // fits.
    let variant = context.variant();
    let keys = std::iter::once(*key).chain(variant.map(|variant| key_for(key, variant)));
    for key in keys {
        let Some(code) = cache.read(&key) else {
            continue;
        };
        match Arc::clone(context).build_cached(&code) {
            Ok(Some(program)) => {
                log::debug(format_args!("a program was compiled in an earlier run"));
                return Ok((program, Origin::Cache));
            }
            Ok(None) => log::debug(format_args!(
                "a program that was kept is not taken, as it is for another processor"
            )),
            // The driver is not the expected driver.
            Err(error) => {
                log::warn(format_args!(
                    "a program that was kept is compiled anew, as the driver does not take it: {error}"
                ));
                cache.remove(&key);
            }
        }
    }
    let program = compile(context, modules)?;
    // The variant is checked now: another thread may have loaded native code meanwhile.
    if let Ok(code) = program.binary()
        && let Some(variant) = context.variant_of_own(&code)
    {
        let key = variant.map_or(*key, |variant| key_for(key, variant));
        cache.write(&key, &code);
    }
    Ok((program, Origin::Built))
}

fn compile(context: &Context, modules: &[Source<'_>]) -> Result<Program, BuildError> {
    let start = Instant::now();
    let program = Arc::clone(context).build(modules)?;
    let bytes: usize = modules.iter().map(|module| module.code.len()).sum();
    log::info(format_args!(
        "{} compiled {bytes} bytes of SPIR-V ({} modules) in {:.1?}",
        context.device().facts().name,
        modules.len(),
        start.elapsed()
    ));
    Ok(program)
}

/// Returns the key of programs that are compiled after native code for the processor `variant` came out of a
/// file. That code may have lowered the driver's target.
fn key_for(key: &Key, variant: [u8; 4]) -> Key {
    let mut hash = Sha256::new();
    hash.update(key);
    hash.update(b"after native code for");
    hash.update(variant);
    hash.finalize()
}

/// Returns the key: a hash of everything that determines the code that a driver makes.
fn key(facts: &Facts, environment: &[(OsString, OsString)], modules: &[Source<'_>]) -> Key {
    key_of_release(env!("CARGO_PKG_VERSION"), facts, environment, modules)
}

/// Returns the key in the release `release` of this crate. No release uses what another one stored.
fn key_of_release(
    release: &str,
    facts: &Facts,
    environment: &[(OsString, OsString)],
    modules: &[Source<'_>],
) -> Key {
    let mut hash = Sha256::new();
    // Each part follows its length, so that two lists of parts never look alike.
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

/// Returns the processor features that determine the code of a driver that compiles for this processor.
fn features_for(kind: DeviceKind) -> Option<String> {
    (kind == DeviceKind::Cpu).then(features)
}

/// Returns the features of the processor. Virtual machines of the same name may differ in them, and several
/// machines may share a home directory.
fn features() -> String {
    #[cfg(target_arch = "x86_64")]
    {
        let known = [
            std::arch::is_x86_feature_detected!("sse4.2"),
            std::arch::is_x86_feature_detected!("avx"),
            std::arch::is_x86_feature_detected!("avx2"),
            std::arch::is_x86_feature_detected!("fma"),
            std::arch::is_x86_feature_detected!("f16c"),
            std::arch::is_x86_feature_detected!("bmi2"),
            std::arch::is_x86_feature_detected!("avx512f"),
            std::arch::is_x86_feature_detected!("avx512bw"),
            std::arch::is_x86_feature_detected!("avx512vl"),
            std::arch::is_x86_feature_detected!("avx512dq"),
            std::arch::is_x86_feature_detected!("avx512vnni"),
            std::arch::is_x86_feature_detected!("avx512bf16"),
        ];
        known
            .map(|has| if has { '1' } else { '0' })
            .iter()
            .collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    String::new()
}
