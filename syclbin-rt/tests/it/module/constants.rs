// SPDX-License-Identifier: MIT OR Apache-2.0
//! Specialization constants: values that are set before a module is built reach its kernels.
#![allow(unsafe_code, reason = "loading code and launching kernels are unsafe")]

use syclbin::metadata::{SpecConstantDescriptor, SpecializationConstants};
use syclbin_rt::{Arg, ErrorKind, Launch, Module, ModuleBuilder, Queue, Result, State};

use crate::answer::{constants, file};
use crate::common;

fn load(module: ModuleBuilder<'_>, constants: &SpecializationConstants) -> Result<Module> {
    // SAFETY: the code is `spirv`, which is well-formed.
    unsafe { module.load(&file(constants)) }
}

fn answer(queue: &Queue, module: &Module) -> Result<Vec<u32>> {
    let kernel = module.kernel("answer");
    let mut out = queue.zeroed::<u32>(3)?;
    // SAFETY: it writes three numbers.
    unsafe { Launch::new(&kernel, &["out"], [Arg::write(&mut out)]).launch(1)? };
    queue.download(&out)
}

#[test]
fn constants_without_a_value_have_their_defaults() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = load(Module::builder(&queue), &constants())?;
    assert_eq!(answer(&queue, &module)?, [70, 80, 90]);
    Ok(())
}

#[test]
fn values_reach_numbers_and_the_parts_of_structs() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = Module::builder(&queue).specialization_constant("radius", 3u32);
    let module = load(module, &constants())?;
    assert_eq!(answer(&queue, &module)?, [3, 80, 90]);
    let module = Module::builder(&queue)
        .specialization_constant("pair", [1u32, 1])
        .specialization_constant("pair", [4u32, 5]);
    let module = load(module, &constants())?;
    assert_eq!(answer(&queue, &module)?, [70, 4, 5]);
    Ok(())
}

#[test]
fn values_in_the_file_replace_the_defaults() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let mut constants = constants();
    constants.set_values = Some([70u32, 81, 91].map(u32::to_le_bytes).concat());
    let module = load(Module::builder(&queue), &constants)?;
    assert_eq!(answer(&queue, &module)?, [70, 81, 91]);
    let module = Module::builder(&queue).specialization_constant("pair", [80u32, 90]);
    let module = load(module, &constants)?;
    assert_eq!(answer(&queue, &module)?, [70, 80, 90]);
    Ok(())
}

#[test]
fn constant_missing_in_the_code_is_ignored() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let mut constants = constants();
    let part = SpecConstantDescriptor {
        id: 99,
        offset: 0,
        size: 4,
    };
    constants.constants.insert("unread", vec![part]);
    constants.defaults = None;
    let module = Module::builder(&queue).specialization_constant("unread", 1u32);
    let module = load(module, &constants)?;
    assert_eq!(answer(&queue, &module)?, [70, 80, 90]);
    Ok(())
}

#[test]
fn wrong_names_and_sizes_never_reach_the_driver() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = Module::builder(&queue).specialization_constant("radios", 3u32);
    let error = load(module, &constants()).unwrap_err();
    assert!(
        error.kind() == ErrorKind::NotFound
            && error.to_string().contains("no specialization constant"),
        "{error}"
    );
    assert_eq!(
        error.to_string(),
        "no specialization constant radios in this SYCLBIN file; available constants: pair, radius"
    );
    let module = Module::builder(&queue).specialization_constant("pair", [3u16, 4]);
    assert_eq!(
        load(module, &constants()).unwrap_err().to_string(),
        "specialization constant pair is 8 bytes long, but the given value is 4 bytes long; \
         pass a value of its type"
    );
    Ok(())
}

#[test]
fn bools_are_0_or_1() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let with = |pair: [u32; 2]| {
        let module = Module::builder(&queue);
        let module = module.specialization_constant_with_bools("pair", pair, &[1, 4]);
        load(module, &constants())
    };
    // Bytes that are no `bool` may have any value.
    with([0x2_01_c8, 1])?;
    assert_eq!(
        with([1, 200]).unwrap_err().to_string(),
        "byte 4 of the value for specialization constant pair is 200, but this byte is a `bool`; use 0 or 1"
    );
    Ok(())
}

#[test]
fn constant_size_must_match_the_code() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let mut constants = SpecializationConstants::default();
    let part = SpecConstantDescriptor {
        id: 5,
        offset: 0,
        size: 8,
    };
    constants.constants.insert("radius", vec![part]);
    let module = Module::builder(&queue).specialization_constant("radius", 3u64);
    let message = load(module, &constants)?.build().unwrap_err().to_string();
    let failed = match common::on_cuda() {
        true => "cuModuleGetGlobal failed with CUDA_ERROR_INVALID_VALUE",
        false => {
            "specialization constant 5 is 4 bytes long in the code, but the length of its value is 8"
        }
    };
    assert!(message.contains(failed), "{message}");
    Ok(())
}

#[test]
fn constants_are_saved_with_the_module() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = Module::builder(&queue).specialization_constant("pair", [4u32, 5]);
    let saved = load(module, &constants())?.to_syclbin()?;
    let again = syclbin::read::parse(&saved).expect("a good file");
    let held = SpecializationConstants::read(&again.modules[0].metadata).expect("good properties");
    let values = [70u32, 4, 5].map(u32::to_le_bytes).concat();
    assert_eq!(held.set_values, Some(values));
    assert_eq!(held.defaults, constants().defaults);

    let with = |pair: [u32; 2]| {
        let module = Module::builder(&queue).specialization_constant("pair", pair);
        // SAFETY: the driver made the code.
        unsafe { module.load(&saved) }
    };
    assert_eq!(answer(&queue, &with([4, 5])?)?, [70, 4, 5]);
    assert_eq!(answer(&queue, &common::load(&queue, &saved)?)?, [70, 4, 5]);
    if common::on_cuda() {
        // There native code can still be set.
        return answer(&queue, &with([80, 90])?).map(|told| assert_eq!(told, [70, 80, 90]));
    }
    let error = with([80, 90]).unwrap_err();
    assert!(
        error.kind() == ErrorKind::Unavailable
            && error
                .to_string()
                .contains("nothing in this SYCLBIN file can run"),
        "{error}"
    );
    let message = error.to_string();
    assert!(
        message.contains("compiled with a different value of specialization constant pair"),
        "{message}"
    );
    Ok(())
}

#[test]
fn constants_saved_with_code_can_be_changed() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    for state in [State::Input, State::Object] {
        let module = Module::builder(&queue).specialization_constant("pair", [4u32, 5]);
        let saved = load(module, &constants())?.to_syclbin_in(state)?;
        let module = common::load(&queue, &saved)?;
        assert_eq!(answer(&queue, &module)?, [70, 4, 5]);
        let module = Module::builder(&queue).specialization_constant("radius", 3u32);
        // SAFETY: the code is well-formed.
        let module = unsafe { module.load(&saved)? };
        assert_eq!(answer(&queue, &module)?, [3, 4, 5]);
        let again = common::load(&queue, &module.to_syclbin_in(state)?)?;
        assert_eq!(answer(&queue, &again)?, [3, 4, 5]);
    }
    let mut without = constants();
    without.defaults = None;
    let module = Module::builder(&queue).specialization_constant("pair", [4u32, 5]);
    let error = load(module, &without)?.to_syclbin_in(State::Input);
    let message = error.expect_err("no place for the value").to_string();
    assert!(
        message.contains("the default of specialization constant pair"),
        "{message}"
    );
    Ok(())
}
