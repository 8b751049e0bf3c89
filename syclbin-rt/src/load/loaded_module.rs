//! Loaded modules: the result of loading an abstract module of a file on a device.

use syclbin::property::PropertySets;

use crate::backend::dispatch::program::Program;
use crate::load::image_choice::ImageChoice;
use crate::module::kernel::Symbol;

/// An abstract module of the file, loaded.
pub(crate) struct LoadedModule {
    pub(crate) kernels: Vec<Symbol>,
    /// The built program, or the reason why each image was skipped.
    pub(crate) program: Result<Program, Vec<String>>,
    /// Whether the program is native code of the file.
    pub(crate) native: bool,
    pub(crate) choice: ImageChoice,
    /// The properties for a saved file; empty without a program.
    pub(crate) properties: PropertySets<'static>,
}
