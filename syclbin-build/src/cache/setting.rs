// SPDX-License-Identifier: MIT OR Apache-2.0
//! The setting: every input of a cached result except the files that the compiler reads. Its hash is part of each cache
//! key.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hmac_sha256::Hash as Sha256;
use syclbin_toolchain::file::{paths_in, stamp};
use syclbin_toolchain::store::hex;

use super::arguments::Named;
use super::candidates::candidates;
use super::files::{self, Dependency, Files};
use crate::compiler::{self, Compiler};

/// The version of the cache format. Change this whenever the meaning of cache entries changes.
const FORMAT: &str = "syclbin kernels 4";

/// The directories of the crates that produce the cached results. The cache key includes the code of these crates, so
/// that a change to the code invalidates cached results.
const MAKERS: [&str; 3] = [
    env!("CARGO_MANIFEST_DIR"),
    syclbin::__private::FOLDER,
    syclbin_tools::__private::FOLDER,
];

/// Directories of the system's GCC installations, with a subdirectory for each version. Clang uses the newest version's
/// headers, so the versions are part of the cache key.
const GCC_FOLDERS: [&str; 3] = ["/usr/lib/gcc", "/usr/lib64/gcc", "/usr/include/c++"];

/// The header directories that are searched last.
const LAST: [&str; 2] = ["/usr/local/include", "/usr/include"];

pub(crate) struct Setting {
    hash: Sha256,
    /// The directories that the compiler is known to search for headers.
    searched: Vec<String>,
    /// Headers that arguments name, and headers that depfiles omit.
    headers: Vec<String>,
}

impl Setting {
    /// Creates the setting. Returns `None` if results depend on inputs that this crate cannot track.
    pub(crate) fn new(compiler: &Compiler, flags: &[OsString]) -> Option<Self> {
        let mut hash = Sha256::new();
        field(&mut hash, FORMAT.as_bytes());
        field(&mut hash, env!("CARGO_PKG_VERSION").as_bytes());
        field(&mut hash, &code(&MAKERS.map(Path::new))?);
        field(&mut hash, compiler.found.version.as_bytes());
        for word in compiler.words() {
            field(&mut hash, word.as_encoded_bytes());
        }
        let program = compiler.program().canonicalize().ok()?;
        let parts = compiler.parts.iter().map(PathBuf::as_path);
        for part in parts.chain([program.as_path()]).chain(program.parent()) {
            field(&mut hash, part.as_os_str().as_encoded_bytes());
            // A part may be a directory. The stamp of a missing part is empty.
            field(&mut hash, stamp(part).unwrap_or_default().as_bytes());
        }
        for folder in GCC_FOLDERS {
            for name in names(Path::new(folder), 2) {
                field(&mut hash, name.as_os_str().as_encoded_bytes());
            }
        }
        // The arguments in `CXX`, without the compiler that a wrapper runs.
        let wrapped = usize::from(compiler.found.candidate.wrapped.is_some());
        let leading = compiler.found.candidate.leading.iter().skip(wrapped);
        let arguments = leading.chain(flags).map(|flag| flag.to_str());
        let arguments = arguments.collect::<Option<Vec<&str>>>()?;
        let is_ptx = arguments.iter().any(|text| text.contains("nvptx64"));
        if is_ptx && !compiler.found.is_own() {
            return None; // they read files of a CUDA toolkit
        }
        let mut named = Named::read(arguments.iter().copied())?;
        // The compiler looks up headers named in arguments (`-include`) in the current directory first.
        let current = (!named.headers.is_empty()).then(|| PathBuf::from("."));
        named.folders.extend(current);
        for variable in compiler::variables() {
            let value = std::env::var_os(variable).unwrap_or_default();
            // This module does not parse compiler arguments in environment variables, so they disable the cache.
            if compiler::ARGUMENTS.contains(&variable) && !value.is_empty() {
                return None;
            }
            field(&mut hash, value.as_encoded_bytes());
            if variable.ends_with("PATH") {
                named.folders.extend(std::env::split_paths(&value));
            }
        }
        for text in &arguments {
            // A macro that tests for a file, or expands to the current time, disables the cache.
            files::asked(text).filter(BTreeSet::is_empty)?;
            field(&mut hash, text.as_bytes());
        }
        if arguments.iter().any(|text| text.starts_with("-g")) {
            // Debug information contains the current directory.
            let current = std::env::current_dir().ok()?;
            field(&mut hash, current.as_os_str().as_encoded_bytes());
        }
        let of_compiler = program.parent().and_then(Path::parent);
        let of_compiler = of_compiler.map(|folder| folder.join("include"));
        named.folders.extend(of_compiler);
        let of_machine = format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH);
        let last = LAST.into_iter().chain([of_machine.as_str()]);
        named.folders.extend(last.map(PathBuf::from));
        // `syclbin-clang` omits its built-in headers from depfiles.
        named.headers.extend(["sycl", "CL"].map(PathBuf::from));
        Some(Self {
            hash,
            searched: texts(named.folders)?,
            headers: texts(named.headers)?,
        })
    }

    /// Returns the key of the manifest for `source`. `content` is the hash of the source's bytes.
    pub(crate) fn key(&self, source: &Path, content: &str) -> String {
        let mut hash = self.hash;
        field(&mut hash, source.as_os_str().as_encoded_bytes());
        field(&mut hash, content.as_bytes());
        hex(hash.finalize())
    }

    /// Returns the [`candidates`] for a source. `read` lists the files that its compilation reads. `asked` lists the
    /// file names whose existence these files test.
    pub(crate) fn candidates(
        &self,
        read: &[Dependency],
        asked: &BTreeSet<String>,
        files: &mut Files,
    ) -> BTreeSet<PathBuf> {
        let names = self.headers.iter().chain(asked).map(String::as_str);
        let read: Vec<&Path> = read.iter().map(|read| read.path.as_path()).collect();
        candidates(&self.searched, names, &read, files)
    }
}

