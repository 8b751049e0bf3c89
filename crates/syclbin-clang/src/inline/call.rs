// SPDX-License-Identifier: MIT OR Apache-2.0
//! A call, as LLVM writes it: stores to parameters, the call itself, loads of its results.

use super::line::{Access, Instruction, Line, split, words};

/// A call.
pub(super) struct Call<'l> {
    pub(super) callee: &'l str,
    /// The names of the arguments, in order, and of the results.
    pub(super) arguments: Vec<&'l str>,
    pub(super) results: Vec<&'l str>,
    pub(super) steps: Vec<Step<'l>>,
}

/// A step of the call sequence, from its first to its last line.
pub(super) enum Step<'l> {
    Pass(Access<'l>),
    Call,
    Return(Access<'l>),
    /// An unrelated instruction.
    Other(&'l str),
}

impl<'l> Call<'l> {
    /// Parses the lines between the braces. Returns `None` for anything unknown, such as a call of a function that
    /// is only known at run time.
    pub(super) fn of(lines: &'l [String]) -> Option<Self> {
        let mut declared = Vec::new();
        let mut found: Option<Target<'_>> = None;
        let mut steps = Vec::new();
        for text in lines {
            match Line::of(text) {
                Line::Blank => {}
                Line::Parameter(name) => declared.push(name),
                Line::Instruction(instruction) if instruction.kind() == "call" => {
                    let target = Target::of(&instruction).filter(|_| found.is_none())?;
                    found = Some(target);
                    steps.push(Step::Call);
                }
                Line::Instruction(instruction) => {
                    let access = Access::of(&instruction).filter(|a| declared.contains(&a.name));
                    steps.push(match access {
                        Some(access) if access.is_store && found.is_none() => Step::Pass(access),
                        Some(access) if !access.is_store && found.is_some() => Step::Return(access),
                        None if words(text).all(|word| !declared.contains(&word)) => {
                            Step::Other(text)
                        }
                        _ => return None,
                    });
                }
                _ => return None,
            }
        }
        let Target {
            callee,
            arguments,
            results,
        } = found?;
        let passes = |name: &str| arguments.contains(&name);
        let returns = |name: &str| results.contains(&name);
        let is_right = steps.iter().all(|step| match step {
            Step::Pass(access) => passes(access.name),
            Step::Return(access) => returns(access.name),
            _ => true,
        });
        is_right.then_some(Self {
            callee,
            arguments,
            results,
            steps,
        })
    }
}

/// `call.uni (retval0), NAME, (param0, param1)`; the lists are optional.
struct Target<'l> {
    callee: &'l str,
    arguments: Vec<&'l str>,
    results: Vec<&'l str>,
}

impl<'l> Target<'l> {
    fn of(instruction: &Instruction<'l>) -> Option<Self> {
        let list = |operand: &'l str| {
            let inside = operand.strip_prefix('(')?.strip_suffix(')')?;
            Some(split(inside))
        };
        let operands = instruction.operands();
        let (results, rest) = match operands.split_first() {
            Some((first, rest)) if first.starts_with('(') => (list(first)?, rest),
            _ => (Vec::new(), &operands[..]),
        };
        let (callee, arguments) = match rest {
            [callee] => (*callee, Vec::new()),
            [callee, arguments] => (*callee, list(arguments)?),
            _ => return None, // with a prototype
        };
        let is_direct = !callee.starts_with('%') && matches!(instruction.name, "call" | "call.uni");
        (is_direct && instruction.guard.is_none()).then_some(Self {
            callee,
            arguments,
            results,
        })
    }
}

/// Returns the line range of each call in a body, from the opening to the closing line.
pub(super) fn places(lines: &[String]) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut open = None;
    for (at, line) in lines.iter().enumerate() {
        match Line::of(line) {
            Line::Open => open = Some(at),
            Line::Close => found.extend(open.take().map(|start| start..at + 1)),
            _ => {}
        }
    }
    found
}

/// Returns the name of the function that the call at `place` calls.
pub(super) fn at(lines: &[String], place: &std::ops::Range<usize>) -> Option<String> {
    let inside = lines.get(place.start + 1..place.end.checked_sub(1)?)?;
    Call::of(inside).map(|call| call.callee.to_owned())
}
