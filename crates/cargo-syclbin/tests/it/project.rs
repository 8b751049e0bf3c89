// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin new` and `cargo syclbin init`, without compiling what they create: the end-to-end tests do that.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CRATE: &str = "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";

fn syclbin(directory: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cargo-syclbin"))
        .args(words)
        .current_dir(directory)
        // No compiler is installed there, and Cargo finds no crate of ours.
        .env("SYCLBIN_HOME", directory.join("no-home"))
        .env("CARGO_NET_OFFLINE", "true")
        .env_remove("SYCLBIN_CLANG")
        .env_remove("CXX")
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn error(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The repository, which is a checkout of syclbin.
fn checkout() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    here.canonicalize().unwrap()
}

/// The files below a directory with their contents, without Git's.
fn files(root: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            if path.is_dir() && !name.ends_with(".git") {
                left.push(path);
            } else if path.is_file() {
                files.insert(name.to_owned(), fs::read_to_string(&path).unwrap());
            }
        }
    }
    files
}

fn package(code: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (name, text) in [("Cargo.toml", CRATE), ("src/main.rs", "fn main() {}\n")]
        .iter()
        .chain(code)
    {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

#[test]
fn new_program_has_all_files() {
    let root = tempfile::tempdir().unwrap();
    let said = stdout(&syclbin(root.path(), &["syclbin", "new", "my-program"]));
    assert!(said.contains("cd my-program\n    cargo run\n"), "{said}");
    let files = files(&root.path().join("my-program"));
    let names: Vec<_> = files.keys().map(String::as_str).collect();
    let expected = [
        ".github/workflows/ci.yml",
        ".gitignore",
        "Cargo.toml",
        "build.rs",
        "kernels/my-program.cpp",
        "src/main.rs",
    ];
    assert_eq!(names, expected);
    let manifest = &files["Cargo.toml"];
    let version = env!("CARGO_PKG_VERSION").rsplit_once('.').unwrap().0;
    for name in ["syclbin-rt", "syclbin-build"] {
        let line = format!("{name} = \"{version}\"\n");
        assert!(manifest.contains(&line), "{manifest}");
    }
    // The action is in this repository.
    let workflow = &files[".github/workflows/ci.yml"];
    let action = workflow.split_once("/.github/").unwrap().1;
    let action = action.split_once("@main\n").unwrap().0;
    let action = checkout().join(".github").join(action).join("action.yml");
    assert!(action.is_file(), "{workflow}");
    let repository = env!("CARGO_PKG_REPOSITORY").strip_prefix("https://github.com/");
    let uses = format!("uses: {}/.github/", repository.unwrap_or("OWNER/syclbin"));
    assert!(workflow.contains(&uses), "{workflow}");
}

#[test]
fn missing_compiler_is_a_hint() {
    let root = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-syclbin"));
    let output = command
        .args(["new", "a"])
        .current_dir(root.path())
        .env_clear()
        .env("CARGO", std::env::var_os("CARGO").unwrap())
        .env("SYCLBIN_HOME", root.path().join("no-home"))
        .output()
        .unwrap();
    stdout(&output);
    let said = String::from_utf8(output.stderr).unwrap();
    let note = "note: no SYCL compiler was found; `cargo syclbin toolchain install` installs one";
    assert!(said.contains(note), "{said}");
}

#[test]
fn workspace_that_lacks_the_program_is_reported() {
    let root = tempfile::tempdir().unwrap();
    let workspace = "[workspace]\nmembers = []\n";
    fs::write(root.path().join("Cargo.toml"), workspace).unwrap();
    let output = syclbin(root.path(), &["new", "a"]);
    stdout(&output);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("workspace.members"), "{said}");
    assert_eq!(files(root.path())["Cargo.toml"], workspace);
}

#[test]
fn refused_program_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("here")).unwrap();
    for (words, expected) in [
        (&["a b"][..], "invalid character ` ` in package name"),
        (&["test"], "invalid package name `test`"),
        (&[".."], "invalid character `.`"),
        (&[""], "package name cannot be empty"),
        (&["caf\u{e9}"], "use ASCII letters"),
        (&["here"], "this already exists: here; choose another name"),
        (
            &["a", "--path", "here"],
            "here is not a checkout of syclbin",
        ),
    ] {
        let said = error(&syclbin(root.path(), &[&["new"], words].concat()));
        assert!(said.contains(expected), "{said}");
        let left: Vec<_> = fs::read_dir(root.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}

#[test]
fn init_adds_files_and_dependencies() {
    let root = package(&[]);
    let checkout = checkout();
    let words = ["init", "--path", checkout.to_str().unwrap()];
    let said = stdout(&syclbin(&root.path().join("src"), &words));
    let (_, code) = said.split_once("\nadd to src/main.rs:\n\n").unwrap();
    assert!(code.contains("    mod kernels;\n"), "{said}");
    let is_indented = |line: &str| line.is_empty() || line.starts_with("    ");
    assert!(code.lines().all(is_indented), "{said}");
    let files = files(root.path());
    let names: Vec<_> = files.keys().map(String::as_str).collect();
    let expected = [
        "Cargo.lock", // Cargo's, as after a build
        "Cargo.toml",
        "build.rs",
        "kernels/saxpy.cpp",
        "src/kernels.rs",
        "src/main.rs",
    ];
    assert_eq!(names, expected);
    let manifest = &files["Cargo.toml"];
    let (before, build) = manifest.split_once("[build-dependencies]").unwrap();
    assert!(
        before.contains("[dependencies]\nsyclbin-rt = "),
        "{manifest}"
    );
    assert!(build.contains("syclbin-build = "), "{manifest}");
}

#[test]
fn init_adds_what_only_the_script_uses() {
    let checkout = checkout();
    let runtime = checkout.join("syclbin-rt");
    let manifest = format!("{CRATE}[build-dependencies]\nsyclbin-rt = {{ path = {runtime:?} }}\n");
    let root = package(&[("Cargo.toml", &manifest)]);
    let words = ["init", "--path", checkout.to_str().unwrap()];
    stdout(&syclbin(root.path(), &words));
    let manifest = &files(root.path())["Cargo.toml"];
    assert!(
        manifest.contains("[dependencies]\nsyclbin-rt = "),
        "{manifest}"
    );
    assert_eq!(manifest.matches("syclbin-rt = ").count(), 2, "{manifest}");
}

#[test]
fn init_takes_no_example_for_the_code() {
    let checkout = checkout();
    for target in ["examples/e.rs", "tests/t.rs", "benches/b.rs"] {
        let root = package(&[(target, "fn main() {}\n")]);
        fs::remove_file(root.path().join("src/main.rs")).unwrap();
        let words = ["init", "--path", checkout.to_str().unwrap()];
        let said = stdout(&syclbin(root.path(), &words));
        assert!(said.contains("\nadd to src/lib.rs:\n"), "{target}: {said}");
    }
}

#[test]
fn init_leaves_a_build_script_alone() {
    let script = "fn main() { println!(\"cargo::rerun-if-changed=a\"); }\n";
    let checkout = checkout();
    let runtime = checkout.join("syclbin-rt");
    let dependency = format!("[dependencies]\nsyclbin-rt = {{ path = {runtime:?} }}\n");
    let manifest = format!("{CRATE}{dependency}");
    let root = package(&[("build.rs", script), ("Cargo.toml", &manifest)]);
    let words = ["init", "--path", checkout.to_str().unwrap()];
    let said = stdout(&syclbin(root.path(), &words));
    let line = ".source(\"kernels/saxpy.cpp\").compile(\"saxpy\");\n";
    let (before, _) = said.split_once(line).unwrap();
    assert!(before.contains("add to main in build.rs:\n"), "{said}");
    let files = files(root.path());
    assert_eq!(files["build.rs"], script);
    assert!(
        files["Cargo.toml"].contains(&dependency),
        "{}",
        files["Cargo.toml"]
    );
}

#[test]
fn refused_init_changes_nothing() {
    let kernels = ("src/kernels.rs", "pub fn mine() {}\n");
    let source = ("kernels/saxpy.cpp", "// mine\n");
    let both = "this already exists: kernels/saxpy.cpp, src/kernels.rs; rename these files";
    for (code, words, expected) in [
        (&[kernels, source][..], &[][..], both),
        (&[], &["--path", "src"], "src is not a checkout of syclbin"),
        (&[], &[], "a checkout of syclbin with --path DIRECTORY"),
    ] {
        let root = package(code);
        let before = files(root.path());
        let said = error(&syclbin(root.path(), &[&["init"], words].concat()));
        assert!(said.contains(expected), "{said}");
        assert_eq!(files(root.path()), before);
    }
    let root = tempfile::tempdir().unwrap();
    let said = error(&syclbin(root.path(), &["init"]));
    assert!(said.contains("is not in a crate; change to"), "{said}");
}

/// Runs `new ported` with a compiler that is a shell script, in a directory with sources and their headers.
#[cfg(unix)]
fn port(words: &[&str]) -> (tempfile::TempDir, Output) {
    use std::os::unix::fs::PermissionsExt as _;

    let root = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("clang.sh", crate::COMPILER),
        ("a/one.cpp", "vector_ops"),
        ("a/one.hpp", ""),
        ("b/two.cpp", "structs"),
        ("c/one.cpp", "globals"),
    ] {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let compiler = root.path().join("clang.sh");
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-syclbin"))
        .args(["new", "ported"])
        .args(words)
        .current_dir(root.path())
        .env("SYCLBIN_HOME", root.path().join("no-home"))
        .env("SYCLBIN_CLANG", compiler)
        .env("SYCLBIN_CACHE", "off")
        .env(
            "HEADERS",
            root.path().canonicalize().unwrap().join("a/one.hpp"),
        )
        .env("FILES", test_files::directory())
        .output()
        .unwrap();
    (root, output)
}

#[cfg(unix)]
#[test]
fn sources_are_copied_with_their_flags() {
    let sources = ["--from", "a/one.cpp", "--from", "b/two.cpp"];
    let flags = ["--flag=-DN=4", "--flag=-Ib", "--flag=-Imissing"];
    let (root, output) = port(&[&sources[..], &flags].concat());
    stdout(&output);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("no SYCL compiler"));
    let files = files(&root.path().join("ported"));
    assert_eq!(files["kernels/one.cpp"], "vector_ops");
    assert_eq!(files["kernels/two.cpp"], "structs");
    assert!(!files.contains_key("kernels/ported.cpp"));
    // Only the first source has a header beside it.
    let here = root.path().canonicalize().unwrap();
    let [a, b] = ["a", "b"].map(|name| here.join(name));
    let calls = [
        ".source(\"kernels/one.cpp\")".to_owned(),
        ".source(\"kernels/two.cpp\")".to_owned(),
        format!(".include({a:?})"),
        ".flag(\"-DN=4\")".to_owned(),
        format!(".flag(\"-I{}\")", b.display()),
        ".flag(\"-Imissing\")".to_owned(),
    ];
    let script = &files["build.rs"];
    assert!(script.contains(&calls.join("\n        ")), "{script}");
    let main = &files["src/main.rs"];
    assert!(main.contains("kernels.saxpy("), "{main}");
    assert!(!main.contains("    \n"), "{main}");
    assert!(files["Cargo.toml"].contains("features = [\"half\"]"));
}

#[cfg(unix)]
#[test]
fn two_sources_of_one_name_are_refused() {
    let (root, output) = port(&["--from", "a/one.cpp", "--from", "c/one.cpp"]);
    let said = error(&output);
    assert!(
        said.contains("another source has the same file name"),
        "{said}"
    );
    assert!(!root.path().join("ported").exists());
}
