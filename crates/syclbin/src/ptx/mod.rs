// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses PTX, NVIDIA's assembly language: version, target, kernels with their parameters, variables, imports and
//! exports.
//!
//! ```
//! use syclbin::ptx::{Module, Target, Version};
//!
//! let text = b".version 7.0\n.target sm_80\n.address_size 64\n\
//!     .visible .entry fill(.param .u64 .ptr .global .align 4 fill_param_0, .param .u32 fill_param_1)\n\
//!     { ret; }";
//! let module = Module::parse(text)?;
//! assert_eq!((module.version, module.target), (Version::new(7, 0), Target::new(80)));
//! let fill = module.kernel("fill").ok_or("no kernel")?;
//! assert_eq!(fill.parameters[1].layout.map(|layout| (layout.offset, layout.size)), Some((8, 4)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! SYCL compilers (DPC++, and the compiler library in DPC++ 2026.2) map SYCL to PTX as follows:
//!
//! - A kernel that queries its global id is emitted twice. The variant `NAME_with_offset` is for ranges that do not
//!   start at zero. It takes an additional last parameter, a 12-byte array: the offsets along x, y and z as `u32`.
//! - SYCL dimensions are reversed: the last dimension is x.
//! - Work-group memory is a single block whose size is set at launch. Local accessors are passed as offsets into this
//!   block. See [`Passed::Number`]. Scratch memory (`get_work_group_scratch_memory`) is a parameter only in SPIR-V. In
//!   PTX, it occupies the start of the block, before the memory that the parameters refer to. See
//!   [`Kernel::uses_scratch_memory`].
//! - A specialization constant is a variable. See [`constant_variable`].
//!
//! Function bodies are scanned only for the names that they use.

mod kernel;
mod target;
mod tokens;

use core::fmt::Write as _;
use core::mem::take;

use crate::error::{Error, ErrorKind};
use crate::prelude::*;
use crate::spirv::reads::reachable;
pub use kernel::{Kernel, Kind, Parameter, ParameterLayout, Passed, Space};
pub use target::{Suffix, Target, Version};
use tokens::{Tokens, text};

/// Functions that the driver provides to all PTX code.
const OF_THE_DRIVER: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// The name of the memory that `get_work_group_scratch_memory` returns.
const SCRATCH: &[u8] = b"__sycl_dynamicLocalMemoryPlaceholder_GV";

/// The contents of PTX text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Module {
    /// The PTX version.
    pub version: Version,
    /// The NVIDIA architecture that the code targets (`.target`).
    pub target: Target,
    /// The kernels in order of appearance, without duplicate names. Variants for ranges with an offset are left out,
    /// unless the plain variant is missing.
    pub kernels: Vec<Kernel>,
    /// Functions that the code calls but does not define, except those that every driver provides. PTX with
    /// imports must be linked (`cuLinkAddData`).
    pub imports: Vec<String>,
    /// Functions that other PTX code can call.
    pub exports: Vec<String>,
    /// Functions and kernels that other PTX code may define as well (`.weak`). A linker keeps one definition of
    /// each. The functions are also among `exports`.
    pub weak_exports: Vec<String>,
    /// Names of variables in device memory that can be looked up (`.global`, `.const`).
    pub variables: Vec<String>,
}

impl Module {
    /// Parses PTX text. Unrecognized parameters become [`Passed::Other`].
    ///
    /// # Errors
    ///
    /// Returns an error if `bytes` is not PTX, or lacks a version or target.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let (module, fault) = Self::read(bytes);
        fault.map_or(Ok(module), Err)
    }

    /// Returns the kernel called `name`.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// Returns everything that can be parsed, and the first error.
    #[doc(hidden)]
    pub fn read(bytes: &[u8]) -> (Self, Option<Error>) {
        let mut reader = Reader::default();
        let fault = reader.read(bytes);
        (reader.finish(), fault)
    }
}

/// Returns the PTX variable name for the specialization constant `key`. `key` is the name in the set
/// [`SPECIALIZATION_CONSTANTS`](crate::property::set::SPECIALIZATION_CONSTANTS).
///
/// A specialization constant cannot be set when a driver compiles PTX. Instead, `syclbin-clang` emits each constant as
/// a visible variable in device memory that holds the default value. To set another value, write it to the variable
/// before the launch.
///
/// ```
/// use syclbin::ptx::constant_variable;
///
/// assert_eq!(constant_variable("_ZL4gain"), "__syclbin_constant__ZL4gain");
/// assert_eq!(constant_variable("a.b"), "__syclbin_constant_a$2eb");
/// ```
#[must_use]
pub fn constant_variable(key: &str) -> String {
    let mut name = String::from("__syclbin_constant_");
    for byte in key.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' => name.push(char::from(byte)),
            // `$` is escaped too, so that different keys result in different names. Writing to a string cannot fail.
            _ => _ = write!(name, "${byte:02x}"),
        }
    }
    name
}

