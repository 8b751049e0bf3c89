// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several sources at once: as many compilers as there are tokens, and all that is wrong told together.

use std::fs;
use std::io::{Read as _, Write as _};

use crate::script::{self, COMPILE, Package, Script};

const NAMES: [&str; 4] = ["vector_ops", "work_group", "structs", "functor"];

/// A package of four sources, and the steps that compile them to `all`.
fn four() -> (Package, String) {
    let package = Package::new();
    let mut steps = String::new();
    for name in NAMES {
        package.write(&format!("kernels/{name}.cpp"), "");
        steps.push_str(&format!("source kernels/{name}.cpp\n"));
    }
    steps.push_str("compile all");
    (package, steps)
}

/// Notes how many compilers run beside each, and how many have run.
const COUNT: &str = "mkdir \"$FAKE_CLANG_RECORD/run-$$\"; ls -d \"$FAKE_CLANG_RECORD\"/run-* | wc -l \
    >>\"$FAKE_CLANG_RECORD/counts\"; sleep 0.02; rmdir \"$FAKE_CLANG_RECORD/run-$$\"";

/// Waits until so many compilers have begun: it never ends if they do not run at the same time.
fn wait_for(count: usize) -> String {
    format!(
        "touch \"$FAKE_CLANG_RECORD/begun-$name$debug\"; \
         while [ $(ls -d \"$FAKE_CLANG_RECORD\"/begun-* | wc -l) -lt {count} ]; do sleep 0.01; done"
    )
}

/// The most compilers that ran at once, of all eight.
fn most(package: &Package) -> usize {
    let counts = fs::read_to_string(package.record().join("counts")).unwrap();
    let counts: Vec<usize> = counts.lines().map(|n| n.trim().parse().unwrap()).collect();
    assert_eq!(counts.len(), 2 * NAMES.len());
    counts.into_iter().max().unwrap()
}

#[test]
fn num_jobs_limits_compilers_without_a_jobserver() {
    for jobs in [1, 3] {
        let (package, steps) = four();
        let compile = format!("{COUNT}; {}; {COMPILE}", wait_for(jobs));
        let script = package.script(&steps, &compile);
        script.env("NUM_JOBS", jobs.to_string()).run().succeeded();
        assert!(most(&package) <= jobs);
        let bytes = fs::read(package.made("all")).unwrap();
        let file = syclbin::read::parse(&bytes).unwrap();
        for name in ["saxpy", "block_sum", "kinetic"] {
            let symbol = format!("__sycl_kernel_{name}");
            let names: Vec<_> = file.kernel_names().collect();
            assert!(names.contains(&symbol.as_str()), "{names:?}");
        }
    }
}

/// A jobserver of a named pipe with these tokens. The script is told of it in both ways that there are.
fn with_jobserver(tokens: &str, count: usize) {
    for is_named in [true, false] {
        let (package, steps) = four();
        let pipe = package.path("jobserver");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let mut jobserver = fs::File::options()
            .read(true)
            .write(true)
            .open(&pipe)
            .unwrap();
        jobserver.write_all(tokens.as_bytes()).unwrap();
        let compile = format!("{COUNT}; {}; {COMPILE}", wait_for(count));
        let script: Script = package.script(&steps, &compile).env("NUM_JOBS", "64");
        let script = if is_named {
            // No blank can be in it, so the directory of the test is left out by a relative path.
            script.env("CARGO_MAKEFLAGS", "-j --jobserver-auth=fifo:jobserver")
        } else {
            script
                .env(
                    "CARGO_MAKEFLAGS",
                    "-j --jobserver-fds=7,8 --jobserver-auth=7,8",
                )
                .after("exec 7<>jobserver 8>&7")
        };
        script.run().succeeded();
        assert!(most(&package) <= count, "{is_named}");
        // All that were taken have come back.
        jobserver.write_all(b"!").unwrap();
        let mut left = Vec::new();
        for byte in std::io::BufReader::new(jobserver).bytes() {
            match byte.unwrap() {
                b'!' => break,
                token => left.push(token),
            }
        }
        left.sort_unstable();
        assert_eq!(left, tokens.as_bytes(), "{is_named}");
    }
}

