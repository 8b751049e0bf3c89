// SPDX-License-Identifier: MIT OR Apache-2.0
//! Replaces a call by the body of the function: parameters become registers, and names are changed.

use std::collections::{BTreeMap, BTreeSet};

use super::call::{Call, Step};
use super::fold::fold;
use super::line::{Access, Line, with_words};
use super::places::{Piece, Places, Side, Uses};
use super::registers::{Registers, Renaming};
use super::text::{Body, Interface};
use super::values::{Constants, Tables, immediate};

/// A function that can replace its calls.
pub(super) struct Callee<'c> {
    pub(super) interface: &'c Interface<'c>,
    pub(super) body: &'c Body,
}

/// The replacement for a call.
pub(super) struct Spliced {
    pub(super) lines: Vec<String>,
    /// All registers and memory of the caller afterwards.
    pub(super) registers: Registers,
    pub(super) locals: BTreeMap<String, String>,
}

/// The prefix of labels that this module creates; a number follows.
pub(super) const LABEL: &str = "$L__inlined_";

/// Replaces `call` by `callee`, in a function with the registers and memory of `caller`. New names get numbers
/// after `number`. Returns `None` if something does not fit, and then the call stays.
pub(super) fn splice(
    call: &Call<'_>,
    callee: &Callee<'_>,
    caller: &Body,
    tables: &Tables<'_>,
    number: &mut usize,
) -> Option<Spliced> {
    let interface = callee.interface;
    let fits = call.arguments.len() == interface.parameters.len()
        && call.results.len() == interface.results.len();
    if !fits {
        return None;
    }
    let passed = Side {
        is_result: false,
        names: call.arguments.clone(),
    };
    let taken = Side {
        is_result: true,
        names: call.results.clone(),
    };
    let parameters = Side {
        is_result: false,
        names: interface.parameters.iter().map(|p| p.name).collect(),
    };
    let returned = Side {
        is_result: true,
        names: interface.results.iter().map(|p| p.name).collect(),
    };

    let mut stored: BTreeMap<Piece, &str> = BTreeMap::new();
    let mut loaded = BTreeSet::new();
    for step in &call.steps {
        match step {
            Step::Pass(access) => {
                for (piece, value) in passed.pieces(access)? {
                    let is_first = stored.insert(piece, value).is_none();
                    is_first.then_some(())?;
                }
            }
            Step::Return(access) => {
                loaded.extend(taken.pieces(access)?.into_iter().map(|(p, _)| p));
            }
            _ => {}
        }
    }
    let of_body = Uses::of(&callee.body.lines, &parameters, &returned)?;
    let mut constants = Constants::new();
    for (piece, value) in &stored {
        if !of_body.addressed.contains(&piece.owner)
            && let Some(value) = immediate(value)
        {
            let name = *parameters.names.get(piece.owner.index)?;
            constants.insert((name, piece.offset, piece.bits), value);
        }
    }
    let lines = fold(callee.body, &constants, tables);
    let mut uses = Uses::of(&lines, &parameters, &returned)?;
    uses.stored.extend(stored.keys());
    uses.loaded.extend(loaded);

    let mut registers = caller.registers.clone();
    let mut locals = caller.locals.clone();
    let places = Places::of(&uses, interface, &mut registers, &mut locals, number)?;
    for (name, declaration) in &callee.body.locals {
        let known = locals
            .entry(name.clone())
            .or_insert_with(|| declaration.clone());
        (known == declaration).then_some(())?;
    }
    let renaming = registers.take_in(&callee.body.registers)?;
    let inner = Inner {
        lines: &lines,
        registers: &callee.body.registers,
        parameters,
        returned,
        places: &places,
        renaming: &renaming,
    };
    let outer = |side: &Side<'_>, access: &Access<'_>, written: &mut Vec<String>| {
        moves(
            side,
            access,
            &places,
            &caller.registers,
            ToOwned::to_owned,
            written,
        )
    };
    let mut written = Vec::new();
    for step in &call.steps {
        match step {
            Step::Pass(access) => outer(&passed, access, &mut written)?,
            Step::Call => inner.write(number, &mut written)?,
            Step::Return(access) => outer(&taken, access, &mut written)?,
            Step::Other(line) => written.push((*line).to_owned()),
        }
    }
    Some(Spliced {
        lines: written,
        registers,
        locals,
    })
}