/// Returns the paths as strings, or `None` if a path is not valid Unicode.
fn texts(paths: Vec<PathBuf>) -> Option<Vec<String>> {
    let texts = paths.into_iter();
    let texts = texts.map(|path| path.into_os_string().into_string());
    texts.collect::<Result<_, _>>().ok()
}

/// Adds a field to the hash of a key. The length comes first, so that different lists of fields produce different
/// hashes.
fn field(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

/// The file that Cargo adds to crates of a registry.
const RELEASED: &str = ".cargo-ok";

/// Returns a hash that changes whenever the code of these crates changes. Crates of a registry are skipped, because
/// their version identifies their code. Returns `None` if a crate contains no code.
fn code(crates: &[&Path]) -> Option<[u8; 32]> {
    let mut hash = Sha256::new();
    for folder in crates {
        if folder.join(RELEASED).is_file() {
            continue;
        }
        let mut files = names(&folder.join("src"), 8);
        files.retain(|path| path.extension().is_some_and(|end| end == "rs"));
        if files.is_empty() {
            return None;
        }
        for path in files {
            field(&mut hash, path.as_os_str().as_encoded_bytes());
            field(&mut hash, stamp(&path)?.as_bytes());
        }
    }
    Some(hash.finalize())
}

/// Returns the paths of all entries in a directory, down to a maximum depth.
fn names(folder: &Path, depth: usize) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    if depth > 0 {
        for path in paths_in(folder) {
            all.extend(names(&path, depth - 1));
            all.insert(path);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_other_code_are_others() {
        let folder = tempfile::tempdir().unwrap();
        let of = || code(&[folder.path()]);
        assert_eq!(of(), None, "there is none");
        let path = folder.path().join("src/signature/mangled.rs");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "fn a() {}").unwrap();
        let one = of();
        assert!(one.is_some());
        assert_eq!(of(), one);
        std::fs::write(&path, "fn ab() {}").unwrap();
        assert_ne!(of(), one);
        let one = of();
        std::fs::write(folder.path().join("src/lib.rs"), "").unwrap();
        assert_ne!(of(), one);
        // The version identifies the code of a crate from a registry, regardless of its location.
        std::fs::write(folder.path().join(RELEASED), "").unwrap();
        assert_eq!(of(), code(&[]));
    }

    #[test]
    fn directories_are_listed_down_to_a_depth() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/c");
        std::fs::create_dir_all(&deep).unwrap();
        let [b, a] = [1, 2].map(|up| deep.ancestors().nth(up).unwrap().to_owned());
        assert_eq!(names(folder.path(), 1), [a.clone()].into());
        assert_eq!(names(folder.path(), 2), [a, b].into());
    }

    #[test]
    fn the_code_that_makes_results_is_found() {
        let paths = MAKERS.map(Path::new);
        assert!(code(&paths).is_some());
        for (folder, file) in paths
            .iter()
            .zip(["src/compiler/output.rs", "src/signature/mod.rs"])
        {
            assert!(folder.join(file).is_file(), "{file}");
        }
    }
}
