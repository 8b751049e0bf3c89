// SPDX-License-Identifier: MIT OR Apache-2.0
//! What Cargo hears of a build that works.

use crate::script::{self, COMPILE, Package, VECTOR_OPS};

#[test]
fn quiet_build_prints_only_rerun_lines() {
    let ran = Package::new().run(COMPILE).succeeded();
    assert_eq!(ran.stderr, "");
    for line in ran.stdout.lines() {
        assert!(line.starts_with("cargo::rerun-if-"), "{line}");
    }
}

#[test]
fn compilers_standard_output_does_not_reach_cargo() {
    let compile = format!("echo cargo::warning=sneaky; {COMPILE}");
    let ran = Package::new().run(&compile).succeeded();
    assert!(ran.said("warning").is_empty(), "{ran:?}");
}

#[test]
fn build_depends_on_source_and_compiler() {
    let ran = Package::new().run(COMPILE).succeeded();
    let compiler = script::fake_clang_program();
    let mut said = ran.said("rerun-if-changed");
    said.sort();
    said.dedup(); // the depfile has the source once more
    let mut expected = ["kernels/vector_ops.cpp", compiler.to_str().unwrap()];
    expected.sort();
    assert_eq!(said, expected);
}

#[test]
fn build_depends_on_existing_headers_of_depfile() {
    let package = Package::new();
    let plain = package.write("include/plain.hpp", "");
    let spaced = package.write("include/with a space.hpp", "");
    let gone = package.path("include/inside_the_compiler.hpp");
    let generated = package.out_dir().join("generated.hpp");
    std::fs::create_dir_all(package.out_dir()).unwrap();
    std::fs::write(&generated, "").unwrap();
    let beside = package.out_dir().join("../beside.hpp");
    std::fs::write(&beside, "").unwrap();
    let rule = format!(
        "code.syclbin: kernels/vector_ops.cpp \\\\\\n  {} \\\\\\n  {} {} {} {}\\n",
        plain.display(),
        spaced.display(),
        gone.display(),
        generated.display(),
        beside.display(),
    );
    // The spaces inside a path, escaped as in a makefile.
    let rule = rule
        .replace("a package", "a\\\\ package")
        .replace("out dir", "out\\\\ dir")
        .replace("with a space", "with\\\\ a\\\\ space");
    let compile = format!("[ -n \"$depfile\" ] && printf '{rule}' >\"$depfile\"; {COMPILE}");
    let ran = package.run(&compile).succeeded();
    let said = ran.said("rerun-if-changed");
    for header in [&plain, &spaced, &beside] {
        assert!(said.contains(&header.to_str().unwrap()), "{ran:?}");
    }
    // A file that does not exist would run the script again each time.
    assert!(!said.contains(&gone.to_str().unwrap()), "{ran:?}");
    // So would a file that the script writes.
    assert!(!said.contains(&generated.to_str().unwrap()), "{ran:?}");
}

#[test]
fn compiler_warning_becomes_cargo_warning_lines() {
    let text = "kernels/vector_ops.cpp:3:7: warning: unused variable 'u'\\n  int u;\\n      ^\\n";
    let compile = format!("printf \"{text}\" >&2; {COMPILE}");
    let ran = Package::new().run(&compile).succeeded();
    let expected = [
        "kernels/vector_ops.cpp:3:7: warning: unused variable 'u'",
        "  int u;",
        "      ^",
    ];
    assert_eq!(ran.said("warning"), expected, "once, not for each compile");
    assert_eq!(ran.stderr, "");
}

