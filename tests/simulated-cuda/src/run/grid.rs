// SPDX-License-Identifier: MIT OR Apache-2.0
//! A launch: its blocks, one after another, or in turns if it is cooperative.

use super::View;
use super::block::{Block, Shape, Stop, words};
use super::thread::Surroundings;
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
    /// Where the blocks of a cooperative launch meet, or 0.
    pub(crate) workspace: u64,
}

/// Runs a kernel to its end.
pub(crate) fn launch(launch: &Launch<'_>, view: &View) -> Result<(), Stop> {
    let mut parameters = words(launch.parameters.len());
    bytemuck::cast_slice_mut(&mut parameters)[..launch.parameters.len()]
        .copy_from_slice(launch.parameters);
    let parameters = &bytemuck::cast_slice(&parameters)[..launch.parameters.len()];
    let shared_bytes = launch.program.fixed_shared + launch.dynamic_shared;
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
        workspace: launch.workspace,
        began: std::time::Instant::now(),
    };
    let [width, height, depth] = launch.grid;
    let rows = (0..depth).flat_map(|z| (0..height).map(move |y| (y, z)));
    let places = rows.flat_map(|(y, z)| (0..width).map(move |x| [x, y, z]));
    if launch.workspace == 0 {
        let mut block = Block::new(&around.shape, shared_bytes);
        for at in places {
            around.shape.at = at;
            block.begin(&around, launch.kernel);
            while !block.turn(&around)? {}
        }
        return Ok(());
    }
    let mut left: Vec<_> = places
        .map(|at| (at, Block::new(&around.shape, shared_bytes)))
        .collect();
    for (at, block) in &mut left {
        around.shape.at = *at;
        block.begin(&around, launch.kernel);
    }
    while !left.is_empty() {
        let mut still = Vec::new();
        for (at, mut block) in left {
            around.shape.at = at;
            if !block.turn(&around)? {
                still.push((at, block));
            }
        }
        left = still;
    }
    Ok(())
}
