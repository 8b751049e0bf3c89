// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why `include_syclbin!` generates no function for a kernel. Builds, the macro and tools ask here, so that they agree.

use alloc::format;
use alloc::string::ToString as _;

use super::types::{Pointee, Type};
use super::{KernelSignature, Unsupported};

impl KernelSignature {
    /// Returns why `include_syclbin!` generates no function for the kernel, or `None` if it does. It also generates none
    /// for a kernel whose symbol has no [`name`](Self::name), unless the program gives it one.
    #[must_use]
    pub fn left_out(&self) -> Option<Unsupported> {
        let parameters = match &self.parameters {
            Ok(parameters) => parameters,
            Err(reason) => return Some(reason.clone()),
        };
        let (index, parameter) = parameters.iter().enumerate().find(|(_, parameter)| {
            let Type::LocalAccessor { element, .. } = &parameter.ty else {
                return false;
            };
            matches!(element, Pointee::Void | Pointee::Unknown(_))
        })?;
        let name = parameter.name.clone().unwrap_or_else(|| index.to_string());
        Some(Unsupported::new(format!(
            "parameter {name}: the file does not tell what the local accessor holds"
        )))
    }
}
