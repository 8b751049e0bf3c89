// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cache: what is compiled once, and what is compiled again.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::script::{self, COMPILE, Package, Ran, VECTOR_OPS};

/// Counts the compiles, and lists `include/a.hpp` as a header.
fn compile() -> String {
    format!(
        "echo x >>\"$FAKE_CLANG_RECORD/runs\"; \
         [ -z \"$depfile\" ] || echo \"x: $source include/a.hpp\" >\"$depfile\"; {COMPILE}"
    )
}

/// A package with a header, and a cache of its own.
struct Cached {
    package: Package,
    cache: tempfile::TempDir,
}

impl Cached {
    fn new() -> Self {
        let cached = Self {
            package: Package::new(),
            cache: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(cached.entries()).unwrap();
        cached.write("kernels/vector_ops.cpp", "#include \"a.hpp\"\nint a;\n");
        cached.write("include/a.hpp", "int b;\n");
        cached
    }

    /// Writes a file that was there long before any compiler runs.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.package.write(name, text);
        let file = fs::File::options().append(true).open(&path).unwrap();
        let before = SystemTime::now() - Duration::from_secs(3600);
        file.set_modified(before).unwrap();
        settle();
        path
    }

    /// The directory of the entries.
    fn entries(&self) -> PathBuf {
        self.cache.path().join("kernels")
    }

    fn script(&self, steps: &str, compile: &str) -> script::Script {
        let script = self.package.script(steps, compile);
        script.env("SYCLBIN_CACHE", self.cache.path())
    }

    /// How often a build runs the compiler: 0 or 2 times a source.
    fn compiles(&self) -> usize {
        self.compiles_of(self.script(&steps(""), &compile()))
    }

    #[track_caller]
    fn compiles_of(&self, script: script::Script) -> usize {
        runs(&self.package, || script.run().succeeded()).1
    }

    /// All entries of a kind in the cache.
    fn kept(&self, kind: &str) -> Vec<PathBuf> {
        let files = fs::read_dir(self.entries()).unwrap();
        let paths = files.map(|file| file.unwrap().path());
        paths
            .filter(|path| path.extension().is_some_and(|end| end == kind))
            .collect()
    }
}

/// No program can set when a file came to its place, so it has to become older than what comes next.
fn settle() {
    std::thread::sleep(Duration::from_millis(30));
}

fn steps(more: &str) -> String {
    format!("include include\n{more}{VECTOR_OPS}")
}

fn runs(package: &Package, build: impl FnOnce() -> Ran) -> (Ran, usize) {
    let path = package.record().join("runs");
    let _ = fs::remove_file(&path);
    let ran = build();
    let runs = fs::read_to_string(path).unwrap_or_default();
    (ran, runs.lines().count())
}

#[test]
fn cache_is_shared_by_profiles_and_packages() {
    let first = Cached::new();
    assert_eq!(first.compiles(), 2);
    let made = fs::read(first.package.made("vector_ops")).unwrap();
    fs::remove_dir_all(first.package.out_dir()).unwrap();
    let (ran, count) = runs(&first.package, || {
        first.script(&steps(""), &compile()).run().succeeded()
    });
    assert_eq!(count, 0, "another profile");
    assert!(fs::read(first.package.made("vector_ops")).unwrap() == made);
    let changed = ran.said("rerun-if-changed");
    assert!(changed.contains(&"include/a.hpp"), "{ran:?}");

    // Another package in another place, with a file of the same name and text.
    let second = Cached::new();
    let script = second.script(&steps(""), &compile());
    let script = script.env("SYCLBIN_CACHE", first.cache.path());
    assert_eq!(second.compiles_of(script), 0);
    assert!(fs::read(second.package.made("vector_ops")).unwrap() == made);
}

