// SPDX-License-Identifier: MIT OR Apache-2.0
//! Joins the modules of all sources, SYCLBIN files and objects into one file.
//!
//! Modules stay separate, and the loader resolves symbols between them, as the reference runtime does for objects. For
//! native targets and with `-fsycl-link`, `link_modules` copies the functions and variables that each module uses into
//! that module.

pub(crate) mod imports;
pub(crate) mod objects;

use std::collections::BTreeMap;
use std::path::Path;

use syclbin::metadata::without_run_prefix;
use syclbin::property::{PropertySets, set};
use syclbin::{State, Syclbin};

use crate::command_line::states::check_join;
use crate::{Result, own};
use syclbin_tools::__private::spelled;

/// The modules that an input contributes to the file.
#[derive(Clone, Debug)]
pub(crate) struct InputFile {
    /// The input's name, as the user wrote it. For a member of a static library, the member's name follows in
    /// parentheses.
    pub(crate) name: String,
    /// The modules that are already compiled.
    pub(crate) file: Syclbin<'static>,
    /// LLVM bitcode to compile.
    pub(crate) bitcode: Vec<Vec<u8>>,
    /// Whether the input is a member of a static library.
    pub(crate) is_member: bool,
}

impl InputFile {
    pub(crate) fn new(name: String, file: Syclbin<'static>) -> Self {
        Self {
            name,
            file,
            bitcode: Vec::new(),
            is_member: false,
        }
    }
}

/// Reads a SYCLBIN file that will become part of a file in state `whole`.
pub(crate) fn open(path: &Path, whole: State) -> Result<InputFile> {
    let part = read(path, path.display().to_string())?;
    let InputFile { name, file, .. } = &part;
    if file.global.set(set::PLACEHOLDER).is_some() {
        return own(format!(
            "'{name}' contains no kernels: it is a placeholder from a documentation build; rebuild it from source"
        ));
    }
    check_join(name, file.state(), whole)?;
    Ok(part)
}

/// Reads a SYCLBIN file in any state on behalf of the input `name`.
pub(crate) fn read(path: &Path, name: String) -> Result<InputFile> {
    let bytes = syclbin_toolchain::file::read(path)
        .or_else(|error| own(format!("cannot read '{}': {error}", path.display())))?;
    let file = syclbin::read::parse(&bytes).or_else(|error| {
        own(format!(
            "'{}' is not a valid SYCLBIN file: {error}; rebuild it from source, or pass a different file",
            path.display()
        ))
    })?;
    Ok(InputFile::new(name, file.into_owned()))
}

/// Joins all modules of `parts`, in order. Also copies file-level properties, except the state and the record of
/// sources.
///
/// # Errors
///
/// Fails if two parts define the same kernel or device function, or if an import would [stay
/// unresolved](imports::check).
pub(crate) fn join(parts: Vec<InputFile>, state: State) -> Result<Syclbin<'static>> {
    check_once(&parts)?;
    imports::check(&parts, state)?;
    let mut whole = Syclbin::new(state);
    for part in parts {
        let skipped = [set::GLOBAL, set::SOURCES];
        add_missing(&mut whole.global, &part.file.global, &skipped);
        whole.modules.extend(part.file.modules);
    }
    Ok(whole)
}

/// Adds the properties of `from` that `to` lacks, except those in the sets `skipped`.
pub(crate) fn add_missing(
    to: &mut PropertySets<'static>,
    from: &PropertySets<'static>,
    skipped: &[&str],
) {
    for (name, properties) in from.iter() {
        if skipped.contains(&name) {
            continue;
        }
        to.insert_set(name.to_owned());
        for (key, value) in properties.iter() {
            if to.get(name, key).is_none() {
                to.insert(name.to_owned(), key.to_owned(), value.clone());
            }
        }
    }
}

