// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finding devices. The environment is one for the whole process, so each case runs in a child:
//! this test program again, told to run one test.

use syclbin::{AbstractModule, Image, IrType, State, Syclbin};
use syclbin_rt::{Device, DeviceKind, Result};

use crate::common;

/// Set in the child.
const CHILD: &str = "SYCLBIN_RT_TEST_CHILD";

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// What `test` prints when it runs in a process with these variables.
fn in_child(test: &str, variables: &[(&str, &str)]) -> String {
    let output = common::child(module_path!(), test)
        .env_remove("SYCLBIN_DEVICE")
        .env(CHILD, "1")
        .envs(variables.iter().copied())
        .output()
        .expect("the test program runs");
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{printed}");
    printed
}

/// Prints the outcome for the parent.
fn report(result: Result<Device>) {
    match result {
        Ok(device) => eprintln!("found {device}"),
        Err(error) => eprintln!("error {error}"),
    }
}

#[test]
#[allow(unsafe_code, reason = "loading a library is unsafe")]
fn devices_describe_themselves() {
    let Some(queue) = common::queue() else { return };
    let device = queue.device();
    assert_eq!(device.takes_spirv(), !common::on_cuda());
    for text in [
        device.name(),
        device.vendor(),
        device.platform(),
        device.driver_version(),
    ] {
        assert!(!text.is_empty(), "{device:?}");
    }
    // SAFETY: the library is loaded already.
    let library = unsafe { libloading::Library::new(device.library()) };
    assert!(library.is_ok(), "{device:?}");
    let interface = if common::on_cuda() {
        "CUDA "
    } else {
        "OpenCL "
    };
    assert!(device.version().starts_with(interface), "{device:?}");
    // Every OpenCL device can allocate a buffer of 1 MiB (OpenCL 3.0, CL_DEVICE_MAX_MEM_ALLOC_SIZE).
    assert!(device.memory_bytes() >= 1 << 20, "{device:?}");
    assert!(device.compute_units() > 0);
    assert!(device.max_work_group_size() > 0);
    let of_kind = match device.kind() {
        syclbin_rt::DeviceKind::Gpu => syclbin_rt::Aspect::GPU,
        syclbin_rt::DeviceKind::Cpu => syclbin_rt::Aspect::CPU,
        _ => syclbin_rt::Aspect::ACCELERATOR,
    };
    assert!(device.has(of_kind) && device.aspects().any(|aspect| aspect == of_kind));
    assert!(
        device.has(syclbin_rt::Aspect::ONLINE_COMPILER),
        "{device:?}"
    );
    assert!(device.max_work_item_sizes().iter().all(|size| *size > 0));
    // Every OpenCL device since version 1.1 has this extension, and no device the other.
    let required = "cl_khr_byte_addressable_store";
    assert_eq!(device.has_extension(required), !common::on_cuda());
    assert!(!device.has_extension("cl_khr_byte"), "{device:?}");
    let display = format!(
        "{} ({}, {})",
        device.name(),
        device.kind(),
        device.driver_version()
    );
    assert_eq!(device.to_string(), display);
}

/// Compares with what opencl3 asks the same library.
#[test]
fn platforms_and_architectures_are_those_of_the_driver() {
    let Some(queue) = common::queue() else { return };
    let device = queue.device();
    if common::on_cuda() {
        assert_eq!(device.platform(), "NVIDIA CUDA");
        assert_eq!(device.vendor(), "NVIDIA Corporation");
        return;
    }
    let platforms = opencl3::platform::get_platforms().unwrap_or_default();
    let names = platforms.iter().map(|platform| platform.name().unwrap());
    let mut names = names.filter(|name| !name.is_empty());
    let known = names.any(|name| name == device.platform());
    // opencl3 looks for a loader; the CPU device is loaded without one.
    assert!(
        known || device.platform() == "Intel(R) OpenCL",
        "{device:?}"
    );
    if device.platform() == "Intel(R) OpenCL" && device.kind() == syclbin_rt::DeviceKind::Cpu {
        let architecture = device
            .architecture()
            .and_then(syclbin_rt::Architecture::name);
        assert_eq!(architecture, Some("x86_64"));
        assert!(device.has(syclbin_rt::Aspect::IMAGE), "{device:?}");
        assert!(!device.sub_group_sizes().is_empty(), "{device:?}");
    }
}

#[test]
fn the_choice_comes_with_its_reason() {
    const TEST: &str = "the_choice_comes_with_its_reason";
    if is_child() {
        match Device::choose_for(common::testfile("made/asserts.syclbin")) {
            Ok(choice) => eprintln!("found {}: {}", choice.device, choice.reason),
            Err(error) => eprintln!("error {error}"),
        }
        return;
    }
    if common::queue().is_none() {
        return;
    }
    let printed = in_child(TEST, &[]);
    assert!(
        printed.contains(": it is the first ") || printed.contains("; it is the first "),
        "{printed}"
    );
    let all = Device::all().expect("there is one");
    for (selector, interface) in [("opencl:*", "OpenCL "), ("cuda:*", "CUDA ")] {
        let is_of = |device: &Device| device.version().starts_with(interface);
        if !all.iter().any(is_of) {
            continue;
        }
        let printed = in_child(TEST, &[("SYCLBIN_DEVICE", selector)]);
        let reason = format!(": SYCLBIN_DEVICE={selector} selects it");
        assert!(printed.contains(&reason), "{printed}");
    }
    let printed = in_child(TEST, &[("SYCLBIN_DEVICE", "level_zero:gpu")]);
    assert!(printed.contains("use opencl:gpu"), "{printed}");
}

