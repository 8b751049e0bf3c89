// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generates a kernel's method, which takes the kernel's parameters and returns a launch.

pub(crate) mod parameter;

use std::collections::BTreeSet;

use crate::input::items::KernelItem;
use crate::names::{Scope, label};
use crate::stub::parameter::Passing;
use crate::types::{Types, element_of, structs};
use crate::{contract, doc, names};
use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syclbin::__private::counted;
use syclbin::signature::{Argument, Element, KernelSignature, Parameter, Pointee, Type};

pub(crate) struct Stub<'f> {
    pub(crate) ident: Ident,
    pub(crate) kernel: &'f KernelSignature,
    pub(crate) parameters: &'f [Parameter],
    pub(crate) item: Option<&'f KernelItem>,
}

impl<'f> Stub<'f> {
    /// Returns the item that declares the kernel safe, if any, and the span of its keyword `unsafe`.
    pub(crate) fn contract(&self) -> Option<(&'f KernelItem, Span)> {
        let item = self.item?;
        Some((item, item.vouched?))
    }

    /// Returns the number of dimensions of the kernel's range, as recorded in the file or stated in the contract. It is
    /// 0 for a single task.
    fn dimensions(&self, errors: &mut Vec<syn::Error>) -> Option<u8> {
        let recorded = self.kernel.dimensions;
        let Some((item, _)) = self.contract() else {
            return recorded;
        };
        match (recorded, contract::stated_dimensions(&item.conditions)) {
            (Some(recorded), Some(stated)) if recorded != stated => {
                let stated = counted(stated, "dimension");
                let message =
                    format!("its contract states {stated}, but the kernel has {recorded}");
                errors.push(item.cpp.error(message));
                Some(recorded)
            }
            (None, None) if self.kernel.required_local_size.is_none() => {
                errors.push(item.cpp.error(
                    "the file does not record how many dimensions this kernel has; add a condition such as \
                     `range.dimensions() == 1`, or build the file with a newer syclbin-build",
                ));
                None
            }
            (recorded, stated) => recorded.or(stated),
        }
    }

