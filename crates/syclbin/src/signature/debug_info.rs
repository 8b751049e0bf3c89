//! Kernel declarations, types of variables, and the structs that both name, from debug information
//! (`NonSemantic.Shader.DebugInfo.100` and `.200`). DPC++ writes it under `-g`. It is the only source that
//! distinguishes `unsigned n` from `int n` in an `extern "C"` kernel, and that has the names of members.
//! Instruction numbers are those of that extended instruction set.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::Cell;

use super::cpp::{self, Spelled};
use super::declaration::{Declaration, DeclaredParameter};
use super::definition::{Definition, Member};
use super::mangled;
use super::spirv::{Extended, Module, Parameter, ParameterType, TypeId, parameter_name};

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
const LOCAL_VARIABLE: u32 = 26;
const TYPE_SUBRANGE: u32 = 201;
const QUALIFIER_CONST: u32 = 0;
const TAG_UNION: u32 = 2;
const FLAG_STATIC_MEMBER: u32 = 0x200;
const STORAGE_WORKGROUP: u32 = 4;

/// Classes of SYCL that a kernel takes elements with.
const OF_ELEMENTS: [&str; 4] = [
    "sycl::accessor<",
    "sycl::local_accessor<",
    "sycl::ext::oneapi::experimental::work_group_memory<",
    "sycl::ext::oneapi::experimental::dynamic_work_group_memory<",
];

/// Types nest; a chain longer than this is a cycle.
const MAX_DEPTH: usize = 32;
/// Instructions repeat texts, and names repeat inside names, so a small hostile module can mean very long
/// declarations. One module may make this many bytes, and as many more for each of its instructions.
const MAX_TEXT: usize = 64 * 1024;
const MAX_TEXT_OF_ONE: usize = 256;
/// The member of every functor that asks for a `kernel_handler`.
const HANDLER: &str = "_specialization_constants_buffer";
/// What a host can reach a variable through; the first argument is the type of its value.
const OF_VARIABLES: [&str; 2] = [
    "sycl::ext::oneapi::experimental::device_global<",
    "sycl::specialization_id<",
];

/// What debug information says of a module's kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// The declaration of each kernel that is described, by its symbol. The parameters of a functor are its
    /// members; the parameters of a lambda are what it captures.
    pub declarations: BTreeMap<String, Declaration>,
    /// The type of each device global and specialization constant. The key is the identifier without the part
    /// that distinguishes sources ([`mangled::without_source`]).
    pub variables: BTreeMap<String, String>,
    /// The structs and enumerations that these declarations and types name, and those inside of them, by name.
    pub definitions: BTreeMap<String, Definition>,
}

/// Returns what the module's debug information says of its kernels; empty where there is none.
#[must_use]
pub fn describe(module: &Module) -> Described {
    let mut described = Described::default();
    for (newer, name) in [true, false].into_iter().zip(INSTRUCTION_SETS) {
        if let Some(set) = module.instruction_set(name) {
            let mut info = DebugInfo::new(module, set, newer);
            for symbol in module.kernel_names() {
                if let Some(declaration) = info.declaration(symbol) {
                    described.declarations.insert(symbol.into(), declaration);
                }
            }
            for (name, variable) in info.variables_of_hosts() {
                if let Some(ty) = info.value_type(variable) {
                    described.variables.insert(name, ty);
                }
            }
            described.definitions.append(&mut info.definitions);
        }
    }
    for declaration in described.declarations.values_mut() {
        name_arrays(declaration, &described.definitions);
    }
    for (symbol, declaration) in &described.declarations {
        let passed = module.parameters(symbol).unwrap_or_default();
        align(declaration, &passed, &mut described.definitions);
    }
    described
}

