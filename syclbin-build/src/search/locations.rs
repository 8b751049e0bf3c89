// SPDX-License-Identifier: MIT OR Apache-2.0
//! The places where a search looks for candidates, in a fixed order.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use syclbin_toolchain::file::{find_program, paths_in};
use syclbin_toolchain::{Component, NoHome, version_order};

use super::{Candidate, Origin, Search};

/// Names of compilers that may support `-fsyclbin`: oneAPI's, Ubuntu's package, and DPC++ built from source.
const NAMES: [&str; 3] = ["icpx", "dpclang++", "clang++"];

const ONEAPI: &str = "/opt/intel/oneapi";

/// A function that returns the candidates in one place, best first, without probing them.
type Place = fn(&Search<'_>) -> Result<Vec<Candidate>, NoHome>;

pub(super) const PLACES: [Place; 4] = [in_variables, installed, on_path, by_default];

/// Returns the candidates that `CXX` and its variants, `CMPLR_ROOT` and `ONEAPI_ROOT` name.
fn in_variables(search: &Search<'_>) -> Result<Vec<Candidate>, NoHome> {
    let variable = search.variable;
    let names = cxx_variables(search.target.as_deref(), search.host.as_deref());
    let named = names.into_iter().filter_map(|name| {
        let value = variable(&name)?;
        search.command_line(name, &value)
    });
    let mut found: Vec<_> = named.collect();
    if let Some(root) = variable("CMPLR_ROOT") {
        found.extend(compilers_of(root.as_ref(), &Origin::Folder("CMPLR_ROOT")));
    }
    if let Some(root) = variable("ONEAPI_ROOT") {
        found.extend(versions_of(root.as_ref(), &Origin::Folder("ONEAPI_ROOT")));
    }
    Ok(found)
}

fn installed(search: &Search<'_>) -> Result<Vec<Candidate>, NoHome> {
    let newest = match search.home() {
        Ok(home) => home.newest(Component::Compiler),
        // Without a home directory, no compiler can be installed in it, so the search continues elsewhere.
        Err(NoHome::Unknown) => None,
        Err(relative) => return Err(relative),
    };
    let candidates = newest.into_iter().map(|installed| {
        let program = installed.entry();
        Candidate::program(Origin::Installed(installed), program)
    });
    Ok(candidates.collect())
}

fn on_path(search: &Search<'_>) -> Result<Vec<Candidate>, NoHome> {
    let path = (search.variable)("PATH").unwrap_or_default();
    // Skips empty entries, which mean the current directory, and relative directories.
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let folders: Vec<_> = folders.collect();
    let programs = NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(program(name))));
    Ok(existing(programs, &Origin::Path))
}

/// Returns the compilers in `/opt/intel/oneapi`, unless `ONEAPI_ROOT` names another directory.
fn by_default(search: &Search<'_>) -> Result<Vec<Candidate>, NoHome> {
    Ok(match (search.variable)("ONEAPI_ROOT") {
        Some(_) => Vec::new(),
        None => versions_of(ONEAPI.as_ref(), &Origin::Default),
    })
}

fn existing(programs: impl Iterator<Item = PathBuf>, origin: &Origin) -> Vec<Candidate> {
    let programs = programs.filter(|program| program.is_file());
    let candidates = programs.map(|program| Candidate::program(origin.clone(), program));
    candidates.collect()
}

