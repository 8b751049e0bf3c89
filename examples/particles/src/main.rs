// SPDX-License-Identifier: MIT OR Apache-2.0
//! A ring of particles on springs, shaken and left alone: its energy stays what it was.

use std::ops::{Add, Mul, Sub};
use std::process::ExitCode;
use std::time::Instant;

use syclbin_rt::bytemuck::{Pod, Zeroable};
use syclbin_rt::{Buffer, Queue, Result};

use kernels::{Particle, World};

syclbin_rt::include_syclbin! {
    #[allow(unsafe_code, reason = "a contract")]
    mod kernels = "particles";

    // `Particle` and `World` are written from the C++ structs. `Vec3` is the one of this program,
    // as it can be added; that it is laid out like the one in C++ is checked when this compiles.
    types { Vec3 => crate::Vec3 }

    // SAFETY: work-item i moves particle i, for i < count. The other kernels follow indices in a buffer,
    // which no contract sees: those stay unsafe.
    unsafe extern "SYCL" {
        safe fn advance where particles.len() >= world.count;
    }
}

/// Three numbers, laid out like `Vec3` of kernels/particles.cpp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[bytemuck(crate = "syclbin_rt::bytemuck")]
#[repr(C)]
struct Vec3 {
    x: f32,
    y: f32,
    z: f32,
}

const COUNT: u32 = 1024;
const STEPS: usize = 1000;
/// How far the device may be from Rust: it may round square roots and quotients otherwise.
const TOLERANCE: f32 = 1e-2;

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

/// Whether device and Rust agree.
#[allow(clippy::print_stdout, reason = "a program for people to read")]
fn run() -> Result<bool> {
    let queue = kernels::Module::best_device()?.queue()?;
    println!("device     {}", queue.device());
    let kernels = kernels::Module::load(&queue)?;
    let world = World {
        stiffness: 10.0,
        length: 1.0,
        time_step: 0.02,
        count: COUNT,
    };
    let mut particles = ring();
    let mut on_device = queue.upload(&particles)?;

    let before = energy(&queue, &kernels, world, &on_device)?;
    let start = Instant::now();
    for _ in 0..STEPS {
        step(&kernels, world, &mut on_device)?;
    }
    queue.wait()?;
    let time = start.elapsed();
    let after = energy(&queue, &kernels, world, &on_device)?;
    println!("particles  {COUNT}, {STEPS} steps in {time:.1?}");
    println!("energy     {before:.2} before, {after:.2} after");

    for _ in 0..STEPS {
        step_in_rust(&world, &mut particles);
    }
    let moved = queue.download(&on_device)?;
    let apart = moved.iter().zip(&particles);
    let apart = apart.map(|(device, rust)| (device.position - rust.position).length());
    let apart = apart.fold(0.0, f32::max);
    // Written so that NaN counts as wrong.
    let right = apart < TOLERANCE && (after - before).abs() < before / 100.0;
    if right {
        println!("positions  as in Rust, to {apart:.0e}");
    } else {
        eprintln!("device and Rust are {apart} apart, or the energy is not what it was");
    }
    Ok(right)
}

/// One step in time, on the device.
fn step(kernels: &kernels::Module, world: World, particles: &mut Buffer<Particle>) -> Result<()> {
    let range = particles.len();
    let accelerate = kernels.accelerate(world, particles);
    // SAFETY: there are `world.count` particles, and `ring` gives each neighbours among these.
    #[allow(unsafe_code, reason = "indices in a buffer are beyond a contract")]
    unsafe {
        accelerate.launch(range)?
    };
    kernels.advance(world, particles).launch(range)?;
    Ok(())
}

/// The energy of all particles, from the device.
fn energy(
    queue: &Queue,
    kernels: &kernels::Module,
    world: World,
    particles: &Buffer<Particle>,
) -> Result<f64> {
    let mut energies = queue.zeroed::<f32>(particles.len())?;
    let energy = kernels.energy(world, particles, &mut energies);
    // SAFETY: as in `step`; there is an energy for each particle.
    #[allow(unsafe_code, reason = "indices in a buffer are beyond a contract")]
    unsafe {
        energy.launch(particles.len())?
    };
    let energies = queue.download(&energies)?;
    Ok(energies.into_iter().map(f64::from).sum())
}

/// A ring of springs at rest, but for a wave that runs around it.
fn ring() -> Vec<Particle> {
    let turn = std::f32::consts::TAU;
    let radius = COUNT as f32 / turn;
    let particle = |index: u32| {
        let angle = index as f32 / COUNT as f32 * turn;
        let (y, x) = angle.sin_cos();
        Particle {
            position: radius * Vec3 { x, y, z: 0.0 },
            velocity: 2.0 * (8.0 * angle).sin() * Vec3 { x, y, z: 1.0 },
            mass: 1.0 + (index % 3) as f32,
            neighbours: [(index + COUNT - 1) % COUNT, (index + 1) % COUNT],
        }
    };
    (0..COUNT).map(particle).collect()
}

/// What `accelerate` and `advance` do.
fn step_in_rust(world: &World, particles: &mut [Particle]) {
    for index in 0..particles.len() {
        let particle = particles[index];
        let mut force = Vec3::default();
        for neighbour in particle.neighbours {
            let spring = particles[neighbour as usize].position - particle.position;
            let length = spring.length();
            force = force + world.stiffness * (length - world.length) / length * spring;
        }
        particles[index].velocity = particle.velocity + world.time_step / particle.mass * force;
    }
    for particle in particles {
        particle.position = particle.position + world.time_step * particle.velocity;
    }
}

impl Vec3 {
    fn length(self) -> f32 {
        (self.x * self.x + self.y * self.y + self.z * self.z).sqrt()
    }
}

impl Add for Vec3 {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            x: self.x + other.x,
            y: self.y + other.y,
            z: self.z + other.z,
        }
    }
}

impl Sub for Vec3 {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -1.0 * other
    }
}

impl Mul<Vec3> for f32 {
    type Output = Vec3;

    fn mul(self, vector: Vec3) -> Vec3 {
        Vec3 {
            x: self * vector.x,
            y: self * vector.y,
            z: self * vector.z,
        }
    }
}
