//! The command line of clang: what it asks for, as types.
//!
//! [`response_file`] puts the arguments of `@FILE` in, [`table`] lists all options, [`options`] reads them, and the other
//! modules are the parts of what they ask for.

pub(crate) mod depfile;
pub(crate) mod help;
pub(crate) mod inputs;
pub(crate) mod options;
pub(crate) mod response_file;
pub(crate) mod states;
mod table;
pub(crate) mod targets;
pub(crate) mod warnings;
