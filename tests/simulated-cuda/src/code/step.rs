// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps: what an interpreter does one after another.

use std::sync::atomic::AtomicU32;

use super::convert::Convert;
use crate::ptx::Special;

/// A slot of the frame: a register, something in between, or a constant.
pub(crate) type Slot = u32;

/// A step that always runs.
pub(crate) const NO_GUARD: u32 = u32::MAX;

/// One step.
#[derive(Debug)]
pub(crate) struct Step {
    /// Twice the slot of a predicate, and one more if that is to be false; or [`NO_GUARD`].
    pub(crate) guard: u32,
    pub(crate) op: Op,
}

/// A function of operands.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Alu {
    One(fn(u64) -> u64),
    Two(fn(u64, u64) -> u64),
    Three(fn(u64, u64, u64) -> u64),
    Four(fn(u64, u64, u64, u64) -> u64),
    Convert(Convert),
}

/// Which memory an address is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Generic,
    Global,
    Shared,
    Local,
    Parameter,
    /// The frame of the function; the base is not looked at.
    Frame,
}

/// An address and how much is there.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) reach: Reach,
    pub(crate) base: Slot,
    pub(crate) offset: i64,
    /// Bytes, of this element.
    pub(crate) width: u8,
    /// What the address has to be a multiple of.
    pub(crate) align: u8,
    /// The allocation that it was in the last time.
    pub(crate) hint: AtomicU32,
}

/// A function of four operands, where the result goes and where they are.
pub(crate) type Quaternary = (fn(u64, u64, u64, u64) -> u64, Slot, [Slot; 4]);

/// What a step does.
#[derive(Debug)]
pub(crate) enum Op {
    One(fn(u64) -> u64, Slot, Slot),
    Two(fn(u64, u64) -> u64, Slot, [Slot; 2]),
    Three(fn(u64, u64, u64) -> u64, Slot, [Slot; 3]),
    Four(Box<Quaternary>),
    Convert(Box<(Convert, Slot, Slot)>),
    Move(Slot, Slot),
    /// The address of something in the frame, in local memory.
    FrameAddress(Slot, u32),
    Special(Slot, Special),
    Load {
        to: Slot,
        signed: bool,
        from: Box<Access>,
    },
    Store {
        from: Slot,
        to: Box<Access>,
    },
    Atomic(Box<AtomicStep>),
    Jump(u32),
    /// A jump to one of a list.
    Choose(Slot, Box<[u32]>),
    Call(Box<CallStep>),
    Return,
    Exit,
    Trap,
    /// An assertion of the kernel failed.
    Assert,
    Barrier(Box<(BarrierKind, Slot, Option<Slot>)>),
    Warp(Box<WarpStep>),
}

/// Reads, computes and writes as one.
#[derive(Debug)]
pub(crate) struct AtomicStep {
    pub(crate) to: Option<Slot>,
    pub(crate) at: Access,
    /// From what is there and up to two operands.
    pub(crate) compute: fn(u64, u64, u64) -> u64,
    pub(crate) operands: [Slot; 2],
}

/// A call of a function.
#[derive(Debug)]
pub(crate) struct CallStep {
    /// Its number; or a slot with its address.
    pub(crate) function: Result<u32, Slot>,
    /// Where arguments and results lie in the frame of the caller.
    pub(crate) arguments: Box<[u32]>,
    pub(crate) results: Box<[u32]>,
}

/// What a barrier gives to those who meet there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    /// Nothing; the slot is not looked at.
    Sync,
    /// It does not wait.
    Arrive,
    /// How many have a predicate, whether all have it, whether any has it; and where to write that.
    Popc(Slot),
    And(Slot),
    Or(Slot),
}

/// What the threads of a warp do together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WarpKind {
    /// `bar.warp.sync`
    Sync,
    /// The lane to take from: `clamp` and segments are in the third operand.
    ShuffleUp,
    ShuffleDown,
    ShuffleXor,
    ShuffleIndex,
    VoteAll,
    VoteAny,
    VoteUniform,
    Ballot,
    MatchAny,
    MatchAll,
    ReduceAdd(bool),
    ReduceMin(bool),
    ReduceMax(bool),
    ReduceAnd,
    ReduceOr,
    ReduceXor,
    ActiveMask,
}

/// A step that the threads of a warp take together.
#[derive(Debug)]
pub(crate) struct WarpStep {
    pub(crate) kind: WarpKind,
    pub(crate) to: Option<Slot>,
    /// Whether a shuffle was within its range, or all values matched.
    pub(crate) to_predicate: Option<Slot>,
    pub(crate) operands: [Slot; 3],
    /// Who takes part.
    pub(crate) mask: Slot,
    /// Whether values have 64 bits.
    pub(crate) wide: bool,
}