/// Debug information for SPIR-V lacks alignments. The arguments in the code have the alignments of structs
/// that a kernel takes or points to, so `alignas` is not lost.
fn align(
    declaration: &Declaration,
    passed: &[Parameter],
    definitions: &mut BTreeMap<String, Definition>,
) {
    let mut at = 0;
    let mut found = Vec::new();
    for parameter in &declaration.parameters {
        let Some(spelled) = cpp::parse(&parameter.ty) else {
            return;
        };
        let (of, width) = match spelled {
            Spelled::Pointer { to, .. } => (*to, 1),
            // The pointer, two ranges and an id.
            Spelled::Accessor { of, .. } | Spelled::LocalAccessor { of, .. } => (*of, 4),
            other => (other, 1),
        };
        if let (Spelled::Named(name), Some(first)) = (of, passed.get(at)) {
            found.push((name, first.align));
        }
        at += width;
    }
    if at != passed.len() {
        return; // some were removed
    }
    for (name, own) in found {
        if let Some(own) = own.map(u64::from)
            && let Some(Definition::Struct { size, align, .. }) = definitions.get_mut(&name)
            && size.is_multiple_of(own)
        {
            *align = own.max(*align);
        }
    }
}

/// The arrays of a functor are passed in structs that do not occur in any source. A functor that is described
/// itself tells what they are. Reading the file checks that they have as many bytes.
fn name_arrays(functor: &mut Declaration, definitions: &BTreeMap<String, Definition>) {
    let Some(Definition::Struct { members, .. }) = definitions.get(&functor.name) else {
        return;
    };
    for parameter in &mut functor.parameters {
        let mut members = members.iter();
        let member = members.find(|member| member.name == parameter.name);
        if let Some(member) = member
            && parameter.ty.starts_with("bytes[")
        {
            parameter.ty.clone_from(&member.ty);
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
    definitions: BTreeMap<String, Definition>,
    /// Names of composites that were spelled.
    spelled: BTreeMap<u32, Option<String>>,
    /// Bytes of text that may still be made.
    budget: Cell<usize>,
}

impl<'m> DebugInfo<'m> {
    fn new(module: &'m Module, set: u32, newer: bool) -> Self {
        let mut info = Self {
            module,
            newer,
            instructions: BTreeMap::new(),
            functions: BTreeMap::new(),
            variables: BTreeMap::new(),
            definitions: BTreeMap::new(),
            spelled: BTreeMap::new(),
            budget: Cell::new(MAX_TEXT + MAX_TEXT_OF_ONE * module.extended.len()),
        };
        for e in module.extended.iter().filter(|e| e.set == set) {
            info.instructions.insert(e.result, e);
            match e.instruction {
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
        info
    }

    /// Returns the variables that a host may reach, by their identifiers. Identifiers of device globals are
    /// in the code; specialization constants are known by their symbols.
    fn variables_of_hosts(&self) -> Vec<(String, &'m Extended)> {
        let hosts = self.module.host_names().map(|(name, id)| (id, name));
        let hosts = BTreeMap::from_iter(hosts);
        let all = self.instructions.values();
        let variables = all.filter(|e| e.instruction == GLOBAL_VARIABLE);
        let named = variables.filter_map(|e| {
            let name = match hosts.get(e.operands.get(7)?) {
                Some(name) => mangled::without_source(name).to_string(),
                None => match (
                    self.string(e.operands.get(6))?,
                    self.string(e.operands.first())?,
                ) {
                    ("", name) => format!("_Z{}{name}", name.len()),
                    (linkage, _) => linkage.to_string(),
                },
            };
            self.spend(&name)?;
            Some((name, *e))
        });
        named.collect()
    }

    /// Returns the type of the value of a variable that a host can reach.
    fn value_type(&mut self, variable: &Extended) -> Option<String> {
        let mut ty = self.instructions.get(variable.operands.get(1)?).copied()?;
        if ty.instruction == TYPE_QUALIFIER {
            ty = self.instructions.get(ty.operands.first()?).copied()?;
        }
        let (TYPE_TEMPLATE, [class, value, ..]) = (ty.instruction, &ty.operands[..]) else {
            return None;
        };
        let class = self.type_text(*class, MAX_DEPTH)?;
        let parameter = self.instructions.get(value).copied()?;
        let of_host = OF_VARIABLES.iter().any(|name| class.starts_with(name));
        if !of_host || parameter.instruction != TEMPLATE_PARAMETER {
            return None;
        }
        let text = self.type_text(*parameter.operands.get(1)?, MAX_DEPTH)?;
        let readable =
            super::cpp::parse(&text).is_some_and(|ty| ty != super::cpp::Spelled::Foreign);
        readable.then_some(text)
    }

    /// Returns the declaration of a kernel. A free-function kernel has the declaration of the function it
    /// calls, as C++ has it.
    fn declaration(&mut self, symbol: &str) -> Option<Declaration> {
        let name = mangled::parse(symbol).map(|name| name.qualified());
        let function = mangled::plain_function(symbol)
            .and_then(|plain| self.functions.get(plain.as_str()).copied())
            .and_then(|function| self.parameters(function));
        let parameters = match function {
            Some(parameters) => parameters,
            None => {
                let function = *self.functions.get(symbol)?;
                self.functor(function, symbol)?
            }
        };
        for parameter in &parameters {
            self.spend(&parameter.ty)?;
        }
        Some(Declaration {
            name: name?,
            parameters,
        })
    }

    /// Returns the types of a function's parameters.
    fn parameter_types(&self, function: u32) -> Option<&'m [u32]> {
        let function = self.instructions.get(&function)?;
        let ty = self.instructions.get(function.operands.get(1)?)?;
        match (ty.instruction, ty.operands.get(2..)) {
            (TYPE_FUNCTION, Some(types)) => Some(types),
            _ => None,
        }
    }

    /// Returns the names of a function's parameters by their number, from 1. A parameter without a name has
    /// no entry.
    fn parameter_names(&self, function: u32, count: usize) -> BTreeMap<u32, String> {
        let mut names = BTreeMap::new();
        for variable in self.variables.get(&function).into_iter().flatten() {
            let [name, _, _, _, _, _, _, number] = variable.operands[..] else {
                continue; // a variable without argument number is no parameter
            };
            if let Some(name) = self.string(Some(&name))
                && self.spend(name).is_some()
            {
                names.insert(number, parameter_name(name));
            }
        }
        // Arguments count from 1. The specification wants the number as a constant's id; the
        // reference compiler writes the number itself.
        if names.keys().any(|number| *number as usize > count) {
            names = names
                .into_iter()
                .filter_map(|(id, name)| Some((self.constant(id)?, name)))
                .collect();
        }
        names
    }

    /// Returns the parameters of a function.
    fn parameters(&mut self, function: u32) -> Option<Vec<DeclaredParameter>> {
        let types = self.parameter_types(function)?;
        let mut names = self.parameter_names(function, types.len());
        (1..)
            .zip(types)
            .map(|(number, ty)| {
                Some(DeclaredParameter {
                    ty: self.type_text(*ty, MAX_DEPTH)?,
                    name: names.remove(&number).unwrap_or_default(),
                })
            })
            .collect()
    }

    /// Returns the members of a functor, from the arguments that it became. Those of one accessor have one
    /// name.
    fn functor(&mut self, function: u32, symbol: &str) -> Option<Vec<DeclaredParameter>> {
        let lowered = self.parameters(function)?;
        let types = self.parameter_types(function)?;
        let passed = self.module.parameters(symbol)?;
        if passed.len() != lowered.len() {
            return None;
        }
        let mut parameters = Vec::new();
        let mut at = 0;
        while let Some(parameter) = lowered.get(at) {
            let name = parameter.name.clone();
            let group = lowered.get(at..at + 4).unwrap_or_default();
            let of_accessor = !name.is_empty() && group.iter().all(|other| other.name == name);
            let pointee = parameter.ty.strip_suffix('*').map(str::trim_end);
            let ty = match (pointee, group) {
                (_, [_, range, memory, id])
                    if of_accessor
                        && range.ty.starts_with("sycl::range<")
                        && memory.ty == range.ty
                        && id.ty.starts_with("sycl::id<") =>
                {
                    let dimensions = range
                        .ty
                        .trim_start_matches("sycl::range<")
                        .strip_suffix('>')?;
                    let pointee = pointee?;
                    at += 3;
                    if self.is_local(types[at - 3]) {
                        format!("sycl::local_accessor<{pointee}, {dimensions}>")
                    } else {
                        let mode = if pointee.starts_with("const ") {
                            "read"
                        } else {
                            "read_write"
                        };
                        format!(
                            "sycl::accessor<{pointee}, {dimensions}, sycl::access_mode::{mode}>"
                        )
                    }
                }
                (Some(pointee), _) if self.is_local(types[at]) => {
                    let count = match passed[at].ty {
                        ParameterType::LocalPointer { pointee } => self.counts(pointee),
                        _ => None,
                    };
                    let counts = count.unwrap_or_else(|| "[]".into());
                    format!("sycl::ext::oneapi::experimental::work_group_memory<{pointee}{counts}>")
                }
                _ if name == HANDLER => "sycl::kernel_handler".into(),
                // An array of a functor is passed in a struct that does not occur in any source.
                _ if parameter.ty == "__wrapper_class" => {
                    let size = match passed[at].ty {
                        ParameterType::ByValue { ty } => self.module.types.size(ty.0)?.0,
                        _ => return None,
                    };
                    format!("bytes[{size}]")
                }
                _ => parameter.ty.clone(),
            };
            let name = match name.as_str() {
                HANDLER => String::new(),
                _ => name,
            };
            parameters.push(DeclaredParameter { ty, name });
            at += 1;
        }
        Some(parameters)
    }

    fn is_local(&self, ty: u32) -> bool {
        let pointer = self.instructions.get(&ty);
        pointer.is_some_and(|e| {
            let storage = e.operands.get(1).and_then(|id| self.constant(*id));
            e.instruction == TYPE_POINTER && storage == Some(STORAGE_WORKGROUP)
        })
    }

    /// `[2][8]` for a type of the code that is such an array.
    fn counts(&self, mut ty: TypeId) -> Option<String> {
        let mut text = String::new();
        for _ in 0..MAX_DEPTH {
            let Some((count, of)) = self.module.types.array(ty.0) else {
                break;
            };
            text += &format!("[{count}]");
            ty = TypeId(of);
        }
        (!text.is_empty()).then_some(text)
    }

    /// Returns a type as C++ spells it, and defines what it names.
    fn type_text(&mut self, id: u32, depth: usize) -> Option<String> {
        let depth = depth.checked_sub(1)?;
        let Some(e) = self.instructions.get(&id).copied() else {
            return Some("void".into()); // OpTypeVoid, under a pointer
        };
        let operand = |index: usize| e.operands.get(index);
        let text = match e.instruction {
            TYPE_BASIC => self.string(operand(0))?.to_string(),
            TYPE_ENUM => self.enumeration(id, e, depth)?,
            TYPE_COMPOSITE => self.composite(id, e, depth)?,
            TYPEDEF => self.type_text(*operand(1)?, depth)?,
            TYPE_TEMPLATE => {
                let text = self.type_text(*operand(0)?, depth)?;
                if OF_ELEMENTS.iter().any(|name| text.starts_with(name)) {
                    self.define_arguments(e, depth);
                }
                text
            }
            TYPE_ARRAY => {
                let mut text = self.type_text(*operand(0)?, depth)?;
                for count in e.operands.get(1..)?.iter().rev() {
                    let count = self.count(*count).map(|count| count.to_string());
                    text = mangled::array(&text, &count.unwrap_or_default());
                    self.spend(&text)?;
                }
                text
            }
            TYPE_VECTOR => {
                let of = self.type_text(*operand(0)?, depth)?;
                format!("{of} __attribute__((ext_vector_type))")
            }
            TYPE_POINTER => {
                let base = self.type_text(*operand(0)?, depth)?;
                let space = if base.ends_with('*') { "" } else { " " };
                format!("{base}{space}*")
            }
            TYPE_QUALIFIER => {
                let base = self.type_text(*operand(0)?, depth)?;
                if self.constant(*operand(1)?)? != QUALIFIER_CONST {
                    return Some(base); // volatile and restrict do not change the call
                }
                // A qualifier of a pointer stands behind it, one of anything else before it.
                if base.ends_with('*') {
                    format!("{base}const")
                } else {
                    format!("const {base}")
                }
            }
            INFO_NONE => "void".into(),
            _ => return None,
        };
        self.spend(&text)?;
        Some(text)
    }

    /// Defines what the arguments of a template name. They may be named nowhere else.
    fn define_arguments(&mut self, template: &Extended, depth: usize) {
        for argument in template.operands.iter().skip(1) {
            let argument = self.instructions.get(argument);
            let argument = argument.filter(|e| e.instruction == TEMPLATE_PARAMETER);
            if let Some(ty) = argument.and_then(|e| e.operands.get(1)) {
                self.type_text(*ty, depth);
            }
        }
    }

    /// Returns how many elements a dimension of an array has. It is a constant, or a range that gives only
    /// the count.
    fn count(&self, id: u32) -> Option<u64> {
        let count = match self.instructions.get(&id) {
            Some(range) if range.instruction == TYPE_SUBRANGE => {
                let mut said = range
                    .operands
                    .iter()
                    .filter_map(|id| self.wide_constant(*id));
                said.next()
            }
            _ => self.wide_constant(id),
        };
        // The compiler's own array of no known size says -1.
        count.filter(|count| *count < u64::from(u32::MAX))
    }

    fn enumeration(&mut self, id: u32, e: &Extended, depth: usize) -> Option<String> {
        if let Some(known) = self.spelled.get(&id) {
            return known.clone();
        }
        let name = self.qualified(self.string(e.operands.first())?, *e.operands.get(5)?)?;
        let of = self.type_text(*e.operands.get(1)?, depth)?;
        // A byte of the standard library is an enumeration to the compiler only.
        if name != "std::byte" {
            let definition = Definition::Enum {
                name: name.clone(),
                of,
            };
            self.define(definition)?;
        }
        self.spelled.insert(id, Some(name.clone()));
        Some(name)
    }

    fn define(&mut self, definition: Definition) -> Option<()> {
        self.spend(definition.name())?;
        let name = definition.name().to_string();
        self.definitions.entry(name).or_insert(definition);
        Some(())
    }

    /// The name of a struct or class. One of SYCL's own that means something is left at its name.
    fn composite(&mut self, id: u32, e: &Extended, depth: usize) -> Option<String> {
        if let Some(known) = self.spelled.get(&id) {
            return known.clone();
        }
        let plain = self.string(e.operands.first())?;
        let linkage = self.string(e.operands.get(6)).and_then(mangled::type_info);
        let name = match linkage {
            Some(name) => Some(name),
            None => self.qualified(plain, *e.operands.get(5)?),
        };
        let name = name.filter(|name| !plain.is_empty() && !name.contains(" {"));
        // Before its members, which may point to it.
        self.spelled.insert(id, name.clone());
        let name = name?;
        self.spend(&name)?;
        let sycl = ["sycl::", "__wrapper_class"];
        if sycl.iter().any(|own| name.starts_with(own)) {
            return Some(name);
        }
        let tag = self.constant(*e.operands.get(1)?)?;
        let size = self.wide_constant(*e.operands.get(7)?).unwrap_or(0);
        if tag == TAG_UNION || size == 0 {
            return Some(name); // without a layout, or only declared
        }
        if let Some(definition) = self.structure(&name, size / 8, e, depth) {
            self.define(definition)?;
        }
        Some(name)
    }

    fn structure(
        &mut self,
        name: &str,
        size: u64,
        e: &Extended,
        depth: usize,
    ) -> Option<Definition> {
        let mut members: Vec<Member> = Vec::new();
        let mut align = 1;
        for id in e.operands.get(9..)? {
            let Some(member) = self.instructions.get(id).copied() else {
                continue;
            };
            let operand = |index: usize| member.operands.get(index).copied();
            let (name, ty, places) = match member.instruction {
                TYPE_MEMBER => {
                    let first = if self.newer { 5 } else { 6 };
                    let name = self.string(operand(0).as_ref())?;
                    (name.to_string(), operand(1)?, first)
                }
                INHERITANCE if self.newer => (String::new(), operand(0)?, 1),
                INHERITANCE => (String::new(), operand(1)?, 2),
                _ => continue, // a function, a template's argument
            };
            let number = |index| operand(index).and_then(|id| self.wide_constant(id));
            let flags = number(places + 2).unwrap_or(0);
            if flags & u64::from(FLAG_STATIC_MEMBER) != 0 {
                continue;
            }
            let offset = number(places)?;
            let bits = match member.instruction {
                // The size of a base class stands with the class.
                INHERITANCE => self.bits(ty, MAX_DEPTH)?,
                _ => number(places + 1)?,
            };
            let base = member.instruction == INHERITANCE;
            if base && self.is_empty(ty, MAX_DEPTH) {
                continue;
            }
            if offset % 8 != 0 || bits % 8 != 0 || self.bits(ty, MAX_DEPTH) != Some(bits) {
                // Bit-fields: bytes that they share.
                let end = offset.checked_add(bits)?.div_ceil(8);
                let begin = offset / 8;
                match members.last_mut() {
                    Some(last) if last.name == "_" && last.end()? >= begin => {
                        last.ty = format!("bytes[{}]", end.max(last.end()?) - last.offset);
                    }
                    _ => members.push(Member::bytes("_", end.checked_sub(begin)?, begin)),
                }
                continue;
            }
            let (offset, bytes) = (offset / 8, bits / 8);
            let (text, own) = self.member_type(ty, bytes, depth);
            if offset.is_multiple_of(own) {
                align = align.max(own); // else the struct is packed
            }
            let name = match name.as_str() {
                "" if base => last_word(&text),
                "" => "_".into(),
                _ => name,
            };
            members.push(match text.strip_prefix("bytes[") {
                Some(_) => Member::bytes(&name, bytes, offset),
                None => Member {
                    ty: text,
                    name,
                    offset,
                },
            });
        }
        let mut spent = 0;
        for member in &members {
            spent += member.ty.len() + member.name.len();
        }
        self.budget.set(self.budget.get().checked_sub(spent)?);
        while !size.is_multiple_of(align) {
            align /= 2; // packed, too
        }
        Some(Definition::Struct {
            name: name.into(),
            size,
            align,
            members,
        })
    }

    /// Returns the type of a member, `bytes[N]` where it is unknown, and its alignment.
    fn member_type(&mut self, ty: u32, size: u64, depth: usize) -> (String, u64) {
        use cpp::parse;
        let bytes = || (format!("bytes[{size}]"), 1);
        let Some(text) = self.type_text(ty, depth) else {
            return bytes();
        };
        let Some(mut spelled) = parse(&text) else {
            return bytes();
        };
        while let Spelled::Array { of, .. } = spelled {
            spelled = *of;
        }
        let align = match &spelled {
            Spelled::Scalar(scalar) => scalar.size(),
            Spelled::Vector { of, count } => {
                let room = u64::from(if *count == 3 { 4 } else { *count });
                (of.size() * room).min(64)
            }
            Spelled::Pointer { .. } => 8,
            Spelled::Named(name) => match self.definitions.get(name) {
                Some(Definition::Struct { align, .. }) => *align,
                Some(Definition::Enum { of, .. }) => match parse(of) {
                    Some(Spelled::Scalar(of)) => of.size(),
                    _ => return bytes(),
                },
                None => return bytes(),
            },
            _ => return bytes(),
        };
        (text, align)
    }

    /// Returns the bits that a type has in memory.
    fn bits(&self, ty: u32, depth: usize) -> Option<u64> {
        let depth = depth.checked_sub(1)?;
        let e = self.instructions.get(&ty)?;
        let operand = |index: usize| e.operands.get(index).copied();
        match e.instruction {
            TYPE_BASIC => self.wide_constant(operand(1)?),
            TYPE_POINTER => Some(64),
            TYPE_QUALIFIER | TYPE_TEMPLATE => self.bits(operand(0)?, depth),
            TYPEDEF => self.bits(operand(1)?, depth),
            TYPE_ENUM => self.bits(operand(1)?, depth),
            TYPE_COMPOSITE => self.wide_constant(operand(7)?),
            TYPE_ARRAY => {
                let mut bits = self.bits(operand(0)?, depth)?;
                for count in e.operands.get(1..)? {
                    bits = bits.checked_mul(self.count(*count)?)?;
                }
                Some(bits)
            }
            _ => None,
        }
    }

    /// Returns whether a class has no members, and so takes no space as a base.
    fn is_empty(&self, ty: u32, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else {
            return false;
        };
        let Some(e) = self.instructions.get(&ty) else {
            return false;
        };
        match e.instruction {
            TYPE_TEMPLATE => e
                .operands
                .first()
                .is_some_and(|of| self.is_empty(*of, depth)),
            TYPEDEF => e
                .operands
                .get(1)
                .is_some_and(|of| self.is_empty(*of, depth)),
            TYPE_COMPOSITE => {
                let small = e.operands.get(7).and_then(|size| self.wide_constant(*size)) == Some(8);
                let mut inner = e
                    .operands
                    .iter()
                    .skip(9)
                    .filter_map(|id| self.instructions.get(id));
                small && !inner.any(|e| e.instruction == TYPE_MEMBER)
            }
            _ => false,
        }
    }

    /// Returns `name` behind the names of its scopes.
    fn qualified(&self, name: &str, mut scope: u32) -> Option<String> {
        let mut text = String::from(name);
        for _ in 0..MAX_DEPTH {
            let Some(e) = self.instructions.get(&scope) else {
                break;
            };
            let (own, outer) = match e.instruction {
                LEXICAL_BLOCK => (self.string(e.operands.get(4)), e.operands.get(3)),
                TYPE_COMPOSITE => (self.string(e.operands.first()), e.operands.get(5)),
                _ => break,
            };
            // Sources never write SYCL's inline namespace.
            if let Some(own) = own.filter(|own| !own.is_empty() && *own != "_V1") {
                text = format!("{own}::{text}");
                self.spend(&text)?;
            }
            scope = *outer?;
        }
        Some(text)
    }

    /// Counts `text` against what may be made of one module.
    fn spend(&self, text: &str) -> Option<()> {
        // An empty text costs work as well.
        self.budget
            .set(self.budget.get().checked_sub(text.len() + 1)?);
        Some(())
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

impl Member {
    fn bytes(name: &str, size: u64, offset: u64) -> Self {
        Self {
            ty: format!("bytes[{size}]"),
            name: name.into(),
            offset,
        }
    }

    /// Returns where bytes end.
    fn end(&self) -> Option<u64> {
        let size = self.ty.strip_prefix("bytes[")?.strip_suffix(']')?;
        self.offset.checked_add(size.parse().ok()?)
    }
}

/// The name of a class without what qualifies it, as an identifier.
fn last_word(ty: &str) -> String {
    let plain = ty.split('<').next().unwrap_or(ty);
    let word = plain.rsplit("::").next().unwrap_or(plain);
    word.chars()
        .filter(|c| *c == '_' || c.is_alphanumeric())
        .collect()
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
            (15, [vec![6, 50], text("__sycl_kernel_k")].concat()),
            (7, [vec![2], text("k")].concat()),
            (7, [vec![3], text("x")].concat()),
            (7, [vec![4], text(ty)].concat()),
            (12, vec![0, 5, 1, TYPE_BASIC, 4]),
            (12, vec![0, 6, 1, FUNCTION, 2, 7]),
        ];
        let types = [vec![0, 7, 1, TYPE_FUNCTION, 0, 0], vec![5; count as usize]];
        instructions.push((12, types.concat()));
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
        let short = describe(&module("int", 1000)).declarations;
        assert_eq!(short["__sycl_kernel_k"].parameters.len(), 1000);
        assert_eq!(short["__sycl_kernel_k"].parameters[999].ty, "int");
        let long = "x".repeat(10_000);
        let one = describe(&module(&long, 1)).declarations;
        assert_eq!(one["__sycl_kernel_k"].parameters[0].ty, long);
        assert!(describe(&module(&long, 1000)).declarations.is_empty());
    }
}