/// Returns whether `bytes` is PTX, which begins with `.version` after optional comments.
pub fn is_ptx(bytes: &[u8]) -> bool {
    Tokens::new(bytes).next() == Some(b".version")
}

/// The visibility of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Linkage {
    /// Visible only in this PTX text.
    #[default]
    Own,
    /// Visible in all PTX code linked with this text: `.visible`, `.common`.
    Visible,
    /// Like `Visible`, but other PTX code may also define the name: `.weak`.
    Weak,
    /// Defined in other PTX code.
    Extern,
}

#[derive(Default)]
struct Function<'a> {
    linkage: Linkage,
    defined: bool,
    called: bool,
    /// The functions and dynamically sized memory that the body mentions.
    mentions: BTreeSet<&'a [u8]>,
}

#[derive(Default)]
struct Reader<'a> {
    version: Option<Version>,
    target: Option<Target>,
    kernels: Vec<(Kernel, BTreeSet<&'a [u8]>)>,
    names: BTreeSet<String>,
    weak_kernels: Vec<String>,
    functions: BTreeMap<&'a [u8], Function<'a>>,
    /// The names of `functions`, in order of appearance.
    order: Vec<&'a [u8]>,
    /// Work-group memory whose size is set at launch.
    dynamic: BTreeSet<&'a [u8]>,
    variables: Vec<String>,
}

impl<'a> Reader<'a> {
    fn read(&mut self, bytes: &'a [u8]) -> Option<Error> {
        let mut tokens = Tokens::new(bytes);
        const NOT_A_VERSION: &str =
            "its `.version` is not a version; expected a number such as 8.4";
        const NOT_NVIDIA: &str =
            "its `.target` is not an NVIDIA architecture; expected a name such as sm_80";
        let mut linkage = Linkage::Own;
        let mut fault = None;
        let mut fail = |at: usize, reason| {
            let offset = (bytes.len() - at) as u64;
            fault.get_or_insert_with(|| Error::new("PTX", offset, ErrorKind::Ptx(reason)));
        };
        if !is_ptx(bytes) {
            fail(bytes.len(), "it does not begin with `.version`");
        }
        loop {
            let at = tokens.left();
            let Some(token) = tokens.next() else { break };
            match token {
                b".version" => {
                    self.version = tokens.next().and_then(Version::parse);
                    if self.version.is_none() {
                        fail(at, NOT_A_VERSION);
                    }
                }
                b".target" => {
                    let name = tokens.next().and_then(|word| str::from_utf8(word).ok());
                    self.target = name.and_then(Target::parse);
                    if self.target.is_none() {
                        fail(at, NOT_NVIDIA);
                    }
                }
                b".visible" | b".common" => linkage = Linkage::Visible,
                b".weak" => linkage = Linkage::Weak,
                b".extern" => linkage = Linkage::Extern,
                b".entry" => {
                    let kernel = Kernel::parse(&mut tokens);
                    let mentions = self.body(&mut tokens);
                    let is_weak = take(&mut linkage) == Linkage::Weak;
                    if !kernel.name.is_empty() && self.names.insert(kernel.name.clone()) {
                        self.weak_kernels
                            .extend(is_weak.then(|| kernel.name.clone()));
                        self.kernels.push((kernel, mentions));
                    }
                }
                b".func" => self.function(&mut tokens, take(&mut linkage)),
                b".global" | b".const" | b".shared" => {
                    self.variable(&mut tokens, token, take(&mut linkage));
                }
                b"{" => tokens.skip_block(|_| {}),
                b";" => linkage = Linkage::Own,
                _ => {}
            }
        }
        if self.target.is_none() {
            fail(0, "it has no `.target`");
        }
        fault
    }

