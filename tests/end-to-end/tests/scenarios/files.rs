// SPDX-License-Identifier: MIT OR Apache-2.0
//! A part of build.rs: the files of the scenarios, by `syclbin-clang` itself, as `syclbin_build` chooses
//! the state by itself.
#![allow(
    clippy::print_stdout,
    reason = "this is how a build script speaks to Cargo"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use syclbin_toolchain::{Component, HOME_VARIABLE, Home};

/// Native code beside SPIR-V.
const BOTH: &str = "-fsycl-targets=spir64,spir64_x86_64";

/// Compiles all files of the scenarios to `OUT_DIR/syclbin`, where `include_syclbin!` finds them.
pub(crate) fn compile() {
    println!("cargo::rerun-if-env-changed={HOME_VARIABLE}");
    let compiler = Compiler::installed();
    for source in ["basic", "globals", "optional", "constants"] {
        for state in ["input", "object", "executable"] {
            let name = format!("{source}_{state}");
            compiler.compile(&format!("-fsyclbin={state}"), source, &name);
        }
    }
    // Native code does not tell what a kernel takes; this records it beside.
    for source in ["basic", "globals", "optional"] {
        syclbin_build::Build::new()
            .source(format!("tests/scenarios/{source}.cpp"))
            .targets(["spir64_x86_64"])
            .compile(&format!("{source}_native"));
    }
    compiler.compile(&format!("-fsyclbin=object {BOTH}"), "basic", "basic_both");
    compiler.compile("-fsyclbin", "lambda", "lambda");
    for (source, level) in [("importing", "-O1"), ("exporting", "-O0")] {
        for (options, name) in [
            ("-fsyclbin=input -O2", "input"),
            ("-fsyclbin=object -O2", "object"),
            (&format!("-fsyclbin=object -O2 {BOTH}"), "both"),
            (&format!("-fsyclbin=input {level}"), "mixed_input"),
            (&format!("-fsyclbin=object {level}"), "mixed_object"),
        ] {
            let options = format!("{options} -fsycl-allow-device-image-dependencies");
            compiler.compile(&options, source, &format!("{source}_{name}"));
        }
    }
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
