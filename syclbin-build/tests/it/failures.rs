// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a build that fails says, and what it leaves.

use std::fs;
use std::io::Write as _;
use std::process::Command;

use crate::script::{COMPILE, Package, VECTOR_OPS};

#[test]
fn clangs_errors_appear_as_clang_wrote_them() {
    let package = Package::new();
    let errors = "kernels/vector_ops.cpp:9:14: error: use of undeclared identifier 'z'\n    9 |   z[i];\n      |   \
        ^\n1 error generated.\n";
    let ran = package.run(&format!("cat >&2 <<'END'\n{errors}END\nexit 1"));
    let expected =
        format!("{errors}kernels/vector_ops.cpp does not compile; see the compiler's errors\n");
    assert_eq!(ran.failed(), expected);
    assert_eq!(package.left(), [""; 0]);
}

/// Of one source, and of several.
#[test]
fn caught_error_contains_the_compilers_output() {
    let package = Package::new();
    package.write("kernels/b.cpp", "");
    let fake = "echo \"$source:1:1: error: no\" >&2; exit 1";
    for (sources, expected) in [
        (
            "source kernels/b.cpp",
            "[kernels/b.cpp:1:1: error: no\n]kernels/b.cpp does not compile; see the compiler's errors",
        ),
        (
            "source kernels/b.cpp\nsource kernels/vector_ops.cpp",
            "[kernels/b.cpp:1:1: error: no\nkernels/vector_ops.cpp:1:1: error: no\n]\
             2 errors in 2 of 2 sources: kernels/b.cpp, kernels/vector_ops.cpp",
        ),
    ] {
        let steps = format!("{sources}\ntry_compile b\nsource kernels/b.cpp\ntry_compile c");
        let ran = package.script(&steps, fake).run().succeeded();
        assert!(ran.stderr.starts_with(expected), "{ran:?}");
        let next = "]kernels/b.cpp does not compile; see the compiler's errors\n";
        assert!(ran.stderr.ends_with(next), "{ran:?}");
        // The script runs again, because Cargo does not know the headers.
        let tracked = ran.said("rerun-if-changed");
        let missing = tracked.iter().filter(|path| !package.path(path).exists());
        assert_eq!(missing.count(), 1, "{tracked:?}");
    }
}

#[test]
fn device_only_is_refused_before_compiling() {
    let package = Package::new();
    let steps = "flag -fsycl-device-only\nsource kernels/vector_ops.cpp\ncompile vector_ops";
    let ran = package.script(steps, "echo compiled >&2; exit 1").run();
    assert_eq!(
        ran.failed(),
        "cannot use -fsycl-device-only: with it, clang++ writes LLVM bitcode instead of a SYCLBIN file; remove \
         it, because a build compiles only device code anyway\n"
    );
}

#[test]
fn debug_compile_error_fails_the_build() {
    let package = Package::new();
    let ran = package.run(&format!(
        "if [ -n \"$debug\" ]; then echo 'error: only with -g' >&2; exit 1; fi; {COMPILE}"
    ));
    assert!(ran.failed().starts_with("error: only with -g\n"), "{ran:?}");
    assert_eq!(package.left(), [""; 0]);
}

#[test]
fn failed_build_keeps_the_older_file() {
    let package = Package::new();
    package.run(COMPILE).succeeded();
    let before = fs::read(package.made("vector_ops")).unwrap();
    for failure in ["exit 1", "kill -SEGV $$", "echo garbage >\"$out\"", "true"] {
        package.run(failure).failed();
        assert_eq!(package.left(), ["vector_ops.syclbin"], "{failure}");
        assert!(
            fs::read(package.made("vector_ops")).unwrap() == before,
            "{failure}"
        );
    }
}

#[test]
fn crash_names_signal_source_and_repeat_command() {
    let package = Package::new();
    let crash = "echo 'Stack dump:' >&2; kill -SEGV $$";
    let steps =
        "define TEXT='it is'\ninclude a folder\nsource kernels/vector_ops.cpp\ncompile vector_ops";
    let ran = package.script(steps, crash).run();
    let message = ran.failed();
    assert!(message.starts_with("Stack dump:\n"), "{message}");
    // The status may also mention a core dump.
    for expected in [
        "the compiler crashed (signal: 11 (SIGSEGV)",
        ") while compiling kernels/vector_ops.cpp;",
    ] {
        assert!(message.contains(expected), "{message}");
    }
    // From another directory, after the build's own temporary files are gone.
    let command = message.lines().last().unwrap();
    let recorded = package.recorded("vector_ops");
    let repeated = Command::new("/bin/sh")
        .args(["-c", command])
        .env("FAKE_CLANG", "touch \"$out\"; kill -SEGV $$")
        .env("FAKE_CLANG_MADE", "")
        .env("FAKE_CLANG_RECORD", package.path(""))
        .current_dir(package.out_dir())
        .output()
        .unwrap();
    let signal = std::os::unix::process::ExitStatusExt::signal(&repeated.status);
    let signal = signal.or(repeated.status.code().map(|code| code - 128)); // a shell's way to say it
    assert_eq!(signal, Some(11), "{command}: {repeated:?}");
    assert!(
        package.path("crash.syclbin").exists(),
        "the output can be written"
    );
    let again = fs::read_to_string(package.path("vector_ops")).unwrap();
    for argument in ["-DTEXT='it is'", "-Ia folder", "kernels/vector_ops.cpp"] {
        assert!(recorded.iter().any(|recorded| recorded == argument));
        assert!(again.lines().any(|again| again == argument), "{again}");
    }
}

