// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control flow, calls, and what threads do together.

use super::lower::{Lower, Symbol};
use super::step::{BarrierKind, CallStep, Op, WarpKind, WarpStep};
use crate::ptx::{Operand, Place, Syntax};

impl Lower<'_> {
    pub(super) fn control(&mut self, name: &str, operands: &[Operand]) -> Result<(), Syntax> {
        match (name, operands) {
            ("ret", []) => self.emit(Op::Return),
            ("exit", []) => self.emit(Op::Exit),
            ("trap" | "brkpt", []) => self.emit(Op::Trap),
            ("bra", [Operand::Label(label)]) => self.emit_jump(Op::Jump(0), vec![*label]),
            ("brx", [index, Operand::Table(table)]) => {
                let index = self.operand(index, "u32")?;
                let labels = self.function.tables[*table].clone();
                self.emit_jump(Op::Choose(index, Box::default()), labels);
            }
            ("call", operands) => return self.call(operands),
            _ => return Err(self.wrong(format!("{name} with such operands is not known"))),
        }
        Ok(())
    }

    fn call(&mut self, operands: &[Operand]) -> Result<(), Syntax> {
        let (results, rest) = match operands {
            [Operand::List(results), rest @ ..] => (&results[..], rest),
            rest => (&[][..], rest),
        };
        let (target, rest) = rest
            .split_first()
            .ok_or_else(|| self.wrong("a call of nothing"))?;
        let arguments = match rest {
            [Operand::List(arguments), ..] => &arguments[..],
            _ => &[],
        };
        let function = match target {
            Operand::Value(Place::Symbol(name), 0) => match self.symbol(name)? {
                Symbol::Function(number) => Ok(number),
                _ => return Err(self.wrong(format!("{name} is no function"))),
            },
            Operand::Value(Place::Register(register), _) => Err(*register),
            _ => return Err(self.wrong("a call of something else than a function")),
        };
        let call = CallStep {
            function,
            arguments: self.places(arguments)?,
            results: self.places(results)?,
        };
        self.emit(Op::Call(Box::new(call)));
        Ok(())
    }

    fn places(&self, operands: &[Operand]) -> Result<Box<[u32]>, Syntax> {
        let place = |operand: &Operand| match operand {
            Operand::Value(Place::Frame(at), 0) => u32::try_from(*at).ok(),
            _ => None,
        };
        let places: Option<Box<[u32]>> = operands.iter().map(place).collect();
        places.ok_or_else(|| self.wrong("arguments of calls have to be .param variables"))
    }

    pub(super) fn together(
        &mut self,
        name: &str,
        words: &[&str],
        operands: &[Operand],
    ) -> Result<(), Syntax> {
        match name {
            "bar" | "barrier" if words.first() == Some(&"warp") => {
                let mask = self.one(operands, 0)?;
                self.warp(WarpKind::Sync, None, None, [0; 3], mask, false);
                Ok(())
            }
            // There are no clusters, so nobody to wait for.
            "barrier" if words.first() == Some(&"cluster") => Ok(()),
            "bar" | "barrier" => self.barrier(words, operands),
            _ => self.lanes(name, words, operands),
        }
    }

    fn barrier(&mut self, words: &[&str], operands: &[Operand]) -> Result<(), Syntax> {
        let has = |word: &str| words.contains(&word);
        if has("red") {
            let to = self.target(
                operands
                    .first()
                    .ok_or_else(|| self.wrong("bar.red has operands"))?,
            )?;
            let kind = match () {
                () if has("popc") => BarrierKind::Popc(to),
                () if has("and") => BarrierKind::And(to),
                () => BarrierKind::Or(to),
            };
            let number = self.one(operands, 1)?;
            let predicate = self.one(operands, operands.len() - 1)?;
            self.emit(Op::Barrier(Box::new((kind, number, Some(predicate)))));
            return Ok(());
        }
        let kind = if has("arrive") {
            BarrierKind::Arrive
        } else {
            BarrierKind::Sync
        };
        let number = match operands {
            [] => self.constant(0),
            _ => self.one(operands, 0)?,
        };
        // How many have to come, where it is not all.
        let count = match operands.get(1) {
            Some(count) => Some(self.operand(count, "u32")?),
            None => None,
        };
        self.emit(Op::Barrier(Box::new((kind, number, count))));
        Ok(())
    }

    fn one(&mut self, operands: &[Operand], at: usize) -> Result<u32, Syntax> {
        let operand = operands
            .get(at)
            .ok_or_else(|| self.wrong("an operand is missing"))?;
        self.operand(operand, "u32")
    }

    fn lanes(&mut self, name: &str, words: &[&str], operands: &[Operand]) -> Result<(), Syntax> {
        let has = |word: &str| words.contains(&word);
        let kind = words.last().copied().unwrap_or_default();
        let signed = kind.starts_with('s');
        let which = match name {
            "shfl" if has("up") => WarpKind::ShuffleUp,
            "shfl" if has("down") => WarpKind::ShuffleDown,
            "shfl" if has("bfly") => WarpKind::ShuffleXor,
            "shfl" if has("idx") => WarpKind::ShuffleIndex,
            "vote" if has("all") => WarpKind::VoteAll,
            "vote" if has("any") => WarpKind::VoteAny,
            "vote" if has("uni") => WarpKind::VoteUniform,
            "vote" if has("ballot") => WarpKind::Ballot,
            "match" if has("any") => WarpKind::MatchAny,
            "match" if has("all") => WarpKind::MatchAll,
            "redux" if has("add") => WarpKind::ReduceAdd(signed),
            "redux" if has("min") => WarpKind::ReduceMin(signed),
            "redux" if has("max") => WarpKind::ReduceMax(signed),
            "redux" if has("and") => WarpKind::ReduceAnd,
            "redux" if has("or") => WarpKind::ReduceOr,
            "redux" if has("xor") => WarpKind::ReduceXor,
            "activemask" => WarpKind::ActiveMask,
            _ => return Err(self.wrong(format!("{name}.{} is not known", words.join(".")))),
        };
        let (to, from) = operands
            .split_first()
            .ok_or_else(|| self.wrong("an operand is missing"))?;
        let (to, to_predicate) = match to {
            Operand::Pair(to, other) => (self.target(to)?, Some(self.target(other)?)),
            to => (self.target(to)?, None),
        };
        let mut slots = Vec::new();
        for operand in from {
            slots.push(self.operand(operand, kind)?);
        }
        let values = match which {
            WarpKind::ActiveMask => 0,
            _ if name == "shfl" => 3,
            _ => 1,
        };
        let all = self.constant(0xffff_ffff);
        let mask = slots.get(values).copied().unwrap_or(all);
        slots.resize(3, all);
        let operands = [slots[0], slots[1], slots[2]];
        self.warp(which, Some(to), to_predicate, operands, mask, kind == "b64");
        Ok(())
    }

    fn warp(
        &mut self,
        kind: WarpKind,
        to: Option<u32>,
        to_predicate: Option<u32>,
        operands: [u32; 3],
        mask: u32,
        wide: bool,
    ) {
        self.emit(Op::Warp(Box::new(WarpStep {
            kind,
            to,
            to_predicate,
            operands,
            mask,
            wide,
        })));
    }
}
