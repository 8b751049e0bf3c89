// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin build`: writes or checks the compiled files that are stored beside their sources.
//!
//! Only the build scripts know the sources of each file, so this command has Cargo run the build scripts, and passes
//! orders to them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Stdio};

use clap::Args;
use syclbin_build::orders::Order::{Check, Commit};
use syclbin_build::orders::{Outcome, Report, VARIABLE};

use crate::error::{Error, Result};
use crate::ui::{self, Escaped, relative};
use crate::workspace::{Selection, Workspace, cargo};

/// Options of `cargo syclbin build`.
#[derive(Clone, Debug, Args)]
#[group(id = "order", required = true, multiple = false, args = ["commit", "check"])]
pub struct Options {
    /// Compile the kernels, and write the files that build scripts name with `Build::prebuilt`
    #[arg(long)]
    pub commit: bool,
    /// Report stale prebuilt files without running a compiler; exit with status 1 if any file is stale
    #[arg(long)]
    pub check: bool,
    /// The packages to build or check.
    #[command(flatten)]
    pub selection: Selection,
}

/// Writes or checks the prebuilt files, prints a line for each file, and returns whether all are up to date.
///
/// # Errors
///
/// Fails if the workspace is missing, none of its packages builds kernels, or Cargo cannot be run.
pub fn run(options: &Options) -> Result<bool> {
    let workspace = Workspace::find(&options.selection)?;
    let packages = workspace.building()?;
    let folders = packages.iter().filter_map(|one| one.manifest_path.parent());
    let order = if options.check { Check } else { Commit };
    // A new directory name each time makes Cargo rerun build scripts that it would otherwise consider fresh.
    let failed = |cause| Error::Save(std::env::temp_dir(), cause);
    let folder = tempfile::tempdir().map_err(failed)?;
    let written = order.write(folder.path(), folders.map(AsRef::as_ref));
    written.map_err(failed)?;
    let mut command = workspace.check(&packages);
    // A check produces no kernels. Use a separate target directory, so that regular builds do not reuse its output.
    let target = workspace.metadata.target_directory.join("syclbin");
    command.arg("--target-dir").arg(target);
    command.env(VARIABLE, folder.path());
    if options.check {
        // Code that uses kernels from a missing file does not compile. Capture rustc's errors, because they would
        // hide the reports.
        command.stderr(Stdio::piped());
    }
    let output = command.spawn().and_then(Child::wait_with_output);
    let output = output.map_err(|cause| Error::Cargo(cargo().into(), cause))?;
    let mut reports =
        Report::collect(folder.path()).map_err(|cause| Error::Read(folder.path().into(), cause))?;
    // During a check, each build script leaves a report, but it may fail afterwards. Cargo then prints one of these.
    let reported: BTreeSet<_> = reports.iter().map(|one| one.package.clone()).collect();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let has_failed = stderr.contains("build script logged errors")
        || stderr.contains("failed to run custom build command");
    let is_incomplete = has_failed || reported.len() < packages.len();
    reports.retain(|report| report.outcome != Outcome::NoPrebuilt);
    let root = workspace.metadata.workspace_root.as_std_path();
    ui::answer(&render(&reports, root))?;
    let fresh = |report: &Report| !matches!(report.outcome, Outcome::Stale(_));
    let all_fresh = reports.iter().all(fresh);
    if !output.status.success() && (is_incomplete || !options.check) {
        if options.check {
            ui::complain(stderr.trim_end());
        }
        ui::complain(
            "error: Cargo failed; see above. Files that are not listed were neither checked nor written",
        );
        return Ok(false);
    }
    if reports.is_empty() {
        ui::complain(
            "no build script uses a prebuilt file; add one with .prebuilt(\"kernels/NAME.syclbin\")",
        );
    }
    if !all_fresh {
        ui::complain("error: files are stale; run `cargo syclbin build --commit` and commit them");
    }
    Ok(all_fresh)
}

fn render(reports: &[Report], root: &Path) -> String {
    let line = |report: &Report| {
        let real = root.canonicalize();
        let path = report.package.join(&report.file);
        let shown = relative(&path, real.as_deref().unwrap_or(root));
        match &report.outcome {
            Outcome::Written => format!("written  {shown}\n"),
            Outcome::Fresh => format!("fresh    {shown}\n"),
            Outcome::NoPrebuilt => String::new(),
            Outcome::Stale(reason) => format!("stale    {shown}: {}\n", Escaped(reason)),
        }
    };
    reports.iter().map(line).collect()
}
