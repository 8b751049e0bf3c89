// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the 32 threads of a warp do together: they wait at the step until all that its mask names
//! are there.

use super::thread::{Pause, Thread};
use crate::code::{Program, WarpKind, WarpStep, Word};

/// Lets those go on who stand at a step of their warp where nobody is missing.
pub(super) fn advance(program: &Program, threads: &mut [Thread]) -> bool {
    let mut moved = false;
    for warp in threads.chunks_mut(32) {
        for lane in 0..warp.len() {
            if warp[lane].state == Pause::Warp {
                moved |= together(program, warp, lane);
            }
        }
    }
    moved
}

fn together(program: &Program, warp: &mut [Thread], lane: usize) -> bool {
    let Some(step) = warp[lane].warp_step(program) else {
        return false;
    };
    let position = warp[lane].position();
    let mask = warp[lane].read(step.mask) | 1 << lane;
    let named = |other: &usize| mask >> other & 1 == 1 && warp[*other].state != Pause::Ended;
    let there =
        |other: &usize| warp[*other].state == Pause::Warp && warp[*other].position() == position;
    let members: Vec<usize> = if step.kind == WarpKind::ActiveMask {
        (0..warp.len()).filter(there).collect()
    } else {
        (0..warp.len()).filter(named).collect()
    };
    if !members.iter().all(there) {
        return false;
    }
    let values: Vec<u64> = members
        .iter()
        .map(|&member| {
            let value = warp[member].read(step.operands[0]);
            if step.wide {
                value
            } else {
                value & 0xffff_ffff
            }
        })
        .collect();
    let lanes = |wanted: &dyn Fn(u64) -> bool| {
        let chosen = members.iter().zip(&values);
        let chosen = chosen.filter(|(_, value)| wanted(**value));
        chosen.fold(0u64, |all, (member, _)| all | 1 << member)
    };
    let all = lanes(&|_| true);
    let set = lanes(&|value| value & 1 == 1);
    let results: Vec<(u64, u64)> = members
        .iter()
        .zip(&values)
        .map(|(&member, &value)| match step.kind {
            WarpKind::Sync => (0, 0),
            WarpKind::ShuffleUp
            | WarpKind::ShuffleDown
            | WarpKind::ShuffleXor
            | WarpKind::ShuffleIndex => {
                let (from, inside) = source(step, &warp[member], member);
                let from = members.iter().position(|&other| other == from);
                (from.map_or(value, |from| values[from]), u64::from(inside))
            }
            WarpKind::VoteAll => (u64::from(set == all), 0),
            WarpKind::VoteAny => (u64::from(set != 0), 0),
            WarpKind::VoteUniform => (u64::from(set == all || set == 0), 0),
            WarpKind::Ballot => (set, 0),
            WarpKind::ActiveMask => (all, 0),
            WarpKind::MatchAny => (lanes(&|other| other == value), 0),
            WarpKind::MatchAll => {
                let same = lanes(&|other| other == value) == all;
                (if same { all } else { 0 }, u64::from(same))
            }
            kind => (reduced(kind, &values), 0),
        })
        .collect();
    for (&member, (value, predicate)) in members.iter().zip(results) {
        if let Some(to) = step.to {
            warp[member].write(to, value);
        }
        if let Some(to) = step.to_predicate {
            warp[member].write(to, predicate);
        }
        warp[member].pass();
    }
    true
}

/// The lane that a shuffle takes from, and whether that is within the segment.
fn source(step: &WarpStep, thread: &Thread, lane: usize) -> (usize, bool) {
    let lane = lane as u64;
    let by = thread.read(step.operands[1]) & 31;
    let control = thread.read(step.operands[2]);
    let (clamp, segment) = (control & 31, control >> 8 & 31);
    let first = lane & segment;
    let last = first | clamp & !segment;
    let (from, inside) = match step.kind {
        WarpKind::ShuffleUp => (lane.wrapping_sub(by), lane >= by + last),
        WarpKind::ShuffleDown => (lane + by, lane + by <= last),
        WarpKind::ShuffleXor => (lane ^ by, lane ^ by <= last),
        _ => {
            let from = first | by & !segment;
            (from, from <= last)
        }
    };
    (if inside { from } else { lane } as usize, inside)
}

fn reduced(kind: WarpKind, values: &[u64]) -> u64 {
    let values = values.iter().copied();
    let signed = values.clone().map(i32::from_bits);
    match kind {
        WarpKind::ReduceAdd(_) => values.fold(0, u64::wrapping_add),
        WarpKind::ReduceMin(true) => signed.min().map_or(0, Word::bits),
        WarpKind::ReduceMax(true) => signed.max().map_or(0, Word::bits),
        WarpKind::ReduceMin(false) => values.min().unwrap_or(0),
        WarpKind::ReduceMax(false) => values.max().unwrap_or(0),
        WarpKind::ReduceAnd => values.fold(u64::MAX, |all, value| all & value),
        WarpKind::ReduceOr => values.fold(0, |all, value| all | value),
        _ => values.fold(0, |all, value| all ^ value),
    }
}
