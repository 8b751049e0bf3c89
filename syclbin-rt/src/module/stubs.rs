// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files for the stubs of an embedded file: whatever differs is an error before anything is built.

use std::path::Path;

use syclbin::signature::{self, Signatures};

use crate::error::{Error, ErrorKind, Result};
use crate::kernel_info::KernelInfo;
use crate::module::builder::Embedded;

/// Checks that `bytes` has all that the stubs of `embedded` need, which are those of `kernels`. Errors name `path`.
pub(crate) fn check(
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

fn signatures(bytes: &[u8]) -> std::result::Result<Signatures, syclbin::Error> {
    signature::kernels(&syclbin::read::parse(bytes)?)
}
