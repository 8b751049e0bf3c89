// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device globals: kernels and the host see the same variables.
#![allow(unsafe_code, reason = "launching a kernel is unsafe")]

use syclbin::metadata::ModuleMetadata;
use syclbin::property::set;
use syclbin::{AbstractModule, Image, IrType, State, Syclbin, Value};
use syclbin_rt::{Arg, DeviceArray, ErrorKind, Launch, Module, Queue, Result};

use crate::common;

const GLOBALS: &str = "globals.object.syclbin";

fn module(queue: &Queue) -> Result<Module> {
    common::load(queue, &common::testfile(GLOBALS))
}

/// `table[index & 3] + bias` for the indices 0 to 7.
fn lookup(queue: &Queue, module: &Module) -> Result<Vec<f32>> {
    let kernel = module.kernel("lookup");
    let index = queue.upload(&[0i32, 1, 2, 3, 4, 5, 6, 7])?;
    let mut out = queue.zeroed::<f32>(8)?;
    let args = [Arg::read(&index), Arg::write(&mut out)];
    // SAFETY: one element of each buffer per work-item.
    unsafe { Launch::new(&kernel, &["index", "out"], args).launch(8)? };
    queue.download(&out)
}

/// `table[i] = value * i`.
fn store(module: &Module, value: i32) -> Result<()> {
    let kernel = module.kernel("store");
    // SAFETY: it writes nothing but the variable.
    unsafe { Launch::new(&kernel, &["value"], [Arg::scalar(value)]).launch(1)? };
    Ok(())
}

#[test]
fn variable_persists_between_launches() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = module(&queue)?;
    assert_eq!(lookup(&queue, &module)?, [0.0; 8]);
    store(&module, 10)?;
    let expected = [0.0, 10.0, 20.0, 30.0, 0.0, 10.0, 20.0, 30.0];
    assert_eq!(lookup(&queue, &module)?, expected);
    Ok(())
}

#[test]
fn host_and_kernels_share_device_globals() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = module(&queue)?;
    let table = module.global::<[i32; 4]>("_Z5table")?;
    // In the variable itself.
    let bias = module.global::<f32>("bias")?;
    assert_eq!(
        (table.name(), bias.name()),
        ("_Z5table".to_owned(), "_Z4bias".to_owned())
    );
    assert_eq!((table.read()?, bias.read()?), ([0; 4], 0.0));
    table.write(&[1, 2, 3, -4])?;
    bias.write(&0.5)?;
    assert_eq!((table.read()?, bias.read()?), ([1, 2, 3, -4], 0.5));
    let expected = [1.5, 2.5, 3.5, -3.5, 1.5, 2.5, 3.5, -3.5];
    assert_eq!(lookup(&queue, &module)?, expected);
    store(&module, 7)?;
    assert_eq!(table.read()?, [0, 7, 14, 21]);
    Ok(())
}

#[test]
fn opencl_finds_variables_by_their_identifiers() -> Result<()> {
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    let bytes = common::testfile(GLOBALS);
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    for module in &mut file.modules {
        let metadata = ModuleMetadata::read(&module.metadata).expect("good metadata");
        let mut program = metadata.program;
        for name in metadata.device_globals.names() {
            program.global_names.insert(name, "in_code".to_owned());
        }
        program.write(&mut module.metadata);
    }
    let module = common::load(&queue, &common::written(&file))?;
    module.global::<f32>("_Z4bias")?.write(&0.5)?;
    assert_eq!(lookup(&queue, &module)?, [0.5; 8]);
    Ok(())
}

#[test]
fn every_module_has_variables_of_its_own() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let (one, two) = (module(&queue)?, module(&queue)?);
    store(&one, 1)?;
    one.global::<f32>("bias")?.write(&9.0)?;
    assert_eq!(lookup(&queue, &two)?, [0.0; 8]);
    assert_eq!(two.global::<f32>("bias")?.read()?, 0.0);
    Ok(())
}

