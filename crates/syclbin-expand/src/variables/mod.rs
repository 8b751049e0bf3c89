// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generates methods for specialization constants and device globals.

use crate::names::{Scope, qualified};
use crate::types::{MOST_BOOLS, Types, scalar};
use crate::{doc, names};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;
use syclbin::signature::{DeviceGlobal, Element, Scalar, SpecializationConstant};

/// Generates the module's builder, with methods that link and load files, and a method for each constant that Rust
/// code can set.
pub(crate) fn builder(
    constants: &[SpecializationConstant],
    file: &str,
    types: &Types<'_>,
) -> TokenStream {
    let mut scope = Scope::reserving(["link", "load", "load_file", "load_bytes"]);
    let mut methods = TokenStream::new();
    let mut unset = Vec::new();
    for constant in constants {
        match method(constant, &mut scope, types) {
            Ok(method) => methods.extend(method),
            Err(reason) => unset.push(format!(
                "- `{}`: {reason}",
                qualified(constant.name.as_ref(), &constant.symbol)
            )),
        }
    }
    let unset = match unset.as_slice() {
        [] => String::new(),
        unset => format!("# Omitted\n\n{}", unset.join("\n")),
    };
    let doc = doc::paragraphs([
        match constants {
            [] => format!("Builds the kernels of `{file}`, linked with other files."),
            _ => format!(
                "Builds the kernels of `{file}` with values for its specialization constants, or linked with other \
                 files. Constants that are not set keep their defaults."
            ),
        },
        unset,
    ]);
    let link = doc::comment(
        "Resolves functions and variables that the kernels import from `file`, such as `other::Module::FILE`.",
    );
    let load = doc::comment(
        "Loads the module with these values and linked files.\n\n# Errors\n\nFails for the same reasons as \
         [`Module::load`].",
    );
    let load_file = doc::paragraphs([
        "Loads another file, such as a newer build, with the same values and linked files.".into(),
        format!(
            "The file must contain every kernel, specialization constant and device global of `{file}` that has a \
             function here, with the same types, dimensions and required work-group sizes. Its code may differ, and it may \
             contain more of each."
        ),
        "# Errors".into(),
        "Fails if the file cannot be read or does not match, in which case the error lists all differences, or for \
         the same reasons as [`Module::load`]."
            .into(),
        "# Safety".into(),
        "The caller must guarantee that each image in the file is compiler output, as for `syclbin_rt::Module::load`, \
         and that each kernel whose launch is safe here is sound under the same conditions."
            .into(),
    ]);
    let load_bytes = doc::comment(
        "Loads the bytes of another file, like [`load_file`](Self::load_file).\n\n# Errors\n\nFails if the bytes are \
         not a SYCLBIN file, or for the same reasons as [`load_file`](Self::load_file).\n\n# Safety\n\nAs for \
         [`load_file`](Self::load_file).",
    );
    quote! {
        #doc
        #[derive(Clone, Debug)]
        #[must_use = "nothing is loaded until `load` is called"]
        pub struct Builder<'q> {
            module: ::syclbin_rt::ModuleBuilder<'q>,
        }

        impl<'q> Builder<'q> {
            #methods

            #link
            pub fn link(self, file: ::syclbin_rt::Embedded) -> Self {
                Self { module: self.module.link_embedded(file) }
            }

            #load
            pub fn load(self) -> ::syclbin_rt::Result<Module> {
                let module = unsafe { self.module.load_embedded(Module::FILE)? };
                ::core::result::Result::Ok(Module::new(&module))
            }

            #load_file
            pub unsafe fn load_file(
                self,
                path: impl ::core::convert::AsRef<::syclbin_rt::__private::Path>,
            ) -> ::syclbin_rt::Result<Module> {
                let path = ::core::convert::AsRef::as_ref(&path);
                let module = unsafe { self.module.load_file_for(path, Module::FILE, KERNELS)? };
                ::core::result::Result::Ok(Module::new(&module))
            }

            #load_bytes
            pub unsafe fn load_bytes(self, bytes: &[u8]) -> ::syclbin_rt::Result<Module> {
                let module = unsafe { self.module.load_bytes_for(bytes, Module::FILE, KERNELS)? };
                ::core::result::Result::Ok(Module::new(&module))
            }
        }
    }
}

