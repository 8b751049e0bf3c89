// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads kernel declarations, variable types and the structs in them from debug information, which DPC++ emits with
//! `-g`. Only debug information distinguishes `unsigned n` from `int n` in an `extern "C"` kernel, and records
//! member names. The instruction numbers below are from the extended instruction sets
//! `NonSemantic.Shader.DebugInfo.100` and `.200`.

mod declarations;
#[cfg(test)]
mod tests;
mod types;

use super::cpp_type::{CppParameter, CppType};
use super::declared::Declared;
use super::names::Definitions;
use super::types::{Element, Type};
use crate::error::Error;
use crate::model::{AbstractModule, Image, Syclbin};
use crate::prelude::*;
use crate::property::set;
use crate::spirv::module::{Extended, Module, Parameter};

/// The instruction sets, newest first, and whether their member records omit the parent.
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
/// The maximum nesting depth of types and scopes. A deeper chain is treated as a cycle.
const MAX_DEPTH: usize = 32;
/// The maximum nesting depth of inlined calls. A longer chain is treated as a cycle.
const MAX_INLINED: usize = 1024;

/// A temporary property set: the number of dimensions of each free-function kernel, or 0 for a single task.
/// `syclbin-clang` adds the set, because debug information lacks these numbers. [`record`](crate::__private::record)
/// removes it.
pub const DIMENSIONS: &str = "SYCLBIN-RS/dimensions";

/// Everything that signatures need from the debug information of a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// The kernels, by symbol.
    pub kernels: BTreeMap<String, DescribedKernel>,
    /// The type of each device global and specialization constant. The key is the identifier without the part
    /// that distinguishes sources (`mangled::without_source`).
    pub variables: BTreeMap<String, CppType>,
    /// The structs and enumerations that these kernels and types use, directly or nested, by name.
    pub definitions: Definitions,
}

/// A kernel's declaration, as recorded by debug information.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribedKernel {
    /// The declared parameters: members for a functor, captures for a lambda.
    pub parameters: Option<Vec<CppParameter>>,
    /// The source location, such as `solver.cpp:12`.
    pub location: Option<String>,
    /// The number of dimensions of the range, or 0 for a single task.
    pub dimensions: Option<u8>,
}

impl Described {
    /// Reads the debug information of all SPIR-V in `file`, whose modules must come from the same source.
    ///
    /// # Errors
    ///
    /// Returns an error if an image is declared as SPIR-V but cannot be read.
    pub fn of(file: &Syclbin<'_>) -> Result<Self, Error> {
        let mut described = Self::default();
        for module in &file.modules {
            for code in module.images.iter().filter_map(Image::spirv) {
                described.add(&Module::parse(code)?, module);
            }
        }
        Ok(described)
    }

