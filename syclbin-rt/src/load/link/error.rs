// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reasons why an image cannot be linked.

use std::fmt;

use syclbin::__private::mangled;

/// The extension of devices that have a function for failed asserts.
pub(super) const ASSERT: &str = "cl_intel_devicelib_assert";

/// The reason why an image cannot be linked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    /// The device does not take the code of an image that is needed.
    #[error("{0}")]
    Unfit(String),
    /// Two of the images that are needed define a symbol.
    #[error(
        "{} is defined by {} and by {}, and both are needed; compile it once",
        called(symbol), modules[0], modules[1]
    )]
    DefinedTwice {
        symbol: String,
        modules: [String; 2],
    },
    /// Two modules export an imported symbol.
    #[error(
        "{} is exported by {} and by {}; leave one of them out",
        called(symbol), modules[0], modules[1]
    )]
    ExportedTwice {
        symbol: String,
        modules: [String; 2],
    },
    /// The code reads specialization constants that are only imports.
    #[error(
        "it reads specialization constants that its compiler left unlowered ({}); compile it with \
         syclbin-clang or the clang++ of a DPC++ release",
        .0.join(", ")
    )]
    UnloweredConstants(Vec<String>),
    /// The device lacks the function for failed asserts.
    #[error(
        "it leaves a failed `assert` to the driver, and the device lacks {ASSERT}; compile it without \
         SYCLBIN_NATIVE_ASSERT"
    )]
    NoAssert,
    /// No module of the file defines virtual functions that the code calls.
    #[error(
        "it calls virtual functions of {0}, and no module of the file that this device takes defines \
         them; compile the sources that define them together with this one"
    )]
    VirtualFunctions(String),
    /// No image defines some symbols.
    #[error(transparent)]
    Undefined(Undefined),
}

/// The symbols that no image defines.
#[derive(Debug, thiserror::Error)]
pub(crate) struct Undefined {
    pub(super) symbols: Vec<UndefinedSymbol>,
    /// The number of files that the loaded file is linked with.
    pub(super) linked: usize,
    /// The images that should define these symbols according to their files.
    pub(super) unusable: Vec<UnusableImage>,
}

#[derive(Debug)]
pub(crate) struct UndefinedSymbol {
    pub(super) symbol: String,
    /// The module that imports it, if it is not the loaded module.
    pub(super) importer: Option<String>,
}

/// An image that should define a symbol but cannot be used.
#[derive(Debug)]
pub(crate) struct UnusableImage {
    pub(super) symbol: String,
    pub(super) module: String,
    pub(super) image: usize,
    pub(super) format: String,
    /// The reason why the device does not take it; `None` if its code lacks the symbol.
    pub(super) reason: Option<String>,
}

impl fmt::Display for Undefined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let symbols: Vec<String> = self.symbols.iter().map(ToString::to_string).collect();
        write!(
            f,
            "it uses symbols that it does not hold: {}; nothing exports them in this file",
            symbols.join(", ")
        )?;
        match self.linked {
            0 => f.write_str(", and no other is linked with it")?,
            1 => f.write_str(" or the one that is linked with it")?,
            files => write!(f, " or the {files} that are linked with it")?,
        }
        f.write_str(
            "; load it with the file that defines them (`Module::builder(&queue).link(..)`), or \
             compile the sources together",
        )?;
        for image in &self.unusable {
            write!(f, "\n    {image}")?;
        }
        Ok(())
    }
}

impl fmt::Display for UndefinedSymbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&called(&self.symbol))?;
        match &self.importer {
            Some(importer) => write!(f, " (used by {importer})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for UnusableImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            symbol,
            module,
            image,
            format,
            reason,
        } = self;
        let reason = reason.as_deref().unwrap_or("its code does not have it");
        let symbol = called(symbol);
        write!(
            f,
            "{symbol} is to be in {module}, image {image} ({format}): {reason}"
        )
    }
}

/// Formats a symbol as C++ spells it, if it can be demangled, and as it is.
fn called(symbol: &str) -> String {
    let Some(name) = mangled::parse(symbol).filter(|_| symbol.starts_with("_Z")) else {
        return symbol.to_owned();
    };
    match &name.parameters {
        Some(parameters) => format!("{}({}) [{symbol}]", name.qualified(), parameters.join(", ")),
        None => format!("{} [{symbol}]", name.qualified()),
    }
}