#[test]
fn silent_or_odd_exit_is_a_crash() {
    for code in [254, 1] {
        let ran = Package::new().run(&format!("exit {code}"));
        let expected = format!("crashed (exit status: {code})");
        assert!(ran.failed().contains(&expected), "{ran:?}");
    }
}

#[test]
fn a_compiler_that_leaves_no_file_is_named() {
    let ran = Package::new().run("true");
    let message = ran.failed();
    assert!(
        message.contains("wrote no usable SYCLBIN file for kernels/vector_ops.cpp"),
        "{message}"
    );
    assert!(message.contains("fake-clang.sh"), "{message}");
    assert!(message.contains("that supports -fsyclbin"), "{message}");
}

#[test]
fn output_is_not_reused_for_another_source() {
    let package = Package::new();
    package.write("kernels/work_group.cpp", "");
    let steps = "source kernels/vector_ops.cpp\nsource kernels/work_group.cpp\ncompile both";
    let only_the_first = format!("[ \"$name\" = work_group ] || {COMPILE}");
    let ran = package.script(steps, &only_the_first).run();
    assert!(
        ran.failed()
            .contains("wrote no usable SYCLBIN file for kernels/work_group.cpp"),
        "{ran:?}"
    );
}

#[test]
fn a_compiler_that_leaves_something_else_is_named() {
    for (what, command) in [
        ("an object file", "printf '\\177ELF and so on' >\"$out\""),
        ("nothing in it", ": >\"$out\""),
        ("half a file", "head -c 1000 \"$made\" >\"$out\""),
    ] {
        let package = Package::new();
        let ran = package.run(command);
        let message = ran.failed();
        assert!(
            message.contains("wrote no usable SYCLBIN file for kernels/vector_ops.cpp: "),
            "{what}: {message}"
        );
        assert_eq!(package.left(), [""; 0], "{what}");
    }
}

#[test]
fn missing_named_compiler_error_names_the_variable() {
    for missing in ["/nowhere/clang++", "none-of-that-name"] {
        let package = Package::new();
        let script = package.script(VECTOR_OPS, COMPILE);
        let ran = script.env("SYCLBIN_CLANG", missing).run();
        let expected = format!(
            "SYCLBIN_CLANG={missing}: not found; unset SYCLBIN_CLANG to use the compiler that `cargo syclbin \
             toolchain install` installs\n"
        );
        assert_eq!(ran.failed(), expected);
    }
}

#[test]
fn named_compiler_that_cannot_start_is_reported() {
    let package = Package::new();
    let text = package.write("clang.txt", "no program");
    let script = package.script(VECTOR_OPS, COMPILE);
    let ran = script.env("SYCLBIN_CLANG", &text).run();
    let expected = format!("SYCLBIN_CLANG={}: cannot be started: ", text.display());
    assert!(ran.failed().starts_with(&expected), "{ran:?}");
    assert_eq!(package.left(), [""; 0]);
}

#[test]
fn missing_toolchain_error_names_the_install_command() {
    let package = Package::new();
    let home = package.path("home");
    let script = package.script(VECTOR_OPS, COMPILE);
    let script = script.env_remove("SYCLBIN_CLANG");
    let ran = script.env("SYCLBIN_HOME", &home).run();
    let expected = format!("no SYCL compiler was found in {}", home.display());
    assert!(ran.failed().contains(&expected), "{ran:?}");
    assert!(
        ran.failed()
            .contains("install one with `cargo syclbin toolchain install`"),
        "{ran:?}"
    );
}

#[test]
fn missing_source_error_names_the_search_directory() {
    let package = Package::new();
    let steps = "source kernels/none.cpp\ncompile none";
    let ran = package.script(steps, COMPILE).run();
    let message = ran.failed();
    assert!(
        message.starts_with("cannot read source kernels/none.cpp: No such file"),
        "{message}"
    );
    assert!(
        message.ends_with("paths are relative to the directory that contains Cargo.toml\n"),
        "{message}"
    );
}

#[test]
fn a_folder_is_no_source() {
    let package = Package::new();
    let steps = "source kernels\ncompile none";
    let ran = package.script(steps, COMPILE).run();
    assert!(
        ran.failed().starts_with("cannot read source kernels: "),
        "{ran:?}"
    );
}

