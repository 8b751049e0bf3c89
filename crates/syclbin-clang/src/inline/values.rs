// SPDX-License-Identifier: MIT OR Apache-2.0
//! Known register values of a function that is called with known arguments.

use std::collections::BTreeMap;

use super::line::{Access, Instruction, Line, bits, words};
use super::text::{Body, Item};

/// Known arguments, by the parameter, and the offset and size in bits of the value.
pub(super) type Constants<'c> = BTreeMap<(&'c str, u32, u32), u64>;

/// LLVM's tables, which hold the results of a `switch`. They are constant, whatever memory they are in.
pub(super) struct Tables<'t> {
    of: BTreeMap<&'t str, Vec<u8>>,
}

/// The prefix of LLVM's names for them.
const TABLE: &str = "switch_$_table";

impl<'t> Tables<'t> {
    pub(super) fn of(items: &[Item<'t>]) -> Self {
        let mut tables = BTreeMap::new();
        for item in items {
            if let Item::Line(line) = item {
                tables.extend(table(line));
            }
        }
        Self { of: tables }
    }
}

/// Parses `.global .align 4 .b8 NAME[5] = {1, 2};` into the name and the bytes.
fn table(line: &str) -> Option<(&str, Vec<u8>)> {
    let words = line.strip_prefix(".global .align ")?;
    let (_, words) = words.split_once(' ')?;
    let (ty, words) = words.strip_prefix('.')?.split_once(' ')?;
    let (name, words) = words.trim().split_once('[')?;
    let (count, words) = words.split_once(']')?;
    let list = words.trim().strip_prefix('=')?.trim().strip_suffix(';')?;
    let list = list.trim().strip_prefix('{')?.strip_suffix('}')?;
    let unit = usize::try_from(bits(ty)? / 8).ok()?;
    let size = unit.checked_mul(count.parse().ok()?)?;
    let mut bytes = Vec::new();
    for value in list.split(',') {
        let value = immediate(value.trim())?;
        bytes.extend_from_slice(value.to_le_bytes().get(..unit)?);
    }
    let is_table = name.starts_with(TABLE) && bytes.len() <= size && size <= 1 << 16;
    bytes.resize(size, 0); // the rest of a list that is shorter
    is_table.then_some((name, bytes))
}

/// Returns the value of an operand that is a number.
pub(super) fn immediate(operand: &str) -> Option<u64> {
    if let Some(hexadecimal) = operand.strip_prefix("0x") {
        return u64::from_str_radix(hexadecimal, 16).ok();
    }
    let negative = operand
        .starts_with('-')
        .then(|| operand.parse::<i64>().ok());
    match negative {
        Some(number) => number.map(i64::cast_unsigned),
        None => operand.parse().ok(),
    }
}

/// The number of passes over blocks that are in an unfavorable order.
const MAX_ROUNDS: usize = 32;

/// The known value of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value<'v> {
    /// A number with as many bits as the register; a predicate has one bit.
    Number(u64),
    /// The address of a byte in a table.
    Table(&'v str, u64),
}

/// The known registers.
pub(super) struct Values<'v> {
    body: &'v Body,
    constants: &'v Constants<'v>,
    tables: &'v Tables<'v>,
    /// The number of writes to each register.
    written: BTreeMap<&'v str, usize>,
    known: BTreeMap<&'v str, Value<'v>>,
}

impl<'v> Values<'v> {
    /// Determines the known registers of `body`.
    pub(super) fn of(body: &'v Body, constants: &'v Constants<'v>, tables: &'v Tables<'v>) -> Self {
        let mut values = Self {
            body,
            constants,
            tables,
            written: BTreeMap::new(),
            known: BTreeMap::new(),
        };
        let mut instructions = Vec::new();
        for text in &body.lines {
            match Line::of(text) {
                Line::Instruction(instruction) => {
                    let times = if instruction.guard.is_some() { 2 } else { 1 };
                    for register in written(&instruction) {
                        *values.written.entry(register).or_default() += times;
                    }
                    instructions.push(instruction);
                }
                Line::Block(text) => {
                    for register in words(text).filter(|word| word.starts_with('%')) {
                        *values.written.entry(register).or_default() += 2;
                    }
                }
                _ => {}
            }
        }
        // A block may come before another block that defines its registers.
        for _ in 0..MAX_ROUNDS {
            let before = values.known.len();
            for instruction in &instructions {
                values.learn(instruction);
            }
            if values.known.len() == before {
                break;
            }
        }
        values
    }

