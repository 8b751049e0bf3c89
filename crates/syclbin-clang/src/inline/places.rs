// SPDX-License-Identifier: MIT OR Apache-2.0
//! The places of arguments and results after a call is inlined. A place is a register, or thread memory if the code
//! takes an address or accesses the value in different parts.

use std::collections::{BTreeMap, BTreeSet};

use super::line::{Access, Line, words};
use super::registers::Registers;
use super::text::{Interface, Parameter};

/// A parameter or result, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Owner {
    pub(super) is_result: bool,
    pub(super) index: usize,
}

/// A part of a parameter or result. Each part becomes a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Piece {
    pub(super) owner: Owner,
    pub(super) offset: u32,
    pub(super) bits: u32,
}

/// The names of the parameters or the results in the caller or the callee.
pub(super) struct Side<'s> {
    pub(super) is_result: bool,
    pub(super) names: Vec<&'s str>,
}

impl Side<'_> {
    pub(super) fn owner(&self, name: &str) -> Option<Owner> {
        let index = self.names.iter().position(|own| *own == name)?;
        Some(Owner {
            is_result: self.is_result,
            index,
        })
    }

    pub(super) fn pieces<'a>(&self, access: &Access<'a>) -> Option<Vec<(Piece, &'a str)>> {
        let owner = self.owner(access.name)?;
        let piece = |(offset, value)| {
            let piece = Piece {
                owner,
                offset,
                bits: access.bits,
            };
            (piece, value)
        };
        Some(access.places().map(piece).collect())
    }
}

/// How a function uses its parameters and results.
pub(super) struct Uses {
    pub(super) stored: BTreeSet<Piece>,
    pub(super) loaded: BTreeSet<Piece>,
    /// The parameters and results whose address it takes.
    pub(super) addressed: BTreeSet<Owner>,
}

impl Uses {
    /// Returns the uses in the body of a function, or `None` if a use is not understood.
    pub(super) fn of(lines: &[String], parameters: &Side<'_>, results: &Side<'_>) -> Option<Self> {
        let mut uses = Self {
            stored: BTreeSet::new(),
            loaded: BTreeSet::new(),
            addressed: BTreeSet::new(),
        };
        let owner = |word: &str| parameters.owner(word).or_else(|| results.owner(word));
        for text in lines {
            if words(text).all(|word| owner(word).is_none()) {
                continue;
            }
            let Line::Instruction(instruction) = Line::of(text) else {
                return None;
            };
            if let Some(access) = Access::of(&instruction) {
                let mut values = access.values.iter().flat_map(|value| words(value));
                values.all(|word| owner(word).is_none()).then_some(())?;
                let (side, pieces) = if access.is_store {
                    (results, &mut uses.stored)
                } else {
                    (parameters, &mut uses.loaded)
                };
                pieces.extend(side.pieces(&access)?.into_iter().map(|(piece, _)| piece));
                continue;
            }
            let is_address = matches!(instruction.name, "mov.b64" | "mov.u64");
            match instruction.operands()[..] {
                [register, name] if is_address && owner(register).is_none() => {
                    uses.addressed.insert(parameters.owner(name)?);
                }
                _ => return None,
            }
        }
        Some(uses)
    }
}

/// The prefix of memory names that this module creates; a number follows.
pub(super) const MEMORY: &str = "__inlined_memory_";

/// The places of all parameters and results.
#[derive(Default)]
pub(super) struct Places {
    pub(super) registers: BTreeMap<Piece, String>,
    /// The name of the memory.
    pub(super) memory: BTreeMap<Owner, String>,
}

impl Places {
    /// Finds a place for all of `uses`, which are the uses of the function and of its caller together. Adds new
    /// memory to `locals`, with numbers after `number`.
    pub(super) fn of(
        uses: &Uses,
        interface: &Interface<'_>,
        registers: &mut Registers,
        locals: &mut BTreeMap<String, String>,
        number: &mut usize,
    ) -> Option<Self> {
        let mut places = Self::default();
        let all: BTreeSet<Piece> = uses.stored.union(&uses.loaded).copied().collect();
        let owners: BTreeSet<Owner> = all.iter().map(|piece| piece.owner).collect();
        for owner in owners.union(&uses.addressed) {
            let of_owner = || all.iter().filter(|piece| piece.owner == *owner);
            let has_values = of_owner().all(|piece| uses.stored.contains(piece));
            if has_values && is_apart(of_owner()) && !uses.addressed.contains(owner) {
                for piece in of_owner() {
                    places.registers.insert(*piece, registers.add(piece.bits)?);
                }
                continue;
            }
            let declared = if owner.is_result {
                interface.results.get(owner.index)?
            } else {
                interface.parameters.get(owner.index)?
            };
            let Parameter { align, size, .. } = declared;
            let is_inside = |piece: &Piece| {
                let end = piece.offset.saturating_add(piece.bits / 8);
                end <= *size
            };
            of_owner().all(is_inside).then_some(())?;
            *number += 1;
            let name = format!("{MEMORY}{number}");
            let declaration = format!("\t.local .align {align} .b8 \t{name}[{size}];");
            locals.insert(name.clone(), declaration);
            places.memory.insert(*owner, name);
        }
        Some(places)
    }

    /// Returns the instruction for an access to memory.
    pub(super) fn in_memory(&self, owner: Owner, access: &Access<'_>) -> Option<String> {
        let name = self.memory.get(&owner)?;
        let ty = if access.is_signed { 's' } else { 'b' };
        let count = access.values.len();
        let (vector, values) = match count {
            1 => (String::new(), access.values.concat()),
            _ => (
                format!(".v{count}"),
                format!("{{{}}}", access.values.join(", ")),
            ),
        };
        let (bits, offset) = (access.bits, access.offset);
        Some(if access.is_store {
            format!("\tst.local{vector}.{ty}{bits} \t[{name}+{offset}], {values};")
        } else {
            format!("\tld.local{vector}.{ty}{bits} \t{values}, [{name}+{offset}];")
        })
    }
}

/// Returns whether the parts of each parameter or result do not overlap.
fn is_apart<'p>(pieces: impl Iterator<Item = &'p Piece>) -> bool {
    let mut last_end = 0;
    let mut pieces = pieces;
    pieces.all(|piece| {
        let is_apart = last_end <= piece.offset;
        last_end = piece.offset.saturating_add(piece.bits / 8);
        is_apart
    })
}