    fn add(&mut self, module: &Module, of: &AbstractModule<'_>) {
        let is_used = |set: &u32| module.extended.iter().any(|e| e.set == *set);
        let found = INSTRUCTION_SETS.iter().find_map(|(name, newer)| {
            let set = module.instruction_sets.get(*name)?;
            is_used(set).then_some((*set, *newer))
        });
        let Some((set, newer)) = found else { return };
        let definitions = core::mem::take(&mut self.definitions);
        let mut info = DebugInfo::new(module, set, newer, definitions);
        for symbol in module.kernel_names() {
            let passed = passed(module, of, symbol);
            let parameters = info.kernel_parameters(symbol, &passed);
            let declared = parameters.as_deref().unwrap_or_default();
            align(declared, &passed, &mut info.definitions);
            let noted = of.metadata.get(DIMENSIONS, symbol);
            let noted = noted.and_then(|noted| u8::try_from(noted.as_u32()?).ok());
            let kernel = DescribedKernel {
                parameters,
                location: info.location(symbol),
                dimensions: noted.or_else(|| info.dimensions(symbol)),
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

/// Returns the arguments of a kernel in the code, without its scratch memory, which is the last one. Arguments that the
/// compiler removed are `None`.
fn passed(module: &Module, of: &AbstractModule<'_>, symbol: &str) -> Vec<Option<Parameter>> {
    let removed = of.eliminated_arguments(symbol).unwrap_or_default();
    let mut code = module.parameters(symbol).unwrap_or_default().into_iter();
    let listed = removed
        .into_iter()
        .map(|is_removed| if is_removed { None } else { code.next() });
    let mut all: Vec<_> = listed.collect();
    all.extend(code.map(Some));
    let scratch = of.metadata.get(set::IMPLICIT_LOCAL_ARG, symbol);
    if scratch.is_some_and(|index| index.as_u32() != Some(u32::MAX)) {
        all.pop();
    }
    all
}

/// Raises the alignment of structs to the alignment that the code records for arguments, because SPIR-V debug
/// information does not record `alignas`.
fn align(declared: &[CppParameter], passed: &[Option<Parameter>], definitions: &mut Definitions) {
    let types = declared.iter().map(|parameter| &parameter.ty);
    let types = types.map(|ty| definitions.parameter(ty, &definitions.layouts));
    let types: Vec<Declared> = types.collect();
    if types.iter().map(Declared::arguments).sum::<usize>() != passed.len() {
        return; // the declaration does not match the code
    }
    let mut at = 0;
    for declared in types {
        if let Declared::Type(ty) = &declared
            && !matches!(
                ty,
                Type::Value(Element::Array { .. }) | Type::LocalMemory { .. }
            )
            && let Some(structure) = ty.structure()
            && let Some(Parameter {
                align: Some(own), ..
            }) = passed[at]
        {
            definitions.layouts.align_as(structure, own.into());
        }
        at += declared.arguments();
    }
}

struct DebugInfo<'m> {
    module: &'m Module,
    /// Whether this is instruction set 200, in which member records omit the parent.
    newer: bool,
    instructions: BTreeMap<u32, &'m Extended>,
    /// Functions by linkage name, or by plain name if they have no linkage name.
    functions: BTreeMap<&'m str, u32>,
    /// Local variables, by enclosing function.
    variables: BTreeMap<u32, Vec<&'m Extended>>,
    /// Maps functions in the debug information to functions in the code.
    code: BTreeMap<u32, u32>,
    /// The functions that each function uses: first its inlined functions, then its callees, in order.
    uses: BTreeMap<u32, Vec<u32>>,
    /// Names for unnamed types, from typedefs and members.
    typedefs: BTreeMap<u32, String>,
    definitions: Definitions,
    /// The structs, classes and enumerations read so far.
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
                    function = e.operand(0).and_then(|id| info.function_of(id));
                    info.code.extend(function.zip(e.operand(1)));
                }
                SCOPE => {
                    if let (Some(function), Some(inlined)) = (function, info.inlined(e)) {
                        let all = info.uses.entry(function).or_default();
                        if !all.contains(&inlined) {
                            all.push(inlined);
                        }
                    }
                }
                FUNCTION => {
                    let linkage = info.text(e, 6).filter(|name| !name.is_empty());
                    if let Some(name) = linkage.or_else(|| info.text(e, 0)) {
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

    /// Returns the inlined function that an instruction in `scope` comes from, or `None` if it was not inlined. If
    /// inlined calls are nested, returns the outermost function.
    fn inlined(&self, scope: &Extended) -> Option<u32> {
        let (mut scope, mut at) = (scope.operands.first()?, scope.operands.get(1)?);
        for _ in 0..MAX_INLINED {
            let call = self.instructions.get(at)?;
            // The operands are the line, the column (only in newer records), the scope of the call, and a record of
            // the same kind if the caller is inlined too.
            let call = call.operands.get(1 + usize::from(self.newer)..)?;
            let Some(next) = call.get(1) else {
                return self.function_of(*scope);
            };
            (scope, at) = (call.first()?, next);
        }
        None
    }

    /// Returns the function that contains a scope, or that a template instance instantiates.
    fn function_of(&self, mut scope: u32) -> Option<u32> {
        for _ in 0..MAX_DEPTH {
            let e = self.get(scope)?;
            match e.instruction {
                FUNCTION => return Some(scope),
                LEXICAL_BLOCK => scope = e.operand(3)?,
                TYPE_TEMPLATE => scope = e.operand(0)?,
                _ => return None,
            }
        }
        None
    }

    fn get(&self, id: u32) -> Option<&'m Extended> {
        self.instructions.get(&id).copied()
    }

    /// Returns the instruction that an operand refers to.
    fn at(&self, e: &Extended, index: usize) -> Option<&'m Extended> {
        self.get(e.operand(index)?)
    }

    /// Returns the string that an operand refers to.
    fn text(&self, e: &Extended, index: usize) -> Option<&'m str> {
        let text = self.module.strings.get(&e.operand(index)?)?;
        Some(text)
    }

    /// Returns the constant that an operand refers to.
    fn value(&self, e: &Extended, index: usize) -> Option<u64> {
        self.wide_constant(e.operand(index)?)
    }

    /// Returns the members, member functions and template arguments of a class.
    fn parts(&self, class: &'m Extended) -> impl Iterator<Item = &'m Extended> {
        let parts = class.operands.iter().skip(9);
        parts.filter_map(|id| self.get(*id))
    }

    fn constant(&self, id: u32) -> Option<u32> {
        u32::try_from(self.wide_constant(id)?).ok()
    }

    fn wide_constant(&self, id: u32) -> Option<u64> {
        self.module.constants.get(&id).copied()
    }
}