/// Checks that no two inputs define the same kernel or device function. Functions that several modules may define are
/// exempt. Within one input, several modules may contain the same kernel, one for each target.
fn check_once(parts: &[InputFile]) -> Result<()> {
    let mut seen: BTreeMap<(&str, &str), &InputFile> = BTreeMap::new();
    for part in parts {
        for module in &part.file.modules {
            let shared = imports::named_with(&part.name, imports::shared_exports(module))?;
            let kernels = module.kernel_names().map(|kernel| ("kernel", kernel));
            let own_exports = imports::exports(module).filter(|symbol| !shared.contains(symbol));
            let exports = own_exports
                .map(|symbol| ("device function or variable", without_run_prefix(symbol)));
            for (what, symbol) in kernels.chain(exports) {
                let first = *seen.entry((what, symbol)).or_insert(part);
                if !std::ptr::eq(first, part) {
                    return own(format!(
                        "{what} {} is defined in both '{}' and '{}'; rename one of them, or remove it from one file",
                        spelled(symbol),
                        first.name,
                        part.name
                    ));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;
    use syclbin::property::Value;
    use syclbin::{AbstractModule, Container, Image, IrType};

    fn part(name: &str, kernels: &[&'static str]) -> InputFile {
        let mut file = Syclbin::new(State::Object);
        for &kernel in kernels {
            let mut module = AbstractModule::default();
            module.add_kernel_name(kernel);
            file.modules.push(module);
        }
        InputFile::new(name.into(), file)
    }

    fn said<T: std::fmt::Debug>(result: Result<T>) -> String {
        match result {
            Err(Failure::Own(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn duplicate_kernel_error_names_both_inputs() {
        let parts = vec![
            part("a.cpp", &["k", "_Z18__sycl_kernel_ff_2Piii"]),
            part("b.syclbin", &["_Z18__sycl_kernel_ff_2Piii"]),
        ];
        let text = said(join(parts, State::Executable));
        assert!(
            text.starts_with(
                "kernel ff_2(int *, int, int) is defined in both 'a.cpp' and 'b.syclbin'"
            ),
            "{text}"
        );
        let targets = vec![part("a.cpp", &["k", "k"]), part("b.cpp", &["l"])];
        assert_eq!(join(targets, State::Executable).unwrap().modules.len(), 3);
    }

    #[test]
    fn duplicate_device_function_error_names_both_inputs() {
        let mut parts = vec![part("a.cpp", &["a"]), part("b.cpp", &["b"])];
        for part in &mut parts {
            let metadata = &mut part.file.modules[0].metadata;
            metadata.insert(set::EXPORTED_SYMBOLS, "_Z5shapef", Value::U32(1));
        }
        let text = said(join(parts, State::Object));
        assert!(
            text.contains("shape(float) is defined in both 'a.cpp' and 'b.cpp'"),
            "{text}"
        );
    }

    /// Returns SPIR-V that defines `_Z5shapef` with this linkage: 0 is a strong definition, and 2 is a definition that
    /// other modules may repeat.
    fn spirv(linkage: u32) -> Vec<u8> {
        let name = b"_Z5shapef\0\0\0";
        let mut words = vec![0x0723_0203, 0x0001_0400, 0, 8, 0];
        words.extend([7 << 16 | 71, 5, 41]);
        words.extend(name.as_chunks().0.iter().copied().map(u32::from_le_bytes));
        words.push(linkage);
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn only_inline_functions_may_be_duplicated() {
        let with = |images: [Image<'static>; 2]| {
            let mut parts = vec![part("a.cpp", &["a"]), part("b.cpp", &["b"])];
            for (part, image) in parts.iter_mut().zip(images) {
                let module = &mut part.file.modules[0];
                let symbols = set::EXPORTED_SYMBOLS;
                module.metadata.insert(symbols, "_Z5shapef", Value::U32(1));
                module.images.push(image);
            }
            parts
        };
        let ir = |linkage| Image::ir(IrType::SpirV, "spir64-unknown-unknown", spirv(linkage));
        for state in [State::Object, State::Executable] {
            assert!(join(with([ir(2), ir(2)]), state).is_ok());
            assert!(join(with([ir(2), ir(0)]), state).is_ok());
            let text = said(join(with([ir(0), ir(0)]), state));
            assert!(
                text.contains("shape(float) is defined in both 'a.cpp' and 'b.cpp'"),
                "{text}"
            );
        }
        let native = || Image::native("corei7", "spir64_x86_64-unknown-unknown", vec![1]);
        assert!(join(with([native(), native()]), State::Executable).is_ok());
    }

    #[test]
    fn own_properties_survive_linking() {
        let mut a = part("a.syclbin", &["a"]);
        let descriptions = set::KERNELS;
        a.file.modules[0]
            .metadata
            .insert(descriptions, "a", "any bytes");
        let mut b = part("b.syclbin", &["b"]);
        b.file.global.insert("OTHER/set", "key", 7u32);
        let whole = join(vec![a, b], State::Executable).unwrap();
        assert_eq!(whole.state(), Some(State::Executable));
        assert!(whole.modules[0].metadata.get(descriptions, "a").is_some());
        assert_eq!(whole.global.get("OTHER/set", "key"), Some(&Value::U32(7)));
    }

    #[test]
    fn files_that_cannot_join_are_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.syclbin");
        std::fs::write(&path, b"\x10\xff\x10\xad and no more").unwrap();
        let text = said(open(&path, State::Executable));
        assert!(
            text.contains("k.syclbin' is not a valid SYCLBIN file"),
            "{text}"
        );
        let write = |file: &Syclbin<'_>| {
            let bytes = syclbin::write::to_vec(file, Container::default()).unwrap();
            std::fs::write(&path, bytes).unwrap();
        };
        write(&Syclbin::new(State::Executable));
        assert!(said(open(&path, State::Executable)).contains("already linked"));
        let mut placeholder = Syclbin::new(State::Object);
        placeholder.global.insert(set::PLACEHOLDER, "why", "docs");
        write(&placeholder);
        assert!(said(open(&path, State::Object)).contains("placeholder"));
        write(&Syclbin::new(State::Object));
        assert_eq!(
            open(&path, State::Object).unwrap().file.state(),
            Some(State::Object)
        );
        assert!(said(open(&folder.path().join("none"), State::Object)).contains("cannot read"));
    }
}
