// SPDX-License-Identifier: MIT OR Apache-2.0
//! Source files: the bytes of the files that a module was loaded from, kept for saving its code as it came.

use syclbin::{State, Syclbin};

use crate::error::{Error, ErrorKind, Result};
use crate::load::unit::list_of_kernels;

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
    pub(crate) fn parse(self) -> std::result::Result<Syclbin<'static>, syclbin::Error> {
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
