// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses clang's command line into types.
//!
//! [`response_file`] expands `@FILE`, [`table`] lists the options that need special treatment, and [`options`] parses
//! the command line. The other modules define parts of the parsed request.

pub(crate) mod depfile;
pub(crate) mod inputs;
pub(crate) mod options;
pub(crate) mod response_file;
pub(crate) mod states;
mod table;
pub(crate) mod targets;
pub(crate) mod warnings;