    /// Returns the number in an operand.
    pub(super) fn number(&self, operand: &str) -> Option<u64> {
        match self.value(operand)? {
            Value::Number(number) => Some(number),
            Value::Table(..) => None,
        }
    }

    /// Returns whether an instruction with this guard is executed.
    pub(super) fn is_done(&self, guard: &str) -> Option<bool> {
        match guard.strip_prefix('!') {
            Some(predicate) => self.number(predicate).map(|value| value == 0),
            None => self.number(guard).map(|value| value != 0),
        }
    }

    fn value(&self, operand: &str) -> Option<Value<'v>> {
        if let Some((name, _)) = self.tables.of.get_key_value(operand) {
            return Some(Value::Table(name, 0));
        }
        let known = self.known.get(operand).copied();
        known.or_else(|| immediate(operand).map(Value::Number))
    }

    fn learn(&mut self, instruction: &Instruction<'v>) {
        let operands = instruction.operands();
        let Some(register) = operands.first().copied() else {
            return;
        };
        // A register that is written once has the same value everywhere.
        let is_once = self.written.get(register) == Some(&1);
        if is_once
            && !self.known.contains_key(register)
            && let Some(value) = self.result(instruction, &operands)
        {
            self.known.insert(register, value);
        }
    }

    /// Returns the value that an instruction writes.
    fn result(&self, instruction: &Instruction<'v>, operands: &[&'v str]) -> Option<Value<'v>> {
        let parts: Vec<&str> = instruction.parts().collect();
        match (&parts[..], operands) {
            (["mov", ty], [_, from]) => match self.value(from)? {
                Value::Number(number) => Some(Value::Number(cut(number, size(ty)?))),
                table @ Value::Table(..) => (size(ty)? == 64).then_some(table),
            },
            (["add", "s64" | "u64"], [_, a, b]) => match (self.value(a)?, self.value(b)?) {
                (Value::Number(a), Value::Number(b)) => Some(Value::Number(a.wrapping_add(b))),
                (Value::Table(name, at), Value::Number(b))
                | (Value::Number(b), Value::Table(name, at)) => {
                    Some(Value::Table(name, at.wrapping_add(b)))
                }
                _ => None,
            },
            (["ld", "param", _], _) => {
                let access = Access::of(instruction)?;
                let key = (access.name, access.offset, access.bits);
                let number = *self.constants.get(&key)?;
                self.loaded(number, access.bits, access.is_signed, operands)
            }
            (["ld", "global", "nc", ty], [_, address]) => {
                let number = self.in_table(address, size(ty)?)?;
                self.loaded(number, size(ty)?, ty.starts_with('s'), operands)
            }
            _ => self.computed(&parts, operands).map(Value::Number),
        }
    }

    /// Returns a number from memory, extended to the size of the register.
    fn loaded(&self, number: u64, size: u32, signed: bool, operands: &[&str]) -> Option<Value<'v>> {
        let register = self.body.registers.bits(operands.first()?)?;
        let number = extend(number, size, signed);
        (register >= size).then_some(Value::Number(cut(number, register)))
    }

    /// Returns the value of a table at `[%rd1+2]`.
    fn in_table(&self, address: &str, size: u32) -> Option<u64> {
        let address = address.strip_prefix('[')?.strip_suffix(']')?;
        let (base, offset) = address.split_once('+').unwrap_or((address, "0"));
        let Value::Table(name, at) = self.value(base.trim())? else {
            return None;
        };
        let at = at.wrapping_add(immediate(offset.trim())?);
        let start = usize::try_from(at).ok()?;
        let end = start.checked_add(usize::try_from(size / 8).ok()?)?;
        let bytes = self.tables.of.get(name)?.get(start..end)?;
        let mut number = [0; 8];
        number.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(number))
    }

    fn computed(&self, parts: &[&str], operands: &[&str]) -> Option<u64> {
        let number = |index: usize| self.number(operands.get(index)?);
        let (a, b) = (number(1), number(2));
        match (parts, operands.len()) {
            (["setp", relation, ty], 3) => compare(relation, ty, a?, b?).map(u64::from),
            (["selp", ty], 4) => Some(cut(if number(3)? != 0 { a? } else { b? }, size(ty)?)),
            (["cvt", to, from], 2) if is_integer(to) && is_integer(from) => {
                let value = extend(a?, size(from)?, from.starts_with('s'));
                let value = extend(value, size(to)?, to.starts_with('s'));
                Some(cut(value, self.body.registers.bits(operands.first()?)?))
            }
            (["not", ty], 2) => Some(cut(!a?, size(ty)?)),
            (["and", ty], 3) => Some(cut(a? & b?, size(ty)?)),
            (["or", ty], 3) => Some(cut(a? | b?, size(ty)?)),
            (["xor", ty], 3) => Some(cut(a? ^ b?, size(ty)?)),
            (["add", ty], 3) if is_integer(ty) => Some(cut(a?.wrapping_add(b?), size(ty)?)),
            (["sub", ty], 3) if is_integer(ty) => Some(cut(a?.wrapping_sub(b?), size(ty)?)),
            (["mul", "lo", ty], 3) if is_integer(ty) => Some(cut(a?.wrapping_mul(b?), size(ty)?)),
            (["shl", ty], 3) => {
                let (size, by) = (size(ty)?, cut(b?, 32));
                let shifted = u32::try_from(by).ok().and_then(|by| a?.checked_shl(by));
                Some(cut(shifted.unwrap_or(0), size))
            }
            (["shr", ty], 3) if !ty.starts_with('s') => {
                let (size, by) = (size(ty)?, cut(b?, 32));
                let a = cut(a?, size);
                Some(
                    u32::try_from(by)
                        .ok()
                        .and_then(|by| a.checked_shr(by))
                        .unwrap_or(0),
                )
            }
            _ => None,
        }
    }
}