#[test]
fn a_variable_outlives_its_module_and_the_queue() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = module(&queue)?;
    let table = module.global::<[i32; 4]>("table")?;
    for value in 0..100 {
        store(&module, value)?;
    }
    drop((module, queue));
    assert_eq!(table.read()?, [0, 99, 198, 297]);
    Ok(())
}

#[test]
fn module_may_drop_while_variables_are_used() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    for value in 0..50 {
        store(&module(&queue)?, value)?;
    }
    queue.wait()
}

#[test]
fn large_variables_are_not_read_to_the_stack() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let table = module(&queue)?.global::<[i32; 4]>("table")?;
    table.write(&[5, 6, 7, 8])?;
    assert_eq!(*table.read_boxed()?, [5, 6, 7, 8]);
    // The code has a smaller variable, so the driver refuses to read it.
    const BYTES: usize = 16 << 20;
    let bytes = described("rtc_0$_Z4bias", [16 << 20, 1]);
    let large = common::load(&queue, &bytes)?.global::<[u8; BYTES]>("_Z4bias")?;
    let read = std::thread::spawn(move || large.read_boxed().map(drop));
    let message = read.join().expect("it returns").unwrap_err().to_string();
    assert!(
        message.contains("reading device global _Z4bias"),
        "{message}"
    );
    Ok(())
}

#[test]
fn a_kernel_keeps_the_variables_it_uses() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = module(&queue)?;
    module.global::<[i32; 4]>("table")?.write(&[5, 6, 7, 8])?;
    let kernel = module.kernel("lookup");
    drop(module);
    // What is free now would be found here.
    let others = [-1; 64].map(|other| DeviceArray::upload(&queue, &[other; 4]));
    let index = queue.upload(&[0i32, 1, 2, 3])?;
    let mut out = queue.zeroed::<f32>(4)?;
    let args = [Arg::read(&index), Arg::write(&mut out)];
    // SAFETY: one element of each buffer per work-item.
    unsafe { Launch::new(&kernel, &["index", "out"], args).launch(4)? };
    assert_eq!(queue.download(&out)?, [5.0, 6.0, 7.0, 8.0]);
    drop(others);
    Ok(())
}

/// `GLOBALS` with its module twice: the first has `store` and the second, changed, has `lookup`.
fn in_two_modules(change: impl FnOnce(&mut AbstractModule<'_>)) -> Vec<u8> {
    let bytes = common::testfile(GLOBALS);
    let mut file: Syclbin<'_> = syclbin::read::parse(&bytes).expect("a good file");
    let mut second = file.modules[0].clone();
    let store = |name: &str| name.ends_with("store");
    file.modules[0].metadata.retain(set::KERNEL_NAMES, store);
    second
        .metadata
        .retain(set::KERNEL_NAMES, |name| !store(name));
    change(&mut second);
    file.modules.push(second);
    common::written(&file)
}

#[test]
fn the_modules_of_a_file_share_its_variables() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = common::load(&queue, &in_two_modules(|_| ()))?;
    store(&module, 3)?;
    // In the variable itself, so written to both programs.
    module.global::<f32>("bias")?.write(&0.25)?;
    let expected = [0.25, 3.25, 6.25, 9.25, 0.25, 3.25, 6.25, 9.25];
    assert_eq!(lookup(&queue, &module)?, expected);
    Ok(())
}

#[test]
fn modules_with_conflicting_variables_do_not_load() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    for words in [[8, 0], [16, 1]] {
        let bytes = in_two_modules(|second| {
            let name = "rtc_0$_Z5table";
            second
                .metadata
                .insert(set::DEVICE_GLOBALS, name, size_and_scope(words));
        });
        let module = common::load(&queue, &bytes)?;
        store(&module, 3)?;
        let table = module.global::<[i32; 4]>("table")?;
        assert_eq!(table.read()?, [0, 3, 6, 9]);
        let message = module.kernel("lookup").unwrap_err().to_string();
        assert!(
            message.contains("device global _Z5table: two modules declare it differently"),
            "{message}"
        );
    }
    Ok(())
}

