// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device selectors: the grammar that `SYCLBIN_DEVICE` and `Device::select` accept.
//!
//! ```text
//! selector = term { "," term }            the first term that matches a device wins
//! term     = [ backend ":" ] device       without a device, or "*": any
//! backend  = "opencl" | "cuda" | "*"
//! device   = index [ "." part ]           of `Device::all()`, from 0
//!          | kind [ ":" ( index [ "." part ] | text ) ]    the index counts devices of that kind
//!          | text                         a substring of the name, vendor or platform
//! kind     = "gpu" | "cpu" | "accelerator" | "*"
//! ```
//!
//! So `opencl:gpu`, `cuda:gpu:0` and `*:gpu` have the same meaning as in SYCL. In `backend:*:index`, the index counts
//! all devices of that backend.
//!
//! Matching ignores case. All functions here are pure: they receive devices as [`Facts`].

#[cfg(test)]
#[path = "selector_tests.rs"]
mod tests;

use crate::backend::facts::{DeviceKind, Facts};
use crate::device::best::first_of_best_rank;

/// One alternative of a selector.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) backend: Option<&'static str>,
    kind: Option<DeviceKind>,
    pick: Pick,
    /// The number of the part to select, if any.
    pub(crate) part: Option<usize>,
}

#[derive(Debug, PartialEq, Eq)]
enum Pick {
    Any,
    Index(usize),
    /// The best device whose name, vendor or platform contains this lowercase text.
    Text(String),
}

const BACKENDS: [&str; 2] = ["opencl", "cuda"];

/// SYCL's names for backends that this crate does not support.
const OTHER_BACKENDS: [&str; 3] = ["level_zero", "hip", "native_cpu"];

/// Parses a selector. Returns its alternatives (at least one) in order of preference.
///
/// # Errors
///
/// Fails if a term does not follow the grammar.
pub(crate) fn parse(text: &str) -> Result<Vec<Term>, String> {
    text.split(',').map(Term::parse).collect()
}

impl Term {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim().to_lowercase();
        let mut parts: Vec<&str> = text.split(':').map(str::trim).collect();
        let mut backend = None;
        if let [first, ..] = parts[..]
            && let Some(known) = BACKENDS.iter().find(|known| **known == first)
        {
            backend = Some(*known);
            parts.remove(0);
        } else if matches!(parts[..], ["*", _, ..]) {
            parts.remove(0);
        } else if let [backend, _, ..] = parts[..]
            && OTHER_BACKENDS.contains(&backend)
        {
            let device = parts[1..].join(":");
            return Err(format!(
                "this version does not support {backend} devices; use opencl:{device}"
            ));
        }
        let (kind, pick) = match parts[..] {
            [] | ["*"] => (None, "*"),
            [name] => kind(name).map_or((None, name), |kind| (Some(kind), "*")),
            ["*", pick] => (None, pick),
            [name, pick] => {
                let kind = kind(name).ok_or_else(|| {
                    format!("{name:?} is not a device kind; use gpu, cpu or accelerator before the colon")
                })?;
                (Some(kind), pick)
            }
            _ => {
                return Err(format!(
                    "{text:?} has too many colons; the longest form is opencl:gpu:0"
                ));
            }
        };
        if pick.is_empty() {
            let problem = "a term is empty; use a kind (gpu, cpu, accelerator), an index or part of a device name";
            return Err(problem.to_owned());
        }
        // A name may contain digits, but a bare number is an index.
        let numbers: Option<Vec<usize>> = pick.split('.').map(|part| part.parse().ok()).collect();
        let (pick, part) = match numbers.as_deref() {
            Some([index]) => (Pick::Index(*index), None),
            Some([index, part]) => (Pick::Index(*index), Some(*part)),
            Some(_) => {
                return Err(format!(
                    "{pick} selects a part of a part; the longest form is 0.1, for part 1 of device 0"
                ));
            }
            None if pick == "*" => (Pick::Any, None),
            None => (Pick::Text(pick.to_owned()), None),
        };
        Ok(Self {
            backend,
            kind,
            pick,
            part,
        })
    }

    /// Returns whether a CPU device can match. If not, the installed CPU driver need not be loaded.
    pub(crate) fn may_be_cpu(&self) -> bool {
        self.kind.is_none_or(|kind| kind == DeviceKind::Cpu)
            && self.backend.is_none_or(|backend| backend == "opencl")
    }

    /// Returns the device that the term selects, as an index into `devices`.
    ///
    /// An index selects the device with that number, even if the device cannot run kernels. Any other term selects the
    /// best match that can run kernels. If there is none, it selects another one, so that the error can name it.
    pub(crate) fn choose(&self, devices: &[&Facts]) -> Option<usize> {
        let mut matches = devices
            .iter()
            .enumerate()
            .filter(|(_, facts)| self.kind.is_none_or(|kind| kind == facts.kind))
            .filter(|(_, facts)| (self.backend).is_none_or(|backend| backend == facts.backend()));
        match &self.pick {
            Pick::Index(index) => matches.nth(*index).map(|(index, _)| index),
            Pick::Any => first_of_best_rank(matches),
            Pick::Text(text) => first_of_best_rank(matches.filter(|(_, facts)| {
                [&facts.name, &facts.vendor, &facts.platform]
                    .iter()
                    .any(|field| field.to_lowercase().contains(text))
            })),
        }
    }
}

fn kind(name: &str) -> Option<DeviceKind> {
    let mut kinds = [DeviceKind::Gpu, DeviceKind::Cpu, DeviceKind::Accelerator].into_iter();
    kinds.find(|kind| kind.to_string() == name)
}
