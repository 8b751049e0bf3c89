// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device globals: a method for each, which returns its handle.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syclbin::signature::DeviceGlobal;
use syclbin::signature::KernelName;

use crate::doc;
use crate::types::Types;

/// A device global that gets a method.
pub(crate) struct PlannedGlobal<'f> {
    pub(crate) ident: Ident,
    pub(crate) global: &'f DeviceGlobal,
}

impl PlannedGlobal<'_> {
    /// Returns the method, `depth` modules deep, of a struct that has the module in `field`.
    pub(crate) fn method(
        &self,
        types: &Types<'_>,
        depth: usize,
        field: Option<&Ident>,
    ) -> TokenStream {
        let Ok(element) = &self.global.ty else {
            return TokenStream::new(); // it was left out
        };
        let (ident, id) = (&self.ident, &self.global.id);
        let ty = types.of(element, depth);
        let spelled = types.layouts.spell(element);
        let name = self
            .global
            .name
            .as_ref()
            .map_or_else(|| id.clone(), KernelName::qualified);
        let doc = doc::paragraphs([
            doc::cpp(&format!("device_global<{spelled}> {name}")),
            if self.global.sign_known {
                String::new()
            } else {
                "Which integers of it are signed is not known; taken for signed.".into()
            },
            "# Errors\n\nWhen the device has no such variable, or the driver no functions for it."
                .into(),
        ]);
        quote! {
            #doc
            pub fn #ident(&self) -> ::syclbin_rt::Result<::syclbin_rt::Global<#ty>> {
                self.#field.global(#id)
            }
        }
    }
}
