// SPDX-License-Identifier: MIT OR Apache-2.0
//! A build script in a process of its own, against a compiler that is a shell script.
//!
//! `Build` speaks on its standard output and reads the environment, so every test starts this
//! test program again: the copy runs [`runs_as_a_build_script`] and nothing else.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What the copy does, one call of `Build` a line: `source kernels/a.cpp`, `flag -O3`.
const STEPS: &str = "SYCLBIN_BUILD_TEST_STEPS";
/// Has the copy ask crate `cc` which C++ compiler the environment names, and nothing else.
pub(crate) const ASK_CC: &str = "SYCLBIN_BUILD_TEST_ASK_CC";
/// Ends what the test harness prints.
const BEGIN: &str = "-- the build script begins --";

/// What the compiler does in most tests: it makes the file that belongs to the source.
pub(crate) const COMPILE: &str =
    "cp \"$made\" \"$out\"; [ -z \"$depfile\" ] || [ -e \"$depfile\" ] || : >\"$depfile\"";

#[test]
fn runs_as_a_build_script() {
    if std::env::var_os(ASK_CC).is_some() {
        println!("\n{BEGIN}");
        eprintln!("{BEGIN}");
        let mut build = cc::Build::new();
        let tool = build.cpp(true).opt_level(0).cargo_metadata(false);
        let tool = tool.get_compiler();
        // The wrapper, or the compiler where there is none.
        let command = tool.to_command();
        println!("{}", Path::new(command.get_program()).display());
        println!("{}", tool.path().display());
        std::process::exit(0);
    }
    let Ok(steps) = std::env::var(STEPS) else {
        return; // an ordinary run of the tests
    };
    println!("\n{BEGIN}");
    eprintln!("{BEGIN}");
    let mut build = syclbin_build::Build::new();
    let mut watch = None;
    for step in steps.lines() {
        let (call, argument) = step.split_once(' ').unwrap_or((step, ""));
        build = match call {
            "source" => build.source(argument.replace("\\n", "\n")),
            "sources" => build.sources(argument),
            "include" => build.include(argument),
            "define" => match argument.split_once('=') {
                Some((name, value)) => build.define(name, value),
                None => build.define(argument, None),
            },
            "flag" => build.flag(argument),
            "targets" => build.targets(argument.split(' ')),
            "link_at_load" => build.link_at_load(true),
            "compiler" => build.compiler(argument),
            "prebuilt" => build.prebuilt(argument),
            "manifest" => {
                syclbin_build::Build::from_manifest().compile();
                std::process::exit(0);
            }
            "watch" => {
                watch = Some(build.watch(argument));
                syclbin_build::Build::new()
            }
            "poll" => {
                match watch.as_mut().unwrap().poll() {
                    None => println!("nothing"),
                    Some(Ok(compiled)) => println!("compiled [{}]", compiled.warnings),
                    Some(Err(error)) => println!("failed [{}]{error}", error.diagnostics()),
                }
                build
            }
            "write" => {
                let (path, text) = argument.split_once(' ').unwrap();
                fs::write(path, text).unwrap();
                build
            }
            // Goes on, with another file.
            "try_compile" => {
                if let Err(error) = build.try_compile(argument) {
                    eprintln!("[{}]{error}", error.diagnostics());
                }
                syclbin_build::Build::new()
            }
            "compile" => {
                build.compile(argument);
                std::process::exit(0);
            }
            other => panic!("no such step: {other}"),
        };
    }
    if watch.is_some() {
        // The test harness would print more.
        std::process::exit(0);
    }
}

/// What Cargo compiles for in these tests, and on.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A crate in a directory of its own, whose path has a space.
pub(crate) struct Package {
    root: tempfile::TempDir,
}

