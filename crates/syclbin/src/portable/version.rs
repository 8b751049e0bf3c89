// SPDX-License-Identifier: MIT OR Apache-2.0
//! Determines the SPIR-V version that a module's code needs, and lowers instructions of later versions to equivalents
//! in earlier versions. The tables contain the capabilities, instructions, execution modes and decorations that OpenCL
//! kernels may use and that SPIR-V 1.0 lacks, from section 3 of the SPIR-V specification.

use core::fmt;

use super::DriverSupport;
use crate::error::Error;
use crate::prelude::*;
use crate::spirv::words::{Instruction, entry_point, op, put, string};

/// A SPIR-V version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The number before the dot.
    pub major: u8,
    /// The number after the dot.
    pub minor: u8,
}

/// Why a driver does not accept a module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedModule {
    /// The module is not valid SPIR-V.
    #[error(transparent)]
    Malformed(#[from] Error),
    /// The module's variables cannot be converted to arguments.
    #[error(
        "the device does not support program-scope variables, and the module cannot be rewritten without them: {0}"
    )]
    Variable(&'static str),
    /// The module's code needs a later version.
    #[error("its {what} requires SPIR-V {needs}, but the device supports SPIR-V {takes}")]
    Version {
        /// The feature that needs the version, such as `capability SubgroupDispatch`.
        what: String,
        /// The lowest version that supports the feature.
        needs: Version,
        /// The versions that the driver accepts.
        takes: String,
    },
}

const V1_0: Version = Version::new(1, 0);
const V1_1: Version = Version::new(1, 1);
const V1_2: Version = Version::new(1, 2);
const V1_3: Version = Version::new(1, 3);
pub(super) const V1_4: Version = Version::new(1, 4);
const V1_6: Version = Version::new(1, 6);

