// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes a lifted module, whose functions take the hidden arguments and access variables in the arena. Also generates
//! the kernel that sets the initial values of the variables.

use super::super::UnsupportedModule;
use super::super::version::{ALIGNED, V1_4};
use super::scan::{DirectLoads, Scan, Variable, functions, is_host_metadata};
use super::{Layout, unsupported};
use crate::prelude::*;
use crate::spirv::module::STORAGE_CROSS_WORKGROUP;
use crate::spirv::module::parse::EXECUTION_MODEL_KERNEL;
use crate::spirv::words::{
    CAPABILITY_INT8, CAPABILITY_INT64, Instruction, entry_point, literal, op, put,
};
use crate::spirv::{edit, grammar};

const STORAGE_UNIFORM_CONSTANT: u32 = 0;

/// Rewrites a module. `exported` lists the symbols that the program's modules export to each other. `setup` is the
/// name of the kernel that sets initial values.
pub(super) fn lifted(
    scan: &Scan<'_>,
    layout: &Layout,
    exported: &BTreeSet<String>,
    setup: &str,
) -> Result<Vec<u32>, UnsupportedModule> {
    let header = scan.header.first_chunk().copied().unwrap_or_default();
    let kept = scan.declarations.iter();
    let kept = kept.filter_map(|i| without_variables(i, scan)).collect();
    let mut declarations = edit::Module::new(header, kept);
    for capability in [CAPABILITY_INT8, CAPABILITY_INT64] {
        declarations.require(capability);
    }
    let byte = declarations.declare(op::TYPE_INT, &[8, 0])?;
    let pointer = declarations.declare(op::TYPE_POINTER, &[STORAGE_CROSS_WORKGROUP, byte])?;
    let mut module = Lifting {
        scan,
        layout,
        declarations,
        pointer,
        with_hidden_arguments: functions_with_hidden_arguments(scan, exported),
        out: Vec::new(),
    };
    for function in functions(&scan.functions) {
        module.function(function)?;
    }
    let listed = module.setup_kernel()?;
    let entry_point = module.entry_point(setup, &listed);
    module.declarations.add(op::ENTRY_POINT, &entry_point);
    let mut words = module.declarations.words()?;
    words.extend(module.out);
    Ok(words)
}

/// Removes lifted variables from a declaration. Returns `None` if nothing remains.
fn without_variables(instruction: &Instruction<'_>, scan: &Scan<'_>) -> Option<edit::Instruction> {
    let (opcode, operands) = (instruction.opcode, instruction.operands);
    let is_lifted = |index: usize| operands.get(index).is_some_and(|id| scan.is_lifted(*id));
    let is_removed = match opcode {
        op::NAME => is_lifted(0),
        op::DECORATE => is_lifted(0) || is_host_metadata(instruction),
        op::CAPABILITY | op::EXTENSION => is_host_metadata(instruction),
        op::VARIABLE
        | op::SPEC_CONSTANT_OP
        | op::CONSTANT_COMPOSITE
        | op::SPEC_CONSTANT_COMPOSITE => is_lifted(1),
        _ => false,
    };
    let operands = match opcode {
        op::ENTRY_POINT => entry_point(operands, |id| !scan.is_lifted(*id)),
        op::GROUP_DECORATE => {
            let kept = operands.iter().filter(|id| !scan.is_lifted(**id));
            kept.copied().collect()
        }
        _ => operands.to_vec(),
    };
    (!is_removed).then_some(edit::Instruction { opcode, operands })
}

/// Returns the functions that take the hidden arguments: all functions that this program defines, in any module.
fn functions_with_hidden_arguments(scan: &Scan<'_>, exported: &BTreeSet<String>) -> BTreeSet<u32> {
    let with_hidden_arguments = |function: &[Instruction<'_>]| {
        let id = *function.first()?.operands.get(1)?;
        let has_body = function.iter().any(|i| i.opcode == op::LABEL);
        let link = scan.links.get(&id);
        let is_of_program = link.is_some_and(|(name, _)| exported.contains(name));
        (has_body || is_of_program).then_some(id)
    };
    let functions = functions(&scan.functions);
    functions.filter_map(with_hidden_arguments).collect()
}