fn method(
    constant: &SpecializationConstant,
    scope: &mut Scope,
    types: &Types<'_>,
) -> Result<TokenStream, String> {
    let element = constant.ty.as_ref().map_err(ToString::to_string)?;
    let name = qualified(constant.name.as_ref(), &constant.symbol);
    let ident = scope.claim(&names::words(&name));
    let ident = ident.ok_or("its name is not a Rust identifier")?;
    let symbol = &constant.symbol;
    let plain = quote!(specialization_constant(#symbol, value));
    let (ty, call) = match element {
        Element::Scalar(Scalar::Bool) => (quote!(bool), plain),
        element => {
            let bools = types.bools(element, MOST_BOOLS).ok_or(
                "it contains more than 64 `bool`s, too many to check, and a `bool` that is neither 0 nor 1 is \
                 undefined behavior in C++",
            )?;
            let offsets = bools.into_iter().map(|(offset, _)| offset);
            let bools = offsets.map(Literal::u64_unsuffixed);
            let call = match bools.len() {
                0 => plain,
                _ => quote!(specialization_constant_with_bools(#symbol, value, &[#(#bools),*])),
            };
            (types.of(element, 0), call)
        }
    };
    let default = constant.default.as_deref();
    let default = default.and_then(|bytes| shown(element, bytes));
    let doc = doc::paragraphs([
        match default {
            Some(default) => format!("Sets `{name}`, whose default is {default}."),
            None => format!("Sets `{name}`."),
        },
        if constant.sign_known {
            String::new()
        } else {
            "The file does not record whether it is signed, so it is treated as signed.".into()
        },
    ]);
    Ok(quote! {
        #doc
        pub fn #ident(self, value: #ty) -> Self {
            Self { module: self.module.#call }
        }
    })
}

/// Formats a default value as users write it. Returns `None` if it is not a number.
fn shown(element: &Element, bytes: &[u8]) -> Option<String> {
    Some(match scalar(element)? {
        Scalar::Bool => (*bytes.first()? != 0).to_string(),
        Scalar::I8 => i8::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Scalar::U8 => u8::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Scalar::I16 => i16::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Scalar::U16 => u16::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Scalar::I32 => i32::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Scalar::U32 => u32::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Scalar::I64 => i64::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Scalar::U64 => u64::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Scalar::F32 => f32::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Scalar::F64 => f64::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Scalar::F16 | Scalar::BF16 => return None,
    })
}

pub(crate) struct PlannedGlobal<'f> {
    pub(crate) ident: Ident,
    pub(crate) global: &'f DeviceGlobal,
}

impl PlannedGlobal<'_> {
    /// Generates the method, for a struct `depth` modules deep that stores the module in `field`.
    pub(crate) fn method(
        &self,
        types: &Types<'_>,
        depth: usize,
        field: Option<&Ident>,
    ) -> TokenStream {
        let Ok(element) = &self.global.ty else {
            return TokenStream::new(); // it was already left out
        };
        let (ident, id) = (&self.ident, &self.global.id);
        let ty = types.of(element, depth);
        let spelled = types.layouts.spell(element);
        let name = qualified(self.global.name.as_ref(), id);
        let doc = doc::paragraphs([
            doc::cpp(&format!("device_global<{spelled}> {name}")),
            if self.global.sign_known {
                String::new()
            } else {
                "The file does not record which of its integers are signed, so they are treated as signed.".into()
            },
            "# Errors\n\nFails if the device does not have the variable, or if the driver has no functions to access \
             it."
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

#[cfg(test)]
mod tests {
    use super::*;
    use syclbin::signature::Enum;

    #[test]
    fn defaults_are_shown_as_numbers() {
        let half = 0.5f32.to_le_bytes();
        let wide = (-2.25f64).to_le_bytes();
        for (scalar, bytes, expected) in [
            (Scalar::Bool, &[0][..], "false"),
            (Scalar::Bool, &[1], "true"),
            (Scalar::I8, &[0xff], "-1"),
            (Scalar::U8, &[0xff], "255"),
            (Scalar::I16, &[0xfe, 0xff], "-2"),
            (Scalar::U16, &[0xfe, 0xff], "65534"),
            (Scalar::I32, &[3, 0, 0, 0x80], "-2147483645"),
            (Scalar::U32, &[3, 0, 0, 0x80], "2147483651"),
            (Scalar::I64, &[0xff; 8], "-1"),
            (Scalar::U64, &[0xff; 8], "18446744073709551615"),
            (Scalar::F32, &half, "0.5"),
            (Scalar::F64, &wide, "-2.25"),
        ] {
            let found = shown(&Element::Scalar(scalar), bytes);
            assert_eq!(found.as_deref(), Some(expected), "{scalar:?}");
            let name = "Mode".into();
            let of = Enum { name, of: scalar };
            assert_eq!(shown(&Element::Enum(of), bytes), found, "{scalar:?}");
            assert_eq!(shown(&Element::Scalar(scalar), &[]), None, "{scalar:?}");
        }
    }

    #[test]
    fn other_defaults_are_not_shown() {
        for element in [
            Element::Scalar(Scalar::F16),
            Element::Scalar(Scalar::BF16),
            Element::Bytes(2),
        ] {
            assert_eq!(shown(&element, &[0, 0]), None, "{element:?}");
        }
    }
}
