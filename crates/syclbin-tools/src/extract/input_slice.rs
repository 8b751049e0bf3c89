// SPDX-License-Identifier: MIT OR Apache-2.0
//! A slice of the input with its path and offset, for messages and for the images themselves.

use alloc::format;
use alloc::string::{String, ToString};

use syclbin::__private::raw::Budget;
use syclbin::{Error, ErrorKind};

/// Bytes of a path that are kept.
const PATH_LIMIT: usize = 512;

/// A slice of the input on the way down.
#[derive(Clone)]
pub(super) struct InputSlice<'a> {
    pub(super) bytes: &'a [u8],
    /// Where it starts in the input.
    pub(super) offset: u64,
    pub(super) path: String,
    pub(super) depth: usize,
}

impl<'a> InputSlice<'a> {
    /// The input itself.
    pub(super) fn whole(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            offset: 0,
            path: String::new(),
            depth: 0,
        }
    }

    /// Bytes that stand for this and lie elsewhere, called `name`.
    pub(super) fn inner<'b>(&self, bytes: &'b [u8], name: &str) -> InputSlice<'b> {
        InputSlice {
            bytes,
            offset: 0,
            path: self.path_of(name),
            depth: self.depth + 1,
        }
    }

    /// The path of the part called `name`.
    fn path_of(&self, name: &str) -> String {
        let mut path = match (self.path.as_str(), name) {
            ("", name) => name.into(),
            (path, "") => path.into(),
            (path, name) => format!("{path}: {name}"),
        };
        // Each of a million parts has a path of its own.
        if path.len() > PATH_LIMIT {
            let end = (0..PATH_LIMIT)
                .rev()
                .find(|end| path.is_char_boundary(*end));
            path.truncate(end.unwrap_or(0));
            path.push_str("...");
        }
        path
    }

    /// A part of this, called `name`.
    pub(super) fn part(&self, bytes: &'a [u8], name: &str) -> Self {
        // A part is a slice of the whole; an empty one may lie nowhere.
        let inside = (bytes.as_ptr() as usize).checked_sub(self.bytes.as_ptr() as usize);
        let inside = inside.filter(|at| *at <= self.bytes.len()).unwrap_or(0);
        Self {
            bytes,
            offset: self.offset.saturating_add(inside as u64),
            path: self.path_of(name),
            depth: self.depth + 1,
        }
    }

    /// An error of a reader that knows only these bytes.
    pub(super) fn error(&self, error: Error) -> Error {
        let record = if self.path.is_empty() {
            error.record().to_string()
        } else {
            format!("{}: {}", self.path, error.record())
        };
        error.within(record, self.offset)
    }

    pub(super) fn fail(&self, record: &'static str, kind: ErrorKind) -> Error {
        self.error(Error::new(record, 0, kind))
    }

    pub(super) fn budget(&self) -> Budget {
        Budget::new("bytes of a container", self.bytes.len() as u64)
    }

    pub(super) fn spend(&self, budget: &mut Budget, part: &[u8], name: &str) -> Result<(), Error> {
        let spent = budget.spend(part.len() as u64, || name.into(), 0);
        spent.map_err(|error| self.error(error))
    }
}