/// Returns the variables that the crate `cc` reads for a C++ compiler, in the same order, then the variables for the
/// host. Compilers for either triple can compile device code.
///
/// `cc` itself is only a test dependency. It returns a single compiler, so the search could not try the next variable.
/// It also does not report the variable's name, and runs the compiler without a time limit.
pub(super) fn cxx_variables(target: Option<&str>, host: Option<&str>) -> Vec<String> {
    let mut names = Vec::new();
    let crosses = target != host;
    let mut of = |triple: Option<&str>, kind: &str| {
        if let Some(triple) = triple {
            names.push(format!("CXX_{triple}"));
            names.push(format!("CXX_{}", triple.replace(['-', '.'], "_")));
        }
        names.push(format!("{kind}_CXX"));
        names.push("CXX".to_owned());
    };
    of(target, if crosses { "TARGET" } else { "HOST" });
    if crosses {
        of(host, "HOST");
    }
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// Returns the compilers in `root/bin`, and in `root/bin/compiler`, which contains oneAPI's `clang++`.
fn compilers_of(root: &Path, origin: &Origin) -> Vec<Candidate> {
    let folders = ["bin", "bin/compiler"];
    let programs = NAMES
        .iter()
        .flat_map(|name| folders.map(|folder| root.join(folder).join(program(name))));
    existing(programs, origin)
}

/// Returns the compilers in `root/compiler/VERSION/bin`: `latest` first, then from the newest to the oldest version.
fn versions_of(root: &Path, origin: &Origin) -> Vec<Candidate> {
    let mut folders: Vec<_> = paths_in(&root.join("compiler")).collect();
    folders.sort_by_key(|folder| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        std::cmp::Reverse((name == "latest", version_order(&name)))
    });
    let compilers = folders.iter().map(|folder| compilers_of(folder, origin));
    compilers.flatten().collect()
}

fn program(name: &str) -> String {
    format!("{name}{}", std::env::consts::EXE_SUFFIX)
}

impl Search<'_> {
    /// Parses the value of `CXX` like the crate `cc`: as a path, or else as a program with arguments. Unlike `cc`,
    /// which has a list of wrappers, treats any program as a wrapper (such as ccache) if its first argument is a program
    /// too.
    fn command_line(&self, name: String, value: &OsStr) -> Option<Candidate> {
        let text = value.to_string_lossy();
        let text = text.trim();
        let origin = Origin::Variable {
            name,
            value: value.to_owned(),
        };
        let mut words = text.split_whitespace();
        let first = words.next()?;
        let rest: Vec<&str> = words.collect();
        // If the whole value is an existing file, spaces belong to its path.
        if rest.is_empty() || self.on_path(text.as_ref()).is_some() {
            return Some(self.candidate(origin, value, text));
        }
        let mut found = self.candidate(origin, OsStr::new(first), first);
        found.wrapped = self.on_path(rest[0].as_ref());
        found.leading = rest.iter().map(OsString::from).collect();
        Some(found)
    }

    fn candidate(&self, origin: Origin, whole: &OsStr, text: &str) -> Candidate {
        let found = self.on_path(whole).or_else(|| self.on_path(text.as_ref()));
        Candidate::program(origin, found.unwrap_or_else(|| PathBuf::from(text)))
    }

    /// Resolves a program: a path to a program, or a name that is looked up on `PATH`.
    pub(super) fn on_path(&self, program: &OsStr) -> Option<PathBuf> {
        // Cargo tracks `PATH` only if it matters.
        let is_name = Path::new(program).components().count() == 1;
        let path = is_name.then(|| (self.variable)("PATH")).flatten();
        find_program(program, path.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_come_in_the_order_of_crate_cc() {
        let (here, there) = ("x86_64-unknown-linux-gnu", "thumbv8m.main-none-eabi");
        assert_eq!(
            cxx_variables(Some(here), Some(here)),
            [
                "CXX_x86_64-unknown-linux-gnu",
                "CXX_x86_64_unknown_linux_gnu",
                "HOST_CXX",
                "CXX"
            ]
        );
        assert_eq!(
            cxx_variables(Some(there), Some(here)),
            [
                "CXX_thumbv8m.main-none-eabi",
                "CXX_thumbv8m_main_none_eabi",
                "TARGET_CXX",
                "CXX",
                "CXX_x86_64-unknown-linux-gnu",
                "CXX_x86_64_unknown_linux_gnu",
                "HOST_CXX"
            ]
        );
    }
}
