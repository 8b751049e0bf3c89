// SPDX-License-Identifier: MIT OR Apache-2.0
//! Native images: files of the reference runtime run, and what is not for this device is skipped.
//!
//! In a binary of its own: native code for a lesser processor lowers the CPU driver for the whole process.
#![allow(unsafe_code, reason = "loading code and launching kernels are unsafe")]
#![allow(clippy::panic, reason = "what is missing here fails the test")]

#[allow(dead_code, reason = "each program uses its part of this")]
mod common;

use syclbin::metadata::ModuleMetadata;
use syclbin::{AbstractModule, Aspect, Image, State, Syclbin};
use syclbin_rt::{Arg, Device, DeviceKind, ErrorKind, Launch, Module, NdRange, Queue, Result};

/// A queue of a CPU, as native code at hand is for one.
fn queue() -> Option<Queue> {
    let queue = common::opencl_queue()?;
    if queue.device().kind() == DeviceKind::Cpu {
        return Some(queue);
    }
    match Device::select("cpu").and_then(|device| device.queue()) {
        Ok(queue) => Some(queue),
        Err(error) => {
            common::say_skipped(&error.to_string());
            None
        }
    }
}

/// Whether the native code in `tests/files` was compiled for this system.
const OF_FILES: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

/// Returns a queue if this system and processor can run the native code in `tests/files`.
fn fitting_queue() -> Option<Queue> {
    let queue = queue()?;
    if !OF_FILES {
        common::say_skipped("the files have native code for x86-64 Linux");
        return None;
    }
    #[cfg(target_arch = "x86_64")]
    if !std::arch::is_x86_feature_detected!("avx512f") {
        common::say_skipped("the files have native code for processors with AVX-512");
        return None;
    }
    Some(queue)
}

fn executable(queue: &Queue, name: &str) -> Result<Module> {
    let module = common::load(
        queue,
        &common::testfile(&format!("{name}.executable.syclbin")),
    )?;
    for choice in common::choices(&module) {
        assert_eq!(choice.image(), Some(0), "{choice}");
        assert!(
            choice.to_string().contains("chosen: the driver accepts"),
            "{choice}"
        );
    }
    Ok(module)
}

#[test]
fn the_kernels_of_vector_ops_run() -> Result<()> {
    let Some(queue) = fitting_queue() else {
        return Ok(());
    };
    let module = executable(&queue, "vector_ops")?;
    let x = queue.upload(&[1.0f32, 2.0, 3.0])?;
    let mut y = queue.upload(&[10.0f32; 3])?;
    let kernel = module.kernel("saxpy");
    let args = [
        Arg::scalar(2.0f32),
        Arg::read(&x),
        Arg::write(&mut y),
        Arg::scalar(3u32),
    ];
    // SAFETY: three elements.
    unsafe { Launch::new(&kernel, &["a", "x", "y", "n"], args).launch(3)? };
    assert_eq!(queue.download(&y)?, [12.0, 14.0, 16.0]);

    let kernel = module.kernel("_ZN18__sycl_kernel_fill4iotaEfPfi");
    let args = [Arg::scalar(0.5f32), Arg::write(&mut y), Arg::scalar(3i32)];
    // SAFETY: as above.
    unsafe { Launch::new(&kernel, &["start", "out", "count"], args).launch(3)? };
    assert_eq!(queue.download(&y)?, [0.5, 1.5, 2.5]);

    let mut data = queue.upload(&[1.0f64, -2.0])?;
    let kernel = module.kernel("_Z19__sycl_kernel_scaleIdEvPT_S0_");
    let args = [Arg::write(&mut data), Arg::scalar(3.0f64)];
    // SAFETY: a work-item for each element.
    unsafe { Launch::new(&kernel, &["data", "factor"], args).launch(2)? };
    assert_eq!(queue.download(&data)?, [3.0, -6.0]);
    Ok(())
}

