// SPDX-License-Identifier: MIT OR Apache-2.0
//! Build scripts with the real compiler: the cache, paths, and clang's own words.
//!
//! `Build` speaks on its standard output and reads the environment, so each build is this test program
//! once more, which then runs [`is_a_build_script`] and nothing else.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use syclbin_toolchain::{Component, HOME_VARIABLE, Home};

use crate::common;

const SOURCES: &str = "SYCLBIN_TEST_SOURCES";
const NO_WARNINGS: &str = "SYCLBIN_TEST_NO_WARNINGS";

#[test]
fn is_a_build_script() {
    let Ok(sources) = std::env::var(SOURCES) else {
        return; // an ordinary run of the tests
    };
    let build = syclbin_build::Build::new().include("include");
    let build = build.warnings(std::env::var_os(NO_WARNINGS).is_none());
    let build = sources.lines().fold(build, syclbin_build::Build::source);
    build.compile("made");
    std::process::exit(0);
}

/// A kernel that uses what `own.hpp` defines. No part of it is slow to compile.
const KERNEL: &str = r#"
#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#include "own.hpp"
namespace syclexp = sycl::ext::oneapi::experimental;
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
void NAME(float *x) {
  x[sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id()] = OWN(2.0f);
}
"#;

struct Package {
    root: tempfile::TempDir,
    /// The installed one, and before it a line that counts.
    compiler: PathBuf,
    runs: PathBuf,
}

impl Package {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let package = Self {
            compiler: root.path().join("bin/clang++"),
            runs: root.path().join("runs"),
            root,
        };
        let home = Home::locate(std::env::var_os(HOME_VARIABLE).as_deref()).unwrap();
        let installed = home.newest(Component::Compiler);
        let program = installed
            .expect("the tests need `cargo xtask toolchain`")
            .entry();
        // Its version is asked with one argument, and is not a compile.
        let script = format!(
            "#!/bin/sh\n[ $# -lt 2 ] || echo x >>'{}'\nexec '{}' \"$@\"\n",
            package.runs.display(),
            program.display()
        );
        let counting = package.write("bin/clang++", &script);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(counting, mode).unwrap();
        package.write("kernels/one.cpp", &KERNEL.replace("NAME", "one"));
        package.write("include/own.hpp", "#define OWN(x) (x)\n");
        package
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes a file that was there long before any compiler runs.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let file = std::fs::File::options().append(true).open(&path).unwrap();
        let before = SystemTime::now() - Duration::from_secs(3600);
        file.set_modified(before).unwrap();
        // The time when it came to its place cannot be set.
        std::thread::sleep(Duration::from_millis(30));
        path
    }

    fn build(&self, sources: &str, cache: &Path) -> Output {
        self.command(sources, cache).output().unwrap()
    }

    fn command(&self, sources: &str, cache: &Path) -> Command {
        let mut command = common::child(module_path!(), "is_a_build_script");
        command
            .current_dir(self.root.path())
            .env(SOURCES, sources)
            .env("OUT_DIR", self.path("out dir"))
            .env("SYCLBIN_CLANG", &self.compiler)
            .env("SYCLBIN_CACHE", cache)
            .env("CARGO_TERM_COLOR", "never");
        command
    }

    /// What is built, and how often the compiler ran.
    #[track_caller]
    fn made(&self, sources: &str, cache: &Path) -> (Vec<u8>, usize) {
        let _ = std::fs::remove_file(&self.runs);
        let output = self.build(sources, cache);
        assert_eq!(errors(&output), "");
        let runs = std::fs::read_to_string(&self.runs).unwrap_or_default();
        let made = std::fs::read(self.path("out dir/syclbin/made.syclbin")).unwrap();
        (made, runs.lines().count())
    }
}

