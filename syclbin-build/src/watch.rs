// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Watch`] recompiles a SYCLBIN file when a source or header changes. A failed compile leaves the file unchanged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use syclbin_toolchain::file::{TICK, changed, stamp, stamp_of};

use crate::compile::{self, diagnostics};
use crate::compiler::Compiler;
use crate::error::{Error, Result};
use crate::out_dir::listing;
use crate::request::{Request, pattern_directory};
use crate::{action, cargo, file};

/// Recompiles a SYCLBIN file when a source or header changes. Created by [`Build::watch`](crate::Build::watch).
///
/// A watch starts no thread. Call [`poll`](Self::poll) in a loop:
///
/// ```no_run
/// use std::time::Duration;
///
/// let mut watch = syclbin_build::Build::new()
///     .source("kernels/saxpy.cpp")
///     .watch("saxpy.syclbin");
/// loop {
///     match watch.poll() {
///         Some(Ok(compiled)) => println!("{}saxpy.syclbin is new", compiled.warnings),
///         Some(Err(error)) => eprintln!("{}error: {error}", error.diagnostics()),
///         None => std::thread::sleep(Duration::from_millis(50)),
///     }
/// }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is compiled until `poll` is called"]
pub struct Watch {
    request: Request,
    /// The sources of the last compile, including those that match a pattern.
    sources: Vec<PathBuf>,
    file: PathBuf,
    /// The `OUT_DIR` and name of the build script's note, if the request comes from a note.
    noted: Option<(PathBuf, String)>,
    /// The compiler of the last compile, unless that compile failed.
    compiler: Option<Compiler>,
    /// The stamps of the files that determine the result, taken before the last compile.
    compiled: Option<Stamps>,
    /// The stamps of these files at the last poll, if they differed from `compiled`.
    seen: Option<Stamps>,
}

/// Each file with its stamp, a string that changes whenever the file changes. `None` stands for a missing file, or for
/// one that may have changed during the compile.
type Stamps = BTreeMap<PathBuf, Option<String>>;

/// The result of a successful compile by a [`Watch`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recompiled {
    /// The compiler's warnings, one per line, or an empty string.
    pub warnings: String,
    /// The sources and headers that the result depends on.
    pub files: BTreeSet<PathBuf>,
}

impl Watch {
    pub(crate) fn new(request: Request, file: PathBuf) -> Self {
        Self {
            sources: request.sources.clone(),
            request,
            file,
            noted: None,
            compiler: None,
            compiled: None,
            seen: None,
        }
    }

    /// Creates a watch for a file that a build script built, with the script's sources and arguments. When
    /// [`poll`](Self::poll) is called, the current directory must be the package directory.
    ///
    /// # Errors
    ///
    /// Fails if the build script's note cannot be read.
    #[doc(hidden)]
    pub fn of_build(out_dir: &Path, name: &str) -> std::io::Result<Self> {
        let request = listing::request(out_dir, name)?;
        let mut watch = Self::new(request, listing::file(out_dir, name));
        watch.noted = Some((out_dir.to_owned(), name.to_owned()));
        Ok(watch)
    }

    /// Returns the sources of the last compile. Before the first compile, returns the sources in the request.
    #[must_use]
    pub fn sources(&self) -> &[PathBuf] {
        &self.sources
    }

    /// Returns the path of the SYCLBIN file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Compiles if a source or header has changed since the last compile, and waits for the result. Returns `None` if
    /// there is nothing to do. The first call always compiles, unless the result is cached.
    ///
    /// A change counts only after two successive calls observe the same state, because an editor may write a file in
    /// steps. So call this every 10 to 100 milliseconds. The file is replaced atomically, and is not written if its
    /// bytes are the same.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Build::try_compile`](crate::Build::try_compile). In that case, the file stays
    /// unchanged, and the next change triggers another compile.
    pub fn poll(&mut self) -> Option<Result<Recompiled>> {
        if self.is_set_aside() {
            return None;
        }
        if let Some(compiled) = &self.compiled {
            let now: Stamps = stamps(compiled.keys().cloned());
            if now == *compiled {
                self.seen = None;
                return None;
            }
            if self.seen.as_ref() != Some(&now) {
                self.seen = Some(now);
                return None;
            }
        }
        Some(self.compile())
    }

