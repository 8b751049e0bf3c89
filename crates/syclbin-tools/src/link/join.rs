// SPDX-License-Identifier: MIT OR Apache-2.0
//! Joins modules: renumbers their ids so that no two modules share one, and finds the definition of each symbol.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::{LinkError, Object};
use syclbin::__private::spirv::edit::Instruction;
use syclbin::__private::spirv::grammar::{self, Unknown};
use syclbin::__private::spirv::portable::{Version, without_debug_info};
use syclbin::__private::spirv::words::{
    self, DECORATION_LINKAGE_ATTRIBUTES, INTRINSIC, LINKAGE_EXPORT, LINKAGE_IMPORT,
    LINKAGE_LINK_ONCE, op, string,
};
use syclbin::__private::spirv::{DECORATION_BUILT_IN, DECORATIONS_HOST_ACCESS};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Definition {
    Declaration(usize),
    Function(usize),
    /// An instruction inside the function with this index.
    Local(usize),
}

pub(super) struct Link {
    pub(super) symbol: String,
    pub(super) kind: u32,
}

/// Modules with distinct ids. The program is the first module, and its ids are unchanged.
#[derive(Default)]
pub(super) struct Joined<'o> {
    /// The first id and the name of each module.
    modules: Vec<(u32, &'o str)>,
    /// The id bound: greater than every id.
    pub(super) bound: u32,
    pub(super) generator: u32,
    pub(super) version: Version,
    memory_model: Vec<u32>,
    /// The instructions before the functions, without those that linking drops, such as debug information.
    pub(super) declarations: Vec<Instruction>,
    pub(super) functions: Vec<Vec<Instruction>>,
    pub(super) definitions: BTreeMap<u32, Definition>,
    pub(super) links: BTreeMap<u32, Link>,
    pub(super) built_ins: BTreeSet<u32>,
    /// The program's variables that the host accesses by name.
    pub(super) named_by_host: Vec<u32>,
}

