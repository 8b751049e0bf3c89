// SPDX-License-Identifier: MIT OR Apache-2.0
//! An input module: the definition and annotations of each id.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::{LinkError, Object, too_large};
use syclbin::__private::spirv::grammar::{Ids, Unknown};
use syclbin::__private::spirv::portable::{Version, is_debug_info};
use syclbin::__private::spirv::words::{
    DECORATION_LINKAGE_ATTRIBUTES, DECORATION_SPEC_ID, HEADER_WORDS, Instruction, LINKAGE_EXPORT,
    LINKAGE_IMPORT, op, string,
};
use syclbin::__private::spirv::{DECORATION_BUILT_IN, grammar, words};

/// The maximum expansion of decoration groups, relative to the size of the module.
const MOST_EXPANSION: usize = 64;

/// Where an id is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Definition {
    /// The index of a global instruction.
    Global(usize),
    /// The number of a function.
    Function(usize),
    /// An instruction in the function with this number.
    Local(usize),
}

/// An annotation of an id: the index of the instruction, and the member if a group adds one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Annotation {
    pub(super) at: usize,
    pub(super) member: Option<u32>,
}

/// The linkage of a symbol.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) symbol: String,
    pub(super) kind: u32,
}

pub(super) struct Input<'w> {
    pub(super) name: String,
    pub(super) version: Version,
    pub(super) generator: u32,
    pub(super) instructions: Vec<Instruction<'w>>,
    pub(super) definitions: BTreeMap<u32, Definition>,
    /// The functions: ranges of instructions.
    pub(super) functions: Vec<Range<usize>>,
    pub(super) decorations: BTreeMap<u32, Vec<Annotation>>,
    pub(super) names: BTreeMap<u32, Vec<usize>>,
    pub(super) links: BTreeMap<u32, Link>,
    pub(super) built_ins: BTreeSet<u32>,
    pub(super) spec_ids: BTreeSet<u32>,
    /// The type of each result.
    types: BTreeMap<u32, u32>,
    /// Integer types wider than 32 bits.
    wide: BTreeSet<u32>,
    /// Extended instruction sets that only describe the source.
    descriptive: BTreeSet<u32>,
}

impl<'w> Input<'w> {
    pub(super) fn new(object: &Object<'_>, words: &'w [u32]) -> Result<Self, LinkError> {
        let malformed = |error| LinkError::Malformed {
            module: object.name.into(),
            error,
        };
        let instructions: Result<Vec<_>, _> = words::instructions(words).collect();
        let mut input = Self {
            name: object.name.into(),
            version: Version::of_header(words),
            generator: words.get(2).copied().unwrap_or_default(),
            instructions: instructions.map_err(malformed)?,
            definitions: BTreeMap::new(),
            functions: Vec::new(),
            decorations: BTreeMap::new(),
            names: BTreeMap::new(),
            links: BTreeMap::new(),
            built_ins: BTreeSet::new(),
            spec_ids: BTreeSet::new(),
            types: BTreeMap::new(),
            wide: BTreeSet::new(),
            descriptive: BTreeSet::new(),
        };
        input.define()?;
        input.annotate()?;
        if words.len() < HEADER_WORDS {
            return Err(input.malformed(0, "the header is truncated"));
        }
        Ok(input)
    }

    pub(super) fn malformed(&self, place: usize, problem: &'static str) -> LinkError {
        let at = self.instructions.get(place).map_or(0, |found| found.at);
        LinkError::Malformed {
            module: self.name.clone(),
            error: words::error(at, problem),
        }
    }

