// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the variables that are passed to a call, by tracing their addresses line by line through registers and stack
//! slots.

use std::collections::BTreeMap;

use super::reader::Reader;
use super::text::{Body, Text, is_name};
use crate::lower::NOT_CALLED;

pub(super) struct Read<'t> {
    pub(super) function: &'t str,
    /// The variable that holds the constant's symbol.
    pub(super) symbol: Option<&'t str>,
    /// The variable that holds the default value.
    pub(super) default: Option<&'t str>,
}

/// The values known at a line.
#[derive(Default)]
struct Known<'t> {
    /// The variable whose address each register or stack slot holds.
    values: BTreeMap<&'t str, &'t str>,
    /// The variable whose address is passed in each parameter of the next call.
    passed: BTreeMap<&'t str, &'t str>,
}

/// Returns the reads in a body, in order.
pub(super) fn reads<'t>(
    text: &Text<'t>,
    body: &Body<'t>,
    readers: &BTreeMap<&str, Reader<'_>>,
) -> Vec<Result<Read<'t>, &'static str>> {
    let lines = text.lines.get(body.lines.clone()).unwrap_or_default();
    let mut often = BTreeMap::new();
    for (_, operands) in lines.iter().filter_map(|line| instruction(line)) {
        for target in targets(operands) {
            *often.entry(target).or_insert(0) += 1;
        }
    }
    let mut known = Known::default();
    let mut found = Vec::new();
    for line in lines {
        let words = || line.split(|c| !is_name(c));
        let Some(function) = words().find(|word| readers.contains_key(word)) else {
            known.follow(text, line, &often);
            continue;
        };
        found.push(match call(line, function) {
            Some([symbol, default]) => Ok(Read {
                function,
                symbol: known.passed.get(symbol).copied(),
                default: known.passed.get(default).copied(),
            }),
            None => Err(NOT_CALLED),
        });
        known.forget_memory();
    }
    found
}

/// Returns the first two arguments of `call.uni (retval0), NAME, (param0, param1, param2);`.
fn call<'t>(line: &'t str, name: &str) -> Option<[&'t str; 2]> {
    let (operation, rest) = line.trim().strip_suffix(';')?.split_once(name)?;
    let passed = rest.trim().strip_prefix(',')?.trim();
    let passed = passed.strip_prefix('(')?.strip_suffix(')')?;
    let mut passed = passed.split(',').map(str::trim);
    let both = [passed.next()?, passed.next()?];
    let whole = passed.count() == 1;
    (operation.starts_with("call") && whole).then_some(both)
}

/// Splits an instruction into its name and operands.
fn instruction(line: &str) -> Option<(&str, &str)> {
    let line = line.trim().strip_suffix(';')?;
    line.split_once(char::is_whitespace)
}

impl<'t> Known<'t> {
    fn follow(&mut self, text: &Text<'t>, line: &'t str, often: &BTreeMap<&str, usize>) {
        let line = line.trim();
        if line.ends_with(':') {
            // After a jump to this label, registers and stack slots may contain other values.
            self.forget_memory();
            let once = |name: &str| often.get(name).is_none_or(|times| *times == 1);
            self.values.retain(|name, _| once(name));
            return;
        }
        if line.starts_with("{ // callseq") {
            self.passed.clear();
            return;
        }
        let Some((name, operands)) = instruction(line) else {
            return;
        };
        if name.starts_with('@') && !operands.starts_with("bra") {
            return self.values.clear(); // the instruction may or may not execute
        }
        if operands.starts_with('{') {
            return targets(operands).for_each(|target| _ = self.values.remove(target));
        }
        let mut operands = operands.splitn(2, ',').map(str::trim);
        let (Some(to), Some(from)) = (operands.next(), operands.next()) else {
            return self.forget_memory();
        };
        let variable = text.variables.contains_key(from).then_some(from);
        let value = variable.or_else(|| self.values.get(from).copied());
        let mut parts = name.split('.');
        let value = match (parts.next(), parts.next()) {
            (Some("mov"), Some("b64" | "u64")) | (Some("cvta"), Some("global")) => value,
            (Some("st"), Some("param")) => {
                match value {
                    Some(value) => self.passed.insert(place(to), value),
                    None => self.passed.remove(place(to)),
                };
                return;
            }
            (Some("st" | "ld"), _) => value.filter(|_| name.ends_with("64")),
            (Some("call"), _) => return self.forget_memory(),
            _ => None,
        };
        match value {
            Some(value) => self.values.insert(to, value),
            None => self.values.remove(to),
        };
    }

    fn forget_memory(&mut self) {
        self.values.retain(|name, _| !name.starts_with('['));
    }
}

/// Returns the registers that an instruction may write: the first operand, or all operands in braces.
fn targets(operands: &str) -> impl Iterator<Item = &str> {
    let group = operands
        .strip_prefix('{')
        .and_then(|rest| rest.split_once('}'));
    let first = match group {
        Some((all, _)) => all,
        None => operands.split(',').next().unwrap_or_default(),
    };
    first.split(',').map(str::trim)
}

/// Returns the name in `[param0]`.
fn place(operand: &str) -> &str {
    operand.trim_start_matches('[').trim_end_matches(']')
}