    /// Returns the type of the range, or `None` if any range is accepted.
    fn range(&self, dimensions: Option<u8>) -> Option<TokenStream> {
        let compiled = self.kernel.required_local_size.as_ref().map(Vec::len);
        let count = dimensions.map(usize::from).or(compiled)?;
        let literal = Literal::usize_unsuffixed(count);
        Some(match (count, compiled) {
            (0, _) => quote!(()),
            (_, None) => quote!(::syclbin_rt::NdRange<#literal>),
            (_, Some(_)) => quote!(::syclbin_rt::Range<#literal>),
        })
    }

    /// Returns the indices of the pointers that may be null.
    fn optional(&self, errors: &mut Vec<syn::Error>) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for name in self.item.into_iter().flat_map(|item| &item.optional) {
            match names::parameter(self.parameters, &names::plain(name)) {
                Some((index, parameter)) if matches!(parameter.ty, Type::Pointer { .. }) => {
                    found.insert(index);
                }
                _ => {
                    let message = "only a pointer parameter can be an `Option`";
                    errors.push(syn::Error::new(name.span(), message));
                }
            }
        }
        found
    }

    /// Generates the method, for a struct `depth` modules deep. `constant` is the name of the constant for the required
    /// work-group size.
    pub(crate) fn method(
        &self,
        types: &Types<'_>,
        depth: usize,
        constant: Option<&Ident>,
        errors: &mut Vec<syn::Error>,
    ) -> TokenStream {
        let mut scope = Scope::of_variables();
        let (mut inputs, mut values, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        let mut borrows = false;
        let written = self.parameters.iter().map(written_name);
        let names = scope.claim_each(written, "arg");
        let optional = self.optional(errors);
        for (index, (name, parameter)) in names.into_iter().zip(self.parameters).enumerate() {
            let Some(name) = name else { continue };
            let written = written_name(parameter);
            let optional = optional.contains(&index);
            let passing = Passing::new(&name, &parameter.ty, optional, types, depth);
            labels.push(match written {
                "" => name.to_string(),
                written => written.to_owned(),
            });
            borrows |= passing.borrows;
            inputs.extend(passing.ty.map(|ty| quote!(#name: #ty)));
            values.push(passing.value);
        }
        let dimensions = self.dimensions(errors);
        let checked = self.contract().map(|(item, vouched)| {
            let (kernel, conditions) = (self.kernel, &item.conditions);
            let place = (dimensions, depth);
            let (texts, module) =
                contract::check(conditions, kernel, &item.cpp, place, types, errors);
            (texts, module, vouched)
        });
        let texts = checked.as_ref().map(|(texts, ..)| &**texts);
        let (ident, doc) = (&self.ident, self.doc(constant, texts));
        let count = Literal::usize_unsuffixed(values.len());
        // Buffers must outlive the launch. Without buffers, no lifetime is needed.
        let (generics, this, lifetime) = if borrows {
            (quote!(<'a>), quote!(&'a self), quote!('a))
        } else {
            (quote!(), quote!(&self), quote!('_))
        };
        let visibility = self.item.and_then(|item| item.visibility.as_ref());
        let visibility = visibility.map_or_else(|| quote!(pub), ToTokens::to_token_stream);
        let mut launch = quote! {
            ::syclbin_rt::Launch::new(self.#ident.get(), &[#(#labels),*], [#(#values),*])
        };
        let mut range = TokenStream::new();
        if let Some(ty) = self.range(dimensions) {
            range = quote!(, #ty);
            launch = quote!(#launch.with_range());
        }
        let mut ty = quote!(::syclbin_rt::Launch);
        if let Some((_, module, vouched)) = checked {
            ty = quote!(::syclbin_rt::SafeLaunch);
            // Use the span of the user's keyword `unsafe`, so that the lint `unsafe_code` reports it.
            let word = Ident::new("unsafe", vouched);
            let new = quote!(::syclbin_rt::SafeLaunch::with_contract(
                launch,
                __contract::__check
            ));
            let mut block = Group::new(Delimiter::Brace, new);
            block.set_span(vouched);
            launch = quote! {
                #module
                let launch = #launch;
                #word #block
            };
        }
        quote! {
            #doc
            #visibility fn #ident #generics(#this #(, #inputs)*) -> #ty<#lifetime, #count #range> {
                #launch
            }
        }
    }

    /// Generates the documentation: the C++ signature, notes on what the file does not record, and the caller's
    /// obligations. `conditions` are the conditions of a safe launch.
    fn doc(&self, constant: Option<&Ident>, conditions: Option<&[String]>) -> TokenStream {
        let [heading, safety] = self.safety(conditions);
        let signature = match self.kernel.cpp() {
            Some(lines) => doc::cpp(&lines),
            None => {
                let name = names::qualified(self.kernel.name.as_ref(), &self.kernel.symbol);
                format!("Kernel `{name}`; the file does not record its C++ signature.")
            }
        };
        doc::paragraphs([
            signature,
            self.vectors_of_three(),
            self.note(
                |parameter| !parameter.sign_known,
                "The file does not record whether these are signed, so they are treated as signed",
            ),
            self.note(
                |parameter| matches!(parameter.ty.pointee(), Some(Pointee::Unknown(_))),
                "The file does not record what these point to, so they accept buffers of any type",
            ),
            self.note(
                |parameter| matches!(parameter.ty, Type::Image { element: None, .. }),
                "The file does not record the pixel type of these, so they accept images of any format",
            ),
            self.note(
                |parameter| parameter.arguments.first() == Some(&Argument::Removed),
                "The compiler removed these parameters or inlined their values, so the kernel ignores the arguments",
            ),
            self.work_group(constant),
            heading,
            safety,
        ])
    }

    fn vectors_of_three(&self) -> String {
        let mut elements = self.parameters.iter().filter_map(|of| element_of(&of.ty));
        if elements.any(|element| matches!(element, Element::Vector { count: 3, .. })) {
            structs::VECTOR_OF_THREE.into()
        } else {
            String::new()
        }
    }

    /// Returns `text` followed by the parameters for which `is` holds, if any.
    fn note(&self, is: impl Fn(&Parameter) -> bool, text: &str) -> String {
        match self.labels(is).as_slice() {
            [] => String::new(),
            labels => format!("{text}: `{}`.", labels.join("`, `")),
        }
    }

    /// Returns the names of the parameters for which `is` holds.
    fn labels(&self, is: impl Fn(&Parameter) -> bool) -> Vec<String> {
        let numbered = self.parameters.iter().enumerate();
        let found = numbered.filter(|(_, parameter)| is(parameter));
        found
            .map(|(index, parameter)| label(index, parameter))
            .collect()
    }

    fn work_group(&self, constant: Option<&Ident>) -> String {
        let (Some(size), Some(constant)) = (&self.kernel.required_local_size, constant) else {
            return String::new();
        };
        format!(
            "It is compiled for work-groups of `{size:?}` ([`Self::{constant}`]), which every launch uses; the range \
             must be a multiple of that size."
        )
    }

    /// Returns the heading and the text of the section on safety.
    fn safety(&self, conditions: Option<&[String]>) -> [String; 2] {
        if let Some(conditions) = conditions {
            let text = match conditions {
                [] => "No conditions: every launch is safe.".into(),
                _ => format!("A launch fails unless\n\n- `{}`", conditions.join("`\n- `")),
            };
            return ["# Contract".into(), text];
        }
        let reached = self.labels(|parameter| {
            matches!(parameter.ty, Type::Image { .. }) || contract::memory(&parameter.ty).is_some()
        });
        let unchecked = match reached.as_slice() {
            [] => "the kernel's memory accesses".to_owned(),
            reached => format!("that the kernel stays within {}", doc::list(reached)),
        };
        let text = format!(
            "Launching it is unsafe: nothing checks {unchecked}, or that its work-items do not race. \
             [`Launch::launch`](::syclbin_rt::Launch::launch) lists everything that the caller guarantees."
        );
        ["# Safety".into(), text]
    }
}

pub(crate) fn written_name(parameter: &Parameter) -> &str {
    parameter.name.as_deref().unwrap_or_default()
}

pub(crate) struct LeftOut<'f> {
    pub(crate) ident: Ident,
    /// The kernel's name in messages.
    pub(crate) called: String,
    pub(crate) kernel: &'f KernelSignature,
    pub(crate) reason: String,
}

impl LeftOut<'_> {
    /// Generates a trait that no type implements, and a method that requires it. The method has as many parameters as
    /// the kernel, so that the compiler reports the trait's message. A call with a different number of arguments causes
    /// an additional error. A bound on the `impl` would avoid that, but then rustc would not show the message for calls
    /// through a reference.
    pub(crate) fn method(&self) -> (TokenStream, TokenStream) {
        let ident = &self.ident;
        let message = format!(
            "no Rust function is generated for kernel `{}`: {}",
            self.called, self.reason
        );
        let declared = self.kernel.declaration.iter().flat_map(|of| &of.parameters);
        let mut names: Vec<&str> = declared.map(|parameter| &*parameter.name).collect();
        if names.is_empty() {
            names.push("arguments");
        }
        let inputs = Scope::of_variables().claim_each(names.into_iter(), "arg");
        let inputs: Vec<Ident> = inputs.into_iter().flatten().collect();
        let types = (0..inputs.len()).map(|index| format_ident!("T{index}"));
        let types: Vec<Ident> = types.collect();
        let refusal = quote! {
            #[diagnostic::on_unimplemented(
                message = #message,
                label = "omitted by `include_syclbin!`",
                note = "`syclbin_rt::Kernel::launch` takes `Arg`s instead",
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
