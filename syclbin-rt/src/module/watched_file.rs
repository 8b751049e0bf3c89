// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`WatchedFile`], which reloads a file each time the file is replaced.

use std::fmt;
use std::path::{Path, PathBuf};

use syclbin_toolchain::file::stamp;

/// A SYCLBIN file that may be replaced while the program runs, for example by `cargo syclbin watch`.
///
/// Each call to [`WatchedFile::changed`] compares the size, times and inode of the file; there is no background
/// thread. The closure passed to [`WatchedFile::new`] loads the file, so it chooses the generated module and the values
/// of specialization constants.
///
/// ```no_run
/// # syclbin_rt::include_syclbin! {
/// #     mod kernels = "../tests/files/vector_ops.object.syclbin";
/// # }
/// # fn main() -> syclbin_rt::Result<()> {
/// use syclbin_rt::WatchedFile;
///
/// let queue = kernels::Module::best_device()?.queue()?;
/// let mut kernels = kernels::Module::load(&queue)?;
/// let mut file = WatchedFile::new("saxpy.syclbin", |path| {
///     // SAFETY: the file is compiler output.
///     unsafe { kernels::Module::builder(&queue).load_file(path) }
/// });
/// for _frame in 0..1000 {
///     match file.changed() {
///         Ok(Some(new)) => kernels = new,
///         Ok(None) => {}
///         Err(error) => eprintln!("{error}; keeping the old kernels"),
///     }
///     // Launch `kernels`.
/// }
/// # drop(kernels);
/// # Ok(())
/// # }
/// ```
pub struct WatchedFile<F> {
    path: PathBuf,
    load: F,
    /// The stamp (size, times and inode) of the last loaded file; `None` before the first call to `changed`. The inner
    /// value is `None` if the file was missing.
    loaded: Option<Option<String>>,
}

impl<F> WatchedFile<F> {
    /// Creates a watcher for the file at `path`, which calls `load` with that path to load the file.
    pub fn new<T, E>(path: impl Into<PathBuf>, load: F) -> Self
    where
        F: FnMut(&Path) -> Result<T, E>,
    {
        Self {
            path: path.into(),
            load,
            loaded: None,
        }
    }

    /// Loads the file if it was replaced since the last call; otherwise returns `None`. The first call always loads the
    /// file.
    ///
    /// After the first call, a missing file counts as unchanged, because it may be about to be replaced. Errors are not
    /// fatal: each is returned once, and the next change loads the file again.
    ///
    /// # Errors
    ///
    /// Returns any error from the closure. The error of a generated `load_file` lists all differences between the file
    /// and the module's functions.
    pub fn changed<T, E>(&mut self) -> Result<Option<T>, E>
    where
        F: FnMut(&Path) -> Result<T, E>,
    {
        let now = stamp(&self.path);
        let is_current = |loaded: &Option<String>| now.is_none() || *loaded == now;
        if self.loaded.as_ref().is_some_and(is_current) {
            return Ok(None);
        }
        // Recorded before loading, so that changes from here on trigger another load.
        self.loaded = Some(now);
        (self.load)(&self.path).map(Some)
    }
}

impl<F> fmt::Debug for WatchedFile<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchedFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "watched_file_tests.rs"]
mod tests;
