// SPDX-License-Identifier: MIT OR Apache-2.0
//! The modules of an input: a compiled source, or a SYCLBIN file on the command line.

use syclbin::Syclbin;

/// The contribution of an input to the file.
#[derive(Clone, Debug)]
pub(crate) struct InputFile {
    /// The name of the input, as the user wrote it.
    pub(crate) name: String,
    pub(crate) file: Syclbin<'static>,
}

impl InputFile {
    /// Returns the same input with another file.
    pub(crate) fn map(self, change: impl FnOnce(Syclbin<'static>) -> Syclbin<'static>) -> Self {
        Self {
            file: change(self.file),
            ..self
        }
    }
}