#[test]
fn hundred_thousand_variables_load() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let bytes = common::testfile(GLOBALS);
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    for number in 0..100_000 {
        let name = format!("_Z{number:06}");
        let metadata = &mut file.modules[0].metadata;
        metadata.insert(set::DEVICE_GLOBALS, name, size_and_scope([4, 1]));
    }
    let bytes = common::written(&file);
    let module = common::load(&queue, &bytes)?;
    assert_eq!(module.global::<i32>("_Z099999")?.name(), "_Z099999");
    assert_eq!(module.global::<[i32; 4]>("table")?.name(), "_Z5table");
    Ok(())
}

#[test]
fn wrong_names_and_sizes_are_refused() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = module(&queue)?;
    let error = module.global::<i32>("tabel").unwrap_err();
    assert!(
        error.kind() == ErrorKind::NotFound && error.to_string().contains("no device global"),
        "{error}"
    );
    assert!(error.to_string().contains("_Z5table"), "{error}");
    assert_eq!(
        module.global::<[i32; 3]>("table").unwrap_err().to_string(),
        "device global _Z5table is 16 bytes long, but the size of the Rust type is 12"
    );
    Ok(())
}

/// `GLOBALS` with another description of a variable: its size and whether it is in the program.
fn described(name: &str, words: [u32; 2]) -> Vec<u8> {
    let bytes = common::testfile(GLOBALS);
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    for module in &mut file.modules {
        module
            .metadata
            .insert(set::DEVICE_GLOBALS, name.to_owned(), size_and_scope(words));
    }
    common::written(&file)
}

fn size_and_scope(words: [u32; 2]) -> Value {
    let data = bytemuck::cast_slice(&words).to_vec();
    Value::Bytes { bits: 64, data }
}

#[test]
fn wrong_variable_description_is_an_error() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    // Larger than it is.
    let module = common::load(&queue, &described("rtc_0$_Z4bias", [64, 1]))?;
    let bias = module.global::<[f32; 16]>("_Z4bias")?;
    let message = bias.read().unwrap_err().to_string();
    assert!(
        message.contains("reading device global _Z4bias"),
        "{message}"
    );
    let message = bias.write(&[1.0; 16]).unwrap_err().to_string();
    assert!(
        message.contains("writing device global _Z4bias"),
        "{message}"
    );
    // Not in the program, and too small for a pointer.
    let module = common::load(&queue, &described("rtc_0$_Z4bias", [4, 0]))?;
    let error = module.global::<[u8; 4]>("_Z4bias").unwrap_err();
    assert!(
        error.to_string().contains("device global _Z4bias: "),
        "{error}"
    );
    // Not there at all.
    let module = common::load(&queue, &described("_Z4none", [4, 0]))?;
    let error = module.kernel("store").unwrap_err();
    assert!(
        error.to_string().contains("device global _Z4none: "),
        "{error}"
    );
    let module = common::load(&queue, &described("_Z4none", [4, 1]))?;
    let error = module.global::<f32>("_Z4none")?.read().unwrap_err();
    assert!(
        error.to_string().contains("device global _Z4none"),
        "{error}"
    );
    Ok(())
}

/// Returns the module of `made/initial.cpp`.
fn initial(queue: &Queue) -> Result<Module> {
    common::load(queue, &common::testfile("made/initial.syclbin"))
}

