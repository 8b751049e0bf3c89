// SPDX-License-Identifier: MIT OR Apache-2.0
//! Renames kernels that have the same name in several sources, by adding an identifier of the source to each name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use syclbin::__private::mangled::{self, with_source};
use syclbin::AbstractModule;
use syclbin::signature::KernelName;
use syclbin_tools::__private::{exports, rename_kernels};

use crate::compiler::output::Compiled;

/// Renames kernels, so that each symbol identifies one kernel in the file. `sources` contains the source of each
/// element of `compiled`.
///
/// If two sources contain functions with the same name, all lambdas in these functions are renamed, so that the name of
/// a stub depends only on the source of its kernel. Symbols in native code cannot be renamed, so if a source is
/// compiled to native code, its kernels that share a symbol with another source are left out, with a reason.
pub(crate) fn resolve(compiled: &mut [Compiled], sources: &[&Path]) {
    let kernels: Vec<BTreeSet<String>> = compiled.iter().map(kernels_of).collect();
    let mut owners: BTreeMap<Shared<'_>, BTreeSet<usize>> = BTreeMap::new();
    for (index, symbols) in kernels.iter().enumerate() {
        for symbol in symbols {
            owners.entry(shared(symbol)).or_default().insert(index);
        }
    }
    let labels = labels(sources);
    for (index, one) in compiled.iter_mut().enumerate() {
        let names: BTreeMap<String, String> = (kernels[index].iter())
            .filter(|symbol| owners[&shared(symbol)].len() > 1)
            .map(|symbol| (symbol.clone(), with_source(symbol, &labels[index])))
            .collect();
        let mut renamed = one.modules.clone();
        let mut modules = renamed.iter_mut();
        if modules.all(|module| rename_kernels(module, &names).is_some()) {
            one.modules = renamed;
            continue;
        }
        for symbol in names.keys() {
            let all = sources.iter().zip(&kernels);
            let all = all.filter(|(_, kernels)| kernels.contains(symbol));
            let all: Vec<String> = all.map(|(path, _)| path.display().to_string()).collect();
            if all.len() > 1 {
                leave_out(&mut one.modules, symbol, &all.join(" and "));
            }
        }
    }
}

fn leave_out(modules: &mut [AbstractModule<'_>], symbol: &str, sources: &str) {
    let reason = format!(
        "{sources} define kernels with this name, and kernels in native code cannot be renamed; remove the native \
         targets, or compile each source with a separate Build"
    );
    for module in modules {
        if module.kernel_names().any(|name| name == symbol) {
            syclbin::__private::leave_out(module, symbol, &reason);
        }
    }
}

/// Returns the symbols of the kernels. Skips exported functions, which a compiler may list among the kernels.
fn kernels_of(compiled: &Compiled) -> BTreeSet<String> {
    let of_module = |module: &AbstractModule<'_>| {
        let exported: BTreeSet<&str> = exports(module).collect();
        let names = module.kernel_names();
        let names = names.filter(|name| !exported.contains(name));
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    compiled.modules.iter().flat_map(of_module).collect()
}

/// The part of a name that is compared between sources: the function that contains unnamed lambdas, or else the
/// kernel's symbol.
type Shared<'s> = Result<KernelName, &'s str>;

fn shared(symbol: &str) -> Shared<'_> {
    let name = mangled::parse(symbol).filter(|name| !name.lambdas.is_empty());
    let mut name = name.ok_or(symbol)?;
    name.lambdas.clear();
    name.parameters = None;
    Ok(name)
}

