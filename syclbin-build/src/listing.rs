//! Notes in `OUT_DIR` of what is compiled of what, for `cargo syclbin list`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::file;

/// What the names of the notes begin with; the name of the file follows.
const PREFIX: &str = ".sources-";

/// Where our files lie in `OUT_DIR`.
pub(crate) fn folder(out_dir: &Path) -> PathBuf {
    out_dir.join("syclbin")
}

/// The path of the file called `name`.
#[must_use]
pub fn file(out_dir: &Path, name: &str) -> PathBuf {
    folder(out_dir).join(format!("{name}.syclbin"))
}

/// Notes what the file called `name` is compiled of, before it is: so that one which does not compile
/// can be named, too.
pub(crate) fn write(out_dir: &Path, name: &str, sources: &[PathBuf]) -> io::Result<()> {
    let sources: Vec<_> = sources.iter().map(|path| path.to_string_lossy()).collect();
    let note = folder(out_dir).join(format!("{PREFIX}{name}"));
    file::replace(&note, sources.join("\0").as_bytes())
}

/// The names of all files, and their sources from the folder of the package.
///
/// # Errors
///
/// When the notes cannot be read.
pub fn read(out_dir: &Path) -> io::Result<BTreeMap<String, Vec<PathBuf>>> {
    let mut found = BTreeMap::new();
    let entries = match std::fs::read_dir(folder(out_dir)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if let Some(name) = entry.file_name().to_string_lossy().strip_prefix(PREFIX) {
            let text = std::fs::read_to_string(entry.path())?;
            let sources = text.split('\0').map(PathBuf::from).collect();
            found.insert(name.to_owned(), sources);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_read_by_name() {
        let out = tempfile::tempdir().unwrap();
        assert!(read(out.path()).unwrap().is_empty());
        std::fs::create_dir(folder(out.path())).unwrap();
        let sources = ["k/a b.cpp", "c.cpp"].map(PathBuf::from);
        write(out.path(), "a", &sources).unwrap();
        write(out.path(), "b", &sources[1..]).unwrap();
        std::fs::write(file(out.path(), "old"), "").unwrap();
        let found = read(out.path()).unwrap();
        let found: Vec<_> = found.iter().map(|(name, of)| (&**name, &**of)).collect();
        assert_eq!(found, [("a", &sources[..]), ("b", &sources[1..])]);
    }
}
