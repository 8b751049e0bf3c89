// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits for the total that the records of a file may claim.

use alloc::string::ToString;

use super::image::{Metadata, Owner};
use super::module::{AbstractModule, Parts};
use crate::error::Error;
use crate::property::PropertySets;
use crate::raw::{Budget, v1 as raw};

/// Limits for the total that the records of a file may claim.
pub(super) struct Limits {
    metadata: Budget,
    ir: Budget,
    native: Budget,
}

impl Limits {
    /// Creates the limits that `header` gives.
    pub(super) fn new(header: &raw::FileHeader) -> Self {
        Self {
            metadata: Budget::new("metadata bytes", header.metadata_byte_table_size),
            ir: Budget::new("IR modules", header.ir_module_count.into()),
            native: Budget::new(
                "native images",
                header.native_device_code_image_count.into(),
            ),
        }
    }

    pub(super) fn metadata<'a>(
        &mut self,
        metadata: Metadata<'a>,
    ) -> Result<PropertySets<'a>, Error> {
        let Metadata {
            owner,
            text,
            offset,
        } = metadata;
        let record = || owner.to_string();
        self.metadata.spend(text.len() as u64, record, offset)?;
        metadata.parse()
    }

    pub(super) fn images(&mut self, module: &AbstractModule<'_, '_>) -> Result<(), Error> {
        let (ir, native) = module.image_counts();
        let Parts::V1(_, header) = &module.parts else {
            return Ok(());
        };
        let record = || Owner::Module(module.index).to_string();
        self.ir.spend(ir as u64, record, header.at)?;
        self.native.spend(native as u64, record, header.at)
    }
}
