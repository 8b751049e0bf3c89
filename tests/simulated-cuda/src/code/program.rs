// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texts linked by name, and what they become once their variables have addresses.

use std::collections::{BTreeSet, HashMap};

use super::lower::{FUNCTIONS, Symbol, lower};
use super::{NO_GUARD, Op, Step};
use crate::ptx::{Function, Linkage, Parameter, Space, Syntax, Unit, Variable};

/// A function that can run.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) name: String,
    pub(crate) entry: bool,
    pub(crate) steps: Vec<Step>,
    /// The line of each step.
    pub(crate) lines: Vec<u32>,
    pub(crate) registers: usize,
    /// Registers, constants and what is in between.
    pub(crate) slots: usize,
    /// What the slots after the registers begin with.
    pub(crate) template: Vec<u64>,
    pub(crate) local_bytes: usize,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) results: Vec<Parameter>,
    pub(crate) parameter_bytes: usize,
    pub(crate) most_threads: Option<u32>,
    pub(crate) required_threads: Option<[u32; 3]>,
    pub(super) shared: BTreeSet<usize>,
    pub(super) callees: BTreeSet<u32>,
    /// Bytes of fixed shared memory that it and all that it calls use.
    pub(crate) shared_bytes: usize,
}

/// All functions of a module.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) codes: Vec<Code>,
    /// Bytes of all fixed shared memory. What a launch asks for lies after it.
    pub(crate) fixed_shared: usize,
}

impl Program {
    /// The function at an address.
    pub(crate) fn at(&self, address: u64) -> Option<usize> {
        let number = usize::try_from(address.checked_sub(FUNCTIONS)? / 16).ok()?;
        (number < self.codes.len()).then_some(number)
    }
}

/// Texts whose names are known to each other.
#[derive(Debug)]
pub(crate) struct Linked {
    units: Vec<Unit>,
    /// What a name of a unit means, and what a name means to other units.
    inside: Vec<HashMap<String, Meaning>>,
    outside: HashMap<String, Meaning>,
    /// Names that a unit defines only for those who find no other definition.
    weak: BTreeSet<(usize, String)>,
    /// Functions with code, by unit and index; then those that the driver itself has.
    functions: Vec<(usize, usize)>,
    drivers: Vec<&'static str>,
    /// Variables, by unit and index.
    variables: Vec<(usize, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Function(usize),
    Variable(usize),
}

/// Functions that no text defines, because the driver has them.
const DRIVER_FUNCTIONS: [&str; 4] = ["__assertfail", "vprintf", "malloc", "free"];

impl Linked {
    /// Links texts; or says which names are missing or there twice.
    pub(crate) fn new(units: Vec<Unit>) -> Result<Self, String> {
        let mut linked = Self {
            inside: units.iter().map(|_| HashMap::new()).collect(),
            outside: HashMap::new(),
            weak: BTreeSet::new(),
            functions: Vec::new(),
            drivers: Vec::new(),
            variables: Vec::new(),
            units,
        };
        let mut open = BTreeSet::new();
        for unit in 0..linked.units.len() {
            for index in 0..linked.units[unit].functions.len() {
                let function = &linked.units[unit].functions[index];
                if function.body.is_some() {
                    let meaning = Meaning::Function(linked.functions.len());
                    let (name, linkage) = (function.name.clone(), function.linkage);
                    linked.functions.push((unit, index));
                    linked.define(unit, name, linkage, meaning, &mut open)?;
                }
            }
            for index in 0..linked.units[unit].variables.len() {
                let variable = &linked.units[unit].variables[index];
                // Shared memory of an unknown size is declared as extern, and defined by a launch.
                if variable.linkage != Linkage::Extern || variable.space == Space::Shared {
                    let meaning = Meaning::Variable(linked.variables.len());
                    let (name, linkage) = (variable.name.clone(), variable.linkage);
                    linked.variables.push((unit, index));
                    linked.define(unit, name, linkage, meaning, &mut open)?;
                }
            }
        }
        linked.resolve_declarations()?;
        Ok(linked)
    }

