// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files for the stubs of an embedded file: whatever differs is an error before anything is built.

use std::path::Path;

use syclbin::signature::{self, Signatures};

use crate::error::{ErrorKind, Result};
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
        Some(path) => ErrorKind::FileAt {
            path: path.into(),
            error,
        },
        None => ErrorKind::File(error),
    })?;
    let mut stubs = signatures(embedded.as_ref()).map_err(ErrorKind::File)?;
    let has_stub = |symbol: &str| kernels.iter().any(|kernel| kernel.symbol == symbol);
    stubs.kernels.retain(|kernel| has_stub(&kernel.symbol));
    let differences = stubs.differences(&file);
    if differences.is_empty() {
        return Ok(());
    }
    let path = path.map(Path::to_path_buf);
    Err(ErrorKind::Stubs { path, differences }.into())
}

fn signatures(bytes: &[u8]) -> std::result::Result<Signatures, syclbin::Error> {
    signature::kernels(&syclbin::read::parse(bytes)?)
}
