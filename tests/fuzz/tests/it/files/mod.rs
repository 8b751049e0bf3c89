// SPDX-License-Identifier: MIT OR Apache-2.0
//! The test files: those of the reference runtime, and containers that LLVM's tools made.

use std::path::{Path, PathBuf};

/// Each file in `tests/files` that is not a source, with its bytes, in the order of the paths.
pub(crate) fn files() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = test_files::directory();
    let folders = [
        folder.join("extract"),
        folder.join("made"),
        folder.join("nvidia"),
        folder,
    ];
    let entries = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| is_binary(path));
    let mut paths: Vec<_> = paths.filter(|path| !is_known(path)).collect();
    paths.sort();
    assert!(paths.len() >= 45, "the files are missing");
    paths
        .into_iter()
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect()
}

/// Whether a file is made of another one, and so large that damaging every byte of it takes long.
fn is_known(path: &Path) -> bool {
    let size = path.metadata().map_or(0, |data| data.len());
    path.parent()
        .is_some_and(|folder| folder.ends_with("nvidia"))
        && size > 8 << 10
}

/// Whether a file was made by a tool, and not written by hand.
fn is_binary(path: &Path) -> bool {
    let by_hand = ["c", "cpp", "ll", "md", "sh"];
    let extension = path.extension().unwrap_or_default();
    path.is_file() && !by_hand.iter().any(|written| extension == *written)
}
