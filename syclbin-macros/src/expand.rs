//! The generated module: one struct for the file and one for each C++ namespace, with a method for
//! every kernel.

use std::collections::BTreeMap;

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;
use syclbin::signature::mangled::KernelName;
use syclbin::signature::{Access, Element, KernelSignature, Parameter, Pointee, Scalar, Type};

use crate::file::File;
use crate::input::Input;
use crate::names::{self, Scope};

/// The module that `input` asks for, with the kernels of `file`.
pub(crate) fn expand(input: &Input, file: &File) -> TokenStream {
    let mut omitted = Vec::new();
    let root = Namespace::of_kernels(&file.kernels, &mut omitted);

    let Input {
        attributes,
        visibility,
        name,
        ..
    } = input;
    let Contents {
        fields,
        methods,
        constructor,
        modules,
    } = root.contents(
        &mut Scope::reserving(["load"]),
        &mut Scope::of_types("Module"),
    );
    let file_name = &file.name;
    // What the user wrote about the module stands in place of a summary, not beside it.
    let summary = match attributes.iter().any(|a| a.path().is_ident("doc")) {
        true => TokenStream::new(),
        false => doc(&format!("The kernels of `{file_name}`.")),
    };
    let omitted = omitted_docs(&omitted);
    let bytes_doc = doc(&format!("The bytes of `{file_name}`, aligned to 8."));
    let module_doc = doc(&format!(
        "The kernels of `{file_name}`, compiled for the device of a queue."
    ));
    let load_doc = doc(&format!(
        "Compiles the kernels of `{file_name}` for the device of `queue`.\n\n# Errors\n\n\
         When no image of the file fits the device, or the driver refuses them all. A single\n\
         kernel that the device cannot run makes an error only when it is launched."
    ));
    let path = &file.path;
    quote! {
        #(#attributes)*
        #summary
        #omitted
        #[allow(dead_code, non_snake_case, clippy::too_many_arguments)]
        #visibility mod #name {
            #bytes_doc
            pub static SYCLBIN: &[u8] = ::syclbin_rt::include_bytes_aligned!(8, #path);

            #module_doc
            #[derive(Clone, Debug)]
            pub struct Module {
                #fields
            }

            impl Module {
                #load_doc
                pub fn load(queue: &::syclbin_rt::Queue) -> ::syclbin_rt::Result<Self> {
                    let module = &::syclbin_rt::Module::load_embedded(queue, SYCLBIN)?;
                    ::core::result::Result::Ok(Self { #constructor })
                }

                #methods
            }

            #modules
        }
    }
}

/// The documentation of what is left out.
fn omitted_docs(omitted: &[(String, String)]) -> TokenStream {
    if omitted.is_empty() {
        return TokenStream::new();
    }
    let mut text = String::from("\n# Left out\n");
    for (kernel, reason) in omitted {
        text.push_str(&format!("\n- `{kernel}`: {reason}"));
    }
    doc(&text)
}

/// Documentation as people write it, a comment for each line.
fn doc(text: &str) -> TokenStream {
    let lines = text.lines().map(|line| match line {
        "" => String::new(),
        line => format!(" {line}"),
    });
    quote!(#(#[doc = #lines])*)
}

/// The kernels of one C++ namespace, and the namespaces inside it.
#[derive(Default)]
struct Namespace<'k> {
    kernels: Vec<Stub<'k>>,
    inner: BTreeMap<String, Namespace<'k>>,
}

/// A kernel that gets a function.
struct Stub<'k> {
    name: String,
    kernel: &'k KernelSignature,
    parameters: &'k [Parameter],
}

/// The parts of a namespace's struct.
struct Contents {
    fields: TokenStream,
    methods: TokenStream,
    /// Initializers of the fields, from a variable `module`, a reference.
    constructor: TokenStream,
    /// The modules of the namespaces inside.
    modules: TokenStream,
}

impl<'k> Namespace<'k> {
    /// Sorts kernels into namespaces; what cannot have a function goes to `omitted` with the reason.
    fn of_kernels(kernels: &'k [KernelSignature], omitted: &mut Vec<(String, String)>) -> Self {
        let mut root = Self::default();
        for kernel in kernels {
            let mut omit = |reason: String| {
                let name = kernel.name.as_ref().map(KernelName::qualified);
                omitted.push((name.unwrap_or_else(|| kernel.symbol.clone()), reason));
            };
            let (Some(path), Some(name)) = (&kernel.name, names::base(kernel)) else {
                omit("its symbol has no name that Rust could use".into());
                continue;
            };
            let nameless = |part: &String| names::identifier(part).is_none();
            if path.path.iter().any(nameless) || nameless(&name) {
                omit("its name is no Rust identifier".into());
                continue;
            }
            match &kernel.parameters {
                Ok(parameters) => {
                    if let Some(reason) = parameters.iter().enumerate().find_map(not_yet) {
                        omit(reason);
                        continue;
                    }
                    let scope = path.path.iter().fold(&mut root, |scope, part| {
                        scope.inner.entry(part.clone()).or_default()
                    });
                    scope.kernels.push(Stub {
                        name,
                        kernel,
                        parameters,
                    });
                }
                Err(reason) => omit(reason.to_string()),
            }
        }
        root.tell_overloads_apart();
        root
    }

    fn tell_overloads_apart(&mut self) {
        let mut count = BTreeMap::<String, usize>::new();
        for stub in &self.kernels {
            *count.entry(stub.name.clone()).or_default() += 1;
        }
        for stub in &mut self.kernels {
            if count.get(&stub.name).is_some_and(|count| *count > 1) {
                stub.name = names::overload(&stub.name, stub.kernel);
            }
        }
        for namespace in self.inner.values_mut() {
            namespace.tell_overloads_apart();
        }
    }

    /// The struct's parts. `members` and `types` are the names that the struct and its module have.
    fn contents(&self, members: &mut Scope, types: &mut Scope) -> Contents {
        let mut contents = Contents {
            fields: TokenStream::new(),
            methods: TokenStream::new(),
            constructor: TokenStream::new(),
            modules: TokenStream::new(),
        };
        for stub in &self.kernels {
            let Some(ident) = members.claim(&stub.name) else {
                continue; // `of_kernels` has seen that it is an identifier
            };
            let symbol = &stub.kernel.symbol;
            contents.methods.extend(stub.method(&ident));
            contents.fields.extend(quote! {
                #ident: ::syclbin_rt::Result<::syclbin_rt::Kernel>,
            });
            contents.constructor.extend(quote! {
                #ident: module.kernel(#symbol),
            });
        }
        for (name, namespace) in &self.inner {
            let (Some(member), Some(module)) = (members.claim(name), types.claim(name)) else {
                continue; // `of_kernels` has seen that it is an identifier
            };
            let doc = doc(&format!("The kernels in C++ namespace `{name}`."));
            contents.fields.extend(quote! {
                #doc
                pub #member: #module::Kernels,
            });
            contents.constructor.extend(quote! {
                #member: #module::Kernels::new(module),
            });
            contents.modules.extend(namespace.module(&module, &doc));
        }
        contents
    }

    fn module(&self, ident: &Ident, doc: &TokenStream) -> TokenStream {
        let Contents {
            fields,
            methods,
            constructor,
            modules,
        } = self.contents(
            &mut Scope::reserving(["new"]),
            &mut Scope::of_types("Kernels"),
        );
        quote! {
            #doc
            pub mod #ident {
                #doc
                #[derive(Clone, Debug)]
                pub struct Kernels {
                    #fields
                }

                impl Kernels {
                    pub(super) fn new(module: &::syclbin_rt::Module) -> Self {
                        Self { #constructor }
                    }

                    #methods
                }

                #modules
            }
        }
    }
}

impl Stub<'_> {
    fn method(&self, ident: &Ident) -> TokenStream {
        let mut scope = Scope::of_variables();
        let (mut inputs, mut values, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        for (index, parameter) in self.parameters.iter().enumerate() {
            let written = parameter.name.as_deref().unwrap_or_default();
            let name = scope
                .claim(written)
                .or_else(|| scope.claim(&format!("arg{index}")));
            let Some(name) = name else { continue };
            let Some(Passing { ty, value }) = passing(&name, &parameter.ty) else {
                continue; // `of_kernels` has seen that it can be passed
            };
            labels.push(match written {
                "" => name.to_string(),
                written => written.to_owned(),
            });
            inputs.extend(ty.map(|ty| quote!(#name: #ty)));
            values.push(value);
        }
        let count = Literal::usize_unsuffixed(values.len());
        let doc = doc(&self.doc());
        // Buffers must live as long as the launch; without one there is nothing to name.
        let borrowed = |parameter: &Parameter| {
            matches!(
                parameter.ty,
                Type::Pointer { .. } | Type::Accessor { .. } | Type::Sampler
            )
        };
        let (generics, this, lifetime) = match self.parameters.iter().any(borrowed) {
            true => (quote!(<'a>), quote!(&'a self), quote!('a)),
            false => (quote!(), quote!(&self), quote!('_)),
        };
        quote! {
            #doc
            pub fn #ident #generics(#this #(, #inputs)*) -> ::syclbin_rt::Launch<#lifetime, #count> {
                ::syclbin_rt::Launch::new(&self.#ident, &[#(#labels),*], [#(#values),*])
            }
        }
    }

    /// The C++ signature, and what the file does not tell.
    fn doc(&self) -> String {
        let mut text = match &self.kernel.declaration {
            Some(declaration) => format!("```cpp\n{declaration}\n```"),
            None => format!(
                "Kernel `{}`; the file does not tell its C++ signature.",
                self.kernel
                    .name
                    .as_ref()
                    .map(KernelName::qualified)
                    .unwrap_or_default()
            ),
        };
        let three = |parameter: &Parameter| match &parameter.ty {
            Type::Vector { count, .. } => *count == 3,
            Type::Pointer {
                pointee: Pointee::Element(Element::Vector { count, .. }),
                ..
            } => *count == 3,
            _ => false,
        };
        if self.parameters.iter().any(three) {
            text.push_str(
                "\n\nA vector of three has the size of four; the last element is not used.",
            );
        }
        let unknown: Vec<String> = (self.parameters.iter().enumerate())
            .filter(|(_, parameter)| !parameter.sign_known)
            .map(|(index, parameter)| {
                let name = parameter.name.clone();
                format!("`{}`", name.unwrap_or_else(|| format!("arg{index}")))
            })
            .collect();
        if !unknown.is_empty() {
            text.push_str(&format!(
                "\n\nWhether these are signed is not known; taken for signed: {}.",
                unknown.join(", ")
            ));
        }
        text
    }
}

/// Why a parameter, at its index, has no Rust type yet.
fn not_yet((index, parameter): (usize, &Parameter)) -> Option<String> {
    let name = parameter.name.clone();
    let name = name.unwrap_or_else(|| index.to_string());
    let what = match &parameter.ty {
        ty if passing(&Ident::new("x", proc_macro2::Span::call_site()), ty).is_some() => {
            return None;
        }
        Type::Scalar(_) | Type::Enum(_) => "a number of this kind",
        Type::Vector { .. } => "a vector of this kind by value",
        Type::Array { .. } => "an array of anything but numbers by value",
        Type::Struct(_) => "a struct by value",
        Type::Pointer { .. } => "a pointer to anything but numbers and vectors",
        Type::LocalMemory { .. } => {
            "work-group memory of anything but numbers, with a size given at launch,"
        }
        Type::LocalAccessor { .. } => "a local accessor of anything but numbers in one dimension",
        Type::Accessor { .. } => "an accessor of anything but numbers in one dimension",
        Type::Sampler => "a sampler",
        Type::KernelHandler => "a kernel handler",
    };
    Some(format!("parameter {name}: {what} is not supported yet"))
}

/// How a parameter is passed.
struct Passing {
    /// The Rust type; `None` for what the caller has no choice in.
    ty: Option<TokenStream>,
    /// The argument it becomes.
    value: TokenStream,
}

/// `None` for what cannot be passed yet. Parameters that the compiler removed from the code are in
/// the signature all the same: the runtime passes over them.
fn passing(name: &Ident, ty: &Type) -> Option<Passing> {
    let (ty, value) = match ty {
        Type::Scalar(Scalar::Bool) => (quote!(bool), quote!(::syclbin_rt::Arg::bool(#name))),
        Type::Scalar(scalar @ (Scalar::F16 | Scalar::BF16)) => {
            (rust_type(*scalar), quote!(::syclbin_rt::Arg::value(#name)))
        }
        Type::Scalar(scalar) => (rust_type(*scalar), quote!(::syclbin_rt::Arg::scalar(#name))),
        // Passed as its number: what C++ calls the values is not in the file.
        Type::Enum(number) => (
            rust_type(number.of),
            quote!(::syclbin_rt::Arg::scalar(#name)),
        ),
        Type::Vector { of, count } => {
            (vector(*of, *count), quote!(::syclbin_rt::Arg::value(#name)))
        }
        Type::Array { of, count } => {
            let (of, count) = (element(of)?, Literal::u64_unsuffixed(*count));
            (
                quote!([#of; #count]),
                quote!(::syclbin_rt::Arg::value(#name)),
            )
        }
        Type::Pointer { pointee, access } => {
            let pointee = match pointee {
                Pointee::Element(of) => element(of)?,
                Pointee::Void => quote!(impl ::syclbin_rt::Pod),
                Pointee::Unknown(_) => return None,
            };
            match access {
                Access::Read => (
                    quote!(&'a ::syclbin_rt::Buffer<#pointee>),
                    quote!(::syclbin_rt::Arg::read(#name)),
                ),
                Access::ReadWrite => (
                    quote!(&'a mut ::syclbin_rt::Buffer<#pointee>),
                    quote!(::syclbin_rt::Arg::write(#name)),
                ),
            }
        }
        Type::LocalMemory {
            size: Some(bytes), ..
        } => {
            let bytes = Literal::u64_unsuffixed(*bytes);
            return Some(Passing {
                ty: None,
                value: quote!(::syclbin_rt::Arg::local(#bytes)),
            });
        }
        Type::LocalMemory {
            element: Pointee::Element(of),
            size: None,
        } => {
            let of = element(of)?;
            (
                quote!(::syclbin_rt::LocalMemory<#of>),
                quote!(::syclbin_rt::Arg::from(#name)),
            )
        }
        Type::LocalAccessor {
            element: Pointee::Element(of),
            dimensions: Some(1),
        } => {
            let of = element(of)?;
            (
                quote!(usize),
                quote!(::syclbin_rt::Arg::local_accessor::<#of>(#name)),
            )
        }
        // All of the buffer, which is what an accessor without range means in C++ too.
        Type::Accessor {
            element: Pointee::Element(of),
            dimensions: 1,
            access,
        } => {
            let of = element(of)?;
            match access {
                Access::Read => (
                    quote!(&'a ::syclbin_rt::Buffer<#of>),
                    quote!(::syclbin_rt::Arg::read_accessor(#name, #name.len())),
                ),
                Access::ReadWrite => (
                    quote!(&'a mut ::syclbin_rt::Buffer<#of>),
                    quote!({
                        let all = #name.len();
                        ::syclbin_rt::Arg::write_accessor(#name, all)
                    }),
                ),
            }
        }
        Type::Sampler => (
            quote!(&'a ::syclbin_rt::Sampler),
            quote!(::syclbin_rt::Arg::sampler(#name)),
        ),
        Type::KernelHandler => {
            return Some(Passing {
                ty: None,
                value: quote!(::syclbin_rt::Arg::kernel_handler()),
            });
        }
        Type::Struct(_)
        | Type::LocalMemory { .. }
        | Type::LocalAccessor { .. }
        | Type::Accessor { .. } => return None,
    };
    Some(Passing {
        ty: Some(ty),
        value,
    })
}

/// The type of an element in memory, if it is made of numbers.
fn element(element: &Element) -> Option<TokenStream> {
    Some(match element {
        Element::Scalar(scalar) => rust_type(*scalar),
        Element::Enum(number) => rust_type(number.of),
        Element::Vector { of, count } => vector(*of, *count),
        Element::Array { .. } | Element::Struct(_) | Element::Pointer(_) | Element::Bytes(_) => {
            return None;
        }
    })
}

/// `sycl::vec`: one of three elements has the size of four.
fn vector(of: Scalar, count: u32) -> TokenStream {
    let of = rust_type(of);
    let count = Literal::u32_unsuffixed(if count == 3 { 4 } else { count });
    quote!([#of; #count])
}

/// The type of an element in memory; a `bool` there is a byte.
fn rust_type(scalar: Scalar) -> TokenStream {
    match scalar {
        Scalar::Bool | Scalar::U8 => quote!(u8),
        Scalar::I8 => quote!(i8),
        Scalar::I16 => quote!(i16),
        Scalar::U16 => quote!(u16),
        Scalar::I32 => quote!(i32),
        Scalar::U32 => quote!(u32),
        Scalar::I64 => quote!(i64),
        Scalar::U64 => quote!(u64),
        Scalar::F32 => quote!(f32),
        Scalar::F64 => quote!(f64),
        Scalar::F16 => quote!(::syclbin_rt::half::f16),
        Scalar::BF16 => quote!(::syclbin_rt::half::bf16),
    }
}

#[cfg(test)]
mod tests;
