// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin watch`: recompiles the files that build scripts compile, each time a source or header is saved.
//!
//! This command polls the files, because polling works on every file system. A poll takes less than a millisecond,
//! because a compilation depends on only about ten files.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use syclbin_build::{Watch, listing};

use crate::error::{Error, Result};
use crate::ui::{self, Escaped, relative};
use crate::workspace::{Selection, Workspace};

/// The pause between two polls.
const PAUSE: Duration = Duration::from_millis(50);

struct Watched {
    name: String,
    /// The package's directory, to which the source paths are relative.
    package: PathBuf,
    watch: Watch,
}

/// Recompiles each file whose sources or headers change, until the user ends the program.
///
/// # Errors
///
/// Fails if the workspace is missing, none of its packages builds kernels, Cargo cannot be run, or no build script has
/// built a file.
pub fn run(selection: &Selection) -> Result<()> {
    let workspace = Workspace::find(selection)?;
    let root = workspace.metadata.workspace_root.as_std_path();
    let mut files = built(&workspace)?;
    if files.is_empty() {
        return Err(Error::NothingToWatch);
    }
    for file in &mut files {
        file.compile_if_changed(true)?;
        let shown = relative(file.watch.file(), root);
        ui::answer(&format!("watching  {}: {shown}\n", file.label()))?;
    }
    loop {
        std::thread::sleep(PAUSE);
        for file in &mut files {
            file.compile_if_changed(false)?;
        }
    }
}

/// Returns all files that the workspace's build scripts have built.
fn built(workspace: &Workspace<'_>) -> Result<Vec<Watched>> {
    let mut files = Vec::new();
    for package in workspace.building()? {
        // Build each package separately: building several together may enable other features, and so change OUT_DIR
        // compared with `cargo run`. Errors in Rust code do not matter here: the programs may already be running.
        let folders = workspace.run_build_scripts(&[package])?;
        let directory = package.manifest_path.parent();
        let (Some(out_dir), Some(directory)) = (folders.get(&package.id), directory) else {
            continue;
        };
        let failed = |cause| Error::Read(out_dir.clone(), cause);
        for name in listing::read(out_dir).map_err(failed)?.into_keys() {
            files.push(Watched {
                watch: Watch::of_build(out_dir, &name).map_err(failed)?,
                package: directory.into(),
                name,
            });
        }
    }
    Ok(files)
}

impl Watched {
    /// Compiles if a source or header changed, and prints the outcome. The first result is printed only if it is an
    /// error, because a build script has just compiled the same sources.
    fn compile_if_changed(&mut self, is_first: bool) -> Result<()> {
        std::env::set_current_dir(&self.package).map_err(Error::NoDirectory)?;
        let start = Instant::now();
        let Some(result) = self.watch.poll() else {
            return Ok(());
        };
        let seconds = start.elapsed().as_secs_f64();
        match result {
            Ok(_) if is_first => {}
            Ok(compiled) => {
                ui::pass_on(&compiled.warnings);
                ui::answer(&format!("compiled  {} in {seconds:.2} s\n", self.label()))?;
            }
            Err(error) => {
                ui::pass_on(error.diagnostics());
                ui::complain(format_args!("error: {error}"));
                let failed = format!("failed    {} after {seconds:.2} s", self.label());
                ui::answer(&format!("{failed}; the previous file remains\n"))?;
            }
        }
        Ok(())
    }

    fn label(&self) -> String {
        let sources = self.watch.sources().iter();
        let sources: Vec<_> = sources.map(|path| path.to_string_lossy()).collect();
        format!("{} ({})", self.name, Escaped(&sources.join(" ")))
    }
}
