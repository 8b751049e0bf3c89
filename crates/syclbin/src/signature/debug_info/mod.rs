// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel declarations, types of variables, and the structs that both name, from debug information
//! (`NonSemantic.Shader.DebugInfo.100` and `.200`). DPC++ writes it under `-g`. It is the only source that
//! distinguishes `unsigned n` from `int n` in an `extern "C"` kernel, and that has the names of members.
//! Instruction numbers are those of that extended instruction set.

mod declarations;
mod types;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::cpp_type::{CppParameter, CppType};
use super::declared::Declared;
use super::names::Definitions;
use super::types::Type;
use crate::spirv::module::{Extended, Module, Parameter};

/// The instruction sets, and whether members do not name their parent in them.
const INSTRUCTION_SETS: [(&str, bool); 2] = [
    ("NonSemantic.Shader.DebugInfo.200", true),
    ("NonSemantic.Shader.DebugInfo.100", false),
];
const INFO_NONE: u32 = 0;
const TYPE_BASIC: u32 = 2;
const TYPE_POINTER: u32 = 3;
const TYPE_QUALIFIER: u32 = 4;
const TYPE_ARRAY: u32 = 5;
const TYPE_VECTOR: u32 = 6;
const TYPEDEF: u32 = 7;
const TYPE_FUNCTION: u32 = 8;
const TYPE_ENUM: u32 = 9;
const TYPE_COMPOSITE: u32 = 10;
const TYPE_MEMBER: u32 = 11;
const INHERITANCE: u32 = 12;
const TYPE_TEMPLATE: u32 = 14;
const TEMPLATE_PARAMETER: u32 = 15;
const GLOBAL_VARIABLE: u32 = 18;
const FUNCTION: u32 = 20;
const LEXICAL_BLOCK: u32 = 21;
const SCOPE: u32 = 23;
const LOCAL_VARIABLE: u32 = 26;
const SOURCE: u32 = 35;
const FUNCTION_DEFINITION: u32 = 101;
const TYPE_SUBRANGE: u32 = 201;
/// Types nest; a chain longer than this is a cycle.
const MAX_DEPTH: usize = 32;
/// The debug information of kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// The kernels, by symbol.
    pub kernels: BTreeMap<String, DescribedKernel>,
    /// The type of each device global and specialization constant. The key is the identifier without the part
    /// that distinguishes sources ([`mangled::without_source`](super::mangled::without_source)).
    pub variables: BTreeMap<String, CppType>,
    /// The structs and enumerations that these kernels and types name, and those inside of them, by name.
    pub definitions: Definitions,
}

/// The debug information of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribedKernel {
    /// The declared parameters. Those of a functor are its members; those of a lambda are what it captures.
    pub parameters: Option<Vec<CppParameter>>,
    /// The source location: `solver.cpp:12`.
    pub location: Option<String>,
    /// The number of dimensions of the range, or 0 for a single task.
    pub dimensions: Option<u8>,
}

impl Described {
    /// Adds the debug information of a module, if it has any. All modules that are added must come from the same source.
    pub fn add(&mut self, module: &Module) {
        let is_used = |set: &u32| module.extended.iter().any(|e| e.set == *set);
        let found = INSTRUCTION_SETS.iter().find_map(|(name, newer)| {
            let set = module.instruction_set(name).filter(is_used)?;
            Some((set, *newer))
        });
        let Some((set, newer)) = found else { return };
        let definitions = core::mem::take(&mut self.definitions);
        let mut info = DebugInfo::new(module, set, newer, definitions);
        for symbol in module.kernel_names() {
            let parameters = info.kernel_parameters(symbol);
            let passed = module.parameters(symbol).unwrap_or_default();
            align(
                parameters.as_deref().unwrap_or_default(),
                &passed,
                &mut info.definitions,
            );
            let kernel = DescribedKernel {
                parameters,
                location: info.location(symbol),
                dimensions: info.dimensions(symbol),
            };
            self.kernels.insert(symbol.into(), kernel);
        }
        for (name, variable) in info.variables_of_hosts() {
            if let Some(ty) = info.value_type(variable) {
                self.variables.insert(name, ty);
            }
        }
        self.definitions = info.definitions;
    }
}

