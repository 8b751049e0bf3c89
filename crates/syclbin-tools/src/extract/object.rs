// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the sections with device images in ELF and COFF objects, executables and shared libraries, and embeds
//! device images in ELF objects.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{NAME_LIMIT, shown};
use object::read::FileKind;
use object::read::coff::{CoffHeader, SectionTable};
use object::read::elf::{FileHeader, SectionHeader};
use object::read::pe::ImageNtHeaders;
use object::{Endianness, elf, pe};
use syclbin::__private::raw::{offload_binary, slice};
use syclbin::{Error, ErrorKind, offload};

/// The ELF section type for embedded OffloadBinaries.
pub(super) const SHT_LLVM_OFFLOADING: u32 = 0x6fff_4c0b;
pub(super) const OFFLOADING: &[u8] = b".llvm.offloading";
/// `lld-link` truncates every section name that starts with `.llvm.` to this name.
const LLD_OFFLOADING: &[u8] = b".llvm";
const BUNDLE: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
const BUNDLE_SIZE: &[u8] = b"__CLANG_OFFLOAD_BUNDLE_SIZE__";

/// A section that contains device images or their sizes.
pub(super) struct Section<'a> {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) data: &'a [u8],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Concatenated OffloadBinaries.
    OffloadBinaries,
    /// Concatenated images of the bundle entry with this identifier.
    Bundle(Vec<u8>),
    /// The 64-bit sizes of a bundle's images, recorded when several objects were linked into one.
    Sizes(Vec<u8>),
}

/// Returns the sections of `bytes` that hold device images or sizes, in order, or `None` if `bytes` is not an
/// object.
pub(super) fn sections(bytes: &[u8]) -> Option<Result<Vec<Section<'_>>, Error>> {
    let found = match FileKind::parse(bytes).ok()? {
        FileKind::Elf32 => elf_sections::<elf::FileHeader32<Endianness>>(bytes),
        FileKind::Elf64 => elf_sections::<elf::FileHeader64<Endianness>>(bytes),
        FileKind::Coff => coff_sections::<pe::ImageFileHeader>(bytes),
        FileKind::CoffBig => coff_sections::<pe::AnonObjectHeaderBigobj>(bytes),
        FileKind::Pe32 => pe_sections::<pe::ImageNtHeaders32>(bytes),
        FileKind::Pe64 => pe_sections::<pe::ImageNtHeaders64>(bytes),
        // A stub in an import library contains no code.
        FileKind::CoffImport => Ok(Vec::new()),
        _ => return None,
    };
    Some(found.map_err(|error| Error::new("object file", 0, ErrorKind::Object(error))))
}

fn elf_sections<'a, Header>(bytes: &'a [u8]) -> Result<Vec<Section<'a>>, String>
where
    Header: FileHeader<Endian = Endianness>,
{
    let text = |error: object::read::Error| error.to_string();
    let header = Header::parse(bytes).map_err(text)?;
    let endian = header.endian().map_err(text)?;
    let headers = header.section_headers(endian, bytes).map_err(text)?;
    let mut names: &[u8] = &[];
    if !headers.is_empty() && header.shstrndx(endian, bytes).is_ok_and(|index| index != 0) {
        let index = header.section_strings_index(endian, bytes).map_err(text)?;
        let table = headers
            .get(index.0)
            .ok_or("the section name table is missing")?;
        names = table.data(endian, bytes).map_err(text)?;
    }
    let mut found = Vec::new();
    for section in headers {
        let name = name_at(names, u64::from(section.sh_name(endian)));
        let kind = section.sh_type(endian);
        let role = match kind.0 {
            SHT_LLVM_OFFLOADING => Some(Role::OffloadBinaries),
            _ if name == LLD_OFFLOADING => None,
            _ => role(name),
        };
        let Some(role) = role else { continue };
        if section.sh_flags(endian).0 & elf::SHF_COMPRESSED.0 != 0 {
            let name = shown(name);
            return Err(alloc::format!(
                "section {name} is compressed, which is not supported; link without --compress-debug-sections"
            ));
        }
        found.push(Section {
            name: shown(name),
            role,
            data: section.data(endian, bytes).map_err(text)?,
        });
    }
    Ok(found)
}

fn coff_sections<Header: CoffHeader>(bytes: &[u8]) -> Result<Vec<Section<'_>>, String> {
    let mut offset = 0;
    let header = Header::parse(bytes, &mut offset).map_err(|error| error.to_string())?;
    let sections = header
        .sections(bytes, offset)
        .map_err(|error| error.to_string())?;
    // The string table follows the symbols.
    let symbols = u64::from(header.number_of_symbols()) * size_of::<Header::SymbolBytes>() as u64;
    let strings = u64::from(header.pointer_to_symbol_table()).saturating_add(symbols);
    table(bytes, sections, strings, |section| {
        section.coff_file_range()
    })
}

fn pe_sections<Headers: ImageNtHeaders>(bytes: &[u8]) -> Result<Vec<Section<'_>>, String> {
    let text = |error: object::read::Error| error.to_string();
    let dos = pe::ImageDosHeader::parse(bytes).map_err(text)?;
    let mut offset = dos.nt_headers_offset().into();
    let (headers, _) = Headers::parse(bytes, &mut offset).map_err(text)?;
    let sections = headers.sections(bytes, offset).map_err(text)?;
    let file = headers.file_header();
    let symbols = u64::from(CoffHeader::number_of_symbols(file)) * 18;
    let strings = u64::from(CoffHeader::pointer_to_symbol_table(file)).saturating_add(symbols);
    table(bytes, sections, strings, |section| {
        Some(section.pe_file_range())
    })
}

