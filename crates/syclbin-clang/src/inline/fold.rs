// SPDX-License-Identifier: MIT OR Apache-2.0
//! Removes code of a body that cannot be reached with known arguments.
//!
//! The built-in functions for atomics and barriers branch on the memory order and scope, which calls pass as
//! numbers. NVIDIA's assembler would fold this too, except for tables that it reads from memory. Folding first also
//! matters because the remaining size decides whether a function is inlined.

use std::collections::{BTreeMap, BTreeSet};

use super::line::{Instruction, Line, split, words};
use super::text::Body;
use super::values::{Constants, Tables, Values};

/// The limit for chains of unneeded instructions; the assembler removes the rest.
const MAX_ROUNDS: usize = 32;

/// Returns the lines of `body` that are needed when the arguments in `constants` are passed.
pub(super) fn fold(body: &Body, constants: &Constants<'_>, tables: &Tables<'_>) -> Vec<String> {
    if constants.is_empty() {
        return body.lines.clone();
    }
    let values = Values::of(body, constants, tables);
    let Some(flow) = Flow::of(&body.lines, &values) else {
        return body.lines.clone();
    };
    let mut kept = Vec::new();
    for (at, text) in body.lines.iter().enumerate() {
        let line = Line::of(text);
        let is_kept = match line {
            Line::Targets(name, _) => flow.used.contains(name),
            _ => flow.reached.contains(&at),
        };
        if !is_kept {
            continue;
        }
        match (flow.ways.get(&at), line) {
            (Some(Way::On), _) => {}
            (Some(Way::Away(rest)), _) => kept.push(format!("\t{rest};")),
            _ => kept.push(text.clone()),
        }
    }
    straighten(&mut kept);
    for _ in 0..MAX_ROUNDS {
        if !drop_unused(&mut kept) {
            break;
        }
    }
    kept
}

/// The effect of a branch with a known condition.
enum Way {
    /// The branch is never taken: execution continues with the next line.
    On,
    /// The branch is always taken, as this instruction.
    Away(String),
}

/// The lines that can be reached.
struct Flow<'f> {
    reached: BTreeSet<usize>,
    ways: BTreeMap<usize, Way>,
    /// The target lists that are still used.
    used: BTreeSet<&'f str>,
}

impl<'f> Flow<'f> {
    /// Returns `None` if a branch is not understood.
    fn of(lines: &'f [String], values: &Values<'_>) -> Option<Self> {
        let mut labels = BTreeMap::new();
        let mut lists = BTreeMap::new();
        for (at, text) in lines.iter().enumerate() {
            match Line::of(text) {
                Line::Label(name) => drop(labels.insert(name, at)),
                Line::Targets(name, list) => drop(lists.insert(name, split(list))),
                _ => {}
            }
        }
        let mut flow = Self {
            reached: BTreeSet::new(),
            ways: BTreeMap::new(),
            used: BTreeSet::new(),
        };
        let mut next = vec![0];
        while let Some(at) = next.pop() {
            let Some(text) = lines.get(at) else { continue };
            if !flow.reached.insert(at) {
                continue;
            }
            let Line::Instruction(instruction) = Line::of(text) else {
                next.push(at + 1);
                continue;
            };
            if !matches!(instruction.kind(), "bra" | "brx" | "ret") {
                if !instruction.ends_flow() {
                    next.push(at + 1);
                }
                continue;
            }
            let done = match instruction.guard {
                Some(guard) => values.is_done(guard),
                None => Some(true),
            };
            if done == Some(false) {
                flow.ways.insert(at, Way::On);
                next.push(at + 1);
                continue;
            }
            if done.is_none() {
                next.push(at + 1);
            }
            let targets = match instruction.kind() {
                "ret" => Vec::new(),
                "bra" => instruction.operands(),
                _ => flow.chosen(at, &instruction, &lists, values)?,
            };
            if done.is_some() && instruction.guard.is_some() {
                let rest = format!("{} \t{}", instruction.name, instruction.list);
                flow.ways.insert(at, Way::Away(rest));
            }
            for target in targets {
                next.push(*labels.get(target)?);
            }
        }
        Some(flow)
    }

    /// Returns the possible targets of a branch by index.
    fn chosen(
        &mut self,
        at: usize,
        instruction: &Instruction<'f>,
        lists: &BTreeMap<&'f str, Vec<&'f str>>,
        values: &Values<'_>,
    ) -> Option<Vec<&'f str>> {
        let [index, list] = instruction.operands()[..] else {
            return None;
        };
        let (name, targets) = lists.get_key_value(list)?;
        let number = values.number(index).filter(|_| instruction.guard.is_none());
        if let Some(number) = number {
            let target = *targets.get(usize::try_from(number).ok()?)?;
            self.ways.insert(at, Way::Away(format!("bra \t{target}")));
            return Some(vec![target]);
        }
        self.used.insert(name);
        Some(targets.clone())
    }
}

/// Removes branches to the next line, and unused labels.
fn straighten(lines: &mut Vec<String>) {
    let mut kept: Vec<String> = Vec::with_capacity(lines.len());
    for text in lines.drain(..) {
        if let Line::Label(name) = Line::of(&text)
            && let Some(last) = kept.last()
            && let Line::Instruction(branch) = Line::of(last)
            && branch.kind() == "bra"
            && branch.guard.is_none()
            && branch.list == name
        {
            kept.pop();
        }
        kept.push(text);
    }
    let mut used: BTreeSet<String> = BTreeSet::new();
    for text in &kept {
        match Line::of(text) {
            Line::Label(_) => {}
            Line::Targets(_, list) => used.extend(words(list).map(str::to_owned)),
            _ => used.extend(
                words(text)
                    .filter(|word| word.starts_with('$'))
                    .map(str::to_owned),
            ),
        }
    }
    kept.retain(|text| match Line::of(text) {
        Line::Label(name) => used.contains(name) || !name.starts_with('$'),
        _ => true,
    });
    *lines = kept;
}

/// Removes instructions that only write an unused register. Returns whether there were any.
fn drop_unused(lines: &mut Vec<String>) -> bool {
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for text in lines.iter() {
        for word in words(text).filter(|word| word.starts_with('%')) {
            *uses.entry(word.to_owned()).or_default() += 1;
        }
    }
    let before = lines.len();
    lines.retain(|text| {
        let Line::Instruction(instruction) = Line::of(text) else {
            return true;
        };
        let operands = instruction.operands();
        let register = operands.first().copied().unwrap_or_default();
        !is_pure(&instruction) || uses.get(register) != Some(&1)
    });
    lines.len() < before
}

/// Returns whether the only effect is to write the register in the first operand.
fn is_pure(instruction: &Instruction<'_>) -> bool {
    let name = instruction.name;
    let kinds = [
        "mov", "add", "sub", "mul", "and", "or", "xor", "not", "shl", "shr", "setp", "selp", "cvt",
        "cvta",
    ];
    let loads = ["ld.param.", "ld.global.nc."];
    // The next instruction reads the carry flag.
    instruction.guard.is_none()
        && instruction.parts().all(|part| part != "cc")
        && (kinds.contains(&instruction.kind()) || loads.iter().any(|load| name.starts_with(load)))
}
