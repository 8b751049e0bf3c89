// SPDX-License-Identifier: MIT OR Apache-2.0
//! One function: from instructions to steps.

use std::collections::{BTreeSet, HashMap};

use super::step::{NO_GUARD, Slot};
use super::{Code, Op, Step, Word};
use crate::ptx::{Function, Instruction, Operand, Place, Syntax};

/// What a name of a module stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Symbol {
    Address(u64),
    /// An offset in shared memory, and the number of the variable if its size counts.
    Shared(u64, Option<usize>),
    Function(u32),
}

/// The address of a function, as a number that kernels may pass around.
pub(crate) const FUNCTIONS: u64 = 0x0400_0000;

/// The steps of a function, as `resolve` says what its names stand for.
pub(super) fn lower(
    function: &Function,
    resolve: &dyn Fn(&str) -> Option<Symbol>,
) -> Result<Code, Syntax> {
    let mut lower = Lower {
        function,
        resolve,
        steps: Vec::new(),
        lines: Vec::new(),
        jumps: Vec::new(),
        constants: HashMap::new(),
        template: Vec::new(),
        carry: None,
        shared: BTreeSet::new(),
        callees: BTreeSet::new(),
        line: 0,
    };
    lower.all()?;
    let slots = function.registers as usize + lower.template.len();
    Ok(Code {
        name: function.name.clone(),
        entry: function.entry,
        steps: lower.steps,
        lines: lower.lines,
        registers: function.registers as usize,
        slots,
        template: lower.template,
        local_bytes: function.local_bytes.next_multiple_of(16),
        parameters: function.parameters.clone(),
        results: function.results.clone(),
        parameter_bytes: function.parameter_bytes,
        most_threads: function.most_threads,
        required_threads: function.required_threads,
        shared: lower.shared,
        callees: lower.callees,
        shared_bytes: 0,
    })
}

/// A function in the making.
pub(super) struct Lower<'a> {
    pub(super) function: &'a Function,
    resolve: &'a dyn Fn(&str) -> Option<Symbol>,
    steps: Vec<Step>,
    lines: Vec<u32>,
    /// Steps that go to a label, by the labels' numbers.
    jumps: Vec<(usize, Vec<usize>)>,
    constants: HashMap<u64, Slot>,
    /// What the slots after the registers begin with.
    template: Vec<u64>,
    pub(super) carry: Option<Slot>,
    shared: BTreeSet<usize>,
    callees: BTreeSet<u32>,
    line: u32,
}

