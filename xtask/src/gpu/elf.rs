// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks that executables require only an old glibc and no other library.

use std::path::Path;

use object::read::elf::{ElfFile64, Sym as _};
use object::{Endianness, elf};

use super::at;
use crate::steps::Result;

/// The glibc of the oldest machines for which packs are built.
pub(super) const GLIBC: (u32, u32) = (2, 28);

const LIBRARIES: [&str; 6] = [
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "librt.so.1",
    "libpthread.so.0",
    "ld-linux-x86-64.so.2",
];

/// Checks that the executables in a directory require only `glibc` and the `present` libraries. Skips other files.
pub(crate) fn check(directory: &Path, glibc: (u32, u32), present: &[&str]) -> Result<()> {
    let mut problems = Vec::new();
    let entries = std::fs::read_dir(directory).map_err(|error| at(directory, error))?;
    for entry in entries {
        let path = entry.map_err(|error| at(directory, error))?.path();
        let bytes = std::fs::read(&path).map_err(|error| at(&path, error))?;
        if !bytes.starts_with(&elf::ELFMAG) {
            continue;
        }
        let found = needs(&bytes, glibc, present).map_err(|error| at(&path, error))?;
        problems.extend(found.iter().map(|problem| at(&path, problem)));
    }
    match problems.as_slice() {
        [] => Ok(()),
        _ => Err(format!(
            "executables need more than glibc {}.{}:\n{}",
            glibc.0,
            glibc.1,
            problems.join("\n")
        )),
    }
}

/// Returns the requirements of an executable that some machines do not meet.
fn needs(
    bytes: &[u8],
    glibc: (u32, u32),
    present: &[&str],
) -> std::result::Result<Vec<String>, object::Error> {
    let file = ElfFile64::<Endianness>::parse(bytes)?;
    let mut problems = Vec::new();
    for library in libraries(&file)? {
        if ![&LIBRARIES, present].concat().contains(&library.as_str()) {
            problems.push(format!("needs the library {library}"));
        }
    }
    let endian = file.endian();
    let sections = file.elf_section_table();
    let symbols = sections.symbols(endian, bytes, elf::SHT_DYNSYM)?;
    let Some(versions) = sections.versions(endian, bytes)? else {
        return Ok(problems);
    };
    for (index, symbol) in symbols.enumerate() {
        let index = versions.version_index(endian, index);
        let Some(version) = versions.version(index.into())? else {
            continue;
        };
        let version = String::from_utf8_lossy(version.name());
        if is_newer(&version, glibc) {
            let name = symbol.name(endian, symbols.strings())?;
            let name = String::from_utf8_lossy(name);
            problems.push(format!("needs the symbol {name}@{version}"));
        }
    }
    Ok(problems)
}

fn libraries(file: &ElfFile64<'_, Endianness>) -> std::result::Result<Vec<String>, object::Error> {
    let table = file
        .elf_section_table()
        .dynamic_table(file.endian(), file.data())?;
    let needed = table.iter().filter(|entry| entry.tag == elf::DT_NEEDED);
    let names = needed.map(|entry| Ok(String::from_utf8_lossy(table.string(entry)?).into_owned()));
    names.collect()
}

fn is_newer(version: &str, glibc: (u32, u32)) -> bool {
    let Some(number) = version.strip_prefix("GLIBC_") else {
        return false;
    };
    let mut parts = number.split('.').map(str::parse::<u32>);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) > glibc,
        // A private symbol, or an unknown version format.
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        for old in ["GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.28", "GCC_3.0", ""] {
            assert!(!is_newer(old, GLIBC), "{old}");
        }
        for new in ["GLIBC_2.29", "GLIBC_2.34", "GLIBC_3.0", "GLIBC_PRIVATE"] {
            assert!(is_newer(new, GLIBC), "{new}");
        }
    }

    #[test]
    fn this_program_needs_what_readelf_lists() {
        let program = std::env::current_exe().unwrap();
        let bytes = std::fs::read(&program).unwrap();
        let file = ElfFile64::<Endianness>::parse(&*bytes).unwrap();
        let ours = libraries(&file).unwrap();
        assert!(
            ours.iter().any(|library| library == "libc.so.6"),
            "{ours:?}"
        );
        // This program is linked for this machine, so it requires libgcc and perhaps newer symbols.
        let problems = needs(&bytes, GLIBC, &[]).unwrap();
        let readelf = std::process::Command::new("readelf")
            .args(["--wide", "--dyn-syms", "--dynamic"])
            .arg(&program)
            .output();
        let Ok(readelf) = readelf else {
            eprintln!("skipped this_program_needs_what_readelf_lists: readelf is not installed");
            return;
        };
        let text = String::from_utf8_lossy(&readelf.stdout);
        let symbols = text.lines().filter_map(|line| line.split_once("@GLIBC_"));
        let newer = symbols.filter(|(_, version)| {
            let version = version.split_whitespace().next().unwrap_or_default();
            is_newer(&format!("GLIBC_{version}"), GLIBC)
        });
        let ours = problems.iter().filter(|problem| problem.contains("symbol"));
        assert_eq!(ours.count(), newer.count(), "{problems:?}");
    }
}
