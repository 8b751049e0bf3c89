// SPDX-License-Identifier: MIT OR Apache-2.0
//! `packages`: checks that the published archives depend only on the commit and on Cargo.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::at;
use crate::steps::{Result, cargo, step, target_folder, workspace};

/// Packages the last commit in two clones, and compares the archives byte by byte.
pub(crate) fn compare() -> Result<()> {
    let published = workspace()?.packages.iter();
    let published: Vec<_> = published
        .filter(|package| package.publish.is_none())
        .map(|package| format!("{}@{}", package.name, package.version))
        .collect();
    let folder = target_folder()?.join("reproduced");
    // The paths have different lengths.
    let clones = ["one", "another/clone"].map(|name| folder.join(name));
    for clone in &clones {
        package(clone, &published)?;
    }
    for name in published {
        let file = format!("target/package/{}.crate", name.replace('@', "-"));
        let read = |path: PathBuf| std::fs::read(&path).map_err(|error| at(&path, &error));
        let [one, another] = clones.each_ref().map(|clone| read(clone.join(&file)));
        if one? != another? {
            return Err(format!("{file} differs in {}", folder.display()));
        }
        eprintln!("{file}: same bytes");
    }
    Ok(())
}

fn package(clone: &Path, published: &[String]) -> Result<()> {
    if clone.exists() {
        std::fs::remove_dir_all(clone).map_err(|error| at(clone, &error))?;
    }
    let mut command = Command::new("git");
    command
        .args(["clone", "--quiet", "--no-hardlinks"])
        .args([crate::files::root(), clone]);
    step("clone", &mut command)?;
    let mut command = cargo();
    command
        .current_dir(clone)
        .args(["package", "--quiet", "--no-verify", "--target-dir"])
        .arg(clone.join("target"))
        .args(published.iter().map(|name| format!("--package={name}")));
    step("packages", &mut command)
}