#[test]
fn the_kernels_of_work_group_run() -> Result<()> {
    let Some(queue) = fitting_queue() else {
        return Ok(());
    };
    let module = executable(&queue, "work_group")?;
    let kernel = module.kernel("block_sum");
    let ones = queue.upload(&[1i32; 128])?;
    let mut out = queue.zeroed::<i32>(2)?;
    let local = 64 * size_of::<i32>();
    let args = [Arg::read(&ones), Arg::write(&mut out), Arg::local(local)];
    let range = NdRange::new(128).local(64);
    // SAFETY: two work-groups of 64.
    unsafe { Launch::new(&kernel, &["in", "out", "scratch"], args).launch(range)? };
    assert_eq!(queue.download(&out)?, [64, 64]);

    let kernel = module.kernel("coords");
    assert_eq!(
        kernel.as_ref().expect("coords").required_local_size(),
        Some(&[2, 4, 8][..])
    );
    let mut out = queue.zeroed::<i32>(64)?;
    let args = [Arg::write(&mut out)];
    // SAFETY: 64 work-items.
    unsafe { Launch::new(&kernel, &["out"], args).launch([2, 4, 8])? };
    assert_eq!(queue.download(&out)?[63], 10_307);

    let kernel = module.kernel("histogram");
    let bytes = queue.upload(&[7u8; 64])?;
    let mut bins = queue.zeroed::<u32>(256)?;
    let args = [Arg::read(&bytes), Arg::write(&mut bins)];
    // SAFETY: a work-item for each byte.
    unsafe { Launch::new(&kernel, &["bytes", "bins"], args).launch(64)? };
    assert_eq!(queue.download(&bins)?[7], 64);
    Ok(())
}

#[test]
fn the_kernels_of_functor_run() -> Result<()> {
    let Some(queue) = fitting_queue() else {
        return Ok(());
    };
    let module = executable(&queue, "functor")?;
    let kernel = module.kernel("_ZTS6AddOne");
    let mut data = queue.upload(&[1i32; 16])?;
    let args = [Arg::write(&mut data), Arg::scalar(3i32)];
    // SAFETY: one work-item per element.
    unsafe { Launch::new(&kernel, &["data", "amount"], args).launch(16)? };
    assert_eq!(queue.download(&data)?, [4; 16]);
    Ok(())
}

#[test]
fn a_kernel_of_structs_runs() -> Result<()> {
    let Some(queue) = fitting_queue() else {
        return Ok(());
    };
    let module = executable(&queue, "structs")?;
    assert!(module.kernel("widen").is_ok());
    // A `Particle`, which begins with its mass and ends with its velocity, of four numbers.
    let particle = |mass: f32| {
        let mut particle = [0.0f32; 12];
        particle[0] = mass;
        particle[8..].copy_from_slice(&[1.0, 2.0, 0.0, 3.0]);
        particle
    };
    let kernel = module.kernel("kinetic");
    let particles = queue.upload(&[particle(2.0), particle(4.0)])?;
    let mut out = queue.zeroed::<f32>(2)?;
    let args = [
        Arg::value(particle(7.0)),
        Arg::read(&particles),
        Arg::write(&mut out),
        Arg::scalar(2u64),
    ];
    let names = &["proto", "in", "out", "count"];
    // SAFETY: both buffers hold two elements.
    unsafe { Launch::new(&kernel, names, args).launch(2)? };
    assert_eq!(queue.download(&out)?, [21.0, 35.0]);
    Ok(())
}

#[test]
fn native_device_globals_are_read_and_written() -> Result<()> {
    let Some(queue) = fitting_queue() else {
        return Ok(());
    };
    let module = executable(&queue, "globals")?;
    module.global::<[i32; 4]>("table")?.write(&[5, 6, 7, 8])?;
    module.global::<f32>("bias")?.write(&0.5)?;
    let kernel = module.kernel("lookup");
    let index = queue.upload(&[3i32, 0])?;
    let mut out = queue.zeroed::<f32>(2)?;
    let args = [Arg::read(&index), Arg::write(&mut out)];
    // SAFETY: a work-item for each element.
    unsafe { Launch::new(&kernel, &["index", "out"], args).launch(2)? };
    assert_eq!(queue.download(&out)?, [8.5, 5.5]);
    Ok(())
}

#[test]
fn an_executable_without_kernels_loads() -> Result<()> {
    let Some(queue) = fitting_queue() else {
        return Ok(());
    };
    // The function that it exports is listed as a kernel, and is none.
    let exporting = executable(&queue, "export_side")?;
    assert!(exporting.kernel("_Z5shapef").is_err());
    Ok(())
}

/// The SPIR-V of `vector_ops`, with `native` beside each image.
fn both(native: impl Fn(usize) -> Image<'static>) -> Vec<u8> {
    let bytes = common::testfile("vector_ops.object.syclbin");
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    for (index, module) in file.modules.iter_mut().enumerate() {
        module.images.push(native(index));
    }
    common::written(&file)
}

