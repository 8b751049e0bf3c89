// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options for loading a module: values of specialization constants, and files to link with it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use bytemuck::NoUninit;
use syclbin::signature::{self, Signatures};
use syclbin::{State, Syclbin};
use syclbin_toolchain::file;

use crate::error::{Error, ErrorKind, Result};
use crate::load::constants::Values;
use crate::load::files::list_of_kernels;
use crate::module::Module;
use crate::module::stub::KernelInfo;
use crate::queue::Queue;

/// Loads a module with values for its specialization constants, or links it with other files. Created by
/// [`Module::builder`].
#[derive(Clone, Debug)]
#[must_use = "nothing is loaded until `load` is called"]
pub struct ModuleBuilder<'q> {
    queue: &'q Queue,
    values: Values,
    /// For each constant, by name: the byte offsets of the `bool`s in its value.
    bools: BTreeMap<String, &'static [usize]>,
    linked: Vec<SourceFile<'q>>,
}

/// A file that [`include_syclbin!`](crate::include_syclbin) embedded. It is always compiler output.
#[derive(Clone, Copy)]
pub struct Embedded(&'static [u8]);

impl Embedded {
    /// Wraps `bytes`. For generated code only, which embeds compiler output that `include_syclbin!` has checked.
    ///
    /// # Safety
    ///
    /// The requirements of [`Module::load`] apply, because safe functions load the bytes: each image in `bytes` must be
    /// compiler output.
    #[doc(hidden)]
    #[must_use]
    #[allow(unsafe_code, reason = "loading code is unsafe")]
    pub const unsafe fn new(bytes: &'static [u8]) -> Self {
        Self(bytes)
    }
}

impl AsRef<[u8]> for Embedded {
    fn as_ref(&self) -> &[u8] {
        self.0
    }
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Embedded({} bytes)", self.0.len())
    }
}

impl<'q> ModuleBuilder<'q> {
    pub(crate) fn new(queue: &'q Queue) -> Self {
        Self {
            queue,
            values: Values::new(),
            bools: BTreeMap::new(),
            linked: Vec::new(),
        }
    }

    /// Sets the specialization constant `name` for every kernel that reads it. The name is the symbol that the compiler
    /// wrote to the file. `T` must have the layout of the C++ type.
    ///
    /// A constant that is not set keeps the value from the file. Constants of linked files can be set as well.
    pub fn specialization_constant<T: NoUninit>(
        mut self,
        name: impl Into<String>,
        value: T,
    ) -> Self {
        let bytes = bytemuck::bytes_of(&value).to_vec();
        self.values.insert(name.into(), bytes);
        self
    }

    /// Sets a constant as [`specialization_constant`](Self::specialization_constant) does, but loading fails if the
    /// byte at any offset in `bools` is neither 0 nor 1. For generated code only, whose `load` is safe.
    #[doc(hidden)]
    pub fn specialization_constant_with_bools<T: NoUninit>(
        mut self,
        name: &str,
        value: T,
        bools: &'static [usize],
    ) -> Self {
        self.bools.insert(name.to_owned(), bools);
        self.specialization_constant(name, value)
    }

    /// Links `file`, another SYCLBIN file, to resolve functions and variables that kernels import (`SYCL_EXTERNAL` in
    /// C++). May be called several times.
    ///
    /// For each importing module, its own file is searched first, then all other files. The module that defines a
    /// symbol may itself import symbols, even from the importing module's file. It is an error if several modules
    /// define an imported symbol, except for C++ `inline` functions.
    ///
    /// The imported code becomes part of this module. To launch the kernels of `file`, load it as well.
    ///
    /// All files must be in the input or object state. A file in the [executable](crate::State::Executable) state is
    /// already linked, so `load` rejects it.
    ///
    /// ```no_run
    /// use syclbin_rt::{Device, Module};
    ///
    /// let shapes = std::fs::read("shapes.syclbin").unwrap();
    /// let drawing = std::fs::read("drawing.syclbin").unwrap();
    /// let queue = Device::best_for(&drawing)?.queue()?;
    /// let builder = Module::builder(&queue).link(&shapes);
    /// // SAFETY: both files are compiler output.
    /// let module = unsafe { builder.load(&drawing)? };
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    pub fn link(mut self, file: &'q [u8]) -> Self {
        self.linked.push(SourceFile::Given(file));
        self
    }

