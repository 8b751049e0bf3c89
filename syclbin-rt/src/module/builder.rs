// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options for loading a module: values of specialization constants, and files to link with it.

use std::fmt;
use std::path::Path;

use bytemuck::NoUninit;
use syclbin::signature::{self, Signatures};
use syclbin::{State, Syclbin};
use syclbin_toolchain::file;

use crate::error::{Error, ErrorKind, Result};
use crate::load::files::list_of_kernels;
use crate::module::Module;
use crate::module::kernel_info::KernelInfo;
use crate::queue::Queue;

/// Loads a module with values for its specialization constants, linked with other files. Made by
/// [`Module::builder`].
#[derive(Clone, Debug)]
#[must_use = "nothing is loaded before `load`"]
pub struct ModuleBuilder<'q> {
    queue: &'q Queue,
    values: Vec<(String, Vec<u8>)>,
    /// The offsets of each `bool` in the value of a constant.
    bools: Vec<(String, &'static [usize])>,
    linked: Vec<SourceFile<'q>>,
}

/// A file that [`include_syclbin!`](crate::include_syclbin) has embedded: the output of a compiler.
#[derive(Clone, Copy)]
pub struct Embedded(&'static [u8]);

impl Embedded {
    /// Wraps `bytes`. For generated code only, which embeds compiler output that `include_syclbin!` has read.
    ///
    /// # Safety
    ///
    /// The duties of [`Module::load`]: each image in `bytes` is compiler output. Safe functions load it.
    #[doc(hidden)]
    #[must_use]
    pub const unsafe fn new(bytes: &'static [u8]) -> Self {
        Self(bytes)
    }
}

impl AsRef<[u8]> for Embedded {
    /// Returns the bytes of the file.
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
            values: Vec::new(),
            bools: Vec::new(),
            linked: Vec::new(),
        }
    }

    /// Gives the specialization constant `name` a value, in every kernel that reads it. The name is the symbol
    /// in the file, which the compiler made. `T` has the layout of the C++ type.
    ///
    /// A constant without a value has the value from the file. A constant of a linked file is also a constant
    /// of this module.
    pub fn specialization_constant<T: NoUninit>(
        mut self,
        name: impl Into<String>,
        value: T,
    ) -> Self {
        let name = name.into();
        self.values.retain(|(other, _)| *other != name);
        let bytes = bytemuck::bytes_of(&value).to_vec();
        self.values.push((name, bytes));
        self
    }

    /// Gives a value as [`specialization_constant`](Self::specialization_constant) does. Its bytes at the offsets
    /// `bools` are each a `bool`, so loading fails if one is neither 0 nor 1. For generated code only, whose `load`
    /// is safe.
    #[doc(hidden)]
    pub fn specialization_constant_with_bools<T: NoUninit>(
        mut self,
        name: &str,
        value: T,
        bools: &'static [usize],
    ) -> Self {
        self.bools.retain(|(other, _)| other != name);
        self.bools.push((name.to_owned(), bools));
        self.specialization_constant(name, value)
    }

    /// Links with `file`, another SYCLBIN file, for the functions and variables that the kernels of this file
    /// import (`SYCL_EXTERNAL` in C++). May be called several times.
    ///
    /// Each importing module searches its own file first, then all others. A module that is found may import in
    /// turn, also from the file where the search began. If two modules match, that is an error.
    ///
    /// The code of `file` becomes part of this module. To launch the kernels of `file`, load it as well.
    ///
    /// All files must be in state object or input. A file in state [executable](crate::State::Executable) is linked
    /// already, and `load` returns an error for it.
    ///
    /// ```no_run
    /// use syclbin_rt::{Device, Module};
    ///
    /// let shapes = std::fs::read("shapes.syclbin").unwrap();
    /// let drawing = std::fs::read("drawing.syclbin").unwrap();
    /// let queue = Device::best_for(&drawing)?.queue()?;
    /// let builder = Module::builder(&queue).link(&shapes);
    /// // SAFETY: a compiler made both files.
    /// let module = unsafe { builder.load(&drawing)? };
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    pub fn link(mut self, file: &'q [u8]) -> Self {
        self.linked.push(SourceFile::Given(file));
        self
    }

    /// Links with an embedded file. For generated code only: its `load` is safe, so every file must be
    /// embedded.
    #[doc(hidden)]
    pub fn link_embedded(mut self, file: Embedded) -> Self {
        self.linked.push(SourceFile::Embedded(file.0));
        self
    }

    /// Reads a SYCLBIN file with these values and files. Each kernel is built when it is first used.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Module::load`]. Also when the file has no such constant or the constant has
    /// another size, and when a file to link is not a SYCLBIN file. Files that are linked with one another must not
    /// be executables.
    ///
    /// # Safety
    ///
    /// The duties of [`Module::load`], for the linked files as well.
    pub unsafe fn load(self, bytes: &[u8]) -> Result<Module> {
        self.read(SourceFile::Given(bytes))
    }

    /// Loads an embedded file. For generated code only.
    ///
    /// # Safety
    ///
    /// The duties of [`Module::load`] for each file that [`link`](Self::link) has added. Generated code adds only
    /// embedded files, whose makers guarantee this.
    #[doc(hidden)]
    pub unsafe fn load_embedded(self, file: Embedded) -> Result<Module> {
        self.read(SourceFile::Embedded(file.0))
    }

    /// Loads the file at `path` for the stubs of `kernels`, which were generated from `embedded`. For generated code
    /// only.
    ///
    /// # Safety
    ///
    /// The duties of [`load`](Self::load). Where stubs are safe, the kernels of the file keep the contracts.
    #[doc(hidden)]
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

    /// Loads `bytes` for the stubs of `kernels`, which were generated from `embedded`. For generated code only.
    ///
    /// # Safety
    ///
    /// The duties of [`load_file_for`](Self::load_file_for).
    #[doc(hidden)]
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
            let given = self.values.iter().find(|(other, _)| other == name);
            let value = given.map_or(&[][..], |(_, value)| value);
            for &offset in *bools {
                if let Some(&byte @ 2..) = value.get(offset) {
                    let message = format_args!(
                        "byte {offset} of the value for specialization constant {name} is {byte}, but it is a `bool`; \
                         write 0 or 1"
                    );
                    return Err(Error::new(ErrorKind::InvalidArgument, message));
                }
            }
        }
        Module::read(self.queue, file, &self.linked, &self.values)
    }
}

