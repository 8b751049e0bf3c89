// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::backend::BuildOptions;
use crate::backend::failure::Failure;
use crate::queue::Queue;
use std::path::PathBuf;

#[test]
fn only_processors_have_features() {
    let features = features_for(DeviceKind::Cpu).unwrap();
    let is_arm_linux = cfg!(all(target_os = "linux", target_arch = "aarch64"));
    if is_arm_linux || cfg!(target_arch = "x86_64") {
        assert!(!features.is_empty());
    }
    assert_eq!(cfg!(target_arch = "x86_64"), !detected().is_empty());
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
        code: spirv.into(),
        constants: Vec::new(),
        options: BuildOptions::default(),
    }
}

fn ir(spirv: &[u8]) -> [Source<'_>; 1] {
    [of(spirv)]
}

/// Returns a context of a device whose programs are cached.
fn context(queue: &Queue) -> Option<Context> {
    let context = queue.raw().context();
    if Arc::clone(&context).caching().is_none() {
        crate::common::say_skipped("the driver caches programs itself");
        return None;
    }
    Some(context)
}

fn origin(
    context: &Context,
    spirv: &[u8],
    shared: bool,
    cache: Option<&Store>,
) -> (Program, Origin) {
    match get(context, &ir(spirv), shared, cache) {
        Ok(got) => got,
        Err(error) => panic!("{}", error.log),
    }
}

#[test]
fn keys_tell_inputs_releases_and_devices_apart() {
    let facts = Facts::default();
    let other = Facts {
        driver_version: "2".to_owned(),
        ..Facts::default()
    };
    let with = |name: &str, value: u8| {
        let constants = vec![(name.to_owned(), vec![value])];
        [Source {
            constants,
            ..of(b"ab")
        }]
    };
    let optimized = |compile: &str, link: &str| {
        let options = BuildOptions {
            reversible: false,
            compile: compile.to_owned(),
            link: link.to_owned(),
        };
        [Source {
            options,
            ..of(b"ab")
        }]
    };
    let two = |a: &'static [u8], b: &'static [u8]| [of(a), of(b)];
    let plain = |facts, modules: &[Source<'_>]| key(RELEASE, facts, &[], modules);
    let set = |name: &str, value: &str| {
        let environment = [(name.into(), value.into())];
        key(RELEASE, &facts, &environment, &ir(b"ab"))
    };
    let keys = [
        plain(&facts, &ir(b"ab")),
        plain(&other, &ir(b"ab")),
        plain(&facts, &ir(b"abc")),
        plain(&facts, &with("a", 1)),
        plain(&facts, &with("a", 2)),
        plain(&facts, &with("b", 1)),
        plain(&facts, &optimized("-cl-opt-disable", "")),
        plain(&facts, &optimized("", "-vc-codegen")),
        plain(&facts, &two(b"a", b"b")),
        plain(&facts, &two(b"", b"ab")),
        set("IGC_A", "1"),
        set("IGC_A", "2"),
        set("IGC_B", "1"),
        key("0.0.1", &facts, &[], &ir(b"ab")),
    ];
    let distinct: std::collections::BTreeSet<Key> = keys.into();
    assert_eq!(distinct.len(), keys.len());
    assert_eq!(plain(&facts, &ir(b"ab")), keys[0]);
}

#[test]
fn options_reach_driver_for_build_and_link() {
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
        Failure::Rejected(_) | Failure::Missing { .. } => "",
    };
    let with = |options: &str| {
        let options = BuildOptions {
            reversible: false,
            compile: options.to_owned(),
            link: String::new(),
        };
        let mut modules = vec![Source {
            options: options.clone(),
            ..of(&spirv)
        }];
        let alone = get(context, &modules, false, None).map(|_| ());
        modules.push(Source {
            options,
            ..of(&linked.modules[0].images[0].bytes)
        });
        let both = get(context, &modules, false, None).map(|_| ());
        [alone, both].map(|built| built.map_err(call))
    };
    assert_eq!(with("-cl-opt-disable"), [Ok(()), Ok(())]);
    let refused = [Err("clBuildProgram"), Err("clCompileProgram")];
    assert_eq!(with("a\0b"), refused);
    let unknown = with("-cl-no-such-option");
    if unknown == [Ok(()), Ok(())] {
        crate::common::say_skipped("the rest: a driver that refuses unknown options");
        return;
    }
    assert_eq!(unknown, refused);
}

