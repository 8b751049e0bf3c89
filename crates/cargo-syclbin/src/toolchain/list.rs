// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lists and removes installed components, including damaged ones. The list has one row per component and version.

use std::path::PathBuf;

use syclbin_toolchain::file::paths_in;
use syclbin_toolchain::{Component, Home, INSTALL_COMMAND};

use super::manifest::Manifest;
use super::pins::ComponentPin;
use super::staging::Staging;
use crate::error::{Error, Result};
use crate::ui::{Page, Progress, Size};

/// One version of one component in the home directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The component.
    pub component: Component,
    /// The version, which is also the name of its directory.
    pub version: String,
    /// The directory of this version.
    pub folder: PathBuf,
    /// The manifest of a complete installation, or the reason why it is incomplete.
    pub state: std::result::Result<Manifest, String>,
}

impl Row {
    pub(crate) fn of(component: Component, folder: PathBuf) -> Self {
        let name = folder.file_name().unwrap_or_default();
        Self {
            component,
            version: name.to_string_lossy().into_owned(),
            state: Manifest::read_complete(&folder),
            folder,
        }
    }
}

/// Lists all installations in `home`, sorted by component, then by version.
pub fn rows(home: &Home) -> Vec<Row> {
    let mut rows = Vec::new();
    for component in Component::ALL {
        let mut folders: Vec<_> = paths_in(&home.versions(component)).collect();
        folders.retain(|path| path.is_dir());
        folders.sort();
        rows.extend(folders.into_iter().map(|folder| Row::of(component, folder)));
    }
    rows
}

/// Formats the rows as an aligned table, or a single line if there are none. `pins` are the versions that `install`
/// installs.
pub fn render(home: &Home, rows: &[Row], pins: &[ComponentPin]) -> String {
    if rows.is_empty() {
        let home = home.path().display();
        return format!("nothing is installed in {home}; run `{INSTALL_COMMAND}`\n");
    }
    let header = ["component", "version", "size", "directory", "licence"].map(str::to_owned);
    let mut table = vec![header];
    for row in rows {
        let name = row.component.name();
        let is_pinned = |pin: &ComponentPin| {
            (pin.component, pin.version) == (row.component, row.version.as_str())
        };
        let size = row.state.as_ref().map(|manifest| Size(manifest.size()));
        let licence = match &row.state {
            Ok(manifest) => manifest.licences().join("; "),
            Err(problem) if pins.iter().any(is_pinned) => {
                format!("({problem}; run `{INSTALL_COMMAND} --component {name}`)")
            }
            Err(problem) => format!("({problem}; delete {})", row.folder.display()),
        };
        table.push([
            name.to_owned(),
            row.version.clone(),
            size.map_or("damaged".to_owned(), |size| size.to_string()),
            row.folder.display().to_string(),
            licence,
        ]);
    }
    let width = |column: usize| {
        let widths = table.iter().map(|cells| cells[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut page = Page::default();
    for cells in &table {
        let cells = cells.iter().zip(widths);
        let cells = cells.map(|(cell, width)| format!("{cell:width$}"));
        page.line(cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    page.text
}

/// Returns the home directory, or the directory of a component's newest version.
///
/// # Errors
///
/// Fails if that component is not installed.
pub fn path(home: &Home, component: Option<Component>) -> Result<PathBuf> {
    let Some(component) = component else {
        return Ok(home.path().to_owned());
    };
    let installed = home.newest(component);
    let installed = installed.ok_or_else(|| Error::NotInstalled(home.path().into(), component))?;
    Ok(installed.folder)
}

/// Removes every version of `components`, including damaged ones, and reports each removal. A missing component is
/// not an error.
///
/// # Errors
///
/// Fails if the home directory cannot be locked, or something in it cannot be removed.
pub fn remove(home: &Home, components: &[Component], progress: &dyn Progress) -> Result<()> {
    // Do not create a home directory just to find it empty.
    let shown = home.path().display();
    if !home.path().is_dir() {
        progress.line(&format!("nothing is installed in {shown}"));
        return Ok(());
    }
    let staging = Staging::open(home.path(), progress)?;
    for component in components {
        let name = component.name();
        let folder = home.versions(*component);
        if folder.symlink_metadata().is_err() {
            progress.line(&format!("{name} is not installed in {shown}"));
            continue;
        }
        let renamed = std::fs::rename(&folder, staging.path().join(name));
        renamed.map_err(|cause| staging.failed(&folder, cause))?;
        progress.line(&format!("removed {}", folder.display()));
    }
    staging.clear()
}
