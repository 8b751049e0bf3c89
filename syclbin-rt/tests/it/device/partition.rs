// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of a device: they are devices, with fewer compute units.
#![allow(unsafe_code, reason = "loading code and launching kernels are unsafe")]
#![allow(clippy::panic, reason = "a test may")]

use syclbin_rt::{Affinity, Arg, Device, ErrorKind, Launch, Partition, Queue, Result};

use crate::common;

/// Set in a child: this test program again, told to run one test.
const CHILD: &str = "SYCLBIN_RT_TEST_CHILD";

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// What `test` prints when it runs in a process with this variable.
fn in_child(test: &str, name: &str, value: &str) -> String {
    let mut command = common::child(module_path!(), test);
    command.env(CHILD, "1").env(name, value);
    let output = command.output().expect("the test program runs");
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{printed}");
    printed
}

/// The device, if it has two compute units at least and its driver divides it like this.
fn divided(how: Partition<'_>) -> Option<(Device, Vec<Device>)> {
    let queue = common::queue()?;
    let device = queue.device();
    match device.partition(how) {
        Ok(parts) => Some((device.clone(), parts)),
        Err(error)
            if error.kind() == ErrorKind::InvalidArgument
                && error.to_string().contains("cannot be divided") =>
        {
            common::say_skipped(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn check_saxpy(queue: &Queue) -> Result<String> {
    let module = common::load(queue, &common::testfile("vector_ops.object.syclbin"))?;
    let saxpy = module.kernel("saxpy");
    let x = queue.upload(&[1.0f32; 1000])?;
    let mut y = queue.upload(&[2.0f32; 1000])?;
    let args = [
        Arg::scalar(2.0f32),
        Arg::read(&x),
        Arg::write(&mut y),
        Arg::scalar(1000u32),
    ];
    // SAFETY: the types are those of the kernel, and both buffers hold `n` elements.
    unsafe { Launch::new(&saxpy, &["a", "x", "y", "n"], args).launch(1000)? };
    assert_eq!(queue.download(&y)?, [4.0; 1000]);
    let choices = common::choices(&module);
    Ok(choices.iter().map(ToString::to_string).collect())
}

#[test]
fn equal_parts_share_units_and_run_kernels() -> Result<()> {
    let Some((whole, parts)) = divided(Partition::Equally(1)) else {
        return Ok(());
    };
    assert!(parts.len() > 1, "{parts:?}");
    let of = parts.len();
    for (index, part) in parts.iter().enumerate() {
        assert_eq!(part.compute_units(), 1);
        assert_eq!(part.to_string(), format!("part {index} of {of} of {whole}"));
        assert_eq!((part.name(), part.kind()), (whole.name(), whole.kind()));
        assert_eq!(part.parent().as_ref(), Some(&whole));
        assert!(*part != whole && part.takes_spirv());
        check_saxpy(&part.queue()?)?;
    }
    assert_eq!(whole.parent(), None);
    assert_ne!(parts[0], parts[1]);
    // Asked again, they are the same devices.
    assert_eq!(whole.partition(Partition::Equally(1))?, parts);
    assert!(!Device::all()?.contains(&parts[0]));
    Ok(())
}

#[test]
fn parts_have_the_requested_compute_units() -> Result<()> {
    if let Some((whole, parts)) = divided(Partition::Counts(&[1, 1])) {
        let units: Vec<u32> = parts.iter().map(Device::compute_units).collect();
        assert_eq!(units, [1, 1]);
        // Other counts give other parts.
        let single = whole.partition(Partition::Counts(&[1]))?;
        assert_eq!(single.len(), 1);
        assert!(!parts.contains(&single[0]));
        check_saxpy(&parts[1].queue()?)?;
    }
    Ok(())
}

#[test]
fn part_uses_programs_cached_for_the_device() -> Result<()> {
    const TEST: &str = "part_uses_programs_cached_for_the_device";
    let Some((whole, parts)) = divided(Partition::Equally(1)) else {
        return Ok(());
    };
    if is_child() {
        eprintln!("whole {}", check_saxpy(&whole.queue()?)?);
        eprintln!("part {}", check_saxpy(&parts[0].queue()?)?);
        return Ok(());
    }
    let folder = std::env::temp_dir().join(format!("syclbin-rt-partition-{}", std::process::id()));
    let printed = in_child(TEST, "SYCLBIN_CACHE", &folder.to_string_lossy());
    let (whole, part) = printed.split_once("part ").expect("both were loaded");
    assert!(whole.contains("the driver compiles it"), "{whole}");
    assert!(part.contains("compiled it in an earlier run"), "{part}");
    let _ = std::fs::remove_dir_all(folder);
    Ok(())
}

#[test]
fn part_refuses_buffer_of_whole_device() -> Result<()> {
    let Some((whole, parts)) = divided(Partition::Equally(1)) else {
        return Ok(());
    };
    let buffer = whole.queue()?.upload(&[1i32])?;
    let message = parts[1].queue()?.download(&buffer).unwrap_err().to_string();
    let expected = format!(
        "the buffer is on {whole}, but the queue is on part 1 of {} of {whole}",
        parts.len()
    );
    assert_eq!(message, expected);
    Ok(())
}

#[test]
fn impossible_partition_error_has_the_reason() {
    let Some(queue) = common::queue() else { return };
    let device = queue.device();
    let too_many = device.compute_units() + 1;
    for how in [
        Partition::Equally(too_many),
        Partition::Equally(0),
        Partition::Counts(&[too_many]),
    ] {
        let error = device.partition(how).unwrap_err();
        assert!(
            error.kind() == ErrorKind::InvalidArgument
                && error.to_string().contains("cannot be divided"),
            "{error}"
        );
        let text = error.to_string();
        assert!(
            text.starts_with(&format!("{device} cannot be divided: ")),
            "{text}"
        );
        assert!(!text.contains("nested"), "this is a whole device: {text}");
    }
    // By affinity, where the device has it.
    match device.partition(Partition::Affinity(Affinity::Next)) {
        Ok(parts) => assert!(!parts.is_empty()),
        Err(error) => assert!(error.to_string().contains("cannot be divided"), "{error}"),
    }
}

#[test]
fn a_selector_names_a_part_behind_its_device() -> Result<()> {
    if is_child() {
        match Device::choose_for(common::testfile("vector_ops.object.syclbin")) {
            Ok(choice) => eprintln!("found {}: {}", choice.device, choice.reason),
            Err(error) => eprintln!("error {error}"),
        }
        return Ok(());
    }
    let Some((whole, parts)) = divided(Partition::Equally(1)) else {
        return Ok(());
    };
    let all = Device::all()?;
    let number = all.iter().position(|device| *device == whole);
    let number = number.unwrap_or_default();
    assert_eq!(Device::select(&format!("opencl:{number}.1"))?, parts[1]);
    let error = Device::select(&format!("{number}.4096")).unwrap_err();
    assert!(error.to_string().contains("no part 4096"), "{error}");
    let selector = format!("opencl:{number}.1");
    let test = "a_selector_names_a_part_behind_its_device";
    let printed = in_child(test, "SYCLBIN_DEVICE", &selector);
    let expected = format!(
        "found part 1 of {} of {whole}: SYCLBIN_DEVICE=opencl:{number}.1 selects it",
        parts.len()
    );
    assert!(printed.contains(&expected), "{printed}");
    Ok(())
}

#[test]
fn parts_nest_at_most_eight_deep() -> Result<()> {
    let Some((_, mut parts)) = divided(Partition::Equally(1)) else {
        return Ok(());
    };
    for _ in 0..9 {
        let part = parts.swap_remove(0);
        parts = match part.partition(Partition::Equally(part.compute_units())) {
            Ok(parts) => parts,
            Err(error)
                if error
                    .to_string()
                    .contains("parts can be nested at most 8 deep") =>
            {
                assert_eq!(part.to_string().matches("part ").count(), 8);
                return Ok(());
            }
            Err(error) => {
                common::say_skipped(&error.to_string());
                return Ok(());
            }
        };
    }
    panic!("nine parts of parts were made")
}
