// SPDX-License-Identifier: MIT OR Apache-2.0
//! Merges joined modules: replaces each symbol with its definition, merges equal types and constants, and adapts calls
//! whose pointer types differ from those of the definition.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::join::{Definition, Joined};
use super::{LinkError, STORAGE_INPUT};
use syclbin::__private::spirv::edit::{Instruction, section};
use syclbin::__private::spirv::grammar::is_merged;
use syclbin::__private::spirv::words::{self, literal, op, string};

/// How a call to an import must be adapted to its definition. The compiler infers pointee types from the code of
/// each module, so they may differ between modules.
#[derive(Clone, Default)]
struct Adapter {
    /// The definition's result type, if it differs.
    result: Option<u32>,
    /// The definition's parameter types, where they differ.
    parameters: Vec<Option<u32>>,
}

#[derive(Default)]
struct Annotations {
    names: BTreeMap<u32, String>,
    /// The operands of decorations, by target.
    decorations: BTreeMap<u32, BTreeSet<Vec<u32>>>,
}

/// Returns the number of operands for each target of a decoration group.
fn stride(opcode: u16) -> usize {
    1 + usize::from(opcode == op::GROUP_MEMBER_DECORATE)
}

pub(super) struct Merger<'j> {
    joined: &'j Joined<'j>,
    /// The id bound: greater than every id.
    pub(super) bound: u32,
    /// The id that replaces each merged id.
    replaced: BTreeMap<u32, u32>,
    /// The declarations, with dependencies first.
    pub(super) declarations: Vec<Instruction>,
    pub(super) functions: Vec<Vec<Instruction>>,
    /// Adapters by the types of an import and its definition. `None` if the types are incompatible.
    adapters: BTreeMap<[u32; 2], Option<Adapter>>,
    /// Type mismatches between references to a symbol and its definition, by the id of the declaration or function that
    /// contains the reference. A mismatch is an error only if the linked module contains that declaration or function.
    pub(super) errors: BTreeMap<u32, LinkError>,
}

impl<'j> Merger<'j> {
    pub(super) fn new(joined: &'j Joined<'j>) -> Result<Self, LinkError> {
        let mut merger = Self {
            joined,
            bound: joined.bound,
            replaced: joined.resolve()?,
            declarations: Vec::new(),
            functions: Vec::new(),
            adapters: BTreeMap::new(),
            errors: BTreeMap::new(),
        };
        for place in merger.merge()? {
            merger.declaration(&joined.declarations[place]);
        }
        for (number, function) in joined.functions.iter().enumerate() {
            merger.function(number, function)?;
        }
        Ok(merger)
    }

    /// Returns the id that replaces `id` in the linked module.
    pub(super) fn map(&self, mut id: u32) -> u32 {
        while let Some(next) = self.replaced.get(&id) {
            id = *next;
        }
        id
    }

    fn malformed(&self, id: u32, problem: &'static str) -> LinkError {
        LinkError::Malformed(self.joined.name_of(id), words::error(0, problem))
    }

    /// Merges equal declarations. Returns the indices of the remaining declarations, with dependencies first.
    fn merge(&mut self) -> Result<Vec<usize>, LinkError> {
        let declared = &self.joined.declarations;
        let annotations = self.annotations();
        let mut merged: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        let is_forward = |place: &usize| declared[*place].opcode == op::TYPE_FORWARD_POINTER;
        let mut order: Vec<usize> = (0..declared.len()).filter(is_forward).collect();
        // Other types may refer to a forward-declared pointer type before its definition.
        let forward = BTreeSet::from_iter(order.iter().filter_map(|at| declared[*at].operand(0)));
        let mut done: BTreeSet<usize> = order.iter().copied().collect();
        let mut open = BTreeSet::new();
        // The declarations to visit. Each is visited again, with `true`, after its dependencies.
        let mut stack: Vec<_> = (0..declared.len()).rev().map(|at| (at, false)).collect();
        while let Some((place, is_ready)) = stack.pop() {
            if done.contains(&place) {
                continue;
            }
            let instruction = &declared[place];
            let result = instruction.result();
            if is_ready || result.is_none() {
                done.insert(place);
                if !self.is_repeated(instruction, &annotations, &mut merged) {
                    order.push(place);
                }
            } else if result.is_some_and(|id| self.replaced.contains_key(&id)) {
                done.insert(place);
            } else if !open.insert(place) {
                let module = self.joined.name_of(result.unwrap_or_default());
                return Err(LinkError::Recursive(module));
            } else {
                stack.push((place, true));
                for at in instruction.ids().unwrap_or_default().used() {
                    let id = instruction.operands[at];
                    if forward.contains(&id) {
                        continue;
                    }
                    match self.joined.definitions.get(&self.map(id)) {
                        Some(Definition::Declaration(place)) => stack.push((*place, false)),
                        Some(Definition::Function(_)) => {}
                        _ => {
                            let problem = "a declaration uses an id that is not declared";
                            return Err(self.malformed(id, problem));
                        }
                    }
                }
            }
        }
        Ok(order)
    }