#[test]
fn jobserver_tokens_and_own_token_limit_compilers() {
    with_jobserver("ab", 3);
}

#[test]
fn jobserver_without_tokens_allows_one_compiler() {
    with_jobserver("", 1);
}

#[test]
fn errors_of_all_sources_are_reported_together() {
    let (package, steps) = four();
    let compile =
        "if [ $name = structs ]; then printf 'own.cpp:1:1: warning: of structs\\n' >&2; fi
        if [ $name != vector_ops ] && [ $name != functor ]; then COMPILE; exit; fi
        cat >&2 <<END
In file included from kernels/$name.cpp:1:
both.hpp:2:3: error: unknown type name 'flaot'
    2 | flaot x;
      | ^
kernels/$name.cpp:4:1: warning: something else
kernels/$name.cpp:9:1: error: expected '}'
2 errors and 1 warning generated.
END
        exit 1";
    let ran = package
        .script(&steps, &compile.replace("COMPILE", COMPILE))
        .run();
    let expected = "In file included from kernels/vector_ops.cpp:1:
both.hpp:2:3: error: unknown type name 'flaot'
    2 | flaot x;
      | ^
kernels/vector_ops.cpp:4:1: warning: something else
kernels/vector_ops.cpp:9:1: error: expected '}'
kernels/functor.cpp:4:1: warning: something else
kernels/functor.cpp:9:1: error: expected '}'
3 errors and 2 warnings in 2 of 4 sources: kernels/vector_ops.cpp, kernels/functor.cpp
";
    assert_eq!(ran.failed(), expected);
    assert_eq!(ran.said("warning"), ["own.cpp:1:1: warning: of structs"]);
    assert_eq!(package.left(), [""; 0]);
}

