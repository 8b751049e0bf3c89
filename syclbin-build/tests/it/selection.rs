// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which compiler is taken, which is skipped, and what a build hears of it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::script::{ASK_CC, COMPILE, Package, Ran, Script, TARGET, VECTOR_OPS};

/// A script that no variable tells which compiler to take.
fn unnamed(package: &Package) -> Script {
    package
        .script(VECTOR_OPS, COMPILE)
        .env_remove("SYCLBIN_CLANG")
        .env("SYCLBIN_HOME", package.path("home"))
}

#[track_caller]
fn takes(ran: Ran, program: &Path) {
    let ran = ran.succeeded();
    // Rejected programs are tracked too, but come before the program that is taken.
    let is_program = |path: &&str| {
        let metadata = fs::metadata(path);
        metadata
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    let taken = ran.said("rerun-if-changed").into_iter().rfind(is_program);
    assert_eq!(taken, program.to_str(), "{ran:?}");
}

/// A compiler as upstream's or GNU's: it knows neither `-fsyclbin` nor the other options of DPC++.
fn without_the_option(package: &Package, name: &str) -> std::path::PathBuf {
    let options = ["-fsycl-device-code-split=auto", "-fsyclbin=executable"];
    without(package, name, "g++ (Debian) 12", &options)
}

/// A compiler that does not know these options.
fn without(package: &Package, name: &str, version: &str, options: &[&str]) -> std::path::PathBuf {
    let mut text = format!("#!/bin/sh\n[ \"$1\" = --version ] && echo '{version}' && exit 0\n");
    for option in options {
        text += &format!("echo \"clang++: error: unknown argument: '{option}'\" >&2\n");
    }
    program(package, name, &(text + "exit 1\n"))
}

fn program(package: &Package, name: &str, text: &str) -> std::path::PathBuf {
    let path = package.write(name, text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// The compiler that `cargo syclbin toolchain install` would have installed.
fn install(package: &Package) -> std::path::PathBuf {
    package.write("home/compiler/2026.2.0/MANIFEST", "");
    package.compiler("home/compiler/2026.2.0/bin/syclbin-clang")
}

/// `PATH` with a directory in front.
fn path_with(folder: &Path) -> String {
    let path = std::env::var("PATH").unwrap();
    format!("{}:{path}", folder.display())
}

#[test]
fn each_place_comes_before_the_next() {
    let package = Package::new();
    let forced = package.compiler("forced/clang++");
    let named = package.compiler("named/clang++");
    let cxx = package.compiler("cxx/icpx");
    let root = package.compiler("oneapi/compiler/2026.1/bin/icpx");
    let one = package.compiler("one/bin/compiler/clang++");
    let installed = install(&package);
    let on_path = package.compiler("bin/icpx");
    let all = |steps: &str| {
        package
            .script(steps, COMPILE)
            .env("SYCLBIN_CLANG", &named)
            .env("CXX", &cxx)
            .env("CMPLR_ROOT", package.path("one"))
            .env("ONEAPI_ROOT", package.path("oneapi"))
            .env("SYCLBIN_HOME", package.path("home"))
            .env("PATH", path_with(on_path.parent().unwrap()))
    };
    let step = format!("compiler {}\n{VECTOR_OPS}", forced.display());
    takes(all(&step).run(), &forced);
    let rest = || all(VECTOR_OPS).env_remove("SYCLBIN_CLANG");
    takes(all(VECTOR_OPS).run(), &named);
    takes(rest().run(), &cxx);
    takes(rest().env_remove("CXX").run(), &one);
    let rest = || rest().env_remove("CXX").env_remove("CMPLR_ROOT");
    takes(rest().run(), &root);
    let rest = || rest().env("ONEAPI_ROOT", package.path("none"));
    takes(rest().run(), &installed);
    takes(
        rest().env("SYCLBIN_HOME", package.path("none")).run(),
        &on_path,
    );
    // A compiler that is installed later would come first.
    let ran = rest().env("SYCLBIN_HOME", package.path("empty")).run();
    let versions = package.path("empty/compiler");
    let ran = ran.succeeded();
    assert!(
        ran.said("rerun-if-changed")
            .contains(&versions.to_str().unwrap()),
        "{ran:?}"
    );
}

#[test]
fn newest_oneapi_version_is_chosen() {
    let package = Package::new();
    for version in ["2025.9", "2025.3"] {
        package.compiler(&format!("oneapi/compiler/{version}/bin/icpx"));
    }
    let newest = package.compiler("oneapi/compiler/2025.10/bin/icpx");
    let run = || unnamed(&package).env("ONEAPI_ROOT", package.path("oneapi"));
    takes(run().run(), &newest);
    let latest = package.compiler("oneapi/compiler/latest/bin/icpx");
    takes(run().run(), &latest);
}

#[test]
fn unusable_compilers_on_path_are_skipped() {
    let package = Package::new();
    without_the_option(&package, "bin/clang++");
    let good = package.compiler("later/clang++");
    let path = path_with(&package.path("later"));
    let path = format!("{}:{path}", package.path("bin").display());
    takes(unnamed(&package).env("PATH", path).run(), &good);
}

/// All environments of the four variables, asked of crate `cc` 1.x too.
#[test]
fn crate_cc_takes_the_same_variable() {
    let package = Package::new();
    let target = "aarch64-unknown-linux-gnu";
    for (host, kind) in [(target, "HOST_CXX"), (TARGET, "TARGET_CXX")] {
        let names = [
            format!("CXX_{target}"),
            format!("CXX_{}", target.replace('-', "_")),
            kind.to_owned(),
            "CXX".to_owned(),
        ];
        let compilers: Vec<_> = (0..4)
            .map(|index| package.compiler(&format!("{kind}/{index}/clang++")))
            .collect();
        for chosen in 1..16 {
            let script = || {
                let mut script = unnamed(&package).env("TARGET", target).env("HOST", host);
                for (index, name) in names.iter().enumerate() {
                    if chosen & (1 << index) != 0 {
                        script = script.env(name, &compilers[index]);
                    }
                }
                script
            };
            let asked = script().env(ASK_CC, "1").run().succeeded();
            let expected = asked.stdout.lines().next().unwrap().to_owned();
            takes(script().run(), Path::new(&expected));
        }
    }
}

#[test]
fn compiler_wrapper_runs_as_in_crate_cc() {
    let package = Package::new();
    let wrapper = program(&package, "bin/ccache", "#!/bin/sh\nexec \"$@\"\n");
    package.compiler("bin/icpx");
    let script = || {
        unnamed(&package)
            .env("PATH", path_with(&package.path("bin")))
            .env("CXX", "ccache icpx -DFROM_CXX")
    };
    let ran = script().run().succeeded();
    let said = ran.said("rerun-if-changed");
    for part in [&wrapper, &package.path("bin/icpx")] {
        assert!(said.contains(&part.to_str().unwrap()), "{ran:?}");
    }
    assert_eq!(package.recorded("vector_ops")[0], "-DFROM_CXX");
    let cc = script().env(ASK_CC, "1").run().succeeded();
    assert_eq!(cc.stdout.lines().collect::<Vec<_>>(), ["ccache", "icpx"]);
}

#[test]
fn cxx_path_with_spaces_is_one_program() {
    let package = Package::new();
    let program = package.compiler("with two blanks/clang++");
    takes(unnamed(&package).env("CXX", &program).run(), &program);
}

#[test]
fn cross_compiling_uses_a_host_compiler() {
    let package = Package::new();
    let cross = without_the_option(&package, "bin/aarch64-linux-gnu-g++");
    let host = package.compiler("bin/icpx");
    let ran = unnamed(&package)
        .env("TARGET", "aarch64-unknown-linux-gnu")
        .env("TARGET_CXX", cross)
        .env("HOST_CXX", &host)
        .run();
    takes(ran, &host);
}

#[test]
fn gnu_compiler_in_cxx_is_skipped_silently() {
    let package = Package::new();
    let installed = install(&package);
    let gnu = without_the_option(&package, "bin/g++");
    let ran = unnamed(&package).env("CXX", &gnu).run().succeeded();
    assert!(ran.said("warning").is_empty(), "{ran:?}");
    assert_eq!(ran.stderr, "");
    // After an update, it may be usable.
    let tracked = ran.said("rerun-if-changed");
    assert!(tracked.contains(&gnu.to_str().unwrap()), "{ran:?}");
    takes(ran, &installed);
}

#[test]
fn missing_compiler_error_lists_skipped_candidates() {
    let package = Package::new();
    let gnu = without_the_option(&package, "bin/g++");
    let ran = unnamed(&package)
        .env("CXX", &gnu)
        .env("HOST_CXX", "none-of-that-name")
        .env("PATH", "/nowhere")
        .run();
    let message = ran.failed();
    for expected in [
        format!(
            "no SYCL compiler was found in {} or on PATH; install one with",
            package.path("home").display()
        ),
        format!(
            "\n  CXX={}: g++ (Debian) 12 does not support -fsyclbin; use DPC++'s clang++ or icpx, version 2025.2 or \
             newer\n",
            gnu.display()
        ),
        "\n  HOST_CXX=none-of-that-name: not found\n".to_owned(),
    ] {
        assert!(message.contains(&expected), "{expected:?} in {message}");
    }
}

#[test]
fn old_dpcpp_and_upstream_clang_are_unusable() {
    let package = Package::new();
    let old = "DPC++ compiler 6.0.0";
    let folder = without(&package, "old/clang++", old, &["-fsyclbin=executable"]);
    let upstream = "clang version 19.1.7";
    let options = ["-fsycl-device-code-split=auto", "-fsyclbin=executable"];
    without(&package, "upstream/clang++", upstream, &options);
    let path = format!(
        "{}:{}",
        folder.parent().unwrap().display(),
        package.path("upstream").display()
    );
    let ran = unnamed(&package).env("PATH", &path).run();
    let message = ran.failed();
    for expected in [
        "DPC++ compiler 6.0.0 does not support -fsyclbin; use DPC++'s clang++ or icpx, version 2025.2 or newer",
        "clang version 19.1.7 does not support -fsyclbin; use DPC++'s clang++ or icpx",
    ] {
        assert!(message.contains(expected), "{expected:?} in {message}");
    }
}

#[test]
fn ubuntus_dpcpp_is_found() {
    let package = Package::new();
    let program = package.compiler("bin/dpclang++");
    package.compiler("bin/clang++");
    let script = unnamed(&package).env("PATH", path_with(program.parent().unwrap()));
    takes(script.run(), &program);
}

#[test]
fn driver_that_ignores_the_option_is_unusable() {
    let package = Package::new();
    let probe = "[ $question = version ] || echo \"clang: warning: argument unused during \
        compilation: '-fsyclbin=executable'\" >&2";
    let script = package.script(VECTOR_OPS, COMPILE);
    let ran = script.env("FAKE_CLANG_PROBE", probe).run();
    assert!(
        ran.failed().contains("does not support -fsyclbin"),
        "{ran:?}"
    );
}

#[test]
fn syclbin_clang_of_another_release_is_an_error() {
    let package = Package::new();
    let fake = package.compiler("bin/clang++");
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'syclbin-clang 0.0.1' && exit 0\nexec '{}' \"$@\"\n",
        fake.display()
    );
    let other = program(&package, "bin/syclbin-clang", &text);
    let ran = unnamed(&package).env("SYCLBIN_CLANG", &other).run();
    let expected =
        "no kernel descriptions for kernels/vector_ops.cpp, because it is from another release";
    assert!(ran.failed().contains(expected), "{ran:?}");
}

#[test]
fn unusable_forced_compiler_fails_the_build() {
    let package = Package::new();
    install(&package);
    let gnu = without_the_option(&package, "bin/g++");
    for (how, script) in [
        (
            format!("SYCLBIN_CLANG={}", gnu.display()),
            unnamed(&package).env("SYCLBIN_CLANG", &gnu),
        ),
        (
            format!(".compiler(\"{}\")", gnu.display()),
            package
                .script(
                    &format!("compiler {}\n{VECTOR_OPS}", gnu.display()),
                    COMPILE,
                )
                .env("SYCLBIN_HOME", package.path("home")),
        ),
    ] {
        let ran = script.run();
        let expected = format!("{how}: g++ (Debian) 12 does not support -fsyclbin; ");
        assert!(ran.failed().starts_with(&expected), "{ran:?}");
    }
}

#[test]
fn hanging_compiler_is_stopped_and_limit_named() {
    let package = Package::new();
    for (question, asked) in [("version", "--version"), ("option", "-fsyclbin -###")] {
        let script = package
            .script(VECTOR_OPS, COMPILE)
            .env("SYCLBIN_PROBE_SECONDS", "1")
            .env(
                "FAKE_CLANG_PROBE",
                format!("[ $question = {question} ] && exec sleep 60"),
            );
        let ran = script.run();
        let expected = format!(
            "did not respond to `{asked}` within 1 s and was stopped; run it in a shell to see why, or allow more \
             time with SYCLBIN_PROBE_SECONDS"
        );
        assert!(ran.failed().contains(&expected), "{ran:?}");
    }
}

#[cfg(target_os = "linux")] // elsewhere what a program started is not found
#[test]
fn children_of_hanging_compiler_are_stopped() {
    let package = Package::new();
    let (list, survived) = (package.path("pid"), package.path("survived"));
    let probe = format!(
        "(sleep 20; : >'{}') & echo $! >'{}'; wait",
        survived.display(),
        list.display()
    );
    let script = package
        .script(VECTOR_OPS, COMPILE)
        .env("SYCLBIN_PROBE_SECONDS", "1")
        .env("FAKE_CLANG_PROBE", probe);
    assert!(script.run().failed().contains("and was stopped"));
    let started = fs::read_to_string(list).unwrap();
    // One that is dead and not yet collected by its adopter counts as gone.
    let is_gone = || {
        let status = fs::read_to_string(format!("/proc/{}/stat", started.trim()));
        status.map_or(true, |text| text.contains(") Z "))
    };
    while !is_gone() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(!survived.exists(), "it ran to its end");
}

#[test]
fn hanging_first_candidate_is_a_warning() {
    let package = Package::new();
    let installed = install(&package);
    let hangs = program(&package, "bin/hangs", "#!/bin/sh\nexec sleep 60\n");
    let ran = unnamed(&package)
        .env("CXX", &hangs)
        .env("SYCLBIN_PROBE_SECONDS", "1")
        .run()
        .succeeded();
    let warnings = ran.said("warning");
    let expected = format!("CXX={}: did not respond to `--version`", hangs.display());
    assert!(warnings[0].starts_with(&expected), "{ran:?}");
    takes(ran, &installed);
}

#[test]
fn failing_compiler_is_named_with_its_output() {
    let package = Package::new();
    for (probe, expected) in [
        ("kill -SEGV $$", "failed with signal: 11 (SIGSEGV)"),
        (
            "echo 'libsvml.so: cannot open' >&2; exit 127",
            "failed with exit status: 127 when run with `--version` (libsvml.so: cannot open); run it",
        ),
        (
            "[ $question = version ] || kill -ABRT $$",
            "failed with signal: 6 (SIGABRT)",
        ),
        ("exit 0", "printed no version when run with `--version`"),
    ] {
        let script = package.script(VECTOR_OPS, COMPILE);
        let ran = script.env("FAKE_CLANG_PROBE", probe).run();
        assert!(ran.failed().contains(expected), "{expected}: {ran:?}");
    }
}
