// SPDX-License-Identifier: MIT OR Apache-2.0
//! Crates outside of this workspace: the README's program, and a program that also uses `cudarc`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common;
use crate::common::registry::Registry;

/// A crate in a directory of its own.
struct UserCrate {
    folder: PathBuf,
}

impl UserCrate {
    /// Writes the README's files. Its dependencies are published crates.
    fn of_the_readme() -> Self {
        let readme = std::fs::read_to_string(workspace().join("README.md")).unwrap();
        let user = Self::new("my-program", block(&readme, "Cargo.toml"));
        for name in ["kernels/saxpy.cpp", "build.rs", "src/main.rs"] {
            user.write(name, block(&readme, name));
        }
        user
    }

    /// A crate with this manifest, and nothing else.
    fn new(name: &str, manifest: &str) -> Self {
        let user = Self {
            folder: Registry::get().directory_for(name),
        };
        user.write("Cargo.toml", manifest);
        user
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn cargo(&self, arguments: &str) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap());
        command
            .args(arguments.split(' '))
            .current_dir(&self.folder)
            .envs(Registry::get().shared_builds())
            .env("CARGO_TERM_COLOR", "never");
        command
    }

    /// What cargo says while it builds, and whether it built.
    fn build(&self) -> (bool, String) {
        text(&self.cargo("build --verbose").output().unwrap())
    }

    /// Runs the program where NVIDIA's driver is the simulation, with these settings.
    fn run_on_simulated_cuda(&self, settings: &str) -> (bool, String) {
        let mut program = self.program();
        program.env("LD_LIBRARY_PATH", self.simulated_cuda());
        program.env("SYCLBIN_SIMULATED_CUDA", settings);
        text(&program.env_remove("SYCLBIN_DEVICE").output().unwrap())
    }

    /// A directory in which the simulation has the name of NVIDIA's driver.
    fn simulated_cuda(&self) -> PathBuf {
        let directory = self.path("driver");
        let link = directory.join("libcuda.so.1");
        if !link.exists() {
            // Cargo puts it beside this program, as a dependency.
            let tests = std::env::current_exe().unwrap();
            std::fs::create_dir_all(&directory).unwrap();
            let library = tests.with_file_name("libsimulated_cuda.so");
            std::os::unix::fs::symlink(library, link).unwrap();
        }
        directory
    }

    fn program(&self) -> Command {
        Command::new(Registry::get().target().join("debug/my-program"))
    }
}

pub(crate) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .parent()
        .unwrap()
}

/// The fenced block of `readme` whose first line names the file.
fn block<'r>(readme: &'r str, name: &str) -> &'r str {
    readme
        .split("```")
        .map(|part| part.split_once('\n').map_or("", |(_, block)| block))
        .find(|block| {
            let first = block.lines().next().unwrap_or_default();
            first == format!("// {name}") || first == format!("# {name}")
        })
        .unwrap_or_else(|| panic!("README.md has no block that begins with {name}"))
}

fn text(output: &Output) -> (bool, String) {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    (output.status.success(), text)
}