/// Debug information for SPIR-V lacks alignments. The arguments in the code have the alignments of structs
/// that a kernel takes or points to, so `alignas` is not lost.
fn align(declared: &[CppParameter], passed: &[Parameter], definitions: &mut Definitions) {
    let types = declared
        .iter()
        .map(|parameter| definitions.parameter(&parameter.ty, definitions.layouts()));
    let types: Vec<Declared> = types.collect();
    let width = |declared: &Declared| match declared {
        Declared::Type(ty) => ty.arguments(),
        _ => 1,
    };
    if types.iter().map(width).sum::<usize>() != passed.len() {
        return; // some were removed
    }
    let mut at = 0;
    for declared in types {
        if let Declared::Type(ty) = &declared
            && !matches!(ty, Type::Array { .. } | Type::LocalMemory { .. })
            && let (Some(structure), Some(own)) = (ty.structure(), passed[at].align)
        {
            definitions.align(structure, own.into());
        }
        at += width(&declared);
    }
}

struct DebugInfo<'m> {
    module: &'m Module,
    /// Whether it is the instruction set 200, in which members do not name their parent.
    newer: bool,
    instructions: BTreeMap<u32, &'m Extended>,
    /// Functions by their linkage name, or by their name where they have none.
    functions: BTreeMap<&'m str, u32>,
    /// Local variables by the function they stand in.
    variables: BTreeMap<u32, Vec<&'m Extended>>,
    /// The functions in the code, by the functions they are here.
    code: BTreeMap<u32, u32>,
    /// The functions that each function uses: those inlined into it, then those it calls, in order.
    uses: BTreeMap<u32, Vec<u32>>,
    /// The names that sources give to types without a name.
    typedefs: BTreeMap<u32, String>,
    definitions: Definitions,
    /// The structs, classes and enumerations that were read.
    known: BTreeMap<u32, Option<CppType>>,
}

impl<'m> DebugInfo<'m> {
    fn new(module: &'m Module, set: u32, newer: bool, definitions: Definitions) -> Self {
        let mut info = Self {
            module,
            newer,
            instructions: BTreeMap::new(),
            functions: BTreeMap::new(),
            variables: BTreeMap::new(),
            code: BTreeMap::new(),
            uses: BTreeMap::new(),
            typedefs: BTreeMap::new(),
            definitions,
            known: BTreeMap::new(),
        };
        let mut function = None;
        for e in module.extended.iter().filter(|e| e.set == set) {
            info.instructions.insert(e.result, e);
            match e.instruction {
                FUNCTION_DEFINITION => {
                    function = e.operands.first().and_then(|id| info.function_of(*id));
                    if let (Some(function), Some(code)) = (function, e.operands.get(1)) {
                        info.code.insert(function, *code);
                    }
                }
                SCOPE => {
                    let inlined = e
                        .operands
                        .first()
                        .and_then(|scope| info.function_of(*scope));
                    if let (Some(function), Some(inlined)) = (function, inlined) {
                        let all = info.uses.entry(function).or_default();
                        if all.last() != Some(&inlined) {
                            all.push(inlined);
                        }
                    }
                }
                FUNCTION => {
                    let linkage = info
                        .string(e.operands.get(6))
                        .filter(|name| !name.is_empty());
                    if let Some(name) = linkage.or_else(|| info.string(e.operands.first())) {
                        info.functions.entry(name).or_insert(e.result);
                    }
                }
                LOCAL_VARIABLE => {
                    // A parameter is a variable with an argument number.
                    if let [_, _, _, _, _, function, _, _] = e.operands[..] {
                        info.variables.entry(function).or_default().push(e);
                    }
                }
                _ => {}
            }
        }
        let described = info.code.iter().map(|(function, code)| (*code, *function));
        let described = BTreeMap::from_iter(described);
        for (caller, callee) in &module.calls {
            if let (Some(caller), Some(callee)) = (described.get(caller), described.get(callee)) {
                info.uses.entry(*caller).or_default().push(*callee);
            }
        }
        info
    }

    /// Returns the function that a scope is in, or that an instance of a template is.
    fn function_of(&self, mut scope: u32) -> Option<u32> {
        for _ in 0..MAX_DEPTH {
            let e = self.instructions.get(&scope)?;
            match e.instruction {
                FUNCTION => return Some(scope),
                LEXICAL_BLOCK => scope = *e.operands.get(3)?,
                TYPE_TEMPLATE => scope = *e.operands.first()?,
                _ => return None,
            }
        }
        None
    }

    fn string(&self, id: Option<&u32>) -> Option<&'m str> {
        self.module.strings.get(id?).map(String::as_str)
    }

    fn constant(&self, id: u32) -> Option<u32> {
        self.module.constants.get(&id).copied()
    }

    fn wide_constant(&self, id: u32) -> Option<u64> {
        self.module.wide_constants.get(&id).copied()
    }
}
