// SPDX-License-Identifier: MIT OR Apache-2.0
//! The registers that a function declares.

use super::line::{bits, is_word};

/// The registers of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Registers {
    all: Vec<Declared>,
}

/// A declaration: `.reg .b32 %r<5>;` declares %r0 to %r4, and `.reg .b64 %SP;` declares itself.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Declared {
    /// The type without its point.
    ty: String,
    name: String,
    count: Option<usize>,
}

/// An upper limit, beyond any reasonable code, that keeps numbers small.
const MAX_COUNT: usize = 1 << 24;

impl Registers {
    /// Adds the declarations of a line, `.b32 %r<5>` or `.b64 %a, %b`. Returns `None` if it is not understood.
    pub(super) fn declare(&mut self, words: &str) -> Option<()> {
        let (ty, names) = words.split_once(char::is_whitespace)?;
        let ty = ty.strip_prefix('.')?;
        names
            .split(',')
            .try_for_each(|name| self.declare_one(ty, name))
    }

    fn declare_one(&mut self, ty: &str, name: &str) -> Option<()> {
        let name = name.trim();
        let (name, count) = match name.strip_suffix('>').and_then(|n| n.split_once('<')) {
            Some((name, count)) => (name, Some(count.parse().ok()?)),
            None => (name, None),
        };
        let is_known = ty == "pred" || bits(ty).is_some();
        let is_new = self.all.iter().all(|declared| declared.name != name);
        let ends_well = count.is_none() || !name.ends_with(|c: char| c.is_ascii_digit());
        if !is_known || !is_new || !ends_well || !name.starts_with('%') || !is_word(name) {
            return None;
        }
        self.all.push(Declared {
            ty: ty.to_owned(),
            name: name.to_owned(),
            count,
        });
        (count <= Some(MAX_COUNT)).then_some(())
    }

    /// Returns the declaration of a register, and its number in it.
    fn find(&self, register: &str) -> Option<(&Declared, usize)> {
        if let Some(one) = self.all.iter().find(|d| d.name == register) {
            return one.count.is_none().then_some((one, 0));
        }
        let name = register.trim_end_matches(|c: char| c.is_ascii_digit());
        let number: usize = register[name.len()..].parse().ok()?;
        let declared = self.all.iter().find(|d| d.name == name)?;
        (declared.count.is_some_and(|count| number < count)).then_some((declared, number))
    }

    /// Returns the size of a register, or `None` for predicates and words that are not registers.
    pub(super) fn bits(&self, register: &str) -> Option<u32> {
        bits(&self.find(register)?.0.ty)
    }

    /// Declares a new register of that size and returns its name.
    pub(super) fn add(&mut self, bits: u32) -> Option<String> {
        let (name, ty) = match bits {
            8 | 16 => ("%rs", "b16"),
            32 => ("%r", "b32"),
            64 => ("%rd", "b64"),
            _ => return None,
        };
        let first = self.extend(name, ty, 1)?;
        Some(format!("{name}{first}"))
    }

    /// Adds `count` registers, and returns the first number.
    fn extend(&mut self, name: &str, ty: &str, count: usize) -> Option<usize> {
        if let Some(known) = self.all.iter_mut().find(|d| d.name == name) {
            let first = known.count.filter(|_| known.ty == ty)?;
            known.count = Some(first + count).filter(|all| *all <= MAX_COUNT);
            known.count?;
            return Some(first);
        }
        self.all.push(Declared {
            ty: ty.to_owned(),
            name: name.to_owned(),
            count: Some(count + 1),
        });
        Some(1) // %r0 is declared and used by none, as LLVM has it
    }

    /// Adds new registers for all `others`.
    pub(super) fn take_in(&mut self, others: &Self) -> Option<Renaming> {
        let mut renaming = Renaming {
            of: others.clone(),
            bases: Vec::new(),
        };
        for other in &others.all {
            let new = match other.count {
                Some(count) => (
                    other.name.clone(),
                    self.extend(&other.name, &other.ty, count)?,
                ),
                None => (self.add(bits(&other.ty)?)?, 0),
            };
            renaming.bases.push(new);
        }
        Some(renaming)
    }

    /// Returns the declarations.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        self.all.iter().map(|d| match d.count {
            Some(count) => format!("\t.reg .{} \t{}<{count}>;", d.ty, d.name),
            None => format!("\t.reg .{} \t{};", d.ty, d.name),
        })
    }
}

/// New names of the registers of a function.
pub(super) struct Renaming {
    of: Registers,
    /// For each declaration: the name, and the number that replaces the first number.
    bases: Vec<(String, usize)>,
}

impl Renaming {
    pub(super) fn name(&self, register: &str) -> Option<String> {
        let (declared, number) = self.of.find(register)?;
        let index = self.of.all.iter().position(|d| d.name == declared.name)?;
        let (name, base) = self.bases.get(index)?;
        Some(match declared.count {
            Some(_) => format!("{name}{}", base + number),
            None => name.clone(),
        })
    }
}