/// The lines that Cargo shows as errors.
fn errors(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = said
        .lines()
        .filter_map(|line| line.strip_prefix("cargo::error="));
    errors.flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn changed_headers_are_compiled_again() {
    let package = Package::new();
    let (cache, off) = (package.path("cache"), Path::new("off"));
    let (first, runs) = package.made("kernels/one.cpp", &cache);
    assert_eq!(runs, 1);
    assert_eq!(package.made("kernels/one.cpp", &cache), (first.clone(), 0));
    // Also where only a comment changed.
    package.write("include/own.hpp", "// a\n#define OWN(x) (x)\n");
    let (commented, runs) = package.made("kernels/one.cpp", &cache);
    assert_eq!(runs, 1);
    assert!(commented == first);
    package.write("include/own.hpp", "#define OWN(x) (x + 1)\n");
    let (other, runs) = package.made("kernels/one.cpp", &cache);
    assert_eq!(runs, 1);
    assert!(other != first);
    assert_eq!(package.made("kernels/one.cpp", off), (other, 1));
    package.write("include/own.hpp", "#define OWN(x) (x)\n");
    assert_eq!(package.made("kernels/one.cpp", &cache), (first, 0));
}

#[test]
fn changed_embedded_files_are_compiled_again() {
    let package = Package::new();
    let header = "constexpr float factors[] = {\n#embed \"factors.bin\"\n};\n\
                  #if __has_embed(\"more.bin\") || __has_include(\"more.hpp\")\n\
                  #define OWN(x) (x)\n#else\n#define OWN(x) (x * factors[0])\n#endif\n";
    package.write("include/own.hpp", header);
    package.write("include/factors.bin", "a");
    let cache = package.path("cache");
    let (first, runs) = package.made("kernels/one.cpp", &cache);
    assert_eq!(runs, 1);
    assert_eq!(package.made("kernels/one.cpp", &cache).1, 0);
    package.write("include/factors.bin", "b");
    let (other, runs) = package.made("kernels/one.cpp", &cache);
    assert_eq!(runs, 1);
    assert!(other != first);
    for new in ["include/more.bin", "include/more.hpp"] {
        let path = package.write(new, "");
        let (third, runs) = package.made("kernels/one.cpp", &cache);
        assert_eq!(runs, 1, "{new}");
        assert!(third != other, "{new}");
        std::fs::remove_file(path).unwrap();
        assert_eq!(package.made("kernels/one.cpp", &cache).1, 0, "{new}");
    }
}

#[test]
fn checkouts_in_different_directories_share_the_cache() {
    let (first, mut second) = (Package::new(), Package::new());
    let cache = first.path("cache");
    first.write("kernels/two.cpp", &KERNEL.replace("NAME", "two"));
    second.write("kernels/two.cpp", &KERNEL.replace("NAME", "two"));
    let both = "kernels/one.cpp\nkernels/two.cpp";
    let (made, runs) = first.made(both, &cache);
    assert_eq!(runs, 2);
    // The compiler is the same one.
    second.compiler.clone_from(&first.compiler);
    second.runs.clone_from(&first.runs);
    assert_eq!(second.made(both, &cache), (made, 0));
}

#[test]
fn other_compilers_describe_kernels_alike() {
    let package = Package::new();
    let off = Path::new("off");
    package.write(
        "kernels/vectors.cpp",
        include_str!("../../../../files/vector_ops.cpp"),
    );
    let (ours, runs) = package.made("kernels/vectors.cpp", off);
    assert_eq!(runs, 1);
    let script = std::fs::read_to_string(&package.compiler).unwrap();
    let version =
        "[ \"$1\" != --version ] || { echo 'clang version 23.0.0 (intel/llvm)'; exit; }\nexec";
    package.write("bin/clang++", &script.replace("exec", version));
    let (theirs, runs) = package.made("kernels/vectors.cpp", off);
    // One probe of an option of DPC++, and two compiles.
    assert_eq!(runs, 3);
    let kernels = |file: &[u8]| {
        let file = syclbin::read::parse(file).unwrap();
        syclbin::signature::kernels(&file).unwrap().kernels
    };
    assert_eq!(kernels(&theirs), kernels(&ours));
}

#[test]
fn an_include_cycle_is_an_error_of_clang() {
    let package = Package::new();
    package.write("include/own.hpp", "#include \"other.hpp\"\n");
    package.write("include/other.hpp", "#include \"own.hpp\"\n");
    let output = package.build("kernels/one.cpp", &package.path("cache"));
    let said = errors(&output);
    assert!(said.contains("error: #include nested too deeply"), "{said}");
    assert!(
        said.contains("kernels/one.cpp does not compile; see the compiler's errors"),
        "{said}"
    );
}

#[test]
fn errors_of_several_sources_have_carets() {
    let package = Package::new();
    package.write("kernels/two.cpp", "int f() { return nothing; }\n");
    package.write("kernels/three.cpp", "int f() { return no_more; }\n");
    let sources = "kernels/one.cpp\nkernels/two.cpp\nkernels/three.cpp";
    let output = package.build(sources, &package.path("cache"));
    let said = errors(&output);
    for expected in [
        "kernels/two.cpp:1:18: error: use of undeclared identifier 'nothing'",
        "kernels/three.cpp:1:18: error: use of undeclared identifier 'no_more'",
        "^",
        "2 errors in 2 of 3 sources: kernels/two.cpp, kernels/three.cpp\n",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn warnings_of_foreign_code_are_silenced() {
    let package = Package::new();
    package.write("include/own.hpp", "#warning foreign\n#define OWN(x) (x)\n");
    let mut build = package.command("kernels/one.cpp", &package.path("cache"));
    let mut warns = || {
        let said = build.output().unwrap();
        assert_eq!(errors(&said), "");
        let warns = String::from_utf8_lossy(&said.stdout).contains("warning: foreign");
        build.env(NO_WARNINGS, "1");
        warns
    };
    assert_eq!([warns(), warns()], [true, false]);
}

#[test]
fn program_with_onedpl_and_onemkl_compiles() {
    let home = Home::locate(std::env::var_os(HOME_VARIABLE).as_deref()).unwrap();
    if home.newest(Component::OneapiHeaders).is_none() {
        return common::say_skipped("component oneapi-headers is not installed");
    }
    let package = Package::new();
    package.write(
        "kernels/one.cpp",
        r"
#include <oneapi/dpl/execution>
#include <oneapi/dpl/algorithm>
#include <oneapi/mkl.hpp>
#include <sycl/sycl.hpp>

void scale(sycl::queue &q, float *x, size_t n) {
  auto policy = oneapi::dpl::execution::make_device_policy(q);
  oneapi::dpl::for_each(policy, x, x + n, [](float &x) { x *= 2; });
  oneapi::mkl::blas::column_major::scal(q, n, 2.0f, x, 1).wait();
}
",
    );
    let (made, _) = package.made("kernels/one.cpp", &package.path("cache"));
    let file = syclbin::read::parse(&made).unwrap();
    let is_of_for_each = |name: &str| name.contains("oneapi3dpl");
    assert!(file.kernel_names().any(is_of_for_each));
}

#[test]
fn sources_in_odd_directories_are_tracked() {
    for odd in ["it's \"q\"", "$HOME #1", "gr\u{fc}n \u{6838}"] {
        let package = Package::new();
        let source = format!("{odd}/one.cpp");
        package.write(&source, &KERNEL.replace("NAME", "one"));
        // Beside the source, and so found first.
        package.write(&format!("{odd}/own.hpp"), "#define OWN(x) (x * x)\n");
        let cache = package.path(&format!("cache {odd}"));
        let (first, runs) = package.made(&source, &cache);
        assert_eq!(runs, 1, "{odd}");
        assert_eq!(package.made(&source, &cache).1, 0, "{odd}");
        package.write(&format!("{odd}/own.hpp"), "#define OWN(x) (x + 5)\n");
        let (other, runs) = package.made(&source, &cache);
        assert_eq!(runs, 1, "{odd}");
        assert!(other != first, "{odd}");
    }
}
