use syclbin::signature::spirv::ASSERT_FAIL;
use syclbin::{AbstractModule, Image, IrType, State, Syclbin};

use super::*;
use crate::device::facts::Facts;

/// Builds SPIR-V that only imports a symbol.
fn importing(symbol: &str) -> Vec<u8> {
    const DECORATE: u32 = 71;
    const LINKAGE: u32 = 41;
    const IMPORT: u32 = 1;
    let mut name = symbol.as_bytes().to_vec();
    name.resize(name.len() / 4 * 4 + 4, 0);
    let name = name
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    let mut operands = vec![1, LINKAGE];
    operands.extend(name);
    operands.push(IMPORT);
    let length = u32::try_from(operands.len() + 1).unwrap();
    let mut words = vec![0x0723_0203, 0x0001_0400, 0, 2, 0];
    words.push(length << 16 | DECORATE);
    words.extend(operands);
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn linked(symbol: &str, extensions: &str) -> Result<usize, String> {
    let mut file = Syclbin::new(State::Executable);
    let mut module = AbstractModule::default();
    let code = importing(symbol);
    let image = Image::ir(IrType::SpirV, "spir64-unknown-unknown", code);
    module.images.push(image);
    file.modules.push(module);
    let facts = Facts {
        takes_spirv: true,
        extensions: extensions.to_owned(),
        ..Facts::default()
    };
    let files = Files::new(vec![file], &facts);
    let start = ImageIndex {
        file: 0,
        module: 0,
        image: 0,
    };
    match closure(&files, start) {
        Ok(images) => Ok(images.len()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn failed_asserts_call_the_driver_or_are_refused() {
    assert_eq!(linked(ASSERT_FAIL, "a cl_intel_devicelib_assert"), Ok(1));
    assert_eq!(
        linked(ASSERT_FAIL, "cl_khr_fp64"),
        Err(
            "it has an `assert`, and the device lacks cl_intel_devicelib_assert; compile it \
             with NDEBUG defined"
                .to_owned()
        )
    );
    let other = linked("__devicelib_other", "cl_intel_devicelib_assert").unwrap_err();
    assert!(
        other.contains("symbols that it does not hold: __devicelib_other"),
        "{other}"
    );
}
