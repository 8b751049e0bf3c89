// SPDX-License-Identifier: MIT OR Apache-2.0
//! `licences`: checks that each source names its licence and THIRD-PARTY.md lists the licences of all dependencies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};

use crate::files;
use crate::steps::Result;

/// Licences that are compatible with the licence of this project. MPL-2.0 requires the sources of changed files, and
/// we change none.
const ALLOWED: [&str; 9] = [
    "MIT",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Zlib",
];

const SPDX: &str = "SPDX-License-Identifier: MIT OR Apache-2.0";

/// The sources. Excluded are templates of users' programs, and files whose bytes or lines a test compares.
const SOURCES: [&str; 11] = [
    "*.rs",
    "*.hpp",
    "*.cpp",
    "*.sh",
    ":!crates/cargo-syclbin/src/doctor/trial.cpp",
    ":!crates/cargo-syclbin/templates/",
    ":!crates/syclbin-clang/src/lower/ptx/*.cpp",
    ":!crates/syclbin-expand/tests/snapshots/",
    ":!crates/syclbin-expand/tests/ui/",
    ":!syclbin-rt/benches/kernels/*.cpp",
    ":!tests/files/*.cpp",
];

/// Checks sources and dependencies. With `--write`, adds lines to sources and writes the list of dependencies.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let is_write = files::is_write(arguments)?;
    sources(is_write)?;
    let metadata = MetadataCommand::new()
        .other_options(["--locked".to_owned()])
        .exec();
    dependencies(&metadata.map_err(|error| error.to_string())?, is_write)
}

fn sources(is_write: bool) -> Result<()> {
    let mut without = Vec::new();
    for path in files::listed(&SOURCES)? {
        let name = path.strip_prefix(files::root()).unwrap_or(&path);
        let text = files::read(&path)?;
        let Some(marked) = marked(&text, name) else {
            continue;
        };
        if is_write {
            files::write(&path, &marked)?;
        } else {
            without.push(name.display().to_string());
        }
    }
    if without.is_empty() {
        return Ok(());
    }
    Err(format!(
        "these files do not begin with `{SPDX}`, which `cargo xtask licences --write` adds: {}",
        without.join(", ")
    ))
}

/// Returns `text` with its licence, or `None` if it already has one. In a script, the interpreter comes first.
fn marked(text: &str, name: &Path) -> Option<String> {
    let (sign, start) = if name.extension().is_some_and(|ending| ending == "sh") {
        let line = text.starts_with("#!").then(|| text.find('\n')).flatten();
        ("#", line.map_or(0, |end| end + 1))
    } else {
        ("//", 0)
    };
    let (head, rest) = text.split_at(start);
    let line = format!("{sign} {SPDX}\n");
    (!rest.starts_with(&line)).then(|| format!("{head}{line}{rest}"))
}

fn dependencies(metadata: &Metadata, is_write: bool) -> Result<()> {
    let refused: Vec<_> = others(metadata)
        .filter(|package| !is_allowed(licence(package)))
        .map(|package| format!("{} ({})", package.name, licence(package)))
        .collect();
    if !refused.is_empty() {
        return Err(format!(
            "xtask/src/licences.rs does not allow the licences of {}",
            refused.join(", ")
        ));
    }
    files::compare("THIRD-PARTY.md", &list(metadata), is_write)
        .map_err(|error| format!("{error}; `cargo xtask licences --write` writes the list"))
}

fn others(metadata: &Metadata) -> impl Iterator<Item = &Package> {
    let is_other = |package: &&Package| package.source.is_some();
    metadata.packages.iter().filter(is_other)
}

fn licence(package: &Package) -> &str {
    package.license.as_deref().unwrap_or("no licence")
}

/// Returns whether each operand of `AND` in an SPDX expression offers an allowed licence.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    expression.split(" AND ").all(|part| {
        let mut choices = part.trim_matches(['(', ')']).split(" OR ");
        choices.any(|licence| ALLOWED.contains(&licence.trim()))
    })
}

fn list(metadata: &Metadata) -> String {
    let shipped = shipped(metadata);
    let mut text = "# Crates of others\n\n`cargo xtask licences --write` writes this list, and `cargo xtask lint` compares it.\n".to_owned();
    for (title, is_shipped) in [
        ("In programs, build scripts and the tools", true),
        ("In tests and benchmarks alone", false),
    ] {
        let mut table: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for package in others(metadata) {
            if shipped.contains(&package.id) == is_shipped {
                let names = table.entry(licence(package)).or_default();
                names.insert(package.name.as_str());
            }
        }
        text.push_str(&format!(
            "\n## {title}\n\n| licence | crates |\n|---|---|\n"
        ));
        for (licence, names) in table {
            let names: Vec<_> = names.into_iter().collect();
            text.push_str(&format!("| {licence} | {} |\n", names.join(", ")));
        }
    }
    text
}

/// Returns the published packages and their dependencies outside of tests.
fn shipped(metadata: &Metadata) -> BTreeSet<&PackageId> {
    let published = metadata.workspace_packages().into_iter();
    let mut open: Vec<_> = published
        .filter(|package| package.publish.is_none())
        .map(|package| &package.id)
        .collect();
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let nodes: BTreeMap<_, _> = nodes.map(|node| (&node.id, node)).collect();
    let mut found = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !found.insert(id) {
            continue;
        }
        for dependency in nodes.get(id).iter().flat_map(|node| &node.deps) {
            let mut kinds = dependency.dep_kinds.iter();
            if kinds.any(|kind| kind.kind != DependencyKind::Development) {
                open.push(&dependency.pkg);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_required_part_offers_an_allowed_licence() {
        for allowed in [
            "MIT",
            "GPL-3.0 OR MIT",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "MIT/Apache-2.0",
        ] {
            assert!(is_allowed(allowed), "{allowed}");
        }
        for refused in ["GPL-3.0", "MIT AND GPL-3.0", "no licence"] {
            assert!(!is_allowed(refused), "{refused}");
        }
    }

    #[test]
    fn scripts_name_their_interpreter_before_the_licence() {
        let script = marked("#!/bin/sh\nset -e\n", Path::new("a.sh")).unwrap();
        assert_eq!(script, format!("#!/bin/sh\n# {SPDX}\nset -e\n"));
        assert_eq!(marked(&script, Path::new("a.sh")), None);
        let source = marked("fn a() {}\n", Path::new("a.rs")).unwrap();
        assert_eq!(source, format!("// {SPDX}\nfn a() {{}}\n"));
        assert_eq!(marked(&source, Path::new("a.rs")), None);
    }
}
