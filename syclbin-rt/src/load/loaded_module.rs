//! Loaded modules: what became of an abstract module of a file on one device.

use syclbin::property::PropertySets;

use crate::backend::dispatch::program::Program;
use crate::load::image_choice::ImageChoice;
use crate::module::kernel::Symbol;

/// An abstract module of the file, loaded.
pub(crate) struct LoadedModule {
    pub(crate) kernels: Vec<Symbol>,
    /// The built program, or why each image was passed over.
    pub(crate) program: Result<Program, Vec<String>>,
    /// Whether the program is native code of the file.
    pub(crate) native: bool,
    pub(crate) choice: ImageChoice,
    /// What a saved file says of it; empty where there is no program.
    pub(crate) properties: PropertySets<'static>,
}
