// SPDX-License-Identifier: MIT OR Apache-2.0
//! A part of build.rs: the files of the scenarios, by `syclbin-clang` itself, as `syclbin_build` chooses
//! the state by itself.
#![allow(
    clippy::print_stdout,
    reason = "this is how a build script speaks to Cargo"
)]

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use syclbin_toolchain::{Component, HOME_VARIABLE, Home};

/// Native code beside SPIR-V.
const BOTH: &str = "-fsycl-targets=spir64,spir64_x86_64";

/// Compiles all files of the scenarios to `OUT_DIR/syclbin`, where `include_syclbin!` finds them.
pub(crate) fn compile() {
    println!("cargo::rerun-if-env-changed={HOME_VARIABLE}");
    let compiler = Compiler::installed();
    let mut files = Vec::new();
    for source in ["basic", "globals", "optional", "constants"] {
        for state in ["input", "object", "executable"] {
            files.push((
                format!("-fsyclbin={state}"),
                source,
                format!("{source}_{state}"),
            ));
        }
    }
    // Native code does not tell what a kernel takes; this records it beside.
    for source in ["basic", "globals", "optional"] {
        syclbin_build::Build::new()
            .source(format!("tests/scenarios/{source}.cpp"))
            .targets(["spir64_x86_64"])
            .compile(&format!("{source}_native"));
    }
    let both = format!("-fsyclbin=object {BOTH}");
    files.push((both, "basic", "basic_both".to_owned()));
    files.push(("-fsyclbin".to_owned(), "lambda", "lambda".to_owned()));
    for (source, level) in [("importing", "-O1"), ("exporting", "-O0")] {
        for (options, name) in [
            ("-fsyclbin=input -O2", "input"),
            ("-fsyclbin=object -O2", "object"),
            (&format!("-fsyclbin=object -O2 {BOTH}"), "both"),
            (&format!("-fsyclbin=input {level}"), "mixed_input"),
            (&format!("-fsyclbin=object {level}"), "mixed_object"),
        ] {
            let options = format!("{options} -fsycl-allow-device-image-dependencies");
            files.push((options, source, format!("{source}_{name}")));
        }
    }
    compiler.compile_all(&files);
    for (importing, exporting, name) in [
        ("input", "input", "input"),
        ("object", "object", "object"),
        ("input", "object", "mixed"),
        ("both", "both", "both"),
    ] {
        let files = [
            format!("importing_{importing}.syclbin"),
            format!("exporting_{exporting}.syclbin"),
        ];
        compiler.run(
            "-fsycl-link",
            files.map(PathBuf::from),
            &format!("linked_{name}"),
        );
    }
}

struct Compiler {
    program: PathBuf,
    folder: PathBuf,
}

impl Compiler {
    fn installed() -> Self {
        let home = Home::locate(std::env::var_os(HOME_VARIABLE).as_deref()).ok();
        let installed = home.and_then(|home| home.newest(Component::Compiler));
        let Some(installed) = installed else {
            fail("these tests need `cargo xtask toolchain`");
        };
        let program = installed.entry();
        println!("cargo::rerun-if-changed={}", program.display());
        let out_dir = std::env::var_os("OUT_DIR").unwrap_or_default();
        let folder = Path::new(&out_dir).join("syclbin");
        if let Err(error) = std::fs::create_dir_all(&folder) {
            fail(&error.to_string());
        }
        Self { program, folder }
    }

    /// Compiles files, each with its options and source, as many at once as there are processors.
    fn compile_all(&self, files: &[(String, &str, String)]) {
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some((options, source, name)) = files.get(next.fetch_add(1, Relaxed)) {
                self.compile(options, source, name);
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
    }

    fn compile(&self, options: &str, source: &str, name: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
        let source = folder.join(source).with_extension("cpp");
        println!("cargo::rerun-if-changed={}", source.display());
        self.run(options, [source], name);
    }

    /// Makes the file `name`. That native code of what is still to be linked is left out, of which the
    /// compiler warns, is as it should be here.
    fn run(&self, options: &str, inputs: impl IntoIterator<Item = PathBuf>, name: &str) {
        let mut command = Command::new(&self.program);
        command.args(options.split_whitespace()).args(inputs);
        command.args(["-o", &format!("{name}.syclbin")]);
        match command.current_dir(&self.folder).output() {
            Ok(output) if output.status.success() => {}
            Ok(output) => fail(&String::from_utf8_lossy(&output.stderr)),
            Err(error) => fail(&error.to_string()),
        }
    }
}

fn fail(message: &str) -> ! {
    eprintln!("error: {message}");
    std::process::exit(1)
}
