// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads, stores and atomic operations.

use std::sync::atomic::AtomicU32;

use half::{bf16, f16};

use super::Word;
use super::lower::{Lower, Symbol};
use super::step::{Access, AtomicStep, Op, Reach};
use crate::ptx::{Operand, Place, Syntax};

impl Lower<'_> {
    pub(super) fn memory(
        &mut self,
        name: &str,
        words: &[&str],
        operands: &[Operand],
    ) -> Result<(), Syntax> {
        let kind = words.last().copied().unwrap_or_default();
        let width = match kind.trim_start_matches(|c: char| c.is_ascii_alphabetic()) {
            "8" => 1,
            "16" => 2,
            "16x2" | "32" => 4,
            "64" => 8,
            _ => return Err(self.wrong(format!("{name} of {kind} is not known"))),
        };
        match (name, operands) {
            ("ld" | "ldu", [to, from]) => {
                let targets = list(to);
                let mut slots = Vec::with_capacity(targets.len());
                for target in targets {
                    slots.push(self.target(target)?);
                }
                self.load(words, &slots, from, width)
            }
            ("st", [to, from]) => {
                let sources = list(from);
                let align = width * count(sources.len());
                for (number, source) in sources.iter().enumerate() {
                    let from = self.operand(source, kind)?;
                    let mut to = self.access(words, to, width)?;
                    to.offset += i64::from(width) * number as i64;
                    to.align = if number == 0 { align } else { 1 };
                    self.emit(Op::Store {
                        from,
                        to: Box::new(to),
                    });
                }
                Ok(())
            }
            ("atom", [to, at, operands @ ..]) => {
                let to = Some(self.target(to)?);
                self.atomic(words, to, at, operands, width)
            }
            ("red", [at, operands @ ..]) => self.atomic(words, None, at, operands, width),
            _ => Err(self.wrong("the number of operands is another one")),
        }
    }

    fn load(
        &mut self,
        words: &[&str],
        slots: &[u32],
        from: &Operand,
        width: u8,
    ) -> Result<(), Syntax> {
        let signed = words.last().is_some_and(|kind| kind.starts_with('s'));
        let align = width * count(slots.len());
        for (number, to) in slots.iter().enumerate() {
            let mut access = self.access(words, from, width)?;
            // The first of several may be the register that holds the address.
            if let (true, true) = (slots.len() > 1, slots.contains(&access.base)) {
                let copy = self.between();
                if number == 0 {
                    self.emit(Op::Move(copy, access.base));
                    return self.load_from_copy(words, slots, access, copy, width);
                }
            }
            access.offset += i64::from(width) * number as i64;
            access.align = if number == 0 { align } else { 1 };
            self.emit(Op::Load {
                to: *to,
                signed,
                from: Box::new(access),
            });
        }
        Ok(())
    }

    fn load_from_copy(
        &mut self,
        words: &[&str],
        slots: &[u32],
        first: Access,
        copy: u32,
        width: u8,
    ) -> Result<(), Syntax> {
        let signed = words.last().is_some_and(|kind| kind.starts_with('s'));
        for (number, to) in slots.iter().enumerate() {
            let whole = width * count(slots.len());
            let access = Access {
                reach: first.reach,
                base: copy,
                offset: first.offset + i64::from(width) * number as i64,
                width,
                align: if number == 0 { whole } else { 1 },
                hint: AtomicU32::new(0),
            };
            self.emit(Op::Load {
                to: *to,
                signed,
                from: Box::new(access),
            });
        }
        Ok(())
    }

    fn access(&mut self, words: &[&str], at: &Operand, width: u8) -> Result<Access, Syntax> {
        let Operand::Memory(place, offset) = at else {
            return Err(self.wrong("an address in brackets is expected"));
        };
        let has = |space: &str| {
            words
                .iter()
                .any(|word| word.split("::").next() == Some(space))
        };
        let said = match () {
            () if has("global") || has("const") => Reach::Global,
            () if has("shared") => Reach::Shared,
            () if has("local") => Reach::Local,
            () if has("param") && self.function.entry => Reach::Parameter,
            () if has("param") => Reach::Local,
            () => Reach::Generic,
        };
        let (reach, base, offset) = match place {
            Place::Register(register) => (said, *register, *offset),
            Place::Frame(at) => (Reach::Frame, 0, (*at as i64).wrapping_add(*offset)),
            Place::Parameter(at) => {
                let zero = self.constant(0);
                (Reach::Parameter, zero, (*at as i64).wrapping_add(*offset))
            }
            Place::Absolute => (said, self.constant(0), *offset),
            Place::Symbol(name) => match self.symbol(name)? {
                Symbol::Address(address) => (Reach::Global, self.constant(address), *offset),
                Symbol::Shared(address, _) => (Reach::Shared, self.constant(address), *offset),
                Symbol::Function(_) => {
                    return Err(self.wrong(format!("{name} is a function, and not in memory")));
                }
            },
        };
        Ok(Access {
            reach,
            base,
            offset,
            width,
            align: width,
            hint: AtomicU32::new(0),
        })
    }

    fn atomic(
        &mut self,
        words: &[&str],
        to: Option<u32>,
        at: &Operand,
        operands: &[Operand],
        width: u8,
    ) -> Result<(), Syntax> {
        let kind = words.last().copied().unwrap_or_default();
        let compute = { words.iter() }
            .find_map(|word| operation(word, kind))
            .ok_or_else(|| self.wrong(format!("an atomic {} is not known", words.join("."))))?;
        let mut slots = [self.constant(0); 2];
        if operands.is_empty() || operands.len() > 2 {
            return Err(self.wrong("the number of operands is another one"));
        }
        for (slot, operand) in slots.iter_mut().zip(operands) {
            *slot = self.operand(operand, kind)?;
        }
        let at = self.access(words, at, width)?;
        self.emit(Op::Atomic(Box::new(AtomicStep {
            to,
            at,
            compute,
            operands: slots,
        })));
        Ok(())
    }
}

