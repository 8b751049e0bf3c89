// SPDX-License-Identifier: MIT OR Apache-2.0
//! From what a text says to steps that run: registers and constants are slots of a frame, labels
//! are indices, symbols are addresses, and arithmetic is a function pointer.

mod bits;
mod calls;
mod casts;
mod compare;
mod compute;
mod convert;
mod floating;
mod integer;
mod lower;
mod memory;
mod moves;
mod program;
mod rounding;
mod step;
mod word;

pub(crate) use program::{Code, Linked, Program};
pub(crate) use step::{Access, Alu, BarrierKind, NO_GUARD, Op, Reach, Step, WarpKind, WarpStep};
pub(crate) use word::Word;

/// Where generic addresses of shared memory begin. No process maps anything as low as this.
pub(crate) const SHARED_WINDOW: u64 = 0x0100_0000;
/// Where generic addresses of local memory begin.
pub(crate) const LOCAL_WINDOW: u64 = 0x0200_0000;
/// Where generic addresses of the kernel's parameters begin.
pub(crate) const PARAMETER_WINDOW: u64 = 0x0300_0000;
/// How large each of these is.
pub(crate) const WINDOW: u64 = 0x0100_0000;

/// The function of an instruction that only computes.
fn arithmetic(name: &str, modifiers: &[&str]) -> Option<Alu> {
    let kind = *modifiers.last()?;
    match kind {
        "f32" | "f64" | "f16" | "f16x2" | "bf16" | "bf16x2" => {
            floating::find(name, modifiers, kind)
        }
        _ => integer::find(name, modifiers, kind),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What an instruction makes of its operands, without a kernel around it.
    pub(crate) fn run(words: &str, operands: &[u64]) -> u64 {
        let mut words = words.split('.');
        let name = words.next().expect("it has a name");
        let modifiers: Vec<_> = words.collect();
        let alu = arithmetic(name, &modifiers)
            .or_else(|| convert::find(name, &modifiers))
            .or_else(|| compare::find(name, &modifiers));
        match (alu.expect("it is known"), operands) {
            (Alu::One(f), [a]) => f(*a),
            (Alu::Two(f), [a, b]) => f(*a, *b),
            (Alu::Three(f), [a, b, c]) => f(*a, *b, *c),
            (Alu::Four(f), [a, b, c, d]) => f(*a, *b, *c, *d),
            (Alu::Convert(how), [a]) => how.run(*a),
            _ => unreachable!("{name} has another number of operands"),
        }
    }
}
