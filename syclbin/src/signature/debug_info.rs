//! Kernel declarations from debug information (`NonSemantic.Shader.DebugInfo.100` and `.200`), which
//! DPC++ writes under `-g`: the only place that tells `unsigned n` from `int n` in an `extern "C"`
//! kernel. Instruction numbers are those of that extended instruction set.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

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

/// The declaration of every kernel that the module's debug information describes, by symbol.
/// Empty where there is none.
#[must_use]
pub fn declarations(module: &Module) -> BTreeMap<String, Declaration> {
    let mut found = BTreeMap::new();
    for set in INSTRUCTION_SETS {
        if let Some(set) = module.instruction_set(set) {
            let info = DebugInfo::new(module, set);
            for symbol in module.kernels() {
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
}

impl<'m> DebugInfo<'m> {
    fn new(module: &'m Module, set: u32) -> Self {
        let mut info = Self {
            module,
            instructions: BTreeMap::new(),
            functions: BTreeMap::new(),
            variables: BTreeMap::new(),
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
                    if let Some(function) = e.operands.get(5) {
                        info.variables.entry(*function).or_default().push(e);
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
                continue; // a variable without argument number is no parameter
            };
            let name = self.string(Some(&name))?;
            let name = name.strip_prefix(PARAMETER_PREFIX).unwrap_or(name);
            let parameter = DeclaredParameter {
                ty: self.type_text(ty, MAX_DEPTH)?,
                name: name.into(),
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

    /// A type as C++ spells it.
    fn type_text(&self, id: u32, depth: usize) -> Option<String> {
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