    /// Links an embedded file. For generated code only: its `load` is safe, so every file must be embedded.
    #[doc(hidden)]
    pub fn link_embedded(mut self, file: Embedded) -> Self {
        self.linked.push(SourceFile::Embedded(file.0));
        self
    }

    /// Loads a SYCLBIN file with these values and linked files. Each kernel is built when it is first used.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Module::load`]. Also fails if a constant does not exist or its value has the
    /// wrong size, if a linked file is not a SYCLBIN file, or if files are linked and any of them, including the loaded
    /// file, is an executable.
    ///
    /// # Safety
    ///
    /// The requirements of [`Module::load`] apply, for the linked files as well.
    #[allow(unsafe_code, reason = "loading code is unsafe")]
    pub unsafe fn load(self, bytes: &[u8]) -> Result<Module> {
        self.read(SourceFile::Given(bytes))
    }

    /// Loads an embedded file. For generated code only.
    ///
    /// # Safety
    ///
    /// The requirements of [`Module::load`] apply to each file that [`link`](Self::link) has added. Generated code adds
    /// only embedded files, for which [`Embedded::new`] guarantees them.
    #[doc(hidden)]
    #[allow(unsafe_code, reason = "loading code is unsafe")]
    pub unsafe fn load_embedded(self, file: Embedded) -> Result<Module> {
        self.read(SourceFile::Embedded(file.0))
    }

    /// Loads the file at `path` for the stubs `kernels`, which were generated from `embedded`. For generated code only.
    ///
    /// # Safety
    ///
    /// The requirements of [`load`](Self::load) apply. The kernels of the file must satisfy the contracts of safe
    /// stubs.
    #[doc(hidden)]
    #[allow(unsafe_code, reason = "loading code is unsafe")]
    pub unsafe fn load_file_for(
        self,
        path: &Path,
        embedded: Embedded,
        kernels: &[KernelInfo],
    ) -> Result<Module> {
        let bytes = file::read(path).map_err(|error| {
            let message = format_args!("cannot read {}", path.display());
            Error::caused_by(ErrorKind::Io, message, error)
        })?;
        check_stubs(&bytes, Some(path), embedded, kernels)?;
        self.read(SourceFile::Given(&bytes))
    }

    /// Loads `bytes` for the stubs `kernels`, which were generated from `embedded`. For generated code only.
    ///
    /// # Safety
    ///
    /// The requirements of [`load_file_for`](Self::load_file_for) apply.
    #[doc(hidden)]
    #[allow(unsafe_code, reason = "loading code is unsafe")]
    pub unsafe fn load_bytes_for(
        self,
        bytes: &[u8],
        embedded: Embedded,
        kernels: &[KernelInfo],
    ) -> Result<Module> {
        check_stubs(bytes, None, embedded, kernels)?;
        self.read(SourceFile::Given(bytes))
    }

    fn read(&self, file: SourceFile<'_>) -> Result<Module> {
        for (name, bools) in &self.bools {
            let value = self.values.get(name).map_or(&[][..], Vec::as_slice);
            for &offset in *bools {
                if let Some(&byte @ 2..) = value.get(offset) {
                    return Err(Error::invalid(format_args!(
                        "byte {offset} of the value for specialization constant {name} is {byte}, but this byte is a \
                         `bool`; use 0 or 1"
                    )));
                }
            }
        }
        Module::read(self.queue, file, &self.linked, &self.values)
    }
}

/// The bytes of a file to load.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SourceFile<'b> {
    /// Embedded in the program, so that modules need not copy it.
    Embedded(&'static [u8]),
    Given(&'b [u8]),
}

impl SourceFile<'_> {
    /// Reads the file. Its images are copied unless they are embedded in the program.
    ///
    /// # Errors
    ///
    /// Fails if this is not a SYCLBIN file.
    pub(crate) fn parse(self) -> Result<Syclbin<'static>, syclbin::Error> {
        match self {
            Self::Embedded(bytes) => syclbin::read::parse(bytes),
            Self::Given(bytes) => Ok(syclbin::read::parse(bytes)?.into_owned()),
        }
    }
}

