// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads per-kernel statistics, such as registers and spills, that compilers record in native code.
//!
//! Code for Intel GPUs is an ELF file, or an archive of ELF files for several GPUs. The section `.ze_info` of each
//! ELF file describes its kernels in YAML. CUDA ELF files record less: the registers and shared memory of each
//! kernel.
//!
//! ```
//! assert!(syclbin_tools::native::kernels(b"\x7fELF\x02\x01").is_empty());
//! ```

mod ze_info;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

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
    /// The private memory in bytes. Intel's compiler includes spill memory.
    pub private_size: Option<u64>,
    /// The statically sized work-group memory, in bytes.
    pub local_size: Option<u64>,
    /// The number of barriers that a work-group uses.
    pub barriers: Option<u32>,
    /// Whether it makes function calls that use a stack.
    pub stack_calls: Option<bool>,
}

/// Returns the statistics of all kernels in native code. For other or damaged code, the list is empty.
#[must_use]
pub fn kernels(bytes: &[u8]) -> Vec<Kernel> {
    let mut kernels = Vec::new();
    match Content::of(bytes) {
        Content::Archive => {
            for member in archive::members(bytes).unwrap_or_default() {
                let before = kernels.len();
                add(member.bytes, &mut kernels);
                for kernel in kernels.iter_mut().skip(before) {
                    kernel.device = Some(member.name.clone());
                }
            }
        }
        _ => add(bytes, &mut kernels),
    }
    kernels
}

fn add(bytes: &[u8], kernels: &mut Vec<Kernel>) {
    let Content::Elf { machine } = Content::of(bytes) else {
        return;
    };
    match machine {
        INTEL_GPU => {
            let mut sections = sections(bytes);
            if let Some(section) = sections.find(|section| section.name == b".ze_info") {
                let room = MAX_KERNELS.saturating_sub(kernels.len());
                kernels.extend(ze_info::kernels(section.bytes).take(room));
            }
        }
        cubin::MACHINE => of_nvidia(bytes, kernels),
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
            shared.insert(symbol, section.size);
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
        let of = |attribute| {
            attributes
                .get(&(attribute, section.info & 0xff_ffff))
                .copied()
        };
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
        let value = after.get(..size)?;
        rest = &after[size..];
        Some((*attribute, value))
    });
    entries.filter_map(|(attribute, value)| {
        let (symbol, number) = value.split_at_checked(4)?;
        let [symbol, number] = [symbol, number].map(|bytes| bytes.try_into().ok());
        Some((
            attribute,
            u32::from_le_bytes(symbol?),
            u32::from_le_bytes(number?),
        ))
    })
}

#[cfg(test)]
mod tests;

const HEADER: usize = 64;

struct Section<'a> {
    name: &'a [u8],
    info: u32,
    /// Its size in device memory.
    size: u64,
    /// Its bytes in the file, which may be empty.
    bytes: &'a [u8],
}

/// Returns the sections of `bytes`. Skips sections that exceed the file. Also limits the total length of names to
/// the file size, because a hostile file could give every section the same long name.
fn sections(bytes: &[u8]) -> impl Iterator<Item = Section<'_>> {
    let is_elf = bytes.starts_with(b"\x7fELF\x02\x01");
    let table = is_elf.then(|| at(u64_at(bytes, 40)?)).flatten();
    let count = u16_at(bytes, 60).unwrap_or(0);
    let names = u16_at(bytes, 62).unwrap_or(0);
    let header = move |index: u16| {
        let start = table?.checked_add(usize::from(index) * HEADER)?;
        bytes.get(start..)?.get(..HEADER)
    };
    let names = header(names)
        .and_then(|header| content(bytes, header))
        .unwrap_or_default();
    let mut budget = bytes.len();
    (0..count).filter_map(move |index| {
        let header = header(index)?;
        let name = names.get(at(u32_at(header, 0)?.into())?..)?;
        let Some(end) = name.iter().take(budget).position(|byte| *byte == 0) else {
            budget = 0;
            return None;
        };
        budget -= end;
        Some(Section {
            name: &name[..end],
            info: u32_at(header, 44)?,
            size: u64_at(header, 32)?,
            bytes: content(bytes, header)?,
        })
    })
}

fn content<'a>(bytes: &'a [u8], header: &[u8]) -> Option<&'a [u8]> {
    /// The type of sections without bytes in the file.
    const NO_BITS: u32 = 8;
    if u32_at(header, 4)? == NO_BITS {
        return Some(&[]);
    }
    bytes
        .get(at(u64_at(header, 24)?)?..)?
        .get(..at(u64_at(header, 32)?)?)
}

fn at(offset: u64) -> Option<usize> {
    usize::try_from(offset).ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
