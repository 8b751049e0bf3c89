// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the sections with device images in ELF and COFF objects, executables and shared libraries, and embeds
//! device images in ELF objects.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{NAME_LIMIT, shown};
use object::pod::{bytes_of_slice, from_bytes, from_bytes_mut, slice_from_all_bytes};
use object::read::FileKind;
use object::read::coff::{CoffHeader, SectionTable};
use object::read::elf::{FileHeader, SectionHeader};
use object::read::pe::ImageNtHeaders;
use object::{Endianness, LittleEndian as LE, elf, pe};
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

type Sections<'a> = Result<Vec<Section<'a>>, Box<dyn core::error::Error>>;

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
    Some(found.map_err(|error| Error::new("object file", 0, ErrorKind::Object(error.to_string()))))
}

fn elf_sections<Header: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> Sections<'_> {
    let header = Header::parse(bytes)?;
    let endian = header.endian()?;
    let headers = header.section_headers(endian, bytes)?;
    let mut names: &[u8] = &[];
    if !headers.is_empty() && header.shstrndx(endian, bytes).is_ok_and(|index| index != 0) {
        let table = headers.get(header.section_strings_index(endian, bytes)?.0);
        let table = table.ok_or("the section name table is missing")?;
        names = table.data(endian, bytes)?;
    }
    let mut found = Vec::new();
    for section in headers {
        let name = name_at(names, u64::from(section.sh_name(endian)));
        let role = match section.sh_type(endian).0 {
            SHT_LLVM_OFFLOADING => Some(Role::OffloadBinaries),
            _ if name == LLD_OFFLOADING => None,
            _ => role(name),
        };
        let Some(role) = role else { continue };
        let name = shown(name);
        if section.sh_flags(endian).0 & elf::SHF_COMPRESSED.0 != 0 {
            let remedy = "link without --compress-debug-sections";
            let problem = format!("section {name} is compressed, which is not supported; {remedy}");
            return Err(problem.into());
        }
        let data = section.data(endian, bytes)?;
        found.push(Section { name, role, data });
    }
    Ok(found)
}

fn coff_sections<Header: CoffHeader>(bytes: &[u8]) -> Sections<'_> {
    let mut offset = 0;
    let header = Header::parse(bytes, &mut offset)?;
    let sections = header.sections(bytes, offset)?;
    let range = pe::ImageSectionHeader::coff_file_range;
    table(bytes, header, sections, range)
}

fn pe_sections<Headers: ImageNtHeaders>(bytes: &[u8]) -> Sections<'_> {
    let mut offset = pe::ImageDosHeader::parse(bytes)?.nt_headers_offset().into();
    let (headers, _) = Headers::parse(bytes, &mut offset)?;
    let sections = headers.sections(bytes, offset)?;
    let range = |section: &pe::ImageSectionHeader| Some(section.pe_file_range());
    table(bytes, headers.file_header(), sections, range)
}

fn table<'a, Header: CoffHeader>(
    bytes: &'a [u8],
    header: &Header,
    sections: SectionTable<'a>,
    range: impl Fn(&pe::ImageSectionHeader) -> Option<(u32, u32)>,
) -> Sections<'a> {
    // The string table follows the symbols.
    let symbols = u64::from(header.number_of_symbols()) * size_of::<Header::SymbolBytes>() as u64;
    let strings = u64::from(header.pointer_to_symbol_table()).saturating_add(symbols);
    let strings = usize::try_from(strings).ok();
    let strings = strings.and_then(|at| bytes.get(at..)).unwrap_or_default();
    let mut found = Vec::new();
    for section in sections.iter() {
        let name = match section.name_offset()? {
            Some(offset) => name_at(strings, offset.into()),
            None => section.raw_name(),
        };
        let Some(role) = role(name) else { continue };
        let (at, size) = range(section).unwrap_or_default();
        let (at, size) = (at as usize, size as usize);
        let data = at.checked_add(size).and_then(|end| bytes.get(at..end));
        let beyond = || format!("section {} extends beyond the file", shown(name));
        let data = data.ok_or_else(beyond)?;
        if name == LLD_OFFLOADING && !data.starts_with(&offload_binary::MAGIC) {
            continue;
        }
        let name = shown(name);
        found.push(Section { name, role, data });
    }
    Ok(found)
}

