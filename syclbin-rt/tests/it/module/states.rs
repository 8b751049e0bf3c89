// SPDX-License-Identifier: MIT OR Apache-2.0
//! States: a file is loaded as its state says, and a module is saved in each state.
#![allow(unsafe_code, reason = "loading code and launching kernels are unsafe")]

use syclbin::property::{key, set};
use syclbin::{Image, Syclbin};
use syclbin_rt::{Arg, Device, ErrorKind, Launch, Module, Partition, Queue, Result, State};
use syclbin_tools::verify::{Severity, verify};

use crate::common;

const BEFORE_LINKING: [State; 2] = [State::Input, State::Object];

/// Saves `module`, and checks that the file has no fault.
fn saved(module: &Module, state: State) -> Result<Vec<u8>> {
    let bytes = module.to_syclbin_in(state)?;
    let findings = verify(&bytes);
    let mut faults = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error);
    assert_eq!(faults.next().map(ToString::to_string), None);
    let file = syclbin::read::parse(&bytes).expect("a good file");
    assert_eq!(file.state(), Some(state));
    Ok(bytes)
}

fn in_state(bytes: &[u8], state: State) -> Vec<u8> {
    let mut file = syclbin::read::parse(bytes).expect("a good file");
    file.global.insert(set::GLOBAL, key::STATE, state.number());
    common::written(&file)
}

fn link(queue: &Queue, file: &[u8], with: &[u8]) -> Result<Module> {
    // SAFETY: a compiler made the code.
    unsafe { Module::builder(queue).link(with).load(file) }
}

/// `y = 2 * x + y` of ones and twos.
fn assert_saxpy(module: &Module, kernel: &str) -> Result<()> {
    let queue = module.queue();
    let kernel = module.kernel(kernel);
    let x = queue.upload(&[1.0f32; 100])?;
    let mut y = queue.upload(&[2.0f32; 100])?;
    let args = [
        Arg::scalar(2.0f32),
        Arg::read(&x),
        Arg::write(&mut y),
        Arg::scalar(100u32),
    ];
    // SAFETY: the types are those of the kernel, and both buffers hold `n` elements.
    unsafe { Launch::new(&kernel, &["a", "x", "y", "n"], args).launch(100)? };
    assert_eq!(queue.download(&y)?, [4.0; 100]);
    Ok(())
}

#[test]
fn module_saved_in_each_state_runs() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let bytes = common::testfile("vector_ops.object.syclbin");
    let module = common::load(&queue, &bytes)?;
    assert_eq!(module.state(), Some(State::Object));
    for state in [State::Input, State::Object, State::Executable] {
        let bytes = saved(&module, state)?;
        let again = common::load(&queue, &bytes)?;
        assert_eq!(again.state(), Some(state));
        assert!(again.kernel_names().eq(module.kernel_names()));
        assert_saxpy(&again, "saxpy")?;
    }
    // What came as code is saved as it came.
    let [ours, theirs] = [saved(&module, State::Object)?, bytes];
    let modules = |bytes| syclbin::read::parse(bytes).expect("a good file").modules;
    let code = |bytes| -> Vec<_> {
        let images = modules(bytes).into_iter().flat_map(|module| module.images);
        images
            .filter(|image| !image.native)
            .map(Image::into_owned)
            .collect()
    };
    assert_eq!(code(&ours), code(&theirs));
    Ok(())
}

#[test]
fn saved_code_includes_the_linked_files() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let importing = common::testfile("import_side.object.syclbin");
    let exporting = common::testfile("export_side.object.syclbin");
    let module = link(&queue, &importing, &exporting)?;
    for state in BEFORE_LINKING {
        let alone = common::load(&queue, &saved(&module, state)?)?;
        let kernel = alone.kernel("apply");
        let input = queue.upload(&[2.0f32])?;
        let mut out = queue.zeroed::<f32>(1)?;
        let args = [Arg::read(&input), Arg::write(&mut out)];
        // SAFETY: one work-item.
        unsafe { Launch::new(&kernel, &["in", "out"], args).launch(1)? };
        assert_eq!(queue.download(&out)?, [5.0]);
    }
    Ok(())
}

#[test]
fn native_code_is_saved_as_executable_only() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = common::load(&queue, &common::testfile("vector_ops.object.syclbin"))?;
    let native = common::load(&queue, &module.to_syclbin()?)?;
    for state in BEFORE_LINKING {
        let error = native.to_syclbin_in(state).expect_err("it has no code");
        assert!(
            error.kind() == ErrorKind::InvalidArgument
                && error
                    .to_string()
                    .contains("cannot save the module in state"),
            "{error}"
        );
        let message = error.to_string();
        assert!(
            message.starts_with(&format!(
                "cannot save the module in state {state}: module 0 ("
            )),
            "{message}"
        );
    }
    assert!(module.to_syclbin_in(State::Other(5)).is_err());
    Ok(())
}

#[test]
fn executable_is_not_linked_again() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let importing = common::testfile("import_side.object.syclbin");
    let exporting = common::testfile("export_side.object.syclbin");
    let executable = |bytes: &[u8]| in_state(bytes, State::Executable);
    for (file, with, named) in [
        (
            executable(&importing),
            exporting.clone(),
            "the loaded file (",
        ),
        (importing.clone(), executable(&exporting), "linked file 1 ("),
    ] {
        let error = link(&queue, &file, &with).expect_err("one is an executable");
        assert!(
            error.kind() == ErrorKind::InvalidArgument
                && error.to_string().contains("is an executable"),
            "{error}"
        );
        let message = error.to_string();
        assert!(message.contains(&format!(": {named}")), "{message}");
        assert!(message.contains("__sycl_kernel_apply"), "{message}");
    }
    // Alone, an executable may still lack a symbol; the error names it.
    let error = common::load(&queue, &executable(&importing)).expect_err("an import");
    assert!(error.to_string().contains("shape(float)"), "{error}");
    let input = in_state(&importing, State::Input);
    assert!(link(&queue, &input, &in_state(&exporting, State::Input)).is_ok());
    Ok(())
}

