//! Kernels that this crate's build script compiled, on the device.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)] // a test may
#![allow(unsafe_code)] // a launch is unsafe

use std::io::Write as _;

use end_to_end::vector_ops;
use syclbin_rt::{Device, Queue};

/// A queue, or `None` where there is no device; with SYCLBIN_REQUIRE_DEVICE=1 that is a failure.
fn queue() -> Option<Queue> {
    match Device::best().and_then(|device| device.queue()) {
        Ok(queue) => Some(queue),
        Err(error) if std::env::var("SYCLBIN_REQUIRE_DEVICE").as_deref() == Ok("1") => {
            panic!("SYCLBIN_REQUIRE_DEVICE=1, and {error}")
        }
        Err(error) => {
            // `println!` would be kept back, as the test passes.
            let _ = writeln!(std::io::stderr(), "skipped: {error}");
            None
        }
    }
}

#[test]
fn saxpy_over_a_million_elements_is_what_rust_computes() {
    let Some(queue) = queue() else { return };
    let kernels = vector_ops::Module::load(&queue).unwrap();
    let x: Vec<f32> = (0..1_000_000).map(|i| (i % 1000) as f32).collect();
    let y: Vec<f32> = (0..x.len()).map(|i| (i % 77) as f32).collect();
    let on_device = queue.upload(&x).unwrap();
    let mut result = queue.upload(&y).unwrap();
    // The C++ parameter is `unsigned n`, which only debug information tells.
    let n: u32 = x.len().try_into().unwrap();
    let launch = kernels.saxpy(2.0, &on_device, &mut result, n);
    // SAFETY: both buffers hold `n` elements.
    unsafe { launch.launch(x.len()) }.unwrap();
    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.0 * x + y).collect();
    assert!(queue.download(&result).unwrap() == expected);
}

#[test]
fn a_kernel_in_a_namespace_runs() {
    let Some(queue) = queue() else { return };
    let kernels = vector_ops::Module::load(&queue).unwrap();
    let mut out = queue.zeroed::<f32>(100).unwrap();
    // SAFETY: `iota` writes 100 elements.
    unsafe { kernels.fill.iota(3.5, &mut out, 100).launch(1) }.unwrap();
    let expected: Vec<f32> = (0..100u8).map(|i| 3.5 + f32::from(i)).collect();
    assert_eq!(queue.download(&out).unwrap(), expected);
}

#[test]
fn each_instance_of_a_template_has_its_own_types() {
    let Some(queue) = queue() else { return };
    let kernels = vector_ops::Module::load(&queue).unwrap();
    let mut ints = queue.upload(&[1i32, -2, 3]).unwrap();
    let mut doubles = queue.upload(&[0.5f64, 1.5]).unwrap();
    // SAFETY: each work-item touches the element of its own index.
    unsafe {
        kernels.scale_int(&mut ints, -3).launch(3).unwrap();
        kernels.scale_double(&mut doubles, 4.0).launch(2).unwrap();
    }
    assert_eq!(queue.download(&ints).unwrap(), [-3, 6, -9]);
    assert_eq!(queue.download(&doubles).unwrap(), [2.0, 6.0]);
}

#[test]
fn the_embedded_file_is_aligned_and_records_the_declarations() {
    assert_eq!(vector_ops::SYCLBIN.as_ptr().align_offset(8), 0);
    let text = String::from_utf8_lossy(vector_ops::SYCLBIN);
    assert!(text.contains("[SYCLBIN-RS/kernel declarations]"));
}
