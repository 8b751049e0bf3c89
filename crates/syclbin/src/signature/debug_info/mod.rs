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
use super::merge::OF_ACCESSOR;
use super::names::Definitions;
use super::spirv::{Extended, Module, Parameter};
use super::types::Type;

const INSTRUCTION_SETS: [&str; 2] = [
    "NonSemantic.Shader.DebugInfo.200",
    "NonSemantic.Shader.DebugInfo.100",
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
/// The debug information of a module's kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// The parameters of each described kernel, by symbol. The parameters of a functor are its members; the
    /// parameters of a lambda are what it captures.
    pub parameters: BTreeMap<String, Vec<CppParameter>>,
    /// The source location of each kernel, by symbol: `solver.cpp:12`.
    pub locations: BTreeMap<String, String>,
    /// The number of dimensions of each kernel's range, by symbol, or 0 for a single task.
    pub dimensions: BTreeMap<String, u8>,
    /// The type of each device global and specialization constant. The key is the identifier without the part
    /// that distinguishes sources ([`mangled::without_source`](super::mangled::without_source)).
    pub variables: BTreeMap<String, CppType>,
    /// The structs and enumerations that these declarations and types name, and those inside of them, by name.
    pub definitions: Definitions,
}

impl Described {
    /// Adds the descriptions of other kernels from another module of the same source.
    pub fn append(&mut self, mut other: Self) {
        self.parameters.append(&mut other.parameters);
        self.locations.append(&mut other.locations);
        self.dimensions.append(&mut other.dimensions);
        self.variables.append(&mut other.variables);
        self.definitions.append(other.definitions);
    }
}

/// Reads the debug information of a module's kernels. The result is empty if there is none.
#[must_use]
pub fn describe(module: &Module) -> Described {
    let mut described = Described::default();
    for (newer, name) in [true, false].into_iter().zip(INSTRUCTION_SETS) {
        if let Some(set) = module.instruction_set(name) {
            let mut info = DebugInfo::new(module, set, newer);
            for symbol in module.kernel_names() {
                if let Some(parameters) = info.kernel_parameters(symbol) {
                    described.parameters.insert(symbol.into(), parameters);
                }
                if let Some(location) = info.location(symbol) {
                    described.locations.insert(symbol.into(), location);
                }
                if let Some(dimensions) = info.dimensions(symbol) {
                    described.dimensions.insert(symbol.into(), dimensions);
                }
            }
            for (name, variable) in info.variables_of_hosts() {
                if let Some(ty) = info.value_type(variable) {
                    described.variables.insert(name, ty);
                }
            }
            described.definitions.append(info.definitions);
        }
    }
    for (symbol, declared) in &described.parameters {
        let passed = module.parameters(symbol).unwrap_or_default();
        align(declared, &passed, &mut described.definitions);
    }
    described
}

/// Debug information for SPIR-V lacks alignments. The arguments in the code have the alignments of structs
/// that a kernel takes or points to, so `alignas` is not lost.
fn align(declared: &[CppParameter], passed: &[Parameter], definitions: &mut Definitions) {
    let mut at = 0;
    let mut found = Vec::new();
    for parameter in declared {
        let declared = definitions.parameter(&parameter.ty, definitions.layouts());
        let (structure, width) = match &declared {
            Declared::Type(ty @ (Type::Accessor { .. } | Type::LocalAccessor { .. })) => {
                (ty.structure(), OF_ACCESSOR)
            }
            Declared::Type(ty @ (Type::Pointer { .. } | Type::Struct(_))) => (ty.structure(), 1),
            _ => (None, 1),
        };
        if let (Some(structure), Some(first)) = (structure, passed.get(at)) {
            found.push((structure, first.align));
        }
        at += width;
    }
    if at != passed.len() {
        return; // some were removed
    }
    for (structure, own) in found {
        if let Some(own) = own {
            definitions.align(structure, own.into());
        }
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
    fn new(module: &'m Module, set: u32, newer: bool) -> Self {
        let mut info = Self {
            module,
            newer,
            instructions: BTreeMap::new(),
            functions: BTreeMap::new(),
            variables: BTreeMap::new(),
            code: BTreeMap::new(),
            uses: BTreeMap::new(),
            typedefs: BTreeMap::new(),
            definitions: Definitions::default(),
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