/// Checks the values that a kernel of `made/initial.cpp` and the host see first. Both modules of the file have them.
fn assert_initial(queue: &Queue, module: &Module) -> Result<()> {
    let mut out = queue.zeroed::<f64>(11)?;
    let args = [Arg::write(&mut out)];
    let read = module.kernel("_ZTSZ4mainE4Read");
    // SAFETY: it writes as many numbers.
    unsafe { Launch::new(&read, &["out"], args).launch(1)? };
    let expected = [
        42.0,
        43.0,
        45.0,
        7.0,
        9.0,
        f64::from(b'z'),
        f64::from(b's'),
        10.0,
        -2.0,
        0.75,
        0.0,
    ];
    assert_eq!(queue.download(&out)?, expected);
    assert_eq!(module.global::<i32>("plain")?.read()?, 42);
    assert_eq!(module.global::<[i16; 3]>("row")?.read()?, [7, 8, 9]);
    assert_eq!(
        module.global::<[i16; 32]>("wide")?.read()?[..3],
        [-1, -2, 0]
    );
    Ok(())
}

#[test]
fn initial_values_are_there_before_the_first_kernel() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = initial(&queue)?;
    assert_initial(&queue, &module)?;
    let change = module.kernel("_ZTSZ4mainE6Change");
    for after in 43..45 {
        // SAFETY: it changes nothing but the variable.
        unsafe { Launch::new(&change, &[], []).launch(1)? };
        assert_eq!(module.global::<i32>("plain")?.read()?, after);
    }
    assert_initial(&queue, &initial(&queue)?)
}

/// The value of a variable that is longer than a mebibyte.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Long([u64; LONG]);

const LONG: usize = (1 << 17) + 3;

// SAFETY: an array of integers has neither padding nor invalid values.
unsafe impl bytemuck::Zeroable for Long {}
// SAFETY: as above.
unsafe impl bytemuck::Pod for Long {}

#[test]
fn long_variable_has_its_whole_initial_value() -> Result<()> {
    if !common::on_cuda() {
        common::say_skipped("the code is PTX");
        return Ok(());
    }
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    // A pointer precedes the value.
    let values: Vec<String> = (0..=LONG).map(|value| value.to_string()).collect();
    let values = values.join(", ");
    let ptx = format!(
        ".version 6.3\n.target sm_50\n.address_size 64\n.visible .global .align 8 .u64 longest[{}] = {{{values}}};\n\
         .visible .entry nothing()\n{{\n\tret;\n}}\n",
        LONG + 1
    );
    let mut module = AbstractModule::default();
    module.add_kernel_name("nothing");
    let size = u32::try_from(LONG * 8).expect("a few bytes");
    let metadata = &mut module.metadata;
    metadata.insert(set::DEVICE_GLOBALS, "longest", size_and_scope([size, 0]));
    let image = Image::ir(IrType::Ptx, "nvptx64-nvidia-cuda", ptx.into_bytes());
    module.images.push(image);
    let mut file = Syclbin::new(State::Executable);
    file.modules.push(module);
    let module = common::load(&queue, &common::written(&file))?;
    let value = module.global::<Long>("longest")?.read_boxed()?;
    assert!(value.0.iter().copied().eq(1..=LONG as u64));
    Ok(())
}

#[test]
fn absent_variable_is_not_explained_by_other_modules() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let [variables, kernels] = [GLOBALS, "vector_ops.object.syclbin"].map(common::testfile);
    let mut file = syclbin::read::parse(&variables).expect("a good file");
    let kernels = syclbin::read::parse(&kernels).expect("a good file");
    let good = kernels.modules.clone();
    file.modules.extend(kernels.modules);
    for module in &mut file.modules {
        module.images.truncate(1);
        module.images[0].bytes = b"no code".as_slice().into();
    }
    file.modules.extend(good);
    let module = common::load(&queue, &common::written(&file))?;
    let error = module.global::<[i32; 4]>("_Z5table").unwrap_err();
    let of_others = error
        .reasons()
        .iter()
        .find(|reason| reason.contains("saxpy"));
    assert_eq!(of_others, None, "{error}");
    Ok(())
}

#[test]
fn saved_modules_begin_with_initial_values() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = initial(&queue)?;
    module.global::<i32>("plain")?.write(&1)?;
    let saved = module.to_syclbin()?;
    assert_initial(&queue, &common::load(&queue, &saved)?)
}
