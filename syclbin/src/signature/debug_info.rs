//! Kernel declarations from debug information (`NonSemantic.Shader.DebugInfo.100` and `.200`), which
//! DPC++ writes under `-g`: the only place that tells `unsigned n` from `int n` in an `extern "C"`
//! kernel. Instruction numbers are those of that extended instruction set.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::Cell;

use super::declaration::{Declaration, DeclaredParameter};
use super::mangled;
use super::spirv::{Extended, Module, PARAMETER_PREFIX};

const INSTRUCTION_SETS: [&str; 2] = [
    "NonSemantic.Shader.DebugInfo.200",
    "NonSemantic.Shader.DebugInfo.100",
];
const INFO_NONE: u32 = 0;
const TYPE_BASIC: u32 = 2;
const TYPE_POINTER: u32 = 3;
const TYPE_QUALIFIER: u32 = 4;
const TYPEDEF: u32 = 7;
const TYPE_ENUM: u32 = 9;
const TYPE_COMPOSITE: u32 = 10;
const TYPE_TEMPLATE: u32 = 14;
const FUNCTION: u32 = 20;
const LOCAL_VARIABLE: u32 = 26;
const QUALIFIER_CONST: u32 = 0;

/// Types nest; a chain longer than this is a cycle.
const MAX_DEPTH: usize = 32;
/// Instructions repeat texts, so a small hostile module can mean very long declarations: this many
/// bytes are made of one module, and as many more for each of its instructions.
const MAX_TEXT: usize = 64 * 1024;
const MAX_TEXT_OF_ONE: usize = 256;

/// The declaration of every kernel that the module's debug information describes, by symbol.
/// Empty where there is none.
#[must_use]
pub fn declarations(module: &Module) -> BTreeMap<String, Declaration> {
    let mut found = BTreeMap::new();
    for set in INSTRUCTION_SETS {
        if let Some(set) = module.instruction_set(set) {
            let info = DebugInfo::new(module, set);
            for symbol in module.kernel_names() {
                if let Some(declaration) = info.declaration(symbol) {
                    found.insert(symbol.into(), declaration);
                }
            }
        }
    }
    found
}

struct DebugInfo<'m> {
    module: &'m Module,
    instructions: BTreeMap<u32, &'m Extended>,
    /// Functions by their linkage name.
    functions: BTreeMap<&'m str, u32>,
    /// Local variables by the function they stand in.
    variables: BTreeMap<u32, Vec<&'m Extended>>,
    /// Bytes of text that may still be made.
    budget: Cell<usize>,
}

impl<'m> DebugInfo<'m> {
    fn new(module: &'m Module, set: u32) -> Self {
        let mut info = Self {
            module,
            instructions: BTreeMap::new(),
            functions: BTreeMap::new(),
            variables: BTreeMap::new(),
            budget: Cell::new(MAX_TEXT + MAX_TEXT_OF_ONE * module.extended.len()),
        };
        for e in module.extended.iter().filter(|e| e.set == set) {
            info.instructions.insert(e.result, e);
            match e.instruction {
                FUNCTION => {
                    if let Some(name) = info.string(e.operands.first()) {
                        info.functions.entry(name).or_insert(e.result);
                    }
                }
                LOCAL_VARIABLE => {
                    // A variable without argument number is no parameter.
                    if let [_, _, _, _, _, function, _, _] = e.operands[..] {
                        info.variables.entry(function).or_default().push(e);
                    }
                }
                _ => {}
            }
        }
        info
    }

    /// The parameters of the function whose linkage name is `symbol`, by their argument number.
    fn declaration(&self, symbol: &str) -> Option<Declaration> {
        let function = self.functions.get(symbol)?;
        let mut parameters = BTreeMap::new();
        for variable in self.variables.get(function).into_iter().flatten() {
            let [name, ty, _, _, _, _, _, number] = variable.operands[..] else {
                continue;
            };
            let name = self.string(Some(&name))?;
            let name = name.strip_prefix(PARAMETER_PREFIX).unwrap_or(name);
            let parameter = DeclaredParameter {
                ty: self.type_text(ty, MAX_DEPTH)?,
                name: self.spend(name.into())?,
            };
            parameters.insert(number, parameter);
        }
        // Arguments count from 1. The specification wants the number as a constant's id; the
        // reference compiler writes the number itself. A gap means that something is not described.
        let count = u32::try_from(parameters.len()).ok()?;
        if !parameters.keys().copied().eq(1..=count) {
            parameters = parameters
                .into_iter()
                .map(|(id, parameter)| Some((self.constant(id)?, parameter)))
                .collect::<Option<_>>()?;
        }
        if !parameters.keys().copied().eq(1..=count) {
            return None;
        }
        Some(Declaration {
            name: mangled::parse(symbol)?.qualified(),
            parameters: parameters.into_values().collect(),
        })
    }

