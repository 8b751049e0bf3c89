// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels of one name in several sources: each gets its source as a part of its name, or the build fails.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use syclbin::__private::{mangled, rename_kernels, with_source};
use syclbin::AbstractModule;
use syclbin::signature::KernelName;

use crate::compiler::output::Compiled;
use crate::error::{Error, Result};

/// Renames kernels, so that a symbol means one kernel of the file. `sources` are those of `compiled`.
///
/// Lambdas and classes get their source as a part of their names. If two sources have functions of one
/// name, this applies to all lambdas in them: their stubs then depend on one source only.
///
/// # Errors
///
/// Fails if two sources define the same function, and if native code has kernels of one name.
pub(crate) fn resolve(compiled: &mut [Compiled], sources: &[&Path]) -> Result<()> {
    let kernels: Vec<BTreeSet<String>> = compiled.iter().map(symbols_of).collect();
    let mut owners: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut functions: BTreeMap<KernelName, Vec<usize>> = BTreeMap::new();
    for (index, symbols) in kernels.iter().enumerate() {
        for symbol in symbols {
            owners.entry(symbol).or_default().push(index);
        }
        for function in symbols.iter().filter_map(|symbol| around(symbol)) {
            let owners = functions.entry(function).or_default();
            if owners.last() != Some(&index) {
                owners.push(index);
            }
        }
    }
    let duplicate = |symbol: &str, owners: &[usize]| Error::Duplicate {
        symbol: symbol.to_owned(),
        first: owners
            .first()
            .map(|i| sources[*i].to_owned())
            .unwrap_or_default(),
        second: owners
            .get(1)
            .map(|i| sources[*i].to_owned())
            .unwrap_or_default(),
    };
    for (symbol, owners) in owners.iter().filter(|(_, owners)| owners.len() > 1) {
        let is_twice = owners
            .iter()
            .any(|i| sources[*i] == sources[owners[0]] && *i != owners[0]);
        if is_twice || !is_class(symbol) {
            return Err(duplicate(symbol, owners));
        }
    }
    let labels = labels(sources);
    for (index, one) in compiled.iter_mut().enumerate() {
        let is_shared = |symbol: &&String| {
            owners.get(symbol.as_str()).is_some_and(|all| all.len() > 1)
                || around(symbol).is_some_and(|function| functions[&function].len() > 1)
        };
        let names: BTreeMap<String, String> = (kernels[index].iter().filter(is_shared))
            .map(|symbol| (symbol.clone(), with_source(symbol, &labels[index])))
            .collect();
        for module in &mut one.modules {
            let (mut is_renamed, mut shared) = (false, None);
            for symbol in module.kernel_names() {
                is_renamed |= names.contains_key(symbol);
                shared = shared.or(owners
                    .get_key_value(symbol)
                    .filter(|(_, all)| all.len() > 1));
            }
            // Native code keeps its names, and only fails where two are the same.
            if is_renamed
                && rename_kernels(module, &names).is_err()
                && let Some((symbol, all)) = shared
            {
                return Err(duplicate(symbol, all));
            }
        }
    }
    Ok(())
}

/// Returns whether a symbol names a lambda or a class, which other sources may have as well.
pub(crate) fn is_class(symbol: &str) -> bool {
    symbol.starts_with("_ZTS") && mangled::parse(symbol).is_some()
}

fn symbols_of(compiled: &Compiled) -> BTreeSet<String> {
    let names = compiled
        .modules
        .iter()
        .flat_map(AbstractModule::kernel_names);
    names.map(str::to_owned).collect()
}

/// Returns the function around an unnamed lambda of the user.
fn around(symbol: &str) -> Option<KernelName> {
    let mut name = mangled::parse(symbol).filter(|name| !name.lambdas.is_empty())?;
    name.lambdas.clear();
    name.parameters = None;
    let is_of_runtime = name.path.first().is_some_and(|part| part == "sycl");
    (!is_of_runtime).then_some(name)
}

