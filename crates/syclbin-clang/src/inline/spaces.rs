// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses through a generic address whose memory space is known.
//!
//! The built-in functions take generic addresses. After inlining, many of these addresses turn out to point to
//! work-group, global or thread memory. NVIDIA's assembler does not detect this, and a generic atomic is much
//! slower than an atomic in work-group memory.

use std::collections::BTreeMap;

use super::line::{Instruction, Line, words};
use super::text::Body;

/// Changes such accesses to accesses of their memory space.
pub(super) fn settle(body: &mut Body) {
    let spaces = known(&body.lines);
    if spaces.is_empty() {
        return;
    }
    let mut lines = Vec::with_capacity(body.lines.len());
    for text in &body.lines {
        let access = match Line::of(text) {
            Line::Instruction(instruction) => access(&instruction, &spaces),
            _ => None,
        };
        let own = access.and_then(|access| Some((body.registers.add(64)?, access)));
        match own {
            Some((register, access)) => lines.extend(access.lines(&register)),
            None => lines.push(text.clone()),
        }
    }
    body.lines = lines;
}

/// Returns the registers that only ever hold addresses of a single memory space, with the space.
fn known(lines: &[String]) -> BTreeMap<String, &'static str> {
    let mut writes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut instructions = Vec::new();
    for text in lines {
        match Line::of(text) {
            Line::Instruction(instruction) => {
                // An instruction that reads the register as its first operand counts as a write, which is
                // conservative.
                let first = instruction.operands().first().copied().unwrap_or_default();
                let is_address = first.starts_with('[');
                for word in words(first).filter(|word| word.starts_with('%') && !is_address) {
                    *writes.entry(word).or_default() += 1;
                }
                instructions.push(instruction);
            }
            Line::Block(text) => {
                for word in words(text).filter(|word| word.starts_with('%')) {
                    *writes.entry(word).or_default() += 2;
                }
            }
            _ => {}
        }
    }
    let mut spaces: BTreeMap<String, &'static str> = BTreeMap::new();
    // Only instructions that stay within an object are followed. A sum of two registers may leave it.
    loop {
        let before = spaces.len();
        for instruction in &instructions {
            let operands = instruction.operands();
            let Some(register) = operands.first().copied() else {
                continue;
            };
            if instruction.guard.is_some() || writes.get(register) != Some(&1) {
                continue;
            }
            let of = |operand: &str| spaces.get(operand).copied();
            let space = match (instruction.name, &operands[1..]) {
                ("cvta.global.u64", [_]) => Some("global"),
                ("cvta.shared.u64", [_]) => Some("shared"),
                ("cvta.local.u64", [_]) => Some("local"),
                ("mov.b64" | "mov.u64", [from]) => of(from),
                ("add.s64" | "add.u64", [from, by]) if !by.starts_with('%') => of(from),
                _ => None,
            };
            if let Some(space) = space {
                spaces.insert(register.to_owned(), space);
            }
        }
        if spaces.len() == before {
            break spaces;
        }
    }
}

/// An access through a generic address whose memory space is known.
struct Access<'l> {
    instruction: Instruction<'l>,
    space: &'static str,
    address: &'l str,
}

/// The parts that may come before the memory space in the name of an access.
const ORDERS: [&str; 9] = [
    "weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "cta", "gpu", "sys",
];

fn access<'l>(
    instruction: &Instruction<'l>,
    spaces: &BTreeMap<String, &'static str>,
) -> Option<Access<'l>> {
    let operands = instruction.operands();
    let place = match instruction.kind() {
        "ld" | "atom" => 1,
        "st" | "red" => 0,
        _ => return None,
    };
    let address = operands.get(place)?.strip_prefix('[')?;
    let address = words(address)
        .next()
        .filter(|word| address.starts_with(word))?;
    let space = *spaces.get(address)?;
    // The next part is the operation or the type. Any other part is a memory space, or unknown.
    let mut rest = instruction
        .parts()
        .skip(1)
        .filter(|part| !ORDERS.contains(part));
    let next = rest.next()?;
    let is_type = |part: &str| super::line::bits(part).is_some();
    let is_generic = match instruction.kind() {
        "ld" | "st" => is_type(next) || matches!(next, "v2" | "v4"),
        _ => {
            let does = [
                "add", "and", "or", "xor", "cas", "exch", "min", "max", "inc", "dec",
            ];
            does.contains(&next)
        }
    };
    let is_plain = matches!(instruction.kind(), "ld" | "st")
        && instruction.parts().all(|part| !ORDERS.contains(&part));
    // Thread memory is not shared, so its accesses have no memory order.
    (is_generic && instruction.guard.is_none() && (is_plain || space != "local")).then_some(
        Access {
            instruction: *instruction,
            space,
            address,
        },
    )
}

impl Access<'_> {
    fn lines(&self, register: &str) -> [String; 2] {
        let Self {
            instruction,
            space,
            address,
        } = self;
        let ordered = instruction
            .parts()
            .skip(1)
            .take_while(|part| ORDERS.contains(part));
        let before: Vec<&str> = [instruction.kind()].into_iter().chain(ordered).collect();
        let after: Vec<&str> = instruction.parts().skip(before.len()).collect();
        let list = instruction
            .list
            .replacen(&format!("[{address}"), &format!("[{register}"), 1);
        [
            format!("\tcvta.to.{space}.u64 \t{register}, {address};"),
            format!(
                "\t{}.{space}.{} \t{list};",
                before.join("."),
                after.join(".")
            ),
        ]
    }
}
