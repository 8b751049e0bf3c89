// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads per-kernel statistics, such as registers and spills, that compilers record in native code.
//!
//! Code for Intel GPUs is an ELF file, or an archive of ELF files for several GPUs. The section `.ze_info` of each
//! ELF file describes its kernels in YAML. CUDA ELF files record less: the registers, stack frame and shared memory of
//! each kernel.
//!
//! ```
//! assert!(syclbin_tools::native::kernels(b"\x7fELF\x02\x01").is_empty());
//! ```

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use object::LittleEndian;
use object::elf::{FileHeader64, SectionHeader64};
use object::read::elf::{FileHeader as _, SectionHeader as _};

use crate::archive;
use syclbin::{Content, cubin};

const INTEL_GPU: u16 = 205;
/// The maximum number of kernels returned for an image.
const MAX_KERNELS: usize = 1 << 16;

/// The statistics that a compiler recorded for a kernel. A value is `None` if the code does not record it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Kernel {
    /// The GPU, if the code is in an archive: the name of the archive member, such as `64.12.60.7`.
    pub device: Option<String>,
    /// The symbol of the kernel.
    pub symbol: String,
    /// The number of work-items that a hardware thread executes at once.
    pub simd_width: Option<u32>,
    /// The number of registers per hardware thread, or per work-item on NVIDIA GPUs.
    pub registers: Option<u32>,
    /// The spill memory per hardware thread, in bytes.
    pub spill_size: Option<u64>,
    /// The private memory in bytes. On Intel GPUs, this includes the spill memory.
    pub private_size: Option<u64>,
    /// The statically sized work-group memory, in bytes.
    pub local_size: Option<u64>,
    /// The number of barriers that a work-group uses.
    pub barriers: Option<u32>,
    /// Whether the kernel makes function calls that use a stack.
    pub stack_calls: Option<bool>,
}

/// Returns the statistics of all kernels in native code. For other or damaged code, the list is empty.
#[must_use]
pub fn kernels(bytes: &[u8]) -> Vec<Kernel> {
    let mut kernels = Vec::new();
    if Content::of(bytes) != Content::Archive {
        add(bytes, &mut kernels);
        return kernels;
    }
    for member in archive::members(bytes).unwrap_or_default() {
        let before = kernels.len();
        add(member.bytes, &mut kernels);
        for kernel in &mut kernels[before..] {
            kernel.device = Some(member.name.clone());
        }
    }
    kernels
}

fn add(bytes: &[u8], kernels: &mut Vec<Kernel>) {
    match Content::of(bytes) {
        Content::Elf { machine: INTEL_GPU } => {
            let mut sections = sections(bytes);
            if let Some(section) = sections.find(|section| section.name == b".ze_info") {
                of_ze_info(section.bytes, kernels);
            }
        }
        Content::Elf {
            machine: cubin::MACHINE,
        } => of_nvidia(bytes, kernels),
        _ => {}
    }
}

/// The compiler's entry for functions that kernels share, which is not a kernel.
const SHARED_FUNCTIONS: &str = "Intel_Symbol_Table_Void_Program";

/// A line of the section `.ze_info`.
struct Line<'a> {
    depth: usize,
    is_item: bool,
    key: &'a str,
    value: &'a str,
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let text = line.trim_start_matches(' ');
        let item = text.strip_prefix("- ").map(str::trim_start);
        let (key, value) = item.unwrap_or(text).split_once(':')?;
        let value = value.trim();
        let unquoted = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
        Some(Self {
            depth: line.len() - text.len(),
            is_item: item.is_some(),
            key,
            value: unquoted('\'').or_else(|| unquoted('"')).unwrap_or(value),
        })
    }
}

/// Adds the kernels in the section `.ze_info`, which Intel's GPU compiler writes in YAML. The compiler uses a small
/// subset of YAML: one key and value on each line, nesting by indentation, and list items that begin with `- `. Other
/// lines are skipped.
fn of_ze_info(section: &[u8], kernels: &mut Vec<Kernel>) {
    let lines = section.split(|byte| *byte == b'\n');
    let mut is_in_list = false;
    // The depth of `execution_env` while its keys are read.
    let mut environment: Option<usize> = None;
    let mut kernel: Option<Kernel> = None;
    let is_kernel = |kernel: &Kernel| kernel.symbol != SHARED_FUNCTIONS;
    for line in lines.filter_map(|line| Line::of(str::from_utf8(line).ok()?)) {
        if kernels.len() == MAX_KERNELS {
            return;
        }
        if line.depth == 0 && !line.is_item {
            kernels.extend(kernel.take().filter(is_kernel));
            is_in_list = line.key == "kernels";
        } else if is_in_list && line.is_item && line.key == "name" {
            kernels.extend(kernel.replace(started(line.value)).filter(is_kernel));
        } else if line.key == "execution_env" {
            environment = Some(line.depth);
        } else if environment.is_some_and(|depth| line.depth <= depth) {
            environment = None;
        } else if environment.is_some()
            && let Some(kernel) = &mut kernel
        {
            read(&line, kernel);
        }
        if line.is_item {
            environment = None;
        }
    }
    if kernels.len() < MAX_KERNELS {
        kernels.extend(kernel.filter(is_kernel));
    }
}

