// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of writing: what a file has and a container cannot hold.

use alloc::string::String;

use crate::container::Container;
use crate::property::Inexpressible;

/// What a file has and the container cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A property that the text form cannot hold.
    #[error("{record}: {source}")]
    Property {
        /// Whose property, such as `abstract module 0`.
        record: String,
        /// Which, and why.
        source: Inexpressible,
    },
    /// Strings or entries of another container.
    #[error(
        "{record}: {what} cannot be kept in container {}; remove it or write {}",
        container.name(),
        Container::Version2.name()
    )]
    Container {
        /// The record that has it.
        record: String,
        /// What it is.
        what: String,
        /// The container that cannot hold it.
        container: Container,
    },
    /// Strings that would be taken for SYCLBIN's own in version 2.
    #[error(
        "{record}: {what} has a meaning of its own in container v2; remove it or write another"
    )]
    Reserved {
        /// The record that has it.
        record: String,
        /// What it is.
        what: String,
    },
    /// A string with a NUL where NUL ends it: in a key, or in a value of an OffloadBinary of
    /// version 1.
    #[error("the string `{0}` has a NUL, which would end it")]
    Nul(String),
    /// More records than 32 bits can count.
    #[error("{0} {1} are more than the format counts")]
    Count(usize, &'static str),
}
