// SPDX-License-Identifier: MIT OR Apache-2.0
//! Excludes files that match a pattern but are included by another source, because they are not sources themselves.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::compiler::output::Compiled;
use crate::error::Result;
use crate::request::Request;

/// A source, and the result of compiling it.
type One<'s> = (&'s Path, Result<Compiled>);

/// Removes every source that was found only through a pattern and that another source includes, even if it does not
/// compile on its own.
pub(crate) fn without<'s>(
    sources: Vec<(&'s PathBuf, Result<Compiled>)>,
    request: &Request,
) -> Vec<One<'s>> {
    let mut sources: Vec<One<'s>> = (sources
        .into_iter()
        .map(|(path, result)| (path.as_path(), result)))
    .collect();
    if request.matched.is_empty() {
        return sources;
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut read: Vec<(PathBuf, BTreeSet<PathBuf>)> = (sources.iter())
        .map(|(path, result)| {
            let files = result.iter().flat_map(|one| &one.files);
            (real(path), files.map(|file| real(file)).collect())
        })
        .collect();
    let mut index = 0;
    while index < sources.len() {
        let own = &read[index].0;
        let others = read.iter().enumerate().filter(|(other, _)| *other != index);
        let is_included = others
            .into_iter()
            .any(|(_, (_, files))| files.contains(own));
        if is_included && request.matched.contains(sources[index].0) {
            drop(sources.remove(index));
            read.remove(index);
        } else {
            index += 1;
        }
    }
    sources
}