#[test]
fn kernel_is_found_by_registered_name() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let bytes = common::testfile("vector_ops.object.syclbin");
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    let is_saxpy = |module: &&mut syclbin::AbstractModule<'_>| {
        (module.kernel_names()).any(|name| name == "__sycl_kernel_saxpy")
    };
    let holder = file.modules.iter_mut().find(is_saxpy).expect("saxpy");
    for (name, symbol) in [
        ("blas::saxpy<float>", "__sycl_kernel_saxpy"),
        ("as written in one run", "rtc_0$__sycl_kernel_saxpy"),
        ("lost", "__sycl_kernel_lost"),
    ] {
        let symbol = syclbin::Value::from(symbol);
        holder
            .metadata
            .insert(set::REGISTERED_KERNELS, name, symbol);
    }
    let module = common::load(&queue, &common::written(&file))?;
    let kernel = module.kernel("blas::saxpy<float>")?;
    assert_eq!(kernel.symbol(), "__sycl_kernel_saxpy");
    assert_saxpy(&module, "as written in one run")?;
    let native = common::load(&queue, &module.to_syclbin()?)?;
    assert_saxpy(&native, "blas::saxpy<float>")?;
    for unknown in ["lost", "blas::saxpy<double>"] {
        let error = module.kernel(unknown).expect_err("there is none");
        assert!(error.to_string().contains("blas::saxpy<float>"), "{error}");
    }
    Ok(())
}

/// The images of a merged file, with the device of each.
fn images<'f>(file: &'f Syclbin<'_>) -> Vec<(&'f Image<'f>, &'f str)> {
    let images = file.modules.iter().flat_map(|module| &module.images);
    let made_for = |image: &'f Image<'_>| image.metadata.get(set::NATIVE_CODE, "device")?.as_str();
    images
        .map(|image| (image, made_for(image).unwrap_or_default()))
        .collect()
}

#[test]
fn parts_of_a_device_share_one_file() -> Result<()> {
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    let Ok(parts) = queue.device().partition(Partition::Equally(1)) else {
        common::say_skipped("the device is not divided");
        return Ok(());
    };
    let queues: Vec<Queue> = parts.iter().map(Device::queue).collect::<Result<_>>()?;
    let bytes = common::testfile("vector_ops.object.syclbin");
    let load = |queue| common::load(queue, &bytes);
    let modules = queues.iter().map(load).collect::<Result<Vec<_>>>()?;
    let others: Vec<&Module> = modules.iter().skip(1).collect();
    let merged = modules[0].to_syclbin_with(&others)?;
    let file = syclbin::read::parse(&merged).expect("a good file");
    let alone = modules[0].to_syclbin()?;
    let alone = syclbin::read::parse(&alone).expect("a good file");
    assert_eq!(file.modules.len(), alone.modules.len());
    for (_, device) in images(&file) {
        assert_eq!(device, queue.device().name());
    }
    for queue in &queues {
        let module = common::load(queue, &merged)?;
        for choice in common::choices(&module) {
            let text = choice.to_string();
            assert!(
                text.contains("the driver accepts this native code"),
                "{text}"
            );
        }
        assert_saxpy(&module, "saxpy")?;
    }
    let other = common::load(&queue, &common::testfile("functor.object.syclbin"))?;
    let error = modules[0]
        .to_syclbin_with(&[&other])
        .expect_err("other kernels");
    assert!(
        error.kind() == ErrorKind::InvalidArgument
            && error
                .to_string()
                .contains("cannot save the modules in one file"),
        "{error}"
    );
    Ok(())
}

#[test]
fn device_takes_its_own_image_first() -> Result<()> {
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    let module = common::load(&queue, &common::testfile("vector_ops.object.syclbin"))?;
    let ours = module.to_syclbin()?;
    let ours = syclbin::read::parse(&ours).expect("a good file");
    // The same driver made these for other devices: its ELF code would be taken, and other code is refused.
    let elsewhere = |device: &str, code: Option<&[u8]>| {
        let mut file = ours.clone();
        for module in &mut file.modules {
            let device = syclbin::Value::from(device);
            module.metadata.insert(set::NATIVE_CODE, "device", device);
            if let Some(code) = code {
                module.images[0].bytes = code.to_vec().into();
            }
        }
        file
    };
    let others = [elsewhere("a gpu", Some(b"code of a gpu")), ours.clone()];
    let merged = syclbin::merge(elsewhere("an older cpu", None), others).expect("alike");
    assert_eq!(merged.modules.len(), ours.modules.len());
    let devices: Vec<&str> = images(&merged)
        .into_iter()
        .map(|(_, device)| device)
        .collect();
    assert_eq!(
        devices[..3],
        ["an older cpu", "a gpu", queue.device().name()]
    );
    let merged = common::load(&queue, &common::written(&merged))?;
    for choice in common::choices(&merged) {
        assert_eq!(choice.image(), Some(2), "{choice}");
    }
    assert_saxpy(&merged, "saxpy")
}