#[test]
fn every_changed_byte_is_compiled_again() {
    let cached = Cached::new();
    assert_eq!(cached.compiles(), 2);
    cached.write("include/a.hpp", "int b; // a comment\n");
    assert_eq!(cached.compiles(), 2);
    cached.write("kernels/vector_ops.cpp", "#include \"a.hpp\"\nint  a;\n");
    assert_eq!(cached.compiles(), 2);
    cached.write("include/a.hpp", "int c;\n");
    assert_eq!(cached.compiles(), 2);
    // Several states are known, as when branches are changed.
    cached.write("include/a.hpp", "int b; // a comment\n");
    assert_eq!(cached.compiles(), 0);
    cached.write("include/a.hpp", "int b;\n");
    cached.write("kernels/vector_ops.cpp", "#include \"a.hpp\"\nint a;\n");
    assert_eq!(cached.compiles(), 0);
}

#[test]
fn touched_files_are_not_compiled_again() {
    let cached = Cached::new();
    assert_eq!(cached.compiles(), 2);
    for name in ["include/a.hpp", "kernels/vector_ops.cpp"] {
        let path = cached.package.path(name);
        let text = fs::read(&path).unwrap();
        // Another inode with another time.
        fs::remove_file(&path).unwrap();
        fs::write(&path, text).unwrap();
        assert_eq!(cached.compiles(), 0, "{name}");
    }
}

#[test]
fn headers_outside_of_the_package_count() {
    let cached = Cached::new();
    let tools = tempfile::tempdir().unwrap();
    let header = tools.path().join("sys.hpp");
    let compile = compile().replace(
        "include/a.hpp",
        &format!("include/a.hpp {}", header.display()),
    );
    let build = |text: &str| {
        fs::write(&header, text).unwrap();
        let file = fs::File::options().append(true).open(&header).unwrap();
        // The size and this time stay as they are.
        let before = SystemTime::now() - Duration::from_secs(3600);
        file.set_modified(before).unwrap();
        settle();
        cached.compiles_of(cached.script(&steps(""), &compile))
    };
    assert_eq!((build("int a;"), build("int b;")), (2, 2));
    assert_eq!((build("int a;"), build("int b;")), (0, 0));
    assert_eq!((build("__TIME__"), build("__TIME__")), (2, 2));
}

#[test]
fn results_with_hidden_inputs_are_not_cached() {
    for text in [
        "const char *now = __TIME__;\n",
        "const char *today = __DATE__;\n",
        "// also in a comment: __TIMESTAMP__\n",
        "#if __has_include(WHICH)\n#endif\n",
    ] {
        let cached = Cached::new();
        cached.write("include/a.hpp", text);
        assert_eq!(cached.compiles(), 2, "{text}");
        assert_eq!(cached.compiles(), 2, "{text}");
        assert!(cached.kept("result").is_empty());
    }
    let cached = Cached::new();
    for flag in [
        "-DNOW=__TIME__",
        "-DHAS=__has_include(<maybe.hpp>)",
        "-fsycl-targets=spir64,spir64_x86_64",
        "-fsycl-targets=spir64,nvptx64-nvidia-cuda",
        "-fplugin=x.so",
        "@more",
        "include/a.hpp",
        "-mlink-builtin-bitcode",
    ] {
        for _ in 0..2 {
            let script = cached.script(&steps(&format!("flag {flag}\n")), &compile());
            assert_eq!(cached.compiles_of(script), 2, "{flag}");
        }
    }
    // The variable that names the compiler may contain such an argument, too.
    let named = format!("{} @more", script::fake_clang_program().display());
    for _ in 0..2 {
        let script = cached.script(&steps(""), &compile());
        let script = script.env_remove("SYCLBIN_CLANG").env("CXX", &named);
        assert_eq!(cached.compiles_of(script), 2);
    }
}

#[test]
fn results_without_a_target_are_not_cached() {
    let cached = Cached::new();
    let warning =
        "syclbin-clang: warning: cannot compile k.cpp for NVIDIA GPUs: the compiler crashed";
    let compile = format!("echo '{warning}' >&2; {}", compile());
    for _ in 0..2 {
        let script = cached.script(&steps(""), &compile);
        assert_eq!(cached.compiles_of(script), 2);
    }
    // Another warning makes no difference.
    assert_eq!((cached.compiles(), cached.compiles()), (2, 0));
}