    /// Returns whether an equal declaration precedes this one. If so, that declaration replaces this one.
    fn is_repeated(
        &mut self,
        instruction: &Instruction,
        annotations: &Annotations,
        merged: &mut BTreeMap<Vec<u32>, u32>,
    ) -> bool {
        let Some(result) = instruction.result() else {
            return false;
        };
        let is_built_in = instruction.opcode == op::VARIABLE
            && instruction.operand(2) == Some(STORAGE_INPUT)
            && self.joined.built_ins.contains(&result);
        if !is_merged(instruction.opcode) && !is_built_in {
            return false;
        }
        let mut meaning = self.meaning(instruction);
        let decorations = annotations.decorations.get(&result);
        meaning.extend(decorations.into_iter().flatten().flatten());
        if instruction.opcode == op::TYPE_STRUCT {
            let name = annotations.names.get(&result).map_or("", |name| name);
            // LLVM appends numbers to struct names to make them unique.
            let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
            meaning.extend(literal(base.strip_suffix('.').unwrap_or(name)));
        }
        let first = *merged.entry(meaning).or_insert(result);
        if first != result {
            self.replaced.insert(result, first);
        }
        first != result
    }

    fn annotations(&self) -> Annotations {
        let mut annotations = Annotations::default();
        let Annotations { names, decorations } = &mut annotations;
        // Equal groups get equal numbers.
        let mut groups: BTreeMap<Option<BTreeSet<Vec<u32>>>, u32> = BTreeMap::new();
        let mut numbers = BTreeMap::new();
        for instruction in &self.joined.declarations {
            let opcode = instruction.opcode;
            let Some((target, rest)) = instruction.operands.split_first() else {
                continue;
            };
            match opcode {
                op::NAME => _ = names.entry(*target).or_insert_with(|| string(rest).0),
                op::GROUP_DECORATE | op::GROUP_MEMBER_DECORATE => {
                    let number = *numbers.entry(*target).or_insert_with(|| {
                        let group = decorations.get(target).cloned();
                        let next = u32::try_from(groups.len()).unwrap_or(u32::MAX);
                        *groups.entry(group).or_insert(next)
                    });
                    for target in rest.chunks(stride(opcode)) {
                        let member = [&[u32::from(opcode), number], &target[1..]].concat();
                        decorations.entry(target[0]).or_default().insert(member);
                    }
                }
                opcode if section(opcode) == section(op::DECORATE) => {
                    let meaning = self.meaning(instruction);
                    decorations.entry(*target).or_default().insert(meaning);
                }
                _ => {}
            }
        }
        annotations
    }

    /// Returns the words of an instruction, except its result and the target of a decoration.
    fn meaning(&self, instruction: &Instruction) -> Vec<u32> {
        let mut words = instruction.operands.clone();
        let ids = instruction.ids().unwrap_or_default();
        for at in ids.used() {
            words[at] = self.map(words[at]);
        }
        if let Some(own) = words.get_mut(ids.result.unwrap_or_default()) {
            *own = 0;
        }
        let count = u32::try_from(words.len()).unwrap_or(u32::MAX);
        [&[u32::from(instruction.opcode), count], &words[..]].concat()
    }

    /// Adds a declaration, and replaces its ids with those of the linked module.
    fn declaration(&mut self, instruction: &Instruction) {
        let mut new = instruction.clone();
        let is_replaced = |id: &u32| self.replaced.contains_key(id);
        match instruction.opcode {
            op::GROUP_DECORATE | op::GROUP_MEMBER_DECORATE => {
                // In a damaged module, even the group may be missing.
                let (group, targets) = instruction.operands.split_at_checked(1).unwrap_or_default();
                let targets = targets.chunks(stride(instruction.opcode));
                let targets = targets.filter(|target| !is_replaced(&target[0]));
                new.operands = group.iter().chain(targets.flatten()).copied().collect();
            }
            opcode if (section(op::NAME)..=section(op::DECORATE)).contains(&section(opcode)) => {
                if new.operands.first().is_some_and(is_replaced) {
                    return;
                }
                self.rename(&mut new);
            }
            _ => self.rename(&mut new),
        }
        self.declarations.push(new);
    }

    fn rename(&mut self, instruction: &mut Instruction) {
        let ids = instruction.ids().unwrap_or_default();
        let result = ids.result.map(|at| instruction.operands[at]);
        for at in ids.used() {
            let id = instruction.operands[at];
            instruction.operands[at] = self.plain(id, result.unwrap_or(id));
        }
    }

    /// Returns the id that replaces `id`. Records an error if their types differ.
    fn plain(&mut self, id: u32, user: u32) -> u32 {
        let new = self.map(id);
        if self.joined.links.contains_key(&id) && self.type_of(id) != self.type_of(new) {
            self.differ(id, user);
        }
        new
    }