    fn define(
        &mut self,
        unit: usize,
        name: String,
        linkage: Linkage,
        meaning: Meaning,
        open: &mut BTreeSet<String>,
    ) -> Result<(), String> {
        if linkage == Linkage::Weak {
            self.weak.insert((unit, name.clone()));
        }
        match linkage {
            Linkage::Visible if self.outside.contains_key(&name) && !open.remove(&name) => {
                return Err(format!("{name} is defined more than once"));
            }
            Linkage::Visible => {
                self.outside.insert(name.clone(), meaning);
            }
            Linkage::Weak if !self.outside.contains_key(&name) => {
                self.outside.insert(name.clone(), meaning);
                open.insert(name.clone());
            }
            _ => {}
        }
        self.inside[unit].insert(name, meaning);
        Ok(())
    }

    fn resolve_declarations(&mut self) -> Result<(), String> {
        let mut missing = Vec::new();
        for (unit, names) in self.inside.iter_mut().enumerate() {
            // Whoever has a weak definition takes the one that all others take.
            for (name, meaning) in names.iter_mut() {
                if self.weak.contains(&(unit, name.clone())) {
                    *meaning = *self.outside.get(name).unwrap_or(meaning);
                }
            }
        }
        for (unit, names) in self.units.iter().zip(&mut self.inside) {
            let functions = unit.functions.iter();
            let functions = functions.filter(|function| function.body.is_none());
            let variables = unit.variables.iter();
            let variables = variables.filter(|variable| {
                variable.linkage == Linkage::Extern && variable.space != Space::Shared
            });
            let declared = { functions }
                .map(|function| &function.name)
                .chain(variables.map(|variable| &variable.name));
            for name in declared {
                let driver = DRIVER_FUNCTIONS.into_iter().find(|driver| driver == name);
                if let Some(meaning) = self.outside.get(name) {
                    names.insert(name.clone(), *meaning);
                } else if names.contains_key(name) {
                    // A definition of the same text.
                } else if let Some(driver) = driver {
                    let number = self.functions.len() + self.drivers.len();
                    names.insert(name.clone(), Meaning::Function(number));
                    self.drivers.push(driver);
                } else {
                    missing.push(name.clone());
                }
            }
        }
        missing.sort();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }
        Err(format!("unresolved extern: {}", missing.join(", ")))
    }