    pub(super) fn instruction(&self, place: usize) -> Result<Instruction<'w>, LinkError> {
        let found = self.instructions.get(place).copied();
        found.ok_or_else(|| self.malformed(place, "an instruction is missing"))
    }

    /// Returns the ids of the instruction at `place`.
    pub(super) fn ids(&self, place: usize) -> Result<Ids, LinkError> {
        let instruction = self.instruction(place)?;
        let is_wide = |selector: u32| {
            let ty = self.types.get(&selector);
            ty.is_some_and(|ty| self.wide.contains(ty))
        };
        grammar::ids_with_cases(&instruction, is_wide).map_err(|why| match why {
            Unknown::Opcode => LinkError::Instruction {
                module: self.name.clone(),
                opcode: instruction.opcode,
            },
            Unknown::Operands => self.malformed(place, "an instruction has the wrong operands"),
        })
    }

    /// Returns whether an instruction only describes the source.
    pub(super) fn is_descriptive(&self, instruction: &Instruction<'_>) -> bool {
        matches!(
            instruction.opcode,
            op::EXT_INST | op::EXT_INST_WITH_FORWARD_REFS
        ) && (instruction.operands.get(2)).is_some_and(|set| self.descriptive.contains(set))
    }

    fn define(&mut self) -> Result<(), LinkError> {
        let mut start = None;
        for place in 0..self.instructions.len() {
            let instruction = self.instruction(place)?;
            if is_debug_info(&instruction) {
                self.descriptive.extend(instruction.operands.first());
                continue;
            }
            if self.is_descriptive(&instruction) {
                continue;
            }
            match (instruction.opcode, start) {
                (op::FUNCTION, Some(_)) => {
                    return Err(self.malformed(place, "a function is nested in another"));
                }
                (op::FUNCTION, None) => start = Some(place),
                (op::FUNCTION_END, Some(first)) => {
                    self.functions.push(first..place + 1);
                    start = None;
                    continue;
                }
                (op::TYPE_INT, _) => {
                    if let [id, bits, ..] = instruction.operands
                        && *bits > 32
                    {
                        self.wide.insert(*id);
                    }
                }
                _ => {}
            }
            let ids = self.ids(place)?;
            let operand = |at: Option<usize>| at.and_then(|at| instruction.operands.get(at));
            let Some(result) = operand(ids.result).copied() else {
                continue;
            };
            if let Some(ty) = operand(ids.ty) {
                self.types.insert(result, *ty);
            }
            let number = self.functions.len();
            let definition = match start {
                Some(first) if first == place => Definition::Function(number),
                Some(_) => Definition::Local(number),
                None => Definition::Global(place),
            };
            if self.definitions.insert(result, definition).is_some() {
                return Err(self.malformed(place, "two instructions have the same result"));
            }
        }
        match start {
            Some(place) => Err(self.malformed(place, "a function has no end")),
            None => Ok(()),
        }
    }

    /// Collects the decorations and names of each id, and expands decoration groups.
    fn annotate(&mut self) -> Result<(), LinkError> {
        let mut expanded = self
            .instructions
            .iter()
            .map(|i| 1 + i.operands.len())
            .sum::<usize>();
        let most = expanded.saturating_mul(MOST_EXPANSION);
        for place in 0..self.instructions.len() {
            let instruction = self.instruction(place)?;
            let Some((target, rest)) = instruction.operands.split_first() else {
                continue;
            };
            match instruction.opcode {
                op::FUNCTION => break,
                op::NAME | op::MEMBER_NAME => self.names.entry(*target).or_default().push(place),
                op::DECORATE
                | op::MEMBER_DECORATE
                | op::DECORATE_ID
                | op::DECORATE_STRING
                | op::MEMBER_DECORATE_STRING => {
                    self.decorate(
                        *target,
                        Annotation {
                            at: place,
                            member: None,
                        },
                    );
                }
                op::GROUP_DECORATE | op::GROUP_MEMBER_DECORATE => {
                    let group = self.decorations.get(target).cloned().unwrap_or_default();
                    let words = |a: &Annotation| {
                        self.instructions.get(a.at).map_or(0, |i| i.operands.len())
                    };
                    let words: usize = group.iter().map(words).sum();
                    let stride = if instruction.opcode == op::GROUP_DECORATE {
                        1
                    } else {
                        2
                    };
                    expanded = expanded.saturating_add(words.saturating_mul(rest.len()));
                    if expanded > most {
                        return Err(too_large(&self.name));
                    }
                    for one in rest.chunks(stride) {
                        for annotation in &group {
                            let member = one.get(1).copied();
                            self.decorate(
                                one[0],
                                Annotation {
                                    member,
                                    ..*annotation
                                },
                            );
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn decorate(&mut self, target: u32, annotation: Annotation) {
        self.decorations.entry(target).or_default().push(annotation);
        let Some(instruction) = self.instructions.get(annotation.at) else {
            return;
        };
        match instruction.operands {
            _ if instruction.opcode != op::DECORATE || annotation.member.is_some() => {}
            [_, DECORATION_LINKAGE_ATTRIBUTES, rest @ ..] => {
                let (symbol, rest) = string(rest);
                let kind = rest.first().copied().unwrap_or(LINKAGE_IMPORT);
                self.links.entry(target).or_insert(Link { symbol, kind });
            }
            [_, DECORATION_BUILT_IN, ..] => {
                self.built_ins.insert(target);
            }
            [_, DECORATION_SPEC_ID, ..] => {
                self.spec_ids.insert(target);
            }
            _ => {}
        }
    }
}

/// The index of a module, and an id in it.
pub(super) type Key = (usize, u32);

/// The declarations and definitions of a symbol in all modules.
#[derive(Default)]
struct Symbol {
    strong: Option<Key>,
    weak: Option<Key>,
    imported: Option<Key>,
}

/// Resolves each declaration to its definition. A definition that may be repeated resolves to the exclusive
/// definition, if there is one, and otherwise to the first repeatable definition. Without a definition,
/// declarations resolve to the first declaration.
pub(super) fn resolve(inputs: &[Input<'_>]) -> Result<BTreeMap<Key, Key>, LinkError> {
    let mut symbols: BTreeMap<&str, Symbol> = BTreeMap::new();
    for (index, input) in inputs.iter().enumerate() {
        for (id, link) in linked(input) {
            let symbol = symbols.entry(link.symbol.as_str()).or_default();
            let place = match link.kind {
                LINKAGE_EXPORT => &mut symbol.strong,
                LINKAGE_IMPORT => &mut symbol.imported,
                _ => &mut symbol.weak,
            };
            let (first, _) = *place.get_or_insert((index, id));
            if link.kind == LINKAGE_EXPORT && *place != Some((index, id)) {
                return Err(LinkError::Duplicate {
                    symbol: link.symbol.clone(),
                    modules: [inputs[first].name.clone(), input.name.clone()],
                });
            }
        }
    }
    let mut aliases = BTreeMap::new();
    for (index, input) in inputs.iter().enumerate() {
        for (id, link) in linked(input) {
            let symbol = symbols.get(link.symbol.as_str());
            let chosen = symbol.and_then(|found| found.strong.or(found.weak).or(found.imported));
            if let Some(chosen) = chosen.filter(|chosen| *chosen != (index, id)) {
                aliases.insert((index, id), chosen);
            }
        }
    }
    Ok(aliases)
}

/// Returns the ids of a module that have a symbol, in ascending order.
fn linked<'i>(input: &'i Input<'_>) -> impl Iterator<Item = (u32, &'i Link)> {
    input.links.iter().filter_map(|(id, link)| {
        let definition = input.definitions.get(id);
        let can_be_linked = matches!(
            definition,
            Some(Definition::Global(_) | Definition::Function(_))
        );
        can_be_linked.then_some((*id, link))
    })
}