struct Lifting<'m, 'w> {
    scan: &'m Scan<'w>,
    layout: &'m Layout,
    declarations: edit::Module,
    /// The type of hidden arguments: a pointer to bytes.
    pointer: u32,
    with_hidden_arguments: BTreeSet<u32>,
    /// The words of the rewritten functions.
    out: Vec<u32>,
}

/// The hidden arguments of a function, and the local ids that replace variables in the function.
struct Frame {
    arguments: Vec<u32>,
    local: BTreeMap<u32, u32>,
}

impl Frame {
    fn map(&self, id: u32) -> u32 {
        self.local.get(&id).copied().unwrap_or(id)
    }
}

impl Lifting<'_, '_> {
    /// Writes a function. Adds the hidden arguments if the program defines the function.
    fn function(&mut self, function: &[Instruction<'_>]) -> Result<(), UnsupportedModule> {
        let Some([_, id, ..]) = function.first().map(|first| first.operands) else {
            return Ok(());
        };
        if !self.with_hidden_arguments.contains(id) {
            for instruction in function {
                self.emit(instruction.opcode, instruction.operands);
            }
            return Ok(());
        }
        let mut frame = self.frame()?;
        let used = self.used(function)?;
        let direct = DirectLoads::of(function, self.scan, self.layout);
        let (mut has_arguments, mut in_entry, mut is_set_up) = (false, false, false);
        for instruction in function {
            let (opcode, operands) = (instruction.opcode, instruction.operands);
            if !has_arguments && matches!(opcode, op::LABEL | op::FUNCTION_END) {
                self.put_arguments(&frame);
                has_arguments = true;
            }
            if in_entry && !is_set_up && !matches!(opcode, op::VARIABLE | op::LINE | op::NO_LINE) {
                if self.scan.entry_points.contains(id) && direct.needs_slots {
                    self.point_slots(&frame)?;
                }
                self.materialize(&used, &mut frame)?;
                is_set_up = true;
            }
            in_entry |= opcode == op::LABEL;
            match (opcode, operands) {
                (op::FUNCTION, [result, id, control, ty]) => {
                    let signature = self.scan.function_types.get(ty).copied();
                    let ty = self.function_type(signature.unwrap_or_default())?;
                    self.emit(opcode, &[*result, *id, *control, ty]);
                }
                (op::LOAD, [ty, id, place, ..]) if direct.buffers.contains_key(place) => {
                    let buffer = frame.arguments[direct.buffers[place] + 1];
                    let is_plain = *ty == self.pointer;
                    let opcode = if is_plain {
                        op::COPY_OBJECT
                    } else {
                        op::BITCAST
                    };
                    self.emit(opcode, &[*ty, *id, buffer]);
                }
                _ => self.instruction(instruction, &frame),
            }
        }
        Ok(())
    }

    fn frame(&mut self) -> Result<Frame, UnsupportedModule> {
        let arguments = (0..self.layout.arguments()).map(|_| self.declarations.new_id());
        let (arguments, local) = (arguments.collect::<Result<_, _>>()?, BTreeMap::new());
        Ok(Frame { arguments, local })
    }

    fn put_arguments(&mut self, frame: &Frame) {
        for argument in &frame.arguments {
            self.emit(op::FUNCTION_PARAMETER, &[self.pointer, *argument]);
        }
    }

    fn emit(&mut self, opcode: u16, operands: &[u32]) {
        put(&mut self.out, opcode, &[operands]);
    }

    /// Returns the function type with the result and parameters in `signature`, followed by the hidden arguments.
    fn function_type(&mut self, signature: &[u32]) -> Result<u32, UnsupportedModule> {
        let mut operands = signature.to_vec();
        operands.extend(core::iter::repeat_n(self.pointer, self.layout.arguments()));
        Ok(self.declarations.declare(op::TYPE_FUNCTION, &operands)?)
    }

    fn number(&mut self, value: u64) -> Result<u32, UnsupportedModule> {
        let ty = self.declarations.declare(op::TYPE_INT, &[64, 0])?;
        // The low word comes first.
        let [low, high] = [value, value >> 32].map(|half| (half & 0xffff_ffff) as u32);
        Ok(self.declarations.declare(op::CONSTANT, &[ty, low, high])?)
    }

    /// Returns the variables and dependent constants that a function uses, directly or through other constants.
    fn used(&self, function: &[Instruction<'_>]) -> Result<BTreeSet<u32>, UnsupportedModule> {
        let is_lifted = |id: &&u32| self.scan.is_lifted(**id);
        let mut used = BTreeSet::new();
        for instruction in function {
            let operands = instruction.operands;
            match grammar::ids(instruction.opcode, operands) {
                Ok(ids) => {
                    let ids = ids.uses.iter().map(|at| &operands[*at]);
                    used.extend(ids.filter(is_lifted).copied());
                }
                Err(_) if operands.iter().any(|id| is_lifted(&id)) => {
                    return unsupported("an unknown instruction may use a variable");
                }
                Err(_) => {}
            }
        }
        for dependent in self.scan.dependents.iter().rev() {
            if let [_, id, parts @ ..] = dependent.operands
                && used.contains(id)
            {
                used.extend(parts.iter().filter(is_lifted).copied());
            }
        }
        Ok(used)
    }

    /// Emits code that stores the address of each buffer in the slot of the variable that owns the buffer.
    fn point_slots(&mut self, frame: &Frame) -> Result<(), UnsupportedModule> {
        let layout = self.layout;
        for (id, buffer) in layout.buffers.iter().zip(&frame.arguments[1..]) {
            let Some(slot) = layout.slots.get(id) else {
                continue;
            };
            let ty = [STORAGE_CROSS_WORKGROUP, self.pointer];
            let ty = self.declarations.declare(op::TYPE_POINTER, &ty)?;
            let place = self.address(ty, slot.offset, frame)?;
            self.emit(op::STORE, &[place, *buffer, ALIGNED, 8]);
        }
        Ok(())
    }

    /// Emits code that computes the address at `offset` in the arena. Returns the id of this pointer, of type `ty`.
    fn address(&mut self, ty: u32, offset: u64, frame: &Frame) -> Result<u32, UnsupportedModule> {
        let arena = frame.arguments.first().copied().unwrap_or_default();
        let offset = self.number(offset)?;
        let place = self.declarations.new_id()?;
        let operands = [self.pointer, place, arena, offset];
        self.emit(op::IN_BOUNDS_PTR_ACCESS_CHAIN, &operands);
        if ty == self.pointer {
            return Ok(place);
        }
        let cast = self.declarations.new_id()?;
        self.emit(op::BITCAST, &[ty, cast, place]);
        Ok(cast)
    }

    /// Emits code that computes the addresses of variables, and the constants that depend on these addresses.
    fn materialize(
        &mut self,
        used: &BTreeSet<u32>,
        frame: &mut Frame,
    ) -> Result<(), UnsupportedModule> {
        let scan = self.scan;
        for (id, variable) in scan.variables.iter().filter(|(id, _)| used.contains(id)) {
            let offset = variable.offset.unwrap_or_default();
            let local = self.address(variable.ty, offset, frame)?;
            frame.local.insert(*id, local);
        }
        for dependent in &scan.dependents {
            let (ty, id, parts) = match dependent.operands {
                [ty, id, parts @ ..] if used.contains(id) => (ty, id, parts),
                _ => continue,
            };
            let (opcode, parts) = match (dependent.opcode, parts) {
                (op::SPEC_CONSTANT_OP, [opcode, parts @ ..]) => {
                    let opcode = u16::try_from(*opcode).ok().filter(|opcode| {
                        let ids = grammar::ids(*opcode, &dependent.operands[1..]);
                        ids.is_ok_and(|ids| ids.uses.len() == parts.len())
                    });
                    let unknown = "a constant expression applies an unsupported operation to a variable's address";
                    (opcode.ok_or(UnsupportedModule::Variable(unknown))?, parts)
                }
                _ => (op::COMPOSITE_CONSTRUCT, parts),
            };
            let local = self.declarations.new_id()?;
            let parts: Vec<u32> = parts.iter().map(|part| frame.map(*part)).collect();
            put(&mut self.out, opcode, &[&[*ty, local], &parts]);
            frame.local.insert(*id, local);
        }
        Ok(())
    }

    /// Writes an instruction with local ids. A call also passes the hidden arguments if the callee takes them.
    fn instruction(&mut self, instruction: &Instruction<'_>, frame: &Frame) {
        let mut operands = instruction.operands.to_vec();
        let ids = grammar::ids(instruction.opcode, &operands);
        for at in ids.map(|ids| ids.uses).unwrap_or_default() {
            operands[at] = frame.map(operands[at]);
        }
        if let (op::FUNCTION_CALL, [_, _, callee, ..]) = (instruction.opcode, &operands[..])
            && self.with_hidden_arguments.contains(callee)
        {
            operands.extend(&frame.arguments);
        }
        self.emit(instruction.opcode, &operands);
    }

    /// Adds the kernel that sets initial values. Returns the kernel's id, followed by the ids of the constant variables
    /// that the kernel reads.
    fn setup_kernel(&mut self) -> Result<Vec<u32>, UnsupportedModule> {
        let scan = self.scan;
        let void = self.declarations.declare(op::TYPE_VOID, &[])?;
        let ty = self.function_type(&[void])?;
        let frame = self.frame()?;
        let [kernel, label] = [self.declarations.new_id()?, self.declarations.new_id()?];
        self.emit(op::FUNCTION, &[void, kernel, 0, ty]);
        self.put_arguments(&frame);
        self.emit(op::LABEL, &[label]);
        let mut listed = [kernel].to_vec();
        for variable in scan.variables.values() {
            if let Some(initializer) = variable.initializer {
                listed.push(self.set_initial(variable, initializer, &frame)?);
            }
        }
        self.emit(op::RETURN, &[]);
        self.emit(op::FUNCTION_END, &[]);
        Ok(listed)
    }

    /// Emits code that copies an initial value to a slot. Returns the id of the constant variable that holds the value.
    fn set_initial(
        &mut self,
        variable: &Variable,
        initializer: u32,
        frame: &Frame,
    ) -> Result<u32, UnsupportedModule> {
        let mut declared = self.scan.declarations.iter();
        let pointee = declared.find_map(|i| match (i.opcode, i.operands) {
            (op::TYPE_POINTER, [id, _, pointee]) if *id == variable.ty => Some(*pointee),
            _ => None,
        });
        let pointee = pointee.unwrap_or_default();
        let ty = [STORAGE_UNIFORM_CONSTANT, pointee];
        let ty = self.declarations.declare(op::TYPE_POINTER, &ty)?;
        let value = self.declarations.new_id()?;
        let operands = [ty, value, STORAGE_UNIFORM_CONSTANT, initializer];
        self.declarations.add(op::VARIABLE, &operands);
        let place = self.address(variable.ty, variable.offset.unwrap_or_default(), frame)?;
        let bytes = self.number(variable.bytes.unwrap_or_default())?;
        self.emit(op::COPY_MEMORY_SIZED, &[place, value, bytes]);
        Ok(value)
    }

    /// Returns the operands of the entry point `setup`. `listed` is the result of [`Self::setup_kernel`].
    fn entry_point(&self, setup: &str, listed: &[u32]) -> Vec<u32> {
        let (kernel, constants) = listed.split_first().unwrap_or((&0, &[]));
        // Since SPIR-V 1.4, the interface also lists constant variables.
        let is_listed = self.scan.version >= V1_4;
        let constants = if is_listed { constants } else { &[] };
        let name = literal(setup);
        [&[EXECUTION_MODEL_KERNEL, *kernel], &*name, constants].concat()
    }
}
