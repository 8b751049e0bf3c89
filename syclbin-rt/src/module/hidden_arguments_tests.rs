// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests device globals as hidden arguments on every OpenCL device, even if its driver provides functions for
//! variables.
#![allow(unsafe_code, reason = "loading code and launching kernels are unsafe")]

use crate::{Arg, Device, Launch, Module, Queue, Result};

/// Returns a queue of the best device, as if its driver lacked the functions for variables.
fn queue() -> Option<Queue> {
    let device = Device::best().expect("a device");
    let queue = Device::new(device.driver_device().without_globals()?).queue();
    Some(queue.expect("a queue"))
}

fn load(queue: &Queue, bytes: &[u8]) -> Result<Module> {
    // SAFETY: a compiler made the code.
    unsafe { Module::load(queue, bytes) }
}

/// Computes `table[index & 3] + bias` for the indices 0 to 3.
fn lookup(module: &Module) -> Result<Vec<f32>> {
    let queue = module.queue();
    let index = queue.upload(&[0i32, 1, 2, 3])?;
    let mut out = queue.zeroed::<f32>(4)?;
    let args = [Arg::read(&index), Arg::write(&mut out)];
    // SAFETY: each work-item accesses one element of each buffer.
    unsafe { Launch::new(&module.kernel("lookup"), &["index", "out"], args).launch(4)? };
    queue.download(&out)
}

/// Checks that host and kernels access the same variables of `module`.
fn assert_shared(module: &Module) -> Result<()> {
    let table = module.global::<[i32; 4]>("table")?;
    let bias = module.global::<f32>("bias")?;
    assert_eq!((table.read()?, bias.read()?.to_bits()), ([0; 4], 0));
    assert_eq!(lookup(module)?, [0.0; 4]);
    bias.write(&0.5)?;
    let args = [Arg::scalar(7i32)];
    // SAFETY: the kernel writes only the variable.
    unsafe { Launch::new(&module.kernel("store"), &["value"], args).launch(1)? };
    assert_eq!(table.read()?, [0, 7, 14, 21]);
    assert_eq!(lookup(module)?, [0.5, 7.5, 14.5, 21.5]);
    table.write(&[4, 3, 2, 1])?;
    assert_eq!(lookup(module)?, [4.5, 3.5, 2.5, 1.5]);
    assert!(module.kernel_names().all(|name| !name.contains("syclbin")));
    Ok(())
}

#[test]
fn host_and_kernels_share_lifted_variables() -> Result<()> {
    let Some(queue) = queue() else {
        return Ok(());
    };
    let bytes = test_files::read("globals.object.syclbin");
    let (one, two) = (load(&queue, &bytes)?, load(&queue, &bytes)?);
    assert_shared(&one)?;
    assert_shared(&two)
}

#[test]
fn saved_modules_keep_their_hidden_arguments() -> Result<()> {
    let Some(queue) = queue() else {
        return Ok(());
    };
    let module = load(&queue, &test_files::read("globals.object.syclbin"))?;
    let saved = module.to_syclbin()?;
    let again = load(&queue, &saved)?;
    again.build()?;
    let choices: Vec<String> = again.images().map(|choice| choice.to_string()).collect();
    assert!(
        choices[0].contains("accepts this native code"),
        "{choices:?}"
    );
    assert_shared(&again)
}

#[test]
fn lifted_variables_begin_with_initial_values() -> Result<()> {
    let Some(queue) = queue() else {
        return Ok(());
    };
    let module = load(&queue, &test_files::read("made/initial.syclbin"))?;
    let saved = module.to_syclbin()?;
    for module in [module, load(&queue, &saved)?] {
        assert_eq!(module.global::<i32>("plain")?.read()?, 42);
        assert_eq!(module.global::<i32>("image")?.read()?, 43);
        let wide = module.global::<[i16; 32]>("wide")?.read()?;
        assert_eq!(wide[..3], [-1, -2, 0]);
        let mut out = queue.zeroed::<f64>(11)?;
        let args = [Arg::write(&mut out)];
        let read = module.kernel("_ZTSZ4mainE4Read");
        // SAFETY: the buffer holds as many numbers as the kernel writes.
        unsafe { Launch::new(&read, &["out"], args).launch(1)? };
        let values = queue.download(&out)?;
        assert_eq!(values[..5], [42.0, 43.0, 45.0, 7.0, 9.0]);
        assert_eq!(values[8..11], [-2.0, 0.75, 0.0]);
    }
    Ok(())
}

#[test]
fn lifted_modules_report_failed_asserts() -> Result<()> {
    let Some(queue) = queue() else {
        return Ok(());
    };
    let module = load(&queue, &test_files::read("made/asserts.syclbin"))?;
    let saved = module.to_syclbin()?;
    for module in [module, load(&queue, &saved)?] {
        let mut data = queue.upload(&[2, 5, 4])?;
        let args = [Arg::write(&mut data)];
        // SAFETY: there is one work-item for each element.
        unsafe { Launch::new(&module.kernel("halve"), &["data"], args).launch(3)? };
        let error = queue.wait().expect_err("5 is odd").to_string();
        let start = "asserting.cpp:9: assert `data[i] % 2 == 0` failed in `void halve(int *)`, work-item [1, 0, 0] ";
        assert!(error.starts_with(start), "{error}");
        queue.wait()?;
        assert_eq!(queue.download(&data)?, [1, 2, 2]);
    }
    Ok(())
}

#[test]
fn wrong_sizes_of_lifted_variables_are_refused() -> Result<()> {
    let Some(queue) = queue() else {
        return Ok(());
    };
    let bytes = test_files::read("globals.object.syclbin");
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    for module in &mut file.modules {
        let data = [64u32, 1].map(u32::to_le_bytes).concat();
        let globals = syclbin::property::set::DEVICE_GLOBALS;
        module
            .metadata
            .insert(globals, "rtc_0$_Z4bias", syclbin::Value::from(data));
    }
    let bytes = syclbin::write::to_vec(&file, syclbin::Container::default());
    let module = load(&queue, &bytes.expect("it can be written"))?;
    let bias = module.global::<[f32; 16]>("_Z4bias")?;
    let message = bias.read().expect_err("it is smaller").to_string();
    assert!(
        message.contains("does not define this variable"),
        "{message}"
    );
    assert!(bias.write(&[1.0; 16]).is_err());
    Ok(())
}