/// Mesa's driver, where it is installed beside Intel's, adds a CPU device.
#[test]
fn gpu_is_chosen_beside_a_cpu_device() {
    const TEST: &str = "gpu_is_chosen_beside_a_cpu_device";
    if is_child() {
        let all = Device::all().expect("there is one");
        let has = |kind| all.iter().any(|device| device.kind() == kind);
        if !has(DeviceKind::Gpu) || !has(DeviceKind::Cpu) {
            return;
        }
        eprintln!("found both");
        let choice = Device::choose_for(common::testfile("vector_ops.object.syclbin"));
        let choice = choice.expect("a device");
        assert_eq!(choice.device.kind(), DeviceKind::Gpu);
        assert_eq!(
            choice.reason,
            "it is the first gpu that can run SYCLBIN kernels"
        );
        assert_eq!(choice.skipped.len(), 0);
        let cpu = Device::select("cpu").and_then(|cpu| cpu.queue());
        let cpu = cpu.expect("a queue");
        let buffer = cpu.upload(&[1, 2, 3]).expect("a buffer");
        assert_eq!(cpu.download(&buffer).expect("its numbers"), [1, 2, 3]);
        return;
    }
    let Some(queue) = common::queue() else { return };
    if queue.device().kind() != DeviceKind::Gpu || common::on_cuda() {
        common::say_skipped("not an OpenCL GPU");
        return;
    }
    let vendors = ("OCL_ICD_VENDORS", "/etc/OpenCL/vendors");
    let printed = in_child(TEST, &[vendors, ("RUSTICL_ENABLE", "llvmpipe")]);
    if !printed.contains("found both") {
        common::say_skipped("no CPU device beside it");
    }
}

#[test]
fn a_device_is_the_same_value_each_time() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    assert_eq!(Device::best()?, *queue.device());
    let all = Device::all()?;
    assert!(all.contains(queue.device()));
    let distinct: std::collections::HashSet<&Device> = all.iter().collect();
    assert_eq!(distinct.len(), all.len());
    Ok(())
}

#[test]
fn device_is_selected_by_kind_index_name() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let device = queue.device();
    let kind = device.kind().to_string();
    let selected = Device::select(&format!("no such device,{kind}"))?;
    assert_eq!(selected.kind(), device.kind());
    let index = Device::all()?.iter().position(|other| other == device);
    assert_eq!(
        Device::select(&index.expect("it is listed").to_string())?,
        *device
    );
    assert_eq!(
        Device::select(&device.name().to_uppercase())?.name(),
        device.name()
    );
    Ok(())
}

#[test]
fn best_obeys_the_variable() {
    if is_child() {
        return report(Device::best());
    }
    let Some(queue) = common::queue() else { return };
    let name = queue.device().name();
    let printed = in_child("best_obeys_the_variable", &[("SYCLBIN_DEVICE", name)]);
    assert!(printed.contains(&format!("found {name}")), "{printed}");
    // An empty variable selects nothing, as if it were not set.
    let unset = in_child("best_obeys_the_variable", &[]);
    for empty in ["", " "] {
        let variables = [("SYCLBIN_DEVICE", empty)];
        assert_eq!(in_child("best_obeys_the_variable", &variables), unset);
    }
}

#[cfg(unix)]
#[test]
fn variable_that_is_not_text_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    if is_child() {
        return report(Device::best());
    }
    let output = common::child(module_path!(), "variable_that_is_not_text_is_refused")
        .env(CHILD, "1")
        .env("SYCLBIN_DEVICE", std::ffi::OsStr::from_bytes(b"cpu\xff"))
        .output()
        .expect("the test program runs");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(
        printed.contains("error invalid device selector \"cpu\u{fffd}\"")
            && printed.contains("SYCLBIN_DEVICE is not UTF-8"),
        "{printed}"
    );
}

#[test]
fn unusable_file_has_a_reason_per_device() {
    if is_child() {
        let mut module = AbstractModule::default();
        module.add_kernel_name("kernel");
        let image = Image::ir(IrType::AmdGcn, "amdgcn-amd-amdhsa", &b"code"[..]);
        module.images.push(image);
        let mut file = Syclbin::new(State::Object);
        file.modules.push(module);
        return report(Device::best_for(common::written(&file)));
    }
    if common::queue().is_none() {
        return;
    }
    let printed = in_child("unusable_file_has_a_reason_per_device", &[]);
    let message = "error no device on this machine can run anything in this SYCLBIN file";
    assert!(printed.contains(message), "{printed}");
    for device in Device::all().expect("there is one") {
        let reason = if device.takes_spirv() || device.takes_ptx() {
            format!("{device}: module 0, image 0 ")
        } else {
            format!("{device}, without SPIR-V support")
        };
        assert!(printed.contains(&reason), "{reason}: {printed}");
    }
}

