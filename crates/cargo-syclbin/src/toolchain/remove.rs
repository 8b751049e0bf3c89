// SPDX-License-Identifier: MIT OR Apache-2.0
//! Removing components: one rename hides a component, then its files are deleted.

use syclbin_toolchain::{Component, Home};

use super::staging::{Purpose, Staging};
use crate::error::Result;
use crate::ui::Progress;

/// Removes every version of `components`, damaged versions included, and reports what it did. A missing component
/// is not an error.
///
/// # Errors
///
/// When the home directory cannot be locked, or something in it cannot be removed.
pub fn remove(home: &Home, components: &[Component], progress: &dyn Progress) -> Result<()> {
    // There is nothing to remove, and no reason to create a home directory.
    if !home.path().is_dir() {
        progress.line(&format!(
            "nothing is installed in {}",
            home.path().display()
        ));
        return Ok(());
    }
    let staging = Staging::open(home.path(), Purpose::Remove, progress)?;
    for component in components {
        let name = component.name();
        let folder = home.path().join(name);
        if folder.symlink_metadata().is_err() {
            progress.line(&format!(
                "{name} is not installed in {}",
                home.path().display()
            ));
            continue;
        }
        std::fs::rename(&folder, staging.path().join(name))
            .map_err(|cause| staging.failed(&folder, cause))?;
        progress.line(&format!("removed {}", folder.display()));
    }
    staging.close()
}