/// Returns the role that a section's name implies, or `None` for other sections. Windows linkers truncate names to 8
/// bytes, and `lld-link` truncates them at the second dot.
fn role(name: &[u8]) -> Option<Role> {
    if name.starts_with(OFFLOADING) || name == &OFFLOADING[..8] || name == LLD_OFFLOADING {
        return Some(Role::OffloadBinaries);
    }
    if let Some(id) = name.strip_prefix(BUNDLE_SIZE) {
        return Some(Role::Sizes(id.to_vec()));
    }
    let is_truncated = name == &BUNDLE[..8];
    let id = name.strip_prefix(BUNDLE);
    let id = id.or_else(|| is_truncated.then_some(&[]))?;
    Some(Role::Bundle(id.to_vec()))
}

/// Returns the name at `offset` in a string table, truncated to [`NAME_LIMIT`] bytes. Without the limit, a table
/// that contains no zeros would be scanned to its end for each section.
fn name_at(strings: &[u8], offset: u64) -> &[u8] {
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let rest = strings.get(offset..).unwrap_or_default();
    let mut names = rest[..rest.len().min(NAME_LIMIT)].split(|byte| *byte == 0);
    names.next().unwrap_or_default()
}

/// The first reserved section number.
const RESERVED: u16 = 0xff00;

/// Returns a copy of the ELF object `host` with OffloadBinaries in a new section `.llvm.offloading`. Linkers that
/// support offloading, such as `clang-linker-wrapper`, extract them. Other linkers drop the section.
///
/// # Errors
///
/// Returns an error if `binaries` are not OffloadBinaries, or if `host` is damaged, is not a 64-bit little-endian
/// ELF object, or already contains device code.
pub fn embed(host: &[u8], binaries: &[u8]) -> Result<Vec<u8>, Error> {
    type Header = elf::FileHeader64<LE>;
    const RECORD: &str = "ELF header";
    offload::read(&offload::unpack(binaries)?)?;
    let fail = |kind| Error::new("object file", 0, kind);
    let header = from_bytes::<Header>(host).map(|(header, _)| header).ok();
    let is_object = |header: &&Header| header.e_type.get(LE) == elf::ET_REL;
    let is_elf64 = host.starts_with(b"\x7fELF\x02\x01");
    let Some(header) = header.filter(is_object).filter(|_| is_elf64) else {
        return Err(fail(ErrorKind::Unsupported(
            "device code can be embedded only in a 64-bit ELF object; for other files, use `llvm-objcopy \
             --add-section`",
        )));
    };
    if !sections(host).transpose()?.unwrap_or_default().is_empty() {
        return Err(fail(ErrorKind::Unsupported(
            "the object already contains device code; extract its images, and embed all of them in an object without \
             device code",
        )));
    }
    let (count, names) = (header.e_shnum.get(LE), header.e_shstrndx.get(LE).0);
    let section_size = size_of::<elf::SectionHeader64<LE>>();
    if names >= count
        || count >= RESERVED - 1
        || usize::from(header.e_shentsize.get(LE)) != section_size
    {
        let problem = format!(
            "its section header table is malformed or too large: {count} sections, with their names in section {names}"
        );
        return Err(Error::new(RECORD, 58, ErrorKind::Record(problem.into())));
    }
    let part = |start, size| slice(host, (start, size), "file", || RECORD.into(), 40);
    let table_size = u64::from(count) * section_size as u64;
    let table = part(header.e_shoff.get(LE), table_size)?;
    let table = slice_from_all_bytes::<elf::SectionHeader64<LE>>(table);
    let mut table = table.unwrap_or_default().to_vec();
    let section = &mut table[usize::from(names)];
    let old_names = part(section.sh_offset.get(LE), section.sh_size.get(LE))?;
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
    section.sh_offset.set(LE, append(&new_names));
    section.sh_size.set(LE, new_names.len() as u64);
    let mut table = bytes_of_slice(&table).to_vec();
    table.extend_from_slice(&name.to_le_bytes());
    table.extend_from_slice(&SHT_LLVM_OFFLOADING.to_le_bytes());
    let excluded = elf::SHF_EXCLUDE.0;
    // Flags, address, offset, size, link and info (two 32-bit fields), alignment, entry size.
    for field in [excluded, 0, data, binaries.len() as u64, 0, 8, 0] {
        table.extend_from_slice(&field.to_le_bytes());
    }
    let table_at = append(&table);
    if let Ok((header, _)) = from_bytes_mut::<Header>(&mut out) {
        header.e_shoff.set(LE, table_at);
        header.e_shnum.set(LE, count + 1);
    }
    Ok(out)
}
