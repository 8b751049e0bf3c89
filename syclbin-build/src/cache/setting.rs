//! The setting: all that decides what becomes of a source, but for the files.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hmac_sha256::Hash as Sha256;
use syclbin_toolchain::store::hex;

use super::arguments::Named;
use super::candidates::candidates;
use super::contents;
use super::files::{Dependency, Files, stamp};
use crate::compiler::{self, Compiler};

/// Changes when entries mean something else.
const FORMAT: &str = "syclbin kernels 2";

/// Variables with arguments, which are not looked through here.
const ARGUMENTS: [&str; 3] = [
    "CCC_OVERRIDE_OPTIONS",
    "__INTEL_PRE_CFLAGS",
    "__INTEL_POST_CFLAGS",
];

/// The crates that make results of what a compiler makes.
const MAKERS: [&str; 2] = [env!("CARGO_MANIFEST_DIR"), syclbin::FOLDER];

/// Where the compilers of a system lie, in a folder a version: clang takes the newest one's headers.
const GCC_FOLDERS: [&str; 3] = ["/usr/lib/gcc", "/usr/lib64/gcc", "/usr/include/c++"];

/// The folders that are searched last.
const LAST: [&str; 2] = ["/usr/local/include", "/usr/include"];

/// What decides but for files.
pub(crate) struct Setting {
    hash: Sha256,
    /// The folders in which headers are searched, as far as they are known.
    searched: Vec<String>,
    /// The headers that arguments name, and those that no list of files has.
    headers: Vec<String>,
}

impl Setting {
    /// `None` where what is made depends on more than what can be seen here.
    pub(crate) fn new(compiler: &Compiler, flags: &[OsString]) -> Option<Self> {
        let mut hash = Sha256::new();
        field(&mut hash, FORMAT.as_bytes());
        field(&mut hash, env!("CARGO_PKG_VERSION").as_bytes());
        field(&mut hash, &code(&MAKERS.map(Path::new))?);
        field(&mut hash, compiler.version().as_bytes());
        for word in compiler.words() {
            field(&mut hash, word.as_encoded_bytes());
        }
        let program = compiler.program().canonicalize().ok()?;
        let parts = compiler.parts().iter().map(PathBuf::as_path);
        for part in parts.chain([program.as_path()]).chain(program.parent()) {
            field(&mut hash, part.as_os_str().as_encoded_bytes());
            // A folder of versions is a part too, and may not be there.
            field(&mut hash, stamp(part).unwrap_or_default().as_bytes());
        }
        for folder in GCC_FOLDERS {
            for name in names(Path::new(folder), 2) {
                field(&mut hash, name.as_os_str().as_encoded_bytes());
            }
        }
        let arguments: Option<Vec<&str>> = flags.iter().map(|flag| flag.to_str()).collect();
        let arguments = arguments?;
        let Named {
            mut folders,
            mut headers,
        } = Named::read(arguments.iter().copied())?;
        // From there, headers that are named by arguments are searched first.
        folders.extend((!headers.is_empty()).then(|| PathBuf::from(".")));
        for variable in compiler::variables() {
            let value = std::env::var_os(variable).unwrap_or_default();
            if ARGUMENTS.contains(&variable) && !value.is_empty() {
                return None;
            }
            field(&mut hash, value.as_encoded_bytes());
            if variable.ends_with("PATH") {
                folders.extend(std::env::split_paths(&value));
            }
        }
        for text in &arguments {
            // A macro may ask for the time or for a file.
            contents::asked(text).filter(BTreeSet::is_empty)?;
            // Our headers are compared where a source reads them.
            let word = crate::compiler::headers::portable(Path::new(text));
            field(&mut hash, word.as_os_str().as_encoded_bytes());
        }
        if arguments.iter().any(|text| text.starts_with("-g")) {
            // Debug information names the folder of the compile, and those of headers.
            let current = std::env::current_dir().ok()?;
            for folder in [crate::compiler::headers::folder(), current] {
                field(&mut hash, folder.as_os_str().as_encoded_bytes());
            }
        }
        let of_compiler = program.parent().and_then(Path::parent);
        folders.extend(of_compiler.map(|folder| folder.join("include")));
        let of_machine = format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH);
        let last = LAST.into_iter().chain([of_machine.as_str()]);
        folders.extend(last.map(PathBuf::from));
        // Headers that are inside a compiler are in no list.
        headers.extend(["sycl", "CL"].map(PathBuf::from));
        Some(Self {
            hash,
            searched: texts(folders)?,
            headers: texts(headers)?,
        })
    }

    /// The name of the manifest for `source`, whose bytes have the hash `content`.
    pub(crate) fn key(&self, source: &Path, content: &str) -> String {
        let mut hash = self.hash;
        field(&mut hash, source.as_os_str().as_encoded_bytes());
        field(&mut hash, content.as_bytes());
        hex(hash.finalize())
    }

    /// The [`candidates`] for a source that reads the files `read`, which ask for the names `asked`.
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

/// Paths as texts, if they all are.
fn texts(paths: Vec<PathBuf>) -> Option<Vec<String>> {
    let texts = paths
        .into_iter()
        .map(|path| path.into_os_string().into_string());
    texts.collect::<Result<_, _>>().ok()
}

/// One part of a key: its length first, so that no two lists of parts are alike.
fn field(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

/// Files that Cargo puts beside a crate of a registry, and beside one that is vendored.
const RELEASED: [&str; 2] = [".cargo-ok", ".cargo-checksum.json"];

/// What tells that the code of crates did not change, beside their version, which is all there is to
/// those that are released; `None` where the code is not there.
fn code(crates: &[&Path]) -> Option<[u8; 32]> {
    let mut hash = Sha256::new();
    for folder in crates {
        if RELEASED.iter().any(|name| folder.join(name).is_file()) {
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

/// The names of all that lies in `folder`, down to a depth.
fn names(folder: &Path, depth: usize) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    if depth > 0 {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            all.extend(names(&entry.path(), depth - 1));
            all.insert(entry.path());
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
        // That of a release is told by its version, wherever it lies.
        for name in RELEASED {
            std::fs::write(folder.path().join(name), "").unwrap();
            assert_eq!(of(), code(&[]), "{name}");
            std::fs::remove_file(folder.path().join(name)).unwrap();
        }
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