/// Returns an identifier for each source: its file name, preceded by as many directories as necessary to be unique.
fn labels(sources: &[&Path]) -> Vec<String> {
    let parts: Vec<Vec<String>> = sources.iter().map(|path| parts(path)).collect();
    let most = parts.iter().map(Vec::len).max().unwrap_or(1);
    let mut labels: Vec<String> = parts.iter().map(|parts| joined(parts, 1)).collect();
    for count in 2..=most {
        let repeated = repeated(&labels);
        let pairs = labels.iter_mut().zip(&parts);
        for (label, parts) in pairs.filter(|(label, _)| repeated.contains(*label)) {
            *label = joined(parts, count);
        }
    }
    // Replacing special characters may have made identifiers equal. Equal identifiers are numbered.
    let repeated = repeated(&labels);
    let mut taken: BTreeSet<String> = labels.iter().cloned().collect();
    for label in &mut labels {
        if repeated.contains(label) {
            let mut free = (1usize..).map(|number| format!("{label}_{number}"));
            let free = free.find(|name| taken.insert(name.clone()));
            *label = free.unwrap_or_default();
        }
    }
    labels
}

fn repeated(labels: &[String]) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let again = labels.iter().filter(|label| !seen.insert(*label));
    again.cloned().collect()
}

/// Returns the components of a path without its extension, in reverse order.
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
    if text.is_empty() || text.starts_with(|first: char| first.is_ascii_digit()) {
        return format!("_{text}");
    }
    text
}

/// Replaces characters that are invalid in identifiers, including PTX identifiers.
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

    /// Resolves two sources with one kernel each. Returns the resulting names, and the reasons for left-out kernels.
    fn resolved(symbols: [&str; 2], is_native: bool) -> (Vec<String>, Vec<String>) {
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
        resolve(&mut both, &["a.cpp", "b.cpp"].map(Path::new));
        let left_out = both.iter().flat_map(|one| {
            let mut file = syclbin::Syclbin::new(syclbin::State::Object);
            file.modules.push(one.modules[0].clone());
            let kernels = syclbin::signature::kernels(&file).unwrap().kernels;
            let reasons = kernels.into_iter().filter_map(|kernel| {
                let reason = kernel.parameters.err()?;
                Some(format!("{}: {reason}", kernel.symbol))
            });
            reasons.filter(|reason| reason.contains("native code"))
        });
        let left_out = left_out.collect();
        (both.iter().flat_map(kernels_of).collect(), left_out)
    }

    #[test]
    fn kernels_of_one_name_get_their_source() {
        for (symbols, expected) in [
            (
                ["_ZTSZ4mainEUlvE_", "_ZTSZ4mainEUlvE0_"],
                ["_ZTSZ4mainEUlvE_$a", "_ZTSZ4mainEUlvE0_$b"],
            ),
            (["_ZTS3Add"; 2], ["_ZTS3Add$a", "_ZTS3Add$b"]),
            (
                ["__sycl_kernel_add"; 2],
                ["__sycl_kernel_add$a", "__sycl_kernel_add$b"],
            ),
            (["a-b"; 2], ["a-b$a", "a-b$b"]),
            (
                ["_ZTSZ1fvEUlvE_", "_ZTSZ1gvEUlvE_"],
                ["_ZTSZ1fvEUlvE_", "_ZTSZ1gvEUlvE_"],
            ),
        ] {
            assert_eq!(
                resolved(symbols, false),
                (expected.map(str::to_owned).into(), Vec::new())
            );
        }
    }

    #[test]
    fn native_kernels_of_one_name_are_left_out() {
        let main = ["_ZTSZ4mainEUlvE_", "_ZTSZ4mainEUlvE0_"];
        assert_eq!(
            resolved(main, true),
            (main.map(str::to_owned).into(), Vec::new())
        );
        let (names, left_out) = resolved(["_ZTS3Add"; 2], true);
        assert_eq!(names, ["_ZTS3Add"; 2]);
        assert_eq!(left_out.len(), 2);
        let expected =
            "_ZTS3Add: a.cpp and b.cpp define kernels with this name, and kernels in native code";
        assert!(
            left_out.iter().all(|text| text.starts_with(expected)),
            "{left_out:?}"
        );
    }
}
