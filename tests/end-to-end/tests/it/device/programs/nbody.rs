// SPDX-License-Identifier: MIT OR Apache-2.0
//! tests/programs/nbody.cpp
#![allow(
    clippy::cast_possible_truncation,
    reason = "single precision is compared too"
)]

use syclbin_rt::{Aspect, NdRange};

use super::compiled::nbody::{Body_double, Body_float};
use super::{compiled, load};

const COUNT: usize = 70;
const STEP: f64 = 0.01;
const SOFTENING: f32 = 0.001;
/// The work-groups that the tiled kernel is written for.
const WIDTH: usize = 32;

/// Positions on a bent line, with masses; no two are the same.
fn bodies() -> Vec<Body_double> {
    let body = |i: u8| {
        let t = f64::from(i) / 8.0;
        Body_double {
            position: [t, t * t / 16.0, 1.0 - t / 4.0, 0.25 + t / 32.0],
            velocity: [0.5, -0.25, t / 8.0, 0.0],
        }
    };
    (0u8..70).map(body).collect()
}

fn floats(of: [f64; 4]) -> [f32; 4] {
    of.map(|x| x as f32)
}

fn single(bodies: &[Body_double]) -> Vec<Body_float> {
    let body = |body: &Body_double| Body_float {
        position: floats(body.position),
        velocity: floats(body.velocity),
    };
    bodies.iter().map(body).collect()
}

fn forces(bodies: &[Body_double]) -> Vec<[f64; 4]> {
    let force = |on: &Body_double| {
        let mut force = [0.0; 4];
        for by in bodies {
            let d: [f64; 3] = std::array::from_fn(|k| by.position[k] - on.position[k]);
            let square = d.iter().map(|d| d * d).sum::<f64>() + f64::from(SOFTENING);
            let scale = by.position[3] / (square * square.sqrt());
            (0..3).for_each(|k| force[k] += d[k] * scale);
        }
        force
    };
    bodies.iter().map(force).collect()
}

fn energy(bodies: &[Body_double]) -> f64 {
    let of = |(i, own): (usize, &Body_double)| {
        let speed: f64 = own.velocity[..3].iter().map(|v| v * v).sum();
        let pairs = bodies[..i].iter().map(|other| {
            let d = (0..3).map(|k| (other.position[k] - own.position[k]).powi(2));
            let square = d.sum::<f64>() + f64::from(SOFTENING);
            own.position[3] * other.position[3] / square.sqrt()
        });
        0.5 * own.position[3] * speed - pairs.sum::<f64>()
    };
    bodies.iter().enumerate().map(of).sum()
}

#[track_caller]
fn assert_near(found: impl Iterator<Item = f64>, expected: impl Iterator<Item = f64>, limit: f64) {
    let (found, expected): (Vec<f64>, Vec<f64>) = (found.collect(), expected.collect());
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        let difference = (found - expected).abs();
        assert!(
            difference <= limit * expected.abs().max(1.0),
            "{found} {expected}"
        );
    }
}

/// One test for both precisions, which have types and stubs of their own.
macro_rules! bodies_move_as_in_rust {
    ($name:ident, $system:ident, $float:ty, $bodies:expr, $limit:expr, $aspects:expr) => {
        #[test]
        fn $name() {
            load!(queue, kernels);
            let aspects: &[Aspect] = &$aspects;
            if aspects
                .iter()
                .any(|aspect| crate::common::lacks(&queue, *aspect))
            {
                return;
            }
            let system = &kernels.nbody.$system;
            let numbers = |all: Vec<[$float; 4]>| all.into_iter().flatten().map(|x| x as f64);
            let expected = || forces(&bodies()).into_iter().flatten();
            let mut all = queue.upload(&$bodies).unwrap();
            let mut found = queue.zeroed::<[$float; 4]>(COUNT).unwrap();
            let launch = system.attract(&mut all, &mut found, COUNT as u64, SOFTENING);
            // SAFETY: here and below, the kernels stay inside of their buffers.
            unsafe { launch.launch(COUNT) }.unwrap();
            assert_near(numbers(queue.download(&found).unwrap()), expected(), $limit);

            let mut tiled = queue.zeroed::<[$float; 4]>(COUNT).unwrap();
            let launch =
                system.attract_tiled(&all, COUNT as u64, WIDTH, SOFTENING.into(), &mut tiled);
            let range = NdRange::new(COUNT.next_multiple_of(WIDTH)).local(WIDTH);
            // SAFETY: as above.
            unsafe { launch.launch(range) }.unwrap();
            assert_near(numbers(queue.download(&tiled).unwrap()), expected(), $limit);

            let mut sum = queue.zeroed::<$float>(1).unwrap();
            // SAFETY: as above.
            unsafe {
                system
                    .energy(&mut all, SOFTENING.into(), &mut sum)
                    .launch(COUNT)
            }
            .unwrap();
            let sum = queue.download(&sum).unwrap().into_iter().map(|x| x as f64);
            assert_near(sum, std::iter::once(energy(&bodies())), $limit);

            // SAFETY: as above.
            unsafe { system.Move(&mut all, &found, STEP as $float).launch(COUNT) }.unwrap();
            let moved = queue.download(&all).unwrap();
            let forces = forces(&bodies());
            let expected = bodies().into_iter().zip(forces).flat_map(|(body, force)| {
                (0..3).map(move |k| body.position[k] + STEP * (body.velocity[k] + STEP * force[k]))
            });
            let moved = moved
                .iter()
                .flat_map(|body| (0..3).map(|k| body.position[k] as f64));
            assert_near(moved, expected, $limit);
        }
    };
}

bodies_move_as_in_rust!(
    bodies_in_single_precision_move_as_in_rust,
    System_float,
    f32,
    single(&bodies()),
    1e-3,
    []
);
bodies_move_as_in_rust!(
    bodies_in_double_precision_move_as_in_rust,
    System_double,
    f64,
    bodies(),
    1e-6,
    [Aspect::FP64, Aspect::ATOMIC64]
);

#[test]
fn spin_and_count_agree_with_rust() {
    load!(queue, kernels);
    let mut all = queue.upload(&single(&bodies())).unwrap();
    // SAFETY: as above.
    unsafe { kernels.nbody.initialize(&mut all, 3).launch(COUNT) }.unwrap();
    for (found, before) in queue.download(&all).unwrap().iter().zip(single(&bodies())) {
        let [x, y, ..] = before.position;
        let expected = [-y * 3.0, x * 3.0, before.velocity[2], 0.0];
        assert_eq!(
            (found.position, found.velocity),
            (before.position, expected)
        );
    }
    let mut count = queue.zeroed::<i32>(1).unwrap();
    // SAFETY: as above.
    unsafe { kernels.nbody.main(&mut count, 512).launch(()) }.unwrap();
    assert_eq!(queue.download(&count).unwrap(), [512]);
}
