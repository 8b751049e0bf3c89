// SPDX-License-Identifier: MIT OR Apache-2.0
//! A lifted module: its functions take the hidden arguments, and find variables in the arena.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::super::version::V1_4;
use super::super::{Unfit, literal, put};
use super::declarations::Declarations;
use super::operands::{COMPOSITE_CONSTRUCT, pointers};
use super::scan::{Scan, Variable};
use super::{Layout, Slot};
use crate::signature::spirv::STORAGE_CROSS_WORKGROUP;
use crate::signature::spirv::parse::{DECORATIONS_HOST_ACCESS, EXECUTION_MODEL_KERNEL};
use crate::signature::spirv::words::{HEADER_WORDS, Instruction, op, string};

const STORAGE_UNIFORM_CONSTANT: u32 = 0;
/// Memory operands: a multiple of 8 bytes.
const ALIGNED_TO_8: [u32; 2] = [2, 8];

/// Capabilities of Intel's extensions for variables. They change nothing for kernels.
const HOST_CAPABILITIES: [u32; 3] = [6146, 6187, 6189];
/// Their other decorations: `InitModeINTEL` and `ImplementInRegisterMapINTEL`, in both numberings.
const HOST_DECORATIONS: [u32; 4] = [6148, 6149, 6190, 6191];
const HOST_EXTENSIONS: [&str; 3] = [
    "SPV_INTEL_global_variable_decorations",
    "SPV_INTEL_global_variable_host_access",
    "SPV_INTEL_global_variable_fpga_decorations",
];

/// Rewrites a module. `exported` is the functions that the modules of the program define for each other, and
/// `setup` the name of the kernel that sets initial values.
pub(super) fn lifted(
    scan: &Scan<'_>,
    layout: &Layout,
    exported: &BTreeSet<String>,
    setup: &str,
) -> Result<Vec<u32>, Unfit> {
    let bound = scan.header.get(3).copied().unwrap_or_default();
    let mut declarations = Declarations::new(&scan.declarations, bound);
    let byte = declarations.ty(op::TYPE_INT, &[8, 0])?;
    let pointer = declarations.ty(op::TYPE_POINTER, &[STORAGE_CROSS_WORKGROUP, byte])?;
    let mut module = Lifted {
        scan,
        layout,
        declarations,
        pointer,
        taking: functions_taking(scan, exported),
        out: Vec::new(),
    };
    for function in functions(&scan.functions) {
        module.function(function)?;
    }
    let listed = module.setup_kernel()?;
    Ok(module.finish(setup, &listed))
}

/// Splits instructions at the end of each function.
fn functions<'i, 'w>(
    instructions: &'i [Instruction<'w>],
) -> impl Iterator<Item = &'i [Instruction<'w>]> {
    instructions.split_inclusive(|instruction| instruction.opcode == op::FUNCTION_END)
}

/// Returns the functions that take the hidden arguments: all that this program defines.
fn functions_taking(scan: &Scan<'_>, exported: &BTreeSet<String>) -> BTreeSet<u32> {
    let taking = |function: &[Instruction<'_>]| {
        let id = *function.first()?.operands.get(1)?;
        let has_body = function.iter().any(|i| i.opcode == op::LABEL);
        let is_of_program = || {
            scan.links
                .get(&id)
                .is_some_and(|(name, _)| exported.contains(name))
        };
        (has_body || is_of_program()).then_some(id)
    };
    functions(&scan.functions).filter_map(taking).collect()
}

struct Lifted<'m, 'w> {
    scan: &'m Scan<'w>,
    layout: &'m Layout,
    declarations: Declarations,
    /// The type of hidden arguments: a pointer to bytes.
    pointer: u32,
    taking: BTreeSet<u32>,
    /// The functions.
    out: Vec<u32>,
}

/// The hidden arguments of a function, and what stands for variables in it.
struct Frame {
    arguments: Vec<u32>,
    local: BTreeMap<u32, u32>,
}

impl Frame {
    fn map(&self, id: u32) -> u32 {
        self.local.get(&id).copied().unwrap_or(id)
    }
}

