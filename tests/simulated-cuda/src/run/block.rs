// SPDX-License-Identifier: MIT OR Apache-2.0
//! One block: its threads take turns, and meet at barriers.

use super::thread::{Pause, Surroundings, Thread};
use super::{Fault, warp};
use crate::code::BarrierKind;

/// How many times a thread may jump before others have their turn: so threads that wait for each
/// other without a barrier go on.
const TURN: u32 = 1 << 14;

/// Sizes, and which block it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) at: [u32; 3],
}

impl Shape {
    pub(super) fn threads(&self) -> u32 {
        self.block.iter().product()
    }
}

/// Where a block stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) fault: Fault,
    pub(crate) line: u32,
    pub(crate) block: [u32; 3],
    pub(crate) thread: [u32; 3],
}

/// Its threads, its shared memory, and the barriers that threads have arrived at.
pub(super) struct Block {
    threads: Vec<Thread>,
    shared: Vec<u128>,
    arrived: Vec<u64>,
}

impl Block {
    pub(super) fn new(shape: &Shape, shared_bytes: usize) -> Self {
        let mut threads = Vec::new();
        threads.resize_with(shape.threads() as usize, Thread::new);
        Self {
            threads,
            shared: words(shared_bytes),
            arrived: Vec::new(),
        }
    }

    /// Begins at the first step of a kernel.
    pub(super) fn begin(&mut self, around: &Surroundings<'_>, kernel: usize) {
        // A device does not clear it either: what is not written is not what one hopes for.
        self.shared.fill(u128::from_le_bytes([0xa5; 16]));
        self.arrived.clear();
        let [width, height, _] = around.shape.block;
        for (number, thread) in (0u32..).zip(self.threads.iter_mut()) {
            let id = [
                number % width,
                number / width % height,
                number / width / height,
            ];
            thread.begin(around.program, kernel, number, id);
        }
    }

    /// Gives each thread a turn. Whether all have ended.
    pub(super) fn turn(&mut self, around: &Surroundings<'_>) -> Result<bool, Stop> {
        let Self {
            threads, arrived, ..
        } = self;
        let shared_bytes = around.program.fixed_shared + around.dynamic_shared;
        let shared = &mut bytemuck::cast_slice_mut(&mut self.shared)[..shared_bytes];
        let mut moved = false;
        for thread in threads.iter_mut() {
            while thread.state == Pause::Turn {
                moved = true;
                thread.run(around, shared, TURN);
                match thread.state {
                    Pause::Failed(fault) => return Err(stop(fault, thread, around)),
                    Pause::Barrier(BarrierKind::Arrive, number, _) => {
                        arrived.push(number);
                        thread.pass();
                    }
                    _ => break,
                }
            }
        }
        moved |= warp::advance(around.program, threads);
        moved |= meet(threads, arrived);
        if threads.iter().all(|thread| thread.state == Pause::Ended) {
            return Ok(true);
        }
        if !moved {
            // A device would wait forever.
            let waits = |thread: &&Thread| thread.state != Pause::Ended;
            let waiting = threads.iter().find(waits).unwrap_or(&threads[0]);
            return Err(stop(Fault::Failed, waiting, around));
        }
        Ok(false)
    }
}

/// So many bytes, in parts of 16 bytes, so that all in it is aligned.
pub(super) fn words(bytes: usize) -> Vec<u128> {
    vec![0; bytes.div_ceil(16)]
}

fn stop(fault: Fault, thread: &Thread, around: &Surroundings<'_>) -> Stop {
    Stop {
        fault,
        line: thread.line(around.program),
        block: around.shape.at,
        thread: thread.id,
    }
}

/// Lets those go on who stand at a barrier where nobody is missing. Threads that have ended are not
/// waited for.
fn meet(threads: &mut [Thread], arrived: &mut Vec<u64>) -> bool {
    let alive = { threads.iter() }
        .filter(|thread| thread.state != Pause::Ended)
        .count();
    let mut numbers: Vec<u64> = { threads.iter() }
        .filter_map(|thread| match thread.state {
            Pause::Barrier(_, number, _) => Some(number),
            _ => None,
        })
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut moved = false;
    for number in numbers {
        let mut waiting = 0u64;
        let mut expected = alive as u64;
        let mut with = 0u64;
        for thread in threads.iter() {
            match thread.state {
                Pause::Barrier(kind, at, third) if at == number => {
                    waiting += 1;
                    match (kind, third) {
                        (BarrierKind::Sync, Some(count)) => expected = count & 0xffff_ffff,
                        (_, Some(predicate)) => with += predicate & 1,
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        let already = arrived.iter().filter(|&&at| at == number).count() as u64;
        if waiting + already < expected {
            continue;
        }
        arrived.retain(|&at| at != number);
        moved = true;
        for thread in threads.iter_mut() {
            match thread.state {
                Pause::Barrier(kind, at, _) if at == number => {
                    match kind {
                        BarrierKind::Popc(to) => thread.write(to, with),
                        BarrierKind::And(to) => thread.write(to, u64::from(with == waiting)),
                        BarrierKind::Or(to) => thread.write(to, u64::from(with > 0)),
                        BarrierKind::Sync | BarrierKind::Arrive => {}
                    }
                    thread.pass();
                }
                _ => {}
            }
        }
    }
    moved
}
