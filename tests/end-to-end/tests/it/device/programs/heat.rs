// SPDX-License-Identifier: MIT OR Apache-2.0
//! tests/programs/heat.cpp

use syclbin_rt::NdRange;

use super::{compiled, load};

const N: usize = 32;
const ALPHA: f32 = 0.2;

fn start() -> Vec<f32> {
    let half = N / 2;
    let cell = |at: usize| {
        let (row, column) = (at / N, at % N);
        let is_in_spot = |at: usize| at == half - 1 || at == half;
        if row == 0 {
            100.0
        } else if is_in_spot(row) && is_in_spot(column) {
            500.0
        } else {
            0.0
        }
    };
    (0..N * N).map(cell).collect()
}

/// A step in double precision, which the kernels approach.
fn step(old: &[f64]) -> Vec<f64> {
    let mut next = old.to_vec();
    for row in 1..N - 1 {
        for column in 1..N - 1 {
            let at = row * N + column;
            let around = old[at - N] + old[at + N] + old[at - 1] + old[at + 1];
            next[at] = old[at] + f64::from(ALPHA) * (around - 4.0 * old[at]);
        }
    }
    next
}

fn assert_near(found: &[f32], expected: &[f64]) {
    let near = |(found, expected): (&f32, &f64)| (f64::from(*found) - expected).abs() < 1e-2;
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().zip(expected).all(near), "{found:?}");
}

#[test]
fn plain_and_tiled_steps_agree_with_rust() {
    load!(queue, kernels);
    let size = [N, N];
    let mut plate = queue.zeroed::<f32>(N * N).unwrap();
    let launch = kernels.heat.initialize([N as u64; 2], (&mut plate, size));
    // SAFETY: here and below, the plate has a cell for each work-item.
    unsafe { launch.launch(size) }.unwrap();
    assert_eq!(queue.download(&plate).unwrap(), start());

    let mut next = queue.upload(&start()).unwrap();
    let launch = kernels.simple_step((&plate, size), (&mut next, size), ALPHA);
    // SAFETY: as above.
    unsafe { launch.launch([N - 2, N - 2]) }.unwrap();
    let first: Vec<f64> = start().into_iter().map(f64::from).collect();
    let second = step(&first);
    assert_near(&queue.download(&next).unwrap(), &second);

    let launch = kernels.tiled_step(
        i32::try_from(N).unwrap(),
        [10, 10],
        (&next, size),
        (&mut plate, size),
        ALPHA,
    );
    // SAFETY: as above. The cache has 8 x 8 cells and those around them.
    unsafe { launch.launch(NdRange::new(size).local([8, 8])) }.unwrap();
    assert_near(&queue.download(&plate).unwrap(), &step(&second));
}

#[test]
fn changes_are_found_and_cells_copied() {
    load!(queue, kernels);
    let size = [N, N];
    let a = queue.upload(&start()).unwrap();
    let mut other = start();
    other[37] += 2.5;
    other[99] -= 1.25;
    let mut b = queue.upload(&other).unwrap();
    let mut most = queue.zeroed::<u32>(1).unwrap();
    let launch = kernels.largest_change((&a, size), (&b, size), &mut most);
    // SAFETY: all buffers have the sizes that the kernel takes.
    unsafe { launch.launch(size) }.unwrap();
    assert_eq!(f32::from_bits(queue.download(&most).unwrap()[0]), 2.5);
    // SAFETY: as above.
    unsafe { kernels.heat.main((&mut b, size), (&a, size)).launch(size) }.unwrap();
    assert_eq!(queue.download(&b).unwrap(), start());
}
