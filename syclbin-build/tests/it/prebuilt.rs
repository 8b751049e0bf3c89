// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that are kept beside their sources: written, checked, and used without a compiler.

use std::fs;

use syclbin::metadata::Sources;
use syclbin_build::orders::{Order, Outcome, Report, VARIABLE};

use crate::script::{self, COMPILE, Package, Script, VECTOR_OPS};

const KEPT: &str = "committed/vector_ops.syclbin";
const STEPS: &str = "flag -DN=4\nsource kernels/vector_ops.cpp\n\
    prebuilt committed/vector_ops.syclbin\ncompile vector_ops";

/// What the compiler does, with a header among what it read.
fn compile_with_header() -> String {
    let rule = "code.syclbin: kernels/vector_ops.cpp include/k.hpp /usr/include/stdlib.h";
    format!("[ -z \"$depfile\" ] || echo '{rule}' >\"$depfile\"; {COMPILE}")
}

fn package() -> Package {
    let package = Package::new();
    package.write("include/k.hpp", "int k;\n");
    package
}

/// On a machine without any compiler.
fn without(package: &Package, script: Script) -> Script {
    script
        .env_remove("SYCLBIN_CLANG")
        .env("SYCLBIN_HOME", package.path("home"))
        .env("PATH", "/nowhere")
}

/// What `cargo syclbin build` has the script do.
fn order(package: &Package, order: Order, script: Script) -> (script::Ran, Vec<Outcome>) {
    let folder = tempfile::tempdir().unwrap();
    order.write(folder.path(), [&*package.path("")]).unwrap();
    let ran = script.env(VARIABLE, folder.path()).run();
    let reports = Report::collect(folder.path()).unwrap();
    for report in &reports {
        assert_eq!(report.file.to_str(), Some(KEPT));
    }
    (ran, reports.into_iter().map(|one| one.outcome).collect())
}

fn commit(package: &Package) -> Vec<Outcome> {
    let script = package.script(STEPS, &compile_with_header());
    let (ran, outcomes) = order(package, Order::Commit, script);
    ran.succeeded();
    outcomes
}

fn check(package: &Package, steps: &str) -> Outcome {
    let script = without(package, package.script(steps, "exit 1"));
    let (ran, mut outcomes) = order(package, Order::Check, script);
    ran.succeeded();
    assert_eq!(outcomes.len(), 1);
    outcomes.remove(0)
}

#[test]
fn committed_file_records_kernels_and_sources() {
    let package = package();
    assert_eq!(commit(&package), [Outcome::Written]);
    let bytes = fs::read(package.path(KEPT)).unwrap();
    let file = syclbin::read::parse(&bytes).unwrap();
    let made = fs::read(package.made("vector_ops")).unwrap();
    assert_eq!(file.modules, syclbin::read::parse(&made).unwrap().modules);
    let sources = Sources::read(&file.global).unwrap().unwrap();
    let files: Vec<_> = sources.files.keys().map(String::as_str).collect();
    assert_eq!(files, ["include/k.hpp", "kernels/vector_ops.cpp"]);
    assert_eq!(sources.arguments, ["-DN=4", "kernels/vector_ops.cpp"]);
    assert_eq!(sources.compiler, "fake clang version 1");
    assert_eq!(commit(&package), [Outcome::Fresh], "nothing changed");
}

/// `sha256sum` is the judge of the hashes.
#[test]
fn the_recorded_hashes_are_those_of_sha256sum() {
    let package = package();
    commit(&package);
    let bytes = fs::read(package.path(KEPT)).unwrap();
    let file = syclbin::read::parse(&bytes).unwrap();
    let set = syclbin::property::set::SOURCES;
    let list = file.global.get(set, "files").unwrap().as_str().unwrap();
    let list = package.write("list", list);
    let output = std::process::Command::new("sha256sum")
        .arg("--check")
        .arg(list)
        .current_dir(package.path(""))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, "include/k.hpp: OK\nkernels/vector_ops.cpp: OK\n");
}

#[test]
fn committed_file_is_used_silently_without_compiler() {
    let package = package();
    commit(&package);
    fs::remove_file(package.made("vector_ops")).unwrap();
    let ran = without(&package, package.script(STEPS, "exit 1")).run();
    let ran = ran.succeeded();
    assert!(fs::read(package.made("vector_ops")).unwrap() == fs::read(package.path(KEPT)).unwrap());
    assert_eq!((ran.said("warning"), ran.stderr.as_str()), (vec![], ""));
    let depends = ran.said("rerun-if-changed");
    for file in [KEPT, "kernels/vector_ops.cpp"] {
        assert!(depends.contains(&file), "{ran:?}");
    }
    let header = package.path("include/k.hpp");
    assert!(depends.contains(&header.to_str().unwrap()), "{ran:?}");
}

#[test]
fn sources_are_compiled_despite_the_committed_file() {
    let package = package();
    fs::create_dir(package.path("committed")).unwrap();
    let old = fs::copy(
        test_files::path("work_group.object.syclbin"),
        package.path(KEPT),
    );
    let ran = package.script(STEPS, COMPILE).run().succeeded();
    let made = fs::read(package.made("vector_ops")).unwrap();
    let names = syclbin::read::parse(&made).unwrap();
    assert!(names.kernel_names().any(|name| name.contains("saxpy")));
    assert_eq!(package.path(KEPT).metadata().unwrap().len(), old.unwrap());
    assert!(ran.said("warning").is_empty(), "{ran:?}");
}