/// Writes the replacement for an access. Its values are in `registers`, and are renamed.
fn moves(
    side: &Side<'_>,
    access: &Access<'_>,
    places: &Places,
    registers: &Registers,
    rename: impl Fn(&str) -> String,
    written: &mut Vec<String>,
) -> Option<()> {
    let owner = side.owner(access.name)?;
    if places.memory.contains_key(&owner) {
        let instruction = places.in_memory(owner, access)?;
        written.push(rename(&instruction));
        return Some(());
    }
    for (piece, value) in side.pieces(access)? {
        let bits = registers.bits(value);
        let register = places.registers.get(&piece)?;
        let value = rename(value);
        written.push(if access.is_store {
            to_piece(piece, register, &value, bits)?
        } else {
            from_piece(piece, register, &value, bits?, access.is_signed)?
        });
    }
    Some(())
}

/// Moves `value` into the register of a piece. `bits` is the size of the register that holds the value, if any.
fn to_piece(piece: Piece, register: &str, value: &str, bits: Option<u32>) -> Option<String> {
    let size = piece.bits.max(16); // no register is smaller
    match bits {
        None if value.starts_with('%') => None,
        Some(bits) if bits > size => Some(format!("\tcvt.u{size}.u{bits} \t{register}, {value};")),
        Some(bits) if bits < size => None,
        _ => Some(format!("\tmov.b{size} \t{register}, {value};")),
    }
}

/// Moves a piece into the register `value` of size `bits`. A larger register is extended, as for loads.
fn from_piece(
    piece: Piece,
    register: &str,
    value: &str,
    bits: u32,
    is_signed: bool,
) -> Option<String> {
    let size = piece.bits;
    if size > bits {
        return None;
    }
    Some(if size == bits {
        format!("\tmov.b{bits} \t{value}, {register};")
    } else {
        let sign = if is_signed { 's' } else { 'u' };
        format!("\tcvt.{sign}{bits}.{sign}{size} \t{value}, {register};")
    })
}

/// The body that is inserted.
struct Inner<'b> {
    lines: &'b [String],
    registers: &'b Registers,
    parameters: Side<'b>,
    returned: Side<'b>,
    places: &'b Places,
    renaming: &'b Renaming,
}

impl Inner<'_> {
    fn write(&self, number: &mut usize, written: &mut Vec<String>) -> Option<()> {
        let mut names = BTreeMap::new();
        let mut next = || {
            *number += 1;
            format!("{LABEL}{number}")
        };
        for text in self.lines {
            if let Line::Label(name) | Line::Targets(name, _) = Line::of(text) {
                let is_new = names.insert(name, next()).is_none();
                is_new.then_some(())?;
            }
        }
        let end = next();
        for (owner, memory) in &self.places.memory {
            if !owner.is_result {
                names.insert(self.parameters.names.get(owner.index)?, memory.clone());
            }
        }
        let rename = |text: &str| {
            with_words(text, |word| {
                let name = names.get(word).cloned();
                name.or_else(|| self.renaming.name(word))
            })
        };
        let last = self
            .lines
            .iter()
            .rposition(|text| Line::of(text) != Line::Blank);
        let mut branches = false;
        for (at, text) in self.lines.iter().enumerate() {
            let instruction = match Line::of(text) {
                Line::Instruction(instruction) => instruction,
                Line::Blank => continue,
                _ => {
                    written.push(rename(text));
                    continue;
                }
            };
            if instruction.kind() == "ret" {
                let guard = instruction
                    .guard
                    .map(|guard| format!("@{} ", rename(guard)));
                if guard.is_some() || Some(at) != last {
                    branches = true;
                    written.push(format!("\t{}bra \t{end};", guard.unwrap_or_default()));
                }
                continue;
            }
            let access = Access::of(&instruction);
            let side = match &access {
                Some(access) if access.is_store => &self.returned,
                _ => &self.parameters,
            };
            match access.filter(|access| side.owner(access.name).is_some()) {
                Some(access) => {
                    moves(side, &access, self.places, self.registers, rename, written)?;
                }
                None => written.push(rename(text)),
            }
        }
        if branches {
            written.push(format!("{end}:"));
        }
        Some(())
    }
}
