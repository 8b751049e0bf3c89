// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generates the module: a struct for the file and one for each C++ namespace, with a method for every kernel.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use crate::file::File;
use crate::input::Input;
use crate::names::Scope;
use crate::plan::{Namespace, Plan};
use crate::types::{Types, structs};
use crate::{doc, info, variables};

pub(crate) fn expand(input: &Input, file: &File, errors: &mut Vec<syn::Error>) -> TokenStream {
    let plan = Plan::new(input, file, errors);
    let types = &plan.types;
    let contents = contents(&plan.root, types, 0, errors);
    let proofs = plan.own.iter();
    let proofs = proofs.map(|(id, path)| structs::proof(*id, path, types));
    let file_name = &file.name;
    let (attributes, visibility, name) = (&input.attributes, &input.visibility, &input.name);
    // The user's own documentation of the module replaces the summary.
    let summary = if attributes.iter().any(|a| a.path().is_ident("doc")) {
        TokenStream::new()
    } else {
        doc::comment(&format!("The kernels of `{file_name}`."))
    };
    let omitted = omitted(&plan.omitted);
    let bytes_doc = doc::comment(&format!("The bytes of `{file_name}`, aligned to 8 bytes."));
    let bytes = embedded(file);
    let constants = variables::builder(&file.signatures.constants, file_name, types);
    let info = info::kernels(&plan, file);
    let module = module_struct(&contents, file_name);
    let (structs, modules) = (contents.structs, contents.modules);
    quote! {
        #(#attributes)*
        #summary
        #omitted
        #[allow(
            dead_code,
            non_snake_case,
            non_camel_case_types,
            clippy::pub_underscore_fields,
            clippy::too_many_arguments
        )]
        #visibility mod #name {
            #bytes_doc
            pub static SYCLBIN: &[u8] = #bytes;

            #info

            #module
            #constants
            #structs
            #(#proofs)*
            #modules
        }
    }
}

/// Returns an expression for the bytes that the macro read.
///
/// `include_bytes_aligned!` expands to `include_bytes!` and `Sized` without paths, so the user's program could shadow
/// them. The block defines both, which hides all other definitions. The array type makes compilation fail if the file's
/// size has changed since the macro read it.
fn embedded(file: &File) -> TokenStream {
    let Some(path) = &file.path else {
        return quote!(&[]);
    };
    let size = Literal::usize_unsuffixed(file.size);
    quote!({
        #[allow(unused_imports, redundant_imports)]
        use ::core::marker::Sized;
        macro_rules! include_bytes {
            ($path:expr) => { ::core::include_bytes!($path) };
        }
        const BYTES: &[u8; #size] = ::syclbin_rt::__private::include_bytes_aligned!(8, #path);
        BYTES
    })
}

fn module_struct(contents: &Contents, file_name: &str) -> TokenStream {
    let field = &contents.module;
    let doc = doc::comment(&format!(
        "The kernels of `{file_name}`, loaded for the device of a queue."
    ));
    let load_doc = doc::comment(&format!(
        "Loads `{file_name}` for the device of `queue`. Each kernel is compiled when it is first used.\n\n\
         [`build`](Self::build) compiles all kernels at once.\n\n# Errors\n\nFails if no image in the file fits the \
         device. A kernel that the device cannot run, or that\nits driver rejects, is an error only when it is used."
    ));
    let build_doc = doc::paragraphs([
        "Compiles all kernels now, on several threads, so that no launch waits for a compiler.".into(),
        "# Errors".into(),
        "Fails if some kernels cannot run on the device; the error lists all reasons. All others are compiled."
            .into(),
    ]);
    let build_kernels_doc = doc::paragraphs([
        "Compiles the kernels with these symbols now, on several threads. [`KERNELS`] lists the symbols.".into(),
        "# Errors".into(),
        "Fails if any of them does not exist or cannot run on the device; the error lists all reasons.".into(),
    ]);
    let best_doc = doc::comment(&format!(
        "Returns the best device on this machine that `{file_name}` contains code for: preferably a GPU, then an \
         accelerator, then a CPU.\n\n\
         `SYCLBIN_DEVICE` selects another device. Calls `syclbin_rt::Device::best_for` with this file.\n\n\
         # Errors\n\nFails if no device can run anything in the file; the error gives the reason for each device."
    ));
    let builder_doc = doc::comment(
        "Creates a builder that loads another file, links with other files, or sets specialization constants.",
    );
    let file_doc = doc::comment("The file, for use with [`Builder::link`] of another module.");
    let file = quote! {
        #file_doc
        pub const FILE: ::syclbin_rt::Embedded =
            unsafe { ::syclbin_rt::Embedded::new(SYCLBIN) };
    };
    let functions = quote! {
        #best_doc
        pub fn best_device() -> ::syclbin_rt::Result<::syclbin_rt::Device> {
            ::syclbin_rt::Device::best_for(Self::FILE)
        }
        #load_doc
        pub fn load(queue: &::syclbin_rt::Queue) -> ::syclbin_rt::Result<Self> {
            Self::builder(queue).load()
        }
        #builder_doc
        pub fn builder(queue: &::syclbin_rt::Queue) -> Builder<'_> {
            Builder { module: ::syclbin_rt::Module::builder(queue) }
        }
        #build_doc
        pub fn build(&self) -> ::syclbin_rt::Result<()> {
            self.#field.build()
        }
        #build_kernels_doc
        pub fn build_kernels<'n>(
            &self,
            symbols: impl ::core::iter::IntoIterator<Item = &'n ::core::primitive::str>,
        ) -> ::syclbin_rt::Result<()> {
            self.#field.build_kernels(symbols)
        }
    };
    let private = TokenStream::new();
    contents.structure(&doc, &quote!(Module), &file, &functions, &private)
}