#[test]
fn debug_information_is_not_shared_between_packages() {
    let (first, second) = (Cached::new(), Cached::new());
    for (flag, shared) in [("-O3", 0), ("-gline-tables-only", 2)] {
        let steps = steps(&format!("flag {flag}\n"));
        let build = |cached: &Cached| {
            let script = cached.script(&steps, &compile());
            cached.compiles_of(script.env("SYCLBIN_CACHE", first.cache.path()))
        };
        assert_eq!((build(&first), build(&first)), (2, 0), "{flag}");
        assert_eq!(build(&second), shared, "{flag}");
    }
}

#[test]
fn arguments_environment_and_compiler_each_matter() {
    let cached = Cached::new();
    assert_eq!(cached.compiles(), 2);
    let define = || cached.script(&steps("define N=4\n"), &compile());
    assert_eq!(cached.compiles_of(define()), 2);
    assert_eq!(cached.compiles_of(define()), 0);
    let path = || cached.script(&steps(""), &compile()).env("CPATH", "more");
    assert_eq!(cached.compiles_of(path()), 2);
    assert_eq!(cached.compiles_of(path()), 0);
    // The same script in another place, and then another script there.
    let text = fs::read_to_string(script::fake_clang_program()).unwrap();
    let program = cached.package.write("clang++", &text);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, mode).unwrap();
    let other = || {
        let script = cached.script(&steps(""), &compile());
        script.env("SYCLBIN_CLANG", &program)
    };
    assert_eq!(cached.compiles_of(other()), 2);
    assert_eq!(cached.compiles_of(other()), 0);
    fs::write(&program, format!("{text}\n# newer\n")).unwrap();
    assert_eq!(cached.compiles_of(other()), 2);
}

#[test]
fn configuration_files_and_intel_variables_matter() {
    let cached = Cached::new();
    // The directory of the one that all tests share is not to be written to.
    let text = fs::read_to_string(script::fake_clang_program()).unwrap();
    let program = cached.package.write("tools/icpx", &text);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, mode).unwrap();
    let beside = cached.write("tools/icpx.cfg", "");
    let named = cached.write("named.config", "");
    let with = |name: &str, value: &str| {
        let script = cached.script(&steps(""), &compile());
        script.env("SYCLBIN_CLANG", &program).env(name, value)
    };
    let build = || cached.compiles_of(with("ICPXCFG", "named.config"));
    assert_eq!((build(), build()), (2, 0));
    for (path, name) in [(beside, "tools/icpx.cfg"), (named, "named.config")] {
        cached.write(name, "-DMORE\n");
        assert_eq!((build(), build()), (2, 0), "{name}");
        let ran = with("ICPXCFG", "named.config").run().succeeded();
        let changed = ran.said("rerun-if-changed");
        let told = changed.iter().any(|told| path.ends_with(told));
        assert!(told, "{ran:?}");
    }
    for name in ["__INTEL_PRE_CFLAGS", "__INTEL_POST_CFLAGS"] {
        for _ in 0..2 {
            assert_eq!(cached.compiles_of(with(name, "-DMORE")), 2, "{name}");
        }
    }
}

#[test]
fn header_in_an_argument_can_be_shadowed() {
    for option in ["-include", "-imacros"] {
        let cached = Cached::new();
        let steps = steps(&format!("flag {option}\nflag a.hpp\n"));
        let build = || cached.compiles_of(cached.script(&steps, &compile()));
        cached.write("kernels/vector_ops.cpp", "int a;\n");
        assert_eq!((build(), build()), (2, 0), "{option}");
        for new in ["kernels/a.hpp", "a.hpp"] {
            let path = cached.write(new, "int other;\n");
            assert_eq!(build(), 2, "{option}: {new}");
            fs::remove_file(path).unwrap();
            assert_eq!(build(), 0, "{option}: {new} is gone again");
        }
    }
}