#[test]
fn prebuilt_file_does_not_replace_requested_compiler() {
    let package = package();
    commit(&package);
    let script = package.script(STEPS, COMPILE);
    let ran = script.env("SYCLBIN_CLANG", "/nowhere/icpx").run();
    assert!(
        ran.failed()
            .starts_with("SYCLBIN_CLANG=/nowhere/icpx: not found"),
        "{ran:?}"
    );
}

#[test]
fn staleness_depends_on_content_not_on_time() {
    let package = package();
    commit(&package);
    let stale = |what: &str| Outcome::Stale(what.to_owned());
    assert_eq!(check(&package, STEPS), Outcome::Fresh);
    // Written again, and as another version control would have it.
    package.write("include/k.hpp", "int k;\r\n");
    assert_eq!(check(&package, STEPS), Outcome::Fresh);
    package.write("include/k.hpp", "int k; // more\n");
    assert_eq!(check(&package, STEPS), stale("include/k.hpp changed"));
    fs::remove_file(package.path("include/k.hpp")).unwrap();
    assert_eq!(
        check(&package, STEPS),
        stale("include/k.hpp cannot be read")
    );
    package.write("include/k.hpp", "int k;\n");
    package.write("kernels/vector_ops.cpp", "// another");
    assert_eq!(
        check(&package, STEPS),
        stale("kernels/vector_ops.cpp changed")
    );
    package.write("kernels/vector_ops.cpp", "");
    let others = stale("the build options or the list of sources changed");
    assert_eq!(check(&package, &STEPS.replace("N=4", "N=5")), others);
    package.write("kernels/work_group.cpp", "");
    let more = STEPS.replace("prebuilt", "source kernels/work_group.cpp\nprebuilt");
    assert_eq!(check(&package, &more), others);
    assert_eq!(check(&package, STEPS), Outcome::Fresh);
}

#[test]
fn missing_damaged_and_unrecorded_files_are_stale() {
    let package = package();
    let is_stale = |expected: &str| match check(&package, STEPS) {
        Outcome::Stale(why) => assert!(why.starts_with(expected), "{why}"),
        other => panic!("{other:?}"),
    };
    is_stale("the file does not exist");
    package.write(KEPT, "no SYCLBIN");
    is_stale("the file is damaged: ");
    let unrecorded = test_files::path("vector_ops.object.syclbin");
    fs::copy(unrecorded, package.path(KEPT)).unwrap();
    is_stale("it does not record its sources");
}

#[test]
fn package_without_prebuilt_files_checks_nothing() {
    let package = package();
    let script = without(&package, package.script(VECTOR_OPS, "exit 1"));
    let folder = tempfile::tempdir().unwrap();
    let root = package.path("");
    Order::Check.write(folder.path(), [&*root]).unwrap();
    script.env(VARIABLE, folder.path()).run().succeeded();
    let reports = Report::collect(folder.path()).unwrap();
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].outcome, Outcome::NoPrebuilt);
}

#[test]
fn stale_file_without_compiler_is_a_warning() {
    let package = package();
    commit(&package);
    package.write("include/k.hpp", "int k = 2;\n");
    let ran = without(&package, package.script(STEPS, "exit 1")).run();
    let ran = ran.succeeded();
    let [warning] = ran.said("warning")[..] else {
        panic!("{ran:?}");
    };
    let begins = "committed/vector_ops.syclbin is stale: include/k.hpp changed; run `cargo syclbin build --commit` on \
                  a machine that has a compiler, or install one here: no SYCL compiler was found in ";
    let (_, after) = warning.split_once(begins).expect(warning);
    let (home, _) = after
        .split_once(" or on PATH; install one with")
        .expect(warning);
    // Installing a compiler runs the script again.
    let compilers = format!("{home}/compiler");
    assert!(
        ran.said("rerun-if-changed").contains(&compilers.as_str()),
        "{ran:?}"
    );
    // A directory that is newer than the script's start would run the script again.
    let written = fs::metadata(compilers).unwrap().modified().unwrap();
    assert_eq!(written, std::time::SystemTime::UNIX_EPOCH);
}

#[test]
fn missing_or_damaged_file_needs_a_compiler() {
    let package = package();
    let run = || without(&package, package.script(STEPS, "exit 1")).run();
    let ran = run();
    for expected in [
        "no SYCL compiler was found in ",
        "\nand the prebuilt file committed/vector_ops.syclbin does not exist either; `cargo syclbin build --commit`",
    ] {
        assert!(ran.failed().contains(expected), "{ran:?}");
    }
    let whole = fs::read(test_files::path("vector_ops.object.syclbin")).unwrap();
    fs::create_dir(package.path("committed")).unwrap();
    fs::write(package.path(KEPT), &whole[..whole.len() / 2]).unwrap();
    let ran = run();
    assert!(
        ran.failed()
            .starts_with("prebuilt file committed/vector_ops.syclbin is damaged: "),
        "{ran:?}"
    );
    assert!(ran.failed().contains("cargo syclbin build --commit"));
    assert_eq!(package.left(), [""; 0]);
    fs::remove_file(package.path(KEPT)).unwrap();
    fs::create_dir(package.path(KEPT)).unwrap();
    let ran = run();
    let unreadable = "prebuilt file committed/vector_ops.syclbin cannot be read: ";
    assert!(ran.failed().starts_with(unreadable), "{ran:?}");
}