/// The parts of a struct with kernels, and of the module around it.
#[derive(Default)]
struct Contents {
    fields: TokenStream,
    constants: TokenStream,
    methods: TokenStream,
    constructor: TokenStream,
    /// The field that stores the loaded module. Only the file's struct and structs with device globals need it.
    module: Option<Ident>,
    /// The Rust definitions of C++ structs.
    structs: TokenStream,
    /// The module with a trait for each left-out kernel, and the modules for inner namespaces.
    modules: TokenStream,
}

impl Contents {
    /// Generates the struct `name`. `first` precedes the constants, and `functions` precede the constructor, which has
    /// the visibility `new`.
    fn structure(
        &self,
        doc: &TokenStream,
        name: &TokenStream,
        first: &TokenStream,
        functions: &TokenStream,
        new: &TokenStream,
    ) -> TokenStream {
        let (fields, constructor) = (&self.fields, &self.constructor);
        let (constants, methods) = (&self.constants, &self.methods);
        // The constructor is empty if all kernels are left out.
        let module = if constructor.is_empty() {
            quote!(_)
        } else {
            quote!(module)
        };
        quote! {
            #doc
            #[derive(Clone, Debug)]
            pub struct #name {
                #fields
            }
            impl #name {
                #first
                #constants
                #functions
                #new fn new(#module: &::syclbin_rt::Module) -> Self {
                    Self { #constructor }
                }
                #methods
            }
        }
    }
}