    fn compile(&mut self) -> Result<Recompiled> {
        let known = self.compiled.take().unwrap_or_default();
        let mut before = stamps(known.into_keys().chain(self.own_files()));
        let started = SystemTime::now();
        self.seen = None;
        let (result, warnings) = cargo::silence(|| self.try_compile());
        let mut files = self.own_files();
        match &result {
            Ok(read) => {
                files.extend(read.iter().cloned());
                before.retain(|path, _| files.contains(path));
            }
            Err(error) => {
                // The next compile searches for a compiler again, because this one may have been removed.
                self.compiler = None;
                files.extend(self.named_by(error));
            }
        }
        for path in files {
            let stamp = before.entry(path);
            stamp.or_insert_with_key(|path| stamp_before(path, started));
        }
        self.compiled = Some(before);
        result.map(|files| Recompiled { warnings, files })
    }

    /// Compiles, and returns the sources and headers that the result depends on.
    fn try_compile(&mut self) -> Result<BTreeSet<PathBuf>> {
        self.read_note();
        self.request.check()?;
        let request = self.request.clone().with_matches()?;
        self.sources.clone_from(&request.sources);
        request.check_sources()?;
        let work = tempfile::tempdir().map_err(Error::write(&std::env::temp_dir()))?;
        let known = self.compiler.take();
        let compiler = known.map_or_else(|| Compiler::find(&request), Ok)?;
        let (whole, files) = compile::compile(&compiler, &request, work.path())?;
        self.compiler = Some(compiler);
        let bytes = action::to_bytes(&whole)?;
        if !self.is_set_aside() {
            file::replace(&self.file, &bytes).map_err(Error::write(&self.file))?;
        }
        Ok(files)
    }

    /// Returns whether the build script's note is missing: the script is running, or no longer builds the file.
    fn is_set_aside(&self) -> bool {
        let noted = self.noted.as_ref();
        noted.is_some_and(|(out_dir, name)| !listing::note_of(out_dir, name).exists())
    }

    /// Adopts the request from the build script's latest note.
    fn read_note(&mut self) {
        let Some((out_dir, name)) = &self.noted else {
            return;
        };
        if let Ok(request) = listing::request(out_dir, name)
            && request != self.request
        {
            self.request = request;
            self.compiler = None;
        }
    }

    /// Returns the sources, the directories in which a new file may match a pattern, and the build script's note.
    fn own_files(&self) -> BTreeSet<PathBuf> {
        let note = |(out_dir, name): &(PathBuf, String)| listing::note_of(out_dir, name);
        let sources = self.sources.iter().cloned();
        let patterns = self.request.patterns.iter();
        let sources = sources.chain(patterns.flat_map(|pattern| {
            let parent = file::directory_of(Path::new(pattern)).to_string_lossy();
            let found = glob::glob(&parent).into_iter().flatten().flatten();
            let directories = found.filter(|path| path.is_dir());
            directories.chain([pattern_directory(pattern)])
        }));
        sources.chain(self.noted.as_ref().map(note)).collect()
    }

    /// Returns the files whose change may fix `error`. A failed compile lists no headers, so the names of the headers
    /// come from its diagnostics.
    fn named_by(&self, error: &Error) -> BTreeSet<PathBuf> {
        let mut files = self.own_files();
        let text = diagnostics::plain(error.diagnostics());
        for line in text.lines() {
            let line = line.strip_prefix("In file included from ").unwrap_or(line);
            // A path may itself contain colons, for example after a Windows drive letter.
            for (at, _) in line.match_indices(':') {
                let path = Path::new(&line[..at]);
                if line[at + 1..].starts_with(|c: char| c.is_ascii_digit()) && path.is_file() {
                    files.insert(path.to_owned());
                }
            }
        }
        if text.contains("file not found") {
            // Includes the directories that may contain the missing header, because they change when it appears.
            let beside = files.iter();
            let beside = beside.filter_map(|path| path.parent().map(|_| file::directory_of(path)));
            let searched = self.request.arguments.iter();
            let searched = searched.filter_map(|argument| argument.to_str()?.strip_prefix("-I"));
            let searched = searched.map(|folder| if folder.is_empty() { "." } else { folder });
            let folders = beside.chain(searched.map(Path::new));
            let folders: Vec<PathBuf> = folders.map(Path::to_owned).collect();
            files.extend(folders);
        }
        files
    }
}