fn table<'a>(
    bytes: &'a [u8],
    sections: SectionTable<'a>,
    strings: u64,
    range: impl Fn(&pe::ImageSectionHeader) -> Option<(u32, u32)>,
) -> Result<Vec<Section<'a>>, String> {
    let strings = usize::try_from(strings).ok();
    let strings = strings.and_then(|at| bytes.get(at..)).unwrap_or_default();
    let mut found = Vec::new();
    for section in sections.iter() {
        let long = section.name_offset().map_err(|error| error.to_string())?;
        let name = match long {
            Some(offset) => name_at(strings, offset.into()),
            None => section.raw_name(),
        };
        let Some(role) = role(name) else { continue };
        let data = match range(section) {
            Some((at, size)) => {
                let (at, size) = (at as usize, size as usize);
                let data = at.checked_add(size).and_then(|end| bytes.get(at..end));
                data.ok_or_else(|| {
                    let name = shown(name);
                    alloc::format!("section {name} extends beyond the file")
                })?
            }
            None => &[],
        };
        if name == LLD_OFFLOADING && !data.starts_with(&offload_binary::MAGIC) {
            continue;
        }
        found.push(Section {
            name: shown(name),
            role,
            data,
        });
    }
    Ok(found)
}

/// Returns the role of a section by its name, or `None` for other sections. Windows linkers truncate names to 8
/// bytes, and `lld-link` truncates them at the second dot.
fn role(name: &[u8]) -> Option<Role> {
    if name.starts_with(OFFLOADING) || name == &OFFLOADING[..8] || name == LLD_OFFLOADING {
        return Some(Role::OffloadBinaries);
    }
    if name == &BUNDLE[..8] {
        return Some(Role::Bundle(Vec::new()));
    }
    let sizes = name.strip_prefix(BUNDLE_SIZE);
    let bundle = name.strip_prefix(BUNDLE);
    sizes
        .map(|id| Role::Sizes(id.to_vec()))
        .or_else(|| bundle.map(|id| Role::Bundle(id.to_vec())))
}

/// Returns the name at `offset` in a string table, truncated to [`NAME_LIMIT`] bytes. Without the limit, a table
/// that contains no zeros would be scanned to its end for each section.
fn name_at(strings: &[u8], offset: u64) -> &[u8] {
    let rest = usize::try_from(offset)
        .ok()
        .and_then(|at| strings.get(at..));
    let rest = rest.unwrap_or_default();
    let rest = &rest[..rest.len().min(NAME_LIMIT)];
    let end = rest.iter().position(|byte| *byte == 0);
    &rest[..end.unwrap_or(rest.len())]
}

const RECORD: &str = "ELF header";
/// The sizes of the file header and of a section header in 64-bit ELF, in bytes.
const HEADER_SIZE: usize = 64;
const SECTION_SIZE: usize = 64;
/// `ET_REL`: a relocatable object.
const RELOCATABLE: u64 = 1;
/// The first reserved section number.
const RESERVED: u64 = 0xff00;
/// `SHF_EXCLUDE`: linkers omit the section.
const EXCLUDE: u64 = 0x8000_0000;

/// Returns a copy of the ELF object `host` with OffloadBinaries in a new section `.llvm.offloading`. Linkers that
/// support offloading, such as `clang-linker-wrapper`, extract them. Other linkers drop the section.
///
/// # Errors
///
/// Returns an error if `binaries` are not OffloadBinaries, or if `host` is damaged, is not a 64-bit little-endian
/// ELF object, or already contains device code.
pub fn embed(host: &[u8], binaries: &[u8]) -> Result<Vec<u8>, Error> {
    offload::read(&offload::unpack(binaries)?)?;
    let fail = |kind| Error::new("object file", 0, kind);
    if !host.starts_with(b"\x7fELF\x02\x01")
        || host.len() < HEADER_SIZE
        || number(host, 16, 2) != RELOCATABLE
    {
        return Err(fail(ErrorKind::Unsupported(
            "device code can be embedded only in a 64-bit ELF object; for other files, use `llvm-objcopy \
             --add-section`",
        )));
    }
    if !sections(host).transpose()?.unwrap_or_default().is_empty() {
        return Err(fail(ErrorKind::Unsupported(
            "the object already contains device code; extract its images, and embed all of them in an object without \
             device code",
        )));
    }
    let (table, count, names) = (
        number(host, 40, 8),
        number(host, 60, 2),
        number(host, 62, 2),
    );
    if names >= count || count + 1 >= RESERVED || number(host, 58, 2) != SECTION_SIZE as u64 {
        let problem = format!(
            "it has {count} sections, but its header places their names in section {names}"
        );
        return Err(Error::new(RECORD, 58, ErrorKind::Record(problem.into())));
    }
    let part = |range| slice(host, range, "file", || RECORD.into(), 40);
    let mut table = part((table, count * SECTION_SIZE as u64))?.to_vec();
    let names = usize::from(u16::try_from(names).unwrap_or_default()) * SECTION_SIZE;
    let old_names = part((number(&table, names + 24, 8), number(&table, names + 32, 8)))?;
    let name = u32::try_from(old_names.len())
        .map_err(|_| fail(ErrorKind::Record("its section names exceed 4 GiB".into())))?;

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
    // Flags, address, offset, size, link and info (two 32-bit fields), alignment, entry size.
    for field in [EXCLUDE, 0, data, binaries.len() as u64, 0, 8, 0] {
        table.extend_from_slice(&field.to_le_bytes());
    }
    let table_at = append(&table);
    put(&mut out, 40, &table_at.to_le_bytes());
    let [low, high, ..] = (count + 1).to_le_bytes();
    put(&mut out, 60, &[low, high]);
    Ok(out)
}

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
