// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the reads of specialization constants in a module, which are calls to undefined functions.

use std::collections::{BTreeMap, BTreeSet};

use syclbin::__private::mangled;
use syclbin::__private::spirv::edit::Instruction;
use syclbin::__private::spirv::words::op;
use syclbin::__private::spirv::{Import, reachable_from};
use syclbin_tools::__private::qualified;

use super::index::{Index, Slots};
use super::initializer::Initializer;
use super::{NOT_CALLED, Refusal};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// The index of the call instruction.
    pub(super) place: usize,
    /// The constant's symbol on the host.
    pub(super) symbol: String,
    pub(super) ty: u32,
    pub(super) to: Destination,
    /// The default value, as laid out in memory.
    pub(super) default: Initializer,
}

/// Where a call puts the value of a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// The value is the result with this id.
    Result(u32),
    /// The value is stored through this pointer.
    Pointer { id: u32, align: u32 },
}

/// All reads of specialization constants, in module order.
pub(super) struct ConstantReads {
    pub(super) calls: Vec<Call>,
    /// The functions that the reads call. They are removed later.
    pub(super) functions: BTreeSet<u32>,
    pub(super) slots: Slots,
}

/// Finds all reads of specialization constants. Fails if the arguments of a read cannot be traced.
pub(super) fn find(index: &Index<'_>) -> Result<ConstantReads, Refusal> {
    let imports = index.code.imports.iter();
    let reads = imports.filter(|(_, name)| Import::of(name) == Import::SpecializationConstant);
    let mut found = ConstantReads {
        calls: Vec::new(),
        functions: reads.map(|(id, _)| *id).collect(),
        slots: Slots::new(),
    };
    for (place, instruction) in index.module.instructions.iter().enumerate() {
        let (op::FUNCTION_CALL, [ty, result, function, arguments @ ..]) =
            (instruction.opcode, instruction.operands.as_slice())
        else {
            continue;
        };
        if !found.functions.contains(function) {
            continue;
        }
        let refused = |symbol: Option<&str>, reason: &str| {
            Refusal::new(symbol, kernels(index, place), reason)
        };
        // A value that is not a number is returned through a pointer, which is the first argument.
        let (to, id, value, ty) = match *arguments {
            [id, value, _] => (Destination::Result(*result), id, value, *ty),
            [to, id, value, _] => {
                let (ty, align) = pointee(index, *function)
                    .ok_or_else(|| refused(None, "the pointer to its value has an unknown type"))?;
                let align = align.or_else(|| u32::try_from(index.code.size(ty)?.1).ok());
                let align = align.unwrap_or(1);
                (Destination::Pointer { id: to, align }, id, value, ty)
            }
            _ => return Err(refused(None, NOT_CALLED)),
        };
        let symbol = index.variable(id, &mut found.slots);
        let symbol = symbol.and_then(|variable| text(variable, index));
        let symbol = symbol
            .ok_or_else(|| refused(None, "the kernel chooses the constant only when it runs"))?;
        let default = index
            .variable(value, &mut found.slots)
            .and_then(|variable| index.get(variable)?.operand(3));
        let default = default
            .ok_or("its default value is not defined in this source file")
            .and_then(|default| Initializer::of_constant(default, index))
            .map_err(|reason| refused(Some(&symbol), reason))?;
        found.calls.push(Call {
            place,
            symbol,
            ty,
            to,
            default,
        });
    }
    Ok(found)
}

/// Returns the type that the function's first parameter points to, and the pointer's alignment if it is recorded.
fn pointee(index: &Index<'_>, function: u32) -> Option<(u32, Option<u32>)> {
    let ty = index.get(index.get(function)?.operand(3)?)?;
    let pointer = index.get(ty.operand(2)?)?;
    // The first parameter directly follows the function, and a decoration of the parameter records the alignment.
    let parameter = index.module.instructions.get(index.place(function)? + 1)?;
    let is_parameter = parameter.opcode == op::FUNCTION_PARAMETER;
    let parameter = parameter.operand(1).filter(|_| is_parameter);
    let align = parameter.and_then(|id| index.code.alignments.get(&id).copied());
    let is_pointer = pointer.opcode == op::TYPE_POINTER;
    let pointee = pointer.operand(2).filter(|_| is_pointer);
    Some((pointee?, align))
}

/// Returns the C string in a variable.
fn text(variable: u32, index: &Index<'_>) -> Option<String> {
    let initializer = index.get(variable)?.operand(3)?;
    let memory = Initializer::of_constant(initializer, index).ok()?;
    let bytes = memory.bytes.split(|byte| *byte == 0).next()?;
    let text = super::without_unit(std::str::from_utf8(bytes).ok()?);
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the C++ spelling of a variable, such as `ns::radius`.
pub(crate) fn shown(symbol: &str) -> String {
    mangled::variable(symbol).map_or_else(|| symbol.into(), |name| name.qualified())
}

/// Returns the kernels that reach the instruction at `place`, in C++ spelling.
pub(super) fn kernels(index: &Index<'_>, place: usize) -> Vec<String> {
    let mut before = index.module.instructions.iter().take(place + 1).rev();
    let own = before.find(|instruction| instruction.opcode == op::FUNCTION);
    let own = own.and_then(Instruction::result).into_iter().collect();
    let mut callers: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (caller, called) in &index.code.calls {
        callers.entry(*called).or_default().push(*caller);
    }
    let reached = reachable_from(own, &callers);
    // The reached functions include callers, because an entry point may be a wrapper that calls the actual kernel.
    let entries = index.code.entry_points.iter();
    let names = entries.filter(|(id, _)| reached.contains(id));
    names.map(|(_, symbol)| qualified(symbol)).collect()
}
