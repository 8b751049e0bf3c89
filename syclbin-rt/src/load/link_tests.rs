// SPDX-License-Identifier: MIT OR Apache-2.0
use syclbin::__private::spirv::ASSERT_FAIL;
use syclbin::property::{key, set};
use syclbin::{AbstractModule, Aspect, Image, IrType, State, Syclbin};

use super::*;
use crate::backend::facts::Facts;

const EXPORT: u32 = 0;
const IMPORT: u32 = 1;
const LINK_ONCE: u32 = 2;

/// Builds SPIR-V that only imports or exports a symbol. `tool` is the generator number in the header.
fn spirv(symbol: &str, linkage: u32, tool: u32) -> Vec<u8> {
    const DECORATE: u32 = 71;
    const LINKAGE: u32 = 41;
    let mut name = symbol.as_bytes().to_vec();
    name.resize(name.len() / 4 * 4 + 4, 0);
    let name = name
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    let mut operands = vec![1, LINKAGE];
    operands.extend(name);
    operands.push(linkage);
    let length = u32::try_from(operands.len() + 1).unwrap();
    let mut words = vec![0x0723_0203, 0x0001_0400, tool, 2, 0];
    words.push(length << 16 | DECORATE);
    words.extend(operands);
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn module(code: Vec<u8>) -> AbstractModule<'static> {
    let mut module = AbstractModule::default();
    let image = Image::ir(IrType::SpirV, "spir64-unknown-unknown", code);
    module.images.push(image);
    module
}

fn importing(symbol: &str) -> Vec<AbstractModule<'static>> {
    vec![module(spirv(symbol, IMPORT, 0))]
}

