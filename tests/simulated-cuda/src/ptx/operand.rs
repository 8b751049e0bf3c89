// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operands of instructions.

use super::function::{Named, Scope};
use super::lex::Token;
use super::parse::Parser;
use super::{Operand, Place, Special, Syntax};

impl<'a> Parser<'a> {
    /// One operand of the instruction with this name.
    pub(super) fn operand(
        &mut self,
        scope: &mut Scope<'a>,
        instruction: &str,
    ) -> Result<Operand, Syntax> {
        let first = match self.peek() {
            Some(Token::Sign('[')) => {
                self.next();
                let memory = self.memory(scope)?;
                self.expect(']')?;
                memory
            }
            Some(Token::Sign('{')) => {
                self.next();
                Operand::Vector(self.list(scope, instruction, '}')?)
            }
            Some(Token::Sign('(')) => {
                self.next();
                Operand::List(self.list(scope, instruction, ')')?)
            }
            Some(Token::Sign('!')) => {
                self.next();
                Operand::Not(Box::new(self.operand(scope, instruction)?))
            }
            Some(Token::Sign('-')) => {
                self.next();
                match self.next() {
                    Some(Token::Integer(value)) => Operand::Integer(value.wrapping_neg()),
                    Some(Token::Double(bits)) => Operand::Double(bits ^ 1 << 63),
                    _ => return Err(self.unexpected()),
                }
            }
            Some(Token::Integer(value)) => {
                self.next();
                Operand::Integer(value)
            }
            Some(Token::Single(bits)) => {
                self.next();
                Operand::Single(bits)
            }
            Some(Token::Double(bits)) => {
                self.next();
                Operand::Double(bits)
            }
            Some(Token::Word(word)) => {
                self.next();
                self.value(scope, instruction, word)?
            }
            _ => return Err(self.unexpected()),
        };
        if self.take('|') {
            let second = self.operand(scope, instruction)?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    fn list(
        &mut self,
        scope: &mut Scope<'a>,
        instruction: &str,
        end: char,
    ) -> Result<Vec<Operand>, Syntax> {
        let mut found = Vec::new();
        while !self.take(end) {
            found.push(self.operand(scope, instruction)?);
            if !self.take(',') && self.peek() != Some(Token::Sign(end)) {
                return Err(self.unexpected());
            }
        }
        Ok(found)
    }

    fn memory(&mut self, scope: &Scope<'a>) -> Result<Operand, Syntax> {
        if let Some(Token::Integer(address)) = self.peek() {
            self.next();
            return Ok(Operand::Memory(Place::Absolute, address.cast_signed()));
        }
        let word = self.word()?;
        let place = self.place(scope, word)?;
        Ok(Operand::Memory(place, self.offset()?))
    }

    fn value(
        &mut self,
        scope: &mut Scope<'a>,
        instruction: &str,
        word: &'a str,
    ) -> Result<Operand, Syntax> {
        if word == "_" {
            return Ok(Operand::Sink);
        }
        if instruction == "bra" {
            return Ok(Operand::Label(scope.label(word)));
        }
        if let Some(Named::Table(table)) = scope.named(word) {
            return Ok(Operand::Table(table));
        }
        if scope.named(word).is_none()
            && let Some(special) = special(word)
        {
            return Ok(Operand::Special(special));
        }
        let place = self.place(scope, word)?;
        let offset = if matches!(place, Place::Register(_)) {
            0
        } else {
            self.offset()?
        };
        Ok(Operand::Value(place, offset))
    }

    fn place(&self, scope: &Scope<'a>, word: &str) -> Result<Place, Syntax> {
        Ok(match scope.named(word) {
            Some(Named::Register(register)) => Place::Register(register),
            Some(Named::Frame(offset)) => Place::Frame(offset),
            Some(Named::Parameter(offset)) => Place::Parameter(offset),
            Some(Named::Symbol(name)) => Place::Symbol(name),
            Some(Named::Range(..) | Named::Table(_)) => return Err(self.unexpected()),
            None if word.starts_with('%') => {
                return Err(self.wrong(format!("there is no register {word}")));
            }
            None => Place::Symbol(word.to_owned()),
        })
    }
}

fn special(word: &str) -> Option<Special> {
    let axis = || match word.rsplit_once('.')?.1 {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    };
    let name = word.strip_prefix('%').unwrap_or(word);
    Some(match name.split('.').next()? {
        "tid" => Special::Tid(axis()?),
        "ntid" => Special::Ntid(axis()?),
        "ctaid" => Special::Ctaid(axis()?),
        "nctaid" => Special::Nctaid(axis()?),
        "laneid" => Special::LaneId,
        "warpid" => Special::WarpId,
        "nwarpid" => Special::WarpCount,
        "lanemask_eq" => Special::LaneMask(0),
        "lanemask_lt" => Special::LaneMask(1),
        "lanemask_le" => Special::LaneMask(2),
        "lanemask_gt" => Special::LaneMask(3),
        "lanemask_ge" => Special::LaneMask(4),
        "clock" | "clock64" | "clock_hi" => Special::Clock,
        "globaltimer" | "globaltimer_lo" | "globaltimer_hi" => Special::Nanoseconds,
        "dynamic_smem_size" => Special::SharedBytes(true),
        "total_smem_size" => Special::SharedBytes(false),
        "envreg1" => Special::Workspace(true),
        "envreg2" => Special::Workspace(false),
        "smid" | "gridid" | "reserved_smem_offset_begin" => Special::Constant(0),
        "nsmid" => Special::Constant(1),
        "WARP_SZ" => Special::Constant(32),
        _ => return None,
    })
}
