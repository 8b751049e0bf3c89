//! Programs: each is built once for a device and values of constants, in a process and between processes.
//!
//! The key of a program covers everything that determines its code: images, options, constants, device, driver,
//! and the environment variables that drivers read. Modules with device globals share no program, because each
//! module has its own variables.

pub(crate) mod disk;
mod driver_settings;

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use hmac_sha256::Hash as Sha256;

use crate::backend::dispatch::context::Context;
use crate::backend::dispatch::program::{Program, WeakProgram};
use crate::backend::failure::BuildError;
use crate::backend::process::gate::Passage;
use crate::backend::source::{Constants, Source};
use crate::device::facts::{DeviceKind, Facts};
use crate::log;
use crate::program_cache::disk::{Cache, Key};

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
    if !context.keeps_programs() {
        return Ok((Program::build(context, modules)?, Origin::Built));
    }
    let settings = driver_settings::of_environment();
    let key = key(context.device().facts(), &settings, modules);
    if sharing == Sharing::None {
        return build(context, modules, &key, cache);
    }
    let slot = slot((context.address(), key));
    // A thread that exits may load the same program.
    let _passage = Passage::new();
    let mut kept = slot.lock().unwrap_or_else(PoisonError::into_inner);
    // A program keeps its context alive, so no other context has its address.
    if let Some(program) = kept.as_ref().and_then(WeakProgram::upgrade) {
        log::debug(format_args!("a program is in use already"));
        return Ok((program, Origin::Process));
    }
    let (program, origin) = build(context, modules, &key, cache)?;
    *kept = Some(program.downgrade());
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
            Ok(program) => program.as_ref().is_some_and(WeakProgram::is_alive),
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
        match Program::from_cache(context, &code) {
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
    let program = Program::build(context, modules)?;
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
    let mut hash = Sha256::new();
    // Each part follows its length, so that two lists of parts never look alike.
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    add(concat!("syclbin-rt ", env!("CARGO_PKG_VERSION")).as_bytes());
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
        add(module.code);
        add(module.options.compile.as_bytes());
        add(module.options.link.as_bytes());
        match &module.constants {
            Constants::Numbered(settings) => {
                for setting in settings {
                    add(&setting.id.to_le_bytes());
                    add(&setting.bytes);
                }
            }
            Constants::Named(settings) => {
                for (name, bytes) in settings {
                    add(name.as_bytes());
                    add(bytes);
                }
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::failure::Failure;
    use crate::load::build_options::BuildOptions;
    use crate::module::specialization::Setting;
    use crate::queue::Queue;
    use std::path::PathBuf;

    #[test]
    fn only_processors_have_features() {
        let features = features_for(DeviceKind::Cpu).unwrap();
        assert_eq!(cfg!(target_arch = "x86_64"), !features.is_empty());
        assert!(features.bytes().all(|byte| matches!(byte, b'0' | b'1')));
        for kind in [DeviceKind::Gpu, DeviceKind::Accelerator] {
            assert_eq!(features_for(kind), None);
        }
    }

    fn spirv() -> Vec<u8> {
        let bytes = crate::common::testfile("functor.object.syclbin");
        let file = syclbin::read::parse(&bytes).unwrap();
        file.modules[0].images[0].bytes.to_vec()
    }

    fn folder(name: &str) -> PathBuf {
        let name = format!("syclbin-rt-programs-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    fn of(spirv: &[u8]) -> Source<'_> {
        Source {
            code: spirv,
            constants: Constants::Numbered(Vec::new()),
            options: BuildOptions::default(),
        }
    }

    fn ir(spirv: &[u8]) -> [Source<'_>; 1] {
        [of(spirv)]
    }

    /// Returns the context of a device whose programs are cached.
    fn context(queue: &Queue) -> Option<Context> {
        let context = queue.raw().context();
        if !context.keeps_programs() {
            crate::common::say_skipped("the driver keeps what it compiled itself");
            return None;
        }
        Some(context)
    }

    fn origin(
        context: &Context,
        spirv: &[u8],
        sharing: Sharing,
        cache: Option<&Cache>,
    ) -> (Program, Origin) {
        match get(context, &ir(spirv), sharing, cache) {
            Ok(got) => got,
            Err(error) => panic!("{}", error.log),
        }
    }

    #[test]
    fn keys_tell_code_constants_settings_and_devices_apart() {
        let facts = Facts::default();
        let other = Facts {
            driver_version: "2".to_owned(),
            ..Facts::default()
        };
        let with = |id, value: u8| {
            let bytes = vec![value];
            let constants = Constants::Numbered(vec![Setting { id, bytes }]);
            [Source {
                constants,
                ..of(b"ab")
            }]
        };
        let optimized = |compile: &str, link: &str| {
            let options = BuildOptions {
                compile: compile.to_owned(),
                link: link.to_owned(),
            };
            [Source {
                options,
                ..of(b"ab")
            }]
        };
        let two = |a: &'static [u8], b: &'static [u8]| [of(a), of(b)];
        let plain = |facts, modules: &[Source<'_>]| key(facts, &[], modules);
        let set = |name: &str, value: &str| {
            let environment = [(name.into(), value.into())];
            key(&facts, &environment, &ir(b"ab"))
        };
        let keys = [
            plain(&facts, &ir(b"ab")),
            plain(&other, &ir(b"ab")),
            plain(&facts, &ir(b"abc")),
            plain(&facts, &with(1, 1)),
            plain(&facts, &with(1, 2)),
            plain(&facts, &with(2, 1)),
            plain(&facts, &optimized("-cl-opt-disable", "")),
            plain(&facts, &optimized("", "-vc-codegen")),
            plain(&facts, &two(b"a", b"b")),
            plain(&facts, &two(b"", b"ab")),
            set("IGC_A", "1"),
            set("IGC_A", "2"),
            set("IGC_B", "1"),
        ];
        let distinct: std::collections::BTreeSet<Key> = keys.into();
        assert_eq!(distinct.len(), keys.len());
        assert_eq!(plain(&facts, &ir(b"ab")), keys[0]);
    }

    #[test]
    fn options_reach_the_driver_whether_it_builds_or_links() {
        let Some(queue) = crate::common::queue() else {
            return;
        };
        let Some(context) = &context(&queue) else {
            return;
        };
        let spirv = spirv();
        let linked = crate::common::testfile("vector_ops.object.syclbin");
        let linked = syclbin::read::parse(&linked).unwrap();
        let call = |error: BuildError| match error.failure {
            Failure::Driver { call, .. } => call,
            Failure::Rejected(_) => "",
        };
        let with = |options: &str| {
            let options = BuildOptions {
                compile: options.to_owned(),
                link: String::new(),
            };
            let mut modules = vec![Source {
                options: options.clone(),
                ..of(&spirv)
            }];
            let alone = get(context, &modules, Sharing::None, None).map(|_| ());
            modules.push(Source {
                options,
                ..of(&linked.modules[0].images[0].bytes)
            });
            let both = get(context, &modules, Sharing::None, None).map(|_| ());
            [alone, both].map(|built| built.map_err(call))
        };
        assert_eq!(with("-cl-opt-disable"), [Ok(()), Ok(())]);
        let refused = [Err("clBuildProgram"), Err("clCompileProgram")];
        assert_eq!(with("-cl-no-such-option"), refused);
        assert_eq!(with("a\0b"), refused);
    }

    #[test]
    fn a_process_builds_a_program_once_and_forgets_it_with_its_last_user() {
        let Some(queue) = crate::common::queue() else {
            return;
        };
        let Some(context) = &context(&queue) else {
            return;
        };
        let spirv = spirv();
        let (first, origin_of_first) = origin(context, &spirv, Sharing::All, None);
        let (second, origin_of_second) = origin(context, &spirv, Sharing::All, None);
        assert!(first.is(&second));
        // Another test may have loaded the same program.
        assert_ne!(origin_of_first, Origin::Cache);
        assert_eq!(origin_of_second, Origin::Process);
        let (alone, _) = origin(context, &spirv, Sharing::None, None);
        assert!(!first.is(&alone));
    }

    #[test]
    fn a_new_program_evicts_only_programs_without_users() {
        let Some(queue) = crate::common::queue() else {
            return;
        };
        let Some(context) = &context(&queue) else {
            return;
        };
        // No other test has these programs: another tool made them.
        let [kept, unused, new] = [101, 102, 103].map(|tool| {
            let mut code = spirv();
            code[8] = tool;
            code
        });
        let get = |code| origin(context, code, Sharing::All, None);
        let (program, _) = get(&kept);
        drop(get(&unused));
        drop(get(&new));
        let (again, origin) = get(&kept);
        assert!(program.is(&again));
        assert_eq!(origin, Origin::Process);
        let settings = driver_settings::of_environment();
        let key = key(context.device().facts(), &settings, &ir(&unused));
        let in_use = IN_USE.lock().unwrap();
        let programs = in_use.as_ref().unwrap();
        assert!(!programs.contains_key(&(context.address(), key)));
    }

    #[test]
    fn a_program_is_taken_from_the_cache_and_a_damaged_one_built_anew() {
        let Some(queue) = crate::common::queue() else {
            return;
        };
        let Some(context) = &context(&queue) else {
            return;
        };
        let spirv = spirv();
        let folder = folder("cache");
        let cache = Cache::in_directory(folder.clone());
        let get = || origin(context, &spirv, Sharing::None, Some(&cache)).1;
        get();
        assert_eq!(get(), Origin::Cache);
        let entry = std::fs::read_dir(&folder).unwrap();
        let mut entries = entry.map(|entry| entry.unwrap().path());
        let entry = entries.find(|path| path.extension().is_some_and(|end| end == "program"));
        let entry = entry.unwrap();
        let whole = std::fs::read(&entry).unwrap();
        std::fs::write(&entry, &whole[..whole.len() / 2]).unwrap();
        assert_eq!(get(), Origin::Built);
        assert_eq!(std::fs::read(&entry).unwrap().len(), whole.len());
        // The file is whole, but the driver cannot use it.
        let settings = driver_settings::of_environment();
        let key = key(context.device().facts(), &settings, &ir(&spirv));
        cache.write(&key, b"\x7fELF no");
        assert_eq!(get(), Origin::Built);
        assert_eq!(get(), Origin::Cache);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn threads_take_programs_from_the_cache_while_others_compile() {
        let Some(queue) = crate::common::queue() else {
            return;
        };
        let Some(context) = &context(&queue) else {
            return;
        };
        let spirv = spirv();
        let folder = folder("threads");
        let cache = Cache::in_directory(folder.clone());
        let first = origin(context, &spirv, Sharing::None, Some(&cache));
        assert_eq!(first.1, Origin::Built);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (cache, spirv) = (&cache, &spirv);
                scope.spawn(move || {
                    for _ in 0..5 {
                        let cache = Some(cache).filter(|_| thread > 0);
                        let (program, from) = origin(context, spirv, Sharing::None, cache);
                        let expected = match cache {
                            Some(_) => Origin::Cache,
                            None => Origin::Built,
                        };
                        assert_eq!(from, expected);
                        assert!(program.binary().is_ok() && program.kernel_names().is_ok());
                    }
                });
            }
        });
        std::fs::remove_dir_all(folder).unwrap();
    }
}