fn list(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Vector(all) => all,
        one => std::slice::from_ref(one),
    }
}

fn count(elements: usize) -> u8 {
    match elements {
        2 => 2,
        3 | 4 => 4,
        5..=8 => 8,
        _ => 1,
    }
}

/// What becomes of `old` with up to two operands.
fn operation(word: &str, kind: &str) -> Option<fn(u64, u64, u64) -> u64> {
    macro_rules! integers {
        ($t:ident) => {
            match word {
                "and" => |old, b, _| old & b,
                "or" => |old, b, _| old | b,
                "xor" => |old, b, _| old ^ b,
                "exch" => |_, b, _| b,
                "add" => |old: u64, b: u64, _| old.wrapping_add(b),
                "cas" => |old, b, c| {
                    if $t::from_bits(old) == $t::from_bits(b) {
                        c
                    } else {
                        old
                    }
                },
                "min" => |old, b, _| $t::from_bits(old).min($t::from_bits(b)).bits(),
                "max" => |old, b, _| $t::from_bits(old).max($t::from_bits(b)).bits(),
                "inc" => |old, b, _| {
                    if $t::from_bits(old) >= $t::from_bits(b) {
                        0
                    } else {
                        old + 1
                    }
                },
                "dec" => |old, b, _| {
                    let value = $t::from_bits(old);
                    if value == 0 || value > $t::from_bits(b) {
                        b
                    } else {
                        old - 1
                    }
                },
                _ => return None,
            }
        };
    }
    macro_rules! floats {
        ($t:ident) => {
            match word {
                "add" => {
                    |old, b, _| (<$t as Word>::from_bits(old) + <$t as Word>::from_bits(b)).bits()
                }
                "exch" => |_, b, _| b,
                "min" => |old, b, _| {
                    <$t as Word>::from_bits(old)
                        .min(<$t as Word>::from_bits(b))
                        .bits()
                },
                "max" => |old, b, _| {
                    <$t as Word>::from_bits(old)
                        .max(<$t as Word>::from_bits(b))
                        .bits()
                },
                _ => return None,
            }
        };
    }
    macro_rules! halves {
        ($t:ident) => {
            match word {
                "add" => |old, b, _| {
                    let sum =
                        <$t as Word>::from_bits(old).to_f32() + <$t as Word>::from_bits(b).to_f32();
                    $t::from_f32(sum).bits()
                },
                _ => return None,
            }
        };
    }
    macro_rules! pairs {
        ($t:ident) => {
            match word {
                "add" => |old, b, _| {
                    let sum = |by: u32| {
                        let (old, b) = (
                            <$t as Word>::from_bits(old >> by),
                            <$t as Word>::from_bits(b >> by),
                        );
                        $t::from_f32(old.to_f32() + b.to_f32()).bits()
                    };
                    sum(16) << 16 | sum(0)
                },
                _ => return None,
            }
        };
    }
    Some(match kind {
        "b16" | "u16" => integers!(u16),
        "b32" | "u32" => integers!(u32),
        "s32" => integers!(i32),
        "b64" | "u64" => integers!(u64),
        "s64" => integers!(i64),
        "f32" => floats!(f32),
        "f64" => floats!(f64),
        "f16" => halves!(f16),
        "bf16" => halves!(bf16),
        "f16x2" => pairs!(f16),
        "bf16x2" => pairs!(bf16),
        _ => return None,
    })
}