/// Returns the indices of the modules that the first module is linked with.
fn linked(modules: Vec<AbstractModule<'static>>, extensions: &str) -> Result<Vec<usize>, String> {
    let mut file = Syclbin::new(State::Executable);
    file.modules = modules;
    let facts = Facts {
        takes_spirv: true,
        extensions: extensions.to_owned(),
        aspects: [Aspect::EXT_ONEAPI_VIRTUAL_FUNCTIONS].into(),
        ..Facts::default()
    };
    let files = Files::new(vec![file], &facts);
    let start = ImageIndex {
        file: 0,
        module: 0,
        image: 0,
    };
    match closure(&files, start) {
        Ok(images) => Ok(images.iter().map(|image| image.module).collect()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn failed_asserts_call_the_driver_or_are_refused() {
    let assert = || importing(ASSERT_FAIL);
    assert_eq!(linked(assert(), "a cl_intel_devicelib_assert"), Ok(vec![0]));
    assert_eq!(
        linked(assert(), "cl_khr_fp64"),
        Err(
            "it relies on the driver to handle a failed `assert`, but the device lacks cl_intel_devicelib_assert; \
             recompile without SYCLBIN_NATIVE_ASSERT"
                .to_owned()
        )
    );
    let other = importing("__devicelib_other");
    let other = linked(other, "cl_intel_devicelib_assert").unwrap_err();
    assert!(
        other.contains("undefined symbols: __devicelib_other"),
        "{other}"
    );
}

#[test]
fn libraries_with_instructions_are_preferred_where_they_fit() {
    let library = |linkage, kind: u32| {
        let mut library = module(spirv("convert", linkage, kind));
        let metadata = &mut library.metadata;
        metadata.insert(set::DEVICELIB_METADATA, key::BFLOAT16, kind);
        library
    };
    for linkage in [EXPORT, LINK_ONCE] {
        let [fallback, native] = [0, 1].map(|kind| library(linkage, kind));
        let mut modules = importing("convert");
        modules.extend([fallback, native]);
        let with = linked(modules.clone(), "cl_intel_bfloat16_conversions");
        assert_eq!(with, Ok(vec![0, 2]));
        assert_eq!(linked(modules, "cl_khr_fp64"), Ok(vec![0, 1]));
    }
}

#[test]
fn called_virtual_functions_are_linked() {
    let with = |key, sets: &str| {
        let mut module = module(spirv("_ZNK1A1fEf", EXPORT, 0));
        module.metadata.insert(set::VIRTUAL_FUNCTIONS, key, sets);
        module
    };
    let calling = with(key::USES_VIRTUAL_FUNCTIONS_SET, "_ZTS4Base");
    let calling = || {
        let mut calling = calling.clone();
        calling.images = importing("_ZNK1A1fEf").remove(0).images;
        calling
    };
    let [defining, other] =
        ["_ZTS4Base,_ZTS5Other", "_ZTS5Other"].map(|sets| with(key::VIRTUAL_FUNCTIONS_SET, sets));
    assert_eq!(
        linked(vec![calling(), other.clone(), defining], ""),
        Ok(vec![0, 2])
    );
    let message = linked(vec![calling(), other], "").unwrap_err();
    assert!(
        message.starts_with("it calls virtual functions of _ZTS4Base, but no module"),
        "{message}"
    );
}

#[test]
fn images_of_a_module_are_interchangeable() {
    let mut exporting = module(spirv("shape", EXPORT, 0));
    exporting
        .images
        .extend(module(spirv("shape", EXPORT, 1)).images);
    let modules = [importing("shape"), vec![exporting.clone()]].concat();
    assert_eq!(linked(modules, ""), Ok(vec![0, 1]));
    let apart = [importing("shape"), vec![exporting]].concat();
    let apart = [apart, vec![module(spirv("shape", EXPORT, 2))]].concat();
    let message = linked(apart, "").unwrap_err();
    assert!(message.contains("is exported by both"), "{message}");
}

#[test]
fn virtual_functions_come_from_code_that_fits() {
    let mut calling = importing("other").remove(0);
    calling.metadata.insert(
        set::VIRTUAL_FUNCTIONS,
        key::USES_VIRTUAL_FUNCTIONS_SET,
        "_ZTS4Base",
    );
    let mut defining = module(spirv("other", EXPORT, 0));
    defining.metadata.insert(
        set::VIRTUAL_FUNCTIONS,
        key::VIRTUAL_FUNCTIONS_SET,
        "_ZTS4Base",
    );
    // The device does not take the first image, and needs only one of the others.
    let ptx = Image::ir(IrType::Ptx, "nvptx64-nvidia-cuda", b"//".to_vec());
    defining.images.insert(0, ptx);
    defining.images.push(defining.images[1].clone());
    assert_eq!(linked(vec![calling, defining], ""), Ok(vec![0, 1]));
}

#[test]
fn own_file_comes_before_linked_ones() {
    let file = |modules| {
        let mut file = Syclbin::new(State::Object);
        file.modules = modules;
        file
    };
    let near = file([importing("shape"), vec![module(spirv("shape", EXPORT, 0))]].concat());
    let far = file(vec![module(spirv("shape", EXPORT, 1))]);
    let facts = Facts {
        takes_spirv: true,
        ..Facts::default()
    };
    let files = Files::new(vec![near, far], &facts);
    let place = |module| ImageIndex {
        file: 0,
        module,
        image: 0,
    };
    assert_eq!(closure(&files, place(0)), Ok(vec![place(0), place(1)]));
}

#[test]
fn kernels_of_one_name_are_not_linked() {
    let with_kernel = |mut code: Vec<u8>, kernel: [u8; 4]| {
        // An entry point for kernels, with another id than the symbol.
        let entry = [5 << 16 | 15, 6, 2, u32::from_le_bytes(kernel), 0];
        let entry = entry.map(u32::to_le_bytes).concat();
        code.splice(20..20, entry);
        module(code)
    };
    let pair = |kernel| {
        vec![
            with_kernel(spirv("shape", IMPORT, 0), *b"same"),
            with_kernel(spirv("shape", EXPORT, 0), kernel),
        ]
    };
    let message = linked(pair(*b"same"), "").unwrap_err();
    assert!(message.contains("same is defined by both"), "{message}");
    assert_eq!(linked(pair(*b"else"), ""), Ok(vec![0, 1]));
}
