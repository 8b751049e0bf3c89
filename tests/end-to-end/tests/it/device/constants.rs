// SPDX-License-Identifier: MIT OR Apache-2.0
//! Specialization constants from source to result: kernels compute with the defaults of C++, and with
//! what Rust sets instead.
#![allow(unsafe_code)] // a launch is unsafe
#![allow(clippy::cast_possible_truncation)] // of numbers below a hundred, and as the kernels do it

use end_to_end::constants::{self, Stencil};
use end_to_end::specialized::{self, Bits, Inner, Outer, Padded};
use syclbin_rt::half::f16;
use syclbin_rt::{Arg, Aspect, Launch, Module, ModuleBuilder, Queue};

use crate::common::{self, queue, spirv_queue};

/// The defaults in tests/files/constants.cpp.
const OFFSET: i32 = 7;
const GAIN: f64 = 2.5;
const STENCIL: Stencil = Stencil {
    weight: [0.25, 0.5, 0.25],
    radius: 1,
};
const POINTS: usize = 100;

fn input() -> Vec<f32> {
    (0..POINTS).map(|i| ((i * 37) % 23) as f32 - 9.0).collect()
}

/// The kernel `blur`, in Rust. No result needs rounding.
fn blurred(input: &[f32], offset: i32, gain: f64, stencil: Stencil) -> Vec<f32> {
    let last = input.len() as i32 - 1;
    let points = 0..input.len() as i32;
    let point = points.map(|i| {
        let terms = (-stencil.radius..=stencil.radius).map(|k| {
            let weight = stencil.weight[((k + 1) % 3) as usize];
            weight * input[(i + k).clamp(0, last) as usize]
        });
        (f64::from(terms.sum::<f32>()) * gain + f64::from(offset)) as f32
    });
    point.collect()
}

fn blur(queue: &Queue, kernels: &constants::Module) -> Vec<f32> {
    let input = queue.upload(&input()).unwrap();
    let mut out = queue.zeroed::<f32>(POINTS).unwrap();
    let launch = kernels.blur(&input, &mut out, POINTS as i32);
    // SAFETY: both have that many points, and the kernel checks for more.
    unsafe { launch.launch(POINTS) }.unwrap();
    queue.download(&out).unwrap()
}

#[test]
fn unset_constants_have_the_cpp_defaults() {
    let Some(queue) = queue() else { return };
    let kernels = constants::Module::load(&queue).unwrap();
    let expected = blurred(&input(), OFFSET, GAIN, STENCIL);
    assert_eq!(blur(&queue, &kernels), expected);
}

#[test]
fn each_constant_is_set_alone_by_name() {
    let Some(queue) = queue() else { return };
    let builder = || constants::Module::builder(&queue);
    let run = |kernels: constants::Builder<'_>| blur(&queue, &kernels.load().unwrap());
    let input = input();
    assert_eq!(
        run(builder().offset(-9)),
        blurred(&input, -9, GAIN, STENCIL)
    );
    assert_eq!(
        run(builder().gain(-0.125)),
        blurred(&input, OFFSET, -0.125, STENCIL)
    );
    let other = Stencil {
        weight: [2.0, -1.0, 0.75],
        radius: 1,
    };
    let none = Stencil { radius: 0, ..other };
    for stencil in [other, none] {
        assert_eq!(
            run(builder().stencil(stencil)),
            blurred(&input, OFFSET, GAIN, stencil)
        );
    }
    assert_eq!(
        run(builder().stencil(other).gain(4.0).offset(1000)),
        blurred(&input, 1000, 4.0, other)
    );
}

#[test]
fn constants_are_set_by_their_symbols_too() {
    let Some(queue) = queue() else { return };
    let stencil = Stencil {
        weight: [1.0, 0.0, -1.0],
        radius: 1,
    };
    let builder: ModuleBuilder<'_> = Module::builder(&queue)
        .specialization_constant("____ZL6offset", 3i32)
        .specialization_constant("____ZL4gain", 0.5f64)
        .specialization_constant("____ZL7stencil", stencil);
    // SAFETY: it is the file that was compiled for these tests.
    let module = unsafe { builder.load(constants::SYCLBIN) }.unwrap();
    let kernel = module.kernel("__sycl_kernel_blur");
    let input = input();
    let on_device = queue.upload(&input).unwrap();
    let mut out = queue.zeroed::<f32>(POINTS).unwrap();
    let arguments = [
        Arg::read(&on_device),
        Arg::write(&mut out),
        Arg::scalar(POINTS as i32),
        Arg::kernel_handler(),
    ];
    let launch = Launch::new(&kernel, &["in", "out", "n", "h"], arguments);
    // SAFETY: both have that many points.
    unsafe { launch.launch(POINTS) }.unwrap();
    let expected = blurred(&input, 3, 0.5, stencil);
    assert_eq!(queue.download(&out).unwrap(), expected);
}

