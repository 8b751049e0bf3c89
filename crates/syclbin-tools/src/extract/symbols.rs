// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names of the kernels in AMD's native code.

use alloc::string::String;
use alloc::vec::Vec;

use object::read::elf::{FileHeader, Sym};
use object::{Endianness, elf};

/// The kernels of AMD's native code, which has a kernel descriptor `NAME.kd` for each of them
/// (LLVM's "User Guide for AMDGPU Backend", code object symbols).
pub(super) fn amd_kernels(bytes: &[u8]) -> Option<Vec<String>> {
    let header = elf::FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, bytes).ok()?;
    let symbols = sections.symbols(endian, bytes, elf::SHT_DYNSYM).ok()?;
    let mut left = bytes.len();
    let mut names = Vec::new();
    for symbol in symbols.iter() {
        let name = symbol.name(endian, symbols.strings()).ok()?;
        left = left.checked_sub(name.len())?;
        if let Some(kernel) = name.strip_suffix(b".kd") {
            names.push(String::from_utf8(kernel.to_vec()).ok()?);
        }
    }
    Some(names)
}