impl Package {
    /// With `kernels/vector_ops.cpp` and an empty `OUT_DIR`.
    pub(crate) fn new() -> Self {
        let package = Self {
            root: tempfile::tempdir().unwrap(),
        };
        for folder in [package.out_dir(), package.record()] {
            fs::create_dir_all(folder).unwrap();
        }
        package.write("kernels/vector_ops.cpp", "");
        package
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("a package").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn out_dir(&self) -> PathBuf {
        self.root.path().join("out dir")
    }

    /// The file that `compile(name)` makes.
    pub(crate) fn made(&self, name: &str) -> PathBuf {
        self.out_dir().join(format!("syclbin/{name}.syclbin"))
    }

    /// All that lies in `OUT_DIR/syclbin`, but for notes of sources.
    pub(crate) fn left(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.out_dir().join("syclbin")) else {
            return Vec::new();
        };
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.starts_with(".sources-"))
            .collect();
        names.sort();
        names
    }

    /// A compiler of its own: the same script in another place, which can be told apart.
    pub(crate) fn compiler(&self, name: &str) -> PathBuf {
        let path = self.write(name, "");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(fake_clang_program(), &path).unwrap();
        path
    }

    pub(crate) fn record(&self) -> PathBuf {
        self.root.path().join("record")
    }

    /// The command line of the compiler for `NAME.cpp`, or `NAME-debug` for its second compile.
    pub(crate) fn recorded(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.record().join(name)).unwrap();
        text.lines().map(String::from).collect()
    }

    /// A build script of these steps, with a compiler that does what `fake_clang` says.
    pub(crate) fn script(&self, steps: &str, fake_clang: &str) -> Script {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "script::runs_as_a_build_script", "--nocapture"])
            .current_dir(self.path(""))
            .env("SYCLBIN_HOME", self.path("home"))
            .env_remove("DOCS_RS")
            .env_remove("SYCLBIN_PREBUILT_ORDERS")
            // Each test compiles; those of the cache name a directory of their own.
            .env("SYCLBIN_CACHE", "off")
            .env_remove("SYCLBIN_CACHE_SIZE")
            .env("CARGO_MANIFEST_DIR", self.path(""))
            .env_remove("CMPLR_ROOT")
            // A directory that is set and empty hides what this machine may have.
            .env("ONEAPI_ROOT", self.path("no oneapi"))
            .env("TARGET", TARGET)
            .env("HOST", TARGET)
            .env(STEPS, steps)
            .env("OUT_DIR", self.out_dir())
            .env("SYCLBIN_CLANG", fake_clang_program())
            .env("FAKE_CLANG", fake_clang)
            .env("FAKE_CLANG_MADE", test_files::directory())
            .env("FAKE_CLANG_RECORD", self.record());
        for name in [
            "CXX",
            "HOST_CXX",
            "TARGET_CXX",
            // How many compilers may run is up to the test, not to who runs it.
            "CARGO_MAKEFLAGS",
            "MAKEFLAGS",
            "MFLAGS",
            "NUM_JOBS",
            "CARGO_TERM_COLOR",
            "SYCLBIN_COMPILE_SECONDS",
        ] {
            command.env_remove(name);
        }
        for triple in [TARGET, &TARGET.replace('-', "_")] {
            command.env_remove(format!("CXX_{triple}"));
        }
        Script(command)
    }

    /// Runs a script that compiles `kernels/vector_ops.cpp` to `vector_ops`.
    pub(crate) fn run(&self, fake_clang: &str) -> Ran {
        self.script(VECTOR_OPS, fake_clang).run()
    }
}

pub(crate) const VECTOR_OPS: &str = "source kernels/vector_ops.cpp\ncompile vector_ops";

pub(crate) fn fake_clang_program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/script/fake-clang.sh")
}

/// A build script that is to be run.
pub(crate) struct Script(Command);

impl Script {
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    pub(crate) fn env_remove(mut self, name: &str) -> Self {
        self.0.env_remove(name);
        self
    }

    /// Has a shell do something first, such as set a limit, and then become the script.
    pub(crate) fn after(self, shell: &str) -> Self {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("{shell}; exec \"$0\" \"$@\"")]);
        command.arg(self.0.get_program()).args(self.0.get_args());
        command.current_dir(self.0.get_current_dir().unwrap());
        for (name, value) in self.0.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Self(command)
    }

    pub(crate) fn run(mut self) -> Ran {
        let Output {
            status,
            stdout,
            stderr,
        } = self.0.output().unwrap();
        let own = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).unwrap();
            let own = text.split_once(&format!("{BEGIN}\n"));
            own.unwrap_or_else(|| panic!("no build script ran: {text}"))
                .1
                .to_owned()
        };
        Ran {
            code: status.code(),
            stdout: own(stdout),
            stderr: own(stderr),
        }
    }
}

/// What a build script said.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The values of all `cargo::KEY=` lines.
    pub(crate) fn said(&self, key: &str) -> Vec<&str> {
        let prefix = format!("cargo::{key}=");
        let lines = self.stdout.lines();
        lines
            .filter_map(|line| line.strip_prefix(prefix.as_str()))
            .collect()
    }

    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(
            (self.code, self.said("error")),
            (Some(0), vec![]),
            "{self:?}"
        );
        self
    }

    /// The errors that Cargo shows: only those, because the script ends with status 0.
    #[track_caller]
    pub(crate) fn failed(&self) -> String {
        assert_eq!((self.code, &*self.stderr), (Some(0), ""), "{self:?}");
        let errors = self.said("error");
        assert!(!errors.is_empty(), "{self:?}");
        errors.iter().flat_map(|line| [line, "\n"]).collect()
    }
}
