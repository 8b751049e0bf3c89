// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that the test programs embed: the shared test files, and generated files for everything that those lack.

mod declared;
mod odd;

use std::fs;
use std::path::Path;

use syclbin::metadata::{
    DeviceGlobal, SpecConstantDescriptor, SpecializationConstants, WorkGroupSize,
};
use syclbin::metadata::{Dimensions, Property};
use syclbin::property::{key, set};
use syclbin::{AbstractModule, Container, State, Syclbin};
use test_files::Declared;

/// Writes all files to a directory.
pub(super) fn write_all(folder: &Path) {
    for (name, bytes) in test_files::reference() {
        fs::write(folder.join(name), bytes).unwrap();
    }
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).unwrap();
    write("not.syclbin", b"no SYCLBIN file");
    let whole = fs::read(folder.join("vector_ops.object.syclbin")).unwrap();
    write("truncated.syclbin", &whole[..whole.len() / 2]);
    write("corrupt.syclbin", &corrupt(whole));
    for (name, modules) in declared::files().into_iter().chain(odd::files()) {
        write(name, &bytes(modules));
    }
}

/// Returns `whole` with an invalid size of the first SPIR-V instruction.
fn corrupt(mut whole: Vec<u8>) -> Vec<u8> {
    const MAGIC: [u8; 4] = 0x0723_0203u32.to_le_bytes();
    let magic = whole.windows(4).position(|word| word == MAGIC).unwrap();
    whole[magic + 20..][..4].fill(0xff);
    whole
}

fn bytes(modules: Vec<Module>) -> Vec<u8> {
    let mut file = Syclbin::new(State::Executable);
    file.modules = modules.into_iter().map(Module::finish).collect();
    syclbin::write::to_vec(&file, Container::default()).unwrap()
}

/// A module that contains declarations but no code.
#[derive(Default)]
struct Module {
    made: AbstractModule<'static>,
    declared: Declared,
    constants: SpecializationConstants,
}

impl Module {
    /// Adds a kernel with this symbol and declaration.
    fn kernel(mut self, symbol: &str, declaration: &str) -> Self {
        self = self.bare_kernel(symbol);
        self.declared = self.declared.kernel(symbol, declaration);
        self
    }

    /// Adds free functions by their declarations, with matching symbols.
    fn functions(self, declarations: &[&str]) -> Self {
        declarations.iter().fold(self, |module, declaration| {
            let name = test_files::declaration(declaration).name;
            module.kernel(&symbol(&name), declaration)
        })
    }

    /// Adds a kernel without a declaration.
    fn bare_kernel(mut self, symbol: &str) -> Self {
        self.made.add_kernel_name(symbol.to_owned());
        self
    }

    /// Adds structs and enumerations.
    fn layouts(mut self, definitions: &[&str]) -> Self {
        self.declared = self.declared.types(definitions);
        self
    }

    /// Sets the required work-group size of the kernel `symbol`, in SYCL's order.
    fn required(mut self, symbol: &str, size: &[u32]) -> Self {
        let dimensions = Dimensions::new(size.len().try_into().unwrap()).unwrap();
        let size = WorkGroupSize::from_sycl(size).unwrap();
        for (key, value) in [
            (key::REQD_WORK_GROUP_SIZE, size.to_value()),
            (key::WORK_GROUP_NUM_DIM, dimensions.to_value()),
        ] {
            let key = format!("{symbol}@{key}");
            self.made.metadata.insert(set::PROGRAM_METADATA, key, value);
        }
        self
    }

    /// Adds a device global.
    fn global(mut self, name: &str, ty: &str, size: u32) -> Self {
        let id = variable(name);
        let image_scope = false;
        let value = DeviceGlobal { size, image_scope }.to_value();
        let sets = &mut self.made.metadata;
        sets.insert(set::DEVICE_GLOBALS, id.clone(), value);
        self.declared = self.declared.variable(&id, ty);
        self
    }

    /// Adds a specialization constant that consists of a single scalar.
    fn constant(mut self, name: &str, ty: &str, default: &[u8]) -> Self {
        let symbol = variable(name);
        let id = self.constants.constants.len().try_into().unwrap();
        let size = default.len().try_into().unwrap();
        let offset = 0;
        let parts = vec![SpecConstantDescriptor { id, offset, size }];
        self.constants.constants.insert(symbol.clone(), parts);
        let defaults = self.constants.defaults.get_or_insert_default();
        defaults.extend_from_slice(default);
        self.declared = self.declared.variable(&symbol, ty);
        self
    }

    fn finish(mut self) -> AbstractModule<'static> {
        self.constants.write(&mut self.made.metadata);
        self.declared.record(&mut self.made);
        self.made
    }
}

/// Returns the symbol of a free function without parameters: `fill::iota` becomes `_ZN18__sycl_kernel_fill4iotaEv`.
fn symbol(name: &str) -> String {
    let prefixed = format!("__sycl_kernel_{name}");
    if name.contains("::") {
        format!("_ZN{}Ev", parts(&prefixed))
    } else {
        // The symbol of an `extern "C"` function.
        prefixed
    }
}

/// Returns the symbol of a variable.
fn variable(name: &str) -> String {
    if name.contains("::") {
        format!("_ZN{}E", parts(name))
    } else {
        format!("_Z{}", parts(name))
    }
}

fn parts(name: &str) -> String {
    let part = |part: &str| format!("{}{part}", part.len());
    name.split("::").map(part).collect()
}