#[test]
fn crash_does_not_hide_other_errors() {
    let (package, steps) = four();
    let compile = format!(
        "case $name in structs) kill -SEGV $$;; functor) echo 'functor.cpp:1:1: error: no' >&2; exit 1;; *) \
         {COMPILE};; esac"
    );
    let ran = package.script(&steps, &compile).run();
    let message = ran.failed();
    for expected in [
        "functor.cpp:1:1: error: no\nthe compiler crashed (signal: 11 (SIGSEGV)",
        ") while compiling kernels/structs.cpp;",
        "1 error in 2 of 4 sources: kernels/structs.cpp, kernels/functor.cpp\n",
    ] {
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

#[test]
fn warning_in_shared_header_is_shown_once() {
    let (package, steps) = four();
    let compile = format!("printf 'both.hpp:1:2: warning: hello\\n  1 | x\\n' >&2; {COMPILE}");
    let ran = package.script(&steps, &compile).run().succeeded();
    assert_eq!(
        ran.said("warning"),
        ["both.hpp:1:2: warning: hello", "  1 | x"]
    );
}

#[test]
fn dependent_sources_are_linked_as_objects() {
    let package = Package::new();
    for name in ["import_side", "export_side"] {
        package.write(&format!("kernels/{name}.cpp"), "");
    }
    let both = "source kernels/import_side.cpp\nsource kernels/export_side.cpp\ncompile both";
    package.script(both, COMPILE).run().succeeded();
    for name in ["import_side", "export_side-debug"] {
        let recorded = package.recorded(name);
        assert!(
            recorded.contains(&"-fsyclbin=object".to_owned()),
            "{recorded:?}"
        );
    }
    let bytes = fs::read(package.made("both")).unwrap();
    let file = syclbin::read::parse(&bytes).unwrap();
    assert_eq!(file.state(), Some(syclbin::State::Object));
}

#[test]
fn undefined_function_is_named_with_its_source() {
    let package = Package::new();
    package.write("kernels/import_side.cpp", "");
    let steps = "source kernels/import_side.cpp\nsource kernels/vector_ops.cpp\ncompile both";
    let ran = package.script(steps, COMPILE).run();
    let message = ran.failed();
    assert!(
        message.starts_with("device code uses symbols that no source defines:\n  "),
        "{message}"
    );
    assert!(
        message.contains(", used in kernels/import_side.cpp\n"),
        "{message}"
    );
    assert!(
        message.contains("mark both their declarations and their definitions SYCL_EXTERNAL"),
        "{message}"
    );
    assert_eq!(package.left(), [""; 0]);
}

#[test]
fn device_functions_alone_need_no_kernel() {
    let package = Package::new();
    package.write("kernels/export_side.cpp", "");
    let steps = "source kernels/export_side.cpp\nsource kernels/vector_ops.cpp\ncompile both";
    let ran = package.script(steps, COMPILE).run().succeeded();
    assert_eq!(ran.said("warning"), [""; 0]);
}

#[test]
fn only_errors_have_colours() {
    let package = Package::new();
    let coloured = "printf '\\033[1mk.cpp:1:1: \\033[0m\\033[0;1;35mwarning: \\033[0mhello\\n' >&2";
    let run = |colour: &str, compile: &str| {
        let script = package.script(script::VECTOR_OPS, compile);
        script.env("CARGO_TERM_COLOR", colour).run()
    };
    let ran = run("always", &format!("{coloured}; {COMPILE}")).succeeded();
    assert_eq!(ran.said("warning"), ["k.cpp:1:1: warning: hello"]);
    let asks = |package: &Package| {
        let recorded = package.recorded("vector_ops");
        recorded.contains(&"-fcolor-diagnostics".to_owned())
    };
    assert!(asks(&package));
    let ran = run("always", &format!("{coloured}; exit 1"));
    assert!(ran.failed().starts_with("\u{1b}[1mk.cpp:1:1: "), "{ran:?}");
    run("never", COMPILE).succeeded();
    assert!(!asks(&package));
    package.run(COMPILE).succeeded();
    assert!(!asks(&package), "standard error is not a terminal");
}

#[test]
fn compile_timeout_stops_compiler_and_its_children() {
    let package = Package::new();
    let hang =
        "echo 'working on it' >&2; sleep 1000 & echo $! >>\"$FAKE_CLANG_RECORD/hangs\"; wait";
    let script = package.script(script::VECTOR_OPS, hang);
    let ran = script.env("SYCLBIN_COMPILE_SECONDS", "1").run();
    let message = ran.failed();
    for expected in [
        "working on it\n",
        "the compiler did not finish within 1 s while compiling kernels/vector_ops.cpp and was stopped; allow \
         more time with SYCLBIN_COMPILE_SECONDS. To reproduce it:\n  cd ",
        "fake-clang.sh -fsycl -fsyclbin=executable",
    ] {
        assert!(message.contains(expected), "{expected}: {message}");
    }
    assert_eq!(package.left(), [""; 0]);
    #[cfg(target_os = "linux")]
    for process in fs::read_to_string(package.record().join("hangs"))
        .unwrap()
        .lines()
    {
        let is_gone = || {
            let stat = fs::read_to_string(format!("/proc/{process}/stat"));
            stat.map_or(true, |stat| stat.contains(") Z "))
        };
        // A process that was killed takes a moment to go.
        while !is_gone() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

#[test]
fn odd_paths_reach_compiler_and_cargo() {
    for odd in [
        "a b",
        "it's",
        "\"quoted\"",
        "$HOME",
        "#1",
        "gr\u{fc}n \u{6838}",
        "a;b&c",
        "-x",
    ] {
        let package = Package::new();
        let source = format!("kernels/{odd}/vector_ops.cpp");
        package.write(&source, "");
        let header = package.write(&format!("include {odd}/h.hpp"), "");
        let steps = format!("include include {odd}\nsource {source}\ncompile vector_ops");
        let out_dir = package.path(&format!("out {odd}"));
        // A depfile escapes what means something in a makefile.
        let escaped = header.to_str().unwrap().replace(' ', "\\ ");
        let escaped = escaped.replace('#', "\\#").replace('$', "$$");
        let compile = format!(
            "if [ -n \"$depfile\" ]; then cat >\"$depfile\" <<'END'\nx: {escaped}\nEND\nfi; {COMPILE}"
        );
        let script = package.script(&steps, &compile).env("OUT_DIR", &out_dir);
        let ran = script.run().succeeded();
        assert!(
            out_dir.join("syclbin/vector_ops.syclbin").is_file(),
            "{odd}"
        );
        let recorded = package.recorded("vector_ops");
        assert!(
            recorded.contains(&format!("-Iinclude {odd}")),
            "{recorded:?}"
        );
        assert_eq!(recorded.last(), Some(&source));
        let changed = ran.said("rerun-if-changed");
        assert!(changed.contains(&source.as_str()), "{ran:?}");
        assert!(changed.contains(&header.to_str().unwrap()), "{ran:?}");
    }
}

#[test]
fn line_break_in_path_is_an_error() {
    let package = Package::new();
    let steps = "source kernels/a\\nb.cpp\ncompile none";
    let ran = package.script(steps, COMPILE).run();
    assert_eq!(
        ran.failed(),
        "the path of source \"kernels/a\\nb.cpp\" contains a line break, which build scripts cannot pass to Cargo; \
         rename the file\n"
    );
    let tracked = ran.said("rerun-if-changed");
    assert!(!tracked.contains(&"kernels/a"), "{tracked:?}");
}

#[test]
fn sources_with_the_same_kernels_distinguish_them() {
    let package = Package::new();
    package.write("more/vector_ops.cpp", "");
    // A source that is named twice is one source.
    let steps = "source kernels/vector_ops.cpp\nsource more/vector_ops.cpp\nsource kernels/vector_ops.cpp\n\
        compile both";
    let ran = package.script(steps, COMPILE).run().succeeded();
    assert_eq!(ran.said("warning"), [""; 0]);
    let bytes = fs::read(package.made("both")).unwrap();
    let file = syclbin::read::parse(&bytes).unwrap();
    let kernels = syclbin::signature::kernels(&file).unwrap().kernels;
    let mut sources: Vec<_> = kernels
        .iter()
        .filter_map(|kernel| kernel.name.as_ref())
        .filter(|name| name.base == "saxpy")
        .map(|name| name.source.clone().unwrap())
        .collect();
    sources.sort();
    assert_eq!(sources, ["kernels_vector_ops", "more_vector_ops"]);
    assert!(kernels.iter().all(|kernel| kernel.left_out().is_none()));
}

#[test]
fn native_kernels_of_one_name_are_left_out() {
    let package = Package::new();
    for folder in ["kernels", "more"] {
        package.write(&format!("{folder}/functor.cpp"), "");
    }
    let steps = "sources kernels/f*.cpp\nsource more/functor.cpp\ncompile both";
    let script = package.script(
        steps,
        "made=$FAKE_CLANG_MADE/functor.executable.syclbin; cp \"$made\" \"$out\"; [ -z \
        \"$depfile\" ] || : >\"$depfile\"",
    );
    let ran = script
        .env("FAKE_CLANG_MADE", test_files::path("nvidia"))
        .run()
        .succeeded();
    let warning = "no Rust function was generated for 2 of 2 kernels in `both`; `cargo syclbin list` shows which, \
                   and why";
    assert_eq!(ran.said("warning"), [warning]);
    let bytes = fs::read(package.made("both")).unwrap();
    let file = syclbin::read::parse(&bytes).unwrap();
    let kernels = syclbin::signature::kernels(&file).unwrap().kernels;
    let reasons = kernels
        .iter()
        .filter_map(syclbin::signature::KernelSignature::left_out);
    let expected = "more/functor.cpp and kernels/functor.cpp define kernels with this name, and kernels in native code \
                    cannot be renamed";
    let reasons = reasons.filter(|reason| !reason.is_no_kernel());
    let reasons: Vec<String> = reasons.map(|reason| reason.to_string()).collect();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(
        reasons.iter().all(|reason| reason.starts_with(expected)),
        "{reasons:?}"
    );
}
