//! The modules of one input: a compiled source, or a SYCLBIN file that was named.

use syclbin::Syclbin;

/// What one input adds to the file.
#[derive(Clone, Debug)]
pub(crate) struct InputFile {
    /// The input, as the user called it.
    pub(crate) name: String,
    pub(crate) file: Syclbin<'static>,
}

impl InputFile {
    /// The same input with another file.
    pub(crate) fn map(self, change: impl FnOnce(Syclbin<'static>) -> Syclbin<'static>) -> Self {
        Self {
            file: change(self.file),
            ..self
        }
    }
}