/// One test, because the first build takes most of the time.
#[test]
fn readme_builds_runs_and_rebuilds_when_needed() {
    let user = UserCrate::of_the_readme();
    let (built, log) = user.build();
    assert!(built, "{log}");

    if syclbin_rt::Device::best().is_err() {
        assert!(
            std::env::var("SYCLBIN_REQUIRE_DEVICE").as_deref() != Ok("1"),
            "no device"
        );
        common::say_skipped("running the program needs a device");
    } else {
        let (ran, said) = text(&user.program().output().unwrap());
        assert!(ran && said.contains("y[0] = 4"), "{said}");

        // Nothing but what every login has; the driver is found all the same.
        let mut bare = user.program();
        bare.env_clear();
        for name in ["PATH", "HOME", "XDG_CACHE_HOME"] {
            bare.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        let (ran, said) = text(&bare.output().unwrap());
        assert!(ran && said.contains("y[0] = 4"), "{said}");

        // On a machine with an NVIDIA GPU, and on one whose GPU is too old for the PTX in the file.
        for (settings, device) in [("", "Simulated CUDA device (gpu"), ("sm=50", "(cpu")] {
            let (ran, said) = user.run_on_simulated_cuda(settings);
            let right = said.contains("y[0] = 4") && said.contains(device);
            assert!(ran && right, "{settings}: {said}");
        }
    }

    let runs_build_script = |log: &str| {
        let runs = |line: &str| line.contains("Running") && line.contains("build-script-build");
        log.lines().any(runs)
    };
    let (built, log) = user.build();
    assert!(
        built && !runs_build_script(&log),
        "nothing was touched: {log}"
    );

    // A header that the kernel includes.
    let kernel = user.read("kernels/saxpy.cpp");
    user.write(
        "kernels/twice.hpp",
        "inline float twice(float v) { return 2 * v; }\n",
    );
    let with_header = kernel
        .replace(
            "#include <syclbin/kernel.hpp>",
            "#include <syclbin/kernel.hpp>\n#include \"twice.hpp\"",
        )
        .replace("a * x[i]", "twice(a * x[i])");
    assert_ne!(with_header, kernel);
    user.write("kernels/saxpy.cpp", &with_header);
    let (built, log) = user.build();
    assert!(
        built && runs_build_script(&log),
        "the source changed: {log}"
    );
    let (built, log) = user.build();
    assert!(
        built && !runs_build_script(&log),
        "nothing was touched: {log}"
    );
    user.write(
        "kernels/twice.hpp",
        "inline float twice(float v) { return 3 * v; }\n",
    );
    let (built, log) = user.build();
    assert!(
        built && runs_build_script(&log),
        "the header changed: {log}"
    );
    if syclbin_rt::Device::best().is_ok() {
        let (ran, said) = text(&user.program().output().unwrap());
        assert!(ran && said.contains("y[0] = 8"), "{said}");

        // Without PTX in the file the CPU runs it, although there is a GPU.
        let mut spirv_only = user.cargo("build");
        spirv_only.env("SYCLBIN_TARGETS", "spir64");
        let (built, log) = text(&spirv_only.output().unwrap());
        assert!(built, "{log}");
        let (ran, said) = user.run_on_simulated_cuda("");
        let right = said.contains("y[0] = 8") && said.contains("(cpu");
        assert!(ran && right, "{said}");
    }

    // A warning of clang is one of Cargo, with clang's line and caret.
    user.write(
        "kernels/saxpy.cpp",
        &format!("{kernel}#warning from the kernel\n"),
    );
    let (built, log) = user.build();
    assert!(built, "{log}");
    for expected in [
        "warning: my-program@0.1.0: kernels/saxpy.cpp:",
        "from the kernel",
    ] {
        assert!(log.contains(expected), "{expected}: {log}");
    }

    // An error fails the build, in clang's words.
    user.write("kernels/saxpy.cpp", &kernel.replace("y[i] =", "z[i] ="));
    let (built, log) = user.build();
    assert!(!built, "{log}");
    for expected in [
        "error: use of undeclared identifier 'z'",
        "error: my-program@0.1.0: kernels/saxpy.cpp:7:14",
        "^",
        "error: my-program@0.1.0: kernels/saxpy.cpp does not compile; see the compiler's errors",
    ] {
        assert!(log.contains(expected), "{expected}: {log}");
    }
    assert!(!log.contains("rerun-if-changed"), "{log}");

    // Two properties in one macro make no kernel, silently; here that is a warning.
    let property = "SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((1, 2))";
    let none = kernel.replace("SYCLBIN_KERNEL(1)", property);
    assert_ne!(none, kernel);
    user.write("kernels/saxpy.cpp", &none);
    let (_, log) = user.build();
    let expected = "no kernel was found; write SYCLBIN_KERNEL(1)";
    assert!(log.contains(expected), "{log}");

    user.write("kernels/saxpy.cpp", &kernel);
    let (built, log) = user.build();
    assert!(built, "{log}");
    document_without_a_toolchain(&user);

    // No toolchain: the command that installs one.
    user.write("build.rs", &user.read("build.rs").replace(PREBUILT, ""));
    let empty = tempfile::tempdir().unwrap();
    let mut without = user.cargo("build");
    let (built, log) = text(&without.env("SYCLBIN_HOME", empty.path()).output().unwrap());
    assert!(
        !built && log.contains("cargo syclbin toolchain install"),
        "{log}"
    );
}

/// The line of a build script that names the committed file.
const PREBUILT: &str = "        .prebuilt(\"kernels/saxpy.syclbin\")\n";

/// Does what docs.rs does with a library that has a committed file.
fn document_without_a_toolchain(user: &UserCrate) {
    let target = Registry::get().target();
    let builds = std::fs::read_dir(target.join("debug/build")).unwrap();
    let made = builds
        .map(|build| build.unwrap())
        .filter(|build| {
            build
                .file_name()
                .as_encoded_bytes()
                .starts_with(b"my-program-")
        })
        .map(|build| build.path().join("out/syclbin/saxpy.syclbin"))
        .find(|path| path.is_file());
    std::fs::copy(made.unwrap(), user.path("kernels/saxpy.syclbin")).unwrap();
    let call = "        .compile(";
    let steps = user
        .read("build.rs")
        .replace(call, &format!("{PREBUILT}{call}"));
    user.write("build.rs", &steps);
    user.write(
        "src/lib.rs",
        "syclbin_rt::include_syclbin! { pub mod kernels = \"saxpy\"; }\n",
    );

    let empty = tempfile::tempdir().unwrap();
    let mut doc = user.cargo("doc --no-deps --lib");
    doc.env("DOCS_RS", "1").env("SYCLBIN_HOME", empty.path());
    let (documented, log) = text(&doc.output().unwrap());
    assert!(documented, "{log}");
    let page = target.join("doc/my_program/kernels/struct.Module.html");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("method.saxpy"), "{page}\n{log}");
    std::fs::remove_file(user.path("src/lib.rs")).unwrap();
}

/// The workspace's tests use `cudarc` for CUDA 12.4, and its features for CUDA versions exclude each other.
#[test]
fn runtime_compiles_beside_cudarc_for_cuda_13() {
    let user = UserCrate::new(
        "uses-cudarc",
        r#"[package]
name = "uses-cudarc"
version = "0.1.0"
edition = "2024"

[dependencies]
syclbin-rt = "0.1"

[dependencies.cudarc]
version = "0.19"
default-features = false
features = ["driver", "dynamic-loading", "cuda-13000", "std"]
"#,
    );
    user.write(
        "src/main.rs",
        "const _: () = assert!(cudarc::driver::sys::CUDA_VERSION == 13000);

fn main() {
    let _ = syclbin_rt::Device::best();
}
",
    );
    let (built, log) = user.build();
    assert!(built, "{log}");
}
