// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks: one line each, and the names of those that failed.

use syclbin::Syclbin;

use crate::Result;
use crate::content;
use crate::judge::Verdict;

/// What was found so far. All checks run, whatever fails.
#[derive(Default)]
pub(crate) struct Checks {
    count: usize,
    failed: Vec<String>,
}

impl Checks {
    /// Notes the result of a check, and says it.
    pub(crate) fn add(&mut self, name: &str, result: Result<()>) {
        self.count += 1;
        match result {
            Ok(()) => eprintln!("ok      {name}"),
            Err(why) => {
                eprintln!("FAILED  {name}: {why}");
                self.failed.push(name.to_owned());
            }
        }
    }

    /// That the file was loaded, and `kernels` ran.
    pub(crate) fn runs(&mut self, name: &str, verdict: &Verdict, kernels: &[String]) {
        let names = kernels.iter().filter_map(|kernel| kernel.split('=').next());
        let names = match names.collect::<Vec<_>>() {
            none if none.is_empty() => "loads".to_owned(),
            names => names.join(" "),
        };
        self.add(&format!("{name}: {names}"), verdict.runs(kernels));
    }

    /// That the runtime wrote what it loaded.
    pub(crate) fn code(&mut self, name: &str, content: &Option<Vec<u8>>, ours: &Syclbin<'_>) {
        let result = some(content).and_then(|content| content::is_code(content, ours));
        self.add(&format!("{name}, written by it, is what we wrote"), result);
    }

    /// That the runtime wrote what it built.
    pub(crate) fn built(&mut self, name: &str, content: &Option<Vec<u8>>, ours: &Syclbin<'_>) {
        let result = some(content).and_then(|content| content::is_built(content, ours));
        self.add(
            &format!("{name}, written by it, has our kernels as ELF"),
            result,
        );
    }

    /// That the runtime wrote what it linked.
    pub(crate) fn linked(&mut self, name: &str, content: &Option<Vec<u8>>, ours: &Syclbin<'_>) {
        let result = some(content).and_then(|content| content::is_linked(content, ours));
        self.add(
            &format!("{name}, linked and written by it, has our kernels"),
            result,
        );
    }

    /// The outcome of all.
    pub(crate) fn finish(self) -> Result<()> {
        eprintln!("{} checks, {} failed", self.count, self.failed.len());
        match self.failed.as_slice() {
            [] => Ok(()),
            failed => Err(format!(
                "the reference runtime disagrees: {}",
                failed.join("; ")
            )),
        }
    }
}

/// What the runtime wrote.
pub(crate) fn some(content: &Option<Vec<u8>>) -> Result<&[u8]> {
    content.as_deref().ok_or("the runtime wrote none".into())
}