#[test]
fn an_unknown_device_names_what_there_is() {
    if is_child() {
        return report(Device::best());
    }
    let Some(queue) = common::queue() else { return };
    let variables = [("SYCLBIN_DEVICE", "abacus")];
    let printed = in_child("an_unknown_device_names_what_there_is", &variables);
    assert!(
        printed.contains("error cannot select a device with \"abacus\" (from SYCLBIN_DEVICE or Device::select): no \
            device matches; available devices:"),
        "{printed}"
    );
    assert!(printed.contains(&queue.device().to_string()), "{printed}");
}

#[test]
fn missing_library_error_lists_what_was_tried() {
    if is_child() {
        assert!(Device::all().is_err() || Device::best().is_ok());
        return report(Device::best());
    }
    let home = std::env::temp_dir().join(format!("syclbin-rt-no-home-{}", std::process::id()));
    let home = home.to_str().expect("a UTF-8 path");
    let printed = in_child(
        "missing_library_error_lists_what_was_tried",
        &[
            ("OPENCL_DYLIB_PATH", "/nowhere/libone.so;/nowhere/libtwo.so"),
            ("SYCLBIN_HOME", home),
        ],
    );
    // The error has the word as well: "no device found".
    if printed.lines().any(|line| line.starts_with("found ")) {
        common::say_skipped("this system has an OpenCL device of its own");
        return;
    }
    for expected in [
        "error found no device",
        "cargo syclbin toolchain install",
        "/nowhere/libone.so: ",
        "/nowhere/libtwo.so: ",
        &format!("the cpu-device component: not installed in {home}"),
    ] {
        assert!(
            printed.contains(expected),
            "{expected:?} is missing in: {printed}"
        );
    }
}

#[test]
fn library_without_opencl_is_skipped() {
    if is_child() {
        return report(Device::best());
    }
    if common::queue().is_none() {
        return;
    }
    let test = "library_without_opencl_is_skipped";
    let found = in_child(test, &[]);
    assert!(found.contains("found "), "{found}");
    // libm exists on every Linux system, but is not an OpenCL library. On other systems, it does not load.
    let own = std::env::var("OPENCL_DYLIB_PATH").unwrap_or_default();
    let path = format!("libm.so.6;/dev/null;{own}");
    let variables = [("OPENCL_DYLIB_PATH", path.as_str())];
    assert_eq!(in_child(test, &variables), found);
}

#[test]
fn driver_found_twice_is_listed_once() {
    if is_child() {
        for device in Device::all().expect("the parent found one") {
            eprintln!("found {device}");
        }
        return;
    }
    let Some(queue) = common::queue() else { return };
    let library = queue.device().library();
    let display = queue.device().to_string();
    let count = |printed: &str| printed.matches(&format!("found {display}")).count();
    let test = "driver_found_twice_is_listed_once";
    let before = count(&in_child(test, &[]));
    let twice = format!("{library};{library}");
    assert_eq!(
        count(&in_child(test, &[("OPENCL_DYLIB_PATH", &twice)])),
        before
    );
}

#[cfg(feature = "cuda")]
#[test]
fn missing_nvidia_driver_is_named() {
    let Some(queue) = common::opencl_queue() else {
        return;
    };
    let device = queue.device();
    match Device::select("cuda:gpu:0") {
        // There is one, beside the device that the tests run on.
        Ok(gpu) => assert_ne!(gpu, *device),
        Err(error) => {
            let message = error.to_string();
            assert!(
                error.kind() == syclbin_rt::ErrorKind::NoDevice
                    && error.to_string().contains("cannot select a device")
            );
            assert!(
                message.contains("no device matches (NVIDIA's driver: "),
                "{message}"
            );
            assert!(message.contains(&device.to_string()), "{message}");
        }
    }
    // It hides no other device.
    assert!(Device::select("cuda,*").is_ok());
}

// PoCL (6.0) told one thread that it has no devices while it initialized itself for another.
#[test]
fn first_threads_find_the_same_devices() {
    if common::queue().is_none() {
        return;
    }
    for _ in 0..5 {
        let printed = in_child("a_child_lists_devices_in_threads", &[]);
        assert!(printed.contains("all find the same"), "{printed}");
    }
}

#[test]
fn a_child_lists_devices_in_threads() {
    if !is_child() {
        return;
    }
    let start = std::sync::Barrier::new(8);
    let found = std::thread::scope(|scope| {
        let list = || {
            start.wait();
            Device::all().map_err(|error| error.to_string())
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(list)).collect();
        let found = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        found.collect::<Vec<_>>()
    });
    let lists = found.into_iter().map(|found| {
        let devices = found.expect("no panic").expect("there are devices");
        devices
            .into_iter()
            .collect::<std::collections::HashSet<_>>()
    });
    let lists: Vec<_> = lists.collect();
    assert!(lists.iter().all(|list| *list == lists[0]), "{lists:?}");
    eprintln!("all find the same");
}
