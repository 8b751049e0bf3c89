// SPDX-License-Identifier: MIT OR Apache-2.0
//! Emits the instructions that the result needs, with new ids. Each instruction follows those that it refers to.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::functions::Adapter;
use super::input::{self, Key};
use super::input::{Annotation, Definition, Input};
use super::{LinkError, STORAGE_INPUT, memory_model, too_large};
use syclbin::__private::spirv::grammar::{Ids, is_merged};
use syclbin::__private::spirv::words::{
    DECORATION_LINKAGE_ATTRIBUTES, LINKAGE_IMPORT, op, put, string,
};

/// The maximum size of the result, relative to the total size of the modules.
const MOST_GROWTH: usize = 64;

pub(super) struct Linker<'i, 'w> {
    inputs: &'i [Input<'w>],
    memory_model: &'w [u32],
    aliases: BTreeMap<Key, Key>,
    /// How calls to each import must be adapted to its definition.
    pub(super) adapters: BTreeMap<Key, Adapter>,
    /// The number of types that were compared to compute the adapters.
    pub(super) adapted: usize,
    is_adapting: bool,
    ids: BTreeMap<Key, u32>,
    next: u32,
    /// The new ids of types and constants, by their meaning.
    merged: BTreeMap<Vec<u32>, u32>,
    /// Functions whose bodies are still to be emitted.
    pending: Vec<Key>,
    /// The storage classes and ids of global variables.
    variables: Vec<(u32, u32)>,
    has_links: bool,
    imports: Vec<u32>,
    strings: Vec<u32>,
    names: Vec<u32>,
    decorations: Vec<u32>,
    globals: Vec<u32>,
    pub(super) declarations: Vec<u32>,
    pub(super) definitions: Vec<u32>,
}