/// Generates the parts of `namespace`. Its module is nested `depth` levels deep in the generated module.
fn contents(
    namespace: &Namespace<'_>,
    types: &Types<'_>,
    depth: usize,
    errors: &mut Vec<syn::Error>,
) -> Contents {
    let mut contents = Contents::default();
    // The names of fields, and those of functions and constants.
    let (mut members, mut items) = (Scope::default(), Scope::default());
    let globals = namespace.globals.iter().map(|global| &global.ident);
    let left_out = namespace.left_out.iter().map(|left_out| &left_out.ident);
    globals.chain(left_out).for_each(|ident| items.take(ident));
    for stub in &namespace.stubs {
        members.take(&stub.ident);
        items.take(&stub.ident);
    }
    for stub in &namespace.stubs {
        let (ident, symbol) = (&stub.ident, &stub.kernel.symbol);
        let mut constant = None;
        if let Some(size) = &stub.kernel.required_local_size {
            let name = crate::names::plain(ident).to_uppercase();
            constant = items.claim(&format!("{name}_LOCAL_SIZE"));
            let doc = doc::comment(&format!(
                "The work-group size that `{ident}` is compiled for, in SYCL's order."
            ));
            let dimensions = Literal::usize_unsuffixed(size.len());
            let size = size.iter().map(|size| Literal::u32_unsuffixed(*size));
            contents.constants.extend(quote! {
                #doc
                pub const #constant: [usize; #dimensions] = [#(#size),*];
            });
        }
        let method = stub.method(types, depth, constant.as_ref(), errors);
        contents.methods.extend(method);
        let field = quote!(#ident: ::syclbin_rt::__private::StubKernel,);
        contents.fields.extend(field);
        contents.constructor.extend(quote! {
            #ident: ::syclbin_rt::__private::StubKernel::new(module, #symbol),
        });
    }
    let mut refusals = TokenStream::new();
    for left_out in &namespace.left_out {
        let (refusal, method) = left_out.method();
        refusals.extend(refusal);
        contents.methods.extend(method);
    }
    if !refusals.is_empty() {
        contents.modules = quote! {
            #[doc(hidden)]
            pub mod left_out {
                #refusals
            }
        };
    }
    if depth == 0 || !namespace.globals.is_empty() {
        let field = members.claim("module");
        for global in &namespace.globals {
            let method = global.method(types, depth, field.as_ref());
            contents.methods.extend(method);
        }
        let loaded = quote!(#field: ::syclbin_rt::Module,);
        contents.fields.extend(loaded);
        let clone = quote!(#field: ::core::clone::Clone::clone(module),);
        contents.constructor.extend(clone);
        contents.module = field;
    }
    for (id, ident) in &namespace.structs {
        let definition = structs::definition(*id, ident, types, depth);
        contents.structs.extend(definition);
    }
    for (name, inner) in &namespace.inner {
        let (Some(member), Some(module)) = (members.claim(name), &inner.module) else {
            continue; // the plan has already checked the identifier
        };
        let what = inner.what();
        let doc = doc::comment(&format!("The kernels in {what} `{name}`."));
        if inner.has_kernels() {
            contents.fields.extend(quote! {
                #doc
                pub #member: #module::Kernels,
            });
            let constructor = quote!(#member: #module::Kernels::new(module),);
            contents.constructor.extend(constructor);
        }
        let inner = inner_module(inner, module, name, types, depth + 1, errors);
        contents.modules.extend(inner);
    }
    contents
}

fn inner_module(
    namespace: &Namespace<'_>,
    ident: &Ident,
    name: &str,
    types: &Types<'_>,
    depth: usize,
    errors: &mut Vec<syn::Error>,
) -> TokenStream {
    let contents = contents(namespace, types, depth, errors);
    let has_kernels = namespace.has_kernels();
    let what = if has_kernels { "kernels" } else { "structs" };
    let place = namespace.what();
    let doc = doc::comment(&format!("The {what} in {place} `{name}`."));
    let (kernels, none, new) = (quote!(Kernels), TokenStream::new(), quote!(pub(super)));
    let kernels = has_kernels.then(|| contents.structure(&doc, &kernels, &none, &none, &new));
    let (structs, modules) = (contents.structs, contents.modules);
    quote! {
        #doc
        pub mod #ident {
            #kernels
            #structs
            #modules
        }
    }
}

fn omitted(omitted: &[(String, String)]) -> TokenStream {
    if omitted.is_empty() {
        return TokenStream::new();
    }
    let mut text = String::from("\n# Omitted\n");
    for (kernel, reason) in omitted {
        text.push_str(&format!("\n- `{kernel}`: {reason}"));
    }
    doc::comment(&text)
}
