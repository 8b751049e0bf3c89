// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inlines calls in PTX.
//!
//! The compiler library links SYCL's built-in functions, such as `get_global_id`, `sqrt` and atomics, after its
//! optimization. So they all stay calls, and NVIDIA's assembler and drivers do not inline them either. A call in an
//! inner loop costs more than the called function. No option of the library changes this, so this module inlines
//! calls in the PTX text.
//!
//! The text is expected in the form that LLVM writes. A call or function in another form stays unchanged. A text
//! with debug information stays unchanged as a whole, because the information refers to the positions of functions.
//!
//! | module | purpose |
//! |---|---|
//! | [`line`](mod@line) | a line: its kind, words and operands |
//! | [`registers`] | the registers that a function declares |
//! | [`text`] | functions, their interfaces and bodies |
//! | [`call`] | a call, with its arguments and results |
//! | [`places`] | registers or memory for arguments and results |
//! | [`splice`](mod@splice) | replaces a call by the body of the function |
//! | [`fold`] | removes code that cannot be reached with the arguments of a call |
//! | [`values`] | known values of registers |
//! | [`spaces`] | accesses with a known memory space |
//! | [`sweep`] | removes functions that are no longer called |

mod call;
mod fold;
mod line;
mod places;
mod registers;
mod spaces;
mod splice;
mod sweep;
mod text;
mod values;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use call::Call;
use splice::{Callee, splice};
use text::{Body, Item, Text, size};
use values::Tables;

/// A larger function, in instructions, is inlined only if it is called once.
const LARGE: usize = 200;

/// The growth limit of a text in instructions, in addition to its own size.
const GROWTH: usize = 20_000;

/// Returns the PTX `text` with calls inlined, or unchanged.
pub(crate) fn inline(text: &str) -> String {
    let is_debugged = text
        .lines()
        .any(|line| line.trim_start().starts_with(".section"));
    if is_debugged || text.contains(splice::LABEL) || text.contains(places::MEMORY) {
        return text.to_owned();
    }
    let Some(mut parsed) = Text::parse(text) else {
        return text.to_owned();
    };
    let tables = Tables::of(&parsed.items);
    let mut bodies = Bodies::of(&parsed);
    if !bodies.inline(&tables) {
        return text.to_owned();
    }
    for item in &mut parsed.items {
        if let Item::Function(function) = item {
            // A function without a parsed body is written unchanged.
            function.body = bodies.changed.remove(function.name);
            function.body.iter_mut().for_each(spaces::settle);
        }
    }
    let written = sweep::write(&parsed);
    // In the input, a call may have come before any declaration of the function that it calls.
    if sweep::is_declared(&written) {
        written
    } else {
        text.to_owned()
    }
}

/// The bodies of a text while their calls are inlined.
struct Bodies<'t> {
    /// The bodies that were parsed, with their interface if calls of them can be inlined.
    all: BTreeMap<&'t str, (Body, Option<text::Interface<'t>>)>,
    /// The functions that each function calls, once per call.
    calls: BTreeMap<&'t str, Vec<String>>,
    /// The functions that only this text can call.
    own: BTreeSet<&'t str>,
    changed: BTreeMap<&'t str, Body>,
}

impl<'t> Bodies<'t> {
    fn of(text: &Text<'t>) -> Self {
        let mut found = Self {
            all: BTreeMap::new(),
            calls: BTreeMap::new(),
            own: BTreeSet::new(),
            changed: BTreeMap::new(),
        };
        let mut holders: BTreeMap<&str, usize> = BTreeMap::new();
        for item in &text.items {
            if let Item::Function(function) = item
                && let Some(body) = &function.body
            {
                for name in body.locals.keys() {
                    *holders.entry(name).or_default() += 1;
                }
            }
        }
        for item in &text.items {
            let Item::Function(function) = item else {
                continue;
            };
            let Some(body) = &function.body else { continue };
            let places = call::places(&body.lines);
            let calls = places
                .iter()
                .filter_map(|place| call::at(&body.lines, place));
            found.calls.insert(function.name, calls.collect());
            // The linker may choose another definition instead of a weak function.
            let mut interface = function.interface.clone();
            if function.is_kernel || function.linkage.is_some_and(|l| l != ".visible") {
                interface = None;
            }
            // Variables of the same name would be merged into one.
            let is_shared =
                |name: &String| holders.get(name.as_str()).is_some_and(|held| *held > 1);
            if body.locals.keys().any(is_shared) {
                interface = None;
            }
            if function.linkage.is_none() {
                found.own.insert(function.name);
            }
            found.all.insert(function.name, (body.clone(), interface));
        }
        let recursive: Vec<_> = found
            .all
            .keys()
            .copied()
            .filter(|f| found.reaches_itself(f))
            .collect();
        for name in recursive {
            if let Some((_, interface)) = found.all.get_mut(name) {
                *interface = None;
            }
        }
        found
    }