    /// Reads the body after a function header, if there is one. Returns the known names that the body mentions.
    fn body(&mut self, tokens: &mut Tokens<'a>) -> BTreeSet<&'a [u8]> {
        let mut mentions = BTreeSet::new();
        if tokens.peek() != Some(b"{") {
            return mentions;
        }
        tokens.next();
        // PTX declares names before their use, so a single pass is sufficient.
        tokens.skip_block(|word| {
            if self.dynamic.contains(word) {
                mentions.insert(word);
            } else if let Some(function) = self.functions.get_mut(word) {
                function.called = true;
                mentions.insert(word);
            }
        });
        mentions
    }

    /// Parses declarations and definitions such as `(.param .b32 result) NAME (.param .b64 x) .noreturn`.
    fn function(&mut self, tokens: &mut Tokens<'a>, linkage: Linkage) {
        let mut name: &[u8] = b"";
        let mut in_list = false;
        while let Some(token) = tokens.peek() {
            match token {
                b"{" | b";" | b".entry" | b".func" => break,
                b"(" => in_list = true,
                b")" => in_list = false,
                word if !in_list && name.is_empty() && !word.starts_with(b".") => name = word,
                _ => {}
            }
            tokens.next();
        }
        if name.is_empty() {
            return;
        }
        if !self.functions.contains_key(name) {
            self.order.push(name);
        }
        self.functions.entry(name).or_default();
        let defined = tokens.peek() == Some(b"{");
        let mentions = self.body(tokens);
        let function = self.functions.entry(name).or_default();
        function.defined |= defined;
        if linkage != Linkage::Own {
            function.linkage = linkage;
        }
        function.mentions.extend(mentions);
    }

    /// Reads the declarations after `.global`, `.const` or `.shared`, up to their `;`.
    fn variable(&mut self, tokens: &mut Tokens<'a>, space: &[u8], linkage: Linkage) {
        let mut named = false;
        while let Some(token) = tokens.next() {
            match token {
                b";" => break,
                b"," => named = false,
                b"{" => tokens.skip_block(|_| {}),
                // The first identifier, as in `.align 4 .b8 NAME[16] = {1}`. Directives begin with a dot.
                [first, ..]
                    if !named && (first.is_ascii_alphabetic() || b"_$%".contains(first)) =>
                {
                    named = true;
                    match (space, linkage) {
                        (b".shared", Linkage::Extern) => _ = self.dynamic.insert(token),
                        (b".global" | b".const", Linkage::Visible | Linkage::Weak) => {
                            self.variables.push(text(token));
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }

    fn finish(self) -> Module {
        let mut users: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
        for (name, function) in &self.functions {
            for mention in &function.mentions {
                users.entry(mention).or_default().push(name);
            }
        }
        // Work-group memory, and the functions that use it, directly or through calls.
        let memory = self.dynamic.iter().copied();
        let scratch = memory.clone().filter(|name| *name == SCRATCH);
        let scratch = reachable(scratch.collect(), &users);
        let dynamic = reachable(memory.collect(), &users);
        let (mut imports, mut exports) = (Vec::new(), Vec::new());
        let mut weak_exports = self.weak_kernels;
        for name in &self.order {
            let (name, function) = (text(name), &self.functions[name]);
            match function.linkage {
                Linkage::Extern if !function.defined && function.called => imports.push(name),
                Linkage::Visible if function.defined => exports.push(name),
                Linkage::Weak if function.defined => {
                    weak_exports.push(name.clone());
                    exports.push(name);
                }
                _ => {}
            }
        }
        imports.retain(|name| !OF_THE_DRIVER.contains(&name.as_str()));
        let all = self.kernels.into_iter().map(|(mut kernel, mentions)| {
            let own = [kernel.name.as_bytes(), b"_shared_mem"].concat();
            kernel.uses_scratch_memory = !mentions.is_disjoint(&scratch);
            kernel.uses_dynamic_shared_memory =
                self.dynamic.contains(own.as_slice()) || !mentions.is_disjoint(&dynamic);
            kernel
        });
        Module {
            version: self.version.unwrap_or(Version::new(0, 0)),
            target: self.target.unwrap_or(Target::new(0)),
            kernels: without_offset_variants(all.collect()),
            imports,
            exports,
            weak_exports,
            variables: self.variables,
        }
    }
}

/// Removes offset variants.
fn without_offset_variants(mut kernels: Vec<Kernel>) -> Vec<Kernel> {
    let names = kernels.iter().map(|kernel| kernel.name.clone());
    let places: BTreeMap<String, usize> = names.zip(0..).collect();
    let is_variant = |kernel: &Kernel| {
        let name = kernel.name.strip_suffix(kernel::OFFSET_VARIANT);
        let plain = name.and_then(|name| places.get(name));
        plain.is_some_and(|at| kernels[*at].is_offset_variant(kernel))
    };
    let variants: Vec<bool> = kernels.iter().map(is_variant).collect();
    let mut variants = variants.into_iter();
    kernels.retain(|_| variants.next() == Some(false));
    kernels
}

#[cfg(test)]
mod tests;