/// Checks that files to be linked are not linked already. The first is the loaded file; a single file is always valid.
///
/// # Errors
///
/// Fails if there are several files and one of them is an executable.
pub(crate) fn check_states(files: &[Syclbin<'_>]) -> Result<()> {
    let is_executable = |file: &Syclbin<'_>| file.state() == Some(State::Executable);
    let executable = files.iter().position(is_executable);
    let Some(index) = executable.filter(|_| files.len() > 1) else {
        return Ok(());
    };
    let name = |(index, file): (usize, &Syclbin<'_>)| {
        let kernels = list_of_kernels(file.kernel_names());
        match index {
            0 => format!("the loaded file ({kernels})"),
            _ => format!("linked file {index} ({kernels})"),
        }
    };
    let names: Vec<String> = files.iter().enumerate().map(name).collect();
    Err(Error::invalid(format_args!(
        "cannot link {} with {}: {} is an executable, which is already linked; load it without other files, or \
         compile its sources to an object (`Build::link_at_load`, `-fsyclbin=object`)",
        names[0],
        names[1..].join(" and "),
        names[index]
    )))
}

/// Checks that `bytes` contains everything that the stubs `kernels` need. These were generated from `embedded`. Errors
/// mention `path`.
fn check_stubs(
    bytes: &[u8],
    path: Option<&Path>,
    embedded: Embedded,
    kernels: &[KernelInfo],
) -> Result<()> {
    let name = path.map_or(String::new(), |path| format!(" {}", path.display()));
    let file = signatures(bytes).map_err(|error| {
        let message = format_args!("cannot read the SYCLBIN file{name}");
        Error::caused_by(ErrorKind::InvalidFile, message, error)
    })?;
    let mut stubs = signatures(embedded.as_ref()).map_err(Error::file)?;
    let has_stub = |symbol: &str| kernels.iter().any(|kernel| kernel.symbol == symbol);
    stubs.kernels.retain(|kernel| has_stub(&kernel.symbol));
    let differences = stubs.differences(&file);
    if differences.is_empty() {
        return Ok(());
    }
    let file = path.map_or("this SYCLBIN file".into(), Path::to_string_lossy);
    let reasons = differences.iter().map(ToString::to_string).collect();
    let message = format_args!(
        "{file} does not match the kernels that this program was built with (compile both from the same sources)"
    );
    Err(Error::listing(ErrorKind::StubMismatch, message, reasons))
}

fn signatures(bytes: &[u8]) -> Result<Signatures, syclbin::Error> {
    signature::kernels(&syclbin::read::parse(bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(states: &[State]) -> Option<String> {
        let files: Vec<Syclbin<'_>> = states.iter().copied().map(Syclbin::new).collect();
        check_states(&files).err().map(|error| error.to_string())
    }

    #[test]
    fn executable_is_linked_with_no_file() {
        use State::{Executable, Input, Object, Other};
        for states in [
            &[Executable][..],
            &[Object, Input],
            &[Other(7), Object],
            &[],
        ] {
            assert_eq!(refusal(states), None, "{states:?}");
        }
        assert_eq!(
            refusal(&[Executable, Object]).unwrap(),
            "cannot link the loaded file (no kernels) with linked file 1 (no kernels): the loaded file \
             (no kernels) is an executable, which is already linked; load it without other files, or compile \
             its sources to an object (`Build::link_at_load`, `-fsyclbin=object`)"
        );
        let last = refusal(&[Object, Object, Executable]).unwrap();
        assert!(
            last.contains("linked file 1 (no kernels) and linked file 2"),
            "{last}"
        );
        assert!(
            last.contains(": linked file 2 (no kernels) is an executable"),
            "{last}"
        );
    }

    #[test]
    fn only_kernels_with_stubs_must_be_present() {
        let embedded = test_files::bytes("vector_ops.object.syclbin");
        let mut file = syclbin::read::parse(embedded).unwrap();
        for module in &mut file.modules {
            let sets = &mut module.metadata;
            sets.retain(syclbin::property::set::KERNEL_NAMES, |name| name == "saxpy");
        }
        let bytes = syclbin::write::to_vec(&file, syclbin::Container::default()).unwrap();
        let stub = |symbol| KernelInfo {
            name: symbol,
            symbol,
            declaration: "",
            parameters: &[],
            dimensions: None,
            work_group_size: &[],
            aspects: &[],
        };
        let check = |symbols: &[&'static str]| {
            let stubs: Vec<_> = symbols.iter().copied().map(stub).collect();
            check_stubs(&bytes, None, Embedded(embedded), &stubs)
        };
        check(&["saxpy"]).unwrap();
        let error = check(&["saxpy", "_ZN18__sycl_kernel_fill4iotaEfPfi"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StubMismatch);
        assert_eq!(error.reasons().len(), 1, "{error}");
        assert!(error.reasons()[0].contains("iota"), "{error}");
    }
}
