// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stars that attract each other: many steps of two prepared launches, in memory that host and device
//! share.

use std::process::ExitCode;
use std::time::Instant;

use syclbin_rt::{Result, SharedArray};

use kernels::{Star, Velocity};

syclbin_rt::include_syclbin! {
    #[allow(unsafe_code, reason = "a contract")]
    mod kernels = "nbody";

    // SAFETY: each work-item reads the first `count` stars and writes one star and one velocity.
    unsafe extern "SYCL" {
        safe fn step where from.len() >= count, to.len() >= count, velocities.len() >= count;
    }
}

const COUNT: u32 = 1024;
/// How many steps are compared with Rust, and how many there are unless an argument says otherwise.
const COMPARED: usize = 4;
const STEPS: usize = 400;
const TIME_STEP: f32 = 1e-3;
const SOFTENING: f32 = 1e-2;
/// How far the device may be from Rust: it may round square roots and quotients otherwise.
const TOLERANCE: f32 = 1e-4;

fn main() -> ExitCode {
    match run() {
        Ok(right) if right => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether device and Rust agree, and momentum stays what it was.
#[allow(clippy::print_stdout, reason = "a program for people to read")]
fn run() -> Result<bool> {
    let steps = std::env::args().nth(1).and_then(|steps| steps.parse().ok());
    let steps = steps.unwrap_or(STEPS).max(COMPARED);
    let queue = kernels::Module::best_device()?.queue()?;
    println!("device     {}", queue.device());
    let kernels = kernels::Module::load(&queue)?;

    let start: Vec<Star> = (0..COUNT).map(star).collect();
    let mut a = SharedArray::upload(&queue, &start)?;
    let mut b = SharedArray::<Star>::zeroed(&queue, start.len())?;
    let mut velocities = SharedArray::<Velocity>::zeroed(&queue, start.len())?;

    // Checked here, once. Each launch is a single call of the driver then.
    let range = COUNT as usize;
    let there = kernels
        .step(&a, &mut b, &mut velocities, COUNT, TIME_STEP, SOFTENING)
        .prepare(range)?;
    let back = kernels
        .step(&b, &mut a, &mut velocities, COUNT, TIME_STEP, SOFTENING)
        .prepare(range)?;
    let two_steps = || -> Result<()> {
        there.launch()?;
        back.launch()?;
        Ok(())
    };

    for _ in 0..COMPARED / 2 {
        two_steps()?;
    }
    let expected = in_rust(&start, COMPARED);
    // As long as a launch is prepared that writes it, the host gets a copy, not the memory itself.
    let computed = queue.download(&a)?;
    let far = expected
        .iter()
        .zip(&computed)
        .position(|(x, y)| distance(x, y) > TOLERANCE);
    if let Some(i) = far {
        eprintln!(
            "star {i} is {:?}, and in Rust {:?}",
            computed[i], expected[i]
        );
        return Ok(false);
    }
    println!("stars      {COUNT}, after {COMPARED} steps as in Rust");

    let begin = Instant::now();
    for _ in COMPARED / 2..steps / 2 {
        two_steps()?;
    }
    queue.wait()?;
    let time = begin.elapsed();
    drop((there, back));

    // No copy: the host reads what the device wrote, in place.
    let momentum = momentum(&queue.map(&a)?, &queue.map(&velocities)?);
    let still = momentum < TOLERANCE;
    println!("momentum   {momentum:.1e} after {steps} steps, none at first");
    let pairs = f64::from(COUNT) * f64::from(COUNT) * (steps - COMPARED) as f64;
    println!(
        "time       {time:.1?}, {:.0} million pairs a second",
        pairs / time.as_secs_f64() / 1e6
    );
    Ok(still)
}

/// Star `i` at the start: they lie on a spiral that fills a ball, and rest.
fn star(i: u32) -> Star {
    let part = (i as f32 + 0.5) / COUNT as f32;
    let (height, angle) = (2.0 * part - 1.0, 2.4 * i as f32);
    let radius = part.cbrt() * (1.0 - height * height).sqrt();
    Star {
        x: radius * angle.cos(),
        y: radius * angle.sin(),
        z: part.cbrt() * height,
        mass: 1.0 / COUNT as f32,
    }
}

/// What the kernel computes, in Rust: the stars after so many steps.
fn in_rust(start: &[Star], steps: usize) -> Vec<Star> {
    let mut stars = start.to_vec();
    let mut velocities = vec![[0.0f32; 3]; stars.len()];
    for _ in 0..steps {
        let from = stars.clone();
        for (star, velocity) in stars.iter_mut().zip(&mut velocities) {
            let mut pulled = [0.0f32; 3];
            for other in &from {
                let to_other = [other.x - star.x, other.y - star.y, other.z - star.z];
                let squared = to_other.iter().map(|d| d * d).sum::<f32>() + SOFTENING;
                let pull = other.mass / (squared * squared.sqrt());
                for (sum, d) in pulled.iter_mut().zip(to_other) {
                    *sum += pull * d;
                }
            }
            for (velocity, pulled) in velocity.iter_mut().zip(pulled) {
                *velocity += TIME_STEP * pulled;
            }
            star.x += TIME_STEP * velocity[0];
            star.y += TIME_STEP * velocity[1];
            star.z += TIME_STEP * velocity[2];
        }
    }
    stars
}

fn distance(one: &Star, other: &Star) -> f32 {
    let squares = [one.x - other.x, one.y - other.y, one.z - other.z].map(|d| d * d);
    squares.iter().sum::<f32>().sqrt()
}

/// The length of the sum of all mass times velocity.
fn momentum(stars: &[Star], velocities: &[Velocity]) -> f32 {
    let mut sum = [0.0f32; 3];
    for (star, velocity) in stars.iter().zip(velocities) {
        for (sum, v) in sum.iter_mut().zip([velocity.x, velocity.y, velocity.z]) {
            *sum += star.mass * v;
        }
    }
    sum.map(|p| p * p).iter().sum::<f32>().sqrt()
}
