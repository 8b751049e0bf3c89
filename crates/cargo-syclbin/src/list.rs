// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin list`: lists every SYCLBIN file that a workspace builds, whether Cargo.toml or a build script's code
//! describes it.
//!
//! Only the build scripts know what they compile, and only Cargo knows where they write. So this command has Cargo run
//! stale scripts, and reads each script's output directory from Cargo's messages.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cargo_metadata::Package;
use clap::Args;
use serde::Serialize;
use syclbin::__private::{lines, listed};
use syclbin_build::{listing, manifest};

use crate::error::{Error, Result};
use crate::input::Input;
use crate::inspect;
use crate::ui::{self, Escaped, Format, Page, Shown, Size, relative};
use crate::workspace::{Selection, Workspace};

/// Options of `cargo syclbin list`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The packages to list.
    #[command(flatten)]
    pub selection: Selection,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// The list of files. It serializes to the JSON that `schema/list.schema.json` describes.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Whether every build script ran. If not, the list may be incomplete.
    pub complete: bool,
    /// The files, sorted by package and name.
    pub files: Vec<Listed>,
}

/// A file that a package builds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Listed {
    /// The name of the package.
    pub package: String,
    /// The name by which `include_syclbin!` refers to the file.
    pub name: String,
    /// `up to date` or `not built`.
    pub state: &'static str,
    /// The source files, relative to the package's directory.
    pub sources: Vec<String>,
    /// The path of the file; `None` if it is not built.
    pub path: Option<String>,
    /// The size of the file in bytes; `None` if it is not built.
    pub size: Option<u64>,
    /// The names of the kernels in the file.
    pub kernels: Vec<String>,
    /// The kernels for which `include_syclbin!` generates no function.
    pub left_out: Vec<LeftOut>,
}

/// A kernel without a generated function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The qualified C++ name, or else the symbol.
    pub kernel: String,
    /// The source location, as `file:line`.
    pub location: Option<String>,
    /// Why the kernel has no function.
    pub reason: String,
}

/// Prints the list, and returns whether all files exist.
///
/// # Errors
///
/// Fails if the workspace is missing, none of its packages builds kernels, the kernel description in Cargo.toml is
/// invalid, or Cargo cannot be run.
pub fn run(options: &Options) -> Result<bool> {
    let workspace = Workspace::find(&options.selection)?;
    let packages = workspace.building()?;
    // Running Cargo takes longer, so report mistakes in Cargo.toml first.
    let read = |package: &&Package| manifest::read(package.manifest_path.as_std_path());
    let described: std::result::Result<Vec<_>, _> = packages.iter().map(read).collect();
    let described = described.map_err(Error::Build)?;
    let root = workspace.metadata.workspace_root.as_std_path();
    let folders = workspace.run_build_scripts(&packages)?;
    let mut files = Vec::new();
    for (package, described) in packages.iter().zip(described) {
        let entries = described.into_iter().flatten();
        let sources = entries.map(|entry| (entry.name, entry.sources)).collect();
        files.extend(of_package(package, sources, folders.get(&package.id))?);
    }
    let report = Report {
        complete: packages.iter().all(|one| folders.contains_key(&one.id)),
        files,
    };
    ui::show(options.format, &report, |report| render(report, root))?;
    if !report.complete {
        let effect = "Files of packages that were not built may be missing";
        ui::complain(format_args!("error: Cargo failed; see above. {effect}"));
    }
    Ok(report.complete && report.files.iter().all(|file| file.path.is_some()))
}

/// Lists the files that Cargo.toml describes, and the files in the package's output directory.
fn of_package(
    package: &Package,
    mut sources: BTreeMap<String, Vec<PathBuf>>,
    folder: Option<&PathBuf>,
) -> Result<Vec<Listed>> {
    if let Some(folder) = folder {
        let noted = listing::read(folder).map_err(|cause| Error::Read(folder.clone(), cause))?;
        sources.extend(noted);
    }
    let list = |(name, sources): (String, Vec<PathBuf>)| {
        let path = folder.map(|folder| listing::file(folder, &name));
        let sources = sources.iter().map(|path| path.to_string_lossy());
        let mut listed = Listed {
            package: package.name.to_string(),
            name,
            state: "not built",
            sources: sources.map(Into::into).collect(),
            ..Listed::default()
        };
        if let Some(path) = path.filter(|path| path.is_file()) {
            listed.add(&Input::read(&path)?)?;
        }
        Ok(listed)
    };
    sources.into_iter().map(list).collect()
}

impl Listed {
    /// Adds the facts that the file itself records.
    fn add(&mut self, input: &Input) -> Result<()> {
        let (_, model) = input.syclbin()?;
        self.state = "up to date";
        self.path = Some(input.name());
        self.size = Some(input.bytes.len() as u64);
        for kernel in inspect::kernels(&model, &input.bytes) {
            let name = kernel.name.unwrap_or(kernel.symbol);
            match (kernel.stub, kernel.no_stub) {
                (Some(stub), _) => self.kernels.push(stub),
                (None, Some(reason)) => {
                    self.kernels.push(name.clone());
                    self.left_out.push(LeftOut {
                        kernel: name,
                        location: kernel.location,
                        reason,
                    });
                }
                // A kernel variant that the SYCL runtime generates. Programs do not launch it, so it is not listed.
                (None, None) => {}
            }
        }
        Ok(())
    }
}

fn render(report: &Report, root: &Path) -> String {
    let width = |of: fn(&Listed) -> &str| {
        let widths = report.files.iter().map(|file| of(file).len());
        widths.max().unwrap_or_default()
    };
    let (package, name) = (width(|file| &file.package), width(|file| &file.name));
    let mut page = Page::default();
    for file in &report.files {
        let size = (file.size).map_or(String::new(), |size| format!("  {}", Size(size)));
        let (state, sources) = (file.state, file.sources.join(" "));
        let title = format!("{:package$}  {:name$}", file.package, file.name);
        let sources = Escaped(&sources);
        page.line(format_args!("{title}  {state}{size}  {sources}"));
        if !file.kernels.is_empty() {
            let kernels = listed(file.kernels.iter().map(|kernel| Shown(kernel)));
            page.line(format_args!("    kernels  {kernels}"));
        }
        page.list(&lines(file.left_out.iter().map(|left_out| {
            let (kernel, reason) = (Shown(&left_out.kernel), Shown(&left_out.reason));
            let shown = |location: &String| format!(" ({})", Shown(location));
            let location = left_out.location.as_ref().map(shown).unwrap_or_default();
            format!("no function for {kernel}{location}: {reason}")
        })));
        if let Some(path) = &file.path {
            let shown = relative(Path::new(path), root);
            page.line(format_args!("    file     {shown}"));
        }
    }
    if report.files.is_empty() {
        page.line("no build script has compiled anything");
    }
    page.text
}
