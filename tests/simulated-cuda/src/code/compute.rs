// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions that only compute: their functions, and what goes around those, such as flushing,
//! saturation and carries.

use super::lower::Lower;
use super::step::Slot;
use super::{Alu, Op, Word, arithmetic, compare, convert};
use crate::ptx::{Operand, Syntax};

/// What a sum is of two operands and a carry.
type Carried = fn(u64, u64, u64) -> u64;

impl Lower<'_> {
    /// The type of an operand: of the last of `cvt`, otherwise of all.
    pub(super) fn compute(
        &mut self,
        name: &str,
        words: &[&str],
        operands: &[Operand],
    ) -> Result<(), Syntax> {
        let found = arithmetic(name, words)
            .or_else(|| convert::find(name, words))
            .or_else(|| compare::find(name, words));
        let alu = found.ok_or_else(|| self.unknown(name, words))?;
        let kind = words.last().copied().unwrap_or_default();
        let Some((to, from)) = operands.split_first() else {
            return Err(self.wrong(format!("{name} has no operands")));
        };
        let to = self.target(to)?;
        let flush = words.contains(&"ftz") && name != "cvt";
        let saturate = words.contains(&"sat") && name != "cvt" && kind.starts_with('f');
        let mut slots = Vec::with_capacity(from.len());
        for operand in from {
            let slot = self.operand(operand, kind)?;
            slots.push(if flush { self.flushed(slot) } else { slot });
        }
        self.emit_alu(alu, to, &slots)?;
        if flush && kind == "f32" {
            self.emit(Op::One(flush_single, to, to));
        }
        if saturate {
            let clamp = arithmetic("max", &[kind]).zip(arithmetic("min", &[kind]));
            let (Some((Alu::Two(max), Alu::Two(min))), Some(Alu::Convert(one))) =
                (clamp, convert::find("cvt", &["rn", kind, "u32"]))
            else {
                return Err(self.unknown(name, words));
            };
            let (zero, one) = (self.constant(0), self.constant(one.run(1)));
            self.emit(Op::Two(max, to, [to, zero]));
            self.emit(Op::Two(min, to, [to, one]));
        }
        Ok(())
    }

    pub(super) fn emit_alu(&mut self, alu: Alu, to: Slot, from: &[Slot]) -> Result<(), Syntax> {
        let op = match (alu, from) {
            (Alu::One(f), [a]) => Op::One(f, to, *a),
            (Alu::Two(f), [a, b]) => Op::Two(f, to, [*a, *b]),
            (Alu::Three(f), [a, b, c]) => Op::Three(f, to, [*a, *b, *c]),
            (Alu::Four(f), [a, b, c, d]) => Op::Four(Box::new((f, to, [*a, *b, *c, *d]))),
            (Alu::Convert(how), [a]) => Op::Convert(Box::new((how, to, *a))),
            _ => return Err(self.wrong("the number of operands is another one")),
        };
        self.emit(op);
        Ok(())
    }

    pub(super) fn flushed(&mut self, slot: Slot) -> Slot {
        let to = self.between();
        self.emit(Op::One(flush_single, to, slot));
        to
    }

    pub(super) fn convert_two(
        &mut self,
        words: &[&str],
        operands: &[Operand],
    ) -> Result<(), Syntax> {
        let how = convert::packed(words).ok_or_else(|| self.unknown("cvt", words))?;
        let to = self.target(&operands[0])?;
        let (high, low) = (self.between(), self.between());
        let from = self.operand(&operands[1], "f32")?;
        self.emit(Op::Convert(Box::new((how, high, from))));
        let from = self.operand(&operands[2], "f32")?;
        self.emit(Op::Convert(Box::new((how, low, from))));
        self.emit(Op::Two(
            |high, low| high << 16 | low & 0xffff,
            to,
            [high, low],
        ));
        Ok(())
    }

    pub(super) fn compare(
        &mut self,
        name: &str,
        words: &[&str],
        operands: &[Operand],
    ) -> Result<(), Syntax> {
        let kind = words.last().copied().unwrap_or_default();
        let unknown = || self.unknown(name, words);
        let which = words.first().copied().unwrap_or_default();
        let Some(Alu::Two(holds)) = compare::find("setp", &[which, kind]) else {
            return Err(unknown());
        };
        let [to, a, b, rest @ ..] = operands else {
            return Err(self.wrong(format!("{name} has three operands")));
        };
        let (mut a, mut b) = (self.operand(a, kind)?, self.operand(b, kind)?);
        if words.contains(&"ftz") {
            (a, b) = (self.flushed(a), self.flushed(b));
        }
        let combine: Option<fn(u64, u64) -> u64> = match words.get(1) {
            Some(&"and") => Some(|a, b| a & b),
            Some(&"or") => Some(|a, b| a | b),
            Some(&"xor") => Some(|a, b| a ^ b),
            _ => None,
        };
        let with = match (combine, rest) {
            (Some(combine), [with]) => Some((combine, self.operand(with, "pred")?)),
            (None, []) => None,
            _ => return Err(self.wrong("the number of operands is another one")),
        };
        if let (Operand::Value(..), None, "setp") = (to, with, name) {
            let to = self.target(to)?;
            self.emit(Op::Two(holds, to, [a, b]));
            return Ok(());
        }
        let (yes, no) = (self.between(), self.between());
        self.emit(Op::Two(holds, yes, [a, b]));
        self.emit(Op::One(|a| a ^ 1, no, yes));
        if let Some((combine, with)) = with {
            self.emit(Op::Two(combine, yes, [yes, with]));
            self.emit(Op::Two(combine, no, [no, with]));
        }
        if name == "set" {
            let to = self.target(to)?;
            let float = words.get(words.len().wrapping_sub(2)) == Some(&"f32");
            let one = if float { 1f32.bits() } else { 0xffff_ffff };
            let one = self.constant(one);
            self.emit(Op::Two(u64::wrapping_mul, to, [yes, one]));
            return Ok(());
        }
        let (to, to_other) = match to {
            Operand::Pair(to, other) => (self.target(to)?, Some(self.target(other)?)),
            to => (self.target(to)?, None),
        };
        self.emit(Op::Move(to, yes));
        if let Some(other) = to_other {
            self.emit(Op::Move(other, no));
        }
        Ok(())
    }

    /// Sums and differences with a carry, which is a slot of its own.
    pub(super) fn carried(
        &mut self,
        name: &str,
        words: &[&str],
        operands: &[Operand],
    ) -> Result<(), Syntax> {
        let kind = words.last().copied().unwrap_or_default();
        let wide = kind.ends_with("64");
        let [to, from @ ..] = operands else {
            return Err(self.wrong(format!("{name} has operands")));
        };
        let to = self.target(to)?;
        let mut slots = Vec::new();
        for operand in from {
            slots.push(self.operand(operand, kind)?);
        }
        if let ("mad" | "madc", [a, b, c]) = (name, &slots[..]) {
            let half = if words.contains(&"hi") { "hi" } else { "lo" };
            let product = self.between();
            let alu = arithmetic("mul", &[half, kind]).ok_or_else(|| self.unknown(name, words))?;
            let (a, b, c) = (*a, *b, *c);
            self.emit_alu(alu, product, &[a, b])?;
            slots = vec![product, c];
        }
        let [a, b] = slots[..] else {
            return Err(self.wrong("the number of operands is another one"));
        };
        let carry = match self.carry {
            Some(slot) => slot,
            None => self.between(),
        };
        self.carry = Some(carry);
        let before = if name.ends_with('c') {
            carry
        } else {
            self.constant(0)
        };
        let (result, after): (Carried, Carried) = match (name.starts_with("sub"), wide) {
            (false, false) => (
                |a, b, c| a.wrapping_add(b).wrapping_add(c),
                |a, b, c| ((a & 0xffff_ffff) + (b & 0xffff_ffff) + c) >> 32,
            ),
            (false, true) => (
                |a, b, c| a.wrapping_add(b).wrapping_add(c),
                |a, b, c| {
                    let (sum, over) = a.overflowing_add(b);
                    u64::from(over | sum.overflowing_add(c).1)
                },
            ),
            (true, false) => (
                |a, b, c| a.wrapping_sub(b).wrapping_sub(c),
                |a, b, c| u64::from((a & 0xffff_ffff) < (b & 0xffff_ffff) + c),
            ),
            (true, true) => (
                |a, b, c| a.wrapping_sub(b).wrapping_sub(c),
                |a, b, c| u64::from(u128::from(a) < u128::from(b) + u128::from(c)),
            ),
        };
        let sum = self.between();
        self.emit(Op::Three(result, sum, [a, b, before]));
        if words.contains(&"cc") {
            self.emit(Op::Three(after, carry, [a, b, before]));
        }
        self.emit(Op::Move(to, sum));
        Ok(())
    }
}

fn flush_single(bits: u64) -> u64 {
    let value = <f32 as Word>::from_bits(bits);
    if value.is_subnormal() {
        bits & 0x8000_0000
    } else {
        bits
    }
}