/// What a kernel of specialized.cpp writes.
macro_rules! numbers {
    ($queue:ident, $kernels:expr, $kernel:ident, $count:literal) => {{
        let kernels = $kernels;
        let mut out = $queue.zeroed::<f64>($count).unwrap();
        // SAFETY: the kernel writes that many numbers.
        unsafe { kernels.$kernel(&mut out).launch(1) }.unwrap();
        $queue.download(&out).unwrap()
    }};
}

#[test]
fn numbers_of_each_kind_are_set() {
    let Some(queue) = spirv_queue() else { return };
    if common::lacks(&queue, Aspect::FP16) {
        return;
    }
    let kernels = specialized::Module::load(&queue).unwrap();
    let tera = (1u64 << 40) as f64;
    assert_eq!(
        numbers!(queue, kernels, scalars, 9),
        [10.0, 20.0, -5.0, 65535.0, 1.5, -tera, 0.5, 2.0, 0.0]
    );
    let kernels = specialized::Module::builder(&queue)
        .yes(false)
        .no(true)
        .tiny(-128)
        .small(40_000)
        .half_value(f16::from_f32(-0.25))
        .big(1 << 50)
        .single(-3.25)
        .mode(1)
        .zero(-1)
        .load()
        .unwrap();
    let peta = (1u64 << 50) as f64;
    assert_eq!(
        numbers!(queue, kernels, scalars, 9),
        [20.0, 10.0, -128.0, 40_000.0, -0.25, peta, -3.25, 1.0, -1.0]
    );
}

#[test]
fn constants_are_told_apart_wherever_cpp_declares_them() {
    let Some(queue) = spirv_queue() else { return };
    let kernels = specialized::Module::load(&queue).unwrap();
    assert_eq!(
        numbers!(queue, kernels, places, 5),
        [77.0, 8.0, 11.0, 3.0, 3.0]
    );
    let kernels = specialized::Module::builder(&queue)
        .seen_by_all(1)
        .app_hidden(2)
        .app_Holder_member(4_000_000_000)
        .app_of_type_int(-4)
        .app_of_type_float(5.5)
        .load()
        .unwrap();
    assert_eq!(
        numbers!(queue, kernels, places, 5),
        [1.0, 2.0, 4e9, -4.0, 5.5]
    );
}

#[test]
fn composite_constants_are_set_by_part() {
    let Some(queue) = spirv_queue() else { return };
    let kernels = specialized::Module::load(&queue).unwrap();
    let [a, b, x] = [b'a', b'b', b'x'].map(f64::from);
    assert_eq!(
        numbers!(queue, kernels, composites, 24),
        [
            1.0, 2.0, 3.0, 4.0, 1.0, -2.0, 3.0, 1.0, 2.0, 3.0, 4.0, 5.0, 1.0, a, 1.5, b, 2.5, 1.0,
            -3.0, 4.0, 3.0, 1.0, 2.0, 1.0
        ]
    );
    let inner = |tag, value| Inner {
        tag,
        value,
        ..Inner::default()
    };
    let kernels = specialized::Module::builder(&queue)
        .quad([0.5, -0.5, 8.0, 9.0])
        .three([-1, 20, 1 << 30, 0])
        .list([9, 8, 7, 6, -5])
        .outer(Outer {
            on: 0,
            inner: [inner(120, -0.5), inner(-1, 1e300)],
            mode: 2,
            last: 30_000,
            ..Outer::default()
        })
        .padded(Padded {
            a: -44,
            ..Padded::default()
        })
        .either(1e-300)
        .bits(Bits {
            // a = 2, b = -3 in the next seven, and no c.
            field0: (2u16 | (0x7d << 3)).to_le_bytes(),
            ..Bits::default()
        })
        .load()
        .unwrap();
    assert_eq!(
        numbers!(queue, kernels, composites, 24),
        [
            0.5,
            -0.5,
            8.0,
            9.0,
            -1.0,
            20.0,
            f64::from(1 << 30),
            9.0,
            8.0,
            7.0,
            6.0,
            -5.0,
            0.0,
            x,
            -0.5,
            -1.0,
            1e300,
            2.0,
            30_000.0,
            -44.0,
            1e-300,
            2.0,
            -3.0,
            0.0
        ]
    );
}

#[test]
fn shared_constant_is_set_in_both_kernels() {
    let Some(queue) = spirv_queue() else { return };
    let kernels = specialized::Module::builder(&queue)
        .big(100)
        .single(0.25)
        .app_of_type_long(1000)
        .load()
        .unwrap();
    let mut out = queue.zeroed::<f64>(4).unwrap();
    // SAFETY: each of four work-items writes one number.
    unsafe { kernels.chosen(&mut out, 2).launch(4) }.unwrap();
    // single or of_type<float>, big twice, and twice big or of_type<long>.
    let expected = [2200.25, 400.25, 2203.0, 403.0];
    assert_eq!(queue.download(&out).unwrap(), expected);
    if !common::lacks(&queue, Aspect::FP16) {
        let scalars = numbers!(queue, &kernels, scalars, 9);
        assert_eq!((scalars[5], scalars[6]), (100.0, 0.25));
    }
}
