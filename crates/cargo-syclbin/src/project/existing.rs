// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drafts a Rust program from existing C++ sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use syclbin_build::Build;

use super::{BUILD, KERNEL, MAIN, PORTED};
use crate::error::{Error, Result};
use crate::ui;

/// The sources of an existing program.
#[derive(Clone, Debug, Default, Args)]
pub struct Existing {
    /// Copy this C++ source instead of the example, and draft a launch of each of its kernels; may be repeated
    #[arg(long = "from", value_name = "SOURCE")]
    pub sources: Vec<PathBuf>,
    /// A compiler argument, such as --flag=-std=c++20 or --flag=-I/PATH; may be repeated
    #[arg(
        long = "flag",
        value_name = "FLAG",
        requires = "sources",
        allow_hyphen_values = true
    )]
    pub flags: Vec<String>,
}

/// The parts of a program that depend on its kernels. The map contains the C++ sources, build.rs and src/main.rs, each
/// by its path in the crate. The string is appended to the `syclbin-rt` dependency in Cargo.toml, to enable the
/// features that the kernels need.
type Draft = (BTreeMap<String, Vec<u8>>, &'static str);

impl Existing {
    /// Compiles the sources, and drafts a program. Without sources, returns the example.
    pub(super) fn draft(&self, name: &str, current: &Path) -> Result<Draft> {
        let fill = |template: &str| template.replace("NAME", name);
        let [example, mut script] = ["kernels/NAME.cpp", BUILD].map(fill);
        let (mut files, mut main, mut features) = (BTreeMap::new(), fill(MAIN), "");
        if self.sources.is_empty() {
            files.insert(example, KERNEL.into());
        } else {
            let sources = self.sources.iter().map(|path| current.join(path));
            let sources: Vec<PathBuf> = sources.collect();
            let flags = self.flags.iter().map(|flag| absolute(flag, current));
            let flags: Vec<String> = flags.collect();
            let (bytes, headers) = compile(&sources, &flags)?;
            let (mut calls, mut directories) = (Vec::new(), BTreeSet::new());
            for source in &sources {
                let own = source.file_name().unwrap_or_default();
                let own = format!("kernels/{}", own.display());
                calls.push(format!(".source({own:?})"));
                if files.insert(own, read(source)?).is_some() {
                    let reason = "another source has the same file name; rename one of them";
                    return Err(Error::format(source)(reason));
                }
                let directory = source.parent().unwrap_or(current);
                let mut headers = headers.iter().filter(|path| !sources.contains(path));
                if headers.any(|path| path.starts_with(directory)) {
                    directories.insert(directory);
                }
            }
            // Lets the copies include the headers beside the originals.
            calls.extend(directories.iter().map(|path| format!(".include({path:?})")));
            calls.extend(flags.iter().map(|flag| format!(".flag({flag:?})")));
            script = script.replace(&format!(".source({example:?})"), &calls.join("\n        "));
            let launches = syclbin_expand::launches(&bytes)
                .map_err(|cause| Error::Expand(sources[0].clone(), vec![cause.to_string()]))?;
            let launches = launches.join("\n").replace('\n', "\n    ");
            let launches = launches.replace("    \n", "\n");
            main = fill(PORTED).replace("LAUNCHES", launches.trim_end());
            // The kernels may have `half` parameters.
            features = ", features = [\"half\"]";
        }
        files.insert("build.rs".to_owned(), script.into());
        files.insert("src/main.rs".to_owned(), main.into());
        Ok((files, features))
    }
}

/// Compiles the sources. Returns the bytes of the compiled file, and the paths of the files that the compiler read.
fn compile(sources: &[PathBuf], flags: &[String]) -> Result<(Vec<u8>, BTreeSet<PathBuf>)> {
    let build = Build::new().targets(["spir64"]).warnings(false);
    let build = sources.iter().fold(build, Build::source);
    let build = flags.iter().fold(build, Build::flag);
    let failed = |cause| Error::Save(std::env::temp_dir(), cause);
    let folder = tempfile::tempdir().map_err(failed)?;
    let file = folder.path().join("draft.syclbin");
    // The first poll always compiles.
    let compiled = build.watch(&file).poll().transpose().map_err(|error| {
        ui::pass_on(error.diagnostics());
        Error::Build(error)
    })?;
    let headers = compiled.map(|compiled| compiled.files).unwrap_or_default();
    Ok((read(&file)?, headers))
}

/// Returns a compiler argument with an absolute path, because the program is in another directory than this process.
fn absolute(flag: &str, current: &Path) -> String {
    for option in ["-isystem", "-iquote", "-I", ""] {
        if let Some(path) = flag.strip_prefix(option).filter(|path| !path.is_empty())
            && current.join(path).exists()
        {
            return format!("{option}{}", current.join(path).display());
        }
    }
    flag.to_owned()
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|cause| Error::Read(path.into(), cause))
}