#[cfg(unix)]
#[test]
fn a_fifo_is_no_source() {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let package = Package::new();
        let path = package.write("kernels/fifo.cpp", "");
        std::fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let ran = package
            .script("source kernels/fifo.cpp\ncompile fifo", COMPILE)
            .run();
        sender.send(ran.failed().to_owned())
    });
    let patience = std::time::Duration::from_secs(60);
    let message = receiver.recv_timeout(patience).expect("it waits for ever");
    assert!(
        message.starts_with(
            "cannot read source kernels/fifo.cpp: it is not a regular file, but a FIFO, a device or another special file; use a regular file instead"
        ),
        "{message}"
    );
}

#[test]
fn no_source_is_an_error_with_an_example() {
    let package = Package::new();
    let ran = package.script("compile none", COMPILE).run();
    assert_eq!(
        ran.failed(),
        "no source was given; add one with .source(\"kernels/NAME.cpp\")\n"
    );
}

#[test]
fn a_name_is_a_plain_word() {
    let package = Package::new();
    for name in ["", "a/b", "..", "a.syclbin", "\u{e4}", "a b"] {
        let steps = format!("source kernels/vector_ops.cpp\ncompile {name}");
        let ran = package.script(&steps, COMPILE).run();
        let expected =
            format!("`{name}` is not a valid name for a SYCLBIN file; use ASCII letters,");
        assert!(ran.failed().starts_with(&expected), "{ran:?}");
    }
    assert_eq!(package.left(), [""; 0]);
}

#[test]
fn errors_of_known_remedy_have_a_hint() {
    let package = Package::new();
    let compile = "echo \"$source:1:10: fatal error: 'mpi.h' file not found\" >&2; exit 1";
    let ran = package.run(compile);
    let message = ran.failed();
    assert!(
        message.ends_with(
            "see the compiler's errors\nhint: header mpi.h was not found; add its directory with .include(\"...\"), \
             or move the kernels to a source that does not include it\n"
        ),
        "{message}"
    );
    package.write("kernels/functor.cpp", "");
    let both = package
        .script("sources kernels/*.cpp\ncompile both", compile)
        .run();
    assert_eq!(both.failed().matches("hint: ").count(), 1, "{both:?}");
}

#[test]
fn missing_out_dir_error_mentions_build_script() {
    let package = Package::new();
    let script = || package.script(VECTOR_OPS, COMPILE);
    for script in [script().env_remove("OUT_DIR"), script().env("OUT_DIR", "")] {
        let ran = script.run();
        assert_eq!(
            ran.failed(),
            "OUT_DIR is not set; call syclbin-build from a build script (build.rs)\n"
        );
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let package = Package::new();
    fs::write(package.out_dir().join("syclbin"), "a file is in the way").unwrap();
    let ran = package.run(COMPILE);
    let folder = package.out_dir().join("syclbin");
    let expected = format!("cannot write {}: ", folder.display());
    assert!(ran.failed().starts_with(&expected), "{ran:?}");
}

#[test]
fn an_unwritable_folder_is_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let package = Package::new();
    let folder = package.out_dir().join("syclbin");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(folder.join("probe"), "").is_ok() {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: permissions do not bind this user"
        ); // not kept back
        return;
    }
    let ran = package.run(COMPILE);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let expected = format!("cannot write {}: ", folder.display());
    assert!(ran.failed().starts_with(&expected), "{ran:?}");
}

/// A limit on the size of files stands in for a full disk: both make `write` fail halfway.
#[test]
fn file_on_full_disk_is_named_and_removed() {
    let package = Package::new();
    package.run(COMPILE).succeeded();
    let before = fs::read(package.made("vector_ops")).unwrap();
    package.write("kernels/work_group.cpp", "");
    let steps = "source kernels/vector_ops.cpp\nsource kernels/work_group.cpp\ncompile vector_ops";
    // A link is not a write, so it is the build helper that meets the limit.
    let script = package
        .script(
            steps,
            "ln -s \"$made\" \"$out\"; [ -z \"$depfile\" ] || : >\"$depfile\"",
        )
        .env("FAKE_CLANG_RECORD", "")
        .after("ulimit -f 4; trap '' XFSZ");
    let ran = script.run();
    let file = package.made("vector_ops");
    let expected = format!("cannot write {}: File too large", file.display());
    assert!(ran.failed().starts_with(&expected), "{ran:?}");
    assert_eq!(package.left(), ["vector_ops.syclbin"]);
    assert!(fs::read(file).unwrap() == before);
}

#[test]
fn a_compiler_that_lists_no_headers_is_named() {
    // Kernels would go stale in silence.
    let ran = Package::new().run("cp \"$made\" \"$out\"");
    assert!(
        ran.failed()
            .contains("cannot read the list of included files (-MD -MF)"),
        "{ran:?}"
    );
}

#[test]
fn leftovers_of_killed_build_are_removed() {
    let package = Package::new();
    let left = package.out_dir().join("syclbin/.compile-left");
    std::fs::create_dir_all(left.join("0")).unwrap();
    package.run(COMPILE).succeeded();
    assert_eq!(package.left(), ["vector_ops.syclbin"]);
}
