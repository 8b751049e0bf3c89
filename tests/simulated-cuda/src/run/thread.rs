// SPDX-License-Identifier: MIT OR Apache-2.0
//! One thread: it runs until it ends, fails, has to wait for others, or has had its turn.

use super::access::{load, locate, special_value, store};
use super::block::Shape;
use super::{Fault, View};
use crate::code::{BarrierKind, Code, NO_GUARD, Op, Program, WarpStep};

/// How many calls may be inside of each other.
const DEEPEST: usize = 256;
/// How many bytes the frames of a thread may have together.
pub(crate) const MOST_LOCAL: usize = 512 << 10;

/// What all threads of a block share.
pub(super) struct Surroundings<'a> {
    pub(super) program: &'a Program,
    pub(super) view: &'a View,
    pub(super) parameters: &'a [u8],
    pub(super) shape: Shape,
    pub(super) dynamic_shared: usize,
    /// Where the blocks of a cooperative launch meet, or 0.
    pub(super) workspace: u64,
    /// When the launch began, for clocks.
    pub(super) began: std::time::Instant,
}

/// Why a thread does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    /// Others may run; this one goes on later.
    Turn,
    Ended,
    /// It stands at a barrier: the kind, its number, and how many have to come, or the predicate.
    Barrier(BarrierKind, u64, Option<u64>),
    /// It stands at a step of its warp.
    Warp,
    Failed(Fault),
}

#[derive(Debug, Clone, Copy, Default)]
struct Frame {
    code: usize,
    next: usize,
    slots: usize,
    local: usize,
}

/// Its registers and its memory.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) id: [u32; 3],
    /// Its number in the block.
    pub(super) number: u32,
    pub(super) state: Pause,
    frame: Frame,
    callers: Vec<Frame>,
    slots: Vec<u64>,
    /// In parts of 16 bytes, so that all in it is aligned.
    local: Vec<u128>,
}

impl Thread {
    pub(super) fn new() -> Self {
        Self {
            id: [0; 3],
            number: 0,
            state: Pause::Ended,
            frame: Frame::default(),
            callers: Vec::new(),
            slots: Vec::new(),
            local: Vec::new(),
        }
    }

    /// Begins at the first step of a kernel.
    pub(super) fn begin(&mut self, program: &Program, kernel: usize, number: u32, id: [u32; 3]) {
        self.id = id;
        self.number = number;
        self.state = Pause::Turn;
        self.callers.clear();
        self.slots.clear();
        self.local.clear();
        self.frame = Frame {
            code: kernel,
            ..Frame::default()
        };
        self.enter(&program.codes[kernel]);
    }

    fn enter(&mut self, code: &Code) {
        let Frame { slots, local, .. } = self.frame;
        self.slots.resize(slots + code.slots, 0);
        self.slots[slots + code.registers..].copy_from_slice(&code.template);
        self.local.resize((local + code.local_bytes) / 16, 0);
    }