/// A SPIR-V feature that early versions lack: its number, its name, the version that introduces it, and the SPIR-V or
/// OpenCL extensions that add it to earlier versions.
type Later = (u32, &'static str, Version, &'static [&'static str]);

const VOTE: &str = "cl_khr_subgroup_non_uniform_vote";
const BALLOT: &str = "cl_khr_subgroup_ballot";
const SHUFFLE: &str = "cl_khr_subgroup_shuffle";
const RELATIVE: &str = "cl_khr_subgroup_shuffle_relative";
const ARITHMETIC: &str = "cl_khr_subgroup_non_uniform_arithmetic";
const CLUSTERED: &str = "cl_khr_subgroup_clustered_reduce";
const GROUPS: [&str; 6] = [VOTE, BALLOT, SHUFFLE, RELATIVE, ARITHMETIC, CLUSTERED];
const DOT: &str = "SPV_KHR_integer_dot_product";
const STRINGS: &str = "SPV_GOOGLE_decorate_string";
const CAPABILITIES: &[Later] = &[
    (58, "SubgroupDispatch", V1_1, &[]),
    (59, "NamedBarrier", V1_1, &[]),
    (60, "PipeStorage", V1_1, &[]),
    (61, "GroupNonUniform", V1_3, &GROUPS),
    (62, "GroupNonUniformVote", V1_3, &[VOTE]),
    (63, "GroupNonUniformArithmetic", V1_3, &[ARITHMETIC]),
    (64, "GroupNonUniformBallot", V1_3, &[BALLOT]),
    (65, "GroupNonUniformShuffle", V1_3, &[SHUFFLE]),
    (66, "GroupNonUniformShuffleRelative", V1_3, &[RELATIVE]),
    (67, "GroupNonUniformClustered", V1_3, &[CLUSTERED]),
    (68, "GroupNonUniformQuad", V1_3, &[]),
    (6016, "DotProductInputAll", V1_6, &[DOT]),
    (6017, "DotProductInput4x8Bit", V1_6, &[DOT]),
    (6018, "DotProductInput4x8BitPacked", V1_6, &[DOT]),
    (6019, "DotProduct", V1_6, &[DOT]),
];
const INSTRUCTIONS: &[Later] = &[
    (321, "OpSizeOf", V1_1, &[]),
    (325, "OpGetKernelLocalSizeForSubgroupCount", V1_1, &[]),
    (326, "OpGetKernelMaxNumSubgroups", V1_1, &[]),
    (331, "OpExecutionModeId", V1_2, &[]),
    (332, "OpDecorateId", V1_2, &[]),
    (400, "OpCopyLogical", V1_4, &[]),
    (401, "OpPtrEqual", V1_4, &[]),
    (402, "OpPtrNotEqual", V1_4, &[]),
    (403, "OpPtrDiff", V1_4, &[]),
    (5632, "OpDecorateString", V1_4, &[STRINGS]),
    (5633, "OpMemberDecorateString", V1_4, &[STRINGS]),
];
const EXECUTION_MODES: &[Later] = &[
    (33, "Initializer", V1_1, &[]),
    (34, "Finalizer", V1_1, &[]),
    (35, "SubgroupSize", V1_1, &[]),
    (36, "SubgroupsPerWorkgroup", V1_1, &[]),
];
const DECORATIONS: &[Later] = &[(45, "MaxByteOffset", V1_1, &[])];

impl Version {
    /// Creates the version `major.minor`.
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor }
    }

    /// Parses the SPIR-V versions in OpenCL's list of intermediate languages, such as `SPIR-V_1.0 SPIR-V_1.2`. Other
    /// languages are ignored.
    pub fn list(languages: &str) -> Vec<Self> {
        let version = |language: &str| {
            let (major, minor) = language.strip_prefix("SPIR-V_")?.split_once('.')?;
            Some(Self::new(major.parse().ok()?, minor.parse().ok()?))
        };
        languages.split_whitespace().filter_map(version).collect()
    }

    /// Reads the version in the header of a module.
    pub fn of_header(words: &[u32]) -> Self {
        let [_, minor, major, _] = words.get(1).copied().unwrap_or_default().to_le_bytes();
        Self::new(major, minor)
    }

    /// Returns the version as encoded in a module header.
    pub const fn header(self) -> u32 {
        u32::from_le_bytes([0, self.minor, self.major, 0])
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Returns whether the driver accepts the version in the module header.
pub(super) fn accepts(words: &[u32], reader: &DriverSupport<'_>) -> bool {
    reader.versions.is_empty() || reader.versions.contains(&Version::of_header(words))
}

/// Returns the lowest version that covers everything the code needs: a version that the driver accepts, or a later
/// version that a supported OpenCL extension permits.
pub(super) fn lowest(
    instructions: &[Instruction<'_>],
    reader: &DriverSupport<'_>,
) -> Result<Version, UnsupportedModule> {
    let extensions = instructions.iter().filter(|i| i.opcode == op::EXTENSION);
    let extensions: BTreeSet<String> = extensions.map(|i| string(i.operands).0).collect();
    let driver: BTreeSet<&str> = reader.extensions.split_whitespace().collect();
    let has = |name: &&str| extensions.contains(*name) || driver.contains(name);
    let composites: BTreeSet<u32> = (instructions.iter())
        .filter(|i| matches!(i.opcode, op::TYPE_ARRAY | op::TYPE_STRUCT))
        .filter_map(|i| i.operands.first().copied())
        .collect();
    let (mut lowest, mut added) = (V1_0, V1_0);
    let mut what = String::new();
    for instruction in instructions {
        let Some((name, since, extensions)) = need(instruction, &composites) else {
            continue;
        };
        if let Some(extension) = extensions.iter().find(|name| has(name)) {
            // An OpenCL extension permits the version that introduces the feature, even if the driver does not list
            // that version. A SPIR-V extension adds the feature to earlier versions.
            if extension.starts_with("cl_") {
                added = added.max(since);
            }
        } else if since > lowest {
            (lowest, what) = (since, name);
        }
    }
    let versions = reader.versions.iter().copied();
    match versions.filter(|version| *version >= lowest).min() {
        Some(version) => Ok(version.max(added)),
        None if reader.versions.is_empty() => Ok(lowest.max(added)),
        None => {
            let takes: Vec<String> = reader.versions.iter().map(ToString::to_string).collect();
            Err(UnsupportedModule::Version {
                what,
                needs: lowest,
                takes: takes.join(", "),
            })
        }
    }
}

/// Returns the feature that an instruction needs, the version that introduces the feature, and the extensions that
/// add it to earlier versions.
fn need(
    instruction: &Instruction<'_>,
    composites: &BTreeSet<u32>,
) -> Option<(String, Version, &'static [&'static str])> {
    let operands = instruction.operands;
    let operand = |index: usize| operands.get(index).copied().unwrap_or(u32::MAX);
    let among = |table: &'static [Later], number: u32, kind: &str| {
        let (_, name, since, extensions) = *table.iter().find(|(known, ..)| *known == number)?;
        Some((format!("{kind} {name}"), since, extensions))
    };
    let since_1_4 = |what: &str| Some((what.into(), V1_4, &[][..]));
    let found = match instruction.opcode {
        op::CAPABILITY => among(CAPABILITIES, operand(0), "capability"),
        op::EXECUTION_MODE => among(EXECUTION_MODES, operand(1), "execution mode"),
        op::DECORATE => among(DECORATIONS, operand(1), "decoration"),
        op::SELECT if composites.contains(&operand(0)) => {
            since_1_4("instruction OpSelect on a struct or array")
        }
        op::COPY_MEMORY | op::COPY_MEMORY_SIZED if memory_operands(instruction).is_none() => {
            since_1_4("copy with two sets of memory operands")
        }
        _ => None,
    };
    found.or_else(|| among(INSTRUCTIONS, instruction.opcode.into(), "instruction"))
}

/// `NoSignedWrap` and `NoUnsignedWrap`: core decorations since SPIR-V 1.4, from an extension in earlier versions.
const NO_WRAP: [u32; 2] = [4469, 4470];
pub(super) const NO_WRAP_EXTENSION: &str = "SPV_KHR_no_integer_wrap_decoration";

const STORAGE_INPUT: u32 = 1;
const STORAGE_OUTPUT: u32 = 3;

/// Memory operand bits that every version supports.
const VOLATILE: u32 = 1;
/// The word after the mask is the alignment in bytes.
pub(super) const ALIGNED: u32 = 2;
const NONTEMPORAL: u32 = 4;
/// All bits that are followed by an operand, also those of later versions and of extensions.
const WITH_OPERAND: u32 = ALIGNED | 0x3_0018;

/// Module-wide information for lowering individual instructions.
pub(super) struct Lowering {
    to: Version,
    /// The storage class of each variable, by id.
    storage: BTreeMap<u32, u32>,
    /// Whether the lowered module needs [`NO_WRAP_EXTENSION`], but does not declare it.
    pub(super) needs_extension: bool,
}

impl Lowering {
    pub(super) fn new(instructions: &[Instruction<'_>], to: Version) -> Self {
        let of = |opcode: u16| instructions.iter().filter(move |i| i.opcode == opcode);
        let variable = |i: &Instruction<'_>| Some((*i.operands.get(1)?, *i.operands.get(2)?));
        let no_wrap = |i: &Instruction<'_>| i.operands.get(1).is_some_and(|d| NO_WRAP.contains(d));
        let declared = |i: &Instruction<'_>| string(i.operands).0 == NO_WRAP_EXTENSION;
        Self {
            to,
            storage: of(op::VARIABLE).filter_map(variable).collect(),
            needs_extension: to < V1_4
                && of(op::DECORATE).any(no_wrap)
                && !of(op::EXTENSION).any(declared),
        }
    }

    /// Writes an instruction in the form that the target version supports.
    pub(super) fn write(&self, instruction: &Instruction<'_>, out: &mut Vec<u32>) {
        let (opcode, operands) = (instruction.opcode, instruction.operands);
        match opcode {
            op::MODULE_PROCESSED if self.to < V1_1 => {}
            op::ENTRY_POINT if self.to < V1_4 => {
                let is_listed = |id: &u32| {
                    let class = self.storage.get(id);
                    matches!(class, Some(&(STORAGE_INPUT | STORAGE_OUTPUT)))
                };
                put(out, opcode, &[&entry_point(operands, is_listed)]);
            }
            op::LOOP_MERGE if self.to < V1_4 => put(out, opcode, &[&self.loop_merge(operands)]),
            op::COPY_MEMORY | op::COPY_MEMORY_SIZED if self.to < V1_4 => {
                let head = operands.len().min(operands_of_copy(opcode));
                let mask = memory_operands(instruction).unwrap_or_default();
                put(out, opcode, &[&operands[..head], &mask]);
            }
            _ => put(out, opcode, &[operands]),
        }
    }

    /// Returns the operands of `OpLoopMerge` without hints that the target version lacks.
    fn loop_merge(&self, operands: &[u32]) -> Vec<u32> {
        const DEPENDENCY_INFINITE: u32 = 4;
        const DEPENDENCY_LENGTH: u32 = 8;
        let [merge, next, control, parameters @ ..] = operands else {
            return operands.to_vec();
        };
        let mut known = 3;
        if self.to >= V1_1 {
            known |= DEPENDENCY_INFINITE | DEPENDENCY_LENGTH;
        }
        let control = control & known;
        // Only `DependencyLength` and higher bits have parameters. Parameters are in bit order, so the length
        // comes first.
        let has_length = control & DEPENDENCY_LENGTH != 0;
        let length = parameters.iter().take(usize::from(has_length));
        let fixed = [*merge, *next, control];
        fixed.iter().chain(length).copied().collect()
    }
}

/// Returns the number of operands that precede the memory operands of a copy.
fn operands_of_copy(opcode: u16) -> usize {
    if opcode == op::COPY_MEMORY { 2 } else { 3 }
}

/// Merges the memory operands for the target and the source of a copy, because versions before 1.4 accept only
/// one set. Returns `None` if these versions cannot express the operands.
fn memory_operands(copy: &Instruction<'_>) -> Option<Vec<u32>> {
    let given = copy.operands.get(operands_of_copy(copy.opcode)..)?;
    let count = given
        .first()
        .map_or(0, |mask| 1 + (mask & WITH_OPERAND).count_ones());
    if usize::try_from(count).is_ok_and(|count| given.len() <= count) {
        return Some(given.to_vec()); // one set
    }
    let ((target, at_target), rest) = operand_set(given)?;
    let ((source, at_source), _) = operand_set(rest)?;
    let mut mask = (target | source) & VOLATILE | target & source & NONTEMPORAL;
    let alignment = at_target.zip(at_source).map(|(one, other)| one.min(other));
    if alignment.is_some() {
        mask |= ALIGNED;
    }
    Some([mask].into_iter().chain(alignment).collect())
}

/// A memory operand mask and its alignment.
type OperandSet = (u32, Option<u32>);

/// Splits off one set of memory operands. Returns `None` if the set is incomplete or contains bits that later SPIR-V
/// versions define.
fn operand_set(words: &[u32]) -> Option<(OperandSet, &[u32])> {
    let Some((mask, rest)) = words.split_first() else {
        return Some(((0, None), words));
    };
    if mask & !(VOLATILE | ALIGNED | NONTEMPORAL) != 0 {
        return None;
    }
    if mask & ALIGNED == 0 {
        return Some(((*mask, None), rest));
    }
    let (alignment, rest) = rest.split_first()?;
    Some(((*mask, Some(*alignment)), rest))
}