#[test]
fn new_header_that_shadows_another_is_noticed() {
    let cached = Cached::new();
    cached.write(
        "kernels/vector_ops.cpp",
        "#include \"a.hpp\"\n#if __has_include(<maybe.hpp>)\n#endif\n",
    );
    let build = || {
        let script = cached.script(&steps("include first\n"), &compile());
        cached.compiles_of(script)
    };
    assert_eq!(build(), 2);
    assert_eq!(build(), 0);
    // In the directory of the including file, in an include directory, and one that was only asked for.
    for new in ["kernels/a.hpp", "first/a.hpp", "first/maybe.hpp"] {
        let path = cached.write(new, "int other;\n");
        assert_eq!(build(), 2, "{new}");
        fs::remove_file(path).unwrap();
        assert_eq!(build(), 0, "{new} is gone again");
    }
}

#[test]
fn missing_header_is_also_searched_beside_compiler() {
    let cached = Cached::new();
    let tools = tempfile::tempdir().unwrap();
    let program = tools.path().join("bin/clang++");
    for folder in ["bin", "include"] {
        fs::create_dir(tools.path().join(folder)).unwrap();
    }
    fs::copy(script::fake_clang_program(), &program).unwrap();
    cached.write("include/a.hpp", "#if __has_include(<maybe.hpp>)\n#endif\n");
    let build = || {
        let script = cached.script(&steps(""), &compile());
        cached.compiles_of(script.env("SYCLBIN_CLANG", &program))
    };
    assert_eq!((build(), build()), (2, 0));
    fs::write(tools.path().join("include/maybe.hpp"), "").unwrap();
    settle();
    assert_eq!((build(), build()), (2, 0));
}

#[test]
fn own_headers_are_tracked_like_others() {
    let cached = Cached::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let header = folder.join("syclbin/kernel.hpp");
    let header = header.to_str().unwrap();
    let compile = compile().replace("include/a.hpp", &format!("include/a.hpp {header}"));
    for expected in [2, 0] {
        let script = cached.script(&steps(""), &compile);
        let (ran, count) = runs(&cached.package, || script.run().succeeded());
        assert_eq!(count, expected);
        assert!(ran.said("rerun-if-changed").contains(&header), "{ran:?}");
    }
}

#[test]
fn warnings_are_repeated_with_the_right_lines() {
    let cached = Cached::new();
    let warn = format!("echo 'a.hpp:1:5: warning: unused' >&2; {}", compile());
    for expected in [2, 0] {
        let script = cached.script(&steps(""), &warn);
        let (ran, count) = runs(&cached.package, || script.run().succeeded());
        assert_eq!(count, expected);
        assert_eq!(ran.said("warning"), ["a.hpp:1:5: warning: unused"]);
    }
    cached.write(
        "include/a.hpp",
        "// the line of the warning is another\nint b;\n",
    );
    assert_eq!(cached.compiles_of(cached.script(&steps(""), &warn)), 2);
}

#[test]
fn an_error_is_not_kept() {
    let cached = Cached::new();
    cached.script(&steps(""), "exit 1").run().failed();
    assert!(cached.kept("result").is_empty());
    assert_eq!(cached.compiles(), 2);
}

#[test]
fn damaged_entry_or_manifest_is_replaced() {
    let cached = Cached::new();
    assert_eq!(cached.compiles(), 2);
    let made = fs::read(cached.package.made("vector_ops")).unwrap();
    for kind in ["result", "manifest"] {
        let path = cached.kept(kind).pop().unwrap();
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        let half = whole[..whole.len() / 2].to_vec();
        for damaged in [flipped, half, Vec::new(), b"poison".to_vec()] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(cached.compiles(), 2, "{kind}");
            assert!(fs::read(&path).unwrap() == whole, "{kind}: it is replaced");
            assert!(fs::read(cached.package.made("vector_ops")).unwrap() == made);
            assert_eq!(cached.compiles(), 0, "{kind}");
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(cached.compiles(), 2, "{kind}");
    }
    // One that is whole, under the name of another.
    cached.write("include/a.hpp", "int c;\n");
    assert_eq!(cached.compiles(), 2);
    let entries = cached.kept("result");
    fs::copy(&entries[0], &entries[1]).unwrap();
    cached.write("include/a.hpp", "int b;\n");
    let first = cached.compiles();
    cached.write("include/a.hpp", "int c;\n");
    assert_eq!(first + cached.compiles(), 2, "one of both");
}