/// The bytes of a file to load.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SourceFile<'b> {
    /// Part of the program, so no module copies them.
    Embedded(&'static [u8]),
    Given(&'b [u8]),
}

impl SourceFile<'_> {
    /// Reads the file. Its images are copied unless they are part of the program.
    ///
    /// # Errors
    ///
    /// When it is not a SYCLBIN file.
    pub(crate) fn parse(self) -> Result<Syclbin<'static>, syclbin::Error> {
        match self {
            Self::Embedded(bytes) => syclbin::read::parse(bytes),
            Self::Given(bytes) => Ok(syclbin::read::parse(bytes)?.into_owned()),
        }
    }
}

/// Checks that files which are linked with each other are still to be linked. The first is the loaded file.
///
/// # Errors
///
/// When one of several files is an executable.
pub(crate) fn check_states(files: &[Syclbin<'_>]) -> Result<()> {
    let (Some(file), [_, linked @ ..]) = (files.first(), files) else {
        return Ok(());
    };
    let executable = |file: &Syclbin<'_>| file.state() == Some(State::Executable);
    let is_executable = executable(file);
    let index = match linked.iter().position(executable) {
        _ if is_executable && !linked.is_empty() => 0,
        Some(position) => position + 1,
        None => return Ok(()),
    };
    let name = |(index, file): (usize, &Syclbin<'_>)| {
        let kernels = list_of_kernels(file.kernel_names());
        match index {
            0 => format!("the loaded file ({kernels})"),
            _ => format!("linked file {index} ({kernels})"),
        }
    };
    let names: Vec<String> = files.iter().enumerate().map(name).collect();
    let message = format_args!(
        "cannot link {} with {}: {} is in state executable, so it is linked already; load it without other files, or \
         compile it to an object (`Build::link_at_load`, `-fsyclbin=object`)",
        names[0],
        names[1..].join(" and "),
        names[index]
    );
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

/// Checks that `bytes` has all that the stubs of `embedded` need, which are those of `kernels`. Errors name `path`.
fn check_stubs(
    bytes: &[u8],
    path: Option<&Path>,
    embedded: Embedded,
    kernels: &[KernelInfo],
) -> Result<()> {
    let file = signatures(bytes).map_err(|error| match path {
        Some(path) => {
            let message = format_args!("cannot read the SYCLBIN file {}", path.display());
            Error::caused_by(ErrorKind::InvalidFile, message, error)
        }
        None => Error::file(error),
    })?;
    let mut stubs = signatures(embedded.as_ref()).map_err(Error::file)?;
    let has_stub = |symbol: &str| kernels.iter().any(|kernel| kernel.symbol == symbol);
    stubs.kernels.retain(|kernel| has_stub(&kernel.symbol));
    let differences = stubs.differences(&file);
    if differences.is_empty() {
        return Ok(());
    }
    let file = path.map_or("this SYCLBIN file".into(), Path::to_string_lossy);
    let differences = differences.iter().map(ToString::to_string).collect();
    let message = format_args!("{file} does not fit the stubs");
    Err(Error::listing(
        ErrorKind::StubMismatch,
        message,
        differences,
    ))
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
             (no kernels) is in state executable, so it is linked already; load it without other files, or \
             compile it to an object (`Build::link_at_load`, `-fsyclbin=object`)"
        );
        let last = refusal(&[Object, Object, Executable]).unwrap();
        assert!(
            last.contains("linked file 1 (no kernels) and linked file 2"),
            "{last}"
        );
        assert!(
            last.contains(": linked file 2 (no kernels) is in state"),
            "{last}"
        );
    }
}
