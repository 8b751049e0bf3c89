// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a PTX text says: its functions and variables.

/// One text.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    /// The version of the language, such as (6, 3).
    pub(crate) version: (u32, u32),
    /// The least device, such as 75 of `sm_75`.
    pub(crate) target: u32,
    pub(crate) functions: Vec<Function>,
    pub(crate) variables: Vec<Variable>,
}

/// Who sees a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Linkage {
    #[default]
    Local,
    Visible,
    Weak,
    Extern,
}

/// Where a variable of a module lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Global,
    Shared,
}

/// A variable of the module, or a shared one of a function.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) space: Space,
    pub(crate) linkage: Linkage,
    pub(crate) size: usize,
    pub(crate) align: usize,
    /// What it begins with; the rest is zero. Nothing is said: the size alone counts.
    pub(crate) content: Vec<u8>,
    pub(crate) relocations: Vec<Relocation>,
}

/// An address inside of an initializer.
#[derive(Debug, Clone)]
pub(crate) struct Relocation {
    pub(crate) at: usize,
    pub(crate) width: usize,
    pub(crate) symbol: String,
    pub(crate) addend: i64,
    /// Which byte of the address it is, where the initializer takes one alone.
    pub(crate) shift: u32,
}

/// A parameter or a result, in the frame of its function.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub(crate) offset: usize,
    pub(crate) size: usize,
}

/// A kernel or a function.
#[derive(Debug, Default)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) entry: bool,
    pub(crate) linkage: Linkage,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) results: Vec<Parameter>,
    /// Bytes of all parameters of a kernel.
    pub(crate) parameter_bytes: usize,
    /// How many registers its code uses.
    pub(crate) registers: u32,
    /// How many bytes its variables take in local memory.
    pub(crate) local_bytes: usize,
    /// Its instructions; nothing for a declaration.
    pub(crate) body: Option<Vec<Item>>,
    /// Labels, by number: the index of the instruction after it.
    pub(crate) labels: Vec<Option<usize>>,
    /// Lists of labels that `brx.idx` chooses from.
    pub(crate) tables: Vec<Vec<usize>>,
    /// Threads a block at most, and exactly.
    pub(crate) most_threads: Option<u32>,
    pub(crate) required_threads: Option<[u32; 3]>,
}

/// An instruction and its line.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) line: u32,
    /// The predicate that it runs under, and whether that is to be false.
    pub(crate) guard: Option<(u32, bool)>,
    pub(crate) instruction: Instruction,
}

/// The word of an instruction and what follows.
#[derive(Debug)]
pub(crate) struct Instruction {
    pub(crate) name: String,
    pub(crate) modifiers: Vec<String>,
    pub(crate) operands: Vec<Operand>,
}

/// A register that the machine sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    WarpCount,
    /// The lanes that are: 0 this one, 1 before, 2 before or this, 3 after, 4 after or this.
    LaneMask(u8),
    Clock,
    Nanoseconds,
    /// How many bytes of shared memory the launch has: all, or what was asked for.
    SharedBytes(bool),
    /// Half of the address where the blocks of a cooperative launch meet: the upper one, or the lower one.
    Workspace(bool),
    Constant(u32),
}

/// Where a variable of the function or a symbol lies.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Place {
    Register(u32),
    /// In local memory, by the offset in the frame of the function.
    Frame(usize),
    /// In the parameters of the kernel.
    Parameter(usize),
    Symbol(String),
    Absolute,
}

/// What an instruction works on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand {
    /// `%r1`, or an address (`name`, `name+4`) as a value.
    Value(Place, i64),
    Integer(u64),
    Single(u32),
    Double(u64),
    Special(Special),
    /// `[base+offset]`
    Memory(Place, i64),
    /// `{a, b}`
    Vector(Vec<Operand>),
    /// `p|q`
    Pair(Box<Operand>, Box<Operand>),
    /// `!p`
    Not(Box<Operand>),
    Label(usize),
    Table(usize),
    /// `(a, b)` of a call: the variables in the frame, with their sizes.
    List(Vec<Operand>),
    /// `_`
    Sink,
}