/// Returns an identifier for each source: the name of its file, behind as many directories as distinguish it.
fn labels(sources: &[&Path]) -> Vec<String> {
    let parts: Vec<Vec<String>> = sources.iter().map(|path| parts(path)).collect();
    let most = parts.iter().map(Vec::len).max().unwrap_or(1);
    let mut labels: Vec<String> = parts.iter().map(|parts| joined(parts, 1)).collect();
    for count in 2..=most {
        let repeated = repeated(&labels);
        for (label, parts) in labels.iter_mut().zip(&parts) {
            if repeated.contains(label) {
                *label = joined(parts, count);
            }
        }
    }
    // What differs only in letters that an identifier lacks is numbered.
    let repeated = repeated(&labels);
    let mut taken: BTreeSet<String> = labels.iter().cloned().collect();
    for label in &mut labels {
        if repeated.contains(label) {
            let free = (1usize..).map(|number| format!("{label}_{number}"));
            *label = free
                .into_iter()
                .find(|name| taken.insert(name.clone()))
                .unwrap_or_default();
        }
    }
    labels
}

fn repeated(labels: &[String]) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let again = labels.iter().filter(|label| !seen.insert(*label));
    again.cloned().collect()
}

/// Returns the names in a path, the last first and without its extension.
fn parts(path: &Path) -> Vec<String> {
    let path: PathBuf = path.with_extension("");
    let names = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(words(&name.to_string_lossy())),
        _ => None,
    });
    names.collect()
}

fn joined(parts: &[String], count: usize) -> String {
    let parts = &parts[..count.min(parts.len())];
    let text = parts.iter().rev().map(String::as_str).collect::<Vec<_>>();
    let text = text.join("_");
    match text.chars().next() {
        Some(first) if !first.is_ascii_digit() => text,
        _ => format!("_{text}"),
    }
}

/// Returns the name as a part of an identifier, which PTX takes too.
fn words(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(paths: &[&str]) -> Vec<String> {
        let paths: Vec<&Path> = paths.iter().map(Path::new).collect();
        labels(&paths)
    }

    #[test]
    fn sources_have_distinct_labels() {
        assert_eq!(of(&["kernels/heat.cpp", "n-body.cpp"]), ["heat", "n_body"]);
        assert_eq!(
            of(&["a/main.cpp", "b/main.cpp", "c.cpp"]),
            ["a_main", "b_main", "c"]
        );
        assert_eq!(of(&["2d.cpp", "../2d.cpp"]), ["_2d_1", "_2d_2"]);
        assert_eq!(of(&["x/1/a.cpp", "x/2/a.cpp"]), ["_1_a", "_2_a"]);
        assert_eq!(
            of(&["\u{e4}.cpp", "\u{f6}.cpp", "__1.cpp"]),
            ["__2", "__3", "__1"]
        );
    }

    /// Returns the names of two sources with these kernels.
    fn resolved(symbols: [&str; 2], is_native: bool) -> Result<Vec<String>> {
        let mut both = symbols.map(|symbol| {
            let mut module = AbstractModule::default();
            module.add_kernel_name(symbol.to_owned());
            if is_native {
                let code = vec![1];
                let image = syclbin::Image::native("sm_80", "nvptx64-nvidia-cuda", code);
                module.images.push(image);
            }
            Compiled {
                modules: vec![module],
                files: Vec::new(),
                diagnostics: String::new(),
                is_of_use: true,
            }
        });
        resolve(&mut both, &["a.cpp", "b.cpp"].map(Path::new))?;
        Ok(both.iter().flat_map(symbols_of).collect())
    }

    #[test]
    fn native_code_keeps_names_that_differ() {
        let main = ["_ZTSZ4mainEUlvE_", "_ZTSZ4mainEUlvE0_"];
        assert_eq!(resolved(main, true).unwrap(), main);
        let renamed = ["_ZTSZ4mainEUlvE_$a", "_ZTSZ4mainEUlvE0_$b"];
        assert_eq!(resolved(main, false).unwrap(), renamed);
        let add = ["_ZTS3Add"; 2];
        assert!(matches!(resolved(add, true), Err(Error::Duplicate { .. })));
        let renamed = ["_ZTS3Add$a", "_ZTS3Add$b"];
        assert_eq!(resolved(add, false).unwrap(), renamed);
    }

    #[test]
    fn functions_around_lambdas_ignore_the_lambda() {
        let name = |symbol| around(symbol).map(|name| name.qualified());
        assert_eq!(name("_ZTSZ4mainEUlvE_").as_deref(), Some("main"));
        assert_eq!(around("_ZTSZ4mainEUlvE_"), around("_ZTSZ4mainEUlvE0_"));
        assert_eq!(name("_ZTS3Add"), None);
        assert_eq!(name("_ZTSZN4sycl3_V17handler4fillEvEUlvE_"), None);
        assert!(is_class("_ZTS3Add") && !is_class("__sycl_kernel_add"));
    }
}