    /// The variables, in the order of their numbers.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &Variable> {
        let at = |&(unit, index): &(usize, usize)| &self.units[unit].variables[index];
        self.variables.iter().map(at)
    }

    /// Whether the variable can be asked for by its name.
    pub(crate) fn is_visible(&self, number: usize) -> bool {
        let (unit, index) = self.variables[number];
        let variable = &self.units[unit].variables[index];
        self.outside.get(&variable.name) == Some(&Meaning::Variable(number))
    }

    fn function(&self, number: usize) -> &Function {
        let (unit, index) = self.functions[number];
        &self.units[unit].functions[index]
    }

    /// The kernels and functions with the variables at these addresses, by their numbers. Those of
    /// shared memory are not looked at.
    pub(crate) fn place(&self, addresses: &[u64]) -> Result<Program, Syntax> {
        let (offsets, fixed_shared) = self.shared_offsets();
        let mut codes = Vec::with_capacity(self.functions.len());
        for number in 0..self.functions.len() {
            let unit = self.functions[number].0;
            let resolve = |name: &str| self.symbol(unit, name, addresses, &offsets);
            codes.push(lower(self.function(number), &resolve)?);
        }
        codes.extend(self.drivers.iter().map(|name| driver_function(name)));
        for number in 0..codes.len() {
            codes[number].shared_bytes = self.shared_bytes(&codes, number);
        }
        Ok(Program {
            codes,
            fixed_shared,
        })
    }

    /// The content of a variable, with addresses in it.
    pub(crate) fn content(&self, number: usize, addresses: &[u64]) -> Result<Vec<u8>, String> {
        let (unit, index) = self.variables[number];
        let variable = &self.units[unit].variables[index];
        let mut content = variable.content.clone();
        for relocation in &variable.relocations {
            let value = match self.symbol(unit, &relocation.symbol, addresses, &[]) {
                Some(Symbol::Address(address)) => address,
                Some(Symbol::Function(number)) => FUNCTIONS + 16 * u64::from(number),
                _ => return Err(format!("{} has no address", relocation.symbol)),
            };
            let value = value.wrapping_add_signed(relocation.addend) >> relocation.shift;
            let width = relocation.width.min(8);
            let at = relocation.at;
            content[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
        }
        Ok(content)
    }

    fn symbol(&self, unit: usize, name: &str, addresses: &[u64], shared: &[u64]) -> Option<Symbol> {
        Some(match *self.inside[unit].get(name)? {
            Meaning::Function(number) => Symbol::Function(u32::try_from(number).ok()?),
            Meaning::Variable(number) => {
                let (unit, index) = self.variables[number];
                let variable = &self.units[unit].variables[index];
                if variable.space == Space::Shared {
                    let counts = (variable.size > 0).then_some(number);
                    Symbol::Shared(*shared.get(number)?, counts)
                } else {
                    Symbol::Address(*addresses.get(number)?)
                }
            }
        })
    }

    /// Where variables lie in shared memory, those without a size behind all others.
    fn shared_offsets(&self) -> (Vec<u64>, usize) {
        let mut end = 0usize;
        let mut offsets = Vec::new();
        for variable in self.variables() {
            let fixed = variable.space == Space::Shared && variable.size > 0;
            if fixed {
                end = end.next_multiple_of(variable.align);
            }
            offsets.push(end as u64);
            end += if fixed { variable.size } else { 0 };
        }
        let most = { self.variables() }
            .filter(|variable| variable.space == Space::Shared && variable.size == 0)
            .map(|variable| variable.align)
            .max();
        let end = end.next_multiple_of(most.unwrap_or(16).max(16));
        for (offset, variable) in offsets.iter_mut().zip(self.variables()) {
            if variable.space == Space::Shared && variable.size == 0 {
                *offset = end as u64;
            }
        }
        (offsets, end)
    }

    fn shared_bytes(&self, codes: &[Code], from: usize) -> usize {
        let mut seen = BTreeSet::from([from]);
        let mut open = vec![from];
        let mut used = BTreeSet::new();
        while let Some(number) = open.pop() {
            used.extend(&codes[number].shared);
            for callee in &codes[number].callees {
                if seen.insert(*callee as usize) {
                    open.push(*callee as usize);
                }
            }
        }
        let size = |number: &usize| {
            let (unit, index) = self.variables[*number];
            self.units[unit].variables[index].size
        };
        used.iter().map(size).sum()
    }
}

/// A failed assertion ends a kernel; there is no heap, and nothing is printed.
fn driver_function(name: &str) -> Code {
    let op = match name {
        "__assertfail" => Op::Assert,
        _ => Op::Return,
    };
    let sizes: &[usize] = match name {
        "__assertfail" => &[8, 8, 4, 8, 8],
        "vprintf" => &[8, 8],
        _ => &[8],
    };
    let results: &[usize] = match name {
        "vprintf" => &[4],
        "malloc" => &[8],
        _ => &[],
    };
    let mut end = 0;
    let mut place = |size: &usize| {
        end += 8;
        Parameter {
            offset: end - 8,
            size: *size,
        }
    };
    Code {
        name: name.to_owned(),
        entry: false,
        results: results.iter().map(&mut place).collect(),
        parameters: sizes.iter().map(&mut place).collect(),
        steps: vec![Step {
            guard: NO_GUARD,
            op,
        }],
        lines: vec![0],
        registers: 0,
        slots: 0,
        template: Vec::new(),
        local_bytes: 64,
        parameter_bytes: 0,
        most_threads: None,
        required_threads: None,
        shared: BTreeSet::new(),
        callees: BTreeSet::new(),
        shared_bytes: 0,
    }
}
