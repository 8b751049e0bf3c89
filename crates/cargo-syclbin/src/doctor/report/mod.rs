// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report: facts, grouped and judged, with a remedy for each missing part.
//!
//! Two questions decide: can a kernel be compiled here, and can it be run? Facts that affect neither are shown
//! without judgement. A machine with its own DPC++ is not told to install pip.

mod compile;
mod run;
#[cfg(test)]
mod tests;

use std::fmt;

use super::facts::Facts;
use compile::compile;
use run::run;

/// The effect of a fact on compiling and running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Everything is in order.
    Good,
    /// It prevents kernels from being compiled or run.
    Bad,
    /// It is for information only.
    Note,
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its effect on the verdict.
    pub mark: Mark,
    /// The subject.
    pub label: &'static str,
    /// The finding.
    pub text: String,
    /// The remedy, if one is needed.
    pub remedy: Option<String>,
}

/// Related lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The subject of the lines.
    pub title: &'static str,
    /// The lines.
    pub items: Vec<Item>,
}

/// The whole report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its sections, in the order they are printed.
    pub sections: Vec<Section>,
    /// Whether a kernel can be compiled here.
    pub compiles: bool,
    /// Whether a kernel can be run here.
    pub runs: bool,
}

impl Report {
    /// Creates the report on `facts`.
    #[must_use]
    pub fn of(facts: &Facts) -> Self {
        let compile = compile(facts);
        let run = run(facts);
        let well = |items: &[Item]| items.iter().all(|item| item.mark != Mark::Bad);
        Self {
            compiles: well(&compile),
            runs: well(&run),
            sections: vec![
                section("toolchain", toolchain(facts)),
                section("compile", compile),
                section("run", run),
            ],
        }
    }

    /// Returns whether a kernel can be compiled and run here.
    #[must_use]
    pub const fn is_well(&self) -> bool {
        self.compiles && self.runs
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = self.sections.iter().flat_map(|section| &section.items);
        let width = items.map(|item| item.label.len()).max().unwrap_or(0);
        for section in &self.sections {
            writeln!(f, "{}", section.title)?;
            for item in &section.items {
                let mark = match item.mark {
                    Mark::Good => "ok",
                    Mark::Bad => "!!",
                    Mark::Note => "  ",
                };
                let mut lines = item.text.lines();
                let first = lines.next().unwrap_or_default();
                writeln!(f, "  {mark} {:width$}  {first}", item.label)?;
                for line in lines {
                    writeln!(f, "     {:width$}  {line}", "")?;
                }
                if let Some(remedy) = &item.remedy {
                    writeln!(f, "     {:width$}  -> {remedy}", "")?;
                }
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
    let mut items = Vec::new();
    items.push(match &facts.home {
        Ok(home) => {
            let shown = home.display();
            let from = if facts.home_is_set {
                " (SYCLBIN_HOME)"
            } else {
                ""
            };
            note("home", format!("{shown}{from}"))
        }
        Err(reason) => note("home", reason.clone()),
    });
    if let Some(reason) = &facts.unsupported {
        items.push(note("platform", reason.clone()));
        // The wheels do not work here, so pip is not needed either.
        return items;
    }
    items.push(match (&facts.pip, &facts.uv) {
        (Ok(pip), _) => note("pip", format!("{} ({})", pip.command, pip.version)),
        (Err(tried), _) => note("pip", format!("none: {tried}"))
            .with_remedy("install pip or uv, or set SYCLBIN_PIP; or use --wheels DIR to install"),
    });
    if let Some(uv) = &facts.uv {
        items.push(note("uv", uv.display().to_string()));
    }
    items
}

fn section(title: &'static str, items: Vec<Item>) -> Section {
    Section { title, items }
}

fn good(label: &'static str, text: String) -> Item {
    item(Mark::Good, label, text)
}

fn bad(label: &'static str, text: String) -> Item {
    item(Mark::Bad, label, text)
}

fn note(label: &'static str, text: String) -> Item {
    item(Mark::Note, label, text)
}

fn item(mark: Mark, label: &'static str, text: String) -> Item {
    Item {
        mark,
        label,
        text,
        remedy: None,
    }
}

impl Item {
    fn with_remedy(mut self, remedy: &str) -> Self {
        self.remedy = Some(remedy.to_owned());
        self
    }
}