impl<'i, 'w> Linker<'i, 'w> {
    pub(super) fn new(inputs: &'i [Input<'w>]) -> Result<Self, LinkError> {
        Ok(Self {
            inputs,
            memory_model: memory_model(inputs)?,
            aliases: input::resolve(inputs)?,
            adapters: BTreeMap::new(),
            adapted: 0,
            is_adapting: false,
            ids: BTreeMap::new(),
            next: 1,
            merged: BTreeMap::new(),
            pending: Vec::new(),
            variables: Vec::new(),
            has_links: false,
            imports: Vec::new(),
            strings: Vec::new(),
            names: Vec::new(),
            decorations: Vec::new(),
            globals: Vec::new(),
            declarations: Vec::new(),
            definitions: Vec::new(),
        })
    }

    pub(super) fn input(&self, index: usize) -> &'i Input<'w> {
        &self.inputs[index]
    }

    /// Returns the first number that is not an id of the result.
    pub(super) fn bound(&self) -> u32 {
        self.next
    }

    pub(super) fn has_links(&self) -> bool {
        self.has_links
    }

    /// Returns the variables of the result, with their storage classes.
    pub(super) fn variables(&self) -> &[(u32, u32)] {
        &self.variables
    }

    pub(super) fn most_words(&self) -> usize {
        let words = |input: &Input<'_>| input.instructions.last().map_or(0, |last| last.at);
        let words: usize = self.inputs.iter().map(words).sum();
        words.saturating_mul(MOST_GROWTH)
    }

    pub(super) fn resolve(&self, key: Key) -> Key {
        self.aliases.get(&key).copied().unwrap_or(key)
    }

    pub(super) fn fresh(&mut self) -> u32 {
        let id = self.next;
        // There are fewer ids than words, so this never saturates for a valid result.
        self.next = self.next.saturating_add(1);
        id
    }

    /// Returns the id in the result, if it has been assigned.
    pub(super) fn new_id(&self, index: usize, id: u32) -> Option<u32> {
        self.ids.get(&self.resolve((index, id))).copied()
    }

    /// Returns the new id of an id in a function, which may be defined later.
    pub(super) fn local_id(&mut self, key: Key) -> u32 {
        let key = self.resolve(key);
        if let Some(id) = self.ids.get(&key) {
            return *id;
        }
        let id = self.fresh();
        self.ids.insert(key, id);
        id
    }

    /// Schedules a function to be emitted.
    pub(super) fn function(&mut self, index: usize, id: u32) -> Result<(), LinkError> {
        let key = self.checked((index, id))?;
        if !self.ids.contains_key(&key) {
            self.local_id(key);
            self.pending.push(key);
        }
        Ok(())
    }

    /// Emits all scheduled functions.
    pub(super) fn drain(&mut self) -> Result<(), LinkError> {
        while let Some(key) = self.pending.pop() {
            self.body(key)?;
        }
        Ok(())
    }

    /// Resolves an id, after checking that the declaration and definition are compatible.
    pub(super) fn checked(&mut self, key: Key) -> Result<Key, LinkError> {
        let target = self.resolve(key);
        if target != key && !self.adapters.contains_key(&key) {
            // Types do not refer to symbols. Without this check, damaged code could cause unbounded recursion.
            if core::mem::replace(&mut self.is_adapting, true) {
                return Err(self.input(key.0).malformed(0, "a type refers to a symbol"));
            }
            let adapter = self.adapter(key, target)?;
            self.is_adapting = false;
            self.adapters.insert(key, adapter);
        }
        Ok(target)
    }

    pub(super) fn definition(&self, (index, id): Key) -> Result<Definition, LinkError> {
        let input = self.input(index);
        let found = input.definitions.get(&id).copied();
        found.ok_or_else(|| input.malformed(0, "an instruction uses an undefined id"))
    }

    /// Emits a global instruction, after those that it refers to.
    pub(super) fn global(&mut self, index: usize, id: u32) -> Result<(), LinkError> {
        let mut open = BTreeSet::new();
        let mut stack = Vec::from([self.checked((index, id))?]);
        while let Some(key) = stack.last().copied() {
            if self.ids.contains_key(&key) {
                stack.pop();
                continue;
            }
            let Definition::Global(place) = self.definition(key)? else {
                return Err(self
                    .input(key.0)
                    .malformed(0, "a declaration refers into a function"));
            };
            if !open.insert(key) {
                self.emit(key, place)?;
                stack.pop();
                continue;
            }
            for id in self.references(key.0, place, Some(key.1))? {
                let target = self.checked((key.0, id))?;
                match self.definition(target)? {
                    Definition::Function(_) => self.plain_function(key.0, id)?,
                    _ if self.ids.contains_key(&target) => {}
                    _ if open.contains(&target) => {
                        let module = self.input(key.0).name.clone();
                        return Err(LinkError::Recursive { module });
                    }
                    _ => stack.push(target),
                }
            }
        }
        Ok(())
    }

    /// Emits a function whose address is taken, so its type must match exactly.
    pub(super) fn plain_function(&mut self, index: usize, id: u32) -> Result<(), LinkError> {
        self.function(index, id)?;
        match self.adapters.get(&(index, id)) {
            Some(adapter) if !adapter.is_empty() => Err(self.differ((index, id))),
            _ => Ok(()),
        }
    }

    /// Returns the error for a symbol with two types.
    pub(super) fn differ(&self, key: Key) -> LinkError {
        let input = self.input(key.0);
        LinkError::Types {
            symbol: input
                .links
                .get(&key.1)
                .map_or_else(String::new, |link| link.symbol.clone()),
            importer: input.name.clone(),
            exporter: self.input(self.resolve(key).0).name.clone(),
        }
    }

    /// Emits the global instructions that the instruction at `place` refers to.
    pub(super) fn needs(&mut self, index: usize, place: usize) -> Result<(), LinkError> {
        for id in self.references(index, place, None)? {
            match self.definition(self.resolve((index, id)))? {
                Definition::Function(_) => self.function(index, id)?,
                _ => self.global(index, id)?,
            }
        }
        Ok(())
    }

    /// Returns the ids that an instruction and the decorations of its result refer to.
    fn references(
        &self,
        index: usize,
        place: usize,
        result: Option<u32>,
    ) -> Result<Vec<u32>, LinkError> {
        let ids = self.ids_at(index, place)?;
        let operands = self.input(index).instruction(place)?.operands;
        let places = ids.ty.into_iter().chain(ids.uses);
        let mut references: Vec<u32> = places.filter_map(|at| operands.get(at)).copied().collect();
        if let Some(result) = result {
            references.extend(self.annotation_references(index, result)?);
        }
        Ok(references)
    }

    /// Returns the ids that the decorations of an id in a function refer to.
    pub(super) fn annotation_references(
        &self,
        index: usize,
        result: u32,
    ) -> Result<Vec<u32>, LinkError> {
        let input = self.input(index);
        let mut references = Vec::new();
        for annotation in input.decorations.get(&result).into_iter().flatten() {
            let ids = self.ids_at(index, annotation.at)?;
            let operands = input.instruction(annotation.at)?.operands;
            let places = ids.uses.into_iter().filter(|at| *at > 0);
            references.extend(places.filter_map(|at| operands.get(at)));
        }
        Ok(references)
    }

    pub(super) fn ids_at(&self, index: usize, place: usize) -> Result<Ids, LinkError> {
        self.input(index).ids(place)
    }

    /// Returns the words of an instruction with new ids, or 0 for a result without a new id.
    pub(super) fn mapped(&self, index: usize, place: usize) -> Result<Vec<u32>, LinkError> {
        let input = self.input(index);
        let instruction = input.instruction(place)?;
        let ids = self.ids_at(index, place)?;
        let mut operands = instruction.operands.to_vec();
        for at in ids.ty.into_iter().chain(ids.uses) {
            let new = self.new_id(index, operands[at]);
            operands[at] =
                new.ok_or_else(|| input.malformed(place, "an instruction uses an unknown id"))?;
        }
        if let Some(at) = ids.result {
            operands[at] = self
                .ids
                .get(&(index, operands[at]))
                .copied()
                .unwrap_or_default();
        }
        let mut words = Vec::new();
        put(&mut words, instruction.opcode, &[&operands]);
        Ok(words)
    }

    fn emit(&mut self, key: Key, place: usize) -> Result<(), LinkError> {
        let (index, id) = key;
        let input = self.input(index);
        if index > 0 && input.spec_ids.contains(&id) {
            let module = input.name.clone();
            return Err(LinkError::SpecializationConstants { module });
        }
        let opcode = input.instruction(place)?.opcode;
        let mut words = self.mapped(index, place)?;
        let is_built_in = opcode == op::VARIABLE
            && words.get(3) == Some(&STORAGE_INPUT)
            && input.built_ins.contains(&id);
        let mut known = None;
        if is_merged(opcode) || is_built_in {
            known = Some(self.meaning(key, opcode, &words)?);
        }
        if let Some(new) = known.as_ref().and_then(|known| self.merged.get(known)) {
            self.ids.insert(key, *new);
            return Ok(());
        }
        let new = self.fresh();
        self.ids.insert(key, new);
        if let Some(known) = known {
            self.merged.insert(known, new);
        }
        let result = self.ids_at(index, place)?.result;
        if let Some(word) = result.and_then(|at| words.get_mut(at + 1)) {
            *word = new;
        }
        if opcode == op::VARIABLE {
            self.variables
                .push((words.get(3).copied().unwrap_or_default(), new));
        }
        match opcode {
            op::EXT_INST_IMPORT => self.imports.extend(words),
            op::STRING => self.strings.extend(words),
            _ => self.globals.extend(words),
        }
        self.annotate(key, new)
    }

    /// Returns the meaning of an instruction, independent of its result id: its words, its decorations, and the
    /// name of a struct.
    fn meaning(&self, (index, id): Key, opcode: u16, words: &[u32]) -> Result<Vec<u32>, LinkError> {
        let input = self.input(index);
        let mut decorations = Vec::new();
        for annotation in input.decorations.get(&id).into_iter().flatten() {
            decorations.push(self.annotation(index, annotation, 0)?);
        }
        decorations.sort_unstable();
        decorations.dedup();
        let mut meaning = words.to_vec();
        meaning.extend(decorations.into_iter().flatten());
        if opcode == op::TYPE_STRUCT {
            let mut names = input.names.get(&id).into_iter().flatten();
            let name = names.find_map(|place| match input.instructions.get(*place) {
                Some(found) if found.opcode == op::NAME => Some(string(&found.operands[1..]).0),
                _ => None,
            });
            let name = name.unwrap_or_default();
            // LLVM appends numbers to struct names to make them unique.
            let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
            let base = base.strip_suffix('.').unwrap_or(&name);
            put(
                &mut meaning,
                op::NAME,
                &[&syclbin::__private::spirv::words::literal(base)],
            );
        }
        Ok(meaning)
    }

    /// Returns the words of a decoration, applied to another target.
    fn annotation(
        &self,
        index: usize,
        annotation: &Annotation,
        target: u32,
    ) -> Result<Vec<u32>, LinkError> {
        let input = self.input(index);
        let instruction = input.instruction(annotation.at)?;
        let ids = self.ids_at(index, annotation.at)?;
        let mut operands = instruction.operands.to_vec();
        for at in ids.uses.into_iter().filter(|at| *at > 0) {
            let new = self.new_id(index, operands[at]);
            operands[at] = new
                .ok_or_else(|| input.malformed(annotation.at, "a decoration uses an unknown id"))?;
        }
        let rest = operands.get(1..).unwrap_or_default();
        let mut words = Vec::new();
        match annotation.member {
            Some(member) => put(&mut words, op::MEMBER_DECORATE, &[&[target, member], rest]),
            None => put(&mut words, instruction.opcode, &[&[target], rest]),
        }
        Ok(words)
    }

    /// Emits the decorations and names of an id. Definitions from a library are no longer exported.
    pub(super) fn annotate(&mut self, (index, id): Key, new: u32) -> Result<(), LinkError> {
        let input = self.input(index);
        for annotation in input.decorations.get(&id).into_iter().flatten() {
            let operands = input.instruction(annotation.at)?.operands;
            if operands.get(1) == Some(&DECORATION_LINKAGE_ATTRIBUTES) {
                let is_import = |id| {
                    input
                        .links
                        .get(id)
                        .is_some_and(|link| link.kind == LINKAGE_IMPORT)
                };
                if index > 0 && !is_import(&id) {
                    continue;
                }
                self.has_links = true;
            }
            let words = self.annotation(index, annotation, new)?;
            self.decorations.extend(words);
        }
        for place in input.names.get(&id).into_iter().flatten() {
            let instruction = input.instruction(*place)?;
            let rest = instruction.operands.get(1..).unwrap_or_default();
            put(&mut self.names, instruction.opcode, &[&[new], rest]);
        }
        if self.decorations.len() > self.most_words() {
            return Err(too_large(&input.name));
        }
        Ok(())
    }

    /// Writes everything that follows the extensions.
    pub(super) fn write(
        self,
        entry_points: &[u32],
        modes: &[u32],
        source: &[u32],
        out: &mut Vec<u32>,
    ) {
        out.extend(self.imports);
        put(out, op::MEMORY_MODEL, &[self.memory_model]);
        for section in [entry_points, modes, &self.strings, source] {
            out.extend(section);
        }
        for section in [self.names, self.decorations, self.globals] {
            out.extend(section);
        }
        // Functions without a body come first.
        out.extend(self.declarations);
        out.extend(self.definitions);
    }
}