impl Lower<'_> {
    fn all(&mut self) -> Result<(), Syntax> {
        let items = self.function.body.as_deref().unwrap_or_default();
        let mut starts = Vec::with_capacity(items.len() + 1);
        for item in items {
            starts.push(self.steps.len());
            self.line = item.line;
            let begin = self.steps.len();
            self.instruction(&item.instruction)?;
            if let Some((predicate, negated)) = item.guard {
                self.guard(begin, predicate, negated)?;
            }
        }
        starts.push(self.steps.len());
        self.emit(Op::Return);
        for (step, labels) in std::mem::take(&mut self.jumps) {
            let mut targets = Vec::with_capacity(labels.len());
            for label in labels {
                let item = self.function.labels[label].unwrap_or(items.len());
                targets.push(self.index(starts[item])?);
            }
            match &mut self.steps[step].op {
                Op::Choose(_, list) => *list = targets.into(),
                op => *op = Op::Jump(targets[0]),
            }
        }
        Ok(())
    }

    fn guard(&mut self, begin: usize, predicate: u32, negated: bool) -> Result<(), Syntax> {
        let guard = |negated| predicate * 2 + u32::from(negated);
        match self.steps.len() - begin {
            0 => {}
            1 => self.steps[begin].guard = guard(negated),
            // Several steps are passed over as one: the first may change the predicate.
            _ => {
                let after = self.index(self.steps.len() + 1)?;
                let step = Step {
                    guard: guard(!negated),
                    op: Op::Jump(after),
                };
                self.steps.insert(begin, step);
                self.lines.insert(begin, self.line);
                for (step, _) in &mut self.jumps {
                    *step += usize::from(*step >= begin);
                }
            }
        }
        Ok(())
    }

    fn index(&self, step: usize) -> Result<u32, Syntax> {
        u32::try_from(step).map_err(|_| self.wrong("the function is too long"))
    }

    pub(super) fn wrong(&self, what: impl Into<String>) -> Syntax {
        Syntax::new(self.line, what)
    }

    pub(super) fn emit(&mut self, op: Op) {
        self.steps.push(Step {
            guard: NO_GUARD,
            op,
        });
        self.lines.push(self.line);
    }

    /// A step that goes to labels.
    pub(super) fn emit_jump(&mut self, op: Op, labels: Vec<usize>) {
        self.jumps.push((self.steps.len(), labels));
        self.emit(op);
    }

    fn slot(&mut self, value: u64) -> Slot {
        let slot = self.function.registers as usize + self.template.len();
        self.template.push(value);
        u32::try_from(slot).unwrap_or(u32::MAX / 4)
    }

    /// A slot for something in between.
    pub(super) fn between(&mut self) -> Slot {
        self.slot(0)
    }

    pub(super) fn constant(&mut self, value: u64) -> Slot {
        if let Some(slot) = self.constants.get(&value) {
            return *slot;
        }
        let slot = self.slot(value);
        self.constants.insert(value, slot);
        slot
    }

    pub(super) fn symbol(&mut self, name: &str) -> Result<Symbol, Syntax> {
        let symbol =
            (self.resolve)(name).ok_or_else(|| self.wrong(format!("{name} is not declared")))?;
        match symbol {
            Symbol::Shared(_, Some(variable)) => {
                self.shared.insert(variable);
            }
            Symbol::Function(function) => {
                self.callees.insert(function);
            }
            _ => {}
        }
        Ok(symbol)
    }

    /// The slot that an operand is read from, as a value of a type.
    pub(super) fn operand(&mut self, operand: &Operand, kind: &str) -> Result<Slot, Syntax> {
        Ok(match operand {
            Operand::Value(Place::Register(register), _) => *register,
            Operand::Integer(value) => self.constant(*value),
            Operand::Single(bits) if kind == "f64" => {
                self.constant(f64::from(f32::from_bits(*bits)).to_bits())
            }
            Operand::Single(bits) => self.constant(u64::from(*bits)),
            Operand::Double(bits) if kind == "f32" => {
                self.constant((f64::from_bits(*bits) as f32).bits())
            }
            Operand::Double(bits) => self.constant(*bits),
            Operand::Not(inner) => {
                let inner = self.operand(inner, kind)?;
                let to = self.between();
                self.emit(Op::One(|a| a ^ 1, to, inner));
                to
            }
            Operand::Value(Place::Parameter(at), offset) => {
                self.constant((*at as u64).wrapping_add_signed(*offset))
            }
            Operand::Value(Place::Symbol(name), offset) => {
                let address = match self.symbol(name)? {
                    Symbol::Address(address) | Symbol::Shared(address, _) => address,
                    Symbol::Function(number) => FUNCTIONS + 16 * u64::from(number),
                };
                self.constant(address.wrapping_add_signed(*offset))
            }
            Operand::Value(..) | Operand::Special(_) => {
                let to = self.between();
                self.move_to(to, operand, kind)?;
                to
            }
            Operand::Sink => self.between(),
            _ => return Err(self.wrong("an operand of another kind is expected")),
        })
    }

    /// Writes an operand to a slot.
    pub(super) fn move_to(
        &mut self,
        to: Slot,
        operand: &Operand,
        kind: &str,
    ) -> Result<(), Syntax> {
        match operand {
            Operand::Special(special) => self.emit(Op::Special(to, *special)),
            Operand::Value(Place::Frame(at), offset) => {
                let at = (*at as i64).wrapping_add(*offset);
                let at = u32::try_from(at).map_err(|_| self.wrong("an offset is too large"))?;
                self.emit(Op::FrameAddress(to, at));
            }
            _ => {
                let from = self.operand(operand, kind)?;
                self.emit(Op::Move(to, from));
            }
        }
        Ok(())
    }

    /// The slot that a result is written to.
    pub(super) fn target(&mut self, operand: &Operand) -> Result<Slot, Syntax> {
        match operand {
            Operand::Value(Place::Register(register), _) => Ok(*register),
            Operand::Sink => Ok(self.between()),
            _ => Err(self.wrong("a result needs a register")),
        }
    }

    fn instruction(&mut self, instruction: &Instruction) -> Result<(), Syntax> {
        let name = instruction.name.as_str();
        let words: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
        let operands = &instruction.operands[..];
        let has = |modifier: &str| words.contains(&modifier);
        match name {
            "mov" => self.mov(&words, operands),
            "cvta" => self.convert_address(&words, operands),
            "isspacep" => self.is_space(&words, operands),
            "setp" | "set" => self.compare(name, &words, operands),
            "ld" | "ldu" | "st" | "atom" | "red" => self.memory(name, &words, operands),
            "call" | "bra" | "brx" | "ret" | "exit" | "trap" | "brkpt" => {
                self.control(name, operands)
            }
            "bar" | "barrier" | "shfl" | "vote" | "match" | "redux" | "activemask" => {
                self.together(name, &words, operands)
            }
            "membar" | "fence" | "nanosleep" | "pmevent" | "prefetch" | "prefetchu" | "discard"
            | "applypriority" | "griddepcontrol" => Ok(()),
            "add" | "addc" | "sub" | "subc" | "mad" | "madc"
                if has("cc") || name.ends_with('c') =>
            {
                self.carried(name, &words, operands)
            }
            "cvt" if operands.len() == 3 => self.convert_two(&words, operands),
            _ => self.compute(name, &words, operands),
        }
    }

    pub(super) fn unknown(&self, name: &str, words: &[&str]) -> Syntax {
        self.wrong(format!("{name}.{} is not known", words.join(".")))
    }
}
