//! Removing components: one rename takes a component out of sight, then its files are deleted.

use syclbin_toolchain::{Component, Home};

use super::staging::{Purpose, Staging};
use crate::error::Result;
use crate::ui::Progress;

/// Removes every version of `components`, damaged ones too. Says what it did; what is not there is
/// no error.
///
/// # Errors
///
/// When the home folder cannot be locked, or something in it cannot be removed.
pub fn remove(home: &Home, components: &[Component], progress: &dyn Progress) -> Result<()> {
    // No reason to make a home folder in order to remove things from it.
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