    fn reaches_itself(&self, function: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut next = vec![function];
        while let Some(caller) = next.pop() {
            for callee in self.calls.get(caller).into_iter().flatten() {
                if callee == function {
                    return true;
                }
                if seen.insert(callee.as_str()) {
                    next.push(callee);
                }
            }
        }
        false
    }

    /// Returns all functions, each after the functions that are inlined into it.
    fn order(&self) -> Vec<&'t str> {
        let mut order = Vec::new();
        let mut seen = BTreeSet::new();
        for function in self.all.keys().copied() {
            let mut stack = vec![(function, false)];
            while let Some((function, is_left)) = stack.pop() {
                if is_left {
                    order.push(function);
                } else if seen.insert(function) {
                    stack.push((function, true));
                    let callees = self.calls.get(function).into_iter().flatten();
                    let callees =
                        callees.filter_map(|callee| self.all.get_key_value(callee.as_str()));
                    let can = callees.filter(|(_, (_, interface))| interface.is_some());
                    stack.extend(can.map(|(callee, _)| (*callee, false)));
                }
            }
        }
        order
    }

    /// Inlines the calls, and returns whether any call was inlined.
    fn inline(&mut self, tables: &Tables<'_>) -> bool {
        let all: usize = self.all.values().map(|(body, _)| body.size()).sum();
        let mut room = GROWTH.saturating_add(all);
        let mut label = 0;
        let mut uses: BTreeMap<String, usize> = BTreeMap::new();
        for callee in self.calls.values().flatten() {
            *uses.entry(callee.clone()).or_default() += 1;
        }
        for name in self.order() {
            let Some((old, _)) = self.all.get(name) else {
                continue;
            };
            let mut body = Body {
                lines: Vec::new(),
                ..old.clone()
            };
            let mut at = 0;
            let mut is_changed = false;
            for place in call::places(&old.lines) {
                body.lines.extend_from_slice(&old.lines[at..place.start]);
                at = place.end;
                let inside = &old.lines[place.start + 1..place.end - 1];
                let spliced = Call::of(inside).and_then(|call| {
                    let (callee_body, interface) = self.all.get(call.callee)?;
                    let callee = Callee {
                        interface: interface.as_ref()?,
                        body: callee_body,
                    };
                    let is_only =
                        self.own.contains(call.callee) && uses.get(call.callee) == Some(&1);
                    let spliced = splice(&call, &callee, &body, tables, &mut label)?;
                    let size = size(&spliced.lines);
                    let is_small = size <= LARGE && size <= room;
                    (is_only || is_small).then_some((spliced, size))
                });
                match spliced {
                    Some((spliced, size)) => {
                        room = room.saturating_sub(size);
                        body.lines.extend(spliced.lines);
                        body.registers = spliced.registers;
                        body.locals = spliced.locals;
                        is_changed = true;
                    }
                    None => body.lines.extend_from_slice(&old.lines[place]),
                }
            }
            body.lines.extend_from_slice(&old.lines[at..]);
            if is_changed {
                self.changed.insert(name, body.clone());
                if let Some((known, _)) = self.all.get_mut(name) {
                    *known = body;
                }
            }
        }
        !self.changed.is_empty()
    }
}