/// Returns a kernel whose statistics are zero, because the compiler omits keys with zero values.
fn started(name: &str) -> Kernel {
    Kernel {
        symbol: String::from(name),
        spill_size: Some(0),
        private_size: Some(0),
        local_size: Some(0),
        barriers: Some(0),
        stack_calls: Some(false),
        ..Kernel::default()
    }
}

fn read(line: &Line<'_>, kernel: &mut Kernel) {
    let small = line.value.parse::<u32>().ok();
    let large = line.value.parse::<u64>().ok();
    match line.key {
        "simd_size" => kernel.simd_width = small,
        "grf_count" => kernel.registers = small,
        "spill_size" => kernel.spill_size = large,
        "private_size" => kernel.private_size = large,
        "slm_size" => kernel.local_size = large,
        "barrier_count" => kernel.barriers = small,
        "has_stack_calls" => kernel.stack_calls = Some(line.value == "true"),
        _ => {}
    }
}

/// Adds the kernels of a CUDA ELF file. Each kernel has a code section, and a shared memory section if it uses shared
/// memory. The section `.nv.info` contains symbol attributes. The header of a code section contains the index of the
/// kernel's symbol.
fn of_nvidia(bytes: &[u8], kernels: &mut Vec<Kernel>) {
    // The attributes for the number of registers and for the size of the stack frame.
    const REGISTERS: u8 = 0x2f;
    const FRAME: u8 = 0x11;
    let mut shared = BTreeMap::new();
    let mut attributes = BTreeMap::new();
    for section in sections(bytes) {
        if let Some(symbol) = section.name.strip_prefix(b".nv.shared.") {
            shared.insert(symbol, section.header.sh_size(LittleEndian));
        } else if section.name == b".nv.info" && attributes.is_empty() {
            for (attribute, symbol, value) in symbol_attributes(section.bytes) {
                attributes.insert((attribute, symbol), value);
            }
        }
    }
    for section in sections(bytes) {
        let Some(name) = section.name.strip_prefix(b".text.") else {
            continue;
        };
        if kernels.len() == MAX_KERNELS {
            break;
        }
        let symbol = section.header.sh_info(LittleEndian) & 0xff_ffff;
        let of = |attribute| attributes.get(&(attribute, symbol)).copied();
        kernels.push(Kernel {
            symbol: String::from_utf8_lossy(name).into_owned(),
            registers: of(REGISTERS),
            private_size: of(FRAME).map(u64::from),
            local_size: Some(shared.get(name).copied().unwrap_or(0)),
            ..Kernel::default()
        });
    }
}

/// Returns the attributes that consist of a symbol index and a number, as (attribute, symbol, number).
fn symbol_attributes(section: &[u8]) -> impl Iterator<Item = (u8, u32, u32)> {
    /// The format of an attribute whose value is preceded by its size.
    const SIZED: u8 = 4;
    let mut rest = section;
    let entries = core::iter::from_fn(move || {
        let [form, attribute, low, high, after @ ..] = rest else {
            return None;
        };
        let size = match *form {
            SIZED => usize::from(u16::from_le_bytes([*low, *high])),
            _ => 0, // the two bytes are the value
        };
        let value;
        (value, rest) = after.split_at_checked(size)?;
        Some((*attribute, value))
    });
    entries.filter_map(|(attribute, value)| match value.as_chunks() {
        ([symbol, number], []) => {
            let [symbol, number] = [symbol, number].map(|word| u32::from_le_bytes(*word));
            Some((attribute, symbol, number))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests;

struct Section<'a> {
    name: &'a [u8],
    header: &'a SectionHeader64<LittleEndian>,
    /// Its bytes in the file, which may be empty.
    bytes: &'a [u8],
}

/// Returns the sections of `bytes`. Skips sections that extend beyond the file. Limits the total length of names to
/// the file size, because a hostile file could give every section the same long name.
fn sections(bytes: &[u8]) -> impl Iterator<Item = Section<'_>> {
    let header = FileHeader64::<LittleEndian>::parse(bytes).ok();
    let headers = header.and_then(|header| header.section_headers(LittleEndian, bytes).ok());
    let headers = headers.unwrap_or_default();
    let names = header.and_then(|header| {
        let index = header.section_strings_index(LittleEndian, bytes).ok()?;
        headers.get(index.0)?.data(LittleEndian, bytes).ok()
    });
    let names = names.unwrap_or_default();
    let mut budget = bytes.len();
    headers.iter().filter_map(move |header| {
        let name = names.get(header.sh_name(LittleEndian) as usize..)?;
        let Some(end) = name.iter().take(budget).position(|byte| *byte == 0) else {
            budget = 0;
            return None;
        };
        budget -= end;
        Some(Section {
            name: &name[..end],
            header,
            bytes: header.data(LittleEndian, bytes).ok()?,
        })
    })
}