#[test]
fn header_changed_during_compile_is_not_cached() {
    let cached = Cached::new();
    let changing = format!("{}; echo '// now' >>include/a.hpp", compile());
    let build = || cached.compiles_of(cached.script(&steps(""), &changing));
    assert_eq!(build(), 2);
    assert_eq!(build(), 2);
    assert!(cached.kept("result").is_empty());
}

#[test]
fn header_moved_during_compile_is_not_cached() {
    let cached = Cached::new();
    for moved in ["mv -f kept include/a.hpp", "ln -sf ../kept include/a.hpp"] {
        cached.write("kept", "int other;\n");
        // Both compiles try.
        let moving = format!("{}; {moved} 2>/dev/null || :", compile());
        let build = || cached.compiles_of(cached.script(&steps(""), &moving));
        assert_eq!(build(), 2, "{moved}");
        assert!(cached.kept("result").is_empty(), "{moved}");
    }
}

#[test]
fn unwritable_cache_does_not_disturb_a_build() {
    let cached = Cached::new();
    let file = cached.write("a file", "");
    let in_the_way = cached.package.path("cache");
    cached.write("cache/kernels/lock/file", "");
    for folder in [Path::new("/proc/none"), &file, &in_the_way].repeat(2) {
        let script = cached.script(&steps(""), &compile());
        let script = script.env("SYCLBIN_CACHE", folder);
        let (ran, count) = runs(&cached.package, || script.run().succeeded());
        assert_eq!(count, 2);
        assert_eq!(ran.said("warning"), [""; 0]);
        assert_eq!(ran.stderr, "");
    }
}

#[test]
fn read_only_cache_is_read_without_failure() {
    use std::os::unix::fs::PermissionsExt as _;
    let cached = Cached::new();
    let mode = |mode| fs::set_permissions(cached.entries(), fs::Permissions::from_mode(mode));
    mode(0o555).unwrap();
    if fs::write(cached.entries().join("probe"), "").is_ok() {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: permissions do not bind this user"
        ); // not kept back
        return;
    }
    assert_eq!(cached.compiles(), 2);
    assert_eq!(cached.compiles(), 2);
    mode(0o755).unwrap();
    assert_eq!(cached.compiles(), 2);
    mode(0o555).unwrap();
    // What is in it can be read all the same.
    assert_eq!(cached.compiles(), 0);
    mode(0o755).unwrap();
}