    /// The step that it stands at, if that is one of its warp.
    pub(super) fn warp_step<'a>(&self, program: &'a Program) -> Option<&'a WarpStep> {
        match &program.codes[self.frame.code]
            .steps
            .get(self.frame.next)?
            .op
        {
            Op::Warp(step) => Some(step),
            _ => None,
        }
    }

    /// Where it stands, so that two threads can be told to be at the same step.
    pub(super) fn position(&self) -> (usize, usize) {
        (self.frame.code, self.frame.next)
    }

    pub(super) fn read(&self, slot: u32) -> u64 {
        self.slots[self.frame.slots + slot as usize]
    }

    pub(super) fn write(&mut self, slot: u32, value: u64) {
        self.slots[self.frame.slots + slot as usize] = value;
    }

    /// Goes on behind the step that it stood at.
    pub(super) fn pass(&mut self) {
        self.frame.next += 1;
        self.state = Pause::Turn;
    }

    /// The line of the text that it stands at.
    pub(super) fn line(&self, program: &Program) -> u32 {
        let lines = &program.codes[self.frame.code].lines;
        lines.get(self.frame.next).copied().unwrap_or(0)
    }

    /// Runs at most so many steps.
    pub(super) fn run(&mut self, around: &Surroundings<'_>, shared: &mut [u8], turn: u32) {
        let mut left = turn;
        loop {
            match self.steps(around, shared, &mut left) {
                Next::Again => {}
                Next::Pause(pause) => {
                    self.state = pause;
                    return;
                }
            }
        }
    }

    /// Runs steps of one function.
    fn steps(&mut self, around: &Surroundings<'_>, shared: &mut [u8], left: &mut u32) -> Next {
        let code = &around.program.codes[self.frame.code];
        let steps = &code.steps[..];
        let local_base = self.frame.local;
        let slots = &mut self.slots[self.frame.slots..self.frame.slots + code.slots];
        let mut next = self.frame.next;
        let pause = loop {
            let Some(step) = steps.get(next) else {
                break Pause::Failed(Fault::Failed);
            };
            if step.guard != NO_GUARD {
                let predicate = slots[(step.guard >> 1) as usize] & 1;
                if predicate == u64::from(step.guard & 1) {
                    next += 1;
                    continue;
                }
            }
            match &step.op {
                Op::One(f, to, a) => slots[*to as usize] = f(slots[*a as usize]),
                Op::Two(f, to, [a, b]) => {
                    slots[*to as usize] = f(slots[*a as usize], slots[*b as usize]);
                }
                Op::Three(f, to, [a, b, c]) => {
                    let value = f(slots[*a as usize], slots[*b as usize], slots[*c as usize]);
                    slots[*to as usize] = value;
                }
                Op::Four(all) => {
                    let (f, to, [a, b, c, d]) = &**all;
                    let read = |slot: &u32| slots[*slot as usize];
                    slots[*to as usize] = f(read(a), read(b), read(c), read(d));
                }
                Op::Convert(all) => slots[all.1 as usize] = all.0.run(slots[all.2 as usize]),
                Op::Move(to, from) => slots[*to as usize] = slots[*from as usize],
                Op::FrameAddress(to, at) => {
                    slots[*to as usize] = (local_base + *at as usize) as u64;
                }
                Op::Special(to, special) => {
                    slots[*to as usize] =
                        special_value(*special, self.id, self.number, around, shared.len());
                }
                Op::Load { to, signed, from } => {
                    let base = slots[from.base as usize];
                    match locate(
                        from,
                        base,
                        local_base,
                        around,
                        shared,
                        bytemuck::cast_slice_mut(&mut self.local),
                        false,
                    ) {
                        Ok(place) => slots[*to as usize] = load(place, from.width, *signed),
                        Err(fault) => break Pause::Failed(fault),
                    }
                }
                Op::Store { from, to } => {
                    let base = slots[to.base as usize];
                    match locate(
                        to,
                        base,
                        local_base,
                        around,
                        shared,
                        bytemuck::cast_slice_mut(&mut self.local),
                        true,
                    ) {
                        Ok(place) => store(place, to.width, slots[*from as usize]),
                        Err(fault) => break Pause::Failed(fault),
                    }
                }
                Op::Atomic(step) => {
                    let at = &step.at;
                    let base = slots[at.base as usize];
                    match locate(
                        at,
                        base,
                        local_base,
                        around,
                        shared,
                        bytemuck::cast_slice_mut(&mut self.local),
                        true,
                    ) {
                        Ok(place) => {
                            let old = load(place, at.width, false);
                            let [b, c] = step.operands.map(|slot| slots[slot as usize]);
                            store(place, at.width, (step.compute)(old, b, c));
                            if let Some(to) = step.to {
                                slots[to as usize] = old;
                            }
                        }
                        Err(fault) => break Pause::Failed(fault),
                    }
                }
                Op::Jump(to) => {
                    next = *to as usize;
                    // Only what jumps back can go on forever.
                    *left = left.saturating_sub(1);
                    if *left == 0 {
                        break Pause::Turn;
                    }
                    continue;
                }
                Op::Choose(index, targets) => {
                    let index = slots[*index as usize] & 0xffff_ffff;
                    let Some(target) = usize::try_from(index).ok().and_then(|i| targets.get(i))
                    else {
                        break Pause::Failed(Fault::Failed);
                    };
                    next = *target as usize;
                    continue;
                }
                Op::Call(call) => {
                    let function = match call.function {
                        Ok(number) => Some(number as usize),
                        Err(slot) => around.program.at(slots[slot as usize]),
                    };
                    self.frame.next = next;
                    let Some(function) = function else {
                        break Pause::Failed(Fault::Failed);
                    };
                    return self.call(around.program, function, &call.arguments);
                }
                Op::Return => {
                    self.frame.next = next;
                    return self.leave(around.program);
                }
                Op::Exit => break Pause::Ended,
                Op::Trap => break Pause::Failed(Fault::Failed),
                Op::Assert => break Pause::Failed(Fault::Assertion),
                Op::Barrier(barrier) => {
                    let (kind, number, third) = **barrier;
                    let third = third.map(|slot| slots[slot as usize]);
                    break Pause::Barrier(kind, slots[number as usize] & 0xffff_ffff, third);
                }
                Op::Warp(_) => break Pause::Warp,
            }
            next += 1;
        };
        self.frame.next = next;
        Next::Pause(pause)
    }

    fn call(&mut self, program: &Program, function: usize, arguments: &[u32]) -> Next {
        let caller = self.frame;
        let code = &program.codes[function];
        let above = &program.codes[caller.code];
        let local = caller.local + above.local_bytes;
        if self.callers.len() >= DEEPEST || local + code.local_bytes > MOST_LOCAL {
            return Next::Pause(Pause::Failed(Fault::Stack));
        }
        self.callers.push(caller);
        self.frame = Frame {
            code: function,
            next: 0,
            slots: caller.slots + above.slots,
            local,
        };
        self.slots.truncate(self.frame.slots);
        self.local.truncate(local / 16);
        self.enter(code);
        for (parameter, from) in code.parameters.iter().zip(arguments) {
            let from = caller.local + *from as usize;
            let end = (from + parameter.size).min(local);
            let to = local + parameter.offset;
            bytemuck::cast_slice_mut::<u128, u8>(&mut self.local).copy_within(from..end, to);
        }
        Next::Again
    }

    fn leave(&mut self, program: &Program) -> Next {
        let Some(caller) = self.callers.pop() else {
            return Next::Pause(Pause::Ended);
        };
        let code = &program.codes[self.frame.code];
        if let Op::Call(call) = &program.codes[caller.code].steps[caller.next].op {
            for (result, to) in code.results.iter().zip(&call.results) {
                let from = self.frame.local + result.offset;
                let to = caller.local + *to as usize;
                let size = result.size.min(self.frame.local - to);
                bytemuck::cast_slice_mut::<u128, u8>(&mut self.local)
                    .copy_within(from..from + size, to);
            }
        }
        self.frame = caller;
        self.frame.next += 1;
        Next::Again
    }
}

/// Whether it goes on in another function, or not.
enum Next {
    Again,
    Pause(Pause),
}