/// Returns the registers that an instruction writes or may write.
fn written<'l>(instruction: &Instruction<'l>) -> impl Iterator<Item = &'l str> {
    let first = instruction.operands().first().copied().unwrap_or_default();
    let only_reads = first.starts_with('[') || instruction.kind() == "brx";
    let first = if only_reads { "" } else { first };
    words(first).filter(|word| word.starts_with('%'))
}

fn is_integer(ty: &str) -> bool {
    ty.starts_with(['u', 's']) && bits(ty).is_some()
}

/// Returns the size of a type in bits; a predicate has one bit.
fn size(ty: &str) -> Option<u32> {
    match ty {
        "pred" => Some(1),
        _ => bits(ty),
    }
}

/// Returns the lowest bits.
fn cut(value: u64, bits: u32) -> u64 {
    match bits {
        0..64 => value & ((1 << bits) - 1),
        _ => value,
    }
}

/// Returns the lowest bits as a signed or unsigned number.
fn extend(value: u64, bits: u32, is_signed: bool) -> u64 {
    let unused = 64 - bits.clamp(1, 64);
    if is_signed {
        ((value << unused).cast_signed() >> unused).cast_unsigned()
    } else {
        cut(value, bits)
    }
}

fn compare(relation: &str, ty: &str, a: u64, b: u64) -> Option<bool> {
    let bits = bits(ty).filter(|_| !ty.starts_with('f'))?;
    let is_signed = ty.starts_with('s');
    let [a, b] = [a, b].map(|value| extend(value, bits, is_signed));
    let order = if is_signed {
        a.cast_signed().cmp(&b.cast_signed())
    } else {
        a.cmp(&b)
    };
    Some(match relation {
        "eq" => order.is_eq(),
        "ne" => order.is_ne(),
        "lt" | "lo" => order.is_lt(),
        "le" | "ls" => order.is_le(),
        "gt" | "hi" => order.is_gt(),
        "ge" | "hs" => order.is_ge(),
        _ => return None,
    })
}