#[test]
fn cache_writable_by_others_is_ignored() {
    use std::os::unix::fs::PermissionsExt as _;
    let cached = Cached::new();
    assert_eq!((cached.compiles(), cached.compiles()), (2, 0));
    let mode = |mode| fs::set_permissions(cached.entries(), fs::Permissions::from_mode(mode));
    // All, or a group.
    for writable in [0o777, 0o770] {
        mode(writable).unwrap();
        let script = cached.script(&steps(""), &compile());
        let (ran, count) = runs(&cached.package, || script.run().succeeded());
        assert_eq!(count, 2);
        let warnings = ran.said("warning");
        assert_eq!(warnings.len(), 1, "{ran:?}");
        assert!(
            warnings[0].contains("other users can write to it"),
            "{ran:?}"
        );
    }
    mode(0o700).unwrap();
    assert_eq!(cached.compiles(), 0);
    // The same of one entry.
    let entry = cached.kept("result").pop().unwrap();
    fs::set_permissions(&entry, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(
        (cached.compiles(), cached.compiles()),
        (2, 0),
        "it is made anew"
    );
}

/// A limit on the size of files stands in for a full disk: both make `write` fail halfway.
#[test]
fn oversized_entry_is_not_left_half_written() {
    let cached = Cached::new();
    // A warning makes the result larger than the file that is built.
    let compile = format!("printf 'warning: %8000s' unused >&2; {}", compile());
    let size = fs::metadata(test_files::path("vector_ops.object.syclbin"));
    let blocks = (size.unwrap().len() + 4096) / 512;
    let limited = || {
        let script = cached.script(&steps(""), &compile);
        script.after(&format!("ulimit -f {blocks}; trap '' XFSZ"))
    };
    assert_eq!(cached.compiles_of(limited()), 2);
    assert!(
        cached.kept("result").is_empty(),
        "{:?}",
        cached.kept("result")
    );
    assert!(!cached.entries().join("new").exists());
    assert_eq!(cached.compiles_of(limited()), 2);
    let free = || cached.script(&steps(""), &compile);
    assert_eq!(cached.compiles_of(free()), 2);
    assert_eq!(cached.compiles_of(free()), 0);
}

#[test]
fn many_builds_at_once_share_one_cache() {
    let cached = Cached::new();
    let builds: Vec<_> = (0..8)
        .map(|number| {
            let out_dir = cached.package.path(&format!("out {number}"));
            // Half of them want something else.
            let steps = steps(if number % 2 == 0 { "" } else { "define N\n" });
            let script = cached.script(&steps, &compile());
            let script = script.env("OUT_DIR", &out_dir);
            (out_dir, std::thread::spawn(move || script.run()))
        })
        .collect();
    let mut made = Vec::new();
    for (out_dir, build) in builds {
        build.join().unwrap().succeeded();
        made.push(fs::read(out_dir.join("syclbin/vector_ops.syclbin")).unwrap());
    }
    assert!(made.windows(2).all(|two| two[0] == two[1]));
    assert_eq!(cached.kept("result").len(), 2);
    assert_eq!(cached.kept("manifest").len(), 2);
    assert_eq!(cached.compiles(), 0);
    let define = cached.script(&steps("define N\n"), &compile());
    assert_eq!(cached.compiles_of(define), 0);
}

#[test]
fn only_the_source_that_changed_is_compiled() {
    let cached = Cached::new();
    cached.write("kernels/work_group.cpp", "int w;\n");
    let both = "source kernels/vector_ops.cpp\nsource kernels/work_group.cpp\ncompile both";
    let build = || cached.compiles_of(cached.script(both, &compile()));
    assert_eq!(build(), 4);
    assert_eq!(build(), 0);
    cached.write("kernels/work_group.cpp", "int v;\n");
    assert_eq!(build(), 2);
    // One source alone is compiled to another state.
    assert_eq!(cached.compiles(), 2);
}

#[test]
fn cache_can_be_disabled_moved_and_bounded() {
    let cached = Cached::new();
    let with = |name: &str, value: &str| {
        let script = cached.script(&steps(""), &compile()).env(name, value);
        runs(&cached.package, || script.run().succeeded())
    };
    for _ in 0..2 {
        let (ran, count) = with("SYCLBIN_CACHE", "off");
        assert_eq!((count, ran.said("warning").len()), (2, 0));
    }
    let (ran, count) = with("SYCLBIN_CACHE", "cache");
    assert_eq!(count, 2);
    assert!(
        ran.said("warning")[0].contains("SYCLBIN_CACHE=cache is relative"),
        "{ran:?}"
    );
    let (ran, _) = with("SYCLBIN_CACHE_SIZE", "much");
    assert!(
        ran.said("warning")[0].contains("SYCLBIN_CACHE_SIZE=much is not a valid size"),
        "{ran:?}"
    );
    assert_eq!(cached.compiles(), 0, "it is kept all the same");
    cached.write("include/a.hpp", "int c;\n");
    let (_, count) = with("SYCLBIN_CACHE_SIZE", "1K");
    assert_eq!(count, 2);
    assert!(cached.kept("result").is_empty(), "nothing fits");
    // Without a variable it lies beside the toolchain.
    let home = cached.package.path("home");
    let script = cached.script(&steps(""), &compile());
    let script = script.env("SYCLBIN_CACHE", "").env("SYCLBIN_HOME", &home);
    script.run().succeeded();
    assert!(home.join("kernels/size").is_file());
}
