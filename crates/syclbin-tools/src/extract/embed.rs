// SPDX-License-Identifier: MIT OR Apache-2.0
//! OffloadBinaries in a host object, where clang puts them for the linker.
//!
//! The object stays as it is, and grows at its end. The writer of the crate `object` is not used: it refuses
//! objects with the sections that clang adds for linkers.

use alloc::format;
use alloc::vec::Vec;

use super::object::{OFFLOADING, SHT_LLVM_OFFLOADING, sections};
use syclbin::__private::raw::slice;
use syclbin::offload;
use syclbin::{Error, ErrorKind};

const RECORD: &str = "ELF header";
/// Bytes of the header of an ELF file, and of a section, with 64 bits.
const HEADER_SIZE: usize = 64;
const SECTION_SIZE: usize = 64;
/// The type of objects that a linker has not linked.
const RELOCATABLE: u64 = 1;
/// Numbers of sections from here on have a meaning of their own.
const RESERVED: u64 = 0xff00;
/// `SHF_EXCLUDE`: a linker leaves the section out.
const EXCLUDE: u64 = 0x8000_0000;

/// Returns a copy of the ELF object `host` with OffloadBinaries in a new section `.llvm.offloading`. A linker with
/// offloading, such as `clang-linker-wrapper`, takes them from there. Others leave the section out.
///
/// # Errors
///
/// When `binaries` are not OffloadBinaries. Also when `host` is damaged, is not an ELF object of 64 bits and little
/// endian, or has device code already.
pub fn embed(host: &[u8], binaries: &[u8]) -> Result<Vec<u8>, Error> {
    offload::read(&offload::unpack(binaries)?)?;
    let fail = |kind| Error::new("object file", 0, kind);
    if !host.starts_with(b"\x7fELF\x02\x01")
        || host.len() < HEADER_SIZE
        || number(host, 16, 2) != RELOCATABLE
    {
        return Err(fail(ErrorKind::Unsupported(
            "device code goes into an ELF object of 64 bits; for other files, use `llvm-objcopy --add-section`",
        )));
    }
    if !sections(host).transpose()?.unwrap_or_default().is_empty() {
        return Err(fail(ErrorKind::Unsupported(
            "the object has device code already; extract its images, and embed all in an object without",
        )));
    }
    let (table, count, names) = (
        number(host, 40, 8),
        number(host, 60, 2),
        number(host, 62, 2),
    );
    if names >= count || count + 1 >= RESERVED || number(host, 58, 2) != SECTION_SIZE as u64 {
        let problem = format!("it has {count} sections, and their names are in section {names}");
        return Err(Error::new(RECORD, 58, ErrorKind::Record(problem.into())));
    }
    let part = |range| slice(host, range, "file", || RECORD.into(), 40);
    let mut table = part((table, count * SECTION_SIZE as u64))?.to_vec();
    let names = usize::from(u16::try_from(names).unwrap_or_default()) * SECTION_SIZE;
    let old_names = part((number(&table, names + 24, 8), number(&table, names + 32, 8)))?;
    let name = u32::try_from(old_names.len())
        .map_err(|_| fail(ErrorKind::Record("its sections have too many names".into())))?;

    let mut out = host.to_vec();
    let mut append = |bytes: &[u8]| {
        out.resize(out.len().next_multiple_of(8), 0);
        let at = out.len() as u64;
        out.extend_from_slice(bytes);
        at
    };
    let data = append(binaries);
    let new_names = [old_names, OFFLOADING, &[0]].concat();
    let new_names_at = append(&new_names);
    put(&mut table, names + 24, &new_names_at.to_le_bytes());
    put(
        &mut table,
        names + 32,
        &(new_names.len() as u64).to_le_bytes(),
    );
    table.extend_from_slice(&name.to_le_bytes());
    table.extend_from_slice(&SHT_LLVM_OFFLOADING.to_le_bytes());
    // Flags, address, offset, size; link and information; alignment, size of an entry.
    for field in [EXCLUDE, 0, data, binaries.len() as u64, 0, 8, 0] {
        table.extend_from_slice(&field.to_le_bytes());
    }
    let table_at = append(&table);
    put(&mut out, 40, &table_at.to_le_bytes());
    let [low, high, ..] = (count + 1).to_le_bytes();
    put(&mut out, 60, &[low, high]);
    Ok(out)
}

/// The little-endian number of `size` bytes at `at`.
fn number(bytes: &[u8], at: usize, size: usize) -> u64 {
    let field = bytes.get(at..at + size).unwrap_or_default().iter();
    field
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + field.len()) {
        place.copy_from_slice(field);
    }
}
