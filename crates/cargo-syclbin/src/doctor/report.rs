// SPDX-License-Identifier: MIT OR Apache-2.0
//! Groups the facts, rates them, and suggests a remedy for each problem.
//!
//! The verdict depends on two questions: can a kernel be compiled here, and can it run here? Facts that affect
//! neither are listed without a rating: for example, a missing pip is not a problem on a machine that has its own
//! DPC++.

use std::fmt;

use syclbin_build::search::Origin;
use syclbin_toolchain::{COMPILER_LIBRARY, GET_CPU_DRIVER, HAS_COMPONENTS, INSTALL_COMMAND};

use super::facts::Facts;
use super::trial::Compiled;
use crate::toolchain::list::Row;

pub(super) struct Report {
    /// The title and lines of each section.
    sections: [(&'static str, Vec<Item>); 3],
    pub(super) compiles: bool,
    pub(super) runs: bool,
}

impl Report {
    pub(super) fn of(facts: &Facts) -> Self {
        let (compile, run) = (compile(facts), run(facts));
        let well = |items: &[Item]| items.iter().all(|item| item.mark != Mark::Bad);
        Self {
            compiles: well(&compile),
            runs: well(&run),
            sections: [
                ("toolchain", toolchain(facts)),
                ("compile", compile),
                ("run", run),
            ],
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = self.sections.iter().flat_map(|(_, items)| items);
        let width = items.map(|item| item.label.len()).max().unwrap_or(0);
        for (title, items) in &self.sections {
            writeln!(f, "{title}")?;
            for item in items {
                let mark = match item.mark {
                    Mark::Good => "ok",
                    Mark::Bad => "!!",
                    Mark::Note => "  ",
                };
                let indent = format!("\n     {:width$}  ", "");
                let text = item.text.replace('\n', &indent);
                write!(f, "  {mark} {:width$}  {text}", item.label)?;
                if let Some(remedy) = &item.remedy {
                    write!(f, "{indent}-> {remedy}")?;
                }
                writeln!(f)?;
            }
            writeln!(f)?;
        }
        let verdict = match (self.compiles, self.runs) {
            (true, true) => "kernels can be compiled and run here",
            (true, false) => "kernels can be compiled here, but not run",
            (false, true) => "kernels can be run here, but not compiled",
            (false, false) => "kernels can neither be compiled nor run here",
        };
        writeln!(f, "{verdict}")
    }
}

fn toolchain(facts: &Facts) -> Vec<Item> {
    let mut items = vec![note("home", &facts.home)];
    items.extend((facts.unsupported.as_ref()).map(|reason| note("platform", reason)));
    if !HAS_COMPONENTS {
        // Nothing can be installed, so a missing pip does not matter.
        return items;
    }
    items.push(match &facts.pip {
        Ok(pip) => note("pip", pip),
        Err(tried) => note("pip", format!("none: {tried}"))
            .with_remedy("install pip or uv, set SYCLBIN_PIP, or install with --wheels DIR"),
    });
    items
}

/// Reports the compiler that a build would use, and its requirements.
fn compile(facts: &Facts) -> Vec<Item> {
    let skipped = facts.skipped.iter();
    let mut items: Vec<_> = skipped.map(|text| note("skipped", text)).collect();
    let remedy = match facts.unsupported {
        None => format!("run `{INSTALL_COMMAND} --component compiler`"),
        Some(_) => "set SYCLBIN_CLANG to the clang++ of your own DPC++ installation".to_owned(),
    };
    let is_installed = (facts.taken.as_ref())
        .is_ok_and(|taken| matches!(taken.candidate.origin, Origin::Installed(_)));
    match &facts.taken {
        Ok(taken) => {
            items.push(good("compiler", &taken.candidate));
            items.push(note("version", &taken.version));
        }
        // All other errors of a build contain their remedies.
        Err(reason) if reason != "none found" => items.push(bad("compiler", reason)),
        Err(reason) => items.push(bad("compiler", reason).with_remedy(&remedy)),
    }
    if is_installed {
        items.extend(facts.compiler.as_ref().map(|compiler| {
            let library = compiler.folder.join(COMPILER_LIBRARY);
            let library = library.display();
            match &compiler.state {
                Ok(_) => good("library", library),
                Err(problem) => {
                    bad("library", format!("{library}, damaged: {problem}")).with_remedy(&remedy)
                }
            }
        }));
        // Most users do not need the component `nvidia`, so it does not affect the verdict.
        items.push(match &facts.nvidia {
            Some(nvidia) => component("NVIDIA", nvidia),
            None if cfg!(windows) => note("NVIDIA", "not available on Windows: the compiler cannot generate code for NVIDIA GPUs there"),
            None => note(
                "NVIDIA",
                format!("no code for NVIDIA GPUs; run `{INSTALL_COMMAND} --component nvidia` to compile for them"),
            ),
        });
    }
    if facts.unsupported.is_none() {
        items.push(match &facts.cpp_headers {
            Ok(folder) => note("C++ headers", folder.display()),
            Err(folder) => note("C++ headers", format!("none in {}", folder.display())),
        });
    }
    items.push(note("cache", &facts.cache));
    let remedy = match (is_installed, &facts.cpp_headers) {
        (false, _) => "set SYCLBIN_CLANG to another compiler that supports -fsyclbin",
        (true, Err(_)) if !cfg!(windows) => {
            "install g++: the compiler uses the system's C++ standard library"
        }
        (true, _) => "run `cargo syclbin toolchain install --force`",
    };
    items.extend(facts.trial.as_ref().map(|trial| match trial {
        Ok(Compiled { time, .. }) => good("trial", format!("compiled a kernel in {time:.1?}")),
        Err(problem) => {
            bad("trial", format!("compiling a kernel failed: {problem}")).with_remedy(remedy)
        }
    }));
    items
}

/// Reports the devices, the device that a program would get, and the result of running a kernel on it.
fn run(facts: &Facts) -> Vec<Item> {
    let mut items = Vec::new();
    // Another device may work, so a damaged CPU device alone does not affect the verdict.
    let cpu_device = facts.cpu_device.as_ref();
    items.extend(cpu_device.map(|part| component("CPU device", part)));
    let variable = facts.device_variable.as_ref();
    items.extend(variable.map(|value| note("SYCLBIN_DEVICE", value)));
    let remedy = match variable {
        Some(_) => "unset SYCLBIN_DEVICE, or set it to another device".to_owned(),
        None => format!("install a driver for your GPU, or {GET_CPU_DRIVER}"),
    };
    items.extend(facts.intel_gpu.clone());
    match &facts.devices {
        Ok(devices) => items.extend(devices.iter().cloned()),
        Err(reason) => {
            items.push(bad("devices", reason).with_remedy(&remedy));
            return items;
        }
    }
    let skipped = facts.run.iter().flat_map(|run| &run.skipped);
    items.extend(skipped.map(|skipped| note("skipped", skipped)));
    let source = match facts.trial {
        Some(Ok(_)) => "that was compiled here",
        _ => "that is shipped with this program",
    };
    items.push(match &facts.run {
        Ok(run) if run.is_right => {
            good("trial", format!("ran a kernel {source} on {}", run.device))
        }
        Ok(run) => {
            let device = &run.device;
            let text = format!("a kernel {source} produced a wrong result on {device}");
            let remedy = "update the device's driver, or set SYCLBIN_DEVICE to another device";
            bad("trial", text).with_remedy(remedy)
        }
        Err(problem) => {
            let text = format!("running a kernel {source} failed: {problem}");
            bad("trial", text).with_remedy(&remedy)
        }
    });
    items
}

/// The effect of an item on the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Good,
    /// Kernels cannot be compiled or run.
    Bad,
    /// For information only.
    Note,
}

/// One line of the report.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) mark: Mark,
    pub(super) label: &'static str,
    pub(super) text: String,
    pub(super) remedy: Option<String>,
}

/// Describes an installed component. The line does not affect the verdict.
pub(super) fn component(label: &'static str, installed: &Row) -> Item {
    let text = format!("{}, {}", installed.version, installed.folder.display());
    let name = installed.component.name();
    match &installed.state {
        Ok(_) => note(label, text),
        Err(problem) => note(label, format!("{text}, damaged: {problem}"))
            .with_remedy(&format!("run `{INSTALL_COMMAND} --component {name}`")),
    }
}

pub(super) fn good(label: &'static str, text: impl ToString) -> Item {
    Item::new(Mark::Good, label, &text)
}

pub(super) fn bad(label: &'static str, text: impl ToString) -> Item {
    Item::new(Mark::Bad, label, &text)
}

pub(super) fn note(label: &'static str, text: impl ToString) -> Item {
    Item::new(Mark::Note, label, &text)
}

impl Item {
    fn new(mark: Mark, label: &'static str, text: &dyn ToString) -> Self {
        Self {
            mark,
            label,
            text: text.to_string(),
            remedy: None,
        }
    }

    pub(super) fn with_remedy(mut self, remedy: &str) -> Self {
        self.remedy = Some(remedy.to_owned());
        self
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
