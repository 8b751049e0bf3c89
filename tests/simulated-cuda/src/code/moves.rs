// SPDX-License-Identifier: MIT OR Apache-2.0
//! Moves of registers and between address spaces.

use super::lower::{FUNCTIONS, Lower};
use super::step::Slot;
use super::{LOCAL_WINDOW, Op, PARAMETER_WINDOW, SHARED_WINDOW, WINDOW};
use crate::ptx::{Operand, Syntax};

impl Lower<'_> {
    pub(super) fn mov(&mut self, words: &[&str], operands: &[Operand]) -> Result<(), Syntax> {
        let kind = words.last().copied().unwrap_or_default();
        match operands {
            [Operand::Vector(to), from] => {
                let from = self.operand(from, kind)?;
                self.take_apart(kind, to, from)
            }
            [to, Operand::Vector(from)] => {
                let to = self.target(to)?;
                self.put_together(kind, to, from)
            }
            [to, from] => {
                let to = self.target(to)?;
                self.move_to(to, from, kind)
            }
            _ => Err(self.wrong("mov has two operands")),
        }
    }

    pub(super) fn take_apart(
        &mut self,
        kind: &str,
        to: &[Operand],
        from: Slot,
    ) -> Result<(), Syntax> {
        let bits = if kind.ends_with("64") { 64 } else { 32 };
        // The source may be one of the targets.
        let copy = self.between();
        self.emit(Op::Move(copy, from));
        let each = bits / to.len().max(1);
        let mask = self.constant(u64::MAX >> (64 - each.clamp(1, 64)));
        for (number, to) in to.iter().enumerate() {
            let to = self.target(to)?;
            let shift = self.constant((number * each) as u64);
            self.emit(Op::Three(
                |a, by, mask| a >> by & mask,
                to,
                [copy, shift, mask],
            ));
        }
        Ok(())
    }

    pub(super) fn put_together(
        &mut self,
        kind: &str,
        to: Slot,
        from: &[Operand],
    ) -> Result<(), Syntax> {
        let bits = if kind.ends_with("64") { 64 } else { 32 };
        let each = bits / from.len().max(1);
        let shift = self.constant(each as u64 % 64);
        let mask = self.constant(u64::MAX >> (64 - each.clamp(1, 64)));
        let sum = self.between();
        let zero = self.constant(0);
        self.emit(Op::Move(sum, zero));
        for from in from.iter().rev() {
            let from = self.operand(from, "")?;
            let one = self.between();
            self.emit(Op::Two(|a, mask| a & mask, one, [from, mask]));
            self.emit(Op::Three(
                |sum, by, one| sum << by | one,
                sum,
                [sum, shift, one],
            ));
        }
        self.emit(Op::Move(to, sum));
        Ok(())
    }

    pub(super) fn window(words: &[&str]) -> u64 {
        let has = |space: &str| {
            words
                .iter()
                .any(|word| word.split("::").next() == Some(space))
        };
        match () {
            () if has("shared") => SHARED_WINDOW,
            () if has("local") => LOCAL_WINDOW,
            () if has("param") => PARAMETER_WINDOW,
            () => 0,
        }
    }

    pub(super) fn convert_address(
        &mut self,
        words: &[&str],
        operands: &[Operand],
    ) -> Result<(), Syntax> {
        let [to, from] = operands else {
            return Err(self.wrong("cvta has two operands"));
        };
        let window = Self::window(words);
        let by = if words.contains(&"to") {
            window.wrapping_neg()
        } else {
            window
        };
        let (to, from) = (self.target(to)?, self.operand(from, "u64")?);
        if by == 0 {
            self.emit(Op::Move(to, from));
        } else {
            let by = self.constant(by);
            self.emit(Op::Two(u64::wrapping_add, to, [from, by]));
        }
        Ok(())
    }

    pub(super) fn is_space(&mut self, words: &[&str], operands: &[Operand]) -> Result<(), Syntax> {
        let [to, from] = operands else {
            return Err(self.wrong("isspacep has two operands"));
        };
        let (to, from) = (self.target(to)?, self.operand(from, "u64")?);
        let window = self.constant(Self::window(words));
        self.emit(Op::Two(
            |a, window| match window {
                0 => u64::from(a >= FUNCTIONS),
                window => u64::from(a.wrapping_sub(window) < WINDOW),
            },
            to,
            [from, window],
        ));
        Ok(())
    }
}
