// SPDX-License-Identifier: MIT OR Apache-2.0
//! A kernel that cannot be called: its method fails to compile when it is called, and the error says why.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syclbin::signature::KernelSignature;

use crate::names::Scope;

/// A kernel without a function.
pub(crate) struct LeftOut<'f> {
    pub(crate) ident: Ident,
    /// Its name for messages.
    pub(crate) called: String,
    pub(crate) kernel: &'f KernelSignature,
    pub(crate) reason: String,
}

impl LeftOut<'_> {
    /// Returns the trait that no argument implements, and the method that requires it. The method takes as
    /// many parameters as the kernel, so that users see the message of the trait.
    pub(crate) fn method(&self) -> (TokenStream, TokenStream) {
        let ident = &self.ident;
        let message = format!("kernel `{}` has no function: {}", self.called, self.reason);
        let declared = self.kernel.declaration.as_ref();
        let names = declared.map(|declaration| {
            let parameters = declaration.parameters.iter();
            parameters
                .map(|parameter| parameter.name.clone())
                .collect::<Vec<String>>()
        });
        let names = names.filter(|names| !names.is_empty());
        let names = names.unwrap_or_else(|| vec!["arguments".into()]);
        let mut scope = Scope::of_variables();
        let inputs = scope.claim_each(names.iter().map(String::as_str), "arg");
        let inputs: Vec<Ident> = inputs.into_iter().flatten().collect();
        let types: Vec<Ident> = (0..inputs.len())
            .map(|index| format_ident!("T{index}"))
            .collect();
        let refusal = quote! {
            #[diagnostic::on_unimplemented(
                message = #message,
                label = "left out by `include_syclbin!`",
                note = "`syclbin_rt::Launch` and `Arg` pass arguments of every kind",
            )]
            pub trait #ident {
                fn never() -> ::core::convert::Infallible;
            }
        };
        let method = quote! {
            #[doc(hidden)]
            pub fn #ident<#(#types),*>(&self #(, #inputs: #types)*) -> ::core::convert::Infallible
            where
                (#(#types,)*): left_out::#ident,
            {
                let _ = (#(#inputs,)*);
                <(#(#types,)*) as left_out::#ident>::never()
            }
        };
        (refusal, method)
    }
}
