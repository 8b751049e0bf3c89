// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin init`: adds kernels to an existing crate.

use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Package, Target};

use super::{BUILD, CALL, CRATES, Change, KERNEL, MODULE, Source, Summary, VERSION, cargo};
use crate::error::{Error, Result};
use crate::ui::relative;
use crate::workspace::{Selection, Workspace};

/// The name of the source file, without extension, and of the generated module.
const NAME: &str = "saxpy";

/// Adds a kernel to the crate that contains the directory `current`, and returns the code that the user must add.
///
/// # Errors
///
/// Fails if the crate or the checkout does not exist, a file already exists, Cargo cannot add a dependency, or a file
/// cannot be written. On failure, the crate is unchanged.
pub fn run(crates: &Source, current: &Path) -> Result<Summary> {
    let checkout = crates.checkout(current)?;
    let no_crate = || Error::NoCrate(current.into());
    let mut manifests = current.ancestors().map(|one| one.join("Cargo.toml"));
    let manifest = manifests.find(|manifest| manifest.is_file());
    let manifest = manifest.ok_or_else(no_crate)?;
    let selection = Selection {
        manifest_path: Some(manifest.clone()),
        ..Selection::default()
    };
    let workspace = Workspace::find(&selection)?;
    let is_here = |package: &&Package| package.manifest_path == manifest;
    let package = workspace.metadata.packages.iter().find(is_here);
    let package = package.ok_or_else(no_crate)?;
    let root = manifest.parent().unwrap_or(current);
    let code = code(package).unwrap_or_else(|| root.join("src/lib.rs"));
    let script = source(package, Target::is_custom_build);

    let beside = code.parent().unwrap_or(root);
    let source = root.join(format!("kernels/{NAME}.cpp"));
    let module = beside.join("kernels.rs");
    let nested = beside.join("kernels/mod.rs");
    let files = [&source, &module, &nested].into_iter();
    let existing = files.filter(|file| file.symlink_metadata().is_ok());
    let names: Vec<_> = existing.map(|file| relative(file, root)).collect();
    if !names.is_empty() {
        let remedy = "rename these files and their `mod` items, or write the kernels yourself as README.md shows";
        return Err(Error::Occupied(names.join(", "), remedy));
    }

    let mut change = Change::default();
    change.will_edit(&manifest)?;
    let lock = workspace.metadata.workspace_root.join("Cargo.lock");
    change.will_edit(lock.as_ref())?;
    let kinds = [DependencyKind::Normal, DependencyKind::Build];
    for (name, kind) in CRATES.into_iter().zip(kinds) {
        let mut dependencies = package.dependencies.iter();
        if !dependencies.any(|one| one.name == name && one.kind == kind) {
            add(name, kind, checkout.as_deref(), root)?;
        }
    }
    let fill = |template: &str| template.replace("NAME", NAME);
    change.write(&source, KERNEL)?;
    change.write(&module, &fill(MODULE))?;
    if script.is_none() {
        change.write(&root.join("build.rs"), &fill(BUILD))?;
    }
    change.keep();

    let shown = |path: &Path| relative(path, root);
    let mut answer = format!("added {} and {}\n", shown(&source), shown(&module));
    if let Some(script) = script {
        let line =
            fill("syclbin_build::Build::new().source(\"kernels/NAME.cpp\").compile(\"NAME\");");
        answer += &format!("\nadd to main in {}:\n\n    {line}\n", shown(&script));
    }
    answer += &format!("\nadd to {}:\n\n{}", shown(&code), indented(&fill(CALL)));
    Ok(Summary::new(answer))
}

/// Returns the crate root of the library, or else of the first program.
fn code(package: &Package) -> Option<PathBuf> {
    source(package, |target| {
        !(target.is_custom_build() || target.is_example() || target.is_test() || target.is_bench())
    })
}

/// Returns the crate root of the first target that `is_wanted` accepts.
fn source(package: &Package, is_wanted: impl Fn(&Target) -> bool) -> Option<PathBuf> {
    let target = package.targets.iter().find(|target| is_wanted(target))?;
    Some(target.src_path.clone().into())
}

fn add(name: &str, kind: DependencyKind, checkout: Option<&str>, root: &Path) -> Result<()> {
    let mut words = vec!["add", "--quiet"];
    if kind == DependencyKind::Build {
        words.push("--build");
    }
    let versioned = format!("{name}@{VERSION}");
    let path = checkout.map(|checkout| format!("{checkout}/{name}"));
    match &path {
        Some(path) => words.extend(["--path", path]),
        None => words.push(&versioned),
    }
    let remedy = "specify a checkout of syclbin with --path DIRECTORY";
    cargo(&words, root, remedy)
}

fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| format!("    {line}"));
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}