    /// Counts `text` against what may be made of one module.
    fn spend(&self, text: String) -> Option<String> {
        // An empty text is work as well.
        let left = self.budget.get().checked_sub(text.len() + 1)?;
        self.budget.set(left);
        Some(text)
    }

    /// A type as C++ spells it.
    fn type_text(&self, id: u32, depth: usize) -> Option<String> {
        self.spend(self.unlimited_type_text(id, depth)?)
    }

    fn unlimited_type_text(&self, id: u32, depth: usize) -> Option<String> {
        let depth = depth.checked_sub(1)?;
        let Some(e) = self.instructions.get(&id) else {
            return Some("void".into()); // OpTypeVoid, under a pointer
        };
        let operand = |index: usize| e.operands.get(index);
        match e.instruction {
            TYPE_BASIC | TYPE_ENUM | TYPE_COMPOSITE => Some(self.string(operand(0))?.into()),
            TYPEDEF => self.type_text(*operand(1)?, depth),
            TYPE_TEMPLATE => self.type_text(*operand(0)?, depth),
            TYPE_POINTER => {
                let base = self.type_text(*operand(0)?, depth)?;
                let space = if base.ends_with('*') { "" } else { " " };
                Some(format!("{base}{space}*"))
            }
            TYPE_QUALIFIER => {
                let base = self.type_text(*operand(0)?, depth)?;
                if self.constant(*operand(1)?)? != QUALIFIER_CONST {
                    return Some(base); // volatile and restrict do not change the call
                }
                // A qualifier of a pointer stands behind it, one of anything else before it.
                if base.ends_with('*') {
                    Some(format!("{base}const"))
                } else {
                    Some(format!("const {base}"))
                }
            }
            INFO_NONE => Some("void".into()),
            _ => None,
        }
    }

    fn string(&self, id: Option<&u32>) -> Option<&'m str> {
        self.module.strings.get(id?).map(String::as_str)
    }

    fn constant(&self, id: u32) -> Option<u32> {
        self.module.constants.get(&id).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn text(text: &str) -> Vec<u32> {
        let mut bytes = Vec::from(text);
        bytes.resize(text.len() / 4 * 4 + 4, 0);
        let words = bytes.as_chunks().0.iter();
        words.map(|word| u32::from_le_bytes(*word)).collect()
    }

    /// A kernel `k` with `count` parameters `x` of the type called `ty`.
    fn module(ty: &str, count: u32) -> Module {
        let mut instructions = vec![
            (11, [vec![1], text(INSTRUCTION_SETS[1])].concat()),
            (15, [vec![6, 50], text("k")].concat()),
            (7, [vec![2], text("k")].concat()),
            (7, [vec![3], text("x")].concat()),
            (7, [vec![4], text(ty)].concat()),
            (12, vec![0, 5, 1, TYPE_BASIC, 4]),
            (12, vec![0, 6, 1, FUNCTION, 2]),
        ];
        for number in 1..=count {
            let operands = [3, 5, 0, 0, 0, 6, 0, number];
            let variable = [&[0, 100 + number, 1, LOCAL_VARIABLE][..], &operands].concat();
            instructions.push((12, variable));
        }
        let mut words = vec![0x0723_0203, 0x0001_0400, 0, 100, 0];
        for (opcode, operands) in instructions {
            words.push((u32::try_from(operands.len()).unwrap() + 1) << 16 | opcode);
            words.extend(operands);
        }
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        Module::parse(&bytes).unwrap()
    }

    #[test]
    fn a_long_type_that_every_parameter_names_is_not_copied_for_each() {
        let short = declarations(&module("int", 1000));
        assert_eq!(short["k"].parameters.len(), 1000);
        assert_eq!(short["k"].parameters[999].ty, "int");
        let long = "x".repeat(10_000);
        assert_eq!(declarations(&module(&long, 1))["k"].parameters[0].ty, long);
        assert!(declarations(&module(&long, 1000)).is_empty());
    }
}