impl Lifted<'_, '_> {
    /// Writes a function with the hidden arguments.
    fn function(&mut self, function: &[Instruction<'_>]) -> Result<(), Unfit> {
        let Some([_, id, ..]) = function.first().map(|first| first.operands) else {
            return Ok(());
        };
        if !self.taking.contains(id) {
            for instruction in function {
                put(&mut self.out, instruction.opcode, &[instruction.operands]);
            }
            return Ok(());
        }
        let mut frame = self.frame()?;
        let used = self.used(function)?;
        let (mut has_arguments, mut in_entry, mut is_set_up) = (false, false, false);
        for instruction in function {
            let (opcode, operands) = (instruction.opcode, instruction.operands);
            if !has_arguments && matches!(opcode, op::LABEL | op::FUNCTION_END) {
                self.put_arguments(&frame);
                has_arguments = true;
            }
            if in_entry && !is_set_up && !matches!(opcode, op::VARIABLE | op::LINE | op::NO_LINE) {
                if self.scan.entry_points.contains(id) {
                    self.point_slots(&frame)?;
                }
                self.materialize(&used, &mut frame)?;
                is_set_up = true;
            }
            in_entry |= opcode == op::LABEL;
            match (opcode, operands) {
                (op::FUNCTION, [result, id, control, ty]) => {
                    let ty = self.function_type(*ty)?;
                    put(&mut self.out, opcode, &[&[*result, *id, *control, ty]]);
                }
                _ => self.instruction(instruction, &frame),
            }
        }
        Ok(())
    }

    fn frame(&mut self) -> Result<Frame, Unfit> {
        let arguments = (0..self.layout.arguments()).map(|_| self.declarations.new_id());
        Ok(Frame {
            arguments: arguments.collect::<Result<_, _>>()?,
            local: BTreeMap::new(),
        })
    }

    fn put_arguments(&mut self, frame: &Frame) {
        for argument in &frame.arguments {
            put(
                &mut self.out,
                op::FUNCTION_PARAMETER,
                &[&[self.pointer, *argument]],
            );
        }
    }

    /// Returns the type of a function with the hidden arguments.
    fn function_type(&mut self, ty: u32) -> Result<u32, Unfit> {
        let known = self.declarations.functions.get(&ty);
        let mut operands = known.cloned().unwrap_or_default();
        operands.extend(core::iter::repeat_n(self.pointer, self.layout.arguments()));
        self.declarations.ty(op::TYPE_FUNCTION, &operands)
    }

    /// Returns the variables and their dependents that a function uses, directly or through others.
    fn used(&self, function: &[Instruction<'_>]) -> Result<BTreeSet<u32>, Unfit> {
        let is_lifted = |id: &&u32| self.scan.is_lifted(**id);
        let mut used = BTreeSet::new();
        for instruction in function {
            match pointers(instruction) {
                Some(range) => {
                    used.extend(
                        instruction.operands[range]
                            .iter()
                            .filter(is_lifted)
                            .copied(),
                    );
                }
                None if instruction.operands.iter().any(|id| is_lifted(&id)) => {
                    return Err(Unfit::Variable("an unknown instruction may use a variable"));
                }
                None => {}
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

    /// Lets the slots of variables with buffers of their own point to these buffers.
    fn point_slots(&mut self, frame: &Frame) -> Result<(), Unfit> {
        let slots = self.layout.buffers.iter();
        let slots: Vec<Option<&Slot>> = slots.map(|id| self.layout.slots.get(id)).collect();
        for (slot, buffer) in slots.into_iter().zip(frame.arguments.iter().skip(1)) {
            let Some(slot) = slot else { continue };
            let ty = [STORAGE_CROSS_WORKGROUP, self.pointer];
            let ty = self.declarations.ty(op::TYPE_POINTER, &ty)?;
            let place = self.address(ty, slot.offset, frame)?;
            put(
                &mut self.out,
                op::STORE,
                &[&[place, *buffer], &ALIGNED_TO_8],
            );
        }
        Ok(())
    }

    /// Computes an address in the arena as a pointer of type `ty`.
    fn address(&mut self, ty: u32, offset: u64, frame: &Frame) -> Result<u32, Unfit> {
        let arena = frame.arguments.first().copied().unwrap_or_default();
        let offset = self.declarations.number(offset)?;
        let place = self.declarations.new_id()?;
        let operands = [self.pointer, place, arena, offset];
        put(&mut self.out, op::IN_BOUNDS_PTR_ACCESS_CHAIN, &[&operands]);
        if ty == self.pointer {
            return Ok(place);
        }
        let cast = self.declarations.new_id()?;
        put(&mut self.out, op::BITCAST, &[&[ty, cast, place]]);
        Ok(cast)
    }

    /// Computes the addresses of variables, and the constants that depend on them.
    fn materialize(&mut self, used: &BTreeSet<u32>, frame: &mut Frame) -> Result<(), Unfit> {
        let scan = self.scan;
        for id in used {
            if let Some(variable) = scan.variables.get(id) {
                let offset = variable.offset.unwrap_or_default();
                let local = self.address(variable.ty, offset, frame)?;
                frame.local.insert(*id, local);
            }
        }
        for dependent in &scan.dependents {
            let [ty, id, parts @ ..] = dependent.operands else {
                continue;
            };
            if !used.contains(id) {
                continue;
            }
            let (opcode, parts) = match (dependent.opcode, parts) {
                (op::SPEC_CONSTANT_OP, [opcode, parts @ ..]) => {
                    let opcode = u16::try_from(*opcode).ok().filter(|opcode| {
                        let expression = Instruction {
                            at: dependent.at,
                            opcode: *opcode,
                            operands: &dependent.operands[1..],
                        };
                        pointers(&expression) == Some(2..expression.operands.len())
                    });
                    let unknown = "a constant computes with the address of a variable";
                    (opcode.ok_or(Unfit::Variable(unknown))?, parts)
                }
                _ => (COMPOSITE_CONSTRUCT, parts),
            };
            let local = self.declarations.new_id()?;
            let parts: Vec<u32> = parts.iter().map(|part| frame.map(*part)).collect();
            put(&mut self.out, opcode, &[&[*ty, local], &parts]);
            frame.local.insert(*id, local);
        }
        Ok(())
    }

    /// Writes an instruction of a function that takes the hidden arguments.
    fn instruction(&mut self, instruction: &Instruction<'_>, frame: &Frame) {
        let mut operands = instruction.operands.to_vec();
        let range = pointers(instruction).unwrap_or_default();
        for operand in operands.get_mut(range).unwrap_or_default() {
            *operand = frame.map(*operand);
        }
        if instruction.opcode == op::FUNCTION_CALL
            && operands
                .get(2)
                .is_some_and(|callee| self.taking.contains(callee))
        {
            operands.extend(&frame.arguments);
        }
        put(&mut self.out, instruction.opcode, &[&operands]);
    }

    /// Adds the kernel that sets initial values, and returns the ids of its entry point and what that lists.
    fn setup_kernel(&mut self) -> Result<Vec<u32>, Unfit> {
        let scan = self.scan;
        let void = self.declarations.ty(op::TYPE_VOID, &[])?;
        let mut ty = [void].to_vec();
        ty.extend(core::iter::repeat_n(self.pointer, self.layout.arguments()));
        let ty = self.declarations.ty(op::TYPE_FUNCTION, &ty)?;
        let frame = self.frame()?;
        let [kernel, label] = [self.declarations.new_id()?, self.declarations.new_id()?];
        put(&mut self.out, op::FUNCTION, &[&[void, kernel, 0, ty]]);
        self.put_arguments(&frame);
        put(&mut self.out, op::LABEL, &[&[label]]);
        let mut listed = [kernel].to_vec();
        for variable in scan.variables.values() {
            if let Some(initializer) = variable.initializer {
                listed.push(self.set_initial(variable, initializer, &frame)?);
            }
        }
        put(&mut self.out, op::RETURN, &[]);
        put(&mut self.out, op::FUNCTION_END, &[]);
        Ok(listed)
    }

    /// Copies an initial value to a slot, and returns the constant variable that holds the value.
    fn set_initial(
        &mut self,
        variable: &Variable,
        initializer: u32,
        frame: &Frame,
    ) -> Result<u32, Unfit> {
        let mut declared = self.scan.declarations.iter();
        let pointee = declared.find_map(|i| match (i.opcode, i.operands) {
            (op::TYPE_POINTER, [id, _, pointee]) if *id == variable.ty => Some(*pointee),
            _ => None,
        });
        let pointee = pointee.unwrap_or_default();
        let ty = [STORAGE_UNIFORM_CONSTANT, pointee];
        let ty = self.declarations.ty(op::TYPE_POINTER, &ty)?;
        let value = self.declarations.new_id()?;
        let operands = [ty, value, STORAGE_UNIFORM_CONSTANT, initializer];
        put(&mut self.declarations.added, op::VARIABLE, &[&operands]);
        let place = self.address(variable.ty, variable.offset.unwrap_or_default(), frame)?;
        let bytes = self
            .declarations
            .number(variable.bytes.unwrap_or_default())?;
        put(
            &mut self.out,
            op::COPY_MEMORY_SIZED,
            &[&[place, value, bytes]],
        );
        Ok(value)
    }

    /// Joins the parts. `listed` is what the entry point `setup` lists, itself first.
    fn finish(self, setup: &str, listed: &[u32]) -> Vec<u32> {
        let mut out = self
            .scan
            .header
            .get(..HEADER_WORDS)
            .unwrap_or_default()
            .to_vec();
        if let Some(bound) = out.get_mut(3) {
            *bound = self.declarations.bound;
        }
        let mut capabilities = Some(self.declarations.capabilities());
        let mut entry_point = Some(self.entry_point(setup, listed));
        for instruction in &self.scan.declarations {
            let (opcode, operands) = (instruction.opcode, instruction.operands);
            if opcode != op::CAPABILITY {
                out.extend(capabilities.take().into_iter().flatten());
            }
            let before_entry_points = matches!(
                opcode,
                op::CAPABILITY
                    | op::EXTENSION
                    | op::EXT_INST_IMPORT
                    | op::MEMORY_MODEL
                    | op::ENTRY_POINT
            );
            if !before_entry_points {
                out.extend(entry_point.take().into_iter().flatten());
            }
            if opcode == op::ENTRY_POINT {
                let interface = string(operands.get(2..).unwrap_or_default()).1;
                let head = &operands[..operands.len() - interface.len()];
                let kept = interface.iter().copied();
                let kept: Vec<u32> = kept.filter(|id| !self.scan.is_lifted(*id)).collect();
                put(&mut out, opcode, &[head, &kept]);
            } else if self.keeps(instruction) {
                put(&mut out, opcode, &[operands]);
            }
        }
        out.extend(entry_point.into_iter().flatten());
        out.extend(&self.declarations.added);
        out.extend(&self.out);
        out
    }

    fn entry_point(&self, setup: &str, listed: &[u32]) -> Vec<u32> {
        let mut words = Vec::new();
        let (kernel, constants) = listed.split_first().unwrap_or((&0, &[]));
        // Since 1.4, the list also has constants.
        let constants = if self.scan.version >= V1_4 {
            constants
        } else {
            &[]
        };
        let head = [EXECUTION_MODEL_KERNEL, *kernel];
        put(
            &mut words,
            op::ENTRY_POINT,
            &[&head, &literal(setup), constants],
        );
        words
    }

    /// Returns whether an instruction before the functions stays.
    fn keeps(&self, instruction: &Instruction<'_>) -> bool {
        let operand = |index: usize| instruction.operands.get(index).copied().unwrap_or_default();
        match instruction.opcode {
            op::CAPABILITY => !HOST_CAPABILITIES.contains(&operand(0)),
            op::EXTENSION => !HOST_EXTENSIONS.contains(&&*string(instruction.operands).0),
            op::NAME => !self.scan.is_lifted(operand(0)),
            op::DECORATE => {
                let decoration = operand(1);
                let only_for_hosts = DECORATIONS_HOST_ACCESS.contains(&decoration)
                    || HOST_DECORATIONS.contains(&decoration);
                !only_for_hosts && !self.scan.is_lifted(operand(0))
            }
            op::VARIABLE
            | op::SPEC_CONSTANT_OP
            | op::CONSTANT_COMPOSITE
            | op::SPEC_CONSTANT_COMPOSITE => !self.scan.is_lifted(operand(1)),
            _ => true,
        }
    }
}
