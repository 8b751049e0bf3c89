// SPDX-License-Identifier: MIT OR Apache-2.0
//! A launch: its blocks, one after another.

use super::View;
use super::block::{self, Shape, Stop};
use super::thread::{Surroundings, Thread};
use crate::code::Program;

/// What is launched.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) program: &'a Program,
    /// The number of the kernel.
    pub(crate) kernel: usize,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared: usize,
    pub(crate) parameters: &'a [u8],
}

/// Runs a kernel to its end.
pub(crate) fn launch(launch: &Launch<'_>, view: &View) -> Result<(), Stop> {
    let words = |bytes: usize| vec![0u128; bytes.div_ceil(16)];
    let mut parameters = words(launch.parameters.len());
    bytemuck::cast_slice_mut(&mut parameters)[..launch.parameters.len()]
        .copy_from_slice(launch.parameters);
    let parameters = &bytemuck::cast_slice(&parameters)[..launch.parameters.len()];
    let shared_bytes = launch.program.fixed_shared + launch.dynamic_shared;
    let mut shared = words(shared_bytes);
    let mut around = Surroundings {
        program: launch.program,
        view,
        parameters,
        shape: Shape {
            grid: launch.grid,
            block: launch.block,
            at: [0; 3],
        },
        dynamic_shared: launch.dynamic_shared,
        began: std::time::Instant::now(),
    };
    let mut threads = Vec::new();
    threads.resize_with(around.shape.threads() as usize, Thread::new);
    for z in 0..launch.grid[2] {
        for y in 0..launch.grid[1] {
            for x in 0..launch.grid[0] {
                around.shape.at = [x, y, z];
                // A device does not clear it either: what is not written is not what one hopes for.
                shared.fill(u128::from_le_bytes([0xa5; 16]));
                let shared = &mut bytemuck::cast_slice_mut(&mut shared)[..shared_bytes];
                block::run(&around, launch.kernel, &mut threads, shared)?;
            }
        }
    }
    Ok(())
}