#[test]
fn source_without_kernels_is_a_warning() {
    let mut file = syclbin::Syclbin::new(syclbin::State::Executable);
    file.modules.push(syclbin::AbstractModule::default());
    let bytes = syclbin::write::to_vec(&file, syclbin::Container::default()).unwrap();
    for (header, hint) in [
        ("other.hpp", "SYCL_EXT_ONEAPI_FUNCTION_PROPERTY(("),
        ("syclbin/kernel.hpp", "SYCLBIN_KERNEL(1)"),
    ] {
        let package = Package::new();
        package.write(header, "");
        let made = package.path("none.object.syclbin");
        std::fs::write(&made, &bytes).unwrap();
        let compile = format!(
            "made='{}'; [ -z \"$depfile\" ] || echo 'x: {header}' >\"$depfile\"; {COMPILE}",
            made.display()
        );
        let ran = package.run(&compile).succeeded();
        let warnings = ran.said("warning");
        assert_eq!(warnings.len(), 1, "{ran:?}");
        let expected = format!("kernels/vector_ops.cpp: no kernel was found; write {hint}");
        assert!(warnings[0].starts_with(&expected), "{ran:?}");
    }
}

#[test]
fn every_variable_that_is_read_is_announced_once() {
    let package = Package::new();
    let named = package.run(COMPILE).succeeded();
    let always = [
        "OUT_DIR",
        "DOCS_RS",
        "SYCLBIN_PREBUILT_ORDERS",
        "CPATH",
        "CPLUS_INCLUDE_PATH",
        "C_INCLUDE_PATH",
        "COMPILER_PATH",
        "GCC_EXEC_PREFIX",
        "SDKROOT",
        "SYSROOT",
        "CCC_OVERRIDE_OPTIONS",
        "__INTEL_PRE_CFLAGS",
        "__INTEL_POST_CFLAGS",
        "CLANG_CONFIG_FILE_SYSTEM_DIR",
        "CLANG_CONFIG_FILE_USER_DIR",
        "ICPXCFG",
        "ICXCFG",
    ];
    let expect = |ran: &script::Ran, rest: &[&str]| {
        assert_eq!(
            ran.said("rerun-if-env-changed"),
            [&always, rest].concat(),
            "{ran:?}"
        );
    };
    expect(
        &named,
        &[
            "SYCLBIN_CLANG",
            "SYCLBIN_PROBE_SECONDS",
            "SYCLBIN_TARGETS",
            "SYCLBIN_HOME",
            "SYCLBIN_CACHE",
        ],
    );
    let on_path = package.script(VECTOR_OPS, COMPILE);
    let on_path = on_path.env("SYCLBIN_CLANG", "none-of-that-name").run();
    expect(&on_path, &["SYCLBIN_CLANG", "PATH"]);
    let installed = package
        .script(VECTOR_OPS, COMPILE)
        .env_remove("SYCLBIN_CLANG")
        .env("SYCLBIN_HOME", package.path("no home"))
        .env("PATH", "")
        .run();
    expect(
        &installed,
        &[
            "SYCLBIN_CLANG",
            "CXX_x86_64-unknown-linux-gnu",
            "CXX_x86_64_unknown_linux_gnu",
            "HOST_CXX",
            "CXX",
            "CMPLR_ROOT",
            "ONEAPI_ROOT",
            "SYCLBIN_HOME",
            "XDG_CACHE_HOME",
            "HOME",
            "PATH",
        ],
    );
}

#[test]
fn failed_build_still_names_its_dependencies() {
    let package = Package::new();
    let steps = "source kernels/later.cpp\ncompile later";
    let ran = package.script(steps, COMPILE).run();
    ran.failed();
    let expected = ["kernels/later.cpp", "syclbin-build-failed"];
    assert_eq!(ran.said("rerun-if-changed"), expected);
}

#[test]
fn program_and_build_script_share_each_crate() {
    // Where they want other features of a crate, Cargo compiles it twice, and everything that depends on it.
    let output = std::process::Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--package",
            "saxpy",
            "--edges",
            "normal,build",
        ])
        .args(["--duplicates", "--depth", "0", "--prefix", "none"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let crates = String::from_utf8(output.stdout).unwrap();
    // Derive macros use two versions of syn.
    let is_twice = |line: &&str| !line.is_empty() && !line.starts_with("syn ");
    assert_eq!(crates.lines().find(is_twice), None, "{crates}");
}