#[test]
fn failed_commit_leaves_the_file_unchanged() {
    let package = package();
    commit(&package);
    let before = fs::read(package.path(KEPT)).unwrap();
    for failure in ["exit 1", "kill -SEGV $$", "true"] {
        let script = package.script(STEPS, failure);
        let (ran, outcomes) = order(&package, Order::Commit, script);
        ran.failed();
        assert!(outcomes.is_empty(), "{outcomes:?}");
        assert!(fs::read(package.path(KEPT)).unwrap() == before);
    }
}

/// What the compiler read before is not what is recorded after.
#[test]
fn file_changed_during_compile_is_not_committed() {
    let changes = [
        ("kernels/vector_ops.cpp", "echo '// new' >$changed"),
        ("include/k.hpp", "echo 'int k = 2;' >$changed"),
        // A version control may bring back a file with its old time.
        ("include/k.hpp", "touch -d 2001-01-01 new; mv new $changed"),
    ];
    for (changed, change) in changes {
        let package = package();
        commit(&package);
        let before = fs::read(package.path(KEPT)).unwrap();
        let fake = format!(
            "{}; changed={changed}; [ -n \"$debug\" ] || {{ {change}; }}",
            compile_with_header()
        );
        let script = package.script(STEPS, &fake);
        let (ran, outcomes) = order(&package, Order::Commit, script);
        assert!(outcomes.is_empty(), "{outcomes:?}");
        let error =
            format!("{changed} changed while it was being compiled; run the command again\n");
        assert!(ran.failed().ends_with(&error), "{ran:?}");
        assert!(fs::read(package.path(KEPT)).unwrap() == before);
        let again = commit(&package);
        assert_eq!(again, [Outcome::Written], "and the next time it is");
    }
}

#[test]
fn file_from_the_future_is_committed() {
    let package = package();
    let header = package.write("include/k.hpp", "int k;\n");
    let header = fs::File::options().write(true).open(header).unwrap();
    let tomorrow = std::time::SystemTime::now() + std::time::Duration::from_secs(86_400);
    header.set_modified(tomorrow).unwrap();
    assert_eq!(commit(&package), [Outcome::Written]);
}

#[test]
fn orders_for_other_packages_are_none_of_ours() {
    let package = package();
    let folder = tempfile::tempdir().unwrap();
    let other = package.path("kernels");
    Order::Commit.write(folder.path(), [&*other]).unwrap();
    let script = package.script(STEPS, COMPILE);
    script.env(VARIABLE, folder.path()).run().succeeded();
    assert!(!package.path(KEPT).exists());
    assert!(Report::collect(folder.path()).unwrap().is_empty());
}

#[test]
fn docs_rs_uses_the_committed_file() {
    let package = package();
    commit(&package);
    fs::remove_file(package.made("vector_ops")).unwrap();
    let script = package.script(STEPS, "exit 1");
    let ran = script.env("DOCS_RS", "1").run().succeeded();
    assert!(fs::read(package.made("vector_ops")).unwrap() == fs::read(package.path(KEPT)).unwrap());
    assert_eq!(ran.said("rerun-if-env-changed"), ["OUT_DIR", "DOCS_RS"]);
}

#[test]
fn docs_rs_without_committed_file_lacks_kernels() {
    for steps in [STEPS, VECTOR_OPS] {
        let package = package();
        let script = package.script(steps, "exit 1");
        script.env("DOCS_RS", "1").run().succeeded();
        let made = fs::read(package.made("vector_ops")).unwrap();
        let findings = syclbin_tools::verify::verify(&made);
        let mut reasons = findings.iter().map(|finding| finding.reason.as_str());
        assert_eq!(reasons.next(), Some("it has no abstract module"));
        assert_eq!(reasons.next(), None);
        let file = syclbin::read::parse(&made).unwrap();
        assert_eq!(file.kernel_names().count(), 0);
        assert_eq!(reason(&package), "DOCS_RS is set");
    }
}

/// Why the file in `OUT_DIR` has no kernels.
fn reason(package: &Package) -> String {
    let made = fs::read(package.made("vector_ops")).unwrap();
    let file = syclbin::read::parse(&made).unwrap();
    let set = syclbin::property::set::PLACEHOLDER;
    let reason = file.global.get(set, "reason").unwrap();
    reason.as_str().unwrap().to_owned()
}

#[test]
fn check_leaves_a_placeholder_with_the_reason() {
    let package = package();
    check(&package, STEPS);
    let expected = "`cargo syclbin build --check` compiles nothing";
    assert_eq!(reason(&package), expected);
}
