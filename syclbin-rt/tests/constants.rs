//! Specialization constants: values that are set before a module is built reach its kernels.
#![allow(unsafe_code, reason = "loading code and launching kernels are unsafe")]

mod common;

use syclbin::metadata::{Part, SpecializationConstants};
use syclbin::{AbstractModule, Image, IrType, State, Syclbin};
use syclbin_rt::{Arg, ErrorKind, Launch, Module, ModuleBuilder, Queue, Result};

/// `kernel void answer(global uint *out)` writes three constants of the `SpecId`s 5, 6 and 7, whose
/// defaults are 70, 80 and 90. Written by hand: no compiler at hand lowers such constants.
fn spirv() -> Vec<u8> {
    let mut words: Vec<u32> = vec![0x0723_0203, 0x0001_0000, 0, 20, 0];
    let mut op = |code: u32, operands: &[u32]| {
        let count = u32::try_from(operands.len() + 1).expect("a short instruction");
        words.push(count << 16 | code);
        words.extend(operands);
    };
    let [main, void, uint, pointer, function] = [1, 2, 3, 4, 5];
    let [first, second, third, one, two] = [6, 7, 8, 9, 10];
    let [out, label, place_1, place_2] = [11, 12, 13, 14];
    for capability in [4, 6] {
        op(17, &[capability]); // Addresses, Kernel
    }
    op(14, &[2, 2]); // memory model: 64-bit addresses, OpenCL
    let [a, b] = [*b"answ", *b"er\0\0"].map(u32::from_le_bytes);
    op(15, &[6, main, a, b]); // entry point of a kernel
    for (constant, id) in [(first, 5), (second, 6), (third, 7)] {
        op(71, &[constant, 1, id]); // SpecId
    }
    op(19, &[void]);
    op(21, &[uint, 32, 0]);
    op(32, &[pointer, 5, uint]); // to global memory
    op(33, &[function, void, pointer]);
    for (constant, value) in [(first, 70), (second, 80), (third, 90)] {
        op(50, &[uint, constant, value]); // a specialization constant
    }
    op(43, &[uint, one, 1]);
    op(43, &[uint, two, 2]);
    op(54, &[void, main, 0, function]);
    op(55, &[pointer, out]);
    op(248, &[label]);
    op(62, &[out, first, 2, 4]); // store, aligned to 4
    op(67, &[pointer, place_1, out, one]);
    op(62, &[place_1, second, 2, 4]);
    op(67, &[pointer, place_2, out, two]);
    op(62, &[place_2, third, 2, 4]);
    op(253, &[]);
    op(56, &[]);
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Two constants: a number, and a struct of two numbers that the code knows as two.
fn constants() -> SpecializationConstants {
    let part = |id, offset| Part {
        id,
        offset,
        size: 4,
    };
    let mut constants = SpecializationConstants::default();
    constants.constants.insert("radius", vec![part(5, 0)]);
    constants
        .constants
        .insert("pair", vec![part(6, 0), part(7, 4)]);
    let defaults = [70u32, 80, 90].map(u32::to_le_bytes);
    constants.defaults = Some(defaults.concat());
    constants
}

fn file(constants: &SpecializationConstants) -> Vec<u8> {
    let mut module = AbstractModule::default();
    module.add_kernel_name("answer");
    constants.write(&mut module.metadata);
    let image = Image::ir(IrType::SpirV, "spir64-unknown-unknown", spirv());
    module.images.push(image);
    let mut file = Syclbin::new(State::Object);
    file.modules.push(module);
    common::written(&file)
}

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
fn values_that_the_file_sets_hold_unless_others_are_given() -> Result<()> {
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
fn a_constant_that_the_code_does_not_have_is_left_out() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let mut constants = constants();
    let part = Part {
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
        matches!(error.kind(), ErrorKind::NoConstant { .. }),
        "{error}"
    );
    assert_eq!(
        error.to_string(),
        "no specialization constant radios in this SYCLBIN file; it has pair, radius"
    );
    let module = Module::builder(&queue).specialization_constant("pair", [3u16, 4]);
    assert_eq!(
        load(module, &constants()).unwrap_err().to_string(),
        "specialization constant pair has 8 bytes, the value has 4"
    );
    Ok(())
}

#[test]
fn a_size_that_the_code_does_not_have_is_an_error() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let mut constants = SpecializationConstants::default();
    let part = Part {
        id: 5,
        offset: 0,
        size: 8,
    };
    constants.constants.insert("radius", vec![part]);
    let module = Module::builder(&queue).specialization_constant("radius", 3u64);
    let message = load(module, &constants).unwrap_err().to_string();
    assert!(
        message.contains("clSetProgramSpecializationConstant failed"),
        "{message}"
    );
    Ok(())
}

#[test]
fn values_are_saved_with_the_module_and_others_refused() -> Result<()> {
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
    let error = with([80, 90]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoImage { .. }), "{error}");
    let message = error.to_string();
    assert!(
        message.contains("compiled for another value of specialization constant pair"),
        "{message}"
    );
    Ok(())
}