fn stamps(paths: impl Iterator<Item = PathBuf>) -> Stamps {
    paths.map(|path| (path.clone(), stamp(&path))).collect()
}

/// Returns the stamp of a file, or `None` if it may have changed since `moment`. In that case, the next poll compiles
/// again, because a compile that started at that moment may have read the file before the change.
fn stamp_before(path: &Path, moment: SystemTime) -> Option<String> {
    let metadata = path.metadata().ok()?;
    let is_older = changed(&metadata)? + TICK < moment;
    is_older.then(|| stamp_of(&metadata))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_possibly_changed_since_has_no_stamp() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let metadata = file.as_file().metadata().unwrap();
        let changed = changed(&metadata).unwrap();
        for (moment, is_older) in [
            (changed, false),
            (changed + TICK / 2, false),
            (changed + TICK, false),
            (changed + TICK * 2, true),
        ] {
            let expected = stamp_of(&metadata).filter(|_| is_older);
            assert_eq!(stamp_before(file.path(), moment), expected);
        }
    }

    #[test]
    fn files_of_positions_in_diagnostics_are_watched() {
        let out = tempfile::tempdir().unwrap();
        std::fs::create_dir(listing::directory(out.path())).unwrap();
        listing::write(out.path(), "a", &Request::default()).unwrap();
        let watch = Watch::of_build(out.path(), "a").unwrap();
        let [header, other, missing] =
            ["a:2.hpp", "b.hpp", "c.hpp"].map(|name| out.path().join(name));
        for path in [&header, &other] {
            std::fs::write(path, "").unwrap();
        }
        let [at, word, gone] = [&header, &other, &missing].map(|path| path.display());
        let error = Error::Compile {
            source_file: "k/a.cpp".into(),
            diagnostics: format!("{at}:3:1: error: x\n{word}: error: y\n{gone}:3:1: error: z\n"),
        };
        let mut expected = watch.own_files();
        expected.insert(header);
        assert_eq!(watch.named_by(&error), expected);
    }

    #[test]
    fn file_without_a_note_is_not_watched() {
        let out = tempfile::tempdir().unwrap();
        std::fs::create_dir(listing::directory(out.path())).unwrap();
        let request = Request::default();
        listing::write(out.path(), "a", &request).unwrap();
        let mut watch = Watch::of_build(out.path(), "a").unwrap();
        std::fs::remove_file(listing::note_of(out.path(), "a")).unwrap();
        assert!(watch.poll().is_none());
        listing::write(out.path(), "a", &request).unwrap();
        assert!(watch.poll().unwrap().is_err(), "it has no source");
    }

    #[test]
    fn notes_of_build_scripts_are_adopted() {
        let out = tempfile::tempdir().unwrap();
        std::fs::create_dir(listing::directory(out.path())).unwrap();
        let mut request = Request {
            sources: vec!["k/a.cpp".into()],
            ..Request::default()
        };
        listing::write(out.path(), "a", &request).unwrap();
        let mut watch = Watch::of_build(out.path(), "a").unwrap();
        let note = listing::note(&listing::directory(out.path()), "a");
        assert_eq!(watch.sources(), ["k/a.cpp"].map(PathBuf::from));
        assert_eq!(watch.own_files(), ["k/a.cpp".into(), note].into());
        request.arguments = vec!["-O3".into()];
        listing::write(out.path(), "a", &request).unwrap();
        watch.read_note();
        assert_eq!(watch.request.arguments, ["-O3"]);
        watch.request.patterns = vec!["k/**/*.cpp".to_owned()];
        assert!(watch.own_files().contains(Path::new("k")));
    }
}
