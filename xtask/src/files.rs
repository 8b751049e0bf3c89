// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files of this repository, and files that a command compares with computed text.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::steps::Result;

pub(crate) fn root() -> &'static Path {
    const XTASK: &str = env!("CARGO_MANIFEST_DIR");
    Path::new(XTASK).parent().unwrap_or(Path::new(XTASK))
}

/// Lists the files tracked by git that match `patterns`, sorted.
pub(crate) fn listed(patterns: &[&str]) -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--"])
        .args(patterns)
        .current_dir(root())
        .output()
        .map_err(|error| format!("git: {error}"))?;
    let names = String::from_utf8_lossy(&output.stdout);
    let mut files: Vec<_> = names
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(|name| root().join(name))
        .filter(|path| path.is_file())
        .collect();
    if files.is_empty() {
        return Err("git lists no files here; run this in a clone of the repository".to_owned());
    }
    files.sort();
    Ok(files)
}

pub(crate) fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| at(path, &error))
}

pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| at(path, &error))
}

pub(crate) fn at(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

/// Returns whether a command should write the computed text. Without `--write`, it compares.
pub(crate) fn is_write(arguments: &[String]) -> Result<bool> {
    match arguments {
        [] => Ok(false),
        [argument] if argument == "--write" => Ok(true),
        [argument, ..] => Err(format!("`{argument}`: expected `--write` or nothing")),
    }
}

/// Compares the file `name` with `text`, or writes it. An error names the first line that differs.
pub(crate) fn compare(name: &str, text: &str, is_write: bool) -> Result<()> {
    let path = root().join(name);
    if is_write {
        return write(&path, text);
    }
    let recorded = read(&path)?;
    if recorded == text {
        return Ok(());
    }
    let (now, before) = (text.lines(), recorded.lines());
    let common = now
        .clone()
        .zip(before)
        .take_while(|(now, before)| now == before);
    let line = common.count();
    let found = now.clone().nth(line).map_or("the end", str::trim);
    Err(format!(
        "{name} differs from line {} on: `{found}`",
        line + 1
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_named_by_its_line() {
        let recorded = read(&root().join("LICENSE-MIT")).unwrap();
        assert_eq!(compare("LICENSE-MIT", &recorded, false), Ok(()));
        let changed = recorded.replacen("MIT License\n\n", "MIT License\n!\n", 1);
        let difference = compare("LICENSE-MIT", &changed, false).unwrap_err();
        assert_eq!(difference, "LICENSE-MIT differs from line 2 on: `!`");
        let shorter = compare("LICENSE-MIT", "MIT License\n", false).unwrap_err();
        assert_eq!(shorter, "LICENSE-MIT differs from line 2 on: `the end`");
    }
}
