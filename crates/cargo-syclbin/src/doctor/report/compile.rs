// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a kernel can be compiled here.

use syclbin_toolchain::INSTALL_COMMAND;

use super::{Item, bad, good, note};
use crate::doctor::facts::{Compiler, Facts, Nvidia};
use crate::ui::Size;

/// Reports the compiler that a build would use, and what it needs.
pub(super) fn compile(facts: &Facts) -> Vec<Item> {
    let compilers = &facts.compilers;
    let mut items: Vec<_> = compilers
        .passed_over
        .iter()
        .map(|text| note("skipped", text.clone()))
        .collect();
    let remedy = match facts.unsupported {
        None => format!("run `{INSTALL_COMMAND} --component compiler`"),
        Some(_) => "set SYCLBIN_CLANG to the clang++ of your own DPC++".to_owned(),
    };
    match &compilers.taken {
        Ok(taken) => {
            items.push(good("compiler", taken.text.clone()));
            items.push(note("version", taken.version.clone()));
            if taken.is_installed {
                items.extend(facts.compiler.as_ref().map(|one| library(one, &remedy)));
            }
        }
        // Where a variable forces a compiler, the reason already contains the remedy.
        Err(reason) if reason.contains("unset ") => items.push(bad("compiler", reason.clone())),
        Err(reason) => items.push(bad("compiler", reason.clone()).with_remedy(&remedy)),
    }
    // Only the installed compiler uses this.
    if compilers.taken.as_ref().is_ok_and(|one| one.is_installed) {
        items.push(nvidia(facts.nvidia.as_ref()));
    }
    for text in &compilers.behind {
        items.push(note("not used", text.clone()));
    }
    items.push(match &facts.cpp.compiler {
        Some(tool) => note("g++", format!("{} ({})", tool.command, tool.version)),
        None => note("g++", "none".to_owned()),
    });
    items.push(match &facts.cpp.headers {
        Some(folder) => note("C++ headers", folder.display().to_string()),
        None => note("C++ headers", "none in /usr/include/c++".to_owned()),
    });
    items.push(match &facts.cache {
        Ok(Some((folder, size))) => {
            note("cache", format!("{} ({})", folder.display(), Size(*size)))
        }
        Ok(None) => note("cache", "none".to_owned()),
        Err(problem) => note("cache", problem.clone()),
    });
    match &facts.trial {
        Some(Ok(compiled)) => {
            let text = format!("compiled a kernel in {:.1?}", compiled.time);
            items.push(good("trial", text));
        }
        Some(Err(problem)) => {
            let installed = compilers.taken.as_ref().is_ok_and(|one| one.is_installed);
            let remedy = match (installed, &facts.cpp.headers) {
                (false, _) => "set SYCLBIN_CLANG to another compiler that has -fsyclbin",
                (true, None) => {
                    "install g++: the compiler reads the C++ standard library from the system"
                }
                (true, Some(_)) => "run `cargo syclbin toolchain install --force`",
            };
            let text = format!("compiling a kernel failed: {problem}");
            items.push(bad("trial", text).with_remedy(remedy));
        }
        None => {}
    }
    items
}

/// Reports the library of the installed compiler.
fn library(compiler: &Compiler, remedy: &str) -> Item {
    let library = compiler.library.display();
    match &compiler.damage {
        None => good("library", library.to_string()),
        Some(problem) => {
            bad("library", format!("{library}, damaged: {problem}")).with_remedy(remedy)
        }
    }
}

/// Reports whether kernels can be compiled for NVIDIA GPUs. Most users do not need this, so it does not affect the
/// verdict.
fn nvidia(nvidia: Option<&Nvidia>) -> Item {
    let command = format!("`{INSTALL_COMMAND} --component nvidia`");
    let Some(nvidia) = nvidia else {
        return note(
            "NVIDIA",
            format!("no code for NVIDIA GPUs; {command} is for that"),
        );
    };
    let text = format!("{}, {}", nvidia.version, nvidia.folder.display());
    match &nvidia.damage {
        None => note("NVIDIA", text),
        Some(problem) => note("NVIDIA", format!("{text}, damaged: {problem}"))
            .with_remedy(&format!("run {command}")),
    }
}