#[test]
fn program_is_shared_until_last_user_drops() {
    let Some(queue) = crate::common::queue() else {
        return;
    };
    let Some(context) = &context(&queue) else {
        return;
    };
    let spirv = spirv();
    let (first, origin_of_first) = origin(context, &spirv, true, None);
    let (second, origin_of_second) = origin(context, &spirv, true, None);
    assert!(Arc::ptr_eq(&first, &second));
    // Another test may already have loaded the same program.
    assert_ne!(origin_of_first, Origin::Cache);
    assert_eq!(origin_of_second, Origin::Process);
    let (alone, _) = origin(context, &spirv, false, None);
    assert!(!Arc::ptr_eq(&first, &alone));
}

#[test]
fn a_new_program_evicts_only_programs_without_users() {
    let Some(queue) = crate::common::queue() else {
        return;
    };
    let Some(context) = &context(&queue) else {
        return;
    };
    // The generator numbers are unique, so no other test uses these programs.
    let [kept, unused, new] = [101, 102, 103].map(|tool| {
        let mut code = spirv();
        code[8] = tool;
        code
    });
    let get = |code| origin(context, code, true, None);
    let (program, _) = get(&kept);
    drop(get(&unused));
    drop(get(&new));
    let (again, origin) = get(&kept);
    assert!(Arc::ptr_eq(&program, &again));
    assert_eq!(origin, Origin::Process);
    let settings = among(env::vars_os());
    let key = key(RELEASE, context.device().facts(), &settings, &ir(&unused));
    let programs = IN_USE.lock().unwrap();
    assert!(!programs.contains_key(&(context.address(), key)));
}

#[test]
fn damaged_cache_entry_is_built_again() {
    let Some(queue) = crate::common::queue() else {
        return;
    };
    let Some(context) = &context(&queue) else {
        return;
    };
    let spirv = spirv();
    let folder = folder("cache");
    let cache = Store::new(folder.clone(), LIMIT);
    let get = || origin(context, &spirv, false, Some(&cache)).1;
    get();
    assert_eq!(get(), Origin::Cache);
    let entry = std::fs::read_dir(&folder).unwrap();
    let mut entries = entry.map(|entry| entry.unwrap().path());
    let entry = entries.find(|path| path.extension().is_some_and(|end| end == "program"));
    drop(entries); // Windows cannot remove a directory that is being listed
    let entry = entry.unwrap();
    let whole = std::fs::read(&entry).unwrap();
    std::fs::write(&entry, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(get(), Origin::Built);
    assert_eq!(std::fs::read(&entry).unwrap().len(), whole.len());
    // The entry is complete, but the driver cannot use it.
    let settings = among(env::vars_os());
    let key = key(RELEASE, context.device().facts(), &settings, &ir(&spirv));
    // Another test of this process may have loaded native code from a file in the meantime.
    let variant = Arc::clone(context)
        .caching()
        .unwrap()
        .variant()
        .map(|variant| key_for(&key, variant));
    for key in std::iter::once(key).chain(variant) {
        cache.write(&file_name(&key), b"\x7fELF no");
    }
    assert_eq!(get(), Origin::Built);
    assert_eq!(get(), Origin::Cache);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn threads_use_the_cache_while_others_compile() {
    let Some(queue) = crate::common::queue() else {
        return;
    };
    let Some(context) = &context(&queue) else {
        return;
    };
    let spirv = spirv();
    let folder = folder("threads");
    let cache = Store::new(folder.clone(), LIMIT);
    let first = origin(context, &spirv, false, Some(&cache));
    assert_eq!(first.1, Origin::Built);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (cache, spirv) = (&cache, &spirv);
            scope.spawn(move || {
                for _ in 0..5 {
                    let cache = Some(cache).filter(|_| thread > 0);
                    let (program, from) = origin(context, spirv, false, cache);
                    let expected = match cache {
                        Some(_) => Origin::Cache,
                        None => Origin::Built,
                    };
                    assert_eq!(from, expected);
                    assert!(program.binary().is_ok());
                }
            });
        }
    });
    std::fs::remove_dir_all(folder).unwrap();
}
