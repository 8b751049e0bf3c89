// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lines of the doctor's report.

use syclbin_toolchain::INSTALL_COMMAND;

use crate::toolchain::list::Row;

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

/// Reports a requirement, with a remedy if it is not met.
pub(super) fn verdict(
    label: &'static str,
    outcome: Result<impl ToString, String>,
    remedy: &str,
) -> Item {
    match outcome {
        Ok(text) => good(label, text),
        Err(problem) => bad(label, problem).with_remedy(remedy),
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