    /// Records that `user` refers to a symbol whose declaration and definition have different types.
    fn differ(&mut self, id: u32, user: u32) {
        let link = self.joined.links.get(&id);
        let symbol = link.map(|link| link.symbol.clone()).unwrap_or_default();
        let error = LinkError::Types {
            symbol,
            importer: self.joined.name_of(id),
            exporter: self.joined.name_of(self.map(id)),
        };
        self.errors.entry(user).or_insert(error);
    }

    /// Adds a function, unless another definition replaces it.
    fn function(&mut self, number: usize, function: &[Instruction]) -> Result<(), LinkError> {
        let own = function.first().and_then(Instruction::result);
        let own = own.unwrap_or_default();
        if self.replaced.contains_key(&own) {
            return Ok(());
        }
        let mut out = Vec::with_capacity(function.len());
        for instruction in function {
            let mut instruction = instruction.clone();
            let ids = instruction.ids().unwrap_or_default();
            let is_call = instruction.opcode == op::FUNCTION_CALL;
            let mut adapter = None;
            for at in ids.used() {
                let id = instruction.operands[at];
                match self.joined.definitions.get(&id) {
                    Some(Definition::Local(of)) if *of != number => {
                        let problem = "a function uses a value from another function";
                        return Err(self.malformed(id, problem));
                    }
                    None => return Err(self.malformed(id, "an instruction uses an undefined id")),
                    Some(Definition::Local(_)) => continue,
                    Some(_) => {}
                }
                let new = self.map(id);
                if is_call && at == 2 && new != id {
                    adapter = self.adapter(id, new);
                    if adapter.is_none() {
                        self.differ(id, own);
                    }
                    instruction.operands[at] = new;
                } else {
                    instruction.operands[at] = self.plain(id, own);
                }
            }
            match adapter {
                Some(adapter) => self.adapt(&adapter, instruction, &mut out)?,
                None => out.push(instruction),
            }
        }
        self.functions.push(out);
        Ok(())
    }

    fn adapt(
        &mut self,
        adapter: &Adapter,
        mut call: Instruction,
        out: &mut Vec<Instruction>,
    ) -> Result<(), LinkError> {
        let arguments = call.operands.iter_mut().skip(3);
        for (argument, ty) in arguments.zip(&adapter.parameters) {
            if let Some(ty) = ty {
                let cast = self.new_id()?;
                out.push(Instruction::new(op::BITCAST, [*ty, cast, *argument]));
                *argument = cast;
            }
        }
        let (Some(ty), [wanted, value, ..]) = (adapter.result, &mut call.operands[..]) else {
            out.push(call);
            return Ok(());
        };
        let returned = self.new_id()?;
        let cast = Instruction::new(op::BITCAST, [*wanted, *value, returned]);
        (*wanted, *value) = (ty, returned);
        out.extend([call, cast]);
        Ok(())
    }

    fn new_id(&mut self) -> Result<u32, LinkError> {
        let id = self.bound;
        let next = id.checked_add(1);
        self.bound = next.ok_or_else(|| LinkError::TooLarge(self.joined.name_of(id)))?;
        Ok(id)
    }

    fn type_of(&self, id: u32) -> Option<u32> {
        let ty = match self.joined.definitions.get(&id)? {
            Definition::Declaration(place) => self.joined.declarations[*place].operand(0),
            Definition::Function(number) => self.joined.functions[*number][0].operand(3),
            Definition::Local(_) => None,
        };
        Some(self.map(ty?))
    }

    /// Returns how calls to `import` must be adapted to `definition`, or `None` if the types differ in more than
    /// their pointee types.
    fn adapter(&mut self, import: u32, definition: u32) -> Option<Adapter> {
        let types = [self.type_of(import)?, self.type_of(definition)?];
        if types[0] == types[1] {
            return Some(Adapter::default());
        }
        if !self.adapters.contains_key(&types) {
            let adapter = self.new_adapter(types);
            self.adapters.insert(types, adapter);
        }
        self.adapters[&types].clone()
    }

    fn new_adapter(&self, types: [u32; 2]) -> Option<Adapter> {
        let declared = |id: u32, opcode: u16| match self.joined.definitions.get(&id)? {
            Definition::Declaration(place) => {
                (self.joined.declarations.get(*place)).filter(|ty| ty.opcode == opcode)
            }
            _ => None,
        };
        let [ours, theirs] = types.map(|ty| Some(&declared(ty, op::TYPE_FUNCTION)?.operands[1..]));
        let (ours, theirs) = (ours?, theirs?);
        let storage = |ty: u32| Some(declared(ty, op::TYPE_POINTER)?.operand(1));
        if ours.len() != theirs.len() {
            return None;
        }
        let mut pairs = ours.iter().zip(theirs).map(|(our, their)| {
            let [our, their] = [our, their].map(|id| self.map(*id));
            if our == their {
                return Some(None);
            }
            let same_storage = storage(our).is_some_and(|ours| storage(their) == Some(ours));
            same_storage.then_some(Some(their))
        });
        let (result, parameters) = (pairs.next()??, pairs.collect::<Option<_>>()?);
        Some(Adapter { result, parameters })
    }
}