impl<'o> Joined<'o> {
    pub(super) fn new(objects: &[Object<'o>]) -> Result<Self, LinkError> {
        let mut joined = Self::default();
        objects.iter().try_for_each(|object| joined.add(object))?;
        Ok(joined)
    }

    /// Returns the name of the module that an id comes from.
    pub(super) fn name_of(&self, id: u32) -> String {
        let module = self.modules.partition_point(|(start, _)| *start <= id);
        self.modules[module.saturating_sub(1)].1.into()
    }

    pub(super) fn is_of_program(&self, id: u32) -> bool {
        (self.modules.get(1)).is_none_or(|(start, _)| id < *start)
    }

    fn add(&mut self, object: &Object<'o>) -> Result<(), LinkError> {
        let damaged = |error| LinkError::Malformed(object.name.into(), error);
        let words = words::words(object.spirv).map_err(damaged)?;
        let words = without_debug_info(words).map_err(damaged)?;
        let (start, limit) = (self.bound, words[3]);
        let is_library = !self.modules.is_empty();
        if !is_library {
            self.generator = words[2];
        }
        let bound = start.checked_add(limit);
        self.bound = bound.ok_or_else(|| LinkError::TooLarge(object.name.into()))?;
        self.version = self.version.max(Version::of_header(&words));
        self.modules.push((start, object.name));
        let mut types = BTreeMap::new();
        let mut wide = BTreeSet::new();
        let mut has_memory_model = false;
        let mut is_inside = false;
        for instruction in words::instructions(&words) {
            let instruction = instruction.map_err(damaged)?;
            let at = instruction.at;
            let malformed = |problem| damaged(words::error(at, problem));
            let opcode = instruction.opcode;
            let has_wide_cases =
                |selector| (types.get(&selector)).is_some_and(|ty| wide.contains(ty));
            let ids = grammar::ids_with_cases(&instruction, has_wide_cases);
            let ids = ids.map_err(|why| match why {
                Unknown::Opcode => LinkError::Instruction(object.name.into(), opcode),
                Unknown::Operands => malformed("an instruction has the wrong operands"),
            })?;
            let mut operands = instruction.operands.to_vec();
            if let (Some(ty), Some(result)) = (ids.ty, ids.result) {
                types.insert(operands[result], operands[ty]);
            }
            if let (op::TYPE_INT, [id, bits, ..]) = (opcode, &operands[..])
                && *bits > 32
            {
                wide.insert(*id);
            }
            for at in ids.all() {
                if operands[at] >= limit {
                    return Err(malformed("an id is not less than the bound"));
                }
                operands[at] += start;
            }
            let result = ids.result.map(|at| operands[at]);
            match opcode {
                op::FUNCTION if is_inside => {
                    return Err(malformed("a function is nested in another"));
                }
                op::FUNCTION => {
                    is_inside = true;
                    self.functions.push(Vec::new());
                }
                // Drop the libraries' kernels and source languages. The program's source language stays, because some
                // drivers read it.
                op::ENTRY_POINT | op::EXECUTION_MODE | op::EXECUTION_MODE_ID | op::SOURCE
                    if is_library =>
                {
                    continue;
                }
                op::SOURCE => operands.truncate(2),
                op::SOURCE_CONTINUED | op::SOURCE_EXTENSION | op::MODULE_PROCESSED => continue,
                op::MEMORY_MODEL => {
                    has_memory_model = true;
                    if is_library {
                        if operands != self.memory_model {
                            let modules = [self.modules[0].1, object.name].map(String::from);
                            return Err(LinkError::MemoryModel(modules));
                        }
                        continue;
                    }
                    self.memory_model.clone_from(&operands);
                }
                op::DECORATE if !self.decorate(&operands, is_library) => continue,
                _ => {}
            }
            let (declarations, functions) = (&mut self.declarations, &mut self.functions);
            let definition = match functions.len().checked_sub(1) {
                Some(function) if opcode == op::FUNCTION => Definition::Function(function),
                Some(function) if is_inside => Definition::Local(function),
                _ => Definition::Declaration(declarations.len()),
            };
            if let Some(result) = result
                && self.definitions.insert(result, definition).is_some()
            {
                return Err(malformed("two instructions have the same result id"));
            }
            match functions.last_mut() {
                Some(function) if is_inside => function.push(Instruction { opcode, operands }),
                _ => declarations.push(Instruction { opcode, operands }),
            }
            is_inside &= opcode != op::FUNCTION_END;
        }
        match (is_inside, has_memory_model) {
            (true, _) => Err(damaged(words::error(words.len(), "a function has no end"))),
            (_, false) => Err(damaged(words::error(0, "it has no memory model"))),
            _ => Ok(()),
        }
    }

    /// Records a decoration. Returns `false` if the linked module must omit the decoration, because it would export a
    /// library's definition.
    fn decorate(&mut self, operands: &[u32], is_library: bool) -> bool {
        match operands {
            [target, DECORATION_LINKAGE_ATTRIBUTES, rest @ ..] => {
                let (symbol, rest) = string(rest);
                let is_intrinsic = symbol.starts_with(INTRINSIC);
                let kind = match rest.first() {
                    Some(&LINKAGE_EXPORT) if is_intrinsic => LINKAGE_LINK_ONCE,
                    kind => kind.copied().unwrap_or(LINKAGE_IMPORT),
                };
                self.links.entry(*target).or_insert(Link { symbol, kind });
                return !is_library || kind == LINKAGE_IMPORT || is_intrinsic;
            }
            [target, DECORATION_BUILT_IN, ..] => _ = self.built_ins.insert(*target),
            [target, decoration, ..]
                if !is_library && DECORATIONS_HOST_ACCESS.contains(decoration) =>
            {
                self.named_by_host.push(*target);
            }
            _ => {}
        }
        true
    }

    /// Maps each redundant declaration or definition of a symbol to its replacement: the strong definition if there is
    /// one, or otherwise the first weak definition. Without a definition, the first declaration replaces the others.
    pub(super) fn resolve(&self) -> Result<BTreeMap<u32, u32>, LinkError> {
        #[derive(Default)]
        struct Symbol {
            strong: Option<u32>,
            weak: Option<u32>,
            imported: Option<u32>,
        }
        let is_linked = |(id, _): &(&u32, &Link)| {
            let definition = self.definitions.get(id);
            !matches!(definition, None | Some(Definition::Local(_)))
        };
        let linked = || self.links.iter().filter(is_linked);
        let mut symbols: BTreeMap<&str, Symbol> = BTreeMap::new();
        for (id, link) in linked() {
            let symbol = symbols.entry(&link.symbol).or_default();
            let place = match link.kind {
                LINKAGE_EXPORT => &mut symbol.strong,
                LINKAGE_IMPORT => &mut symbol.imported,
                _ => &mut symbol.weak,
            };
            let first = *place.get_or_insert(*id);
            if link.kind == LINKAGE_EXPORT && first != *id {
                let symbol = link.symbol.clone();
                let modules = [first, *id].map(|id| self.name_of(id));
                return Err(LinkError::Duplicate { symbol, modules });
            }
        }
        let chosen = linked().filter_map(|(id, link)| {
            let symbol = symbols.get(&*link.symbol)?;
            let chosen = symbol.strong.or(symbol.weak).or(symbol.imported)?;
            (chosen != *id).then_some((*id, chosen))
        });
        Ok(chosen.collect())
    }
}