/// The native images of `vector_ops`: of its two modules, in the order of the other file.
fn natives() -> Vec<Image<'static>> {
    let names = |file: &Syclbin<'_>| -> Vec<Vec<String>> {
        let modules = file.modules.iter();
        let sorted = |names: Vec<String>| {
            let mut names = names;
            names.sort();
            names
        };
        modules
            .map(|module| sorted(module.kernel_names().map(str::to_owned).collect()))
            .collect()
    };
    let objects = common::testfile("vector_ops.object.syclbin");
    let objects = names(&syclbin::read::parse(&objects).expect("a good file"));
    let bytes = common::testfile("vector_ops.executable.syclbin");
    let file = syclbin::read::parse(&bytes).expect("a good file");
    let executables = names(&file);
    let images = objects.iter().map(|wanted| {
        let index = executables.iter().position(|names| names == wanted);
        let module = &file.modules[index.expect("the same module")];
        module.images[0].clone().into_owned()
    });
    images.collect()
}

#[test]
fn native_code_is_preferred_to_spirv() -> Result<()> {
    let Some(queue) = fitting_queue() else {
        return Ok(());
    };
    let natives = natives();
    let module = common::load(&queue, &both(|index| natives[index].clone()))?;
    for choice in common::choices(&module) {
        assert_eq!(choice.image(), Some(1), "{choice}");
        let verdicts: Vec<&str> = choice.verdicts().map(|(_, verdict)| verdict).collect();
        assert_eq!(
            verdicts,
            [
                "not needed, because image 1 fits",
                "chosen: the driver accepts this native code"
            ]
        );
    }
    Ok(())
}

/// The modules of `vector_ops` as SPIR-V, in which `iota` counts down, and as native code, in which it
/// counts up.
fn apart() -> [Vec<AbstractModule<'static>>; 2] {
    const F_ADD: u32 = 5 << 16 | 129;
    const F_SUB: u32 = 5 << 16 | 131;
    let modules = |state: &str| {
        let bytes = common::testfile(&format!("vector_ops.{state}.syclbin"));
        let file = syclbin::read::parse(&bytes).expect("a good file");
        file.into_owned().modules
    };
    let mut spirv = modules("object");
    let mut changed = false;
    for module in &mut spirv {
        let code = module.images[0].bytes.to_mut();
        for word in code.as_chunks_mut::<4>().0 {
            if *word == F_ADD.to_le_bytes() {
                *word = F_SUB.to_le_bytes();
                changed = true;
            }
        }
    }
    assert!(changed, "nothing is added");
    [spirv, modules("executable")]
}

fn load_modules(queue: &Queue, modules: Vec<AbstractModule<'static>>) -> Result<Module> {
    let mut file = Syclbin::new(State::Executable);
    file.modules = modules;
    common::load(queue, &common::written(&file))
}

/// What `iota` does from 0.5 on.
fn counted(queue: &Queue, module: &Module) -> Result<Vec<f32>> {
    let kernel = module.kernel("_ZN18__sycl_kernel_fill4iotaEfPfi");
    let mut out = queue.zeroed::<f32>(3)?;
    let args = [Arg::scalar(0.5f32), Arg::write(&mut out), Arg::scalar(3i32)];
    // SAFETY: three elements.
    unsafe { Launch::new(&kernel, &["start", "out", "count"], args).launch(3)? };
    queue.download(&out)
}

#[test]
fn native_code_replaces_spirv_of_separate_modules() -> Result<()> {
    let Some(queue) = fitting_queue() else {
        return Ok(());
    };
    let [spirv, native] = apart();
    let only_spirv = load_modules(&queue, spirv.clone())?;
    assert_eq!(counted(&queue, &only_spirv)?, [0.5, -0.5, -1.5]);
    for modules in [
        [spirv.clone(), native.clone()].concat(),
        [native.clone(), spirv.clone()].concat(),
    ] {
        let is_native: Vec<bool> = modules
            .iter()
            .map(|module| module.images[0].native)
            .collect();
        let module = load_modules(&queue, modules)?;
        for (choice, is_native) in common::choices(&module).into_iter().zip(is_native) {
            let text = choice.to_string();
            match is_native {
                true => assert!(text.contains("chosen: the driver accepts this"), "{text}"),
                false => {
                    assert_eq!(choice.image(), None, "{text}");
                    assert!(
                        text.contains("contains native code for these kernels"),
                        "{text}"
                    );
                }
            }
        }
        assert_eq!(counted(&queue, &module)?, [0.5, 1.5, 2.5]);
        let saved = module.to_syclbin()?;
        let saved = syclbin::read::parse(&saved).expect("a good file");
        assert_eq!(saved.modules.len(), native.len());
        // What it takes is known from the SPIR-V all the same.
        let kernel = module.kernel("_ZN18__sycl_kernel_fill4iotaEfPfi");
        let mut out = queue.zeroed::<f32>(3)?;
        let args = [Arg::scalar(0.5f64), Arg::write(&mut out), Arg::scalar(3i32)];
        let launch = Launch::new(&kernel, &["start", "out", "count"], args);
        // SAFETY: three elements.
        let refused = unsafe { launch.launch(3) }.expect_err("a number of another kind");
        assert!(refused.to_string().contains("start"), "{refused}");
    }
    Ok(())
}

