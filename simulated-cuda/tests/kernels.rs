//! Kernels that a compiler made, run as programs run them.
#![allow(unsafe_code, reason = "it calls functions of a C library")]

mod driver;

use driver::{context, download, function, launch, load, ok, synchronize, upload};

#[test]
fn saxpy_adds() {
    context();
    let module = load(include_str!("kernels/saxpy.ptx"));
    let saxpy = function(module, "__sycl_kernel_saxpy");
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let y: Vec<f32> = (0..1000).map(|i| 0.5 * i as f32).collect();
    let (on_x, on_y) = (upload(&x), upload(&y));
    let arguments = [
        &2f32.to_ne_bytes()[..],
        &on_x.to_ne_bytes(),
        &on_y.to_ne_bytes(),
        &1000u32.to_ne_bytes(),
    ];
    ok(launch(saxpy, [4, 1, 1], [256, 1, 1], 0, &arguments));
    ok(synchronize());
    for (i, found) in download::<f32>(on_y, 1000).into_iter().enumerate() {
        assert_eq!(found, 2.0f32.mul_add(x[i], y[i]), "{i}");
    }
}
