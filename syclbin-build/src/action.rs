// SPDX-License-Identifier: MIT OR Apache-2.0
//! Chooses what a build does: compile the sources, or use, check or commit the prebuilt file.

use std::path::{Path, PathBuf};

use syclbin::metadata::Sources;
use syclbin::{Container, Syclbin};

use crate::compiler::Compiler;
use crate::error::{Error, Result};
use crate::out_dir::Paths;
use crate::prebuilt::orders::{self, Order, Outcome, Report};
use crate::prebuilt::{self, Prebuilt};
use crate::request::Request;
use crate::{cargo, compile, file};

/// The reason recorded in placeholders that `cargo syclbin build --check` produces.
const CHECKED: &str = "`cargo syclbin build --check` compiles nothing";

pub(crate) fn is_on_docs_rs() -> bool {
    cargo::env("DOCS_RS").is_some()
}

/// Returns the contents of the SYCLBIN file to write to `OUT_DIR`. The environment, the orders from
/// `cargo syclbin build` and the available compilers determine whether the sources are compiled.
pub(crate) fn contents(request: &Request, paths: &Paths) -> Result<Vec<u8>> {
    let kept = request.prebuilt.as_deref();
    if is_on_docs_rs() {
        return document(kept);
    }
    let orders = cargo::env(orders::VARIABLE);
    let order = orders.and_then(|folder| Order::read(Path::new(&folder), &paths.package));
    if let Some(kept) = kept.filter(|kept| kept.exists()) {
        cargo::rerun_if_changed(kept);
    }
    let compiler = match (order, kept) {
        (Some(Order::Check), Some(kept)) => return check(kept, request, paths),
        (Some(Order::Check), None) => {
            // A check must work without a compiler, so it produces a placeholder.
            report(Outcome::NoPrebuilt, request, paths)?;
            return prebuilt::placeholder(CHECKED);
        }
        (Some(Order::Commit), Some(kept)) => {
            return commit(kept, &Compiler::find(request)?, request, paths);
        }
        (None, Some(kept)) => match Compiler::find(request) {
            Err(none @ Error::NoCompiler { .. }) => return take(kept, none, request, paths),
            // Other errors concern an explicit setting, such as an unusable compiler in `SYCLBIN_CLANG`, so they fail
            // the build despite the prebuilt file.
            compiler => compiler?,
        },
        (_, None) => Compiler::find(request)?,
    };
    let (whole, _) = compile::compile(&compiler, request, &paths.directory)?;
    to_bytes(&whole)
}

/// On docs.rs, returns the prebuilt file, or a placeholder if there is none.
fn document(kept: Option<&Path>) -> Result<Vec<u8>> {
    if let Some(path) = kept {
        cargo::rerun_if_changed(path);
        if let Some(kept) = Prebuilt::read(path)? {
            return Ok(kept.bytes);
        }
    }
    prebuilt::placeholder("DOCS_RS is set")
}

/// Returns the bytes of the prebuilt file when no compiler was found (`none`). Warns if the file is stale.
fn take(path: &Path, none: Error, request: &Request, paths: &Paths) -> Result<Vec<u8>> {
    let Some(kept) = Prebuilt::read(path)? else {
        return Err(Error::PrebuiltMissing {
            path: path.to_owned(),
            compiler: Box::new(none),
        });
    };
    for file in kept.files(&paths.package) {
        cargo::rerun_if_changed(&file);
    }
    if let Some(stale) = kept.stale(&paths.package, &request.recorded_arguments(paths)) {
        cargo::warning(&format!(
            "{} is stale: {stale}; run `cargo syclbin build --commit` on a machine that has a compiler, or install one \
             here: {none}",
            path.display()
        ));
    }
    Ok(kept.bytes)
}

fn check(path: &Path, request: &Request, paths: &Paths) -> Result<Vec<u8>> {
    let problem = match Prebuilt::read(path) {
        Ok(Some(kept)) => {
            let stale = kept.stale(&paths.package, &request.recorded_arguments(paths));
            let outcome = stale.map_or(Outcome::Fresh, Outcome::Stale);
            report(outcome, request, paths)?;
            return Ok(kept.bytes);
        }
        Ok(None) => "the file does not exist".to_owned(),
        Err(Error::Prebuilt { problem, .. }) => format!("the file {problem}"),
        Err(error) => return Err(error),
    };
    report(Outcome::Stale(problem), request, paths)?;
    prebuilt::placeholder(CHECKED)
}

/// Compiles the sources, and writes the result and a record of the sources to the prebuilt file. Returns the result
/// without the record.
fn commit(path: &Path, compiler: &Compiler, request: &Request, paths: &Paths) -> Result<Vec<u8>> {
    let begun = prebuilt::begin();
    let (mut whole, files) = compile::compile(compiler, request, &paths.directory)?;
    let made = to_bytes(&whole)?;
    let sources = Sources {
        arguments: request.recorded_arguments(paths),
        compiler: compiler.found.version.clone(),
        ..Sources::default()
    };
    prebuilt::record(&mut whole, begun, paths, &files, sources)?;
    let bytes = to_bytes(&whole)?;
    let outcome = match std::fs::read(path) {
        Ok(old) if old == bytes => Outcome::Fresh,
        _ => Outcome::Written,
    };
    let written = std::fs::create_dir_all(file::directory_of(path));
    let written = written.and_then(|()| file::replace(path, &bytes));
    written.map_err(Error::write(path))?;
    report(outcome, request, paths)?;
    Ok(made)
}

/// Reports the outcome to `cargo syclbin build`, if that command started this build.
fn report(outcome: Outcome, request: &Request, paths: &Paths) -> Result<()> {
    let Some(folder) = cargo::env(orders::VARIABLE).map(PathBuf::from) else {
        return Ok(());
    };
    let report = Report {
        package: paths.package.clone(),
        file: request.prebuilt.clone().unwrap_or_default(),
        outcome,
    };
    report.leave(&folder).map_err(Error::write(&folder))
}

pub(crate) fn to_bytes(file: &Syclbin<'_>) -> Result<Vec<u8>> {
    Ok(syclbin::write::to_vec(file, Container::default())?)
}
