// SPDX-License-Identifier: MIT OR Apache-2.0
//! Emits function bodies with new ids, and adapts calls whose pointer types differ from the definition's.

use alloc::vec::Vec;

use super::emit::Linker;
use super::input::Definition;
use super::input::Key;
use super::{LinkError, too_large};
use syclbin::__private::spirv::words::{Instruction, op, put};

/// How a call to an import must be adapted to its definition. The compiler infers pointee types from the code of
/// each module, so they may differ between modules.
#[derive(Clone, Debug, Default)]
pub(super) struct Adapter {
    /// The definition's result type, if it differs.
    result: Option<u32>,
    /// The definition's parameter types, where they differ.
    parameters: Vec<Option<u32>>,
}

impl Adapter {
    pub(super) fn is_empty(&self) -> bool {
        self.result.is_none() && self.parameters.iter().all(Option::is_none)
    }
}

impl<'w> Linker<'_, 'w> {
    /// Emits the function `key`.
    pub(super) fn body(&mut self, key: Key) -> Result<(), LinkError> {
        let (index, id) = key;
        let input = self.input(index);
        let Definition::Function(number) = self.definition(key)? else {
            return Err(input.malformed(0, "a call refers to something other than a function"));
        };
        let Some(range) = input.functions.get(number).cloned() else {
            return Err(input.malformed(0, "a function has no end"));
        };
        let mut words = Vec::new();
        let mut is_declaration = true;
        for place in range {
            let instruction = input.instruction(place)?;
            if input.is_descriptive(&instruction) {
                continue;
            }
            is_declaration &= instruction.opcode != op::LABEL;
            self.inside(index, number, place, &instruction, &mut words)?;
        }
        let new = self.local_id((index, id));
        self.annotate(key, new)?;
        if is_declaration {
            self.declarations.extend(words);
        } else {
            self.definitions.extend(words);
        }
        Ok(())
    }

    /// Emits an instruction of a function.
    fn inside(
        &mut self,
        index: usize,
        number: usize,
        place: usize,
        instruction: &Instruction<'_>,
        out: &mut Vec<u32>,
    ) -> Result<(), LinkError> {
        let input = self.input(index);
        let ids = self.ids_at(index, place)?;
        let is_call = instruction.opcode == op::FUNCTION_CALL;
        let result = ids
            .result
            .and_then(|at| instruction.operands.get(at))
            .copied();
        let mut references = Vec::new();
        for at in ids.ty.into_iter().chain(ids.uses) {
            references.extend(
                instruction
                    .operands
                    .get(at)
                    .map(|id| (*id, is_call && at == 2)),
            );
        }
        if let Some(result) = result {
            let more = self.annotation_references(index, result)?;
            references.extend(more.into_iter().map(|id| (id, false)));
        }
        for (id, is_callee) in references {
            match self.definition(self.resolve((index, id)))? {
                Definition::Function(_) if is_callee => self.function(index, id)?,
                Definition::Function(_) => self.plain_function(index, id)?,
                Definition::Global(_) => self.global(index, id)?,
                Definition::Local(of) if of == number => {
                    self.local_id((index, id));
                }
                Definition::Local(_) => {
                    return Err(
                        input.malformed(place, "a function uses a value from another function")
                    );
                }
            }
        }
        if let Some(result) = result
            && instruction.opcode != op::FUNCTION
        {
            let new = self.local_id((index, result));
            self.annotate((index, result), new)?;
        }
        let mut words = self.mapped(index, place)?;
        let callee = instruction.operands.get(2).copied().filter(|_| is_call);
        let adapter = callee.and_then(|callee| self.adapters.get(&(index, callee)).cloned());
        match adapter.filter(|adapter| !adapter.is_empty()) {
            None => out.append(&mut words),
            Some(adapter) => self.adapted(&adapter, &mut words, out),
        }
        Ok(())
    }

    /// Emits a call with pointer casts. The words are the opcode, the type, the result, the function, and the
    /// arguments.
    fn adapted(&mut self, adapter: &Adapter, call: &mut [u32], out: &mut Vec<u32>) {
        let arguments = call.iter_mut().skip(4);
        for (argument, ty) in arguments.zip(&adapter.parameters) {
            if let Some(ty) = ty {
                let cast = self.fresh();
                put(out, op::BITCAST, &[&[*ty, cast, *argument]]);
                *argument = cast;
            }
        }
        let Some(ty) = adapter.result else {
            out.extend_from_slice(call);
            return;
        };
        let returned = self.fresh();
        let (mut wanted, mut result) = (ty, returned);
        if let [_, of_call, result_of_call, ..] = call {
            core::mem::swap(of_call, &mut wanted);
            core::mem::swap(result_of_call, &mut result);
        }
        out.extend_from_slice(call);
        put(out, op::BITCAST, &[&[wanted, result, returned]]);
    }

    /// Returns how calls to `import` must be adapted to its definition.
    ///
    /// # Errors
    ///
    /// Returns an error if the types differ in more than their pointee types.
    pub(super) fn adapter(&mut self, import: Key, export: Key) -> Result<Adapter, LinkError> {
        let types = [import, export].map(|key| self.type_of(key));
        let [ours, theirs] = types;
        let (ours, theirs) = (ours?, theirs?);
        let [new, of_export] = [
            self.new_type((import.0, ours))?,
            self.new_type((export.0, theirs))?,
        ];
        let is_function = |key| matches!(self.definition(key), Ok(Definition::Function(_)));
        if is_function(import) != is_function(export) {
            return Err(self.differ(import));
        }
        if new == of_export {
            return Ok(Adapter::default());
        }
        let (Some(ours), Some(theirs)) = (
            self.signature((import.0, ours)),
            self.signature((export.0, theirs)),
        ) else {
            return Err(self.differ(import));
        };
        if ours.len() != theirs.len() {
            return Err(self.differ(import));
        }
        // Many imports may share one long type.
        self.adapted = self.adapted.saturating_add(theirs.len());
        if self.adapted > self.most_words() {
            return Err(too_large(&self.input(import.0).name));
        }
        let mut adapted = Vec::new();
        for (our, their) in ours.iter().zip(theirs) {
            let [our, their] = [(import.0, *our), (export.0, *their)];
            let [a, b] = [self.new_type(our)?, self.new_type(their)?];
            adapted.push(match (self.storage(our), self.storage(their)) {
                _ if a == b => None,
                (Some(one), Some(other)) if one == other => b,
                _ => return Err(self.differ(import)),
            });
        }
        let parameters = adapted.split_off(1);
        Ok(Adapter {
            result: adapted.pop().flatten(),
            parameters,
        })
    }

    /// Returns the type of a variable or function.
    fn type_of(&self, (index, id): Key) -> Result<u32, LinkError> {
        let input = self.input(index);
        let place = match self.definition((index, id))? {
            Definition::Global(place) => place,
            Definition::Function(number) => input.functions.get(number).map_or(0, |f| f.start),
            Definition::Local(_) => {
                return Err(input.malformed(0, "a symbol is inside a function"));
            }
        };
        let instruction = input.instruction(place)?;
        match (instruction.opcode, instruction.operands) {
            (op::FUNCTION, [_, _, _, ty, ..]) | (op::VARIABLE, [ty, ..]) => Ok(*ty),
            _ => Err(input.malformed(place, "a symbol is neither a function nor a variable")),
        }
    }

    fn new_type(&mut self, (index, id): Key) -> Result<Option<u32>, LinkError> {
        self.global(index, id)?;
        Ok(self.new_id(index, id))
    }

    /// Returns the result and parameter types of a function type.
    fn signature(&self, (index, id): Key) -> Option<&'w [u32]> {
        let instruction = self.type_at((index, id))?;
        match instruction.operands {
            [_, signature @ ..] if instruction.opcode == op::TYPE_FUNCTION => {
                (!signature.is_empty()).then_some(signature)
            }
            _ => None,
        }
    }

    /// Returns the storage class that a pointer type points to.
    fn storage(&self, key: Key) -> Option<u32> {
        let instruction = self.type_at(key)?;
        let is_pointer = instruction.opcode == op::TYPE_POINTER;
        instruction.operands.get(1).copied().filter(|_| is_pointer)
    }

    fn type_at(&self, (index, id): Key) -> Option<Instruction<'w>> {
        let input = self.input(index);
        match input.definitions.get(&id)? {
            Definition::Global(place) => input.instructions.get(*place).copied(),
            _ => None,
        }
    }
}