#[test]
fn spirv_compiles_only_for_its_extra_kernel() -> Result<()> {
    let Some(queue) = fitting_queue() else {
        return Ok(());
    };
    let [mut spirv, native] = apart();
    for module in &mut spirv {
        module.add_kernel_name("of_spirv_alone");
    }
    let module = load_modules(&queue, [spirv.clone(), native].concat())?;
    for choice in common::choices(&module) {
        assert_eq!(choice.image(), Some(0), "{choice}");
    }
    assert_eq!(counted(&queue, &module)?, [0.5, 1.5, 2.5]);
    Ok(())
}

#[test]
fn unsuitable_separate_native_module_leaves_the_spirv() -> Result<()> {
    let Some(queue) = queue() else { return Ok(()) };
    let [spirv, mut native] = apart();
    for module in &mut native {
        module.images = vec![Image::native("pvc", "spir64_gen-unknown-unknown", vec![1])];
    }
    let module = load_modules(&queue, [native, spirv].concat())?;
    assert_eq!(counted(&queue, &module)?, [0.5, -0.5, -1.5]);
    Ok(())
}

#[test]
fn unsuitable_native_image_leaves_the_spirv() -> Result<()> {
    let Some(queue) = queue() else { return Ok(()) };
    let good = natives();
    let cut = |index: usize| good[index].bytes[..200].to_vec();
    let cases: [(&str, &dyn Fn(usize) -> Image<'static>); 4] = [
        ("it is for pvc", &|_| {
            Image::native("pvc", "spir64-unknown-unknown", vec![1])
        }),
        ("code does not run on an OpenCL cpu", &|_| {
            Image::native("sm_90", "nvptx64-nvidia-cuda", vec![1])
        }),
        ("is not an ELF file", &|_| {
            Image::native("x86_64", "spir64-unknown-unknown", vec![1])
        }),
        ("a damaged ELF file", &|index| {
            Image::native("x86_64", "", cut(index))
        }),
    ];
    let elsewhere: [(&str, &dyn Fn(usize) -> Image<'static>); 1] =
        [("it is CPU code for x86-64 Linux, but", &|index| {
            good[index].clone()
        })];
    for (reason, native) in if OF_FILES { &cases[..] } else { &elsewhere } {
        let module = common::load(&queue, &both(native))?;
        for choice in common::choices(&module) {
            assert_eq!(choice.image(), Some(0), "{choice}");
            let (_, verdict) = choice.verdicts().nth(1).expect("two images");
            assert!(verdict.contains(reason), "{verdict}");
        }
        assert!(module.kernel("saxpy").is_ok());
    }
    Ok(())
}

#[test]
fn refused_native_image_leaves_the_spirv() -> Result<()> {
    let Some(queue) = fitting_queue() else {
        return Ok(());
    };
    let good = natives();
    // A whole ELF file of another kind: its type is a core dump's.
    let refused = |index: usize| {
        let mut bytes = good[index].bytes.to_vec();
        bytes[16..18].copy_from_slice(&4u16.to_le_bytes());
        Image::native("x86_64", "spir64-unknown-unknown", bytes)
    };
    let module = common::load(&queue, &both(refused))?;
    for choice in common::choices(&module) {
        assert_eq!(choice.image(), Some(0), "{choice}");
        let (_, verdict) = choice.verdicts().nth(1).expect("two images");
        assert!(verdict.contains("failed with CL_"), "{verdict}");
    }
    Ok(())
}

#[test]
fn unusable_module_gives_a_reason_per_image() -> Result<()> {
    let Some(queue) = queue() else { return Ok(()) };
    let bytes = common::testfile("vector_ops.executable.syclbin");
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    for module in &mut file.modules {
        let mut metadata = ModuleMetadata::read(&module.metadata).expect("good properties");
        metadata.requirements.aspects = vec![Aspect::GPU, Aspect(4000)];
        metadata.write(&mut module.metadata);
    }
    let error = common::load(&queue, &common::written(&file)).expect_err("a refusal");
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let reasons = error.reasons();
    assert_eq!(reasons.len(), 2);
    for reason in reasons {
        assert!(
            reason.contains(
                "image 0 (native x86_64, spir64-unknown-unknown): it requires aspects gpu, aspect 4000"
            ),
            "{reason}"
        );
    }
    Ok(())
}
